"""Turns, steps, call groups and token sums of a history."""

from typing import Any

import pytest
from dialogues import TOOLS, counter, history_of, messages_of, record_messages, tool_schemas, unhurried, users
from hypothesis import given, settings
from slow_record import Wire, answered_calls, group_starts, recount, spoken, turn_starts

from ctxmode_cli.context.config import DocumentLimits
from ctxmode_cli.context.history import History
from ctxmode_cli.context.ranges import Ranges
from ctxmode_cli.context.steps.documents import documents_that_fit
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError


@pytest.mark.parametrize(
    ("script", "turns"),
    [
        ("s u a u a u", [1, 3, 5]),
        ("u u a u", [0, 3]),
        ("u s u a u", [0, 4]),
        ("u a s u", [0, 3]),
        ("s a u a u", [2, 4]),
        ("u a:c t:c a u", [0, 4]),
        ("u t:x u", [0, 2]),
        ("s a", []),
    ],
)
def test_turns_start_at_user_messages(script: str, turns: list[int]) -> None:
    """A turn starts at a user message that does not directly follow another one, system messages aside."""
    assert history_of(messages_of(script)).turns == turns


def test_turns_one_per_user_message_without_replies() -> None:
    """In a record without replies each user message is a turn of its own."""
    assert history_of(messages_of("s u u s u"), each=True).turns == [1, 2, 4]


@pytest.mark.parametrize(
    ("script", "turns"),
    [
        ("u a:c u t:c", [0]),
        ("u a u a:c u a u t:c", [0, 2]),
        ("u a u a:c u a u t:c a u", [0, 2, 9]),
        ("u a:c t:c u t:c", [0]),
        ("u a:c t:c u a:c t:c", [0, 3]),
        ("u a:c u a t:x", [0, 2]),
        ("u a:c,d t:c u t:d u", [0, 5]),
    ],
)
def test_turns_join_where_a_late_result_answers(script: str, turns: list[int]) -> None:
    """A result that answers a call of an earlier turn makes one turn of all between; an id's latest call is meant."""
    assert history_of(messages_of(script)).turns == turns


@pytest.mark.parametrize(
    ("script", "turns", "steps"),
    [
        ("s a:c u t:c", [1], [1]),
        ("s a t:x a:c s u t:c a", [1], [1, 7]),
        ("a:c t:c u", [2], [0]),
    ],
)
def test_turns_take_the_preamble_in(script: str, turns: list[int], steps: list[int]) -> None:
    """A late result of a call of the preamble makes the whole preamble part of the turn, and one step of it."""
    history = history_of(messages_of(script))
    assert (history.turns, history.steps) == (turns, steps)


@pytest.mark.parametrize(
    ("script", "steps"),
    [
        ("u a:c t:c a:d t:d a", [1, 3, 5]),
        ("u a:c a:d t:c t:d a", [1, 5]),
        ("u a:c s a t:c a", [1, 5]),
        ("u a:c t:c a:d t:d t:c a", [1, 6]),
        ("u t:x a", [1, 2]),
        ("u a:c t:c t:x a", [1, 4]),
    ],
)
def test_steps_start_at_replies(script: str, steps: list[int]) -> None:
    """A step starts at each reply and takes in its results; a late result takes the steps between with it."""
    assert history_of(messages_of(script)).steps == steps


def test_system_messages_are_listed() -> None:
    """System and developer messages are listed; those that the conversation begins with are counted apart."""
    history = history_of(messages_of("s d u s a d"))
    assert (history.systems, history.leading_systems) == ([0, 1, 3, 5], 2)
    assert history.system_ranges.within(0, 6) == [(0, 2), (3, 4), (5, 6)]
    assert history.system_ranges.within(1, 5) == [(1, 2), (3, 4)]


def state_of(history: History) -> dict[str, Any]:
    """All that a history holds, as values that can be compared."""
    fields = vars(history)
    return {name: value.within(0, 1000) if isinstance(value, Ranges) else value for name, value in fields.items()}


@settings(unhurried, max_examples=100)
@given(record_messages, users)
def test_pop_is_the_inverse_of_append(recorded: list[Wire], message: Wire) -> None:
    """A user message that is taken back leaves all as if it had never been appended, and what follows too."""
    messages = [parse_message(message) for message in recorded]
    taken_back, never_appended = history_of(messages), history_of(messages)
    taken_back.append(parse_message(message))
    assert taken_back.frame
    documents_that_fit(taken_back, DocumentLimits(), 1000)
    taken_back.pop()
    assert state_of(taken_back) == state_of(never_appended)


@pytest.mark.parametrize("script", ["", "u a", "u s", "u a:c t:c"])
def test_pop_takes_back_user_messages_only(script: str) -> None:
    """What is not a user message may have joined turns, and is not taken back."""
    history = history_of(messages_of(script))
    with pytest.raises(CtxmodeError, match="only a user message"):
        history.pop()
    assert len(history) == len(script.split())


def test_history_can_be_empty() -> None:
    """An empty history has no turn and costs its tools and the reply's opening."""
    history = History(counter(), tools=TOOLS[1])
    assert (len(history), history.turns) == (0, [])
    assert history.fixed_tokens == counter().tools(TOOLS[1]) + 3


@settings(unhurried, max_examples=100)
@given(record_messages, tool_schemas)
def test_history_is_what_the_definitions_say(recorded: list[Wire], tools: list[Wire]) -> None:
    """After each message: turns, the current input's steps, uncuttable places and sums are those of a slow reading."""
    history = History(counter(), tools=tools)
    messages = []
    for message in recorded:
        messages.append(parse_message(message))
        history.append(messages[-1])
        assert history.turns == turn_starts(messages, each_user=False)
        pairs = answered_calls(messages)
        inside = [any(call < cut <= result for call, result in pairs) for cut in range(len(messages) + 1)]
        assert history.inside_group == inside
        if not history.turns:
            continue
        turn = history.turn_start
        assert [start for start in history.steps if start >= turn][1:] == group_starts(messages, turn)[1:]
        systems = [messages[p].wire() for p in range(len(messages)) if messages[p].is_system]
        current = [messages[p].wire() for p in spoken(messages, turn, len(messages))]
        assert history.frame.fixed_tokens == recount(systems, tools)
        assert history.frame.fixed_tokens + history.frame.input_tokens == recount([*systems, *current], tools)
