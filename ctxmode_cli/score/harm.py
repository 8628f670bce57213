"""What does harm in a request: values that no longer hold, and generated statements that contradict the record.

**stale**: a probe of a fact whose request carries a value that the fact superseded, and not its own. Which values it
superseded its `supersedes` says, else the facts of its kind that were superseded by the message that states it; and
what those had superseded in their turn. A superseded fact that no later fact is linked to is stale wherever a summary
still says it after it was superseded: once for each request.

**contradicted**: a statement of a summary denies a fact that held when the summary was made, or asserts one that is a
denial (`StatementReader`). Each statement counts once for each fact in a conversation, at the first request that sends
it: a line that the next summary takes over is no new statement. What was superseded by then holds no more, so it is
not contradicted by its successor; what was said after the summary it could not know.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Note
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.language.statements import StatementReader, is_question
from ctxmode_cli.score.recall import Carrier, FactPlaces
from ctxmode_cli.score.scores import Scores

STALE, CONTRADICTED = HARMS = ("stale", "contradicted")


class Harm(NamedTuple):
    """One harm that one fact suffers in one request."""

    kind: str
    """`stale` or `contradicted`."""
    fact: int
    """The fact that was needed and changed, or is contradicted; index within its conversation."""
    request: int
    """0-based within the conversation."""
    old: int | None
    """The superseded fact that is sent in its place; None for a contradiction."""
    message: int | None
    """Index of the recorded message that says it; None where generated text does."""
    statement: str
    """The generated statement; empty where a recorded message says it."""


class Supersessions(NamedTuple):
    """Which facts took the place of which; indexes within a conversation."""

    older: Mapping[int, Sequence[int]]
    """By fact: all that it superseded, the latest first."""
    unlinked: Sequence[int]
    """Facts that were superseded by none of the labelled ones."""

    @classmethod
    def of(cls, facts: Sequence[Fact]) -> "Supersessions":
        """Those of a conversation."""
        changed = [index for index, fact in enumerate(facts) if fact.superseded_at is not None]
        if not changed and not any(fact.supersedes for fact in facts):
            return cls({}, ())
        direct = {index: found for index in range(len(facts)) if (found := _superseded(index, facts, changed))}
        older = {index: _all_before(index, direct) for index in direct}
        linked = {old for found in direct.values() for old in found}
        return cls(older, [index for index in changed if index not in linked])

    def wanted(self, probed: Iterable[int]) -> list[int]:
        """The facts that recall and harm look for: the probed ones, and those that are stale where they are sent."""
        probed = list(probed)
        old = (index for fact in probed for index in self.older.get(fact, ()))
        return sorted({*probed, *old, *self.unlinked})


def _superseded(index: int, facts: Sequence[Fact], changed: Sequence[int]) -> list[int]:
    fact = facts[index]
    if fact.supersedes is not None:
        return [old for old, other in enumerate(facts) if other.id == fact.supersedes and old != index]
    return [
        old
        for old in changed
        if old != index and facts[old].superseded_at == fact.stated_at and facts[old].kind == fact.kind
    ]


def _all_before(index: int, direct: Mapping[int, Sequence[int]]) -> list[int]:
    """All that a fact superseded, nearest first."""
    found = {index: None}
    waiting = [index]
    for fact in waiting:
        new = [old for old in direct.get(fact, ()) if old not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)[1:]


class HarmFinder:
    """Finds the harm in the requests of one mode, one request after another.

    Args:
        facts: All of a conversation.
        supersessions: Which of them took the place of which.
        places: Where they are said.
        reader: Reads generated text; the modes share it.
    """

    def __init__(
        self,
        facts: Sequence[Fact],
        supersessions: Supersessions,
        places: FactPlaces,
        reader: StatementReader,
    ) -> None:
        self._facts = facts
        self._supersessions = supersessions
        self._places = places
        self._reader = reader
        self._summary: Note | None = None
        self._still_told: list[tuple[int, str]] = []
        """Superseded facts that the last summary says, each with its line."""
        self._seen: set[tuple[int, str]] = set()

    def __call__(self, contexts: Sequence[Context | None], scores: Scores) -> list[Harm]:
        """All harm in a conversation.

        Args:
            contexts: What each request sends; None where nothing can be.
            scores: What became of each probe.
        """
        if not self._facts:
            return []
        probes = scores.probes
        lost: defaultdict[int, list[int]] = defaultdict(list)
        changed = np.isin(probes.fact, list(self._supersessions.older)) & ~scores.in_context
        for asked, fact in zip(probes.asked[changed].tolist(), probes.fact[changed].tolist(), strict=True):
            lost[probes.requests[asked].request].append(fact)
        return [
            harm
            for request, context in enumerate(contexts)
            if context is not None and (context.summarised or request in lost)
            for harm in self.find(request, context, lost.get(request, ()))
        ]

    def find(self, request: int, context: Context, lost: Iterable[int]) -> list[Harm]:
        """The harm in the next request.

        Args:
            request: Its index.
            context: What it sends.
            lost: The facts that it needs and does not carry.
        """
        harm = [found for fact in lost if (found := self._outdated(request, context, fact)) is not None]
        if not context.summarised:
            return harm
        summary = next(piece for piece in context.pieces if isinstance(piece, Note) and piece.purpose == "summary")
        if summary is not self._summary:  # the same one goes with many requests
            self._summary = summary
            self._still_told = list(self._told(context))
            harm += self._contradicted(request, summary, context.summarised)
        for fact, line in self._still_told:
            if (self._facts[fact].superseded_at or 0) < context.length:
                harm.append(Harm(STALE, fact, request, fact, None, line))
        return harm

    def _outdated(self, request: int, context: Context, fact: int) -> Harm | None:
        """The latest old value that is sent in the place of a fact, if any."""
        if not self._places.is_found(fact):
            return None  # nobody can tell whether the new value is sent
        for old in self._supersessions.older.get(fact, ()):
            carrier = next(self._places.carriers(old, context), None)
            if carrier is not None:
                return Harm(STALE, fact, request, old, carrier.message, carrier.line)
        return None

    def _told(self, context: Context) -> Iterator[tuple[int, str]]:
        for fact in self._supersessions.unlinked:
            carriers = self._places.carriers(fact, context)
            line = next((carrier.line for carrier in carriers if _is_statement(carrier)), None)
            if line is not None:
                yield fact, line

    def _contradicted(self, request: int, summary: Note, summarised: int) -> Iterator[Harm]:
        for fact, statement in contradictions(summary, summarised, self._facts, self._reader):
            if (fact, statement) not in self._seen:
                self._seen.add((fact, statement))
                yield Harm(CONTRADICTED, fact, request, None, None, statement)


def contradictions(
    summary: Note, summarised: int, facts: Sequence[Fact], reader: StatementReader
) -> Iterator[tuple[int, str]]:
    """The facts that a summary contradicts, by index, each with the statement that does.

    Args:
        summary: The summary.
        summarised: It covers the messages before this position.
        facts: All of the conversation.
        reader: Reads it.
    """
    for fact, statement in reader.contradictions(summary.text):
        if _holds(facts[fact], summarised):
            yield fact, statement


def _is_statement(carrier: Carrier) -> bool:
    """Whether a summary says it, and does not ask."""
    return carrier.purpose == "summary" and not is_question(carrier.line)


def _holds(fact: Fact, position: int) -> bool:
    """Whether a fact was stated before `position` and not superseded by then."""
    return fact.stated_at < position and (fact.superseded_at is None or fact.superseded_at >= position)
