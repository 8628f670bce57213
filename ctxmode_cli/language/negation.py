"""Whether a text denies a value: what a negation reaches, in Chinese and English.

The rule. A value is denied where a cue stands right before it in the same clause, with nothing but words of a short
list between them (不要给我推荐X, "don't want any X"), or where the clause ends in a denial right after it (X就不用了,
"X is not needed"). A list hands the denial on to its items (不要A、B或X, "without A or X"). So negation reaches as far as
its own object, never through a whole clause: 没看过，不过X很好 and "not leaving until X" deny nothing.

A denial that is denied is none (不能没有X), nor is a question of the form A-not-A (有没有X, 要不要X) or one that begins
with a negated verb ("isn't it X"), nor a phrase that only sounds like one (特别, 不仅, "not only", "no problem").
Cues, words between and such phrases are data, in `datasets/language/negation.toml`.
"""

import re
import tomllib
from functools import cache
from typing import Any, NamedTuple

from ahocorasick_rs import AhoCorasick

from ctxmode_cli.data import data_file
from ctxmode_cli.language.fold import BOUNDARY, BREAK
from ctxmode_cli.language.rewriting import Rewrite

_REACH = 48
"""Characters: further before a value no cue is looked for."""
_REACH_BEHIND = 24
_NO_CUE = "\1"
"""Stands for a harmless phrase."""


class _Patterns(NamedTuple):
    hint: re.Pattern[str]
    """What every clause that denies anything holds."""
    harmless: re.Pattern[str]
    before: re.Pattern[str]
    """A cue at the end of what stands before the value, with all that stands between them."""
    asking: re.Pattern[str]
    """What closes a clause that asks."""
    restricted: re.Pattern[str]
    """What goes on about the value: not the value is denied then, but some of its kind."""
    question: re.Pattern[str]
    """What opens a clause that asks."""
    behind: re.Pattern[str]
    cue: re.Pattern[str]
    """Any cue, wherever it stands."""


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]`, a value in a folded text, is denied there."""
    low, high = max(0, start - _REACH), end + _REACH_BEHIND
    opening = max(low, text.rfind(BREAK, low, start) + 1, text.rfind(BOUNDARY, low, start) + 1)
    before, behind = text[opening:start], text[end:high].partition(BREAK)[0].partition(BOUNDARY)[0]
    cue_before, cue_behind = may_deny(before), may_deny(behind)
    if not cue_before and not cue_behind:
        return False
    patterns = _patterns()
    if patterns.asking.match(text, end, end + _REACH) or patterns.restricted.match(text, end):
        return False
    if cue_before and _denials(before.rstrip(), whole=opening > low or low == 0) % 2 == 1:
        return True
    return cue_behind and patterns.behind.match(text, end, high) is not None


def may_deny(text: str) -> bool:
    """Whether a folded text holds what every denial holds; most texts do not."""
    if text.isascii():  # here the automaton is several times as quick, and slower with Chinese
        return bool(_ascii_hints().find_matches_as_indexes(text))
    return _patterns().hint.search(text) is not None


def holds_denial(clause: str) -> bool:
    """Whether a clause of a folded text has any cue, whatever it denies; phrases that only sound like one are none."""
    patterns = _patterns()
    return patterns.cue.search(patterns.harmless.sub(_NO_CUE, clause)) is not None


@cache
def links() -> tuple[Rewrite, ...]:
    """Rewrites that leave out words that only link: 宠物相关的推荐 is 宠物推荐, "pet-related mails" are pet mails."""
    data = _data()
    return (Rewrite(re.compile(_either(data["zh"]["links"] + data["en"]["links"])), ""),)


def _denials(before: str, *, whole: bool) -> int:
    """How many cues, one before the other, reach the end of what stands before a value in its clause.

    Args:
        before: The clause up to the value.
        whole: Whether that is all of it, so that its first word is known.
    """
    patterns = _patterns()
    before = patterns.harmless.sub(_NO_CUE, before)
    count = 0
    while match := patterns.before.search(before):
        start = match.start()
        cue = match["cue"] or match["direct"]
        if cue[0] in "不没" and before[start - 1 : start] == cue[1:2] != "":
            break  # A-not-A asks: 有没有, 要不要
        if whole and not before[:start].strip() and patterns.question.match(before, start):
            break
        count += 1
        before = before[:start].rstrip()
    return count


@cache
def _ascii_hints() -> AhoCorasick:
    return AhoCorasick([hint for hint in _hints() if hint.isascii()])


def _hints() -> list[str]:
    zh, en = _data()["zh"], _data()["en"]
    return _shortest(zh["cues"] + zh["direct"] + zh["hints"] + en["cues"] + en["direct"])


@cache
def _patterns() -> _Patterns:
    zh, en = _data()["zh"], _data()["en"]
    # Possessive: however long a text repeats such words, each is read once.
    between = rf"(?: ?(?:{_either(zh['between'])})| (?:{_either(en['between'])})(?![a-z]))*+"
    english_item = rf" {en['item']} (?:{_either(en['listed'])})(?![a-z])"
    item = rf"(?:{zh['item']}(?:{_either(zh['listed'])})|{english_item})"
    cue = rf"(?P<cue>{_either(zh['cues'])}|(?<![^\W_])(?:{_either(en['cues'])})(?![a-z]))"
    listed = rf"(?:(?<!不是){item}{between})*+"
    direct = rf"(?P<direct>{_either(zh['direct'])}|(?<![^\W_])(?:{_either(en['direct'])}))"
    bare = rf"{_either([*zh['cues'], *zh['direct']])}|(?<![^\W_])(?:{_either([*en['cues'], *en['direct']])})(?![a-z])"
    return _Patterns(
        hint=re.compile(_either(_hints())),
        harmless=re.compile(rf"{_either(zh['harmless'])}|(?<![^\W_])(?:{_either(en['harmless'])})(?![a-z])"),
        before=re.compile(rf"(?:{cue}(?:{zh['object']})?{between}{listed}|{direct}(?:{english_item})*+)\Z"),
        asking=re.compile(rf"[^\n\0]*{zh['asking']}(?=[\n\0])"),
        restricted=re.compile(f" (?:{_either(en['restricted'])})(?![a-z])"),
        question=re.compile(f"(?:{_either(en['questions'])})(?![a-z])"),
        cue=re.compile(bare),
        behind=re.compile(rf"(?: ?(?:{_either(zh['behind'])})| (?:{_either(en['behind'])}))(?=[\n\0]|\Z)"),
    )


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(data_file("language/negation.toml").read_text(encoding="utf-8"))


def _either(patterns: list[str]) -> str:
    return "|".join(sorted(patterns, key=len, reverse=True))


def _shortest(words: list[str]) -> list[str]:
    """The words that hold no other of them: whoever looks for these finds all."""
    kept: list[str] = []
    for word in sorted(words, key=len):
        if not any(shorter in word for shorter in kept):
            kept.append(word)
    return kept
