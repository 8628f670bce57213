"""Where in its prompt each piece of a request stands, for those who ask where a fact stands."""

from typing import NamedTuple

from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.score.position import Curve, PositionProfile


class Place(NamedTuple):
    """Where a fact stands in a prompt."""

    position: float
    """Tokens before the message or note that holds it, over all prompt tokens; 0 for the head."""
    use: float
    """How likely a model uses it there, from 0 to 1, by the position profile."""


class Span(NamedTuple):
    """A range of recorded messages in the prompt."""

    start: int
    stop: int
    offset: int
    """What is added to the history's tokens before a message to get the prompt's tokens before it."""


class Layout:
    """The pieces of one request with their places, the current input left out.

    The head, position 0, is what stands before all history: system messages, and a summary. System messages that were
    recorded amid the history that is sent stand where they stand. Tool schemas count as the prompt's first tokens.

    Args:
        context: What is sent.
        history: What it was built from.
        profile: Says how likely a fact is used where it stands.
    """

    def __init__(self, context: Context, history: History, profile: PositionProfile) -> None:
        self.head: list[tuple[int, int]] = []
        """Start and stop of the ranges of system messages."""
        self.spans: list[Span] = []
        """History."""
        self.notes: list[tuple[Note, Place]] = []
        self.prompt_tokens = context.prompt_tokens
        self._curve: Curve = profile.curve(context.prompt_tokens)
        self.best_head = Place(0.0, self._curve.at(0.0))
        tokens_before = history.tokens_before
        tokens = history.fixed_tokens - history.counter.REPLY_TOKENS
        for piece in context.pieces:
            if isinstance(piece, Note):
                self.notes.append((piece, self.best_head if piece.purpose == "summary" else self.place(tokens)))
            elif piece.purpose == "system":
                self.head.append((piece.start, piece.stop))
            elif piece.purpose == "history":
                self.spans.append(Span(piece.start, piece.stop, tokens - tokens_before[piece.start]))
            tokens += piece.tokens
        self.tokens_before = tokens_before

    def place(self, tokens: int) -> Place:
        """The place behind so many of the prompt's tokens."""
        position = tokens / self.prompt_tokens
        return Place(position, self._curve.at(position))

    def places(self, span: Span, positions: list[int]) -> list[Place]:
        """The places of messages of a span."""
        return [self.place(span.offset + self.tokens_before[position]) for position in positions]
