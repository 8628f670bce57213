"""Faults that lie in the record itself: what even the untrimmed full request would be refused for."""

from collections import Counter
from collections.abc import Sequence

from ctxmode_cli.conversation.message import Message


def record_faults(messages: Sequence[Message]) -> Counter[str]:
    """How many messages and calls of a record are at fault, by check.

    `orphan_result`: a tool message that answers no earlier call. `unanswered_call`: a call whose result has not come
    by the next reply, for which it had to be sent, nor by the record's end; each counts once, however late its result.
    """
    faults: Counter[str] = Counter()
    called: set[str] = set()
    waiting: set[str] = set()
    previous_role = ""
    for message in messages:
        if message.is_system:
            continue
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            faults["orphan_result"] += call_id not in called
            waiting.discard(call_id)
        elif message.role == "assistant":
            if previous_role != "assistant":
                faults["unanswered_call"] += len(waiting)
                waiting.clear()
            calls = {call.id for call in message.tool_calls}
            called |= calls
            waiting |= calls
        previous_role = message.role
    faults["unanswered_call"] += len(waiting)
    return +faults
