"""From a plan that fits to the context: its pieces, in the order that the request is sent."""

from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import Frame, History, Recorded
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut


def assemble(history: History, frame: Frame, plan: Plan, input_cut: InputCut | None, wanted: int) -> Context:
    """The request's context; its last pieces are the current input.

    Args:
        history: All that was said so far.
        frame: Its frame.
        plan: What goes in before the current input.
        input_cut: What of the current input goes in; None for all of it.
        wanted: Where the mode wanted history to start, whatever the plan was cut to.
    """
    pieces: tuple[Piece, ...]
    prompt_tokens, input_tokens, pieces, input_piece = frame
    start, summary, summarised, call, stepped_down, documents, trimmed, documents_first, _ = plan
    if documents is not None:
        prompt_tokens += documents.tokens
        if documents_first:
            pieces += (documents,)
    if summary is not None:
        prompt_tokens += summary.tokens
        pieces += (summary,)
    if len(history.systems) > history.leading_systems:
        pieces += _systems_before(history, start)
    prompt_tokens += history.spoken_tokens(start, input_piece.start)
    pieces += _history_piece(history, start, input_piece.start)
    if documents is not None and not documents_first:
        pieces += (documents,)
    if input_cut is None:
        prompt_tokens += input_tokens
        pieces += (input_piece,)
    else:
        trimmed = True
        prompt_tokens += input_cut.tokens
        pieces += _cut_pieces(history, input_cut)
    return Context(pieces, prompt_tokens, input_piece.stop, summarised, trimmed, stepped_down, call, wanted)


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
