"""Sessions with calls, facts and talk, for the tests of what steps make of them."""

import json
from typing import Any

from dialogues import MODEL, Digest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager

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


TALK = [
    user("my order is SO-1"),
    *looked("x " * 200, "c1"),
    reply("thanks"),
    user("and?"),
    *looked("y " * 200, "c2"),
    reply("fine"),
    user("so?"),
]
SAID = [
    user("My name is Ann Lee. I don't want any pet recommendations."),
    reply("Noted."),
    user("a"),
    reply("b"),
    user("c"),
]
