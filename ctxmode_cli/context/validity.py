"""Whether a context is a valid request: the checks that every built-in mode passes on every input."""

from collections.abc import Iterator

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, Note
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.conversation.message import SYSTEM_ROLES


def mode_faults(context: Context, history: History, budget: Budget) -> tuple[str, ...]:
    """The checks that this context fails and the record itself does not; empty for a valid request.

    `over_budget`: too many tokens. `disorder`: messages out of their order. `parted_call`: a call without its result,
    or a result without its call. `raw_and_summarised`: a message is sent and told by the summary. `lost_system`: a
    system message is missing. `first_not_user`: the first recorded message after system messages and notes is not a
    user's, nor the preamble sent whole.
    """
    faults = ["over_budget"] if context.prompt_tokens > budget.request else []
    sent_systems = 0
    first_spoken = -1
    end = 0
    for piece in context.pieces:
        if isinstance(piece, Note):
            continue
        start = piece.start
        if start != end:
            faults.extend(_gap_faults(end, start, history))
        if first_spoken < 0 and piece.purpose != "system":
            first_spoken = start
        sent_systems += _count_systems(piece, history)
        end = piece.stop
    if sent_systems != len(history.systems):
        faults.append("lost_system")
    if first_spoken < context.summarised:
        faults.append("raw_and_summarised")
    if not _starts_well(first_spoken, history):
        faults.append("first_not_user")
    return tuple(faults)


def _gap_faults(start: int, stop: int, history: History) -> Iterator[str]:
    """What is wrong with leaving out the messages from `start` to `stop`."""
    if stop < start:
        yield "disorder"
    if history.inside_group[start] or history.inside_group[stop]:
        yield "parted_call"


def _count_systems(piece: Recorded, history: History) -> int:
    if piece.purpose == "system":
        return piece.stop - piece.start
    if len(history.systems) == history.leading_systems:
        return 0
    return sum(piece.start <= position < piece.stop for position in history.systems)


def _starts_well(first_spoken: int, history: History) -> bool:
    """Whether the first spoken message is a user's, or the preamble is there from its beginning."""
    messages = history.messages
    position = first_spoken
    while messages[position].role in SYSTEM_ROLES:
        position += 1
    return messages[position].role == "user" or history.spoken_tokens(0, position) == 0
