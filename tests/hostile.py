"""Texts that somebody might put into a log to have a report act on them, and a log that has them wherever a log has text."""

import json
from pathlib import Path
from typing import Any

TEXTS: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""By what they try."""


def hostile_record(text: str) -> dict[str, Any]:
    """A conversation that has a text in each place for one: names, messages, calls, results, documents and facts.

    Its first fact is lost by a mode that sends no history; its second is not found where its label says.
    """
    call = {"id": text, "type": "function", "function": {"name": text or "f", "arguments": json.dumps({text: text})}}
    said = f"{text} my number is 4711"
    return {
        "id": f"{text} id",
        "lang": text,
        "source": text,
        "messages": [
            {"role": "system", "content": text},
            {"role": "user", "content": said},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": text, "content": text * 20},
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"{text}?", "documents": [{"id": text, "text": text + " document"}]},
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"what was it? {text}"},
            {"role": "assistant", "content": "4711"},
        ],
        "facts": [
            {"id": f"{text} fact", "kind": text, "value": "4711", "stated_at": 1, "probe_at": [5, 7]},
            {"id": text, "kind": text, "value": f"{text} unsaid", "stated_at": 4, "probe_at": [7]},
        ],
    }
