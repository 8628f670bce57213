"""A context: what one request would send, as a list of pieces."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ctxmode_cli.context.history import History, Note, Recorded
from ctxmode_cli.conversation.message import with_text

Piece: TypeAlias = Recorded | Note


CALL_PURPOSES = ("summary", "card")
"""What a model can be called for beside the requests: to write a summary, or to read facts for the fact card."""


class AuxiliaryCall(NamedTuple):
    """One attempted call beside the requests, counted as if a model had been called."""

    purpose: str
    """One of CALL_PURPOSES."""
    model: str
    """The model that is called; the tokens are counted with its encoding."""
    prompt_tokens: int
    completion_tokens: int
    failed: bool = False
    text: str = ""
    """What came of it: a summary that is sent, or the answer that the facts were read from."""
    unseen_tokens: int = 0
    """Tokens of messages that it should have told of and that a capped input never showed the model."""
    strategy: str | None = None
    """Of a summary."""
    message: int | None = None
    """Position of the message that is read for the card."""
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
    calls: tuple[AuxiliaryCall, ...] = ()
    """The calls that were made for this request, the summary's last."""
    wanted: int = 0
    """The mode wanted history from this position on; the budget may have cut some of that."""
    documents_dropped: Mapping[str, int] = NOTHING_DROPPED
    """Chunks of the current turn's documents that are not sent, by reason: those of `Retrieved.dropped`, or `budget`."""

    @property
    def summary_call(self) -> AuxiliaryCall | None:
        """The summary call that was made for this request."""
        return next((call for call in self.calls if call.purpose == "summary"), None)

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
