"""Drafts of labels over a conversation: where said, when changed, where needed again; worked out by hand."""

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_conversation, parse_message
from ctxmode_cli.language.drafting import as_labels, find_drafts, with_value

DATA_SETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"


def said(*turns: tuple[str, Any]) -> list[Message]:
    """Messages from role and text; `call` is an assistant's call with these arguments."""
    messages = []
    for index, (role, content) in enumerate(turns):
        if role == "call":
            call = {"id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": content}}
            messages.append(parse_message({"role": "assistant", "content": None, "tool_calls": [call]}))
        elif role == "tool":
            messages.append(parse_message({"role": "tool", "content": content, "tool_call_id": f"c{index - 1}"}))
        else:
            messages.append(parse_message({"role": role, "content": content}))
    return messages


def labels(*turns: tuple[str, Any]) -> list[dict[str, Any]]:
    messages = said(*turns)
    return as_labels(find_drafts(messages), messages)


def shown(label: dict[str, Any], *names: str) -> list[Any]:
    return [label.get(name) for name in names]


def test_a_draft_has_every_field_of_a_label_and_its_rule() -> None:
    """What the record knows of a fact, no alias, no question, and which rule made it."""
    assert labels(("user", "My e-mail is a@example.com")) == [
        {
            "id": "f1",
            "kind": "email",
            "value": "a@example.com",
            "aliases": [],
            "stated_at": 0,
            "probe_at": [],
            "polarity": "positive",
            "question": None,
            "rule": "email",
        }
    ]


def test_a_denial_is_a_negative_fact() -> None:
    """The value is the thing denied."""
    [label] = labels(("user", "我不需要宠物推荐"))
    assert shown(label, "value", "polarity") == ["宠物推荐", "negative"]


def test_a_reply_that_uses_the_value_again_is_a_probe_of_its_turn() -> None:
    """The probe is at the user message that the reply answers, where that does not say the value itself."""
    [label] = labels(
        ("user", "order #W12345, please"),
        ("assistant", "Noted, #W12345."),
        ("user", "When does it come?"),
        ("assistant", "#W12345 comes soon."),
        ("user", "And #W12345 is paid?"),
        ("assistant", "#W12345 is paid."),
    )
    assert shown(label, "stated_at", "probe_at") == [0, [2]]


def test_a_call_that_uses_the_value_again_is_a_probe_too() -> None:
    """The arguments of a tool call count as the reply's own words."""
    [label] = labels(
        ("user", "order #W12345, please"),
        ("assistant", "Noted."),
        ("user", "Cancel it"),
        ("user", "now"),
        ("call", '{"order": "#W12345"}'),
        ("tool", "done: #W12345"),
        ("assistant", "#W12345 is cancelled."),
    )
    assert label["probe_at"] == [3]


def test_what_a_tool_said_in_the_same_turn_needs_no_memory() -> None:
    """A reply that repeats the tool's result is no probe."""
    [label] = labels(
        ("user", "order #W12345, please"),
        ("assistant", "Noted."),
        ("user", "What do I have?"),
        ("call", "{}"),
        ("tool", "orders: #W12345"),
        ("assistant", "You have #W12345."),
    )
    assert label["probe_at"] == []


@pytest.mark.parametrize("between", [[], [("system", "Be kind.")]])
def test_what_a_burst_of_messages_says_itself_is_no_probe(between: list[tuple[str, str]]) -> None:
    """Several user messages in a row are one input."""
    [label] = labels(("user", "order #W12345"), *between, ("user", "cancel it"), ("assistant", "#W12345 is cancelled."))
    assert label["probe_at"] == []


def test_the_users_change_supersedes_the_latest_value_of_its_kind() -> None:
    """Until when the old value holds, what the new one replaces, and no probe of the old one after that."""
    old, new = labels(
        ("user", "Deliver it on May 20."),
        ("assistant", "Fine, May 20."),
        ("user", "When does it come?"),
        ("assistant", "On May 20."),
        ("user", "Please change it to May 22."),
        ("assistant", "Fine."),
        ("user", "So when?"),
        ("assistant", "On May 22, and not on May 20."),
    )
    assert shown(old, "value", "superseded_at", "supersedes", "probe_at") == ["May 20", 4, None, [2]]
    assert shown(new, "value", "superseded_at", "supersedes", "probe_at") == ["May 22", None, "f1", [6]]


def test_a_chinese_change() -> None:
    """改成 is a word of change."""
    old, new = labels(("user", "3月5日送到"), ("assistant", "好的"), ("user", "改成3月6日吧"))
    assert shown(old, "superseded_at") == [2]
    assert shown(new, "supersedes") == ["f1"]


def test_the_value_named_in_the_change_is_the_one_that_goes() -> None:
    """'From A to B' replaces A, however many dates were said since."""
    first, second, new = labels(
        ("user", "I arrive on May 20."),
        ("user", "My sister arrives on June 3."),
        ("assistant", "Noted."),
        ("user", "Change my arrival from May 20 to May 22."),
    )
    assert shown(first, "superseded_at") == [3]
    assert shown(second, "superseded_at") == [None]
    assert shown(new, "supersedes") == ["f1"]


def test_a_change_is_of_what_the_user_said_before_it_is_of_anything_else() -> None:
    """The assistant's own figures do not stand between."""
    mine, theirs, new = labels(
        ("user", "I need 36 sets."), ("assistant", "We ship 40 boxes a day."), ("user", "It should be 32 sets.")
    )
    assert shown(mine, "superseded_at") == [2]
    assert shown(theirs, "superseded_at") == [None]
    assert shown(new, "supersedes") == ["f1"]


def test_a_second_value_without_a_word_of_change_replaces_nothing() -> None:
    """Two dates can hold at once."""
    assert [label.get("superseded_at") for label in labels(("user", "on May 20"), ("user", "and on May 22"))] == [
        None,
        None,
    ]


def test_a_word_of_change_replaces_no_wish() -> None:
    """There can be many wishes; a new one comes beside the others."""
    first, second = labels(("user", "I love jazz."), ("user", "Actually I love opera too."))
    assert shown(first, "superseded_at") == [None]
    assert shown(second, "supersedes") == [None]


def test_an_assistants_word_of_change_replaces_nothing() -> None:
    """Only the user changes their mind."""
    old, new = labels(("user", "on May 20"), ("assistant", "I could change it to May 22"))
    assert shown(old, "superseded_at") == [None]
    assert shown(new, "supersedes") == [None]


def test_a_wish_and_its_denial_replace_each_other() -> None:
    """Without any word of change: they cannot both hold."""
    denied, wanted = labels(("user", "我不喜欢古典音乐。"), ("assistant", "好"), ("user", "我喜欢古典音乐。"))
    assert shown(denied, "polarity", "stated_at", "superseded_at") == ["negative", 0, 2]
    assert shown(wanted, "polarity", "stated_at", "supersedes") == ["positive", 2, "f1"]


def test_a_value_that_the_user_returns_to_is_a_new_fact() -> None:
    """May 20, then May 22, then May 20 again: three facts, of which the last holds."""
    turns = [("user", "on May 20"), ("user", "change it to May 22"), ("user", "change it back to May 20")]
    first, second, third = labels(*turns)
    assert shown(first, "value", "superseded_at") == ["May 20", 1]
    assert shown(second, "value", "superseded_at", "supersedes") == ["May 22", 2, "f1"]
    assert shown(third, "value", "stated_at", "superseded_at", "supersedes") == ["May 20", 2, None, "f2"]


@pytest.mark.parametrize(
    "between", [[], [("assistant", "May 24 is free too")], [("user", "Change my mail to a@example.com")]]
)
def test_a_repeated_change_is_the_same_fact(between: list[tuple[str, str]]) -> None:
    """Whoever says the same change twice changes nothing the second time, whatever else was said or changed."""
    found = labels(("user", "on May 20"), ("user", "change it to May 22"), *between, ("user", "change it to May 22!"))
    assert [label["value"] for label in found].count("May 22") == 1


def test_wishes_are_not_returned_to() -> None:
    """There is no slot that one of several wishes could come back to."""
    found = labels(
        ("user", "Actually I love jazz."), ("user", "Actually I love opera."), ("user", "Actually I love jazz.")
    )
    assert [shown(label, "value", "superseded_at") for label in found] == [["jazz", None], ["opera", None]]


def test_a_denial_leaves_other_wishes_alone() -> None:
    """Only the wish for the very thing is taken back."""
    wanted, denied = labels(("user", "我喜欢古典音乐。"), ("user", "我不喜欢摇滚音乐。"))
    assert shown(wanted, "superseded_at") == [None]
    assert shown(denied, "supersedes") == [None]


def test_a_correction_within_one_message_replaces_nothing() -> None:
    """A fact holds at least until the next message."""
    found = labels(("user", "I come on May 20. Change it to May 22."))
    assert [shown(label, "value", "superseded_at") for label in found] == [["May 20", None], ["May 22", None]]


def test_a_value_is_stated_where_it_is_first_said() -> None:
    """Though the rule finds it only later, where its name stands beside it."""
    [label] = labels(("assistant", "We have 46236 here."), ("user", "Yes, zip code 46236."))
    assert shown(label, "kind", "stated_at") == ["postcode", 0]


def test_ids_follow_the_order_in_which_facts_are_stated() -> None:
    """Not that in which the rules found them."""
    found = labels(("assistant", "We have 46236 here."), ("user", "a@example.com"), ("user", "Yes, zip code 46236."))
    assert [shown(label, "id", "kind") for label in found] == [["f1", "postcode"], ["f2", "email"]]


def test_a_wish_is_stated_by_the_user() -> None:
    """The assistant's offer is not the wish, nor is its policy a constraint."""
    [label] = labels(("assistant", "A window seat? It must be booked now."), ("user", "I prefer a window seat."))
    assert shown(label, "value", "stated_at") == ["window seat", 1]


def test_what_the_system_prompt_says_is_not_drafted() -> None:
    """Every mode always sends it."""
    assert labels(("system", "Mail a@example.com"), ("user", "I wrote to a@example.com")) == []
    assert labels(("system", "Mail a@example.com")) == []


def test_what_a_tool_returns_is_drafted_where_the_conversation_comes_back_to_it() -> None:
    """Of a long list only what is spoken of, or called with, is a fact."""
    [label] = labels(
        ("user", "What is there?"),
        ("call", "{}"),
        ("tool", "a@example.com b@example.com"),
        ("assistant", "a@example.com"),
    )
    assert shown(label, "value", "stated_at") == ["a@example.com", 2]


def test_the_argument_of_a_call_is_a_fact_where_somebody_had_said_it() -> None:
    """Its kind is the argument's name; what the assistant made up is no fact, nor is a single digit or a yes."""
    arguments = {"where": {"city": ["Lisbon", "Porto"]}, "count": 4, "price": 250, "wifi": "yes", "ok": True}
    found = labels(
        ("user", "To Lisbon, yes, 4 of us, for 250"), ("call", json.dumps(arguments)), ("tool", "Porto is full")
    )
    assert [shown(label, "kind", "value", "rule", "stated_at") for label in found] == [
        ["city", "Lisbon", "argument", 0],
        ["price", "250", "argument", 0],
    ]


def test_arguments_that_the_assistant_composed_are_no_facts() -> None:
    """A value that only its own calls carry, and a text as long as a message."""
    text = "I would like to come in the morning, when there is nobody else in the museum"
    call = json.dumps({"city": "Porto", "note": text})
    assert labels(("user", text), ("call", call), ("tool", ""), ("call", call), ("tool", "")) == []


def test_an_assistants_argument_is_no_change() -> None:
    """Though the assistant said it with a word of change before it called."""
    first, second = labels(
        ("user", "To Lisbon"), ("call", '{"city": "Lisbon"}'), ("tool", ""),
        ("assistant", "I could change it to Porto"), ("call", '{"city": "Porto"}'), ("tool", ""),
    )  # fmt: skip
    assert shown(first, "superseded_at") == [None]
    assert shown(second, "supersedes") == [None]


def test_an_argument_can_be_a_change() -> None:
    """Where the user says it with a word of change."""
    old, new = labels(
        ("user", "To Lisbon"), ("call", '{"city": "Lisbon"}'), ("tool", ""),
        ("user", "Change it to Porto"), ("call", '{"city": "Porto"}'), ("tool", ""),
    )  # fmt: skip
    assert shown(old, "value", "superseded_at") == ["Lisbon", 3]
    assert shown(new, "value", "supersedes") == ["Porto", "f1"]


@pytest.mark.parametrize("arguments", ["", "{", "[1, 2]", '"May"', "null", '{"a": {"b": []}}', "[" * 100_000])
def test_arguments_that_are_no_record_are_left_alone(arguments: str) -> None:
    """Models write anything."""
    assert labels(("user", "May"), ("call", arguments), ("tool", "")) == []


def test_known_facts_are_not_drafted_again_and_keep_their_ids() -> None:
    """Neither their values nor their aliases; ids go round those in use."""
    record = {"id": "f1", "kind": "mail", "value": "x@example.com", "aliases": ["A@example.com"], "stated_at": 0}
    messages = [{"role": "user", "content": "a@example.com, b@example.com, x@example.com"}]
    conversation = parse_conversation({"messages": messages, "facts": [record]}, where="", default_id="c")
    drafts = find_drafts(conversation.messages, conversation.facts)
    assert [(draft.fact.id, draft.fact.value) for draft in drafts] == [("f2", "b@example.com")]


def test_a_confirmed_draft_says_so() -> None:
    """Whoever reads the labels can tell a person's from a rule's."""
    messages = said(("user", "a@example.com"))
    [draft] = find_drafts(messages)
    assert as_labels([draft._replace(reviewed=True)], messages)[0]["reviewed"] is True


def test_another_value_must_stand_in_the_same_message() -> None:
    """A corrected draft has the probes of its new value; a value that was not said is refused."""
    messages = said(
        ("user", "Send it to 12 Elm Road in Hull"), ("assistant", "Fine."), ("user", "Where?"), ("assistant", "Hull.")
    )
    [draft] = find_drafts(messages)
    edited = with_value(draft, "Hull", messages)
    assert edited is not None
    assert shown(as_labels([edited], messages)[0], "value", "stated_at", "probe_at") == ["Hull", 0, [2]]
    assert messages[0].content[edited.start :] == "Hull"
    assert with_value(draft, "Leeds", messages) is None


TEXTS = st.lists(
    st.sampled_from(
        [
            "May 20",
            "May 22",
            "change it to ",
            "改成",
            "3月5日",
            "我不喜欢古典音乐",
            "我喜欢古典音乐",
            "。",
            ". ",
            "a@b.co",
            "42 sets",
        ]
    ),
    max_size=4,
).map("".join)
ROLES = st.sampled_from(["system", "user", "user", "assistant"])


@given(st.lists(st.tuples(ROLES, TEXTS), min_size=1, max_size=10))
def test_drafts_are_labels_of_the_record(turns: list[tuple[str, str]]) -> None:
    """Whatever is said, the drafts are valid labels: ids, positions, links; and every probe comes while they hold."""
    messages = [{"role": role, "content": text} for role, text in turns]
    parsed = [parse_message(message) for message in messages]
    drafted = as_labels(find_drafts(parsed), parsed)
    conversation = parse_conversation({"messages": messages, "facts": drafted}, where="", default_id="c")
    for fact in conversation.facts:
        assert all(parsed[probe].role == "user" for probe in fact.probe_at)
        assert all(fact.stated_at < probe < (fact.superseded_at or len(parsed)) for probe in fact.probe_at)
    replaced = [fact.supersedes for fact in conversation.facts if fact.supersedes]
    assert sorted(replaced) == sorted(fact.id for fact in conversation.facts if fact.superseded_at is not None)


@pytest.mark.skipif(not DATA_SETS.is_dir(), reason="the labelled conversations are not beside this repository")
@pytest.mark.parametrize("name", ["tau2_bench", "crosswoz"])
def test_drafts_of_real_conversations_are_labels_too(name: str) -> None:
    """They parse, and every rule's value is found by the matcher where it is said to stand."""
    for conversation in islice(Reading([str(DATA_SETS / f"{name}.jsonl.gz")]).conversations(), 20):
        drafts = find_drafts(conversation.messages)
        record = {**conversation.recorded, "facts": as_labels(drafts, conversation.messages)}
        assert len(parse_conversation(record, where="", default_id="c").facts) == len(drafts) > 0
