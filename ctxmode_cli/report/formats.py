"""A comparison in the formats that a user can name: table, json, jsonl, csv, markdown."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxmode_cli.replay.breakdown import utf8
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.document import document
from ctxmode_cli.report.junit import comparison_junit
from ctxmode_cli.report.rows import Column, Row, columns_of, table_rows
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.text import gate_lines, heading, notes_lines
from ctxmode_cli.report.visible import visible

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
    """One line a mode: the table's figures unrounded, and more; empty where something was not evaluated."""
    return csv_text(table_rows(comparison))


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as CSV, a header first; empty where a value is None."""
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _inert(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def as_parquet(comparison: Comparison) -> bytes:
    """The rows of the CSV as a Parquet file; a column in which nothing was evaluated is one of floats."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only this form needs it
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    rows = [
        {key: utf8(value) if isinstance(value, str) else value for key, value in row.items()}
        for row in table_rows(comparison)
    ]
    table = pa.Table.from_pylist(rows)
    fields = [field.with_type(pa.float64()) if pa.types.is_null(field.type) else field for field in table.schema]
    out = pa.BufferOutputStream()
    pq.write_table(table.cast(pa.schema(fields)), out, compression="zstd")
    content: bytes = out.getvalue().to_pybytes()
    return content


def as_markdown(comparison: Comparison) -> str:
    """A heading, the table, notes and the answer."""
    rows = table_rows(comparison)
    notes = [f"- {escaped(line)}" for line in notes_lines(comparison)]
    table = markdown_table(rows, columns_of(rows))
    gate = [*(f"- {escaped(line)}" for line in gate_lines(comparison)), ""] if comparison.gate else []
    last = escaped(answer(comparison))
    return "\n".join([escaped(heading(comparison)), "", *table, "", *notes, "", *gate, last]) + "\n"


def markdown_table(rows: Sequence[Row], columns: Sequence[Column]) -> Iterator[str]:
    """The lines of a table, text on the left and figures on the right."""
    yield _markdown_row(column.title for column in columns)
    yield _markdown_row(":--" if column.stands_left else "--:" for column in columns)
    for cells in zip(*(column.cells(rows) for column in columns), strict=True):
        yield _markdown_row(map(escaped, cells))


def as_html(comparison: Comparison) -> str:
    """One page for a browser; it takes the extra `html`."""
    from ctxmode_cli.report.html.page import as_html as page  # noqa: PLC0415 - only a page pays for it

    return page(comparison)


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": as_table,
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": as_csv,
    "markdown": as_markdown,
    "html": as_html,
}
EXTENSIONS = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".html": "html"}
"""Which format `-o FILE` writes, as far as a command has it."""
FILE_FORMATS: dict[str, Callable[[Comparison], str | bytes]] = {
    **FORMATS,
    "junit": comparison_junit,
    "parquet": as_parquet,
}
"""Those of a comparison's files."""
FILE_EXTENSIONS = {**EXTENSIONS, ".xml": "junit", ".parquet": "parquet"}
"""Which of them `-o FILE` writes."""


def _inert(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, and no terminal for a command."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value[:1] in "=+-@\t\r" else visible(value)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """`text` with everything escaped that Markdown, HTML, a formula's dollars or a terminal would act on."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#&~$" else char for char in visible(text))
