"""Audit lines as they are written: one JSON object for each part of each request, with a digest of what was dropped."""

from collections.abc import Iterator
from typing import Any

from ctxmode_cli.context.audit import AuditLine, audit
from ctxmode_cli.context.history import History
from ctxmode_cli.conversation.jsonl import sorted_json
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.language.sentences import sentences
from ctxmode_cli.replay.session import SessionReplay
from ctxmode_cli.summarize.salience import weigh

_LONGEST_DIGEST = 160
"""Characters."""


def audit_lines(session: SessionReplay) -> Iterator[str]:
    """A line for each thing that was kept, compressed or dropped, mode by mode and request by request."""
    for mode, rows in session.modes.items():
        for row in rows.requests:
            key = {"conversation_id": session.conversation.id, "mode": mode, "request": row.request}
            if row.context is None:
                yield sorted_json(key | {"action": "unsendable", "why": row.unsendable})
                continue
            for line in audit(row.context, session.history):
                yield sorted_json(key | _columns(line, session.history))


def _columns(line: AuditLine, history: History) -> dict[str, Any]:
    columns = line._asdict()
    if line.action == "dropped" and line.start is not None and line.stop is not None:
        columns["digest"] = digest(history, line.start, line.stop)
    return columns


def digest(history: History, start: int, stop: int) -> str:
    """The one sentence of `messages[start:stop]` that carries the most, cut where it is long; empty where none speaks."""
    spoken = (message for message in history.messages[start:stop] if message.role in {"user", "assistant"})
    said = [sentence for message in spoken for sentence in sentences(content_text(message.content))]
    best = max(said, key=lambda sentence: weigh(sentence).total, default="")
    return best if len(best) <= _LONGEST_DIGEST else f"{best[: _LONGEST_DIGEST - 1]}…"
