"""What every command shares with its user: the two streams, error style, and text that cannot play tricks."""

import os
import sys
from collections.abc import Sequence

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.visible import visible

MAX_ERRORS_SHOWN = 10


def note(line: str) -> None:
    """Write one line to stderr, where everything goes that is not the result."""
    sys.stderr.write(visible(line) + "\n")


def print_errors(errors: Sequence[CtxmodeError], total: int) -> None:
    """Write the first errors in the house style, then how many there were in all."""
    for error in errors[:MAX_ERRORS_SHOWN]:
        note(f"error: {error}")
        if error.hint:
            note(f"hint: {error.hint}")
    if total > MAX_ERRORS_SHOWN:
        note(f"… and {total - MAX_ERRORS_SHOWN} more errors")


def wants_colour() -> bool:
    """Whether a terminal's user wants styles: not with NO_COLOR, nor on a dumb terminal."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
