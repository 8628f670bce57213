"""What steps make of a mode's decision: tool outputs, fact card, placement; and all of them against a slow reading of the rules."""

import json
from dataclasses import replace
from typing import Any

import pytest
from dialogues import (
    MODEL,
    WINDOW,
    Digest,
    counter,
    exchange,
    history_of,
    mode_settings,
    record_messages,
    sent,
    tool_loop,
    tool_schemas,
    unhurried,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_record import recount
from slow_reference import SlowSession, Unsendable
from step_sessions import FORECAST, SAID, SOURCE, TALK, looked, manager, reply, user

from ctxmode_cli.context.audit import audit
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


@pytest.mark.parametrize(("tokens", "in_one_line"), [(49, False), (50, True)])
def test_what_an_output_has_from_which_on_it_becomes_a_line(tokens: int, in_one_line: bool) -> None:
    """Fifty tokens, framing included."""
    lines = "\n".join(["gate open"] * 200)
    output = next(lines[:n] for n in range(len(lines)) if history_tokens(lines[:n]) == tokens)
    made = manager([user("a"), *looked(output), reply("b"), user("c")])
    assert ("\n" not in made.build_request_messages()[2]["content"]) is in_one_line


def history_tokens(output: str) -> int:
    """Of an output as a message."""
    return manager([user("a"), *looked(output)]).history.range_tokens(2, 3)


def test_history_has_room_by_what_is_sent_of_it() -> None:
    """A shortened output takes its line's tokens of the budget, not its own."""
    tokens = manager(WEATHER).build_context().prompt_tokens
    made = manager(WEATHER, max_tokens=tokens, reserved_output=WINDOW - tokens).build_context()
    assert (made.prompt_tokens, made.trimmed) == (tokens, False)
    less = manager(WEATHER, max_tokens=tokens - 1, reserved_output=WINDOW - tokens + 1).build_context()
    assert sent(less) == "4-4"


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
    assert manager(same, mode="full").build_request_messages()[4]["content"] == FORECAST


def test_a_copy_whose_first_is_not_sent_goes_in_whole() -> None:
    """A reference never points at what the window has lost."""
    messages = [user("a"), *looked(SOURCE, "c1"), reply("b"), user("c"), *looked(SOURCE, "c2")]
    assert manager(messages, mode="zero", tool_history="full").build_request_messages()[-1]["content"] == SOURCE
    assert manager(messages).build_request_messages()[-1]["content"] == SOURCE  # the first is one line
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
    assert (brim.build_context().prompt_tokens, brim.build_context().trimmed) == (tokens, False)


def test_a_line_that_is_no_shorter_leaves_the_output_as_it_is() -> None:
    """The line names the tool before a text that it cannot shorten: more tokens, and nothing gained."""
    rare = "\u0801" * 121
    assert sent(manager([user("a"), *looked(rare), reply("b"), user("c")]).build_context()) == "0-3 4-4"


def test_short_outputs_that_are_alike_all_stay() -> None:
    """A reference says less than an output of fewer than 50 tokens, though it takes fewer still."""
    same = looked("so " * 40, "c1"), looked("so " * 40, "c2")
    wire = manager([user("a"), *same[0], *same[1]]).build_request_messages()
    assert wire[4]["content"] == wire[2]["content"] == "so " * 40


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


def test_the_card_has_its_limit_and_the_language_of_the_user() -> None:
    """A line that does not fit is left out, and what is written is in the user's language."""
    card = manager(SAID, fact_card=True).build_request_messages()[0]["content"]
    least = counter().text(card) - 1
    smaller = manager(SAID, fact_card=True, fact_card_tokens=least).build_request_messages()[0]["content"]
    assert smaller.splitlines() == card.splitlines()[:2]
    chinese = manager([user("我不需要宠物推荐"), reply("ok"), user("c")], fact_card=True).build_request_messages()
    assert chinese[0]["content"] == "[事实卡：由对话自动提取，不是用户的消息]\n- 偏好：不要宠物推荐\n"
    system = {"role": "system", "content": "Answer briefly."}
    behind_english = [system, user("我不需要宠物推荐"), reply("ok"), user("c")]
    assert manager(behind_english, fact_card=True).build_request_messages()[1] == chinese[0]


def with_room(messages: list[dict[str, Any]], history: int, **settings: Any) -> Context:
    """A request with so many tokens of history beside an input of five."""
    return manager(
        messages, max_tokens=3 + 5 + history, reserved_output=WINDOW - 3 - 5 - history, **settings
    ).build_context()


def test_notes_stay_as_long_as_they_fit_themselves() -> None:
    """Turns go before summary and card, then the summary, and the card where it alone does not fit."""
    card = manager(SAID, fact_card=True, mode="zero").build_context().pieces[0].tokens
    assert sent(with_room(SAID, card, fact_card=True)) == "card 4-4"
    assert sent(with_room(SAID, card - 1, fact_card=True)) == "2-3 4-4"
    settings = {"mode": "summary", "summary_threshold": 1, "summary_every": 0, "fact_card": True}
    both = manager(SAID, **settings).build_context()
    summary = both.pieces[1].tokens
    assert [piece.purpose for piece in both.pieces] == ["card", "summary", "history", "input"]
    cut = with_room(SAID, card + summary, **settings)
    assert (sent(cut), cut.stepped_down) == ("card summary 4-4", None)
    without = with_room(SAID, card + summary - 1, **settings)
    assert (sent(without), without.stepped_down) == ("card 2-3 4-4", "sliding")
    bare = with_room(SAID, card, **settings)
    assert (sent(bare), bare.stepped_down) == ("card 4-4", "zero")


def test_documents_in_front_stand_behind_the_card() -> None:
    """The head is system prompt, card, documents."""
    asked = {**user("c"), "documents": [{"id": "1", "text": "a book"}]}
    made = manager([{"role": "system", "content": "s"}, *SAID[:-1], asked], fact_card=True, document_priority="high")
    purposes = [piece.purpose for piece in made.build_context().pieces]
    assert purposes == ["system", "card", "documents", "history", "input"]


def test_the_card_moves_to_the_tail() -> None:
    """`tail` puts it right before the current input; tokens stay the same."""
    head, tail = (manager(SAID, fact_card=True, placement=where).build_context() for where in ("head", "tail"))
    assert [piece.purpose for piece in head.pieces] == ["card", "history", "input"]
    assert [piece.purpose for piece in tail.pieces] == ["history", "card", "input"]
    assert head.prompt_tokens == tail.prompt_tokens


CONSTRAINTS = "## The user's hard constraints\n- no pets\n"


def constrained(placement: str, told: str = "[Summary]\n## Decided\n- a\n", **settings: Any) -> ContextManager:
    """What was said, summarised with a section of hard constraints."""

    def summarizer(request: Any) -> Any:
        text = told + CONSTRAINTS
        return Digest(0)(request)._replace(text=text, text_tokens=counter().text(text))

    summarised = {"mode": "summary", "summary_threshold": 0, "summary_every": 0}
    made = ContextManager(
        ContextConfig(model=MODEL, placement=placement, **summarised, **settings), summarizer=summarizer
    )
    for message in SAID:
        made.append(message)
    return made


def test_hard_constraints_move_to_the_tail() -> None:
    """The summary's last section becomes a note of its own, before the card and the input; at the head it stays in it."""
    made = constrained("tail", fact_card=True)
    context = made.build_context()
    assert [piece.purpose for piece in context.pieces] == ["summary", "constraints", "card", "input"]
    assert context.messages(made.history)[1]["content"] == CONSTRAINTS
    assert context.prompt_tokens == recount(context.messages(made.history), ())
    assert [piece.purpose for piece in constrained("head").build_context().pieces] == ["summary", "input"]
    assert [piece.purpose for piece in constrained("tail", told="").build_context().pieces] == ["summary", "input"]


def test_hard_constraints_count_within_the_budget() -> None:
    """Where they do not fit beside the summary it goes, and they with it."""
    tokens = constrained("tail").build_context().prompt_tokens
    brim = constrained("tail", max_tokens=tokens, reserved_output=WINDOW - tokens).build_context()
    assert (brim.prompt_tokens, brim.trimmed) == (tokens, False)
    over = constrained("tail", max_tokens=tokens - 1, reserved_output=WINDOW - tokens + 1).build_context()
    assert ([piece.purpose for piece in over.pieces], over.stepped_down) == (["input"], "zero")


@st.composite
def steps(draw: st.DrawFn) -> ContextConfig:
    """Any mode with any settings of its steps, and room for some outputs."""
    config = draw(mode_settings(draw(st.sampled_from(["zero", "full", "sliding", "sliding", "summary", "summary"]))))
    room = draw(st.sampled_from([config.max_tokens, draw(st.integers(150, 900)), draw(st.integers(60, 400)), 8000]))
    share = st.sampled_from([None, None, None, room // 2])
    return replace(
        config,
        max_tokens=room,
        reserved_output=WINDOW - room,
        input_tokens=draw(share),
        history_tokens=draw(share),
        system_tokens=None,
        sliding_turns=draw(st.integers(config.sliding_turns, 5)),
        fact_card=draw(st.booleans()),
        fact_card_tokens=draw(st.sampled_from([1, 40, 60, 300])),
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
    "我不需要宠物推荐",
    "订单号QM2026010001",
    "on 2026-03-05, please",
]


@st.composite
def eventful(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A record whose tools say much, and often the same, and whose user states facts."""
    loops = st.lists(st.one_of(tool_loop, tool_loop, exchange), min_size=2, max_size=6)
    record = draw(st.one_of(record_messages, loops.map(lambda blocks: [one for block in blocks for one in block])))
    said = {"tool": st.sampled_from(LONG), "user": st.sampled_from(["", *STATED])}
    return [{**one, "content": draw(said[one["role"]])} if one["role"] in said else one for one in record]


@settings(unhurried, max_examples=100)
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
