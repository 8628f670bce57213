"""Where a replaying command's conversations come from: the user's logs, or the built-in sessions."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence

from ctxmode_cli.commands.console import tell_skipped
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.files import Reading, sample
from ctxmode_cli.conversation.jsonl import sorted_json
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError, InputErrors

BUILT_IN_SESSIONS = 200
BUILT_IN_SEED = 0
BUILT_IN_NAME = f"{BUILT_IN_SESSIONS} built-in sessions"


class Source:
    """The conversations of one run, and what there is to say about where they came from.

    Args:
        paths: The user's logs; None for the built-in sessions.
        options: Sample, limit, and what a bad record does.
    """

    def __init__(self, paths: Sequence[str] | None, options: ReplayOptions) -> None:
        self._options = options
        self._reading = Reading(paths, on_error=options.on_error, max_errors=options.max_errors) if paths else None
        self._built_in_digest = hashlib.sha256()

    @property
    def description(self) -> str:
        """What is read, in a few words."""
        return BUILT_IN_NAME if self._reading is None else ", ".join(self._reading.inputs)

    @property
    def inputs(self) -> list[str]:
        """The files that are read; none for the built-in sessions."""
        return [] if self._reading is None else self._reading.inputs

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Name and sha256 of each input."""
        if self._reading is None:
            return [(BUILT_IN_NAME, self._built_in_digest.hexdigest())]
        return self._reading.sources

    @property
    def skipped(self) -> int:
        """Records that were left out as faulty."""
        return 0 if self._reading is None else self._reading.skipped

    def conversations(self) -> Iterator[Conversation]:
        """The conversations to replay: all, a sample, the first few."""
        conversations: Iterable[Conversation] = (
            self._built_in() if self._reading is None else self._reading.conversations()
        )
        if self._options.sample is not None:
            conversations = sample(conversations, self._options.sample, self._options.seed)
        return itertools.islice(conversations, self._options.limit)

    def reject(self, error: CtxmodeError) -> None:
        """Take note of a conversation that could not be replayed."""
        if self._reading is None:
            raise error
        self._reading.reject(error)

    def tell_skipped(self) -> None:
        """Name the records that were left out."""
        if self._reading is not None:
            tell_skipped(self._reading)

    def check_some_left(self, conversations: int) -> None:
        """Refuse a run of which every conversation was skipped.

        Raises:
            InputErrors: None of them was replayed.
        """
        if self._reading is not None and not conversations:
            raise InputErrors(self._reading.errors, self._reading.error_count)

    def _built_in(self) -> Iterator[Conversation]:
        from ctxmode_cli.generate.sessions import generate_sessions

        for number, record in enumerate(generate_sessions(BUILT_IN_SESSIONS, BUILT_IN_SEED), 1):
            self._built_in_digest.update(sorted_json(record).encode())
            yield parse_conversation(record, where=f"session {number}", default_id=str(number))
