"""What stands for a tool output of an earlier turn: one line, with what a later question may need of it."""

from typing import Any

from ctxmode_cli.context.outlines.error_lines import error_lines, is_error_key
from ctxmode_cli.context.outlines.files import file_reference
from ctxmode_cli.context.outlines.key_paths import EXAMPLE, KeyPath, described, key_paths, rank
from ctxmode_cli.context.outlines.strings import (
    cut,
    in_one_line,
    json_in,
    json_lines_in,
    looks_like_json,
    without_blobs,
)
from ctxmode_cli.context.outlines.tables import table_in
from ctxmode_cli.conversation.jsonl import encode_json
from ctxmode_cli.language.sentences import sentences

LONGEST = 200
"""Characters of the line."""
SHORT = 120
"""Characters of a line that is short enough as it is."""
LONGEST_NAME = 60
FIRST_TEXT = 1_000
"""Characters of a text in which its first sentence is looked for."""
EXAMPLES = 3
SEPARATOR = ", "
ELLIPSIS = "…"


def one_line(name: str, arguments: str, text: str) -> str:
    """One line of at most 200 characters for a tool output; one that is a short line already stays.

    Args:
        name: The tool's name.
        arguments: The call's arguments, as JSON text.
        text: The tool's output.
    """
    plain = without_blobs(text).strip()
    if len(plain) <= SHORT and len(plain.splitlines()) <= 1:
        return plain
    if reference := file_reference(name, arguments, text):
        return cut(reference, LONGEST)
    called = cut(in_one_line(name), LONGEST_NAME)
    before = f"{called}: " if called else ""
    return cut(before + in_one_line(_said(plain, LONGEST - len(before))), LONGEST)


def _said(text: str, room: int) -> str:
    value = json_in(text) or json_lines_in(text)
    if value:
        return _by_path(value, room)
    if looks_like_json(text):
        return f"broken JSON, {len(text):,} characters: {text[:LONGEST]}"
    lines = text.splitlines()
    if errors := error_lines(lines):
        return errors[0][1]
    if table := table_in(text):
        return f"{table.kind}: {', '.join(table.records[0])}"
    first = next(iter(sentences(text[:FIRST_TEXT])), "")
    return f"{first} (first of {len(lines):,} lines)" if len(lines) > 1 else first


def _by_path(value: Any, room: int) -> str:
    """The shallow key paths, errors before all others; what has no room is passed over for what is shorter."""
    said: list[str] = []
    room -= len(ELLIPSIS)
    for here in sorted(key_paths([value]), key=_rank):
        passed_over = said[-1:] == [ELLIPSIS]
        if passed_over and len(here.path) >= room:
            continue  # whatever stands there, so that it need not be put into words
        part = _part(here)
        if part and (len(part) <= room or not said):
            said.append(part)
            room -= len(part) + len(SEPARATOR)
        elif part and not passed_over:
            said.append(ELLIPSIS)
    return SEPARATOR.join(said)


def _rank(here: KeyPath) -> tuple[bool, int, bool]:
    return (not _is_error(here), *rank(here))


def _is_error(here: KeyPath) -> bool:
    return here.owners == 1 and bool(here.values[0]) and is_error_key(here.path.partition(".")[0])


def _part(here: KeyPath) -> str:
    """A key path and what stands there; "" where that is nothing."""
    said = _plain(here)
    if said and here.path:
        return f"{here.path}: {said}" if _is_error(here) else f"{here.path}={said}"
    return said


def _plain(here: KeyPath) -> str:
    """A string that stands alone without quotes, nothing for a null, and all else as in an outline."""
    value = here.values[0]
    if here.owners > 1 or (value is not None and not isinstance(value, str)):
        return described(here, EXAMPLES)
    short = cut(in_one_line(value or ""), LONGEST if _is_error(here) else EXAMPLE)
    return short if short.isprintable() else encode_json(short)
