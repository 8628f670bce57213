"""A context: what one request would send, as a list of pieces."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ctxmode_cli.context.history import History, Note, Recorded
from ctxmode_cli.conversation.message import with_text

Piece: TypeAlias = Recorded | Note


class SummaryCall(NamedTuple):
    """One attempted call of a summarizer, counted as if a model had been called."""

    model: str
    """The model that summarises; the tokens are counted with its encoding."""
    strategy: str
    prompt_tokens: int
    completion_tokens: int
    unseen_tokens: int
    """Tokens of the messages to summarise that a capped input never showed the summarizer."""
    failed: bool
    text: str
    prefix: "tuple[Piece, ...] | None" = None
    """What the call's prompt began with, after the tool schemas, where it went behind the session's own prefix."""


NOTHING_DROPPED: Mapping[str, int] = {}


class Context(NamedTuple):
    """What one request sends, in order, and what was left out."""

    pieces: tuple[Piece, ...]
    prompt_tokens: int
    """Whole request: framing, tool schemas and the opening of the reply included."""
    length: int
    """Messages that lie before the request."""
    summarised: int
    """The messages before this position are told by the summary, system messages aside."""
    trimmed: bool
    """Whether the budget forced a cut."""
    stepped_down: str | None = None
    """The simpler mode that this request fell back to."""
    call: SummaryCall | None = None
    """The summary call that was made for this request."""
    wanted: int = 0
    """The mode wanted history from this position on; the budget may have cut some of that."""
    documents_dropped: Mapping[str, int] = NOTHING_DROPPED
    """Chunks of the current turn's documents that are not sent, by reason: those of `Retrieved.dropped`, or `budget`."""

    @property
    def turn_start(self) -> int:
        """Where the current input starts: its first user message is always sent."""
        return next(span(piece)[0] for piece in self.pieces if piece.purpose == "input")

    def sent_messages(self) -> int:
        """How many recorded messages are sent, as recorded or shortened."""
        return sum(stop - start for start, stop in map(span, self.pieces))

    def dropped_messages(self, history: History) -> int:
        """How many recorded messages are neither sent nor told by the summary."""
        told = self.summarised - bisect_left(history.systems, self.summarised)
        return self.length - self.sent_messages() - told

    def messages(self, history: History) -> list[dict[str, Any]]:
        """The request's messages in wire form; `history` is the one the context was built from."""
        return wire_form(self.pieces, history)


PURPOSES = ("system", "card", "summary", "constraints", "history", "tool_output", "documents", "input")
"""What a piece can be."""
HEAD = frozenset({"system", "card", "summary", "constraints"})
"""Purposes of the pieces that stand at the head of a request, where nothing but such pieces comes before them."""


def span(piece: Piece) -> tuple[int, int]:
    """The recorded messages that a piece sends, as recorded or shortened: (start, stop); a note of its own has none."""
    if isinstance(piece, Recorded):
        return piece.start, piece.stop
    return (0, 0) if piece.replaces is None else (piece.replaces, piece.replaces + 1)


def head_length(pieces: Sequence[Piece]) -> int:
    """How many pieces a request's head has: system messages and notes before all that was said."""
    return next((index for index, piece in enumerate(pieces) if piece.purpose not in HEAD), len(pieces))


def wire_form(pieces: Iterable[Piece], history: History) -> list[dict[str, Any]]:
    """Pieces as the messages that are sent."""
    wire: list[dict[str, Any]] = []
    for piece in pieces:
        if isinstance(piece, Recorded):
            wire.extend(message.wire() for message in history.messages[piece.start : piece.stop])
        elif piece.replaces is not None:
            recorded = history.messages[piece.replaces]
            wire.append(recorded.wire() | {"content": with_text(recorded.content, piece.text)})
        else:
            wire.append({"role": piece.role, "content": piece.text})
    return wire
