"""A run of the command line, as the fixture `ctxmode` makes it, and logs for runs that call a model."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Result(NamedTuple):
    """What a run printed, and its exit code."""

    code: int | str | None
    out: str
    err: str


Ctxmode = Callable[..., Result]


ADDRESS = "1 Elm St"


def write_turns(folder: Path, turns: int, say: Callable[[str, int, int], str]) -> str:
    """A log of six conversations; `say` gives a message's text by role, turn and conversation."""
    roles = ("user", "assistant")
    return _write(
        folder,
        (
            {
                "id": f"c{number}",
                "messages": [_message(role, say(role, turn, number)) for turn in range(turns) for role in roles],
            }
            for number in range(6)
        ),
    )


def write_addresses(folder: Path, conversations: int) -> str:
    """A log of conversations whose first turn has an address that the third and the fourth need."""
    fact = {"id": "a", "kind": "address", "value": ADDRESS, "stated_at": 0, "probe_at": [4, 6]}
    texts = [f"Ship to {ADDRESS}.", "Noted.", "And wrap it.", "Noted.", "Where to?", "There.", "Sure?", "Sure."]
    return _write(
        folder,
        (
            {
                "id": f"c{number}",
                "facts": [fact],
                "messages": [
                    _message(("user", "assistant")[index % 2], f"{text} ({number})") for index, text in enumerate(texts)
                ],
            }
            for number in range(conversations)
        ),
    )


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _write(folder: Path, records: Iterable[dict[str, Any]]) -> str:
    (folder / "logs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return "logs.jsonl"
