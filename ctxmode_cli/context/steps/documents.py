"""Documents that were retrieved for the current turn, as one generated note."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.context.config import DocumentLimits
from ctxmode_cli.context.context import NOTHING_DROPPED
from ctxmode_cli.context.history import History, Note, TurnDocuments
from ctxmode_cli.context.retrieval import Retrieved, as_recorded, choose
from ctxmode_cli.conversation.message import content_text

HEADING = "Retrieved documents (generated note, not a message from the user):"


class SentDocuments(NamedTuple):
    """What goes in of the current turn's documents; those of earlier turns are not sent."""

    note: Note | None
    """None where nothing does."""
    dropped: Mapping[str, int]
    """Chunks that do not, by reason: why they were not chosen (`Retrieved`), or `budget` where the room is too small."""


def documents_that_fit(history: History, limits: DocumentLimits, room: int) -> SentDocuments:
    """The best chunks of the current turn's documents, as many as fit.

    What was chosen and worded stays with the history, for the next mode or request to ask.

    Args:
        history: All that was said so far.
        limits: What is considered of the documents.
        room: Tokens that the note may take.
    """
    if not _documented(history, history.turn_start, len(history)):
        return SentDocuments(None, NOTHING_DROPPED)
    chosen = _chosen(history, limits)

    def tokens(count: int) -> int:
        return _best(history, limits, count).tokens

    whole = len(chosen.chunks)
    count = whole
    if whole and (room <= 0 or tokens(whole) > room):
        count = bisect_left(range(1, whole), True, key=lambda count: room <= 0 or tokens(count) > room)
    note = _best(history, limits, count) if count else None
    over = {"budget": whole - count} if count < whole else {}
    return SentDocuments(note, {**chosen.dropped, **over})


def document_tokens(history: History, limits: DocumentLimits) -> list[int]:
    """Tokens of the note with the best chunk of the current turn's documents, with the best two, … with all of them."""
    if not _documented(history, history.turn_start, len(history)):
        return []
    chunks = len(_chosen(history, limits).chunks)
    return [_best(history, limits, count).tokens for count in range(1, chunks + 1)]


def _chosen(history: History, limits: DocumentLimits) -> Retrieved:
    """What is considered of the current turn's documents."""
    turn = _turn_documents(history)
    if limits not in turn.chosen:
        turn.chosen[limits] = _choose(history, turn.users, limits)
    return turn.chosen[limits]


def _best(history: History, limits: DocumentLimits, count: int) -> Note:
    """The note with the best `count` of them."""
    turn = _turn_documents(history)
    if (limits, count) not in turn.notes:
        turn.notes[limits, count] = _note(history, _chosen(history, limits).texts(count))
    return turn.notes[limits, count]


def recorded_documents(history: History, turn_start: int, stop: int) -> str | None:
    """The note's text if it held all documents before `stop` of the turn that starts at `turn_start`; None without any."""
    documents = _documents(history, _documented(history, turn_start, stop))
    return _wording([document["text"] for document in documents]) if documents else None


def _documented(history: History, turn_start: int, stop: int) -> Sequence[int]:
    """Positions of the messages of a turn that documents were retrieved for."""
    documented = history.documented
    return documented[bisect_left(documented, turn_start) : bisect_left(documented, stop)]


def _documents(history: History, positions: Sequence[int]) -> list[Mapping[str, Any]]:
    return [document for position in positions for document in history.messages[position].documents]


def _turn_documents(history: History) -> TurnDocuments:
    """What is known of the current turn's documents."""
    messages = history.messages
    users = tuple(
        position
        for start, stop in history.uncuttable_ranges.within(history.turn_start, len(history))
        for position in range(start, stop)
        if messages[position].role == "user"
    )
    if history.retrieved is None or history.retrieved.users != users:
        history.retrieved = TurnDocuments(users, {}, {})
    return history.retrieved


def _choose(history: History, users: Sequence[int], limits: DocumentLimits) -> Retrieved:
    documents = _documents(history, users)
    if limits.as_recorded:
        return as_recorded(documents)
    query = "\n".join(content_text(history.messages[position].content) for position in users)
    return choose(query, documents, most=limits.most, tokens=limits.tokens, counter=history.counter)


def _note(history: History, texts: Sequence[str]) -> Note:
    text = _wording(texts)
    return Note("documents", "system", text, history.counter.generated("system", history.counter.text(text)))


def _wording(texts: Sequence[str]) -> str:
    return "\n\n".join([HEADING, *(f"[{number}] {text}" for number, text in enumerate(texts, 1))])
