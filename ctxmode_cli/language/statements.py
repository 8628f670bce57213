"""Which facts a generated statement contradicts: it denies what was said, or asserts what was denied.

A statement denies a fact where it denies every mention of its value (`negation`). It asserts a denied value in a wider
sense, since whoever sums up uses other words: the value's words stand in their order, and a few linking ones may come
between two of them (宠物推荐 in 宠物相关推荐, "pet recommendations" in "pet-related recommendations"); a Latin word may
have a plural `s` or lack it. In return the clause must be plain: with any denial in it, whatever that reaches, or with
a word of aversion (allergic to, 过敏) nothing is asserted. So some contradictions go unseen,
and what is counted is one. Nor does a question contradict anything, nor a
statement that also carries the fact.

The linking words and those of aversion are data, in `datasets/language/statements.toml`.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.data import data_file
from ctxmode_cli.language.boundaries import part_of
from ctxmode_cli.language.fold import CJK_START, fold_characters, fold_together, plain
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.language.negation import clause_around, holds_denial, may_deny
from ctxmode_cli.language.readings import TEXT, forms_of
from ctxmode_cli.language.sentences import sentences

_LEAST = 2
"""Characters of a Chinese value on either side of linking words: most words have two, and are not broken up."""
_PLURAL = 4
"""Letters of a Latin word from which on a last `s` is taken for a plural."""


class StatementReader:
    """Finds the facts that generated text contradicts.

    Args:
        facts: All facts of a conversation.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts
        self._denied = {index: fact for index, fact in enumerate(facts) if fact.negative}
        self._read: dict[str, list[tuple[int, str]]] = {}

    def contradictions(self, text: str) -> Iterator[tuple[int, str]]:
        """Each contradicted fact, by its index, with the statement: a sentence of `text`, or a line."""
        for line in text.split("\n"):
            found = self._read.get(line)  # most lines of a running summary come again in the next
            if found is None:
                found = self._read[line] = list(self._contradictions(line))
            yield from found

    def _contradictions(self, line: str) -> Iterator[tuple[int, str]]:
        # Without a denied fact or a word of denial, which most lines have not, there is nothing to contradict.
        if self._denied or may_deny(fold_characters(line)):
            for statement in sentences(line):
                for fact in sorted(self.contradicted_in(statement)):
                    yield fact, statement

    def contradicted_in(self, statement: str) -> set[int]:
        """Indexes of the facts that one statement contradicts."""
        if is_question(statement):
            return set()
        folded = fold_together([statement])
        asserted = {fact for fact, pattern in self._patterns if _asserts(folded, pattern)}
        if not asserted and not may_deny(folded):
            return set()
        carried, contradicted = self._matcher.stances_in(statement)
        return ((contradicted - self._denied.keys()) | asserted) - carried

    @cached_property
    def _matcher(self) -> FactMatcher:
        return FactMatcher(self._facts)  # few texts deny anything

    @cached_property
    def _patterns(self) -> list[tuple[int, re.Pattern[str]]]:
        indexes = list(self._denied)
        return [
            (indexes[form.fact], re.compile(_loosely(form.text)))
            for form in forms_of(list(self._denied.values()))
            if form.view == TEXT
        ]


def is_question(statement: str) -> bool:
    """Whether a statement asks, and so neither asserts nor denies anything."""
    return statement.rstrip().endswith(("?", "？"))


def _asserts(folded: str, pattern: re.Pattern[str]) -> bool:
    text = plain(folded)
    for match in pattern.finditer(text):
        start, end = match.span()
        if part_of(text, start, end):
            continue
        clause = clause_around(folded, start, end)
        if not holds_denial(clause) and not _averse().search(clause):
            return True
    return False


def _loosely(form: str) -> str:
    """A pattern for a folded value in which linking words may come between two words."""
    chinese, english = _linking()
    if any(char >= CJK_START for char in form):
        breaks = range(_LEAST, len(form) - _LEAST + 1)
        broken = [f"{re.escape(form[:at])}{chinese}{re.escape(form[at:])}" for at in breaks]
        return "|".join([re.escape(form), *broken])
    return english.join(map(_in_any_number, form.split(" ")))


def _in_any_number(word: str) -> str:
    if not word.isalpha():
        return re.escape(word)
    is_plural = len(word) >= _PLURAL and word.endswith("s") and not word.endswith("ss")
    return f"{word[:-1] if is_plural else word}s?"


@cache
def _linking() -> tuple[str, str]:
    """What may stand between two words of a value, in Chinese and English."""
    data = _data()
    return rf"(?:{'|'.join(data['zh']['linking'])}){{1,3}}", rf" (?:(?:{'|'.join(data['en']['linking'])}) ){{0,2}}"


@cache
def _averse() -> re.Pattern[str]:
    data = _data()
    return re.compile(rf"{'|'.join(data['zh']['averse'])}|(?<![a-z])(?:{'|'.join(data['en']['averse'])})(?![a-z])")


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(data_file("language/statements.toml").read_text(encoding="utf-8"))
