"""An inspected request: what it shows of a small record, worked out by hand."""

import json
from typing import Any

from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import PURPOSES
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryRequest, SummaryResult
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.inspect_json import inspection_json
from ctxmode_cli.report.inspect_text import _probed, inspection_text
from ctxmode_cli.report.inspect_view import Inspection, inspect_request
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
SUMMARY = "摘要\n- 用户关注宠物相关推荐。\n- 去巴黎"
SETTINGS = {"summary_threshold": 1, "summary_every": 0}


def told(request: SummaryRequest) -> SummaryResult:  # noqa: ARG001 - a summarizer's signature
    """A summary with a wish that the user never had."""
    return SummaryResult(SUMMARY, COUNTER.text(SUMMARY), 100)


def talk(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(texts)]


RECORD = {
    "id": "trip",
    "messages": talk(
        "我不需要宠物推荐，去巴黎。", "好的。", "改去罗马。", "好。", "\x1b[31m红\n灯", "嗯。", "去哪儿？", "罗马。"
    ),
    "facts": [
        {"id": "pets", "kind": "wish", "value": "宠物推荐", "polarity": "negative", "stated_at": 0, "probe_at": [6]},
        {"id": "old", "kind": "city", "value": "巴黎", "stated_at": 0, "superseded_at": 2},
        {"id": "new", "kind": "city", "value": "罗马", "stated_at": 2, "probe_at": [6]},
    ],
}


def replayed(record: dict[str, Any], **configs: ContextConfig) -> tuple[SessionReplay, Replay]:
    replay = Replay(configs, COUNTER, told, simulation())
    return replay(parse_conversation(record, where="test:1", default_id="x")), replay


def inspected(request: int, record: dict[str, Any] | None = None, **settings: Any) -> Inspection:
    session, replay = replayed(record or RECORD, m=ContextConfig(**settings))
    return inspect_request(session, replay, "m", request)


def text(request: int, width: int | None = None, *, colour: bool = False, **configs: ContextConfig) -> str:
    session, replay = replayed(RECORD, **configs)
    views = [inspect_request(session, replay, mode, request) for mode in configs]
    return inspection_text(session, replay, request, views, width=width, colour=colour)


def test_messages_are_those_of_the_manager() -> None:
    """What is shown is what a service would have sent at that point; the JSON sorts the keys."""
    config = ContextConfig(mode="summary", **SETTINGS)
    manager = ContextManager(config, summarizer=told)
    expected = []
    for message in RECORD["messages"]:
        if message["role"] == "assistant":
            expected.append(manager.build_request_messages())
        manager.append(message)
    session, replay = replayed(RECORD, m=config)
    for request, wire in enumerate(expected):
        document = json.loads(
            inspection_json(session, replay, request, [inspect_request(session, replay, "m", request)])
        )
        assert document["messages"] == wire


def test_pieces_and_totals_add_up() -> None:
    """Tools, pieces and the opening of the reply are the whole prompt."""
    view = inspected(3, mode="summary", **SETTINGS)
    assert [(piece.purpose, piece.start, piece.stop) for piece in view.pieces] == [
        ("summary", None, None), ("history", 4, 6), ("input", 6, 7),
    ]  # fmt: skip
    assert view.tools_tokens + view.reply_tokens + sum(piece.tokens for piece in view.pieces) == view.prompt_tokens


def test_a_contradiction_is_marked_where_it_stands() -> None:
    """The summary stands there in full; the line with the wish that the user refused is marked, and no other."""
    view = inspected(3, mode="summary", **SETTINGS)
    [found] = view.pieces[0].contradictions
    assert (found.statement, found.fact) == ("- 用户关注宠物相关推荐。", "pets")
    lines = text(3, m=ContextConfig(mode="summary", **SETTINGS)).split("\n")
    assert [line.strip() for line in lines if line.strip().startswith("!! -")] == ["!! - 用户关注宠物相关推荐。"]
    assert any('contradicts pets: it asserts what the user denied, "宠物推荐"' in line for line in lines)


def test_where_no_fact_is_needed_the_requests_that_need_one_are_named() -> None:
    """So that nobody has to try them one by one; of many the first ten are named."""
    assert "none is probed at this request; those that need one: 3" in text(0, m=ContextConfig(mode="full"))
    assert _probed(()) == ""
    assert _probed(range(12)) == "; those that need one: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"


def test_an_old_value_in_the_place_of_the_new_one_is_told() -> None:
    """The request needs Rome, which was summarised away, and the summary still says Paris."""
    view = inspected(3, mode="summary", **SETTINGS)
    assert [(stale.fact, stale.value, stale.statement) for stale in view.stale] == [("new", "巴黎", "- 去巴黎")]
    assert [(fact.fact.id, fact.went) for fact in view.facts] == [("pets", "summary"), ("new", "summary")]


def test_a_place_of_a_fact() -> None:
    """Where a fact stands is told with the tokens before it and the words that carry it."""
    view = inspected(3, mode="full")
    pets, new = view.facts
    assert [(place.message, place.written, place.position) for place in pets.places] == [(0, "宠物推荐", 0.0)]
    before = COUNTER.message(parse_conversation(RECORD, where="", default_id="x").messages[0])
    before += COUNTER.message(parse_conversation(RECORD, where="", default_id="x").messages[1])
    [place] = new.places
    assert (place.message, place.purpose, place.position) == (2, "history", before / (view.prompt_tokens or 0))


def test_why_messages_are_not_sent() -> None:
    """Outside the window, cut by the budget, told by the summary: each range has its reason and its tokens."""
    assert [part[:3] for part in inspected(3, mode="sliding", sliding_turns=1).dropped] == [("window", 0, 4)]
    assert [part[:3] for part in inspected(3, mode="summary", **SETTINGS).dropped] == [("summary", 0, 4)]
    assert inspected(3, mode="full").dropped == ()
    whole = inspected(3, mode="full").prompt_tokens or 0
    parts = inspected(3, mode="sliding", sliding_turns=2, max_tokens=whole - 30).dropped
    assert [part[:3] for part in parts] == [("window", 0, 2), ("budget", 2, 4)]
    assert all(part.tokens and part.tokens > 0 for part in parts)


def test_what_is_dropped_of_the_current_input() -> None:
    """Call groups of a long tool loop, and documents that do not fit."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    loop = [
        step
        for number in range(2)
        for step in (
            {"role": "assistant", "content": None, "tool_calls": [call | {"id": str(number)}]},
            {"role": "tool", "tool_call_id": str(number), "content": "word " * 100},
        )
    ]
    documents = [{"id": "d", "text": "long " * 200}]
    record = {"id": "x", "messages": [{"role": "user", "content": "go", "documents": documents}, *loop]}
    view = inspected(2, record, mode="sliding", max_tokens=160)
    assert [(part.why, part.start, part.stop) for part in view.dropped] == [("input", 1, 3)]
    assert view.dropped_documents == {"budget": 1}


def test_why_documents_are_not_sent() -> None:
    """Each reason for itself, with its chunks; what better ones outrank is not put down to the budget."""
    house = "go to the red house by the river"
    texts = [house, house, f"{house}!", " ", "go on " * 40, "blue", "black"]
    documents = [{"id": text, "text": text} for text in texts]
    record = {"id": "x", "messages": [{"role": "user", "content": "go to the house", "documents": documents}]}
    session, replay = replayed(record, m=ContextConfig(max_documents=2, max_tokens=60))
    view = inspect_request(session, replay, "m", 0)
    reasons = {"empty": 1, "duplicate": 1, "near_duplicate": 1, "rank": 2, "budget": 1}
    assert view.dropped_documents == reasons
    shown = inspection_text(session, replay, 0, [view], width=None, colour=False)
    assert "2 chunks of retrieved documents: outranked by those that are chosen\n" in shown
    assert "1 chunk of retrieved documents: over the budget\n" in shown
    assert "nothing: all that came before" not in shown
    assert json.loads(inspection_json(session, replay, 0, [view]))["dropped_documents"] == reasons


def test_a_request_that_cannot_be_sent() -> None:
    """It has no pieces and no cost; its facts have nowhere to be."""
    view = inspected(3, mode="full", reserved_output=127_995)
    assert (view.unsendable, view.pieces, view.prompt_tokens, view.cost) == ("input", (), None, None)
    assert {fact.went for fact in view.facts} == {"unsendable"}
    shown = text(3, full=ContextConfig(mode="full", reserved_output=127_995))
    assert "cannot be sent" in shown


def test_two_modes_and_what_only_one_sends() -> None:
    """The difference names messages, notes and facts."""
    modes = {"full": ContextConfig(mode="full"), "short": ContextConfig(mode="sliding", sliding_turns=1)}
    shown = text(3, **modes)
    assert "full: 4 messages" in shown
    assert "short: nothing" in shown
    assert "only full has the facts new and pets" in shown
    session, replay = replayed(RECORD, **modes)
    views = [inspect_request(session, replay, mode, 3) for mode in modes]
    document = json.loads(inspection_json(session, replay, 3, views))
    assert document["only"] == {"full": [0, 1, 2, 3], "short": []}
    assert set(document["modes"]) == {"full", "short"}


def test_hostile_text_is_shown() -> None:
    """A log's control characters reach no terminal, and every line of a narrow one fits, Chinese at its width."""
    from rich.cells import cell_len

    for width in (None, 80, 40):
        shown = text(3, width, full=ContextConfig(mode="full"))
        assert "\x1b" not in shown
        if width:
            assert max(map(cell_len, shown.split("\n"))) <= max(width, 52)  # the bars are never broken
    assert "\\x1b[31m红 灯" in text(3, full=ContextConfig(mode="full"))


def test_colours_come_only_when_asked_for() -> None:
    """The text is the same with styles and without."""
    config = ContextConfig(mode="full")
    coloured = text(3, 80, colour=True, full=config)
    assert "\x1b[" in coloured
    assert "\x1b" not in text(3, 80, full=config)


def test_every_token_of_a_request_is_shown() -> None:
    """Card and shortened output stand among the pieces, which add up; the output keeps its place in the record."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "My name is Ann Lee."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "A line of it.\n" * 40, "tool_call_id": "c"},
        {"role": "assistant", "content": "Thanks."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "That is all."},
    ]
    view = inspected(2, {"id": "c", "messages": messages}, mode="sliding", fact_card=True)
    assert [(piece.purpose, piece.start) for piece in view.pieces] == [
        ("card", None),
        ("history", 0),
        ("tool_output", 2),
        ("history", 3),
        ("input", 4),
    ]
    assert sum(map(view.tokens_of, PURPOSES)) + view.tools_tokens + view.reply_tokens == view.prompt_tokens
    assert view.dropped == ()
