"""What was said so far, measured once, with its turns, steps and call groups."""

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ctxmode_cli.context.config import DocumentLimits
from ctxmode_cli.context.ranges import Ranges
from ctxmode_cli.context.retrieval import Retrieved
from ctxmode_cli.conversation.message import SYSTEM_ROLES, Message, ToolCall
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter
from ctxmode_cli.tokens.images import ImageRule

# Named tuples, not dataclasses: a replay makes several of them for each request and mode.


class Recorded(NamedTuple):
    """A range of recorded messages, sent as recorded."""

    purpose: str
    """`system`, `history` or `input`."""
    start: int
    stop: int
    tokens: int


class Note(NamedTuple):
    """A generated message, or the generated text of a recorded tool output."""

    purpose: str
    """`summary`, `card`, `constraints` or `documents`; in place of a tool output `tool_output`, or `input` where that
    belongs to the current input."""
    role: str
    text: str
    tokens: int
    """Framing included."""
    replaces: int | None = None
    """Position of the tool output that it is sent in place of, as the answer to the same call."""


class TurnDocuments(NamedTuple):
    """What was chosen of one turn's documents, and worded; it is filled as somebody asks."""

    users: tuple[int, ...]
    """Positions of the turn's user messages: what was asked, and what was retrieved for it."""
    chosen: dict[DocumentLimits, Retrieved]
    notes: dict[tuple[DocumentLimits, int], Note]
    """By how many chunks they hold."""


class Frame(NamedTuple):
    """What every mode's request at one point has in common, worked out once."""

    fixed_tokens: int
    """Tool schemas, system messages and the opening of the reply."""
    input_tokens: int
    """The current input, system messages in it left out."""
    leading_systems: tuple[Recorded, ...]
    """One range, or none."""
    input: Recorded
    """The whole current input."""


class History:
    """The messages before a request, in order, each counted once when it is appended.

    A *turn* starts at a user message that does not directly follow another one, system messages aside. What comes
    before the first turn is the *preamble*. Inside a turn, a *step* starts at each reply and takes in its results. A
    result that answers a call of an earlier step or turn joins everything from there on, so that turns and steps
    can be cut apart without ever parting a call from its result.

    Several managers may share one history: they only read it.

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
        self.system_ranges = Ranges()
        """The same positions, as ranges."""
        self.uncuttable_ranges = Ranges()
        """Positions of system and user messages: what stays of a current input whose call groups are cut."""
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
        self.answered_calls: list[tuple[int, int]] = []
        """Positions of a call and of a result that answers it."""
        self.tool_outputs: list[int] = []
        """Positions of tool messages."""
        self.talk_ranges = Ranges()
        """Positions of all messages but those of call groups: what stays of history whose tool outputs are left out."""
        self.called_before = [0]
        """For each position, the tokens of the call groups' messages before it."""
        self.shared: dict[Hashable, Any] = {}
        """What steps have worked out of these messages, for other modes with the same settings to use again."""
        self.tokens_before = [0]
        """For each position, the tokens of all messages before it."""
        self.spoken_before = [0]
        """For each position, the tokens of the messages before it, system messages left out."""
        self.cuttable_before = [0]
        """For each position, the tokens of the assistant and tool messages before it."""
        self.retrieved: TurnDocuments | None = None
        """What became of one turn's documents, since a tool loop's requests, and other modes, send the same again."""
        self._with_parts: list[int] = []
        """Positions of messages whose content is parts, images perhaps: these count by the model, not by its encoding."""
        self._spoken_by: dict[tuple[str, ImageRule | None], list[int]] = {}
        """As `spoken_before`, for other models that count otherwise; as far as somebody asked."""
        self._frame: Frame | None = None
        self._call_positions: dict[str, int] = {}
        self._group_ends: dict[int, int] = {}
        """By position of a call, that of its newest result: up to there `inside_group` is marked."""
        self._previous_role = ""
        self._one_turn_per_user_message = one_turn_per_user_message

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: Message) -> None:
        """Take in the next message."""
        self._frame = None
        position = len(self.messages)
        tokens = self.counter.message(message)
        self.messages.append(message)
        self.inside_group.append(False)
        self.tokens_before.append(self.tokens_before[-1] + tokens)
        if isinstance(message.content, list):
            self._with_parts.append(position)
        role = message.role
        self._append_to_groups(message, position, tokens)
        if role in SYSTEM_ROLES:
            self.spoken_before.append(self.spoken_before[-1])
            self.cuttable_before.append(self.cuttable_before[-1])
            self.systems.append(position)
            self.system_ranges.add(position)
            self.uncuttable_ranges.add(position)
            if self.leading_systems == position:
                self.leading_systems += 1
            return
        self.spoken_before.append(self.spoken_before[-1] + tokens)
        self.cuttable_before.append(self.cuttable_before[-1] + (0 if role == "user" else tokens))
        if role == "user":
            self.uncuttable_ranges.add(position)
            if "documents" in message.recorded and message.documents:
                self.documented.append(position)
            if self._previous_role != "user" or self._one_turn_per_user_message:
                self.turns.append(position)
        elif role == "assistant":
            if self._previous_role != "assistant":
                self.steps.append(position)
            for call in message.tool_calls:
                self._call_positions[call.id] = position
        else:
            self.tool_outputs.append(position)
            self._append_result(message.tool_call_id or "", position)
        self._previous_role = role

    def pop(self) -> None:
        """Take back the newest message, a user's: all is as if it had never been appended.

        Raises:
            CtxmodeError: The newest message is not a user's: what a reply or a result changed is not kept.
        """
        if not self.messages or self.messages[-1].role != "user":
            raise CtxmodeError("only a user message can be taken back")
        self._frame = self.retrieved = None
        self.messages.pop()
        for sums in (
            self.inside_group,
            self.tokens_before,
            self.spoken_before,
            self.cuttable_before,
            self.called_before,
        ):
            sums.pop()
        self.uncuttable_ranges.pop()
        self.talk_ranges.pop()
        self.shared.clear()
        position = len(self.messages)
        for before in self._spoken_by.values():
            del before[position + 1 :]
        for positions in (self.documented, self.turns, self._with_parts):
            if positions and positions[-1] == position:
                positions.pop()
        self._previous_role = next((message.role for message in reversed(self.messages) if not message.is_system), "")

    def _append_to_groups(self, message: Message, position: int, tokens: int) -> None:
        """Note whether a message is talk or part of a call group."""
        is_called = message.role == "tool" or bool(message.tool_calls)
        self.called_before.append(self.called_before[-1] + (tokens if is_called else 0))
        if not is_called:
            self.talk_ranges.add(position)

    def _append_result(self, call_id: str, position: int) -> None:
        call_position = self._call_positions.get(call_id)
        if call_position is None:
            if self._previous_role == "user":
                self.steps.append(position)
            return
        self.answered_calls.append((call_position, position))
        for between in range(self._group_ends.get(call_position, call_position) + 1, position + 1):
            self.inside_group[between] = True
        self._group_ends[call_position] = position
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
            self.steps[:] = self.turns  # a preamble goes whole: what is cut starts at the user's words

    def call_answered_by(self, result: int) -> ToolCall | None:
        """The call that the tool message at `result` answers; None for an orphan."""
        index = bisect_left(self.answered_calls, result, key=itemgetter(1))
        for call_position, answer in self.answered_calls[index : index + 1]:
            if answer == result:
                call_id = self.messages[result].tool_call_id
                return next(call for call in self.messages[call_position].tool_calls if call.id == call_id)
        return None

    @property
    def turn_start(self) -> int:
        """Position at which the current turn starts: the current input is everything from there."""
        return self.turns[-1]

    @property
    def complete_turns(self) -> int:
        """How many turns lie before the current one."""
        return len(self.turns) - 1

    def range_tokens(self, start: int, stop: int) -> int:
        """Tokens of `messages[start:stop]`."""
        return self.tokens_before[stop] - self.tokens_before[start]

    def spoken_tokens(self, start: int, stop: int) -> int:
        """Tokens of `messages[start:stop]` without the system messages in it."""
        return self.spoken_before[stop] - self.spoken_before[start]

    def spoken_tokens_by(self, counter: TokenCounter, start: int, stop: int) -> int:
        """The same, counted for another model; each message is encoded once for each encoding."""
        model, own = counter.model, self.counter.model
        same_encoding = model.encoding == own.encoding
        if same_encoding and (model.image_rule == own.image_rule or not self._with_parts):
            return self.spoken_tokens(start, stop)
        before = self._spoken_by.setdefault((model.encoding, model.image_rule), [0])
        for position in range(len(before) - 1, stop):
            message = self.messages[position]
            if message.is_system or (same_encoding and not isinstance(message.content, list)):
                tokens = self.spoken_tokens(position, position + 1)
            else:
                tokens = counter.message(message)
            before.append(before[-1] + tokens)
        return before[stop] - before[start]

    @property
    def frame(self) -> Frame:
        """What every request that is made now has in common."""
        if self._frame is None:
            length = len(self.messages)
            start = self.turn_start
            leading = self.leading_systems
            self._frame = Frame(
                fixed_tokens=self.fixed_tokens + self.tokens_before[-1] - self.spoken_before[-1],
                input_tokens=self.spoken_tokens(start, length),
                leading_systems=(Recorded("system", 0, leading, self.tokens_before[leading]),) if leading else (),
                input=Recorded("input", start, length, self.range_tokens(start, length)),
            )
        return self._frame

    def window_start(self, turn: int) -> int:
        """Position from which the turns from number `turn` on are sent; turn 0 takes the preamble with it."""
        return self.turns[turn] if turn > 0 else 0

    def empty(self) -> "History":
        """A new history for the same model and tools, without messages."""
        return History(self.counter, tools=self.tools, one_turn_per_user_message=self._one_turn_per_user_message)
