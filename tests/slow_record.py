"""What a record is made of, worked out the slow and obvious way: turns, call groups, requests, and a request's faults.

Written from the definitions, not from the code; it shares with the package only messages and the token counter.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dialogues import MODEL, counter

from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter

Wire = Mapping[str, Any]
SYSTEMS = {"system", "developer"}


model_counter = cache(TokenCounter.for_model)


@cache
def _encoded_tokens(encoded: str, model: str) -> int:
    return model_counter(model).message(parse_message(json.loads(encoded)))


def wire_tokens(message: Wire, model: str = MODEL) -> int:
    return _encoded_tokens(json.dumps(message), model)


def recount(wire: Sequence[Wire], tools: Sequence[Wire]) -> int:
    return sum(map(wire_tokens, wire)) + counter().tools(tools) + 3


def spoken(messages: Sequence[Message], start: int, stop: int) -> list[int]:
    return [position for position in range(start, stop) if messages[position].role not in SYSTEMS]


def answered_calls(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(call, result): each result answers the latest earlier call of its id."""
    pairs = []
    for result, message in enumerate(messages):
        if message.role == "tool":
            callers = [p for p in range(result) if any(c.id == message.tool_call_id for c in messages[p].tool_calls)]
            pairs += [(callers[-1], result)] if callers else []
    return pairs


def turn_starts(messages: Sequence[Message], *, each_user: bool) -> list[int]:
    talk = spoken(messages, 0, len(messages))
    starts = [
        position
        for before, position in zip([None, *talk], talk, strict=False)
        if messages[position].role == "user" and (each_user or before is None or messages[before].role != "user")
    ]
    for call, result in answered_calls(messages):
        joined = [start for start in starts if call < start <= result]
        starts = [start for start in starts if start not in joined]
        if joined and not any(start <= call for start in starts):
            starts.insert(0, talk[0])
    return starts


def group_starts(messages: Sequence[Message], turn: int) -> list[int]:
    """Where the call groups of the turn from `turn` on start: replies, and results that answer nothing."""
    talk = spoken(messages, 0, len(messages))
    pairs = answered_calls(messages)
    answers = {result for _, result in pairs}
    starts = []
    for before, position in zip([None, *talk], talk, strict=False):
        previous = None if before is None else messages[before].role
        role = messages[position].role
        if (role == "assistant" and previous != "assistant") or (
            role == "tool" and position not in answers and previous == "user"
        ):
            starts.append(position)
    whole = [start for start in starts if start >= turn and not any(c < start <= r for c, r in pairs)]
    first_user = next(position for position in talk if position >= turn and messages[position].role == "user")
    # What a late result drew in from before the user first spoke goes whole.
    drawn_in = [turn] if whole and whole[0] < first_user else []
    return drawn_in + [start for start in whole if start > first_user]


def reply_spans(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(position, one past the reply's last assistant message) of every request; equal where the reply is unknown."""
    talk = spoken(messages, 0, len(messages))
    users = [position for position in talk if messages[position].role == "user"]
    if not users:
        return []
    if not any(message.role == "assistant" for message in messages):
        return [(stop, stop) for stop in [*users[1:], len(messages)]]
    spans = []
    for index, position in enumerate(talk):
        previous = messages[talk[index - 1]].role if index else None
        if messages[position].role != "assistant" or previous == "assistant" or position < users[0]:
            continue
        last = index
        while last + 1 < len(talk) and messages[talk[last + 1]].role == "assistant":
            last += 1
        spans.append((position, talk[last] + 1))
    return spans + _open_span(messages, talk)


def _open_span(messages: Sequence[Message], talk: Sequence[int]) -> list[tuple[int, int]]:
    last = messages[talk[-1]].role
    if last == "assistant" or (last == "tool" and _waiting(messages, talk)):
        return []
    return [(len(messages), len(messages))]


def _waiting(messages: Sequence[Message], talk: Sequence[int]) -> bool:
    """Whether a call of the last reply has no result yet."""
    replies = [index for index, position in enumerate(talk) if messages[position].role == "assistant"]
    first = last = replies[-1]
    while first - 1 in replies:
        first -= 1
    called = {call.id for index in range(first, last + 1) for call in messages[talk[index]].tool_calls}
    return bool(called - {messages[position].tool_call_id for position in talk[last:]})


def request_faults(messages: Sequence[Message], positions: Sequence[int]) -> set[tuple[str, int, str]]:
    """What a provider would refuse in a request of these recorded messages: (check, position, call id).

    Calls and results are told by their ids in what is sent. A result must also follow its call with nothing but
    system messages and other results between them.
    """
    talk = [position for position in positions if messages[position].role not in SYSTEMS]
    faults: set[tuple[str, int, str]] = set()
    called: set[str] = set()
    open_calls: set[str] = set()
    for index, position in enumerate(talk):
        message = messages[position]
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            faults |= set() if call_id in called else {("orphan_result", position, call_id)}
            faults |= set() if call_id in open_calls else {("misplaced_result", position, call_id)}
            continue
        open_calls = {call.id for call in message.tool_calls}
        called |= open_calls
        faults |= {("unanswered_call", position, i) for i in open_calls if not _is_answered(messages, talk, index, i)}
    return faults | _first_faults(messages, talk)


def _is_answered(messages: Sequence[Message], talk: Sequence[int], index: int, call_id: str) -> bool:
    for position in talk[index + 1 :]:
        if messages[position].tool_call_id == call_id:
            return True
        if any(call.id == call_id for call in messages[position].tool_calls):
            return False
    return False


def _first_faults(messages: Sequence[Message], talk: Sequence[int]) -> set[tuple[str, int, str]]:
    """A request starts with the user, or with all that was said before the user first spoke."""
    everything = spoken(messages, 0, len(messages))
    preamble: list[int] = []
    for position in everything:
        if messages[position].role == "user":
            break
        preamble.append(position)
    whole_preamble = bool(preamble) and list(talk[: len(preamble)]) == preamble
    starts_well = messages[talk[0]].role == "user" or whole_preamble
    return set() if starts_well else {("first_not_user", talk[0], "")}
