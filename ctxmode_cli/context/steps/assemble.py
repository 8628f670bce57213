"""From a plan to the context: cut to the budget, in the order that the request is sent."""

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Piece, Recorded
from ctxmode_cli.context.history import History
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut, fit_history
from ctxmode_cli.context.steps.documents import documents_note


def assemble(history: History, budget: Budget, plan: Plan, input_cut: InputCut) -> Context:
    """The request's context: documents are dropped first, then the oldest turns."""
    length = len(history)
    turn_start = history.turn_start
    trimmed = input_cut.step > turn_start
    fixed = history.fixed_tokens + history.tokens - history.spoken_tokens(0, length)
    room = budget.request - fixed - input_cut.tokens
    fitted = fit_history(history, budget, plan, room)
    if fitted is not None:
        trimmed = True
        plan = fitted
    summary = plan.summary
    kept = history.spoken_tokens(plan.start, turn_start) + (summary.tokens if summary else 0)
    documents = documents_note(history)
    if documents is not None and documents.tokens > room - kept:
        trimmed = True
        documents = None
    pieces: list[Piece] = []
    leading = history.leading_systems
    if leading:
        pieces.append(Recorded("system", 0, leading, history.range_tokens(0, leading)))
    if summary is not None:
        pieces.append(summary)
    if len(history.systems) > leading:
        for start, stop in history.system_ranges(leading, plan.start):
            pieces.append(Recorded("system", start, stop, history.range_tokens(start, stop)))
    window = max(plan.start, leading)
    if window < turn_start:
        pieces.append(Recorded("history", window, turn_start, history.range_tokens(window, turn_start)))
    if documents is not None:
        pieces.append(documents)
    pieces.extend(_input_pieces(history, input_cut))
    return Context(
        tuple(pieces),
        fixed + input_cut.tokens + kept + (documents.tokens if documents else 0),
        length,
        plan.summarised,
        trimmed,
        plan.stepped_down,
        plan.call,
    )


def _input_pieces(history: History, input_cut: InputCut) -> list[Recorded]:
    """The current input; of what lies before its cut, only the user's words and system messages."""
    length = len(history)
    start = history.turn_start
    pieces: list[Recorded] = []
    for position in range(start, input_cut.step):
        if history.messages[position].role in {"assistant", "tool"}:
            continue
        if pieces and pieces[-1].stop == position:
            last = pieces.pop()
            pieces.append(last._replace(stop=position + 1, tokens=history.range_tokens(last.start, position + 1)))
        else:
            pieces.append(Recorded("input", position, position + 1, history.range_tokens(position, position + 1)))
    window = max(start, input_cut.step)
    return [*pieces, Recorded("input", window, length, history.range_tokens(window, length))]
