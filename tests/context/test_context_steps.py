"""What steps make of a mode's decision: tool outputs, fact card, placement, and what the audit says of it all."""

import json
from dataclasses import replace
from typing import Any

import pytest
from dialogues import (
    MODEL,
    WINDOW,
    Digest,
    counter,
    history_of,
    mode_settings,
    record_messages,
    sent,
    tool_schemas,
    unhurried,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_record import recount
from slow_reference import SlowSession, Unsendable

from ctxmode_cli.context.audit import audit, dropped_by_class
from ctxmode_cli.context.card import CardFact
from ctxmode_cli.context.card_facts import extract_card_facts
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Note, Recorded
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.context.validity import mode_faults
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message

FORECAST = json.dumps(
    {"city": "Beijing", "condition": "多云", "temp_c": 20, "hours": [{"h": h, "t": h % 9} for h in range(60)]}
)
SOURCE = "import os\n\n\ndef run():\n" + "    print('a line of the file')\n" * 40


def looked(result: str, call_id: str = "c", name: str = "look", arguments: str = "{}") -> list[dict[str, Any]]:
    """A call and its result."""
    made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "content": result, "tool_call_id": call_id},
    ]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def manager(messages: list[dict[str, Any]], **settings: Any) -> ContextManager:
    config = ContextConfig(model=MODEL, **{"mode": "sliding", **settings})
    made = ContextManager(config, summarizer=Digest(0))
    for message in messages:
        made.append(message)
    return made


WEATHER = [user("weather?"), *looked(FORECAST), reply("Cloudy, 20 degrees."), user("and then?")]


def outlines(context: Context) -> list[str]:
    """What stands in place of tool outputs."""
    return [piece.text for piece in context.pieces if isinstance(piece, Note) and piece.replaces is not None]


def test_an_output_of_an_earlier_turn_becomes_one_line() -> None:
    """Whole in its own turn, one line with its shallow values from the next turn on, as the answer to the same call."""
    live = manager(WEATHER[:3]).build_request_messages()
    assert live[2]["content"] == FORECAST
    line = manager(WEATHER).build_request_messages()[2]
    assert line["tool_call_id"] == "c"
    assert "\n" not in line["content"]
    assert len(line["content"]) <= 200
    assert "多云" in line["content"]
    assert "20" in line["content"]


@pytest.mark.parametrize("settings", [{"mode": "full"}, {"tool_history": "full"}])
def test_outputs_stay_where_nothing_shortens_them(settings: dict[str, Any]) -> None:
    """The mode `full` sends outputs as recorded, and so does tool_history `full` below the limit."""
    assert manager(WEATHER, **settings).build_request_messages()[2]["content"] == FORECAST


def test_an_output_over_the_limit_becomes_an_outline_in_its_own_turn() -> None:
    """Over 1,000 tokens: key paths within the limit, not the blob; at the limit, the output itself."""
    tokens = counter().text(FORECAST)
    assert manager(WEATHER[:3], tool_max_tokens=tokens).build_request_messages()[2]["content"] == FORECAST
    outlined = manager(WEATHER[:3], tool_max_tokens=100).build_request_messages()[2]["content"]
    assert counter().text(outlined) <= 100
    assert "hours" in outlined
    assert "多云" in outlined


def test_an_output_is_outlined_once() -> None:
    """The same text serves its own turn and later ones, and every mode of the same limit on the same history."""
    made = manager(WEATHER[:3], tool_max_tokens=100, tool_history="full")
    other = ContextManager(replace(made.config, tool_history="line"), history=made.history)
    current = outlines(made.build_context())
    assert len(current) == 1
    assert outlines(other.build_context())[0] is current[0]
    for message in WEATHER[3:]:
        made.append(message)
    assert outlines(made.build_context())[0] is current[0]


def test_a_short_output_stays_as_it_is() -> None:
    """An output of a few tokens is not worth a line of its own."""
    short = [user("a"), *looked("two\nlines"), reply("b"), user("c")]
    assert manager(short).build_request_messages()[2]["content"] == "two\nlines"


def test_the_tokens_are_those_of_what_is_sent() -> None:
    """A context with shortened outputs counts what is sent, and every check holds."""
    made = manager(WEATHER, tool_max_tokens=100)
    context = made.build_context()
    assert context.prompt_tokens == recount(context.messages(made.history), ())
    assert mode_faults(context, made.history, made.budget) == ()
    assert context.sent_messages() == len(WEATHER)


def test_an_output_that_is_sent_twice_goes_in_once() -> None:
    """The first copy in the request stays whole, the second refers to it; a file by its definitions and lines."""
    read = {"name": "read_file", "arguments": json.dumps({"path": "run.py"})}
    twice = [user("fix it"), *looked(SOURCE, "c1", **read), *looked(SOURCE, "c2", **read)]
    _, _, first, _, second = manager(twice).build_request_messages()
    assert first["content"] == SOURCE
    assert "run.py" in second["content"]
    assert "def run" in second["content"]
    assert counter().text(second["content"]) < 60
    same = [user("a"), *looked(FORECAST, "c1"), *looked(FORECAST, "c2")]
    assert "look" in manager(same).build_request_messages()[4]["content"]


def test_a_copy_whose_first_is_not_sent_goes_in_whole() -> None:
    """A reference never points at what the window has lost."""
    messages = [user("a"), *looked(SOURCE, "c1"), reply("b"), user("c"), *looked(SOURCE, "c2")]
    assert manager(messages, mode="zero", tool_history="full").build_request_messages()[-1]["content"] == SOURCE
    kept = manager(messages, tool_history="full").build_request_messages()
    assert (kept[2]["content"], kept[-1]["content"] == SOURCE) == (SOURCE, False)


def test_a_reference_names_the_call_that_it_refers_to() -> None:
    """Not its own, which said nothing before; a file goes by its path only where that was read before."""
    same = [user("a"), *looked(FORECAST, "c1", name="search"), *looked(FORECAST, "c2", name="fetch")]
    assert manager(same).build_request_messages()[4]["content"] == (
        "[the same result as that of the earlier call of search]"
    )
    files = [{"name": "read_file", "arguments": json.dumps({"path": path})} for path in ("a.py", "b.py")]
    alike = [user("a"), *looked(SOURCE, "c1", **files[0]), *looked(SOURCE, "c2", **files[1])]
    assert manager(alike).build_request_messages()[4]["content"] == (
        "[the same result as that of the earlier call of read_file]"
    )


def test_a_reference_is_to_a_copy_that_is_sent() -> None:
    """Where the copy just before it was cut from the input, to that of an earlier turn."""
    twice = [*looked(FORECAST, "c2"), *looked(FORECAST, "c3")]
    messages = [user("a"), *looked(FORECAST, "c1"), reply("b"), user("c"), *twice]
    share = counter().text(FORECAST) + 60
    made = manager(messages, tool_history="full", input_tokens=share)
    assert sent(made.build_context()) == "0-3 4-4 7-7 input"
    wire = made.build_request_messages()
    assert (wire[2]["content"], "same result" in wire[-1]["content"]) == (FORECAST, True)


def test_a_copy_that_is_shorter_than_a_reference_stays() -> None:
    """An outline of a few tokens says more than that it is the same, and a reference never takes a request over its budget."""
    same = [user("a"), *looked(FORECAST, "c1"), *looked(FORECAST, "c2")]
    wire = manager(same, tool_max_tokens=8).build_request_messages()
    assert wire[4]["content"] == wire[2]["content"] != FORECAST
    tokens = recount(wire, ())
    brim = manager(same, tool_max_tokens=8, max_tokens=tokens, reserved_output=WINDOW - tokens)
    assert brim.build_context().prompt_tokens == tokens


TALK = [
    user("my order is SO-1"),
    *looked("x " * 200, "c1"),
    reply("thanks"),
    user("and?"),
    *looked("y " * 200, "c2"),
    reply("fine"),
    user("so?"),
]


def test_tool_results_leave_before_small_talk() -> None:
    """With priority low the oldest call groups go, and the talk of their turns stays; else whole turns go."""
    room = {"tool_history": "full", "max_tokens": 300, "reserved_output": WINDOW - 300}
    assert sent(manager(TALK, **room).build_context()) == "4-7 8-8"
    low = manager(TALK, tool_priority="low", **room)
    assert sent(low.build_context()) == "0-0 3-7 8-8"
    tight = {**room, "max_tokens": 60, "reserved_output": WINDOW - 60}
    assert sent(manager(TALK, tool_priority="low", **tight).build_context()) == "0-0 3-4 7-7 8-8"
    tighter = {**room, "max_tokens": 24, "reserved_output": WINDOW - 24}
    assert sent(manager(TALK, tool_priority="low", **tighter).build_context()) == "4-4 7-7 8-8"


SAID = [
    user("My name is Ann Lee. I don't want any pet recommendations."),
    reply("Noted."),
    user("a"),
    reply("b"),
    user("c"),
]


def test_a_fact_is_on_the_card_from_the_next_turn_on() -> None:
    """Right after the system prompt, with its polarity, although the window has lost the words; the input says itself."""
    system = {"role": "system", "content": "Be brief."}
    made = manager([system, *SAID], fact_card=True, sliding_turns=0)
    wire = made.build_request_messages()
    assert [message["role"] for message in wire] == ["system", "system", "user"]
    assert "Ann Lee" in wire[1]["content"]
    assert "no pet recommendations" in wire[1]["content"]
    assert len(manager([system, SAID[0]], fact_card=True).build_request_messages()) == 2


def test_each_message_is_read_for_the_card_once() -> None:
    """By whatever manager makes the requests of a session, however often: when its turn is over."""
    read = []

    def extractor(message: Message, position: int) -> list[CardFact]:
        read.append(position)
        return extract_card_facts(message, position)

    first = ContextManager(ContextConfig(model=MODEL, fact_card=True), extractor=extractor)
    for message in SAID[:3]:
        first.append(message)
    assert first.build_context() == first.build_context()
    assert read == [0, 1]
    history = history_of([*first.history.messages, *map(parse_message, SAID[3:])])
    second = ContextManager(first.config, extractor=extractor, history=history, state=first.state)
    second.build_context()
    assert read == [0, 1, 2, 3]
    assert second.card == first.card


def test_the_card_moves_to_the_tail() -> None:
    """`tail` puts it right before the current input; tokens stay the same."""
    head, tail = (manager(SAID, fact_card=True, placement=where).build_context() for where in ("head", "tail"))
    assert [piece.purpose for piece in head.pieces] == ["card", "history", "input"]
    assert [piece.purpose for piece in tail.pieces] == ["history", "card", "input"]
    assert head.prompt_tokens == tail.prompt_tokens


def test_hard_constraints_move_to_the_tail() -> None:
    """The summary's last section becomes a note of its own, before the card and the input, and counts within the budget."""

    def summarizer(_request: Any) -> Any:
        text = "[Summary]\n## Decided\n- a\n## The user's hard constraints\n- no pets\n"
        return Digest(0)(_request)._replace(text=text, text_tokens=counter().text(text))

    config = ContextConfig(mode="summary", model=MODEL, summary_threshold=0, summary_every=0, placement="tail")
    made = ContextManager(config, summarizer=summarizer)
    for message in SAID:
        made.append(message)
    context = made.build_context()
    assert [piece.purpose for piece in context.pieces] == ["summary", "constraints", "input"]
    assert context.messages(made.history)[1]["content"] == "## The user's hard constraints\n- no pets\n"
    assert context.prompt_tokens == recount(context.messages(made.history), ())


def test_the_audit_says_what_became_of_each_message() -> None:
    """Kept, compressed and dropped parts cover the record; what is dropped is counted by class."""
    made = manager([*TALK[:-1], *SAID], sliding_turns=3)
    context = made.build_context()
    lines = audit(context, made.history)
    assert [(line.action, line.what, line.why, line.start, line.stop) for line in lines] == [
        ("kept", "history", "as_recorded", 4, 6),
        ("compressed", "tool_output", "earlier_turn", 6, 7),
        ("kept", "history", "as_recorded", 7, 12),
        ("kept", "input", "as_recorded", 12, 13),
        ("dropped", "older", "window", 0, 4),
    ]
    assert dropped_by_class(context, made.history) == {"older": 4}
    zero = manager([*TALK[:-1], *SAID], mode="zero")
    assert dropped_by_class(zero.build_context(), zero.history) == {"older": 4, "recent": 8}


def test_pruning_goes_by_priority() -> None:
    """Documents first, then older turns, then recent ones; system prompt and current input never: counted by class."""
    documented = {**user("q"), "documents": [{"id": "1", "text": "word " * 30}]}
    turns = [message for _ in range(5) for message in (user("u"), reply("a"))]  # 5 tokens a message
    system = {"role": "system", "content": "s"}
    counts = []
    for room in (3 + 5 + 5 + 50 + 60, 3 + 5 + 5 + 50, 3 + 5 + 5 + 30, 3 + 5 + 5 + 10, 3 + 5 + 5):
        made = manager([system, *turns, documented], max_tokens=room, reserved_output=WINDOW - room)
        counts.append(dict(dropped_by_class(made.build_context(), made.history)))
    documents = {"documents": 1}
    assert counts == [
        {},
        documents,
        {"older": 4, **documents},
        {"older": 4, "recent": 4, **documents},
        {"older": 4, "recent": 6, **documents},
    ]
    with pytest.raises(OverBudgetError) as told:
        manager([system, *turns, documented], max_tokens=12, reserved_output=WINDOW - 12).build_context()
    assert (told.value.reason, told.value.over_by) == ("input", 1)


@st.composite
def steps(draw: st.DrawFn) -> ContextConfig:
    """Any mode with any settings of its steps."""
    config = draw(mode_settings(draw(st.sampled_from(["zero", "full", "sliding", "summary"]))))
    return replace(
        config,
        fact_card=draw(st.booleans()),
        fact_card_tokens=draw(st.sampled_from([1, 20, 300])),
        placement=draw(st.sampled_from(["head", "tail"])),
        tool_max_tokens=draw(st.sampled_from([1, 30, 1000])),
        tool_history=draw(st.sampled_from(["line", "full"])),
        tool_priority=draw(st.sampled_from(["normal", "low"])),
    )


outputs = st.sampled_from([FORECAST, SOURCE, "x " * 60, "order SO-7731 for Ann Lee, no pets " * 4])


@unhurried
@given(record_messages, outputs, steps())
def test_steps_keep_every_request_valid(recorded: list[dict[str, Any]], output: str, config: ContextConfig) -> None:
    """Whatever is shortened, merged, moved or left out: no fault, tokens as sent, all parts accounted for."""
    long = [{**m, "content": output} if m["role"] == "tool" else m for m in recorded]
    made = ContextManager(config, summarizer=Digest(0), history=history_of([]))
    for message in long:
        made.append(message)
        if not made.history.turns:
            continue
        try:
            context = made.build_context()
        except OverBudgetError:
            continue
        assert mode_faults(context, made.history, made.budget) == ()
        assert context.prompt_tokens == recount(context.messages(made.history), ())
        told = [line for line in audit(context, made.history) if line.start is not None]
        assert sum(line.amount for line in told) == len(made.history)
        recorded_pieces = [piece for piece in context.pieces if isinstance(piece, Recorded)]
        notes = [piece for piece in context.pieces if isinstance(piece, Note) and piece.replaces is not None]
        assert context.sent_messages() == sum(p.stop - p.start for p in recorded_pieces) + len(notes)


HOURS = json.dumps({"city": "北京", "hours": [{"hour": hour, "temp_c": hour % 7} for hour in range(12)]})
LONG = [HOURS, HOURS, SOURCE[:300], SOURCE[:300], "x " * 60, "order SO-7731 for Ann Lee, no pets " * 4, "short"]
STATED = [
    "My name is Ann Lee.",
    "I'm called Bob now",
    "ship it to 12 Oak Street",
    "我对花生过敏",
    "订单号QM2026010001",
    "on 2026-03-05, please",
]


@st.composite
def eventful(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A record whose tools say much, and often the same, and whose user states facts."""
    said = {"tool": st.sampled_from(LONG), "user": st.sampled_from(["", *STATED])}
    return [
        {**one, "content": draw(said[one["role"]])} if one["role"] in said else one for one in draw(record_messages)
    ]


@settings(unhurried, max_examples=60)
@given(eventful(), steps(), tool_schemas, st.sampled_from([0, 0, 1, 2]), st.data())
def test_steps_are_what_the_definitions_say(
    recorded: list[dict[str, Any]],
    config: ContextConfig,
    tools: list[dict[str, Any]],
    fails_at: int,
    data: st.DataObject,
) -> None:
    """Each request sends just what a slow reading of the rules sends, or fails with the same reason and figure."""
    messages, summarizer = [parse_message(message) for message in recorded], Digest(fails_at)
    made = ContextManager(config, summarizer=summarizer, history=history_of([], tools=tools))
    slow = SlowSession(messages, config, tools, WINDOW, summarizer)
    for position, message in enumerate(messages, 1):
        made.append(message)
        if not made.history.turns or not data.draw(st.integers(0, 3)):
            continue
        expected = slow.request(position)
        if isinstance(expected, Unsendable):
            with pytest.raises(OverBudgetError) as refused:
                made.build_context()
            assert (refused.value.reason, refused.value.over_by) == expected
            continue
        context = made.build_context()
        assert context.messages(made.history) == expected.wire
        assert context.prompt_tokens == expected.tokens
        assert (context.trimmed, context.stepped_down) == (expected.trimmed, expected.stepped_down)


def test_labels_never_reach_a_step() -> None:
    """A message is read without whatever else its record holds."""
    labelled = {**user("hello"), "facts": [{"value": "Ann Lee"}]}
    made = manager([labelled, reply("b"), user("c")], fact_card=True)
    assert "Ann" not in json.dumps(made.build_request_messages())
