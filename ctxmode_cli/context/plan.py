"""What a mode decides, and what a summarizer is: the two contracts of this room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ctxmode_cli.context.card import Card
from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import NOTHING_DROPPED, AuxiliaryCall, Piece, wire_form
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter

CONSTRAINTS_HEADINGS = frozenset({"## The user's hard constraints", "## 用户的硬性要求"})
"""The last section of a summary has one of these headings, so that it can be told from the rest."""


class Plan(NamedTuple):
    """What goes in before the current turn: a mode's decision, then what of it fits the budget."""

    start: int
    """History is sent from this position on; system messages before it are sent all the same."""
    summary: Note | None = None
    """Sent in place of the messages before `summarised`."""
    summarised: int = 0
    calls: tuple[AuxiliaryCall, ...] = ()
    """Those that were made for this request."""
    stepped_down: str | None = None
    documents: Note | None = None
    """The current turn's documents, where the budget has room for them; no mode decides on them."""
    trimmed: bool = False
    """Whether the budget left out something of it."""
    card: Note | None = None
    """The fact card, whatever the mode decides."""
    constraints: Note | None = None
    """The summary's hard constraints, where they stand apart from it."""
    called_from: int = 0
    """Call groups of history before this position are left out, so that the talk beside them stays."""
    documents_first: bool = False
    """Whether the documents stand in front of all history."""
    documents_dropped: Mapping[str, int] = NOTHING_DROPPED
    """Chunks of the current turn's documents that are not sent, by reason."""


class Corrections(NamedTuple):
    """What a person has changed in the summary, line by line."""

    kept: tuple[str, ...] = ()
    """Lines that the person wrote; every summary has them word for word."""
    removed: tuple[str, ...] = ()
    """Lines that the person took out; no summary has them again."""


class State(NamedTuple):
    """What is remembered between requests: small, and all that must be stored to go on later."""

    window_turn: int = 0
    """Number of the turn at which the sliding window starts."""
    summary: Note | None = None
    """The running summary."""
    summarised: int = 0
    """The running summary covers the messages before this position."""
    cut_start: int = 0
    """Position that the budget has cut the history back to, to stay there; 0 where it has not."""
    card: Card = Card()
    """The facts that were said so far, where a fact card is kept."""
    card_note: Note | None = None
    """The same as it is sent; None while it is empty."""
    card_stop: int = 0
    """The messages before this position have been read for it: none is read twice."""
    corrections: Corrections = Corrections()
    """A person's corrections of the summary."""


class Mode(Protocol):
    """Decides which history goes into a request; a pure function of what it is given."""

    def __call__(self, history: History, budget: Budget, state: State) -> tuple[Plan, State]:
        """The decision, and what to remember for the next one."""
        ...


class SessionPrefix(NamedTuple):
    """What the session's own next request begins with: a call that begins alike finds it in the provider's cache."""

    pieces: tuple[Piece, ...]
    """Leading system messages, the running summary, and what is sent verbatim up to the current turn."""
    history: History
    """What the pieces are ranges of; its tool schemas go with the call."""

    @property
    def tokens(self) -> int:
        """Prompt tokens of tool schemas and pieces, and of the opening of the reply."""
        return self.history.fixed_tokens + sum(piece.tokens for piece in self.pieces)

    def messages(self) -> list[dict[str, Any]]:
        """The pieces in wire form."""
        return wire_form(self.pieces, self.history)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer is asked: tell these messages, and what the last summary told, within the target.

    The call's prompt is the instructions, the last summary and the messages; or, with a prefix, that prefix and the
    instructions behind it, since the prefix holds summary and messages already.
    """

    previous: str | None
    """The running summary, which the new one replaces; None for the first, or for a rebuild."""
    messages: Sequence[Message]
    """User, assistant and tool messages; no system messages, no labels, nothing later than the request."""
    messages_tokens: int
    """Their prompt tokens, by `counter`."""
    target_tokens: int
    """The summary's text holds at most this many tokens."""
    counter: TokenCounter
    """That of the model which summarises: it counts what the call is billed for, and knows the model's window."""
    prefix: SessionPrefix | None = None
    """Where the call goes behind the session's own prefix."""


class SummaryResult(NamedTuple):
    """A summarizer's answer."""

    text: str
    text_tokens: int
    """By the session's own encoding: the text goes into its requests."""
    prompt_tokens: int
    """Of the whole call, by the request's counter."""
    unseen_tokens: int = 0


class SummaryError(CtxmodeError):
    """No summary could be had; the request goes without one.

    Args:
        message: What went wrong.
        prompt_tokens: Tokens of the call that failed, which are billed all the same; 0 where none was made.
        completion_tokens: Likewise, of an answer that is no summary.
        over_by: Where no call was made since its prompt and the target would not fit the model's window: by how many
            tokens. The summarizer is then asked again without the oldest messages, if that helps.
    """

    def __init__(self, message: str, *, prompt_tokens: int = 0, completion_tokens: int = 0, over_by: int = 0) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.over_by = over_by


class Summarizer(Protocol):
    """Turns the older part of a conversation into a few lines."""

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: It could not be had.
        """
        ...
