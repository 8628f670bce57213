"""A person's decisions on drafted facts: asked for one by one, and kept in a journal that survives any end."""

import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.jsonl import decode_json, encode_json
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.errors import CtxmodeError, system_errors
from ctxmode_cli.language.drafting import Draft, with_value
from ctxmode_cli.report.visible import visible

if TYPE_CHECKING:
    from rich.text import Text

ACCEPT, EDIT, REJECT, QUIT = "accept", "edit", "reject", "quit"
_ANSWERS = {form: word for word in (ACCEPT, EDIT, REJECT, QUIT) for form in (word, word[0])}
_FIELDS = {
    "conversation": str,
    "message": int,
    "kind": str,
    "value": str,
    "negative": bool,
    "decision": str,
    "to": str,
}
"""The fields of a line of a journal."""
_SENTENCE_END = re.compile(r"[\n。！？]|[.!?](?=\s)")
_AROUND = 160
"""Characters of context on each side of a value; a line of a tool's output can be a whole document."""

Key: TypeAlias = tuple[str, int, str, str, bool]
"""What tells a draft from others in any run: conversation, message, kind, value, whether it is negative."""


class Decision(NamedTuple):
    """What is to become of a draft."""

    action: str
    value: str = ""
    """After an edit: the right value."""


class Journal:
    """The decisions so far: one line each, on the disk before the next question is asked.

    A line that was cut off when the program was killed is as if it had not been written.

    Args:
        path: The journal; it is made with the first decision.

    Raises:
        CtxmodeError: It cannot be read, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: io.BufferedWriter | None = None
        self._decisions: dict[Key, Decision] = {}
        with system_errors("the journal cannot be read", where=str(path)):
            content = path.read_bytes() if path.exists() else b""
        self._whole = content.rfind(b"\n") + 1
        """Bytes up to the end of the last whole line."""
        for number, line in enumerate(content[: self._whole].splitlines(), 1):
            key, decision = _parsed(line, f"{path}:{number}")
            self._decisions[key] = decision

    def __len__(self) -> int:
        return len(self._decisions)

    def get(self, key: Key) -> Decision | None:
        """The decision on a draft, where there is one."""
        return self._decisions.get(key)

    def record(self, key: Key, decision: Decision) -> None:
        """Write down a decision.

        Raises:
            CtxmodeError: It cannot be written.
        """
        line = dict(zip(_FIELDS, (*key, *decision), strict=True))
        with system_errors("the journal cannot be written", where=str(self._path)):
            if self._file is None:
                self._file = self._path.open("ab")
                self._file.truncate(self._whole)
            self._file.write(encode_json(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self._decisions[key] = decision

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()


def _parsed(line: bytes, where: str) -> tuple[Key, Decision]:
    try:
        entry = decode_json(line.decode())
    except (CtxmodeError, UnicodeDecodeError):
        entry = None
    whole = isinstance(entry, dict) and all(type(entry.get(name)) is kind for name, kind in _FIELDS.items())
    if not whole or entry["decision"] not in (ACCEPT, EDIT, REJECT):
        hint = "move the file away, or name another output"
        raise CtxmodeError("this is no line of a review", hint=hint, where=where)
    key = entry["conversation"], entry["message"], entry["kind"], entry["value"], entry["negative"]
    return key, Decision(entry["decision"], entry["to"])


@dataclass
class Review:
    """Settles what becomes of drafts: by the journal, else by a person as long as there is one who answers."""

    journal: Journal
    asks: bool
    """Whether a person is asked; false from the moment they quit."""

    def settle(self, drafts: Sequence[Draft], conversation: Conversation) -> list[Draft]:
        """The drafts that stay, as they were decided on; those without a decision stay as they are."""
        settled = []
        for number, draft in enumerate(drafts, 1):
            key = (conversation.id, draft.said_at, draft.fact.kind, draft.fact.value, draft.fact.negative)
            decision = self.journal.get(key)
            if decision is None and self.asks:
                decision = _ask(draft, conversation, f"{number} of {len(drafts)}")
                self.asks = decision is not None
                if decision:
                    self.journal.record(key, decision)
            if decision is None:
                settled.append(draft)
            elif decision.action != REJECT:
                settled.append(_as_decided(draft, decision, conversation))
        return settled


def _as_decided(draft: Draft, decision: Decision, conversation: Conversation) -> Draft:
    edited = with_value(draft, decision.value, conversation.messages) if decision.action == EDIT else draft
    return (edited or draft)._replace(reviewed=edited is not None)


def _ask(draft: Draft, conversation: Conversation, count: str) -> Decision | None:
    """Show a draft and ask until there is a decision; None to quit."""
    _show(draft, conversation, count)
    while True:
        action = _ANSWERS.get((_answer("accept, edit, reject, quit (a/e/r/q): ") or QUIT).strip().lower())
        if action == QUIT:
            return None
        if action == EDIT:
            value = (_answer("value: ") or "").strip()
            if value and with_value(draft, value, conversation.messages):
                return Decision(EDIT, value)
            _say("the message does not say that")
        elif action:
            return Decision(action)


def _answer(question: str) -> str | None:
    """One line from stdin; None at its end."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        _say("")  # nobody has ended the question's line
    return line or None


def _say(line: "str | Text") -> None:
    from rich.console import Console

    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(line)


def _show(draft: Draft, conversation: Conversation, count: str) -> None:
    from rich.text import Text

    message = conversation.messages[draft.said_at]
    negative = "not wanted: " * draft.fact.negative
    head = f"{conversation.id}, message {draft.said_at} ({message.role}), fact {count}"
    before, value, after = _sentence(content_text(message.content), draft)
    _say(Text(""))
    _say(Text(visible(head), style="dim"))
    _say(Text.assemble(visible(before), (f"[{visible(value)}]", "bold reverse"), visible(after)))
    _say(
        Text.assemble(
            (visible(draft.fact.kind), "bold"), f": {negative}{visible(draft.fact.value)}  (rule {draft.rule})"
        )
    )


def _sentence(text: str, draft: Draft) -> tuple[str, str, str]:
    """The sentence around the value: what stands before it, the value, what stands after it."""
    if draft.start < 0:
        return text[:_AROUND], draft.fact.value, ""
    end = draft.start + len(draft.fact.value)
    before = text[max(0, draft.start - _AROUND) : draft.start]
    after = text[end : end + _AROUND]
    starts = [match.end() for match in _SENTENCE_END.finditer(before)]
    stop = _SENTENCE_END.search(after)
    return (
        before[starts[-1] if starts else 0 :].lstrip(),
        text[draft.start : end],
        after[: stop.end() if stop else None].rstrip(),
    )
