"""The harm that a mode does, counted, with the first cases; adds up in any order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.replay.breakdown import MAX_NAME, short
from ctxmode_cli.score.harm import Harm

MAX_CASES = 10
"""Cases that are kept."""
MAX_STATEMENT = 5 * MAX_NAME
"""Characters of a statement that are kept."""


class HarmCase(NamedTuple):
    """One harm, at the first request of its conversation that does it; in the order in which cases are listed."""

    kind: str
    """`stale` or `contradicted`."""
    conversation: str
    """Its id."""
    request: int
    fact: str
    """Id of the fact that is contradicted, or that another value stands for."""
    value: str
    """That of the fact."""
    sent: str
    """The superseded value that is sent in its place; empty for a contradiction."""
    message: int
    """Index of the recorded message that says it; -1 where generated text does."""
    statement: str
    """The generated statement; empty where a recorded message says it."""


@dataclass
class HarmTotals:
    """What the harm in one mode's requests adds up to."""

    counts: Counter[str] = field(default_factory=Counter)
    """By kind."""
    cases: list[HarmCase] = field(default_factory=list)
    """The first of them, sorted, so that it does not matter in which order conversations came."""

    def __iadd__(self, other: "HarmTotals") -> Self:
        self.counts.update(other.counts)
        self._keep([*self.cases, *other.cases])
        return self

    def add(self, conversation: Conversation, harm: Sequence[Harm]) -> None:
        """Count that of one conversation."""
        if not harm:
            return
        self.counts.update(one.kind for one in harm)
        first: dict[tuple[str, int, int | None, str], Harm] = {}
        for one in harm:
            first.setdefault((one.kind, one.fact, one.message, one.statement), one)
        self._keep([*self.cases, *(_case(conversation, one) for one in first.values())])

    def _keep(self, cases: list[HarmCase]) -> None:
        self.cases = sorted(cases)[:MAX_CASES]


def _case(conversation: Conversation, harm: Harm) -> HarmCase:
    fact = conversation.facts[harm.fact]
    return HarmCase(
        kind=harm.kind,
        conversation=short(conversation.id),
        request=harm.request,
        fact=short(fact.id),
        value=short(fact.value),
        sent="" if harm.old is None else short(conversation.facts[harm.old].value),
        message=-1 if harm.message is None else harm.message,
        statement=short(harm.statement, MAX_STATEMENT),
    )
