"""What was said so far, measured once, with its turns, steps and call groups."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxmode_cli.conversation.message import Message
from ctxmode_cli.tokens.counter import TokenCounter


class History:
    """The messages before a request, in order, each counted once when it is appended.

    A *turn* starts at a user message that does not directly follow another one, system messages aside. What comes
    before the first turn is the *preamble*. Inside a turn, a *step* starts at each reply and takes in its results. A
    result that answers a call of an earlier step or turn joins everything from there on, so that turns and steps
    can be cut apart without ever parting a call from its result.

    Several managers may share one history: it only ever grows, and they only read it.

    Args:
        counter: Counts each message, with the encoding of its model.
        tools: Tool schemas that go with every request.
        one_turn_per_user_message: For records without any reply, where each user message is a turn of its own.
    """

    def __init__(
        self,
        counter: TokenCounter,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        one_turn_per_user_message: bool = False,
    ) -> None:
        self.counter = counter
        self.tools = tools
        self.fixed_tokens = counter.tools(tools) + counter.REPLY_TOKENS
        """Tokens of every request, whatever is in it: tool schemas and the opening of the reply."""
        self.messages: list[Message] = []
        self.systems: list[int] = []
        """Positions of system messages."""
        self.leading_systems = 0
        """How many system messages the conversation begins with."""
        self.documented: list[int] = []
        """Positions of user messages that documents were retrieved for."""
        self.turns: list[int] = []
        """Positions at which turns start."""
        self.steps: list[int] = []
        """Positions at which steps start."""
        self.inside_group: list[bool] = [False]
        """For each position, whether a cut before it would part a call from its result."""
        self._sum_all = [0]
        self._sum_spoken = [0]
        self._call_positions: dict[str, int] = {}
        self._previous_role = ""
        self._one_turn_per_user_message = one_turn_per_user_message

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: Message) -> None:
        """Take in the next message."""
        position = len(self.messages)
        tokens = self.counter.message(message)
        self.messages.append(message)
        self.inside_group.append(False)
        self._sum_all.append(self._sum_all[-1] + tokens)
        role = message.role
        if message.is_system:
            self._sum_spoken.append(self._sum_spoken[-1])
            self.systems.append(position)
            if self.leading_systems == position:
                self.leading_systems += 1
            return
        self._sum_spoken.append(self._sum_spoken[-1] + tokens)
        if role == "user":
            if message.documents:
                self.documented.append(position)
            if self._previous_role != "user" or self._one_turn_per_user_message:
                self.turns.append(position)
        elif role == "assistant":
            if self._previous_role != "assistant":
                self.steps.append(position)
            for call in message.tool_calls:
                self._call_positions[call.id] = position
        else:
            self._append_result(message.tool_call_id or "", position)
        self._previous_role = role

    def _append_result(self, call_id: str, position: int) -> None:
        call_position = self._call_positions.get(call_id)
        if call_position is None:
            if self._previous_role == "user":
                self.steps.append(position)
            return
        for between in range(call_position + 1, position + 1):
            self.inside_group[between] = True
        while self.steps[-1] > call_position:
            self.steps.pop()
        self._join_turns(call_position)

    def _join_turns(self, call_position: int) -> None:
        """Make the turn that holds `call_position` the current one; a call of the preamble takes the preamble in."""
        if not self.turns or self.turns[-1] <= call_position:
            return
        while self.turns and self.turns[-1] > call_position:
            self.turns.pop()
        if not self.turns:
            self.turns.append(self.leading_systems)

    @property
    def turn_start(self) -> int:
        """Position at which the current turn starts: the current input is everything from there."""
        return self.turns[-1]

    @property
    def complete_turns(self) -> int:
        """How many turns lie before the current one."""
        return len(self.turns) - 1

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return self._sum_all[-1]

    def range_tokens(self, start: int, stop: int) -> int:
        """Tokens of `messages[start:stop]`."""
        return self._sum_all[stop] - self._sum_all[start]

    def spoken_tokens(self, start: int, stop: int) -> int:
        """Tokens of `messages[start:stop]` without the system messages in it."""
        return self._sum_spoken[stop] - self._sum_spoken[start]

    def window_start(self, turn: int) -> int:
        """Position from which the turns from number `turn` on are sent; turn 0 takes the preamble with it."""
        return self.turns[turn] if turn > 0 else 0

    def system_ranges(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The system messages in `messages[start:stop]`, as ranges of neighbours."""
        ranges: list[tuple[int, int]] = []
        for position in self.systems:
            if not start <= position < stop:
                continue
            if ranges and ranges[-1][1] == position:
                ranges[-1] = (ranges[-1][0], position + 1)
            else:
                ranges.append((position, position + 1))
        return ranges

    def empty(self) -> "History":
        """A new history for the same model and tools, without messages."""
        return History(self.counter, tools=self.tools, one_turn_per_user_message=self._one_turn_per_user_message)

    def without_last(self) -> "History":
        """A new history without the newest message."""
        history = self.empty()
        for message in self.messages[:-1]:
            history.append(message)
        return history
