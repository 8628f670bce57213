"""The rules of the published designs, on conversations small enough to be worked out by hand."""

from typing import Any

import pytest
from dialogues import MODEL, WINDOW, Digest, counter

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.steps.budget import OverBudgetError

ONE_MESSAGE = 5
"""Tokens of "s", "u" or "a": framing 3, role 1, text 1."""


def of_tokens(role: str, tokens: int) -> dict[str, Any]:
    """A message of just so many tokens, framing included."""
    return {"role": role, "content": "a" + " a" * (tokens - ONE_MESSAGE)}


def manager(messages: list[dict[str, Any]], **settings: Any) -> ContextManager:
    made = ContextManager(ContextConfig(model=MODEL, **settings), summarizer=Digest(0))
    for message in messages:
        made.append(message)
    return made


def test_the_messages_have_the_tokens_that_they_are_named_for() -> None:
    """What the other tests count with."""
    made = manager([of_tokens("user", 1200)])
    assert made.history.range_tokens(0, 1) == 1200
    assert counter().text("a a a") == 3


def test_seventy_per_cent_asks_for_a_summary_and_three_turns_stay() -> None:
    """Of 1,000 tokens, history of 700 is still whole; one more turn, and all but six messages are summarised."""
    turns = [of_tokens("user", 70), of_tokens("assistant", 70)] * 5
    settings = {"mode": "summary", "summary_trigger": "tokens", "summary_threshold": 3}
    budget = {"max_tokens": 1000, "reserved_output": WINDOW - 1000}
    at_the_limit = manager([*turns, of_tokens("user", 10)], **settings, **budget).build_context()
    assert [piece.purpose for piece in at_the_limit.pieces] == ["history", "input"]
    over = manager([of_tokens("user", 71), *turns[1:], of_tokens("user", 10)], **settings, **budget).build_context()
    assert [piece.purpose for piece in over.pieces] == ["summary", "history", "input"]
    assert (over.summarised, over.sent_messages()) == (4, 7)


SPLIT: dict[str, Any] = {"mode": "sliding", "max_tokens": 9000, "reserved_output": 12_800 - 9000, "sliding_turns": 1000}
SHARES = {"system_tokens": 1000, "input_tokens": 1200, "history_tokens": 6800}


def test_the_published_split_of_a_window() -> None:
    """A business budget of 9,000: 1,000 for the system prompt, 1,200 for the input, 6,800 for history, which is cut to it."""
    said = [
        of_tokens("system", 997),
        *[of_tokens("user", 340), of_tokens("assistant", 340)] * 11,
        of_tokens("user", 1200),
    ]
    made = manager(said, **SPLIT, **SHARES)
    assert made.budget.request == 9000
    context = made.build_context()
    assert [(piece.purpose, piece.tokens) for piece in context.pieces] == [
        ("system", 997),
        ("history", 6800),
        ("input", 1200),
    ]
    assert context.prompt_tokens == 9000
    assert context.trimmed


def test_each_share_is_a_ceiling_of_its_own() -> None:
    """What is just within its share goes in, and history is held by its own although the budget has room."""
    at_the_limit = [of_tokens("system", 1000), of_tokens("user", 1200)]
    assert manager(at_the_limit, **SPLIT, **SHARES).build_context().prompt_tokens == 1000 + 1200 + 3
    said = [*[of_tokens("user", 50), of_tokens("assistant", 50)] * 9, of_tokens("user", 10)]
    context = manager(said, **SPLIT, **{**SHARES, "history_tokens": 350}).build_context()
    assert [piece.tokens for piece in context.pieces] == [300, 10]


@pytest.mark.parametrize(("system", "asked", "reason", "over"), [(1001, 10, "system", 1), (997, 1205, "input", 5)])
def test_a_share_that_is_over_is_a_typed_error(system: int, asked: int, reason: str, over: int) -> None:
    """The system prompt is never cut, and the current input always goes in: each says by how much it is over."""
    with pytest.raises(OverBudgetError) as told:
        manager([of_tokens("system", system), of_tokens("user", asked)], **SPLIT, **SHARES).build_context()
    assert (told.value.reason, told.value.over_by) == (reason, over)


@pytest.mark.parametrize(("tokens", "is_outlined"), [(1000, False), (1001, True)])
def test_a_tool_output_over_a_thousand_tokens_is_outlined(tokens: int, is_outlined: bool) -> None:
    """At 1,000 tokens of text it is sent whole, at 1,001 as what it is made of."""
    text = "a" + " a" * (tokens - 1)
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    made = manager(
        [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": text, "tool_call_id": "c"},
        ]
    )
    assert (made.build_request_messages()[2]["content"] != text) is is_outlined
