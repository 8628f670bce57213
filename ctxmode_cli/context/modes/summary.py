"""`summary`: the older part as one summary, the last turns verbatim."""

from bisect import bisect_left
from dataclasses import dataclass

from ctxmode_cli.context.config import Budget, ContextConfig
from ctxmode_cli.context.context import SummaryCall
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.modes.sliding import Sliding
from ctxmode_cli.context.plan import Plan, State, Summarizer, SummaryError, SummaryRequest
from ctxmode_cli.context.steps.budget import history_tokens


@dataclass(frozen=True, slots=True)
class Summary:
    """Keep a running summary of what has left the verbatim window, refreshed only when a trigger asks for it.

    Between refreshes everything since the summary is verbatim. A summary that cannot be had loses nothing: that
    request falls back to the sliding window, and the next one tries again.
    """

    config: ContextConfig
    summarizer: Summarizer
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
        if trigger != "turns" and history_tokens(history, plan) > self.config.compress_ratio * budget.request:
            return target
        return None

    @staticmethod
    def _unsummarised_turns(history: History, plan: Plan) -> int:
        return history.complete_turns - bisect_left(history.turns, plan.summarised)

    def _refresh(self, history: History, budget: Budget, state: State, target: int) -> tuple[Plan, State]:
        rolling = self.config.summary_strategy == "rolling" and state.summary is not None
        start = state.summarised if rolling else 0
        request = SummaryRequest(
            previous=state.summary.text if rolling and state.summary else None,
            messages=[message for message in history.messages[start:target] if not message.is_system],
            messages_tokens=history.spoken_tokens(start, target),
            target_tokens=self.config.summary_target_tokens,
        )
        strategy = self.config.summary_strategy
        try:
            result = self.summarizer(request)
        except SummaryError as error:
            plan, _ = self.fallback(history, budget, State())
            failed = SummaryCall(strategy, error.prompt_tokens, 0, 0, failed=True, text="")
            return plan._replace(call=failed, stepped_down="sliding"), state
        role = self.config.summary_role
        note = Note("summary", role, result.text, history.counter.generated(role, result.text_tokens))
        call = SummaryCall(
            strategy, result.prompt_tokens, result.text_tokens, result.unseen_tokens, failed=False, text=result.text
        )
        return Plan(target, note, target, call), state._replace(summary=note, summarised=target)
