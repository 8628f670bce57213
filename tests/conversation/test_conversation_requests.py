"""Where the assistant was called, in records of every odd shape."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.conversation.requests import has_replies, list_requests

ROLES = {"s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"}


def record(script: str) -> list[Message]:
    """One message a word: `s d u a t` are roles, `a:x,y` calls x and y, `t:x` answers x."""
    return [_message(word) for word in script.split()]


def _message(word: str) -> Message:
    letter, _, ids = word.partition(":")
    message: dict[str, object] = {"role": ROLES[letter], "content": "…"}
    if letter == "t":
        message["tool_call_id"] = ids
    elif ids:
        called = [{"id": i, "type": "function", "function": {"name": "f", "arguments": ""}} for i in ids.split(",")]
        message["tool_calls"] = called
    return parse_message(message)


def spans(messages: Sequence[Message]) -> list[tuple[int, int]]:
    return [(request.position, request.reply_stop) for request in list_requests(messages)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u a", [(1, 2)]),
        ("s u a u a", [(2, 3), (4, 5)]),
        ("u u a", [(2, 3)]),
        ("u s u a", [(3, 4)]),
    ],
)
def test_requests_one_before_each_reply(script: str, expected: list[tuple[int, int]]) -> None:
    """There is one request before each reply; a burst of user messages has one reply."""
    assert spans(record(script)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u a:c t:c a", [(1, 2), (3, 4)]),
        ("u a:c,d t:d t:c a:e t:e a", [(1, 2), (4, 5), (6, 7)]),
        ("u a:c s t:c a", [(1, 2), (4, 5)]),
        ("u a:c u t:c a", [(1, 2), (4, 5)]),
    ],
)
def test_requests_of_a_tool_loop(script: str, expected: list[tuple[int, int]]) -> None:
    """A tool loop has one request for each step, also where a result comes late or a system message between."""
    assert spans(record(script)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u a a", [(1, 3)]),
        ("u a s a", [(1, 4)]),
        ("u a s d a s u a", [(1, 5), (7, 8)]),
        ("u a a:c t:c a", [(1, 3), (4, 5)]),
        ("u a:c a t:c a", [(1, 3), (4, 5)]),
    ],
)
def test_requests_consecutive_assistants_are_one_reply(script: str, expected: list[tuple[int, int]]) -> None:
    """Consecutive assistant messages are one reply, whatever system messages stand between them."""
    assert spans(record(script)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a u a", [(2, 3)]),
        ("s a a u a", [(4, 5)]),
        ("a:c t:c a u", [(4, 4)]),
        ("s a", []),
        ("a:c t:c", []),
        ("s d", []),
    ],
)
def test_requests_none_for_a_preamble(script: str, expected: list[tuple[int, int]]) -> None:
    """No request is made for what comes before the user first speaks."""
    assert spans(record(script)) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u a u", [(1, 2), (3, 3)]),
        ("u a u s", [(1, 2), (4, 4)]),
        ("u a:c t:c", [(1, 2), (3, 3)]),
        ("u a:c,d t:d t:c s", [(1, 2), (5, 5)]),
        ("u a:c u", [(1, 2), (3, 3)]),
        ("u a t:x", [(1, 2), (3, 3)]),
    ],
)
def test_requests_open_end(script: str, expected: list[tuple[int, int]]) -> None:
    """A record that ends with the user or with all results has one more request, whose reply is unknown."""
    messages = record(script)
    assert spans(messages) == expected
    assert [request.is_open for request in list_requests(messages)] == [False, True]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u a:c", [(1, 2)]),
        ("u a:c,d t:c", [(1, 2)]),
        ("u a:c,d t:d s", [(1, 2)]),
        ("u a:c a:d t:d", [(1, 3)]),
        ("u a:c,d t:x t:c", [(1, 2)]),
    ],
)
def test_requests_none_while_calls_are_unanswered(script: str, expected: list[tuple[int, int]]) -> None:
    """No request is made at the end while a call of the last reply has no result."""
    assert spans(record(script)) == expected


def test_requests_earlier_unanswered_call_does_not_close_the_end() -> None:
    """A call that was never answered earlier in the record does not take the open request away."""
    assert spans(record("u a:c u a:d t:d")) == [(1, 2), (3, 4), (5, 5)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("u", [(1, 1)]),
        ("s u u s u", [(2, 2), (4, 4), (5, 5)]),
        ("s u t:c u", [(3, 3), (4, 4)]),
        ("t:c", []),
    ],
)
def test_requests_without_any_assistant(script: str, expected: list[tuple[int, int]]) -> None:
    """In a record without replies each user message has an open request of its own."""
    messages = record(script)
    assert spans(messages) == expected
    assert not has_replies(messages)


words = st.sampled_from(["s", "d", "u", "a", "a:c", "a:c,d", "t:c", "t:d"])


@given(st.lists(words, min_size=1, max_size=12))
def test_requests_every_reply_belongs_to_one(script: list[str]) -> None:
    """Requests come in order, numbered, do not overlap, and hold every assistant message after the user first spoke."""
    messages = record(" ".join(script))
    requests = list_requests(messages)
    assert [request.index for request in requests] == list(range(len(requests)))
    replied = [p for request in requests for p in range(request.position, request.reply_stop)]
    assert replied == sorted(set(replied))
    assert all(messages[p].role == "assistant" or messages[p].is_system for p in replied)
    first_user = script.index("u") if "u" in script else len(script)
    spoken = {p for p, message in enumerate(messages) if message.role == "assistant" and p > first_user}
    assert {p for p in replied if messages[p].role == "assistant"} == spoken
