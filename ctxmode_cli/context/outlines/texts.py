"""Running text, logs and source code: what it defines, what failed, what repeats, its beginning and its end."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from ctxmode_cli.context.outlines.definitions import definitions
from ctxmode_cli.context.outlines.error_lines import error_lines
from ctxmode_cli.context.outlines.fitting import Outline
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


def text_outline(text: str, limit: int, first: Sequence[str]) -> Outline:
    """The outline of a text.

    Args:
        text: The text.
        limit: Tokens of the outline, of which the definitions take half at most.
        first: The lines before it.
    """
    plain = without_blobs(text)
    lines = plain.splitlines()
    told = [f"{len(lines):,} lines", *_defined(plain, max(1, limit // TOKENS_A_DEFINITION))]
    told += [
        f"line {number:,}: {cut(in_one_line(line), SHOWN_LINE)}" for number, line in error_lines(lines)[:SHOWN_ERRORS]
    ]
    return Outline([*first, *told, *_repeated(lines)], [*_pieces(_without_runs(lines))])


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
            yield f"{times:,} lines like: {cut(in_one_line(examples[alike]), SHOWN_LINE)}"


def _without_runs(lines: Sequence[str]) -> Iterator[str]:
    for _, group in groupby(lines, key=_alike):
        run = list(group)
        if len(run) < LEAST_REPEATS:
            yield from run
        else:
            yield run[0]
            yield f"[… {len(run) - 1:,} more like this]"


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        for start in range(0, len(line), PIECE):
            end = "\n" if start + PIECE >= len(line) else ""
            yield line[start : start + PIECE] + end
