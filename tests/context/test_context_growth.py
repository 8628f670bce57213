"""What a request costs does not grow with all that lies before it, only with its pieces."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from dialogues import MODEL, history_of

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.conversation.parse import parse_message


@contextmanager
def counted_lines() -> Iterator[list[int]]:
    """Count the lines of code that run, comprehensions' rounds included: a measure that no busy machine disturbs."""
    lines = [0]

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        lines[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def lines_of_a_request(script: Sequence[dict[str, Any]], mode: str, room: int) -> int:
    history = history_of(map(parse_message, script))
    manager = ContextManager(ContextConfig(mode=mode, model=MODEL, max_tokens=room), history=history)
    manager.build_context()  # which reads each tool output once
    with counted_lines() as lines:
        manager.build_context()
    return lines[0]


def tool_loop(steps: int) -> list[dict[str, Any]]:
    called = {"role": "assistant", "content": "a", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}
    return [{"role": "user", "content": "u"}, *[called, {"role": "tool", "content": "t", "tool_call_id": "c"}] * steps]


def systems_between(turns: int) -> list[dict[str, Any]]:
    turn = [{"role": role, "content": "x"} for role in ("user", "assistant", "system")]
    return [{"role": "system", "content": "x"}, *turn[:2], *[turn[2]] * turns, *turn[:2], turn[0]]


def documented(turns: int) -> list[dict[str, Any]]:
    asked = {"role": "user", "content": "u", "documents": [{"id": "1", "text": "d"}]}
    return [*[asked, {"role": "assistant", "content": "a"}] * turns, asked]


@pytest.mark.parametrize(
    ("script", "mode", "room"),
    [(tool_loop, "zero", 100), (systems_between, "zero", 100_000), (documented, "zero", 100)],
)
def test_request_does_not_walk_through_the_record(script: Any, mode: str, room: int) -> None:
    """A request after twice as many steps, system messages or documents runs hardly more lines: it is looked up."""
    assert lines_of_a_request(script(2000), mode, room) <= lines_of_a_request(script(1000), mode, room) + 20
