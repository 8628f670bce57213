"""Faults that lie in the record itself: what even the untrimmed full request would be refused for."""

from collections import Counter
from collections.abc import Sequence

from ctxmode_cli.conversation.message import Message


def record_faults(messages: Sequence[Message]) -> Counter[str]:
    """How many messages and calls of a record are at fault, by check.

    `orphan_result`: a tool message that answers no earlier call. `unanswered_call`: a call that has no result by the
    time something else than a result follows, or by the record's end.
    """
    faults: Counter[str] = Counter()
    called: set[str] = set()
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            faults["orphan_result"] += call_id not in called
            waiting.discard(call_id)
        elif message.tool_calls:
            called.update(call.id for call in message.tool_calls)
            waiting.update(call.id for call in message.tool_calls)
        elif waiting and not message.is_system:
            faults["unanswered_call"] += len(waiting)
            waiting = set()
    faults["unanswered_call"] += len(waiting)
    return +faults
