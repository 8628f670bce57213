"""Texts of a log cut to a size, so that no log makes a page too large to open."""

from html import escape
from itertools import accumulate
from typing import NamedTuple

from ctxmode_cli.report.visible import visible

BEFORE = 3
"""Of what is shown around a marked part, one in so many bytes stands before it."""


class Passage(NamedTuple):
    """A part of a text, perhaps with a part of it marked."""

    before: str
    marked: str = ""
    after: str = ""
    left_out: int = 0
    """Characters of the text that are not shown, on both sides."""


def passage(text: str, limit: int, marked: str = "") -> Passage:
    """As much of a text as goes into a page in so many bytes.

    Args:
        text: Of a log.
        limit: Bytes, once it is escaped and written as UTF-8.
        marked: What to mark where the text says it first, and to show in any case.
    """
    at = text.find(marked) if marked else -1
    if at < 0:
        shown = _start(text, limit)
        return Passage(shown, left_out=len(text) - len(shown))
    marked = _start(marked, limit)
    rest = limit - size(marked)
    before = _start(text[:at][::-1], rest // BEFORE)[::-1]
    after = _start(text[at + len(marked) :], rest - size(before))
    return Passage(before, marked, after, len(text) - len(before) - len(marked) - len(after))


def size(text: str) -> int:
    """Bytes that a text takes in a page."""
    return sum(map(_size, text))


def _start(text: str, limit: int) -> str:
    """The longest start of a text that takes no more bytes."""
    sizes = accumulate(map(_size, text[:limit]))
    return text[: sum(1 for used in sizes if used <= limit)]


def _size(char: str) -> int:
    return len(escape(char if char == "\n" else visible(char)).encode())
