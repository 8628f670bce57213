"""What became of everything that lay before a request: kept, compressed or dropped, and why.

It is read off the finished context, so that no request pays for an audit that nobody asks for.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ctxmode_cli.context.context import Context, span
from ctxmode_cli.context.history import History, Note

RECENT_TURNS = 3
"""The last complete turns count as recent when dropped messages are counted by class: six messages, in the usual case."""

CLASSES = ("input", "recent", "older", "documents")
"""What can be dropped, from what goes last to what goes first; system messages never are."""


class Missing(NamedTuple):
    """Recorded messages that are not sent, all for one reason."""

    why: str
    """`summary` (told by it instead), `window`, `budget`, or `input` (call groups of the current input)."""
    start: int
    stop: int


class AuditLine(NamedTuple):
    """What one step did with one part of what lay before the request."""

    action: str
    """`kept`, `compressed` or `dropped`."""
    what: str
    """A class (`CLASSES`), or the purpose of a piece."""
    why: str
    start: int | None
    """First recorded message; None for a generated note."""
    stop: int | None
    tokens: int
    """As recorded; of a note as it is sent; 0 for documents, which are never counted one by one."""
    sent_tokens: int
    amount: int
    """Messages; of documents, chunks."""


def missing(context: Context) -> Iterator[Missing]:
    """The recorded messages that a context does not send, in order."""
    turn_start = context.turn_start
    for start, stop in _gaps(context):
        marks = (at for at in (context.summarised, context.wanted, turn_start) if start < at < stop)
        for begin, end in pairwise(sorted({start, stop, *marks})):
            yield Missing(_why(begin, context, turn_start), begin, end)


def audit(context: Context, history: History) -> list[AuditLine]:
    """All lines of one request: first what is sent, in its order, then what is not."""
    return [*_sent(context, history), *_left_out(context, history)]


def dropped_by_class(context: Context, history: History) -> Counter[str]:
    """How much was dropped of each class (`CLASSES`): messages, and chunks of documents."""
    dropped: Counter[str] = Counter()
    for line in _left_out(context, history):
        if line.action == "dropped":
            dropped[line.what] += line.amount
    return dropped


def _sent(context: Context, history: History) -> Iterator[AuditLine]:
    for piece in context.pieces:
        if not isinstance(piece, Note):
            messages = piece.stop - piece.start
            yield AuditLine(
                "kept", piece.purpose, "as_recorded", piece.start, piece.stop, piece.tokens, piece.tokens, messages
            )
        elif piece.replaces is None:
            yield AuditLine("kept", piece.purpose, "generated", None, None, piece.tokens, piece.tokens, 1)
        else:
            start, stop = span(piece)
            why = "long_or_repeated" if piece.purpose == "input" else "earlier_turn"
            tokens = history.range_tokens(start, stop)
            yield AuditLine("compressed", "tool_output", why, start, stop, tokens, piece.tokens, 1)


def _left_out(context: Context, history: History) -> Iterator[AuditLine]:
    told = sum(piece.tokens for piece in context.pieces if piece.purpose in {"summary", "constraints"})
    recent = _recent_start(history, context.turn_start)
    for why, start, stop in missing(context):
        tokens = history.range_tokens(start, stop)
        if why == "summary":
            yield AuditLine("compressed", "older", why, start, stop, tokens, told, stop - start)
            told = 0  # it stands for all of them, and is counted once
            continue
        marks = [recent] if start < recent < stop else []
        for begin, end in pairwise([start, *marks, stop]):
            what = "input" if why == "input" else "recent" if begin >= recent else "older"
            yield AuditLine("dropped", what, why, begin, end, history.range_tokens(begin, end), 0, end - begin)
    for why, chunks in context.documents_dropped.items():
        yield AuditLine("dropped", "documents", why, None, None, 0, 0, chunks)


def _gaps(context: Context) -> Iterator[tuple[int, int]]:
    """Ranges of recorded messages that no piece sends."""
    end = 0
    for start, stop in map(span, context.pieces):
        if start == stop:
            continue
        if start > end:
            yield end, start
        end = stop
    if end < context.length:
        yield end, context.length


def _why(position: int, context: Context, turn_start: int) -> str:
    if position >= turn_start:
        return "input"
    if position < context.summarised:
        return "summary"
    return "budget" if position >= context.wanted else "window"


def _recent_start(history: History, turn_start: int) -> int:
    """Where the recent turns before the one at `turn_start` start."""
    turn = bisect_left(history.turns, turn_start) - RECENT_TURNS
    return history.turns[turn] if turn >= 0 else 0
