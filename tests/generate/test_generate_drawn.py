"""Sessions of turns that are drawn from recorded ones."""

from collections import Counter
from typing import Any

import pytest

from ctxmode_cli.context.record_faults import record_faults
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.generate import drawn
from ctxmode_cli.generate.drawn import TurnPool


def record(*messages: dict[str, Any], **fields: Any) -> Conversation:
    return parse_conversation({"messages": list(messages), **fields}, where="log:1", default_id="1")


def say(role: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def call(call_id: str) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    return say("assistant", "", tool_calls=[{"id": call_id, "type": "function", "function": function}])


def result(call_id: str) -> dict[str, Any]:
    return say("tool", "found", tool_call_id=call_id)


def pool_of(*conversations: Conversation, seed: int = 0) -> TurnPool:
    pool = TurnPool(seed)
    for conversation in conversations:
        pool.add(conversation)
    return pool


LOOP = (say("user", "look"), call("a"), result("a"), say("assistant", "done"))


def test_a_session_is_made_of_whole_turns() -> None:
    """A turn goes with its tool loop: three drawn turns are six requests, and no call is left alone."""
    [session] = pool_of(record(say("system", "be kind"), *LOOP)).sessions(1, 3)
    roles = ["user", "assistant", "tool", "assistant"]
    assert [message.role for message in session.messages] == ["system", *roles * 3]
    assert len(list_requests(session.messages)) == 6
    assert record_faults(session.messages) == Counter()


def test_calls_of_a_turn_that_is_drawn_twice_are_told_apart() -> None:
    """Every call of a session has an id of its own, and its result has the same."""
    [session] = pool_of(record(*LOOP)).sessions(1, 2)
    calls = [each.id for message in session.messages for each in message.tool_calls]
    results = [message.tool_call_id for message in session.messages if message.role == "tool"]
    assert calls == results == ["0:a", "1:a"]


@pytest.mark.parametrize(
    "turn",
    [
        (say("user", "hello?"),),
        (say("user", "look"), call("a")),
        (say("user", "look"), call("a"), result("a")),
        (say("user", "look"), call("a"), say("assistant", "done")),
        (say("user", "look"), result("z"), say("assistant", "done")),
    ],
    ids=["no reply", "open call", "ends with a result", "no result", "result of another turn"],
)
def test_turns_that_were_not_answered_to_the_end_are_left_out(turn: tuple[dict[str, Any], ...]) -> None:
    """They would run into the turn that follows them; how many there are is known."""
    pool = pool_of(record(*turn), record(say("user", "next"), say("assistant", "yes")))
    assert (pool.seen, pool.left_out) == (1, 1)
    [session] = pool.sessions(1, 5)
    assert {message.content for message in session.messages} == {"next", "yes"}


def test_what_comes_before_the_first_turn_is_no_turn() -> None:
    """A greeting is not drawn; system messages and tools go with the session."""
    tools = [{"type": "function", "function": {"name": "look"}}]
    conversation = record(
        say("system", "be kind"), say("assistant", "hi"), say("user", "a"), say("assistant", "b"), tools=tools
    )
    [session] = pool_of(conversation).sessions(1, 1)
    assert [message.content for message in session.messages] == ["be kind", "a", "b"]
    assert session.tools == tools


def test_a_burst_of_user_messages_is_one_turn() -> None:
    """User messages that follow each other are one input."""
    pool = pool_of(record(say("user", "a"), say("system", "x"), say("user", "b"), say("assistant", "c")))
    assert (pool.seen, pool.left_out) == (1, 0)


def test_times_stay_behind_and_documents_come_along() -> None:
    """Recorded times and usage are those of another session."""
    user = say("user", "a", ts="2026-01-01T00:00:00Z", documents=[{"text": "d"}])
    reply = say("assistant", "b", usage={"prompt_tokens": 3, "completion_tokens": 1}, latency_s=2.0)
    [session] = pool_of(record(user, reply)).sessions(1, 1)
    assert [message.recorded for message in session.messages] == [
        say("user", "a", documents=[{"text": "d"}]),
        say("assistant", "b"),
    ]


def turns(count: int) -> Conversation:
    return record(*(m for n in range(count) for m in (say("user", f"q{n}"), say("assistant", f"a{n}"))))


def test_the_seed_decides_what_is_drawn() -> None:
    """The same seed gives the same sessions, another seed others, and sessions differ from each other."""

    def texts(seed: int) -> list[list[Any]]:
        sessions = pool_of(turns(100), seed=seed).sessions(2, 10)
        return [[message.content for message in session.messages] for session in sessions]

    assert texts(0) == texts(0)
    assert texts(0) != texts(1)
    assert texts(0)[0] != texts(0)[1]


def test_of_many_turns_a_sample_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many turns are in memory; which they are is left to chance: the first tenth is not preferred."""
    monkeypatch.setattr(drawn, "MOST_HELD", 100)
    pool = pool_of(turns(1000))
    held = [int(str(turn.messages[0].content)[1:]) for turn in pool._turns]
    assert (pool.seen, len(held), len(set(held))) == (1000, 100, 100)
    assert 2 <= sum(number < 100 for number in held) <= 25
