"""`summary`: the older part as one summary, the last turns verbatim."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial

from ctxmode_cli.context.config import Budget, ContextConfig
from ctxmode_cli.context.context import AuxiliaryCall
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.modes.sliding import Sliding
from ctxmode_cli.context.plan import (
    Corrections,
    Plan,
    SessionPrefix,
    State,
    Summarizer,
    SummaryError,
    SummaryRequest,
    SummaryResult,
)
from ctxmode_cli.context.steps.assemble import assemble
from ctxmode_cli.context.steps.budget import history_tokens
from ctxmode_cli.context.steps.corrections import corrected, kept_tokens, without_kept
from ctxmode_cli.context.steps.placement import place
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.tokens.counter import TokenCounter


@dataclass(frozen=True, slots=True)
class Summary:
    """Keep a running summary of what has left the verbatim window, refreshed only when a trigger asks for it.

    Between refreshes everything since the summary is verbatim. A summary that cannot be had loses nothing: that
    request falls back to the sliding window, and the next one tries again.
    """

    config: ContextConfig
    summarizer: Summarizer
    counter: TokenCounter
    """That of the model that summarises."""
    fallback: Sliding

    def __call__(self, history: History, budget: Budget, state: State) -> tuple[Plan, State]:
        """The running summary and everything since."""
        if history.inside_group[state.summarised]:  # a late result has joined summarised turns to later ones
            state = state._replace(summary=None, summarised=0)
        plan = Plan(state.summarised, state.summary, state.summarised)
        target = self._refresh_target(history, budget, plan)
        if target is None:
            return plan, state
        return self._refresh(history, budget, state, target)

    def _refresh_target(self, history: History, budget: Budget, plan: Plan) -> int | None:
        """The position up to which to summarise now, or None where no trigger asks or nothing is older than `plan`."""
        keep = self.config.summary_threshold
        if keep is None or history.complete_turns <= keep:
            return None
        target = history.turns[history.complete_turns - keep]
        if target <= plan.summarised:
            return None
        trigger = self.config.summary_trigger
        if trigger != "tokens" and self._unsummarised_turns(history, plan) > keep + self.config.summary_every:
            return target
        if trigger == "turns":
            return None
        tokens = history_tokens(history, plan, sent_forms(history, self.config))
        return target if tokens > self.config.compress_ratio * budget.request else None

    @staticmethod
    def _unsummarised_turns(history: History, plan: Plan) -> int:
        return history.complete_turns - bisect_left(history.turns, plan.summarised)

    def _refresh(self, history: History, budget: Budget, state: State, target: int) -> tuple[Plan, State]:
        told = state if self.config.summary_strategy == "rolling" else state._replace(summary=None, summarised=0)
        prefix = self._prefix(history, told) if self.config.summary_prefix == "session" else None
        try:
            result = self._ask(history, told, target, prefix)
        except SummaryError as error:
            plan, _ = self.fallback(history, budget, State())
            billed = SummaryResult("", 0, error.prompt_tokens)
            failed = self._call(billed, error.completion_tokens, prefix)._replace(failed=True)
            return plan._replace(calls=(failed,), stepped_down="sliding"), state
        note = self._note(result, state.corrections, history.counter)
        alike = self.counter.encoding_name == history.counter.encoding_name
        completion_tokens = result.text_tokens if alike else self.counter.text(result.text)
        call = self._call(result, completion_tokens, prefix)
        return Plan(target, note, target, (call,)), state._replace(summary=note, summarised=target)

    def _note(self, result: SummaryResult, corrections: Corrections, counter: TokenCounter) -> Note | None:
        """The summary as it is sent; None where a person's corrections leave nothing of it."""
        text, tokens, role = result.text, result.text_tokens, self.config.summary_role
        if corrections != Corrections():
            text = corrected(text, corrections)
            if not text:
                return None
            tokens = counter.text(text)
        return Note("summary", role, text, counter.generated(role, tokens))

    def _prefix(self, history: History, told: State) -> SessionPrefix:
        """What the session's request would begin with if no summary were called for, the originals for a rebuild."""
        placement = self.config.placement
        plan = Plan(told.summarised, told.summary, told.summarised, card=told.card_note)
        plan = place(plan, history.counter, placement)
        sent = sent_forms(history, self.config)
        pieces = assemble(history, history.frame, plan, None, plan.start, sent, placement).pieces
        return SessionPrefix(tuple(piece for piece in pieces if piece.purpose != "input"), history)

    def _ask(self, history: History, told: State, target: int, prefix: SessionPrefix | None) -> SummaryResult:
        """The summarizer's answer; where its window does not hold all messages, the oldest stay unseen."""
        start, corrections = told.summarised, told.corrections
        room = self.config.summary_target_tokens - kept_tokens(corrections, history.counter.text)
        if room < 1:
            raise SummaryError("the lines that a person has corrected leave no room for a summary")
        request = SummaryRequest(
            previous=without_kept(told.summary.text, corrections) if told.summary else None,
            messages=_spoken(history, start, target),
            messages_tokens=history.spoken_tokens_by(self.counter, start, target),
            target_tokens=room,
            counter=self.counter,
            prefix=prefix,
        )
        try:
            return self.summarizer(request)
        except SummaryError as error:
            if not error.over_by or prefix is not None:
                raise
            seen = self._without_oldest(history, start, target, error.over_by)
            messages = _spoken(history, seen, target)
            if not messages:
                raise
        tokens = history.spoken_tokens_by(self.counter, seen, target)
        result = self.summarizer(replace(request, messages=messages, messages_tokens=tokens))
        return result._replace(unseen_tokens=result.unseen_tokens + request.messages_tokens - tokens)

    def _without_oldest(self, history: History, start: int, target: int, over_by: int) -> int:
        """The first position before which messages of `over_by` tokens lie, and which parts no call from its result."""
        tokens_before = partial(history.spoken_tokens_by, self.counter, start)
        seen = start + bisect_left(range(start, target), over_by, key=tokens_before)
        while history.inside_group[seen]:
            seen += 1
        return seen

    def _call(self, result: SummaryResult, completion_tokens: int, prefix: SessionPrefix | None) -> AuxiliaryCall:
        return AuxiliaryCall(
            purpose="summary",
            model=self.counter.model.name,
            prompt_tokens=result.prompt_tokens,
            completion_tokens=completion_tokens,
            text=result.text,
            unseen_tokens=result.unseen_tokens,
            strategy=self.config.summary_strategy,
            prefix=None if prefix is None or not result.prompt_tokens else prefix.pieces,
        )


def _spoken(history: History, start: int, stop: int) -> list[Message]:
    return [message for message in history.messages[start:stop] if not message.is_system]
