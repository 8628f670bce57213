"""Where in a record the assistant was called: its requests.

Definitions: a turn starts at a user message that does not directly follow another one (system messages aside); a
request is one call that the assistant had to make, one before each reply; consecutive assistant messages with
nothing but system messages between them are one reply.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """One call that the assistant had to make.

    The history of the request is `messages[:position]`; its reply is the assistant messages among
    `messages[position:reply_stop]`, none where the reply is unknown (an open request).
    """

    index: int
    """0-based within the conversation."""
    turn: int
    """0-based turn it belongs to."""
    turn_start: int
    """Index of the turn's first user message."""
    position: int
    """How many messages lie before the request."""
    reply_stop: int
    """One past the last assistant message of the reply; equals `position` for an open request."""

    @property
    def is_open(self) -> bool:
        """Whether the record ends before the reply."""
        return self.reply_stop == self.position


@dataclass(frozen=True, slots=True)
class RequestList:
    """The requests of a record, and whether its last call was never answered (then no request is made there)."""

    requests: tuple[Request, ...]
    unanswered_end: bool
