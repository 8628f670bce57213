"""From a plan to the context: cut to the budget, in the order that the request is sent."""

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut, cut_history
from ctxmode_cli.context.steps.documents import documents_note


def assemble(history: History, budget: Budget, plan: Plan, input_cut: InputCut | None) -> Context:
    """The request's context: documents are dropped first, then the oldest turns."""
    frame = history.frame
    input_piece = frame.input
    turn_start = input_piece.start
    input_tokens = frame.input_tokens if input_cut is None else input_cut.tokens
    room = budget.request - frame.fixed_tokens - input_tokens
    history_room = room if budget.history is None else min(room, budget.history)
    trimmed = input_cut is not None
    kept = _history_tokens(history, plan, turn_start)
    if kept > history_room:
        trimmed = True
        plan = cut_history(history, plan, history_room)
        kept = _history_tokens(history, plan, turn_start)
    documents = documents_note(history) if history.documented else None
    if documents is not None:
        if kept + documents.tokens <= room:
            kept += documents.tokens
        else:
            trimmed = True
            documents = None
    pieces = _head_pieces(history, plan)
    start = max(plan.start, history.leading_systems)
    if start < turn_start:
        tokens_before = history.tokens_before
        pieces.append(Recorded("history", start, turn_start, tokens_before[turn_start] - tokens_before[start]))
    if documents is not None:
        pieces.append(documents)
    if input_cut is None:
        pieces.append(input_piece)
    else:
        pieces.extend(_cut_pieces(history, input_cut))
    prompt_tokens = frame.fixed_tokens + input_tokens + kept
    return Context(
        tuple(pieces), prompt_tokens, input_piece.stop, plan.summarised, trimmed, plan.stepped_down, plan.call
    )


def _head_pieces(history: History, plan: Plan) -> list[Piece]:
    """What stands before the history that is sent: system messages, and the summary after the leading ones."""
    pieces: list[Piece] = [*history.frame.leading_systems]
    if plan.summary is not None:
        pieces.append(plan.summary)
    leading = history.leading_systems
    if len(history.systems) > leading:
        for start, stop in history.system_ranges(leading, plan.start):
            pieces.append(Recorded("system", start, stop, history.range_tokens(start, stop)))
    return pieces


def _history_tokens(history: History, plan: Plan, turn_start: int) -> int:
    tokens = history.spoken_before[turn_start] - history.spoken_before[plan.start]
    return tokens if plan.summary is None else tokens + plan.summary.tokens


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
