"""Whether a context is a valid request: the checks that every built-in mode passes on every input."""

from collections.abc import Iterator

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Note, Recorded
from ctxmode_cli.context.history import History


def mode_faults(context: Context, history: History, budget: Budget) -> tuple[str, ...]:
    """The checks that this context fails and the record itself does not; empty for a valid request.

    `first_not_user`: the first recorded message after system messages and notes is not a user's, nor the preamble
    sent whole. `parted_call`: a call without its result, or a result without its call. `raw_and_summarised`: a message
    is sent and told by the summary. `lost_system`: a system message is missing. `over_budget`: too many tokens.
    `disorder`: messages out of their order.
    """
    return tuple(_faults(context, history, budget))


def _faults(context: Context, history: History, budget: Budget) -> Iterator[str]:
    if context.prompt_tokens > budget.request:
        yield "over_budget"
    sent_systems = 0
    end = 0
    first_spoken = -1
    for piece in context.pieces:
        if isinstance(piece, Note):
            continue
        if piece.start < end:
            yield "disorder"
        if piece.purpose != "system":
            if first_spoken < 0:
                first_spoken = piece.start
            if piece.start < context.summarised:
                yield "raw_and_summarised"
        if _parted(piece, end, history):
            yield "parted_call"
        sent_systems += _count_systems(piece, history)
        end = piece.stop
    if sent_systems != len(history.systems):
        yield "lost_system"
    if not _starts_well(first_spoken, history):
        yield "first_not_user"


def _parted(piece: Recorded, end: int, history: History) -> bool:
    """Whether the gap before the piece (from `end` on) has an edge inside a call group."""
    return piece.start != end and (history.inside_group[piece.start] or history.inside_group[end])


def _count_systems(piece: Recorded, history: History) -> int:
    if piece.purpose == "system":
        return piece.stop - piece.start
    if len(history.systems) == history.leading_systems and piece.start >= history.leading_systems:
        return 0
    return sum(piece.start <= position < piece.stop for position in history.systems)


def _starts_well(first_spoken: int, history: History) -> bool:
    """Whether the first spoken message is a user's, or the preamble is there from its beginning."""
    messages = history.messages
    position = first_spoken
    while messages[position].is_system:
        position += 1
    return messages[position].role == "user" or history.spoken_tokens(0, position) == 0
