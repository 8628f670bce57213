"""The settings of a context mode, and the token budget that follows from them."""

from dataclasses import dataclass
from enum import StrEnum

from ctxmode_cli.errors import CtxmodeError

SUMMARY_MODEL = "gpt-4o-mini"
"""What summarises where nothing else is said: a small model of its own."""


WINDOW_PER_DOCUMENT = 16_000
"""A chunk of retrieved documents for so many tokens of the window: 8 for one of 128,000."""
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 3, 20
"""Of fewer the right one is easily missed; more hardly help: 50 retrieved documents instead of 20 answer one to two in
a hundred questions more (Liu et al. 2024, Lost in the Middle, the case study of open-domain question answering)."""
DOCUMENT_SHARE = 128
"""A chunk has the window's tokens over this: 1,000 for one of 128,000. With the count, all of them have an eighth of any
window from 4,800 tokens on at most."""
SHORTEST_DOCUMENT, LONGEST_DOCUMENT = 200, 2000
"""Tokens: a few sentences, and some pages."""


class ContextMode(StrEnum):
    """The built-in strategies that decide which history goes into a request."""

    ZERO = "zero"
    """System messages and the current input only."""
    FULL = "full"
    """Everything so far; trimmed only where the model's window forces it."""
    SLIDING = "sliding"
    """The most recent complete turns and the current input."""
    SUMMARY = "summary"
    """The older part as one summary, the last turns verbatim."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How much of a turn's retrieved documents is considered; without either limit they go as they were recorded."""

    most: int | None = None
    """Chunks."""
    tokens: int | None = None
    """Of a chunk."""
    first: bool = False
    """Whether they take their room before history, and stand in front of it."""

    @property
    def as_recorded(self) -> bool:
        """Whether nothing is chosen, split or ranked."""
        return self.most is None and self.tokens is None


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens a request may hold; `None` is no ceiling of its own.

    Shares are ceilings on what may be kept; an unused share is free for the others.
    """

    request: int
    """Whole request: framing and tool schemas included."""
    system: int | None = None
    """System messages and tool schemas."""
    input: int | None = None
    """The current input."""
    history: int | None = None
    """What lies before the current input: summary and recorded turns."""
    low: float = 1.0
    """Share of the room for history to which it is cut back where it does not fit."""
    calls_first: bool = False
    """Whether history's call groups go before its other messages where it does not fit."""
    documents: DocumentLimits = DocumentLimits()
    """What is considered of the current turn's retrieved documents."""


@dataclass(frozen=True, slots=True)
class ContextConfig:
    """The settings of one mode; token figures are counted with the model's own encoding.

    Raises:
        CtxmodeError: A setting is out of its range, or the model that summarises is unknown.
    """

    mode: str = ContextMode.SLIDING
    model: str = "gpt-4o"
    max_tokens: int = 8000
    """Business budget of a request's input, for every mode but `full`."""
    reserved_output: int = 2000
    """Tokens of the window that are kept free for the reply."""
    system_tokens: int | None = None
    input_tokens: int | None = None
    history_tokens: int | None = None
    budget_low: float = 1.0
    """Share of the room for history to cut back to when the budget forces a cut; 1 is to the brim (at every turn)."""
    sliding_turns: int = 10
    """Complete turns that the window holds at most."""
    sliding_low: int | None = None
    """Complete turns to cut back to when the window is full; None is `sliding_turns` (slide at every turn)."""
    summary_threshold: int | None = 6
    """Complete turns kept verbatim; None is never to summarise."""
    summary_every: int = 4
    """Complete turns beyond the threshold before the next refresh, since each summary call is billed."""
    summary_trigger: str = "turns"
    """`turns`, `tokens` or `both`."""
    compress_ratio: float = 0.70
    """Share of the input budget that the history may fill before the `tokens` trigger asks for a summary."""
    summary_strategy: str = "rolling"
    """`rolling` (summary and what left the window since) or `rebuild` (the originals again)."""
    summary_target_tokens: int = 800
    summary_role: str = "system"
    """`system` or `assistant`."""
    summary_model: str | None = None
    """The model that is called for summaries; None is gpt-4o-mini, or behind the session's prefix the session's own."""
    summary_prefix: str = "none"
    """`none`, or `session`: the call goes behind the session's own prefix, where the provider's cache holds most of it."""
    summary_call: str = "background"
    """`background`, or `blocking`: the request waits for the call."""
    fact_card: bool = False
    """Whether the facts that the user states are kept on a card of their own."""
    fact_card_tokens: int = 300
    """The card's text holds at most this many."""
    placement: str = "head"
    """Where the card and the summary's hard constraints stand: `head` (after the system prompt) or `tail` (right before
    the current input)."""
    tool_max_tokens: int = 1000
    """A tool output of more tokens is sent as its key paths and statistics, in every mode but `full`."""
    tool_history: str = "line"
    """What tool outputs of earlier turns are sent as, in every mode but `full`: `line` (one each) or `full`."""
    tool_priority: str = "normal"
    """`low`: where history does not fit, its oldest call groups go before any other talk."""
    max_documents: int | None = None
    """Chunks of retrieved documents at most; None follows from the window, and sets no limit in the mode `full`."""
    document_tokens: int | None = None
    """Tokens of a chunk at most; None as above."""
    document_priority: str = "low"
    """`low` (documents are dropped before any history) or `high` (after all of it; they stand in front of it)."""

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_ranges()
        self._check_summary_model()

    def _check_choices(self) -> None:
        choices = {
            "mode": tuple(ContextMode),
            "summary_trigger": ("turns", "tokens", "both"),
            "summary_strategy": ("rolling", "rebuild"),
            "summary_role": ("system", "assistant"),
            "summary_prefix": ("none", "session"),
            "summary_call": ("background", "blocking"),
            "placement": ("head", "tail"),
            "tool_history": ("line", "full"),
            "tool_priority": ("normal", "low"),
            "document_priority": ("low", "high"),
        }
        for setting, allowed in choices.items():
            value = getattr(self, setting)
            if value not in allowed:
                raise CtxmodeError(f'{setting} is "{value}"', hint=f"one of {', '.join(allowed)}")

    def _check_ranges(self) -> None:
        least = {
            "max_tokens": 1,
            "reserved_output": 0,
            "system_tokens": 0,
            "input_tokens": 0,
            "history_tokens": 0,
            "sliding_turns": 0,
            "sliding_low": 0,
            "summary_threshold": 0,
            "summary_every": 0,
            "summary_target_tokens": 1,
            "fact_card_tokens": 1,
            "tool_max_tokens": 1,
            "max_documents": 0,
            "document_tokens": 4,  # which a single character may take
        }
        for setting, minimum in least.items():
            value = getattr(self, setting)
            if value is not None and value < minimum:
                raise CtxmodeError(f"{setting} is {value}, less than {minimum}")
        if self.sliding_low is not None and self.sliding_low > self.sliding_turns:
            raise CtxmodeError(f"sliding_low is {self.sliding_low}, more than sliding_turns ({self.sliding_turns})")
        for setting in ("budget_low", "compress_ratio"):
            share = getattr(self, setting)
            if not 0 < share <= 1:
                raise CtxmodeError(f"{setting} is {share}; it lies above 0 and up to 1")

    def _check_summary_model(self) -> None:
        if self.summary_model is None:
            return
        if self.summary_prefix == "session" and self.summary_model != self.model:
            raise CtxmodeError(
                f"summary_model is {self.summary_model}, and summary_prefix is session: a cache belongs to one model",
                hint=f"leave summary_model out; behind the session's prefix it is the session's own, {self.model}",
            )
        from ctxmode_cli.tokens.models import find_model  # noqa: PLC0415 - `--help` needs settings and no tokenizer

        find_model(self.summary_model)

    @property
    def summarising_model(self) -> str:
        """The model that is called for summaries."""
        if self.summary_model is not None:
            return self.summary_model
        return self.model if self.summary_prefix == "session" else SUMMARY_MODEL

    def budget(self, window: int) -> Budget:
        """The budget of a request for a model with a context window of `window` tokens.

        `full` is held by the window alone; every other mode by the smaller of window and `max_tokens`.

        Raises:
            CtxmodeError: The reserved output leaves nothing of the window.
        """
        room = window - self.reserved_output
        if room <= 0:
            raise CtxmodeError(f"reserved_output is {self.reserved_output}, the whole window of {window} tokens")
        calls_first, documents = self.tool_priority == "low", self.document_limits(window)
        if self.mode == ContextMode.FULL:
            return Budget(room, low=self.budget_low, calls_first=calls_first, documents=documents)
        shares = self.system_tokens, self.input_tokens, self.history_tokens
        limit = min(self.max_tokens, room)
        return Budget(limit, *shares, low=self.budget_low, calls_first=calls_first, documents=documents)

    def document_limits(self, window: int) -> DocumentLimits:
        """What is considered of a turn's documents with a context window of `window` tokens.

        What is not set is a 16,000th of the window in chunks, from 3 to 20, and a 128th of it in tokens of a chunk,
        from 200 to 2,000; in the mode `full`, which sends what was recorded, it is no limit.
        """
        most, tokens = self.max_documents, self.document_tokens
        if self.mode != ContextMode.FULL:
            if most is None:
                most = min(max(window // WINDOW_PER_DOCUMENT, FEWEST_DOCUMENTS), MOST_DOCUMENTS)
            if tokens is None:
                tokens = min(max(window // DOCUMENT_SHARE, SHORTEST_DOCUMENT), LONGEST_DOCUMENT)
        return DocumentLimits(most, tokens, first=self.document_priority == "high")
