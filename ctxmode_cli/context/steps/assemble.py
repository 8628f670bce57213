"""From a plan to the context: cut to the budget, in the order that the request is sent."""

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import Frame, History, Recorded
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut, cut_history, history_tokens
from ctxmode_cli.context.steps.documents import documents_note


def assemble(history: History, frame: Frame, budget: Budget, plan: Plan, input_cut: InputCut | None) -> Context:
    """The request's context: documents are dropped first, then the oldest turns.

    Where anything would have to be cut to fit the budget, the documents go before any turn does. What is cut for a
    share of its own leaves them alone: they take nothing from it.
    """
    pieces: tuple[Piece, ...]
    fixed_tokens, input_tokens, pieces, input_piece = frame
    if input_cut is not None:
        input_tokens = input_cut.tokens
    room = budget.request - fixed_tokens - input_tokens
    wished = plan
    kept = history_tokens(history, plan)
    if budget.history is not None and kept > budget.history:
        plan = cut_history(history, wished, budget.history)
        kept = history_tokens(history, plan)
    documents = wanted = documents_note(history) if history.documented else None
    if wanted is not None and (kept + wanted.tokens > room or _is_cut_to_fit(input_cut, frame, budget)):
        documents = None
    if kept > room:
        plan = cut_history(history, wished, room)
        kept = history_tokens(history, plan)
    trimmed = plan is not wished or documents is not wanted or input_cut is not None
    start, summary, summarised, call, stepped_down = plan
    if summary is not None:
        pieces += (summary,)
    if len(history.systems) > history.leading_systems:
        pieces += _systems_before(history, start)
    pieces += _history_piece(history, start, input_piece.start)
    if documents is not None:
        kept += documents.tokens
        pieces += (documents,)
    pieces += (input_piece,) if input_cut is None else _cut_pieces(history, input_cut)
    prompt_tokens = fixed_tokens + input_tokens + kept
    return Context(pieces, prompt_tokens, input_piece.stop, summarised, trimmed, stepped_down, call)


def _is_cut_to_fit(input_cut: InputCut | None, frame: Frame, budget: Budget) -> bool:
    """Whether the current input was cut for the whole budget, not for its own share."""
    for_its_share = budget.input is not None and frame.fixed_tokens + budget.input <= budget.request
    return input_cut is not None and not for_its_share


def _systems_before(history: History, start: int) -> tuple[Recorded, ...]:
    """The system messages before `start` that are not leading ones."""
    return tuple(
        Recorded("system", first, stop, history.range_tokens(first, stop))
        for first, stop in history.system_ranges.within(history.leading_systems, start)
    )


def _history_piece(history: History, start: int, turn_start: int) -> tuple[Recorded, ...]:
    """What is sent between the leading system messages and the current input: one range, or none."""
    start = max(start, history.leading_systems)
    if start == turn_start:
        return ()
    tokens_before = history.tokens_before
    return (Recorded("history", start, turn_start, tokens_before[turn_start] - tokens_before[start]),)


def _cut_pieces(history: History, input_cut: InputCut) -> tuple[Recorded, ...]:
    """A cut input: of what lies before its cut, only the user's words and system messages."""
    stay = history.uncuttable_ranges.within(history.turn_start, input_cut.step)
    spans = [*stay, (input_cut.step, len(history))]
    return tuple(Recorded("input", start, stop, history.range_tokens(start, stop)) for start, stop in spans)
