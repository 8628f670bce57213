"""A recorded conversation with its labelled facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ctxmode_cli.conversation.message import Message


class Fact(NamedTuple):
    """A labelled key fact: what was said, where, until when, and where it is needed.

    All positions are 0-based indexes of messages.
    """

    id: str
    kind: str
    value: str
    aliases: tuple[str, ...]
    stated_at: int
    superseded_at: int | None
    supersedes: str | None
    probe_at: tuple[int, ...]
    negative: bool
    """Whether the fact is a denial of the value ("no pet recommendations")."""
    question: str | None

    @property
    def forms(self) -> tuple[str, ...]:
        """The value and its aliases."""
        return (self.value, *self.aliases)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One record: its messages in order, and what is known about them.

    `recorded` is the whole object, unknown fields included; `where` says which file and line it came from.
    """

    id: str
    messages: tuple[Message, ...]
    tools: Sequence[Mapping[str, Any]]
    facts: tuple[Fact, ...]
    recorded: Mapping[str, Any]
    where: str

    @property
    def lang(self) -> str | None:
        """The conversation's language ("zh", "en", …), where the record names it."""
        return self.recorded.get("lang")

    @property
    def source(self) -> str | None:
        """Where the record comes from, where it says so."""
        return self.recorded.get("source")
