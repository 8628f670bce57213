"""Fitting an outline into its limit: the most of it, in order of importance, that is within so many tokens."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

Count = Callable[[str], int]
"""Tokens of a text."""

CHARACTERS_PER_TOKEN = 12
"""Text beyond so many characters per token of the limit is not counted at all: nothing that is read is so cheap."""


class Outline(NamedTuple):
    """What an outline says, before it is fitted.

    Attributes:
        lines: The important ones first; the first is the marker, that names the kind and the size.
        body: Pieces of the text itself, line ends included; its beginning and its end are kept rather than its middle.
    """

    lines: Sequence[str]
    body: Sequence[str] = ()


def marker(kind: str, text: str) -> str:
    """The first line of an outline: that it is one, of what, and how long that was."""
    return f"[tool output shortened by ctxmode: {kind}, {len(text):,} characters]"


def fits(lines: Sequence[str], limit: int, count: Count) -> bool:
    """Whether so many lines are at most `limit` tokens; what is far beyond is not counted."""
    text = "\n".join(lines)
    return len(text) <= limit * CHARACTERS_PER_TOKEN and count(text) <= limit


def fitted(outline: Outline, limit: int, count: Count) -> str:
    """The most of `outline` that is at most `limit` tokens; `count` is called about log2 of its lines times."""
    low, high = 0, _most(outline, limit)
    best, tried = outline.lines[0][:limit], high
    while low < high:
        text = _shown(outline, tried)
        if count(text) <= limit:
            low, best = tried, text
        else:
            high = tried - 1
        tried = (low + high + 1) // 2
    return best


def _most(outline: Outline, limit: int) -> int:
    """How many lines and pieces can fit at most, by their characters."""
    room = limit * CHARACTERS_PER_TOKEN
    pieces = len(outline.lines) + len(outline.body)
    in_order = (*outline.lines, *(outline.body[position] for position in _by_rank(len(outline.body))))
    return min(pieces, max(1, sum(1 for size in accumulate(len(piece) + 1 for piece in in_order) if size <= room)))


def _by_rank(pieces: int) -> list[int]:
    """Positions of a body's pieces, in the order in which they are taken: two of the beginning, one of the end."""
    first, last = 0, pieces - 1
    order: list[int] = []
    while first <= last:
        from_end = len(order) % 3 == 2  # noqa: PLR2004 - every third
        order.append(last if from_end else first)
        first, last = first + (not from_end), last - from_end
    return order


def _shown(outline: Outline, kept: int) -> str:
    lines = list(outline.lines[:kept])
    if kept < len(outline.lines):
        return "\n".join([*lines, f"… {len(outline.lines) - kept:,} more"])
    text = "\n".join(lines)
    if not outline.body:
        return text
    taken = kept - len(outline.lines)
    last = taken // 3
    head, left_out = outline.body[: taken - last], outline.body[taken - last : len(outline.body) - last]
    tail = outline.body[len(outline.body) - last :]
    return f"{text}\n{''.join(head)}{_gap(left_out)}{''.join(tail)}".rstrip("\n")


def _gap(pieces: Sequence[str]) -> str:
    if not pieces:
        return ""
    lines = sum(piece.endswith("\n") for piece in pieces)
    size = f"{sum(map(len, pieces)):,} characters"
    return f"\n[… {lines:,} lines, {size} left out]\n" if lines else f" [… {size} left out …] "
