"""Two users at once, and whose messages are in whose requests: `python reports/article/two_users.py`.

Both talk to one service, each from a thread of their own, and neither is answered before the other has asked: so every
request is made while one of the other user is under way. Prints how many messages of the other user the requests hold,
with a session each (`Sessions`), and with one manager for both, as a service has it that forgets the session's id.
"""

import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from ctxmode_cli import ContextConfig, ContextManager, ExtractiveSummarizer, MemorySessionStore, Sessions, TokenCounter

USERS = ("ming", "anna")
TURNS = 20
CONFIG = ContextConfig(mode="summary")
SUMMARIZER = ExtractiveSummarizer(TokenCounter.for_model(CONFIG.model))

Messages = list[dict[str, Any]]
Answer = Callable[[str], str]


def said(user: str, turn: int) -> str:
    """What a user says at a turn; their name is in every message of theirs, and in none of anybody else's."""
    return f"My order for {user} has the number {user.upper()}-{turn:04}, please note it."


def with_sessions() -> list[tuple[str, Messages]]:
    """The requests of both users, each in a session of their own, two at a time."""
    sessions = Sessions(MemorySessionStore(ttl_s=3600), CONFIG, SUMMARIZER)
    both_asked = Barrier(len(USERS))

    def talk(user: str) -> list[tuple[str, Messages]]:
        requests = []
        for turn in range(TURNS):
            with sessions.open(user) as manager:
                requests.append((user, manager.build_request_messages(said(user, turn))))
                both_asked.wait()
                manager.append({"role": "assistant", "content": f"Noted, {user}."})
        return requests

    with ThreadPoolExecutor(len(USERS)) as pool:
        return [request for requests in pool.map(talk, USERS) for request in requests]


def with_one_manager() -> list[tuple[str, Messages]]:
    """The same where nobody tells the sessions apart."""
    manager = ContextManager(CONFIG, summarizer=SUMMARIZER)
    requests = []
    for turn in range(TURNS):
        for user in USERS:
            requests.append((user, manager.build_request_messages(said(user, turn))))
            manager.append({"role": "assistant", "content": f"Noted, {user}."})
    return requests


def counted(requests: Sequence[tuple[str, Messages]]) -> dict[str, int]:
    """How many requests there are, and how many of them hold anything of another user."""
    mixed = sum(
        any(other in message["content"].lower() for message in messages for other in USERS if other != user)
        for user, messages in requests
    )
    own = sum(any(user in message["content"].lower() for message in messages) for user, messages in requests)
    return {"requests": len(requests), "with_own_messages": own, "with_messages_of_the_other": mixed}


if __name__ == "__main__":
    result = {"a_session_each": counted(with_sessions()), "one_manager_for_both": counted(with_one_manager())}
    json.dump(result, sys.stdout, indent=2, sort_keys=True)
    print()
