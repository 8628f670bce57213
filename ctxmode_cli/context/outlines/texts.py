"""Running text, logs and source code: what it defines, what failed, what repeats, its beginning and its end."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, repeat

from ctxmode_cli.context.outlines.definitions import definitions
from ctxmode_cli.context.outlines.error_lines import error_lines
from ctxmode_cli.context.outlines.fitting import Outline, marker
from ctxmode_cli.context.outlines.strings import cut, in_one_line, without_blobs

PIECE = 200
"""Characters of a piece; a longer line is more than one."""
LEAST_CODE = 2
"""Definitions from which a text is source code."""
LEAST_REPEATS = 3
SHOWN_REPEATS = 3
SHOWN_ERRORS = 10
SHOWN_LINE = 160
"""Characters of a line that is told of."""
TOKENS_A_DEFINITION = 24
"""So many of the limit's tokens for each definition that is told of: about half the outline."""
_NUMBERS = re.compile(r"\d+")


def text_outline(text: str, limit: int, kind: str = "") -> Outline:
    """The outline of a text.

    Args:
        text: The text.
        limit: Tokens of the outline, of which the definitions take half at most.
        kind: What it is, where its words alone do not say it.
    """
    plain = without_blobs(text)
    lines = plain.splitlines()
    defined = _defined(plain, max(1, limit // TOKENS_A_DEFINITION))
    errors = [f"line {number:,}: {_shown(line)}" for number, line in error_lines(lines)[:SHOWN_ERRORS]]
    # Brackets and keywords repeat in all source code.
    told = [*defined, *errors] if defined else [*errors, *_repeated(lines)]
    size = f"{len(lines):,} {'line' if len(lines) == 1 else 'lines'}"
    first = marker(kind or ("source code" if defined else "text"), text)
    return Outline([first, size, *told], [*_pieces(_without_runs(lines))])


def _shown(line: str) -> str:
    return cut(in_one_line(line), SHOWN_LINE)


def _defined(text: str, most: int) -> list[str]:
    found = definitions(text)
    if len(found) < LEAST_CODE:
        return []
    told = [f"line {each.line:,}: {each.kind} {each.name}" for each in found[:most]]
    return ["defines:", *told, *([f"… {len(found) - most:,} more definitions"] if len(found) > most else [])]


def _alike(line: str) -> str:
    """What lines of a log have in common that differ in times and counts."""
    return _NUMBERS.sub("0", line.strip())


def _repeated(lines: Sequence[str]) -> Iterator[str]:
    """The lines that come most often, with how often; alike but for their numbers."""
    found = Counter(alike for line in lines if (alike := _alike(line)))
    examples = {alike: line for line in reversed(lines) if found[alike := _alike(line)] >= LEAST_REPEATS}
    for alike, times in found.most_common(SHOWN_REPEATS):
        if times >= LEAST_REPEATS:
            yield f"{times:,} lines like: {_shown(examples[alike])}"


def _without_runs(lines: Sequence[str]) -> Iterator[str]:
    """The lines, of equal ones in a row the first; lines that differ in numbers alone may carry what is asked for."""
    for line, group in groupby(lines):
        times = sum(1 for _ in group)
        if times < LEAST_REPEATS or not line.strip():
            yield from repeat(line, times)
        else:
            yield from (line, f"[… {times - 1:,} more like this]")


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    """Lines with their ends, long ones in pieces; empty lines are left out."""
    for line in lines:
        for start in range(0, len(line), PIECE):
            end = "\n" if start + PIECE >= len(line) else ""
            yield line[start : start + PIECE] + end
