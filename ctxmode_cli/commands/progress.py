"""How far a run is, on stderr: a live line in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Generator, Iterable
from typing import TypeVar

from ctxmode_cli.commands.console import note
from ctxmode_cli.report.words import counted

Item = TypeVar("Item")
TERMINAL_SECONDS = 0.2
LOG_SECONDS = 15.0


def progress(items: Iterable[Item], *, quiet: bool) -> Generator[Item]:
    """Hand on the items, saying how many and how fast; close it, and the live line is gone before an error is told."""
    if quiet:
        yield from items
        return
    live = sys.stderr.isatty()
    pause = TERMINAL_SECONDS if live else LOG_SECONDS
    started = shown = time.monotonic()
    try:
        for count, item in enumerate(items, 1):
            yield item
            now = time.monotonic()
            if now - shown < pause:
                continue
            shown = now
            line = f"{counted(count, 'conversation')}, {count / (now - started):,.0f} a second"
            if live:
                sys.stderr.write(f"\r\033[K{line}")
                sys.stderr.flush()
            else:
                note(line)
    finally:
        if live:
            sys.stderr.write("\r\033[K")
