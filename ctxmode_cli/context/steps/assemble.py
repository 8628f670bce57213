"""From a plan to the context: cut to the budget, in the order that the request is sent."""

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import Frame, History, Recorded
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut, cut_history, history_tokens
from ctxmode_cli.context.steps.documents import documents_note


def assemble(history: History, frame: Frame, budget: Budget, plan: Plan, input_cut: InputCut | None) -> Context:
    """The request's context: documents are dropped first, then the oldest turns."""
    input_tokens = frame.input_tokens if input_cut is None else input_cut.tokens
    room = budget.request - frame.fixed_tokens - input_tokens
    history_room = room if budget.history is None else min(room, budget.history)
    kept = history_tokens(history, plan)
    trimmed = input_cut is not None
    if kept > history_room:
        trimmed = True
        plan = cut_history(history, plan, history_room)
        kept = history_tokens(history, plan)
    documents = documents_note(history) if history.documented else None
    if documents is not None and kept + documents.tokens > room:
        trimmed = True
        documents = None
    pieces: list[Piece] = [*frame.leading_systems]
    if plan.summary is not None:
        pieces.append(plan.summary)
    pieces += _history_pieces(history, plan.start, frame.input.start)
    if documents is not None:
        pieces.append(documents)
        kept += documents.tokens
    if input_cut is None:
        pieces.append(frame.input)
    else:
        pieces += _cut_pieces(history, input_cut)
    prompt_tokens = frame.fixed_tokens + input_tokens + kept
    return Context(
        tuple(pieces), prompt_tokens, frame.input.stop, plan.summarised, trimmed, plan.stepped_down, plan.call
    )


def _history_pieces(history: History, start: int, turn_start: int) -> list[Piece]:
    """The history from `start` on, and the system messages before it that are not leading ones."""
    leading = history.leading_systems
    pieces: list[Piece] = []
    if len(history.systems) > leading:
        for first, stop in history.system_ranges(leading, start):
            pieces.append(Recorded("system", first, stop, history.range_tokens(first, stop)))
    start = max(start, leading)
    if start < turn_start:
        tokens_before = history.tokens_before
        pieces.append(Recorded("history", start, turn_start, tokens_before[turn_start] - tokens_before[start]))
    return pieces


def _cut_pieces(history: History, input_cut: InputCut) -> list[Recorded]:
    """A cut input: of what lies before its cut, only the user's words and system messages."""
    pieces: list[Recorded] = []
    for position in range(history.turn_start, input_cut.step):
        if history.messages[position].role in {"assistant", "tool"}:
            continue
        if pieces and pieces[-1].stop == position:
            last = pieces.pop()
            pieces.append(last._replace(stop=position + 1, tokens=history.range_tokens(last.start, position + 1)))
        else:
            pieces.append(Recorded("input", position, position + 1, history.range_tokens(position, position + 1)))
    length = len(history)
    return [*pieces, Recorded("input", input_cut.step, length, history.range_tokens(input_cut.step, length))]
