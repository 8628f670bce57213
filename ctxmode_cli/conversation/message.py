"""A recorded message and its tool calls."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

WIRE_FIELDS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
"""What is ever sent of a message; everything else in the record stays at home."""

SYSTEM_ROLES = frozenset({"system", "developer"})
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})

TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Types of the content parts that are text, and the field that holds it; no other part is counted or read as text."""

Content: TypeAlias = str | Sequence[Mapping[str, Any]] | None
"""A string, a list of parts, or nothing (an assistant message that only calls tools)."""


class ToolCall(NamedTuple):
    """One call of a function by the assistant; `arguments` is the JSON text as recorded."""

    id: str
    name: str
    arguments: str


class Message(NamedTuple):
    """One message as it was recorded.

    A named tuple, since logs hold millions: it is made in a third of the time that a frozen dataclass takes.

    `recorded` is the whole object, unknown fields included; nobody writes to it.
    """

    role: str
    content: Content
    tool_calls: tuple[ToolCall, ...]
    tool_call_id: str | None
    recorded: Mapping[str, Any]

    @property
    def is_system(self) -> bool:
        """Whether this is a system or developer message, which every mode always sends."""
        return self.role in SYSTEM_ROLES

    @property
    def name(self) -> str | None:
        """The participant's name, where the record has one."""
        return self.recorded.get("name")

    @property
    def documents(self) -> Sequence[Mapping[str, Any]]:
        """Documents that were retrieved for this user message."""
        return self.recorded.get("documents") or ()

    @property
    def time(self) -> float | None:
        """When it was recorded, in seconds since 1970; None without a `ts`. A time without a zone is UTC.

        Raises:
            ValueError: `ts` is no ISO 8601 time.
        """
        recorded = self.recorded.get("ts")
        if recorded is None:
            return None
        time = datetime.fromisoformat(recorded)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

    @property
    def usage(self) -> Mapping[str, Any] | None:
        """The provider's recorded token counts of the request that this message answered."""
        return self.recorded.get("usage")

    def wire(self) -> dict[str, Any]:
        """The message as it is sent: its wire fields, exactly as recorded and in the recorded order."""
        return {field: value for field, value in self.recorded.items() if field in WIRE_FIELDS}


def content_text(content: Content) -> str:
    """All text of a content: the string itself, or its text parts, a line each."""
    if isinstance(content, str):
        return content
    if not content:
        return ""
    texts = (part.get(TEXT_PARTS[part["type"]]) for part in content if part["type"] in TEXT_PARTS)
    return "\n".join(text for text in texts if isinstance(text, str))


def with_text(content: Content, text: str) -> Content:
    """A content that says `text` instead; what is attached to it (images, files) stays."""
    if not content or isinstance(content, str):
        return text
    attached = [part for part in content if part["type"] not in TEXT_PARTS]
    return [{"type": "text", "text": text}, *attached] if attached else text
