"""Writes a session of filler with given token counts: `python reports/article/sessions.py position|budget`.

Filler has as many tokens as asked for in every encoding, and no meaning: only where things stand, and how long they are,
counts here.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from ctxmode_cli.generate.filler import filler

ADDRESS = "88 Juniper Road, Portland"
TURNS_BEFORE, TURNS_AFTER = 16, 14
"""Of the turn that states the address; the five that need it come next, when `full` sends about 6,100 tokens."""
PROBED_TURNS = 5
USER_TOKENS, REPLY_TOKENS = 60, 110


def position() -> dict[str, Any]:
    """An address in the middle of the history, and five turns that need it."""
    chat: list[dict[str, str]] = [{"role": "system", "content": f"You help the customers of a shop. {filler(200, 0)}"}]
    _add_turns(chat, TURNS_BEFORE)
    stated_at = len(chat)
    _add_turn(chat, f"Please send everything to {ADDRESS}.")
    _add_turns(chat, TURNS_AFTER)
    probe_at = []
    for number in range(1, PROBED_TURNS + 1):
        probe_at.append(len(chat))
        _add_turn(chat, f"Where does parcel {number} go? {filler(USER_TOKENS, len(chat))}")
    fact = {"id": "address", "kind": "address", "value": ADDRESS, "stated_at": stated_at, "probe_at": probe_at}
    return {"id": "position", "lang": "en", "messages": chat, "facts": [fact]}


def budget() -> dict[str, Any]:
    """A system prompt just under 1,000 tokens, inputs that grow to just under 1,200, and at last one that is over."""
    chat = [{"role": "system", "content": filler(990, 0)}]
    for tokens in (*range(40, 1200, 50), 1190, 1300):
        _add_turn(chat, filler(tokens, len(chat)))
    return {"id": "budget", "lang": "en", "messages": chat}


def _add_turns(chat: list[dict[str, str]], count: int) -> None:
    for _ in range(count):
        _add_turn(chat, filler(USER_TOKENS, len(chat)))


def _add_turn(chat: list[dict[str, str]], user: str) -> None:
    chat.append({"role": "user", "content": user})
    chat.append({"role": "assistant", "content": filler(REPLY_TOKENS, len(chat))})


SESSIONS: dict[str, Callable[[], dict[str, Any]]] = {"position": position, "budget": budget}

if __name__ == "__main__":
    print(json.dumps(SESSIONS[sys.argv[1]]()))
