"""Tables in a tool output: comma, tab or semicolon between the cells, or Markdown's pipes."""

import csv
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

LEAST_ROWS = 3
LONGEST_HEADING = 60
"""Characters of a column's name; a longer one is a sentence."""
_RULE = re.compile(r"\s*+\|?(?:\s*+:?-{2,}+:?\s*+\|?)++\s*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_HEADING = re.compile(r"[^\W\d]")


class Table(NamedTuple):
    """A table and its rows.

    Attributes:
        kind: What it is, in words.
        records: Each row by its columns' names; a number as such.
        lines: The rows as they stand in the text.
    """

    kind: str
    records: Sequence[dict[str, Any]]
    lines: Sequence[str]


def table_in(text: str) -> Table | None:
    """The table that `text` is; None where it is none, or holds more than the table."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if len(lines) < LEAST_ROWS:
        return None
    if "|" in lines[0] and _RULE.fullmatch(lines[1]):
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        return _table("Markdown table", [rows[0], *rows[2:]], lines[2:])
    for delimiter, kind in (("\t", "table (TSV)"), (",", "table (CSV)"), (";", "table (CSV)")):
        if delimiter in lines[0] and (table := _delimited(lines, delimiter, kind)):
            return table
    return None


def _delimited(lines: Sequence[str], delimiter: str, kind: str) -> Table | None:
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:  # a cell of more than 128 KiB is none
        return None
    return _table(kind, rows, lines[1:])


def _table(kind: str, rows: Sequence[Sequence[str]], lines: Sequence[str]) -> Table | None:
    heading = rows[0]
    if len(rows) < LEAST_ROWS or len(heading) < 2 or len(set(heading)) < len(heading):  # noqa: PLR2004 - one is no table
        return None
    named = all(len(cell) <= LONGEST_HEADING and _HEADING.match(cell.strip()) for cell in heading)
    if not named or any(len(row) != len(heading) for row in islice(rows, 1, None)):
        return None
    records = [dict(zip(heading, map(_cell, row), strict=True)) for row in rows[1:]]
    return Table(f"{kind}, {len(heading):,} columns, {len(records):,} rows", records, lines)


def _cell(text: str) -> str | int | float | None:
    text = text.strip()
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)
