"""Which facts a generated statement contradicts: it denies what was said, or asserts what was denied.

What is asserted or denied the matcher says, words that only link left out (宠物相关推荐 asserts 宠物推荐). Since who
sums up uses other words, a denied value counts as asserted only in a plain clause: with any denial in it, whatever that
reaches, or with a word of aversion (allergic to, 过敏) nothing is asserted. So some contradictions go unseen, and what
is counted is one. Nor does a question contradict anything, nor a statement that also carries the fact, nor a sentence
that somebody said word for word: "we have no cheap rooms" is a part of the record, and what it says may be outdated.

The words of aversion are data, in `datasets/language/statements.toml`.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache, cached_property

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.data import data_file
from ctxmode_cli.language.fold import BREAK, fold, fold_characters
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.language.negation import holds_denial, may_deny
from ctxmode_cli.language.sentences import sentences

_BULLET = "- "
_REMARKS = ("#", "[")
"""How headings begin, and a title such as "[Summary: not a message from the user]", which state nothing."""


class StatementReader:
    """Finds the facts that generated text contradicts.

    Args:
        facts: All facts of a conversation.
        messages: All of its messages.
    """

    def __init__(self, facts: Sequence[Fact], messages: Sequence[Message]) -> None:
        self._facts = facts
        self._messages = messages
        self._denials = {index for index, fact in enumerate(facts) if fact.negative}
        self._read: dict[str, list[tuple[int, str]]] = {}

    def contradictions(self, text: str) -> Iterator[tuple[int, str]]:
        """Each contradicted fact, by its index, with the statement: a sentence of `text`, or a line."""
        for line in text.split("\n"):
            found = self._read.get(line)  # most lines of a running summary come again in the next
            if found is None:
                found = self._read[line] = list(self._contradictions(line))
            yield from found

    def contradicted_in(self, statement: str) -> set[int]:
        """Indexes of the facts that one statement contradicts."""
        if is_question(statement):
            return set()
        carried, contradicted = self._matcher.stances_in(statement)
        asserted = contradicted & self._denials
        plain = {fact for fact in asserted if self._asserts_plainly(statement, fact)}
        return contradicted - (asserted - plain) - carried

    def _contradictions(self, line: str) -> Iterator[tuple[int, str]]:
        # Without a denied fact or a word of denial, which most lines have not, there is nothing to contradict.
        if not line.startswith(_REMARKS) and (self._denials or may_deny(fold_characters(line))):
            for statement in sentences(line):
                if statement.removeprefix(_BULLET) in self._record:
                    continue
                for fact in sorted(self.contradicted_in(statement)):
                    yield fact, statement

    def _asserts_plainly(self, statement: str, fact: int) -> bool:
        """Whether any clause that asserts a denied value has neither a denial nor a word of aversion."""
        for clause in fold(statement).split(BREAK):
            asserts = fact in self._matcher.stances_in(clause).contradicted
            if asserts and not holds_denial(clause) and not _averse().search(clause):
                return True
        return False

    @cached_property
    def _record(self) -> str:
        """All that was said, a line for each message, white space as `sentences` leaves it."""
        return "\n".join(" ".join(content_text(message.content).split()) for message in self._messages)

    @cached_property
    def _matcher(self) -> FactMatcher:
        return FactMatcher(self._facts)  # few texts deny anything


def is_question(statement: str) -> bool:
    """Whether a statement asks, and so neither asserts nor denies anything."""
    return statement.rstrip().endswith(("?", "？"))


@cache
def _averse() -> re.Pattern[str]:
    data = tomllib.loads(data_file("language/statements.toml").read_text(encoding="utf-8"))
    chinese, english = ("|".join(data[lang]["averse"]) for lang in ("zh", "en"))
    return re.compile(rf"{chinese}|(?<![a-z])(?:{english})(?![a-z])")
