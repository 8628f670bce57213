"""What every command shares with its user: the two streams, error style, and text that cannot play tricks."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxmode_cli.errors import CtxmodeError, system_errors
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted

if TYPE_CHECKING:
    from ctxmode_cli.conversation.files import Reading

MAX_ERRORS_SHOWN = 10
MAX_LENGTH = 500
"""Characters of an error; a log may hold whole documents as ids or roles."""


def note(line: str) -> None:
    """Write one line to stderr, where everything goes that is not the result."""
    sys.stderr.write(visible(line) + "\n")


def write_result(text: str) -> None:
    """Write to stdout, where nothing goes that is not the result.

    Raises:
        CtxmodeError: It cannot be written, for example to a full disk.
    """
    with system_errors("the result cannot be written", where="<stdout>"):
        sys.stdout.write(text)
        sys.stdout.flush()


def print_errors(errors: Sequence[CtxmodeError], total: int, *, label: str = "error") -> None:
    """Write the first errors in the house style, each hint once, then how many there were in all."""
    hints: dict[str, None] = {}
    for error in errors[:MAX_ERRORS_SHOWN]:
        text = str(error)
        note(f"{label}: {text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + '…'}")
        if error.hint and error.hint not in hints:
            hints[error.hint] = None
            note(f"hint: {error.hint}")
    if total > MAX_ERRORS_SHOWN:
        note(f"… and {counted(total - MAX_ERRORS_SHOWN, 'more error')}")


def tell_skipped(reading: "Reading") -> None:
    """Name the records that were left out, so that nothing is skipped in silence."""
    if reading.skipped:
        print_errors(reading.errors, reading.error_count, label="skipped")


def wants_colour() -> bool:
    """Whether stdout takes styles: NO_COLOR and FORCE_COLOR decide, else whether it is a terminal that knows them."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is; None for a pipe, where nothing is wrapped or cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
