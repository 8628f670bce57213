"""The budget: what of a plan fits, in the order current input, system messages, recent turns, older ones, documents."""

from bisect import bisect_left
from typing import NamedTuple

from ctxmode_cli.context.config import Budget, DocumentLimits
from ctxmode_cli.context.history import Frame, History
from ctxmode_cli.context.plan import Plan, State
from ctxmode_cli.context.steps.documents import documents_that_fit
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


def fit(
    history: History, frame: Frame, budget: Budget, plan: Plan, input_cut: InputCut | None, state: State
) -> tuple[Plan, State]:
    """The plan cut to the budget, with the documents that go in beside it: they are dropped first, then turns.

    With `budget.documents.first` the documents take their room before the history does, and are dropped after it.

    Where what the mode wants fits, all of it goes in, and an earlier cut is forgotten. Where the budget forces a cut,
    history goes back to `budget.low` of its room, and its start stays there until the budget forces the next cut: so
    a provider's prompt cache survives for some turns. A late result that has joined the turns about that start gives
    it up; the history is then cut anew.
    """
    room = budget.request - frame.fixed_tokens - (frame.input_tokens if input_cut is None else input_cut.tokens)
    if history.documented and budget.documents.first:
        plan = _with_documents(history, plan, budget.documents, room)
        room -= 0 if plan.documents is None else plan.documents.tokens
    share = budget.history
    limit = room if share is None or share > room else share
    used = history_tokens(history, plan)
    if used > limit:
        plan = _cut_history(history, plan, limit, budget.low, state.cut_start)
        if budget.low < 1:
            state = state._replace(cut_start=plan.start)
        used = history_tokens(history, plan)
        if limit != share:
            used = max(used, int(budget.low * limit))  # what a cut to the budget leaves under its mark is for turns
    elif state.cut_start:
        state = state._replace(cut_start=0)
    if history.documented and not budget.documents.first:
        # Call groups that had to go leave room at times; it is not for what ranks below them.
        left = 0 if _is_cut_to_fit(input_cut, frame, budget) else room - used
        plan = _with_documents(history, plan, budget.documents, left)
    return plan, state


def _cut_history(history: History, plan: Plan, limit: int, low: float, cut_start: int) -> Plan:
    """The plan without its oldest turns: from `cut_start` on where that fits into `limit`, else cut back to the mark.

    A summary stays as long as it fits itself, since it stands for the most; without it the request is a sliding one,
    and where not even the last turn fits, a zero one.
    """
    summary = plan.summary
    if summary is not None and summary.tokens > limit:
        plan = plan._replace(summary=None, summarised=0, stepped_down="sliding")
        summary = None
    told = 0 if summary is None else summary.tokens
    turn_start = history.turn_start
    start = plan.start
    if cut_start > start and _starts_turn(history, cut_start):
        start = cut_start
    if told + history.spoken_tokens(start, turn_start) > limit:
        mark = max(0, int(low * limit) - told)
        first = bisect_left(history.turns, True, key=lambda turn: history.spoken_tokens(turn, turn_start) <= mark)
        start = max(plan.start, history.turns[first])
    stepped_down = "zero" if plan.stepped_down and start == turn_start else plan.stepped_down
    return plan._replace(start=start, stepped_down=stepped_down, trimmed=True)


def _starts_turn(history: History, position: int) -> bool:
    """Whether a turn starts there, as things stand now."""
    turn = bisect_left(history.turns, position)
    return history.turns[turn : turn + 1] == [position]


def _with_documents(history: History, plan: Plan, limits: DocumentLimits, room: int) -> Plan:
    """The plan with as many of the current turn's documents as fit into `room`."""
    note, dropped, over = documents_that_fit(history, limits, room)
    return plan._replace(
        documents=note,
        trimmed=plan.trimmed or over > 0,
        documents_first=limits.first,
        documents_dropped=dropped + over,
    )


def _is_cut_to_fit(input_cut: InputCut | None, frame: Frame, budget: Budget) -> bool:
    """Whether the current input was cut for the whole budget, not for its own share."""
    for_its_share = budget.input is not None and frame.fixed_tokens + budget.input <= budget.request
    return input_cut is not None and not for_its_share
