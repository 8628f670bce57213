"""The manager of one session's context: what a service imports, and what a replay runs."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from ctxmode_cli.context.card import Card, CardFact
from ctxmode_cli.context.card import correct as correct_facts
from ctxmode_cli.context.card_facts import FactExtractor, extract_card_facts
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History
from ctxmode_cli.context.modes.registry import build_mode
from ctxmode_cli.context.plan import State, Summarizer
from ctxmode_cli.context.steps.assemble import assemble
from ctxmode_cli.context.steps.budget import cut_input, fit
from ctxmode_cli.context.steps.corrections import correct, kept_tokens
from ctxmode_cli.context.steps.fact_card import FactCard
from ctxmode_cli.context.steps.placement import place
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter


class ContextManager:
    """Holds one session's messages and decides what each request sends; instances share nothing.

    Args:
        config: The mode and its settings.
        summarizer: What the summary mode calls; the other modes need none.
        extractor: Reads the facts for the fact card from what is said.
        tools: Tool schemas that go with every request; they count against the budget.
        history: An existing history to read from, for comparing several modes on one session. Whoever passes it
            appends to it.
        state: What an earlier manager of this session remembered, to go on from there.

    Raises:
        CtxmodeError: The model is unknown, or not the one that `history` counts for, or the settings leave no budget.
    """

    def __init__(
        self,
        config: ContextConfig | None = None,
        *,
        summarizer: Summarizer | None = None,
        extractor: FactExtractor = extract_card_facts,
        tools: Sequence[Mapping[str, Any]] = (),
        history: History | None = None,
        state: State | None = None,
    ) -> None:
        self.config = config or ContextConfig()
        if history is None:
            history = History(TokenCounter.for_model(self.config.model), tools=deepcopy(tools))
        elif history.counter.model.name != self.config.model:
            raise CtxmodeError(
                f"the history counts tokens for {history.counter.model.name}, the settings are for {self.config.model}",
                hint="ContextConfig(model=…) names the model of the history's counter",
            )
        self.history = history
        self._summarizer = summarizer
        self._extractor = extractor
        self._state = state or State()
        self._set_mode(self.config)

    def _set_mode(self, config: ContextConfig) -> None:
        budget = config.budget(self.history.counter.model.window)
        self._mode = build_mode(config, self._summarizer)
        self.config, self.budget = config, budget
        counter = self.history.counter
        self._card = FactCard(config.fact_card_tokens, counter, self._extractor) if config.fact_card else None

    @property
    def state(self) -> State:
        """What is remembered between requests: with the messages, all that a session needs to go on elsewhere."""
        return self._state

    @property
    def summary(self) -> str | None:
        """The running summary's text, where there is one."""
        return self._state.summary.text if self._state.summary else None

    @property
    def card(self) -> Card:
        """The fact card: what is on it, and what a person has corrected."""
        return self._state.card

    def change_mode(self, config: ContextConfig) -> None:
        """Go on with the same session under other settings; summary, card and window stay.

        Raises:
            CtxmodeError: The settings are for another model, leave no budget, or need a summarizer that is not there.
        """
        if config.model != self.config.model:
            raise CtxmodeError(
                f"the session counts tokens for {self.config.model}, the settings are for {config.model}",
                hint="begin a new manager for another model",
            )
        self._set_mode(config)
        note = self._card.note(self._state.card, self.history) if self._card else None
        self._state = self._state._replace(card_note=note, cut_start=0)  # the cut was another budget's

    def correct_summary(self, text: str) -> None:
        """Put a person's version in the running summary's place; it is sent as it is until the next refresh.

        Later summaries have the lines that the person added or changed word for word, and not those that the person
        took out; headings are not kept.

        Raises:
            CtxmodeError: There is no summary yet, the text is empty, or the kept lines leave no room for a summary.
        """
        summary, counter = self._state.summary, self.history.counter
        if summary is None:
            raise CtxmodeError("there is no summary to correct yet")
        if not text.strip():
            raise CtxmodeError("the corrected summary is empty", hint="leave at least its title")
        corrections = correct(self._state.corrections, summary.text, text)
        over_by = kept_tokens(corrections, counter.text) + 1 - self.config.summary_target_tokens
        if over_by > 0:
            raise CtxmodeError(
                f"the corrected lines leave no room for a summary: {over_by} tokens over its target",
                hint="shorten them, or raise summary_target_tokens",
            )
        note = summary._replace(text=text, tokens=counter.generated(summary.role, counter.text(text)))
        self._state = self._state._replace(summary=note, corrections=corrections)

    def correct_card(self, *, set_: Sequence[CardFact] = (), remove: Sequence[CardFact] = ()) -> None:
        """Put facts on the fact card, whatever was said so far, and take others off for good.

        Only a change that the user states from now on takes the place of a fact that was put on the card.

        Args:
            set_: Facts that hold; their positions count nothing.
            remove: Facts that do not hold, of whatever kind.

        Raises:
            CtxmodeError: The settings keep no fact card.
        """
        if self._card is None:
            raise CtxmodeError("these settings keep no fact card", hint="ContextConfig(fact_card=True)")
        newest = len(self.history) - 1
        stated = [fact._replace(changes=True, position=newest) for fact in set_]
        card = correct_facts(self._state.card, set_=stated, remove=remove)
        self._state = self._state._replace(card=card, card_note=self._card.note(card, self.history))

    def append(self, message: Mapping[str, Any] | Message) -> None:
        """Record the next message of the session, in OpenAI chat form.

        Raises:
            CtxmodeError: It is not a message.
        """
        if not isinstance(message, Message):
            message = parse_message(deepcopy(dict(message)) if isinstance(message, Mapping) else message)
        self.history.append(message)

    def build_request_messages(self, user_input: str | None = None) -> list[dict[str, Any]]:
        """The messages to send now, in OpenAI chat form; the caller's own copy.

        Args:
            user_input: Recorded first, as the next user message. Where no request can be built, it is taken back,
                so that the user can shorten it or try again.

        Raises:
            OverBudgetError: The current input does not fit; `over_by` says by how many tokens.
            CtxmodeError: No user message has been recorded yet.
        """
        if user_input is not None:
            self.append({"role": "user", "content": user_input})
        try:
            return deepcopy(self.build_context().messages(self.history))
        except BaseException:
            if user_input is not None:
                self.history.pop()
            raise

    def build_context(self) -> Context:
        """What a request would send now, as pieces; `build_request_messages` writes it out.

        Raises:
            OverBudgetError: The current input does not fit.
            CtxmodeError: No user message has been recorded yet.
        """
        history = self.history
        if not history.turns:
            raise CtxmodeError("there is no user message to answer yet")
        frame = history.frame
        sent = sent_forms(history, self.config)
        input_cut = cut_input(history, frame, self.budget, sent)  # first of all, so that no summary is paid for in vain
        state, calls = (self._state, ()) if self._card is None else self._card(history, self._state)
        wish, state = self._mode(history, self.budget, state)
        wish = wish._replace(card=state.card_note, calls=(*calls, *wish.calls))
        wish = place(wish, history.counter, self.config.placement)
        plan, self._state = fit(history, frame, self.budget, wish, input_cut, state, sent)
        return assemble(history, frame, plan, input_cut, wish.start, sent, self.config.placement)

    def reset(self) -> None:
        """Forget the session: messages and the mode's state."""
        self.history = self.history.empty()
        self._state = State()
