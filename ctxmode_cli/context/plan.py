"""What a mode decides, and what a summarizer is: the two contracts of this room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import SummaryCall
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.errors import CtxmodeError


class Plan(NamedTuple):
    """What goes in before the current turn: a mode's decision, then what of it fits the budget."""

    start: int
    """History is sent from this position on; system messages before it are sent all the same."""
    summary: Note | None = None
    """Sent in place of the messages before `summarised`."""
    summarised: int = 0
    call: SummaryCall | None = None
    stepped_down: str | None = None
    documents: Note | None = None
    """The current turn's documents, where the budget has room for them; no mode decides on them."""
    trimmed: bool = False
    """Whether the budget left out something of it."""


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


class Mode(Protocol):
    """Decides which history goes into a request; a pure function of what it is given."""

    def __call__(self, history: History, budget: Budget, state: State) -> tuple[Plan, State]:
        """The decision, and what to remember for the next one."""
        ...


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer is asked: tell these messages, and what the last summary told, within the target."""

    previous: str | None
    """The running summary, which the new one replaces; None for the first, or for a rebuild."""
    messages: Sequence[Message]
    """User, assistant and tool messages; no system messages, no labels, nothing later than the request."""
    messages_tokens: int
    """Their prompt tokens."""
    target_tokens: int
    """The summary's text holds at most this many tokens."""


class SummaryResult(NamedTuple):
    """A summarizer's answer."""

    text: str
    text_tokens: int
    prompt_tokens: int
    """Prompt of the call: instructions, last summary and messages."""
    unseen_tokens: int = 0


class SummaryError(CtxmodeError):
    """No summary could be had; the request goes without one."""

    def __init__(self, message: str, *, prompt_tokens: int = 0) -> None:
        super().__init__(message)
        self.prompt_tokens = prompt_tokens
        """Tokens of the call that failed, which are billed all the same; 0 where none was made."""


class Summarizer(Protocol):
    """Turns the older part of a conversation into a few lines."""

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        """The summary.

        Raises:
            SummaryError: It could not be had.
        """
        ...
