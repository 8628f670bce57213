"""A comparison in the formats that a user can name: table, json, jsonl, csv, markdown."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.document import document
from ctxmode_cli.report.rows import COLUMNS, Column, shown, table_rows
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.text import heading, notes_lines

_UNSHOWN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control, bidirectional and surrogate characters; JSON itself escapes the controls of ASCII."""


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON with sorted keys; characters that a terminal would act upon, or UTF-8 cannot carry, are escaped."""
    text = json.dumps(value, indent=indent, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return _UNSHOWN.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def as_json(comparison: Comparison) -> str:
    """Format 1, the whole document."""
    return to_json(document(comparison)) + "\n"


def as_jsonl(comparison: Comparison) -> str:
    """One line a mode: its part of format 1, with its name and how many records were skipped."""
    modes = document(comparison)["modes"]
    return "".join(
        to_json({"mode": name, "skipped": comparison.skipped, **part}, indent=None) + "\n"
        for name, part in modes.items()
    )


def as_csv(comparison: Comparison) -> str:
    """The table with unrounded values; empty where something was not evaluated."""
    rows = ({**row, "skipped": comparison.skipped} for row in table_rows(comparison))
    return csv_text([*(column.key for column in COLUMNS), "skipped"], rows)


def csv_text(keys: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV, a header first; empty where a value is None."""
    out = io.StringIO()
    writer = csv.DictWriter(out, keys, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "mode": _inert(row["mode"])})
    return out.getvalue()


def as_markdown(comparison: Comparison) -> str:
    """A heading, the table, notes and the answer."""
    lines = [heading(comparison), "", *markdown_table(COLUMNS, table_rows(comparison)), ""]
    notes = [f"- {escaped(line)}" for line in notes_lines(comparison)]
    return "\n".join([*lines, *notes, "", escaped(answer(comparison))]) + "\n"


def markdown_table(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a table, whose first column stands left."""
    yield "| " + " | ".join(column.title for column in columns) + " |"
    yield "| :-- |" + " --: |" * (len(columns) - 1)
    for row in rows:
        cells = [escaped(shown(column, row[column.key])) for column in columns]
        yield "| " + " | ".join(cells) + " |"


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": as_csv,
    "markdown": as_markdown,
}
EXTENSIONS = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown"}
"""Which format `-o FILE` writes."""


def _inert(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text


def escaped(text: str) -> str:
    """`text` with everything escaped that Markdown, HTML or a formula's dollars would act on."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#&~$" else char for char in text)
