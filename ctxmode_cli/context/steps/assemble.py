"""From a plan that fits to the context: its pieces, in the order that the request is sent."""

from collections.abc import Iterable

from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import Frame, History, Recorded
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import InputCut
from ctxmode_cli.context.steps.placement import head_and_tail
from ctxmode_cli.context.steps.tool_outputs import Form, Sent, merge_copies


def assemble(
    history: History, frame: Frame, plan: Plan, input_cut: InputCut | None, wanted: int, sent: Sent, placement: str
) -> Context:
    """The request's context; its last pieces are the current input.

    Args:
        history: All that was said so far.
        frame: Its frame.
        plan: What goes in before the current input.
        input_cut: What of the current input goes in; None for all of it.
        wanted: Where the mode wanted history to start, whatever the plan was cut to.
        sent: How tool outputs are sent.
        placement: Where card and hard constraints stand: `head`, or `tail`, right before the current input.
    """
    turn_start, start = frame.input.start, plan.start
    head, tail = head_and_tail(plan, placement)
    documents = () if plan.documents is None else (plan.documents,)
    pieces: tuple[Piece, ...] = frame.leading_systems + head
    pieces += documents if plan.documents_first else ()
    pieces += () if plan.summary is None else (plan.summary,)
    if len(history.systems) > history.leading_systems:
        pieces += _systems_before(history, start)
    recorded = _history_pieces(history, plan, turn_start)
    pieces += recorded if not history.tool_outputs else _shortened(history, recorded, sent.earlier)
    pieces += () if plan.documents_first else documents
    pieces += tail
    input_pieces = (frame.input,) if input_cut is None else _cut_pieces(history, input_cut)
    pieces += input_pieces if not history.tool_outputs else _shortened(history, input_pieces, sent.current)
    if history.tool_outputs and sent.merges:
        pieces = merge_copies(pieces, history)
    return Context(
        pieces,
        history.fixed_tokens + sum([piece.tokens for piece in pieces]),
        frame.input.stop,
        plan.summarised,
        plan.trimmed or input_cut is not None,
        plan.stepped_down,
        plan.calls,
        wanted,
        plan.documents_dropped,
    )


def _shortened(history: History, pieces: Iterable[Recorded], form: Form) -> tuple[Piece, ...]:
    return tuple(part for piece in pieces for part in form.split(history, piece))


def _systems_before(history: History, start: int) -> tuple[Recorded, ...]:
    """The system messages before `start` that are not leading ones."""
    return tuple(
        Recorded("system", first, stop, history.range_tokens(first, stop))
        for first, stop in history.system_ranges.within(history.leading_systems, start)
    )


def _history_pieces(history: History, plan: Plan, turn_start: int) -> tuple[Recorded, ...]:
    """What is sent between the leading system messages and the current input: one range, or none.

    Where call groups are left out, it is what stays of the talk beside them, and everything after them.
    """
    start = max(plan.start, history.leading_systems)
    first = max(start, history.turns[0])
    if plan.called_from <= first:
        spans = [(start, turn_start)]
    else:
        talk = history.talk_ranges.within(first, plan.called_from)
        spans = [(start, first), *talk, (plan.called_from, turn_start)]
    return tuple(
        Recorded("history", begin, end, history.range_tokens(begin, end)) for begin, end in spans if begin < end
    )


def _cut_pieces(history: History, input_cut: InputCut) -> tuple[Recorded, ...]:
    """A cut input: of what lies before its cut, only the user's words and system messages."""
    stay = history.uncuttable_ranges.within(history.turn_start, input_cut.step)
    spans = [*stay, (input_cut.step, len(history))]
    return tuple(Recorded("input", start, stop, history.range_tokens(start, stop)) for start, stop in spans)
