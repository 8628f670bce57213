"""The budget: what of a plan fits, in the order current input, system messages, recent turns, older ones, documents."""

from bisect import bisect_left
from typing import NamedTuple

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.history import Frame, History
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.errors import CtxmodeError


class OverBudgetError(CtxmodeError):
    """A request that cannot be sent: what must go in does not fit.

    Attributes:
        reason: `system` (system messages and tool schemas alone are over), or `input` (they and the current input).
        over_by: How many tokens too many.
    """

    def __init__(self, reason: str, over_by: int) -> None:
        what = {"system": "the system messages and tool schemas", "input": "the current input"}[reason]
        hint = {"system": "shorten the system prompt or raise the budget", "input": "ask the user to shorten it"}[
            reason
        ]
        super().__init__(f"{what} cannot fit: {over_by} tokens over the budget", hint=hint)
        self.reason = reason
        self.over_by = over_by


class InputCut(NamedTuple):
    """How much of a current input that does not fit as a whole goes in."""

    step: int
    """Calls and results before this position are left out; user messages never are."""
    tokens: int
    """What goes in, system messages among it left out of the count."""


def cut_input(history: History, frame: Frame, budget: Budget) -> InputCut | None:
    """The current input without its oldest call groups; None where it fits whole.

    Its user messages and its newest call group always go in.

    Raises:
        OverBudgetError: Even that does not fit.
    """
    room = budget.request - frame.fixed_tokens
    if budget.input is not None:
        room = min(room, budget.input)
    if budget.system is not None:
        system_over = frame.fixed_tokens - history.counter.REPLY_TOKENS - budget.system
        if system_over > 0:
            raise OverBudgetError("system", system_over)
    if frame.input_tokens <= room:
        return None
    if frame.fixed_tokens > budget.request:
        raise OverBudgetError("system", frame.fixed_tokens - budget.request)
    return _without_oldest_groups(history, frame.input_tokens, room)


def _without_oldest_groups(history: History, tokens: int, room: int) -> InputCut:
    steps, cuttable_before, start = history.steps, history.cuttable_before, history.turn_start
    uncut = tokens + cuttable_before[start]
    # A cut before the current turn would leave more than `tokens`, which is already too much.
    cut = bisect_left(steps, True, key=lambda step: uncut - cuttable_before[step] <= room)
    if cut < len(steps):
        return InputCut(steps[cut], uncut - cuttable_before[steps[cut]])
    newest = max([start, *steps[-1:]])
    raise OverBudgetError("input", uncut - cuttable_before[newest] - room)


def history_tokens(history: History, plan: Plan) -> int:
    """Tokens of what the plan sends before the current input, system messages left out."""
    spoken_before = history.spoken_before
    tokens = spoken_before[history.turns[-1]] - spoken_before[plan.start]
    return tokens if plan.summary is None else tokens + plan.summary.tokens


def cut_history(history: History, plan: Plan, room: int) -> Plan:
    """The plan with its oldest turns cut until its history fits into `room` tokens.

    A summary stays as long as it fits itself, since it stands for the most; without it the request is a sliding one,
    and where not even the last turn fits, a zero one.
    """
    turn_start = history.turn_start
    if plan.summary is not None and plan.summary.tokens > room:
        plan = plan._replace(summary=None, summarised=0, stepped_down="sliding")
    room -= plan.summary.tokens if plan.summary else 0
    first = bisect_left(history.turns, True, key=lambda start: history.spoken_tokens(start, turn_start) <= room)
    start = max(plan.start, history.turns[first])
    stepped_down = "zero" if plan.stepped_down and start == turn_start else plan.stepped_down
    return plan._replace(start=start, stepped_down=stepped_down)
