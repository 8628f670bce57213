"""Where in a record the assistant was called: its requests."""

from collections.abc import Sequence
from dataclasses import dataclass

from ctxmode_cli.conversation.message import Message


@dataclass(frozen=True, slots=True)
class Request:
    """One call that the assistant had to make.

    Its history is `messages[:position]`; its reply is the assistant messages among `messages[position:reply_stop]`,
    none where the reply is unknown.
    """

    index: int
    """0-based within the conversation."""
    position: int
    """How many messages lie before the request."""
    reply_stop: int
    """One past the last assistant message of the reply; equals `position` for an open request."""

    @property
    def is_open(self) -> bool:
        """Whether the record ends before the reply."""
        return self.reply_stop == self.position


def list_requests(messages: Sequence[Message]) -> list[Request]:
    """The requests of a record, in order.

    One before each assistant reply, where consecutive assistant messages with nothing but system messages between
    them are one reply, and none before the first user message. A record whose last non-system message is a user's or
    a tool's has one more, open request, unless calls of that last step are still unanswered. In a record without any
    assistant message each user message has one open request.
    """
    if has_replies(messages):
        return _answered_requests(messages)
    turns = [index for index, message in enumerate(messages) if message.role == "user"]
    stops = [*turns[1:], len(messages)]
    return [Request(index, stop, stop) for index, stop in enumerate(stops)] if turns else []


def has_replies(messages: Sequence[Message]) -> bool:
    """Whether the assistant says anything in this record."""
    return any(message.role == "assistant" for message in messages)


def _answered_requests(messages: Sequence[Message]) -> list[Request]:
    starts: list[int] = []
    stops: list[int] = []
    unanswered: set[str] = set()
    user_spoke = False
    previous = ""
    for index, message in enumerate(messages):
        role = message.role
        if message.is_system:
            continue
        if role == "user":
            user_spoke = True
        elif role == "tool":
            unanswered.discard(message.tool_call_id or "")
        elif previous == "assistant":
            unanswered.update(call.id for call in message.tool_calls)
            if stops:
                stops[-1] = index + 1
        else:
            unanswered = {call.id for call in message.tool_calls}
            if user_spoke:
                starts.append(index)
                stops.append(index + 1)
        previous = role
    if user_spoke and (previous == "user" or (previous == "tool" and not unanswered)):
        starts.append(len(messages))
        stops.append(len(messages))
    return [Request(index, *span) for index, span in enumerate(zip(starts, stops, strict=True))]
