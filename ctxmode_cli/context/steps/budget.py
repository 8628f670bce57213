"""The budget: what of a plan fits, in the order current input, system messages, recent turns, older ones, documents."""

from bisect import bisect_left
from typing import NamedTuple

from ctxmode_cli.context.config import Budget, DocumentLimits
from ctxmode_cli.context.history import Frame, History
from ctxmode_cli.context.plan import Plan, State
from ctxmode_cli.context.steps.documents import documents_that_fit
from ctxmode_cli.context.steps.tool_outputs import Sent
from ctxmode_cli.errors import CtxmodeError

REASONS = ("system", "input")
"""Why a request can be unsendable (`OverBudgetError`)."""


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


def cut_input(history: History, frame: Frame, budget: Budget, sent: Sent) -> InputCut | None:
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
    if input_tokens(history, frame, sent) <= room:
        return None
    if frame.fixed_tokens > budget.request:
        raise OverBudgetError("system", frame.fixed_tokens - budget.request)
    return _without_oldest_groups(history, room, sent)


def input_tokens(history: History, frame: Frame, sent: Sent) -> int:
    """Tokens of the whole current input as it is sent, system messages in it left out."""
    return frame.input_tokens - sent.current.saved(history, history.turn_start, len(history))


def input_tokens_from(history: History, step: int, sent: Sent) -> int:
    """Tokens of the current input without its call groups before `step`; a step of an earlier turn leaves all."""
    start = history.turn_start
    step = max(step, start)
    called = history.cuttable_before[step] - history.cuttable_before[start]
    return input_tokens(history, history.frame, sent) - called + sent.current.saved(history, start, step)


def _without_oldest_groups(history: History, room: int, sent: Sent) -> InputCut:
    steps, start = history.steps, history.turn_start

    def left(step: int) -> int:
        return input_tokens_from(history, step, sent)

    cut = bisect_left(steps, True, key=lambda step: step >= start and left(step) <= room)
    if cut < len(steps):
        return InputCut(steps[cut], left(steps[cut]))
    raise OverBudgetError("input", left(max([start, *steps[-1:]])) - room)


def history_tokens(history: History, plan: Plan, sent: Sent) -> int:
    """Tokens of what the plan sends before the current input, system messages left out."""
    notes = (plan.summary, plan.card, plan.constraints)
    return _recorded_tokens(history, plan, sent) + sum([note.tokens for note in notes if note is not None])


def _recorded_tokens(history: History, plan: Plan, sent: Sent) -> int:
    """The same without generated notes."""
    start, turn_start = plan.start, history.turns[-1]
    tokens = history.spoken_before[turn_start] - history.spoken_before[start]
    if history.tool_outputs:
        first = max(start, history.turns[0])
        called_from = max(first, plan.called_from)
        tokens -= history.called_before[called_from] - history.called_before[first]
        tokens -= sent.earlier.saved(history, start, first) + sent.earlier.saved(history, called_from, turn_start)
    return tokens


def fit(
    history: History, frame: Frame, budget: Budget, plan: Plan, input_cut: InputCut | None, state: State, sent: Sent
) -> tuple[Plan, State]:
    """The plan cut to the budget, with the documents that go in beside it: they are dropped first, then turns.

    With `budget.documents.first` the documents take their room before the history does, and are dropped after it.

    Where what the mode wants fits, all of it goes in, and an earlier cut is forgotten. Where the budget forces a cut,
    history goes back to `budget.low` of its room, and its start stays there until the budget forces the next cut: so
    a provider's prompt cache survives for some turns. A late result that has joined the turns about that start gives
    it up; the history is then cut anew.
    """
    room = budget.request - frame.fixed_tokens
    room -= input_tokens(history, frame, sent) if input_cut is None else input_cut.tokens
    if history.documented and budget.documents.first:
        plan = _with_documents(history, plan, budget.documents, room)
        room -= 0 if plan.documents is None else plan.documents.tokens
    share = budget.history
    limit = room if share is None or share > room else share
    used = history_tokens(history, plan, sent)
    if used > limit:
        plan = _cut_history(history, plan, limit, budget, state.cut_start, sent)
        if budget.low < 1:
            state = state._replace(cut_start=plan.start)
        used = history_tokens(history, plan, sent)
        if limit != share:
            used = max(used, int(budget.low * limit))  # what a cut to the budget leaves under its mark is for turns
    elif state.cut_start:
        state = state._replace(cut_start=0)
    if history.documented and not budget.documents.first:
        # Call groups that had to go leave room at times; it is not for what ranks below them.
        left = 0 if _is_cut_to_fit(input_cut, frame, budget) else room - used
        plan = _with_documents(history, plan, budget.documents, left)
    return plan, state


def _cut_history(history: History, plan: Plan, limit: int, budget: Budget, cut_start: int, sent: Sent) -> Plan:
    """The plan without its oldest turns: from `cut_start` on where that fits into `limit`, else cut back to the mark.

    Card and summary stay as long as they fit themselves, since they stand for the most; without a summary the request
    is a sliding one, and where not even the last turn fits, a zero one. With `budget.calls_first` the oldest call
    groups go before any turn does.
    """
    plan = _with_notes_that_fit(plan, limit)._replace(trimmed=True)
    told = history_tokens(history, plan, sent) - _recorded_tokens(history, plan, sent)
    mark = max(0, int(budget.low * limit) - told)
    turn_start = history.turn_start
    if budget.calls_first and history.tool_outputs:
        bare = plan._replace(called_from=turn_start)
        if told + _recorded_tokens(history, bare, sent) <= limit:
            return bare._replace(called_from=_first_call_that_fits(history, bare, mark, sent))
        plan = bare

    def tokens_from(start: int) -> int:
        return _recorded_tokens(history, plan._replace(start=start), sent)

    start = plan.start
    if cut_start > start and _starts_turn(history, cut_start):
        start = cut_start
    if told + tokens_from(start) > limit:
        first = bisect_left(history.turns, True, key=lambda turn: tokens_from(turn) <= mark)
        start = max(plan.start, history.turns[first])
    stepped_down = "zero" if plan.stepped_down and start == turn_start else plan.stepped_down
    return plan._replace(start=start, stepped_down=stepped_down)


def _with_notes_that_fit(plan: Plan, limit: int) -> Plan:
    if plan.card is not None and plan.card.tokens > limit:
        plan = plan._replace(card=None)
    notes = [note.tokens for note in (plan.summary, plan.card, plan.constraints) if note is not None]
    if plan.summary is not None and sum(notes) > limit:
        plan = plan._replace(summary=None, constraints=None, summarised=0, stepped_down="sliding")
    return plan


def _first_call_that_fits(history: History, plan: Plan, mark: int, sent: Sent) -> int:
    """The step from which on call groups go in, the turn's start for none of them."""
    steps, turn_start = history.steps, history.turn_start

    def fits(step: int) -> bool:
        return step >= turn_start or _recorded_tokens(history, plan._replace(called_from=step), sent) <= mark

    first = bisect_left(steps, True, key=fits)
    return min([turn_start, *steps[first : first + 1]])


def _starts_turn(history: History, position: int) -> bool:
    """Whether a turn starts there, as things stand now."""
    turn = bisect_left(history.turns, position)
    return history.turns[turn : turn + 1] == [position]


def _with_documents(history: History, plan: Plan, limits: DocumentLimits, room: int) -> Plan:
    """The plan with as many of the current turn's documents as fit into `room`."""
    note, dropped = documents_that_fit(history, limits, room)
    return plan._replace(
        documents=note,
        trimmed=plan.trimmed or "budget" in dropped,
        documents_first=limits.first,
        documents_dropped=dropped,
    )


def _is_cut_to_fit(input_cut: InputCut | None, frame: Frame, budget: Budget) -> bool:
    """Whether the current input was cut for the whole budget, not for its own share."""
    for_its_share = budget.input is not None and frame.fixed_tokens + budget.input <= budget.request
    return input_cut is not None and not for_its_share
