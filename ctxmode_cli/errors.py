"""The one error type that reaches the user, and the exit codes that the command line promises."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process returns; part of the public API."""

    OK = 0
    """Ran, and every gate or check passed."""
    FAILED = 1
    """A gate or a check failed."""
    USAGE = 2
    """Wrong usage, wrong configuration, bad input, or no conversations at all."""
    NOT_EVALUATED = 3
    """Nothing failed, but something that was asked for could not be evaluated."""
    INTERNAL = 4
    """A fault of ctxmode itself."""
    INTERRUPTED = 130
    """Stopped by the user."""


class CtxmodeError(Exception):
    """An error the user can act on: what is wrong, where, and what to do about it.

    Args:
        message: One sentence, lower case, without a full stop.
        hint: What to do about it, or "".
        where: `file`, `file:line` or another place, or "".
    """

    def __init__(self, message: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message
