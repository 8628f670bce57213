"""How retrieved documents share a request: limits from the window, which chunks fit, before or after the history."""

from typing import Any

import pytest
from dialogues import MODEL, counter, dialogue, history_of, sent

from ctxmode_cli.context.audit import audit, dropped_by_class
from ctxmode_cli.context.config import Budget, ContextConfig, ContextMode, DocumentLimits
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Plan, State
from ctxmode_cli.context.steps.assemble import assemble
from ctxmode_cli.context.steps.budget import OverBudgetError, fit
from ctxmode_cli.context.steps.documents import HEADING, documents_that_fit, recorded_documents
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError

TEXTS = ("opens at 9", "closes at 18", "has 200 seats")
ALL = 3 + 6 * 6
"""Tokens of `s u a u a u`: six messages of 6, and the opening of the reply."""


def note(*texts: str) -> str:
    return "\n\n".join([HEADING, *(f"[{number}] {text}" for number, text in enumerate(texts, 1))])


def note_tokens(*texts: str) -> int:
    return 4 + counter().text(note(*texts))


ONE, TWO, THREE = note_tokens(*TEXTS[:1]), note_tokens(*TEXTS[:2]), note_tokens(*TEXTS)


def manager(script: str = "s u a u a u", texts: tuple[str, ...] = TEXTS, **settings: Any) -> ContextManager:
    """A session whose last message has documents."""
    *before, last = dialogue(script, **settings.pop("contents", {}))
    session = ContextManager(ContextConfig(model=MODEL, **settings), history=History(counter()))
    for message in before:
        session.append(message)
    session.append({**last, "documents": [{"id": text, "text": text} for text in texts]})
    return session


def documents_of(session: ContextManager) -> str | None:
    wire = session.build_request_messages()
    return next((message["content"] for message in wire if message["content"].startswith(HEADING)), None)


# --- limits ---


@pytest.mark.parametrize(
    ("window", "most", "tokens"),
    [
        (4_096, 3, 200),
        (16_385, 3, 200),
        (64_000, 4, 500),
        (128_000, 8, 1000),
        (200_000, 12, 1562),
        (1_047_576, 20, 2000),
    ],
)
def test_limits_follow_from_the_window(window: int, most: int, tokens: int) -> None:
    """A chunk for each 16,000 tokens, from 3 to 20, of a 128th of the window, from 200 to 2,000 tokens."""
    for mode in ("zero", "sliding", "summary"):
        config = ContextConfig(mode=mode)
        assert config.document_limits(window) == config.budget(window).documents == DocumentLimits(most, tokens)
    assert ContextConfig(mode="full").budget(window).documents == DocumentLimits()


@pytest.mark.parametrize("mode", list(ContextMode))
def test_limits_that_are_set_hold_in_every_mode(mode: str) -> None:
    """What is set holds, in `full` too, where the other limit stays away."""
    config = ContextConfig(mode=mode, max_documents=2, document_priority="high")
    assert config.document_limits(128_000) == DocumentLimits(2, None if mode == "full" else 1000, first=True)
    assert ContextConfig(mode=mode, document_tokens=50).document_limits(128_000).tokens == 50


@pytest.mark.parametrize(
    "settings", [{"max_documents": -1}, {"document_tokens": 3}, {"document_priority": "middle"}], ids=str
)
def test_settings_out_of_range(settings: dict[str, Any]) -> None:
    """A count below none, a chunk that one character may be too large for, and an unknown priority are refused."""
    with pytest.raises(CtxmodeError):
        ContextConfig(**settings)


def test_best_chunks_are_sent() -> None:
    """The documents that the user's words ask for are sent, the best first; `full` sends them as recorded."""
    asked = {"u1": "seats, how many seats, and who opens?"}
    assert documents_of(manager("s u", contents=asked, max_documents=2)) == note(TEXTS[2], TEXTS[0])
    assert documents_of(manager("s u", contents=asked)) == note(TEXTS[2], TEXTS[0], TEXTS[1])
    assert documents_of(manager("s u", contents=asked, mode="full")) == note(*TEXTS)
    assert documents_of(manager("s u", contents=asked, mode="full", max_documents=1)) == note(TEXTS[2])
    assert documents_of(manager("s u", max_documents=0)) is None


def test_a_burst_asks_with_all_its_words() -> None:
    """What is retrieved is ranked by all that the user said in the turn, before and after the message that has it."""
    asked = {"u0": "how many seats", "u1": "hm"}
    session = manager("u u", contents=asked, max_documents=1)
    assert documents_of(session) == note(TEXTS[2])
    session.append({"role": "user", "content": "no: when closes it, what closes at 18"})
    assert documents_of(session) == note(TEXTS[1])


def test_a_system_message_of_the_turn_does_not_ask() -> None:
    """What is retrieved is ranked by the user's words alone."""
    asked = {"u0": "how many seats"}
    session = manager("u", contents=asked, max_documents=1)
    session.append({"role": "system", "content": TEXTS[0]})
    assert documents_of(session) == note(TEXTS[2])


def test_modes_on_one_history_choose_for_themselves() -> None:
    """Managers of other limits that share a history do not see each other's choice, and keep their own."""
    session = manager("s u", max_documents=1)
    other = ContextManager(ContextConfig(mode="full", model=MODEL), history=session.history)
    first, second = session.build_context().pieces[1], other.build_context().pieces[1]
    assert (first.text, second.text) == (note(TEXTS[0]), note(*TEXTS))
    assert session.build_context().pieces[1] is first
    assert other.build_context().pieces[1] is second


def test_recorded_documents_are_all() -> None:
    """What was retrieved for a turn is all of it, whatever is chosen; before the message that has it there is none."""
    history = manager("s u a u", texts=("a", "a", "")).history
    assert recorded_documents(history, 3, 4) == note("a", "a", "")
    assert recorded_documents(history, 1, 3) is None


# --- the order in which things are dropped ---


@pytest.mark.parametrize(
    ("room", "expected", "dropped"),
    [
        (ALL + THREE, "0-0 1-4 documents 5-5", 0),
        (ALL + THREE - 1, "0-0 1-4 documents 5-5", 1),
        (ALL + TWO - 1, "0-0 1-4 documents 5-5", 2),
        (ALL + ONE - 1, "0-0 1-4 5-5", 3),
        (ALL, "0-0 1-4 5-5", 3),
        (ALL - 1, "0-0 3-4 5-5", 3),
        (ALL - 12, "0-0 3-4 5-5", 3),
        (ALL - 13, "0-0 5-5", 3),
        (ALL - 24, "0-0 5-5", 3),
    ],
)
def test_documents_then_older_then_recent(room: int, expected: str, dropped: int) -> None:
    """Documents go first, chunk by chunk, the last in rank before the others; then the older turn, then the recent."""
    session = manager(max_tokens=room)
    context = session.build_context()
    assert (sent(context), context.trimmed) == (expected, room < ALL + THREE)
    assert documents_of(session) == (note(*TEXTS[: 3 - dropped]) if dropped < 3 else None)
    assert context.documents_dropped == ({"budget": dropped} if dropped else {})


@pytest.mark.parametrize(("room", "reason"), [(ALL - 25, "input"), (9, "input"), (8, "system")])
def test_system_messages_and_input_are_never_dropped(room: int, reason: str) -> None:
    """Where system message and input do not fit there is no request, whatever the documents."""
    for priority in ("low", "high"):
        with pytest.raises(OverBudgetError) as error:
            manager(max_tokens=room, document_priority=priority).build_context()
        assert error.value.reason == reason


@pytest.mark.parametrize(
    ("room", "expected", "kept"),
    [
        (ALL + THREE, "0-0 documents 1-4 5-5", 3),
        (ALL + THREE - 1, "0-0 documents 3-4 5-5", 3),
        (ALL + THREE - 13, "0-0 documents 5-5", 3),
        (ALL - 24 + THREE, "0-0 documents 5-5", 3),
        (ALL - 24 + THREE - 1, "0-0 documents 5-5", 2),
        (ALL - 24 + ONE - 1, "0-0 3-4 5-5", 0),
    ],
)
def test_documents_of_high_priority_go_last(room: int, expected: str, kept: int) -> None:
    """They stand in front of all history, which gives way to them; what they cannot use is the history's."""
    session = manager(max_tokens=room, document_priority="high")
    context = session.build_context()
    assert (sent(context), context.trimmed) == (expected, room < ALL + THREE)
    assert documents_of(session) == (note(*TEXTS[:kept]) if kept else None)


def test_documents_of_high_priority_stand_before_a_summary() -> None:
    """In front is directly behind the leading system messages."""
    history = manager("s u a u").history
    budget = Budget(1000, documents=DocumentLimits(first=True))
    wish = Plan(3, Note("summary", "system", "so far", 6), summarised=3)
    forms = sent_forms(history, ContextConfig())
    plan, _ = fit(history, history.frame, budget, wish, None, State(), forms)
    context = assemble(history, history.frame, plan, None, 3, forms, "head")
    assert (sent(context), context.prompt_tokens) == ("0-0 documents summary 3-3", 6 + THREE + 6 + 6 + 3)


def test_chunks_that_were_not_chosen_are_counted() -> None:
    """Repeats and outranked chunks are counted as dropped, and the budget is not blamed for them."""
    session = manager("s u", texts=(*TEXTS, TEXTS[0]), max_documents=2)
    context = session.build_context()
    assert (context.documents_dropped, context.trimmed) == ({"duplicate": 1, "rank": 1}, False)
    lines = [(line.why, line.amount) for line in audit(context, session.history) if line.action == "dropped"]
    assert sorted(lines) == [("duplicate", 1), ("rank", 1)]
    assert dropped_by_class(context, session.history) == {"documents": 2}


def test_lowest_score_goes_first() -> None:
    """As recorded, too, the document of the lowest score goes first, and the others keep their order."""
    history = history_of([])
    scored = [{"text": text, "score": score} for text, score in zip(TEXTS, (2, 1, 3), strict=True)]
    history.append(parse_message({"role": "user", "content": "u", "documents": scored}))
    two = documents_that_fit(history, DocumentLimits(), note_tokens(TEXTS[0], TEXTS[2]))
    assert two.note is not None
    assert (two.note.text, two.dropped) == (note(TEXTS[0], TEXTS[2]), {"budget": 1})
    assert documents_that_fit(history, DocumentLimits(), 0) == (None, {"budget": 3})
    by_rank = documents_that_fit(history, DocumentLimits(8, 1000), 1000).note
    assert by_rank is not None
    assert by_rank.text == note(TEXTS[2], TEXTS[0], TEXTS[1])
