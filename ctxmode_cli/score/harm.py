"""What does harm in a request: values that no longer hold, and generated statements that contradict the record.

**stale**: a probe of a fact whose request carries a value that the fact superseded, and not its own. Which values it
superseded its `supersedes` says, else the facts of its kind that were superseded by the message that states it; and
what those had superseded in their turn. A superseded fact that no later fact is linked to is stale wherever a summary
still says it after it was superseded: once for each request.

**contradicted**: a statement of a summary denies a fact that held when the summary was made, or asserts one that is a
denial (`StatementReader`). A sentence that the record itself says, word for word, in the message that states the fact
or later, is the record's and contradicts nothing: "we have no cheap rooms" does not deny that the user asked for one;
one from before the fact is overtaken, and does. Each statement counts once for each fact in a conversation, at the first request that sends
it: a line that the next summary takes over is no new statement. What was superseded by then holds no more, so it is
not contradicted by its successor; what was said after the summary it could not know.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Note
from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.statements import StatementReader, is_question
from ctxmode_cli.score.recall import Carrier, FactPlaces

STALE, CONTRADICTED = HARMS = ("stale", "contradicted")
_BULLET = "- "


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
        conversation: What is replayed.
        supersessions: Which of them took the place of which.
        places: Where they are said.
        reader: Reads generated text; the modes share it.
    """

    def __init__(
        self,
        conversation: Conversation,
        supersessions: Supersessions,
        places: FactPlaces,
        reader: StatementReader,
    ) -> None:
        self._conversation = conversation
        self._supersessions = supersessions
        self._places = places
        self._reader = reader
        self._summary: Note | None = None
        self._seen: set[tuple[int, str]] = set()

    def find(self, request: int, context: Context, lost: Iterable[int]) -> Iterator[Harm]:
        """The harm in the next request.

        Args:
            request: Its index.
            context: What it sends.
            lost: The facts that it needs and does not carry.
        """
        for fact in lost:
            yield from self._outdated(request, context, fact)
        if context.summarised:
            yield from self._still_told(request, context)
            yield from self._contradicted(request, context)

    def _outdated(self, request: int, context: Context, fact: int) -> Iterator[Harm]:
        """At most one: the latest old value that is sent, if any."""
        if not self._places.is_found(fact):
            return  # nobody can tell whether the new value is sent
        for old in self._supersessions.older.get(fact, ()):
            carrier = next(self._places.carriers(old, context), None)
            if carrier is not None:
                yield Harm(STALE, fact, request, old, carrier.message, carrier.line)
                return

    def _still_told(self, request: int, context: Context) -> Iterator[Harm]:
        for fact in self._supersessions.unlinked:
            if (self._conversation.facts[fact].superseded_at or 0) < context.length:
                told = (one for one in self._places.carriers(fact, context) if _is_statement(one))
                for carrier in list(told)[:1]:
                    yield Harm(STALE, fact, request, fact, None, carrier.line)

    def _contradicted(self, request: int, context: Context) -> Iterator[Harm]:
        summary = next(piece for piece in context.pieces if isinstance(piece, Note) and piece.purpose == "summary")
        if summary is self._summary:
            return
        self._summary = summary
        for fact, statement in contradictions(summary, context.summarised, self._conversation, self._reader):
            if (fact, statement) not in self._seen:
                self._seen.add((fact, statement))
                yield Harm(CONTRADICTED, fact, request, None, None, statement)


def contradictions(
    summary: Note, summarised: int, conversation: Conversation, reader: StatementReader
) -> Iterator[tuple[int, str]]:
    """The facts that a summary contradicts, by index, each with the statement that does.

    Args:
        summary: The summary.
        summarised: It covers the messages before this position.
        conversation: What it sums up.
        reader: Reads it.
    """
    for index, statement in reader.contradictions(summary.text):
        fact = conversation.facts[index]
        covered = conversation.messages[fact.stated_at : summarised]
        if _holds(fact, summarised) and not any(_says(message, statement) for message in covered):
            yield index, statement


def _is_statement(carrier: Carrier) -> bool:
    """Whether a summary says it, and does not ask."""
    return carrier.purpose == "summary" and not is_question(carrier.line)


def _says(message: Message, statement: str) -> bool:
    """Whether a statement is a message's own, word for word."""
    return statement.removeprefix(_BULLET) in " ".join(content_text(message.content).split())


def _holds(fact: Fact, position: int) -> bool:
    """Whether a fact was stated before `position` and not superseded by then."""
    return fact.stated_at < position and (fact.superseded_at is None or fact.superseded_at >= position)
