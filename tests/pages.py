"""Comparisons with all that a page shows, of records that are made here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.plan import SummaryRequest, SummaryResult
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.run import run
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.html.kept import Kept
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
WRONG = "- The user wants no parking space."
CONSTRAINTS = ("", "## The user's hard constraints", "- " + "The hotel has no stairs. " * 3)
SETTINGS = {"summary_threshold": 2, "summary_every": 1, "sliding_turns": 2}
MODES = ("full", "zero", "sliding", "summary")


def summarised(request: SummaryRequest) -> SummaryResult:
    """A summary that denies what the user asked for, and repeats the rest of the first thing that was said."""
    first = next((message for message in request.messages if message.role == "user"), None)
    said = first.content if first is not None and isinstance(first.content, str) else ""
    text = (
        "\n".join(["Summary", WRONG, f"- {said}", "- " + "The way goes on. " * 40, *CONSTRAINTS])
        if request.previous is None
        else request.previous
    )
    return SummaryResult(text, COUNTER.text(text), request.messages_tokens)


class Made(NamedTuple):
    """A comparison, and what a page needs besides."""

    comparison: Comparison
    kept: Kept
    replay: Replay
    sessions: Sequence[SessionReplay]


def made(records: Iterable[Mapping[str, Any]], configs: Mapping[str, ContextConfig]) -> Made:
    """Records, replayed through modes; the first mode is the baseline."""
    replay = Replay(configs, COUNTER, summarised, simulation())
    kept, sessions = Kept(replay), []

    def refuse(error: CtxmodeError) -> None:
        raise error

    def keep(session: SessionReplay) -> None:
        kept.add(session)
        sessions.append(session)

    parsed = (parse_conversation(record, where=f"log:{n}", default_id=str(n)) for n, record in enumerate(records, 1))
    totals = run(parsed, replay, keep=keep, reject=refuse)
    comparison = Comparison(
        "gpt-4o", "o200k_base", 128_000, 0, next(iter(configs)), configs, totals.data, totals.modes, [("log", "0")],
        simulation(), replicates=totals.replicates, breakdowns=totals.breakdowns, harm=totals.harm,
    )  # fmt: skip
    return Made(comparison, kept, replay, sessions)


def configs(**settings: Any) -> dict[str, ContextConfig]:
    """The four modes."""
    return {mode: ContextConfig(mode=mode, **{**SETTINGS, **settings}) for mode in MODES}


def trip(number: int, turns: int = 7) -> dict[str, Any]:
    """A user who plans a trip: tool calls in every other turn, several and documents in the last, facts needed again."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You plan trips. " + "Be brief. " * 20}]
    for turn in range(turns):
        said = (
            "I want a parking space at the hotel, and my budget is 750 euros."
            if not turn
            else f"Step {turn}: what is next on the way?"
        )
        documents = [{"text": f"Guide {page}: " + f"sight number {page} opens at nine. " * 12} for page in range(5)]
        messages.append({"role": "user", "content": said, **({"documents": documents} if turn == turns - 1 else {})})
        for group in range(3 if turn == turns - 1 else turn % 2):
            name = f"c{turn}-{group}"
            call = {"id": name, "type": "function", "function": {"name": "find", "arguments": json.dumps({"q": name})}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            found = json.dumps([{"hotel": f"Hotel {name}", "price": 40 + hotel} for hotel in range(12)])
            messages.append({"role": "tool", "tool_call_id": name, "content": found})
        messages.append({"role": "assistant", "content": f"Stop {turn} is set. " + "It is a fine place. " * 4})
    asked = [index for index, message in enumerate(messages) if message["role"] == "user"]
    facts = [
        {"id": "parking", "kind": "wish", "value": "parking space", "stated_at": 1, "probe_at": asked[3:]},
        {"id": "budget", "kind": "amount", "value": "750 euros", "stated_at": 1, "probe_at": [asked[2], asked[-1]]},
    ]
    return {"id": f"trip-{number}", "lang": "en", "source": "made", "messages": messages, "facts": facts}
