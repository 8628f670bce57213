"""Outlines and lines of tool outputs that were recorded."""

import gzip
import json
from functools import cache
from pathlib import Path

import pytest
from dialogues import counter

from ctxmode_cli.context.outlines.files import file_reference
from ctxmode_cli.context.outlines.one_line import one_line
from ctxmode_cli.context.outlines.outline import outline

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
TAU2 = SHARED / "datasets" / "tau2_bench.jsonl.gz"
SWE_AGENT = SHARED / "fixtures" / "swe_agent_traj" / "marshmallow-1867_function_calling.traj"


@cache
def tool_outputs() -> list[tuple[str, str]]:
    """Name of the tool and output, each once."""
    found = {}
    with gzip.open(TAU2, "rt", encoding="utf-8") as records:
        for record in map(json.loads, records):
            messages = record["messages"]
            calls = [call for message in messages for call in message.get("tool_calls") or ()]
            names = {call["id"]: call["function"]["name"] for call in calls}
            found |= {
                (names.get(message["tool_call_id"], ""), message["content"]): None
                for message in messages
                if message["role"] == "tool"
            }
    return list(found)


@pytest.mark.skipif(not TAU2.is_file(), reason="the shared data sets are not here")
def test_recorded_outputs_keep_their_scalars() -> None:
    """Every long output of tau2-bench keeps the first scalars of its top in an outline of 300 tokens."""
    long = [text for _, text in tool_outputs() if len(text) > 1500]
    assert len(long) > 50
    for text in long:
        said = outline(text, 300, counter().text)
        value = json.loads(text)
        top = value.items() if isinstance(value, dict) else ()
        scalars = [f"{key}: {json.dumps(item)}" for key, item in top if isinstance(item, str | int) and item]
        assert counter().text(said) <= 300
        assert [line for line in scalars[:8] if f"\n{line}\n" not in said] == []


@pytest.mark.skipif(not TAU2.is_file(), reason="the shared data sets are not here")
def test_recorded_outputs_have_a_line() -> None:
    """Every output of tau2-bench has its line, in which an order or a reservation is named."""
    for name, text in tool_outputs():
        line = one_line(name, "{}", text)
        assert len(line) <= 200
        assert len(line.splitlines()) <= 1
        if text.startswith(("{", "[")) and len(text) > 200:
            assert line.startswith(f"{name}: ")
        if name == "get_order_details" and text.startswith("{"):
            assert f"order_id={json.loads(text)['order_id']}" in line


@pytest.mark.skipif(not SWE_AGENT.is_file(), reason="the shared fixtures are not here")
def test_a_recorded_file_is_referred_to() -> None:
    """A file that SWE-agent opened in the middle is known by the lines that it was shown with."""
    history = json.loads(SWE_AGENT.read_text(encoding="utf-8"))["history"]
    position = next(
        i for i, message in enumerate(history) if '"line_number":1474' in json.dumps(message).replace("\\", "")
    )
    call = history[position]["tool_calls"][0]["function"]
    text = history[position + 1]["content"]
    text = text if isinstance(text, str) else text[0]["text"]
    said = file_reference(call["name"], call["arguments"], text) or ""
    assert said.startswith("src/marshmallow/fields.py, lines 1457-1556 of this file were sent before: def _serialize, ")
