"""Sessions of any length, made of turns that are drawn from recorded conversations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import WIRE_FIELDS, Message
from ctxmode_cli.conversation.parse import parse_message

MOST_HELD = 10_000
"""Turns that are held to draw from; of more, a sample of so many, since a log may be of any length."""
_KEPT_FIELDS = WIRE_FIELDS | {"documents"}
"""What of a message goes along: times and recorded usage are those of another session."""


class RecordedTurn(NamedTuple):
    """A turn, and what its conversation began with."""

    systems: Sequence[Message]
    tools: Sequence[Mapping[str, Any]]
    messages: Sequence[Message]


@dataclass
class TurnPool:
    """Turns of recorded conversations, to draw sessions from.

    A turn is drawn with its tool loop, and only where it was answered to the end and its calls are its own: any other
    would run into the turn that follows it.

    Args:
        seed: Of all that is drawn.
    """

    seed: int
    seen: int = 0
    """Turns that can be drawn."""
    left_out: int = 0
    """Turns that cannot."""
    _turns: list[RecordedTurn] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(f"turns\0{self.seed}")  # noqa: S311 - to be drawn again, not secret

    def add(self, conversation: Conversation) -> None:
        """Take in the turns of a conversation."""
        opening, *turns = _split(conversation.messages)
        systems = [message for message in opening if message.is_system]
        for turn in turns:
            if not _is_whole(turn):
                self.left_out += 1
                continue
            self._keep(RecordedTurn(systems, conversation.tools, turn))

    def _keep(self, turn: RecordedTurn) -> None:
        """Every turn seen so far is held with the same probability (reservoir sampling, Algorithm R of Vitter 1985)."""
        self.seen += 1
        if len(self._turns) < MOST_HELD:
            self._turns.append(turn)
            return
        place = int(self._random.random() * self.seen)
        if place < MOST_HELD:
            self._turns[place] = turn

    def sessions(self, count: int, turns: int) -> Iterator[Conversation]:
        """So many sessions of so many turns, each turn drawn by itself, with replacement.

        System messages and tools of a session are those of the conversation that a further drawn turn is from.

        Raises:
            IndexError: There is no turn to draw.
        """
        for number in range(1, count + 1):
            first = self._draw()
            messages = [_copy(message, "") for message in first.systems]
            for turn in range(turns):
                messages += [_copy(message, f"{turn}:") for message in self._draw().messages]
            name = f"drawn session {number}"
            yield Conversation(name, tuple(messages), first.tools, (), {}, name)

    def _draw(self) -> RecordedTurn:
        # Python promises the sequence of Random.random, and of nothing that is made of it.
        return self._turns[int(self._random.random() * len(self._turns))]


def _split(messages: Iterable[Message]) -> list[list[Message]]:
    """What comes before the first turn, then turn after turn."""
    parts: list[list[Message]] = [[]]
    previous = ""
    for message in messages:
        if message.role == "user" and previous != "user":
            parts.append([])
        parts[-1].append(message)
        previous = previous if message.is_system else message.role
    return parts


def _is_whole(turn: Sequence[Message]) -> bool:
    """Whether it ends with a reply, every call in it has a result in it, and every result its call."""
    asked: set[str] = set()
    called: set[str] = set()
    for message in turn:
        if message.role == "tool":
            if message.tool_call_id not in called:
                return False
            asked.discard(message.tool_call_id or "")
        ids = {call.id for call in message.tool_calls}
        asked |= ids
        called |= ids
    spoken = [message.role for message in turn if not message.is_system]
    return not asked and spoken[-1] == "assistant"


def _copy(message: Message, prefix: str) -> Message:
    """The message as another session sends it; its calls are told by the prefix from those of the same turn drawn again."""
    recorded = {key: value for key, value in message.recorded.items() if key in _KEPT_FIELDS}
    if message.tool_calls:
        recorded["tool_calls"] = [call | {"id": prefix + call["id"]} for call in recorded["tool_calls"]]
    if message.tool_call_id is not None:
        recorded["tool_call_id"] = prefix + message.tool_call_id
    return parse_message(recorded)
