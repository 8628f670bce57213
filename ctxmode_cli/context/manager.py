"""The manager of one session's context: what a service imports, and what a replay runs."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from ctxmode_cli.context.card import FactExtractor, extract_card_facts
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History
from ctxmode_cli.context.modes.registry import build_mode
from ctxmode_cli.context.plan import State, Summarizer
from ctxmode_cli.context.steps.assemble import assemble
from ctxmode_cli.context.steps.budget import cut_input, fit
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
        self.budget = self.config.budget(self.history.counter.model.window)
        self._mode = build_mode(self.config, summarizer)
        limit = self.config.fact_card_tokens
        self._card = FactCard(limit, history.counter, extractor) if self.config.fact_card else None
        self._state = State()

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
        state = self._state if self._card is None else self._card(history, self._state)
        wish, state = self._mode(history, self.budget, state)
        wish = place(wish._replace(card=state.card_note), history.counter, self.config.placement)
        plan, self._state = fit(history, frame, self.budget, wish, input_cut, state, sent)
        return assemble(history, frame, plan, input_cut, wish.start, sent, self.config.placement)

    def reset(self) -> None:
        """Forget the session: messages and the mode's state."""
        self.history = self.history.empty()
        self._state = State()
