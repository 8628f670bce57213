"""How much a sentence carries for the rest of a conversation: names, numbers, subjects, constraints, decisions."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ctxmode_cli.data import data_file

_LATIN_WORD = re.compile(r"[A-Za-z0-9]+(?:[@:.,'/+_-]+[A-Za-z0-9]+)*")
"""Within other text, where no spaces stand around it; with the marks inside it, as in 19:30 and a mail address."""
_MARKS = ".,!?;:'\"()[]*-"
"""Stripped from both ends of a word."""
_ENDS = ("", ".", ",", "!", "?", ";", ":")
_DIGIT = re.compile("[0-9@]")
_HAN_PAIR = re.compile(r"(?=([\u3400-\u9fff·][\u3400-\u9fff·]))")
_QUOTED = re.compile(r"《[^》]+》|“[^”]+”|「[^」]+」")

# In hundredths of what a pair of Chinese characters weighs; whole numbers, since they add up to the same in any order.
_CONSTRAINT, _DECISION, _OPEN = 400, 100, 100
"""What a cue adds."""
_NAME, _QUOTED_TITLE, _IDENTIFIER, _NUMBER, _SUBJECT = 200, 300, 300, 50, 30
"""What a unit weighs: a word with a capital, a quoted title, a long number or code, a short one, another word."""
_OWN_IDENTIFIER = 750
"""An identifier beside words for what is the speaker's own."""
_IDENTIFIER_LENGTH = 6
"""Characters from which on a number, or a code with digits, is not just a price, a time or a rating."""
_HAN_PAIR_WEIGHT = 100
_HAN_PAIRS = 500
"""All pairs of Chinese characters together weigh no more: a name is short, and long prose says no more than a name."""


class Weight(NamedTuple):
    """What a sentence carries: what its cues add, and its units, of which those that are new count."""

    total: int
    """Cues and all units together."""
    units: dict[str, int]
    """Names, numbers, titles, subjects, and what each weighs."""
    constrains: bool
    """Whether it says what must or must not be."""
    opens: bool
    """Whether it says that something is undecided."""

    def beyond(self, told: set[str]) -> int:
        """What it carries besides the units that are told already."""
        return self.total - sum(map(self.units.__getitem__, told.intersection(self.units)))


class _Cues(NamedTuple):
    english: dict[str, str]
    """The kind of each word, in all its forms."""
    chinese: tuple[tuple[str, str], ...]
    """Kinds and substrings."""
    no_constraint: re.Pattern[str]
    """Phrases that sound like a constraint and are none."""
    function: frozenset[str]
    """English words that carry nothing by themselves."""
    function_zh: re.Pattern[str]
    """Likewise, the longest first."""


@lru_cache(maxsize=4096)  # users and assistants of a log say much in the same words
def weigh(sentence: str) -> Weight:
    """What a sentence carries.

    Units are its names, numbers, other words and, since Chinese has no spaces, pairs of Chinese characters; words that
    carry nothing by themselves are left out.
    """
    cues = _cues()
    words = _words(sentence)
    kinds = {cues.english[word] for word in cues.english.keys() & set(words)}
    units = {}
    if not sentence.isascii():
        kinds.update(kind for kind, cue in cues.chinese if cue in sentence)
        units = _chinese_units(sentence)
    identifier = _OWN_IDENTIFIER if "own" in kinds else _IDENTIFIER
    for word in words:
        if word in cues.function:
            continue
        unit = word.strip(_MARKS).lower()
        if _DIGIT.search(unit):
            units[unit] = identifier if len(unit) >= _IDENTIFIER_LENGTH else _NUMBER
        else:
            units[unit] = _NAME if word[0].isupper() and word != words[0] else _SUBJECT
    constrains = "constraint" in kinds and not _only_sounds_like_one(sentence)
    opens = "open" in kinds
    total = sum(units.values(), _CONSTRAINT * constrains + _DECISION * ("decision" in kinds) + _OPEN * opens)
    return Weight(total, units, constrains, opens)


def _words(text: str) -> list[str]:
    """The words of a Latin text with the marks at their ends, or the Latin words within another one."""
    return text.split() if text.isascii() else _LATIN_WORD.findall(text)


def _chinese_units(sentence: str) -> dict[str, int]:
    pairs = _HAN_PAIR.findall(_cues().function_zh.sub(" ", sentence))
    each = min(_HAN_PAIR_WEIGHT, _HAN_PAIRS // max(1, len(pairs)))
    return dict.fromkeys(pairs, each) | dict.fromkeys(_QUOTED.findall(sentence), _QUOTED_TITLE)


def _only_sounds_like_one(sentence: str) -> bool:
    """Whether no cue of a constraint is left without the phrases that sound like one and are none."""
    cues = _cues()
    left = cues.no_constraint.sub(" ", sentence.lower())
    english = any(cues.english.get(word) == "constraint" for word in _words(left))
    return not english and not any(kind == "constraint" and cue in left for kind, cue in cues.chinese)


@cache
def _cues() -> _Cues:
    data = tomllib.loads(data_file("language/cues.toml").read_text(encoding="utf-8"))
    kinds = ("constraint", "decision", "own", "open")
    return _Cues(
        english={form: kind for kind in kinds for word in data[kind]["en"] for form in _forms(word)},
        chinese=tuple((kind, cue) for kind in kinds for cue in data[kind]["zh"]),
        no_constraint=_any_of(data["no_constraint"]["en"] + data["no_constraint"]["zh"]),
        function=frozenset(form for word in data["function"]["en"] for form in _forms(word)),
        function_zh=_any_of(data["function"]["zh"]),
    )


def _forms(word: str) -> Iterator[str]:
    """A word as it stands in a sentence: with a capital or without, and with a mark that may follow it."""
    for form in (word, word.capitalize()):
        yield from (form + end for end in _ENDS)


def _any_of(phrases: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(phrases, key=len, reverse=True))))
