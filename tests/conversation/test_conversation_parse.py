"""From a JSON object to a conversation, or to one sentence about what is wrong with it."""

from typing import Any

import pytest

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import ToolCall
from ctxmode_cli.conversation.parse import parse_conversation, parse_message
from ctxmode_cli.errors import CtxmodeError

USER = {"role": "user", "content": "x"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FACT = {"id": "f0", "kind": "name", "value": "Ann", "aliases": [], "stated_at": 0}


def parse(record: Any) -> Any:
    return parse_conversation(record, where="logs.jsonl:1", default_id="default")


def fault(record: Any) -> str:
    with pytest.raises(CtxmodeError) as raised:
        parse(record)
    assert raised.value.where == "logs.jsonl:1"
    return raised.value.message


def test_a_record_becomes_a_conversation_that_keeps_all_that_was_recorded() -> None:
    """Typed fields are at hand; the whole object, unknown fields included, stays as it was."""
    record = {
        "id": "a",
        "lang": "zh",
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [CALL], "mine": 1},
            {"role": "tool", "tool_call_id": "c", "content": "1", "name": "f"},
        ],
        "tools": [{"type": "function"}],
        "mine": {"x": 1},
    }
    conversation = parse(record)
    assert (conversation.id, conversation.lang, conversation.where) == ("a", "zh", "logs.jsonl:1")
    assert conversation.messages[0].tool_calls == (ToolCall("c", "f", "{}"),)
    assert conversation.messages[1].tool_call_id == "c"
    assert conversation.messages[1].wire() == record["messages"][1]
    assert conversation.recorded is record
    assert conversation.messages[0].recorded["mine"] == 1


def test_nulls_stand_for_fields_that_are_missing() -> None:
    """Exports write null for what they do not have."""
    message = USER | dict.fromkeys(["name", "tool_calls", "tool_call_id", "ts", "documents", "usage", "latency_s"])
    fact = FACT | dict.fromkeys(["aliases", "probe_at", "polarity", "superseded_at", "supersedes", "question", "kind"])
    record = {"messages": [message], "facts": [fact]} | dict.fromkeys(["id", "lang", "source", "model", "tools"])
    conversation = parse(record)
    assert conversation.id == "default"
    assert conversation.messages[0].tool_calls == ()
    assert conversation.facts == (Fact("f0", "", "Ann", (), 0, None, None, (), False, None),)


def test_a_label_is_read_with_all_its_fields() -> None:
    """Probes are in order and once each; a negative polarity is a denial."""
    label = FACT | {
        "aliases": ["Anna"],
        "superseded_at": 1,
        "supersedes": "f9",
        "probe_at": [1, 0, 1],
        "polarity": "negative",
        "question": "Who?",
    }
    fact, _ = parse({"messages": [USER, USER], "facts": [label, FACT | {"id": "f9"}]}).facts
    assert fact == Fact("f0", "name", "Ann", ("Anna",), 0, 1, "f9", (0, 1), True, "Who?")
    assert fact.forms == ("Ann", "Anna")


def test_records_are_frozen() -> None:
    """Nobody writes to a message, a call or a fact."""
    conversation = parse({"messages": [USER], "facts": [FACT]})
    for item, field in ((conversation, "id"), (conversation.messages[0], "role"), (conversation.facts[0], "value")):
        with pytest.raises(AttributeError):
            setattr(item, field, "other")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "a record is a JSON object, not a list"),
        ({}, 'the record has no "messages"'),
        ({"messages": {}}, '"messages" is a list, not an object'),
        ({"messages": []}, "the conversation has no messages"),
        ({"messages": [USER], "id": 7}, 'has a number as its "id"'),
        ({"messages": [USER], "lang": ["zh"]}, 'has a list as its "lang"'),
        ({"messages": [USER], "tools": {}}, 'has an object as its "tools"'),
        ({"messages": [USER], "tools": ["f"]}, "tool 0 is an object, not a string"),
        ({"messages": [USER], "facts": "f"}, 'has a string as its "facts"'),
    ],
)
def test_a_faulty_record_is_told_by_its_field(record: Any, message: str) -> None:
    """What is wrong with the record as a whole."""
    assert fault(record).removeprefix("the record ") == message.removeprefix("the record ")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("hi", "is an object, not a string"),
        ({"content": "x"}, 'has no "role"'),
        ({"role": None}, 'has null as its "role"'),
        ({"role": ["user"]}, 'has a list as its "role"'),
        ({"role": "human"}, 'has the unknown role "human"'),
        ({"role": "user", "content": 3}, "has a number as its content, not text, a list of parts or null"),
        ({"role": "user", "content": ["x"]}, 'has a part 0 that is not an object with a "type"'),
        ({"role": "user", "name": 3}, 'has a number as its "name"'),
        ({"role": "user", "ts": 3}, 'has a number as its "ts"'),
        ({"role": "user", "latency_s": True}, 'has a boolean as its "latency_s"'),
        ({"role": "user", "cost_usd": "1"}, 'has a string as its "cost_usd"'),
        ({"role": "user", "usage": []}, 'has a list as its "usage"'),
        ({"role": "user", "documents": [{"id": "d"}]}, 'has a document 0 that is not an object with a "text"'),
        ({"role": "user", "tool_calls": [CALL]}, "(role user) calls tools; only an assistant does"),
        ({"role": "tool", "content": "x"}, '(a tool result) has no "tool_call_id"'),
        ({"role": "tool", "tool_call_id": 1}, 'has a number as its "tool_call_id"'),
        ({"role": "assistant", "tool_calls": {}}, 'has an object as its "tool_calls"'),
        ({"role": "assistant", "tool_calls": ["f"]}, "tool call 0 is an object, not a string"),
        ({"role": "assistant", "tool_calls": [CALL, {"id": "d"}]}, 'tool call 1 has no "function" with a "name"'),
        ({"role": "assistant", "tool_calls": [CALL | {"id": None}]}, 'tool call 0 has no "id"'),
        (
            {"role": "assistant", "tool_calls": [CALL | {"function": {"name": "f", "arguments": {}}}]},
            "tool call 0 has an object as its arguments; they are JSON text",
        ),
    ],
)
def test_a_faulty_message_is_told_by_its_index_and_field(message: Any, text: str) -> None:
    """In a record with the message's index, alone without."""
    assert fault({"messages": [USER, message]}) == f"message 1 {text}"
    with pytest.raises(CtxmodeError) as raised:
        parse_message(message)
    assert raised.value.message == f"message {text}"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"id": ""}, "no id"),
        ({"id": 3}, 'a number as its "id"'),
        ({"value": " "}, 'no "value"'),
        ({"value": None}, 'no "value"'),
        ({"stated_at": None}, 'no "stated_at"'),
        ({"stated_at": True}, 'a boolean as its "stated_at"'),
        ({"superseded_at": "1"}, 'a string as its "superseded_at"'),
        ({"supersedes": 1}, 'a number as its "supersedes"'),
        ({"aliases": "Anna"}, 'a string as its "aliases"'),
        ({"aliases": [""]}, '"aliases" that are not all text'),
        ({"aliases": [3]}, '"aliases" that are not all text'),
        ({"probe_at": 1}, 'a number as its "probe_at"'),
        ({"probe_at": [True]}, 'a "probe_at" that is not a list of message indexes'),
        ({"question": 1}, 'a number as its "question"'),
        ({"polarity": "maybe"}, 'the polarity "maybe"; it is "positive" or "negative"'),
    ],
)
def test_a_faulty_label_is_told_by_its_index_and_field(change: dict[str, Any], text: str) -> None:
    """Every field of a fact has its type, and what must be there is there."""
    assert fault({"messages": [USER], "facts": [FACT | change]}) == f"fact 0 has {text}"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"stated_at": 2}, "stated_at 2"),
        ({"stated_at": -1}, "stated_at -1"),
        ({"superseded_at": 2}, "superseded_at 2"),
        ({"probe_at": [5]}, "probe_at 5"),
        ({"probe_at": [1, -1]}, "probe_at -1"),
        ({"probe_at": [0, 2, 1]}, "probe_at 2"),
    ],
)
def test_a_label_points_into_its_conversation(change: dict[str, Any], place: str) -> None:
    """A position outside is a fault that names fact, field and position."""
    text = fault({"messages": [USER, USER], "facts": [FACT | change]})
    assert text == f'fact 0 ("f0") has {place}, outside the conversation of 2 messages'


@pytest.mark.parametrize("superseded_at", [0, 1])
def test_a_label_is_superseded_after_it_is_stated(superseded_at: int) -> None:
    """A fact that is out of date before it is said, or as it is said, is a fault that names both positions."""
    text = fault({"messages": [USER, USER], "facts": [FACT | {"stated_at": 1, "superseded_at": superseded_at}]})
    assert text == f'fact 0 ("f0") has superseded_at {superseded_at}, not after its stated_at 1'


@pytest.mark.parametrize("old", ["f0", "f7", ""])
def test_a_label_supersedes_another_of_its_record(old: str) -> None:
    """A fact supersedes one that the record has, before or after it in the list, and never itself."""
    complaint = f'fact 0 ("f0") supersedes "{old}", which is no other fact of the record'
    later = FACT | {"id": "f1"}
    assert fault({"messages": [USER], "facts": [FACT | {"supersedes": old}, later]}) == complaint
    assert parse({"messages": [USER], "facts": [FACT | {"supersedes": "f1"}, later]}).facts[0].supersedes == "f1"


def test_a_label_supersedes_none_that_is_stated_after_it() -> None:
    """A fact cannot take the place of a later one; two of one message may be in either order ("not B, but A")."""
    later = FACT | {"id": "f1", "stated_at": 1}
    text = fault({"messages": [USER, USER], "facts": [FACT | {"supersedes": "f1"}, later]})
    assert text == 'fact 0 ("f0") supersedes "f1", which is stated after it'
    assert parse({"messages": [USER, USER], "facts": [FACT, later | {"supersedes": "f0"}]}).facts[1].supersedes == "f0"


def test_no_two_labels_share_an_id() -> None:
    """Ids of facts are their names in every report."""
    assert fault({"messages": [USER], "facts": [FACT, FACT]}) == "fact 1 has the id of an earlier fact"


def test_a_label_that_is_no_object_is_a_fault() -> None:
    """Facts are objects."""
    assert fault({"messages": [USER], "facts": ["Ann"]}) == "fact 0 is an object, not a string"


@pytest.mark.parametrize("time", ["yesterday", "9999", "2026-13-01T00:00:00Z", ""])
def test_a_time_has_to_be_one(time: str) -> None:
    """What is no ISO 8601 time would silently leave the prompt cache warm for ever."""
    record = {"messages": [{"role": "user", "content": "hi", "ts": time}]}
    with pytest.raises(CtxmodeError, match=f'^logs:1: message 0 has "{time}" as its "ts"$'):
        parse_conversation(record, where="logs:1", default_id="1")
