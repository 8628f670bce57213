"""What the audit says became of everything that lay before a request."""

import pytest
from dialogues import WINDOW
from step_sessions import FORECAST, SAID, TALK, looked, manager, reply, user

from ctxmode_cli.context.audit import audit, dropped_by_class
from ctxmode_cli.context.steps.budget import OverBudgetError


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


def test_the_audit_tells_what_stands_for_others() -> None:
    """Notes are generated; what a summary tells is compressed, however many parts it has, its tokens told once."""
    turns = [*SAID[:2], {"role": "system", "content": "s"}, *SAID[2:]]
    made = manager(turns, mode="summary", summary_threshold=0, summary_every=0, fact_card=True)
    context = made.build_context()
    lines = [(line.action, line.what, line.why, line.start, line.stop) for line in audit(context, made.history)]
    assert lines == [
        ("kept", "card", "generated", None, None),
        ("kept", "summary", "generated", None, None),
        ("kept", "system", "as_recorded", 2, 3),
        ("kept", "input", "as_recorded", 5, 6),
        ("compressed", "older", "summary", 0, 2),
        ("compressed", "older", "summary", 3, 5),
    ]
    told = [line.sent_tokens for line in audit(context, made.history)][-2:]
    assert told == [context.pieces[1].tokens, 0]
    assert dropped_by_class(context, made.history) == {}


def test_the_audit_tells_the_input_and_the_budget() -> None:
    """Call groups of the current input, shortened outputs of it, and turns that the mode wanted."""
    groups = [user("c"), *looked("x " * 100, "1"), *looked(FORECAST, "2")]
    made = manager(
        [user("a " * 60), reply("b"), *groups], tool_max_tokens=70, max_tokens=120, reserved_output=WINDOW - 120
    )
    lines = audit(made.build_context(), made.history)
    assert [(line.action, line.what, line.why, line.start, line.stop) for line in lines] == [
        ("kept", "input", "as_recorded", 2, 3),
        ("kept", "input", "as_recorded", 5, 6),
        ("compressed", "tool_output", "long_or_repeated", 6, 7),
        ("dropped", "recent", "budget", 0, 2),
        ("dropped", "input", "input", 3, 5),
    ]


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
