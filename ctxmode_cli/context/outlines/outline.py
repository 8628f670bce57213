"""What stands for a tool output over its limit: its kind and size, then its key paths, columns or lines."""

from collections.abc import Callable, Sequence
from itertools import islice

from ctxmode_cli.context.outlines.fitting import Outline, fits, fitted
from ctxmode_cli.context.outlines.key_paths import KeyPath, item_lines, key_paths, path_lines
from ctxmode_cli.context.outlines.strings import fault_of_json, json_in, json_lines_in, looks_like_json
from ctxmode_cli.context.outlines.tables import table_in
from ctxmode_cli.context.outlines.texts import text_outline

EXAMPLES = (6, 3, 1)
"""Values beside one another that are shown, of each key path: as many as leave room for all paths."""


def outline(text: str, limit: int, count: Callable[[str], int]) -> str:
    """What stands for a tool output of more than `limit` tokens.

    Where it would be over the limit, whole items go first, then examples, then the deep key paths; of running text
    the middle goes. The scalars near the top stay longest.

    Args:
        text: The tool output.
        limit: Tokens that the outline has at most.
        count: Tokens of a text.
    """
    return fitted(_outline(text, limit, lambda lines: fits(lines, limit, count)), limit, count)


def _outline(text: str, most: int, fit: Callable[[Sequence[str]], bool]) -> Outline:
    """The outline by what the text is; of more than `most` lines of a kind no one asks."""
    value = json_in(text)
    if value is not None:
        return _by_path(_marker("JSON", text), [value], most, fit)
    if rows := json_lines_in(text):
        return _by_path(_marker(f"JSON lines, {len(rows):,} values", text), [rows], most, fit)
    if looks_like_json(text):
        return text_outline(text, most, [_marker("broken JSON", text), fault_of_json(text)])
    if table := table_in(text):
        paths = list(key_paths(table.records))
        return _richest(_marker(table.kind, text), paths, list(islice(table.lines, most)), fit)
    return text_outline(text, most, [_marker("text", text)])


def _by_path(marker: str, values: Sequence[object], most: int, fit: Callable[[Sequence[str]], bool]) -> Outline:
    paths = list(key_paths(values))
    return _richest(marker, paths, item_lines(paths, most), fit)


def _richest(
    marker: str, paths: Sequence[KeyPath], items: Sequence[str], fit: Callable[[Sequence[str]], bool]
) -> Outline:
    """All paths with as many examples as leave room for all of them, and after them the items."""
    for examples in EXAMPLES:
        lines = [marker, *path_lines(paths, examples)]
        if fit(lines):
            break
    return Outline([*lines, *items])


def _marker(kind: str, text: str) -> str:
    return f"[tool output shortened by ctxmode: {kind}, {len(text):,} characters]"
