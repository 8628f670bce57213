"""Whether a context is a valid request: the checks that every built-in mode passes on every input."""

from bisect import bisect_left
from collections.abc import Iterator

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import Context, span
from ctxmode_cli.context.history import History, Note

CHECKS = ("over_budget", "disorder", "parted_call", "raw_and_summarised", "lost_system", "first_not_user")
"""The names of the checks."""


def mode_faults(context: Context, history: History, budget: Budget) -> tuple[str, ...]:
    """The checks that this context fails and the record itself does not; empty for a valid request.

    `over_budget`: too many tokens, counted again from the pieces. `disorder`: messages out of their order. `parted_call`: a call without its result,
    or a result without its call. `raw_and_summarised`: a message is sent and told by the summary. `lost_system`: a
    system message is missing. `first_not_user`: the first recorded message after system messages and notes is not a
    user's, nor the preamble sent whole.
    """
    faults = []
    inside_group = history.inside_group
    tokens_before = history.tokens_before
    tokens = history.fixed_tokens  # added up again from the pieces: who made the context may have added wrongly
    first = -1
    end = 0
    cuts_group = False
    for piece in context.pieces:
        start, stop = span(piece)
        tokens += piece.tokens if isinstance(piece, Note) else tokens_before[stop] - tokens_before[start]
        if start == stop:  # a note of its own
            continue
        if start < end:
            faults.append("disorder")
        elif start > end and (inside_group[start] or inside_group[end]):
            cuts_group = True
        if first < 0 and piece.purpose != "system":
            first = start
        end = stop
    if tokens > budget.request:
        faults.append("over_budget")
    if cuts_group and _parts_call(context, history):
        faults.append("parted_call")
    if history.systems and _lost_system(context, history):
        faults.append("lost_system")
    if first < context.summarised or history.messages[first].role != "user":
        faults.extend(_start_faults(first, context, history))
    return tuple(faults)


def _start_faults(first: int, context: Context, history: History) -> Iterator[str]:
    """What is wrong with beginning the spoken messages at `first`."""
    if first < context.summarised:
        yield "raw_and_summarised"
    if not _starts_well(first, history):
        yield "first_not_user"


def _parts_call(context: Context, history: History) -> bool:
    """Whether one of a call and its result is sent and the other is not."""
    sent = {position for piece in context.pieces for position in range(*span(piece))}
    return any((call in sent) != (result in sent) for call, result in history.answered_calls)


def _lost_system(context: Context, history: History) -> bool:
    """Whether a system message lies in none of the pieces."""
    systems = history.systems
    spans = map(span, context.pieces)
    sent = sum(bisect_left(systems, stop) - bisect_left(systems, start) for start, stop in spans)
    return sent != len(systems)


def _starts_well(first: int, history: History) -> bool:
    """Whether the first spoken message from there is a user's, or the preamble is there from its beginning."""
    messages = history.messages
    while messages[first].is_system:
        first += 1
    return messages[first].role == "user" or history.spoken_tokens(0, first) == 0
