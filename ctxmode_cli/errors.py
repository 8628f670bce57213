"""The one error type that reaches the user, and the exit codes that the command line promises."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


class InputErrors(CtxmodeError):  # noqa: N818 - it is several errors
    """All that is wrong with an input: the first errors, and how many there were.

    Args:
        errors: The first errors in the order of the input; at least one.
        total: How many there were in all.
    """

    def __init__(self, errors: Sequence[CtxmodeError], total: int) -> None:
        super().__init__(errors[0].message, hint=errors[0].hint, where=errors[0].where)
        self.errors = list(errors)
        self.total = total


@contextmanager
def system_errors(message: str, *, where: str) -> Iterator[None]:
    """Tell what the operating system refuses as an error of the place, which the user can act on.

    Args:
        message: What could not be done, such as "the file cannot be written".
        where: The place.

    Raises:
        CtxmodeError: The operating system refused something.
        BrokenPipeError: Whoever read a pipe has gone, which is no error.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CtxmodeError(f"{message}: {error.strerror or error}", where=where) from error
