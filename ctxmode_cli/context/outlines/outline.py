"""What stands for a tool output over its limit: its kind and size, then its key paths, columns or lines."""

from collections.abc import Callable, Sequence

from ctxmode_cli.context.outlines.fitting import Outline, fits, fitted, marker
from ctxmode_cli.context.outlines.key_paths import KeyPath, item_lines, key_paths, path_lines
from ctxmode_cli.context.outlines.strings import json_in, json_lines_in, looks_like_json
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


def _outline(text: str, limit: int, fit: Callable[[Sequence[str]], bool]) -> Outline:
    """The outline by what the text is."""
    value = json_in(text)
    if value is not None:
        return _by_path("JSON", text, value, fit)
    if rows := json_lines_in(text):
        return _by_path(f"JSON lines, {len(rows):,} values", text, rows, fit)
    if looks_like_json(text):
        return text_outline(text, limit, "broken JSON")
    if table := table_in(text):
        return _richest(marker(table.kind, text), list(key_paths(table.records)), table.lines, fit)
    return text_outline(text, limit)


def _by_path(kind: str, text: str, value: object, fit: Callable[[Sequence[str]], bool]) -> Outline:
    paths = list(key_paths([value]))
    return _richest(marker(kind, text), paths, item_lines(paths), fit)


def _richest(
    first: str, paths: Sequence[KeyPath], items: Sequence[str], fit: Callable[[Sequence[str]], bool]
) -> Outline:
    """All paths with as many examples as leave room for all of them, and after them the items."""
    for examples in EXAMPLES:
        lines = [first, *path_lines(paths, examples)]
        if fit(lines):
            break
    return Outline([*lines, *items])
