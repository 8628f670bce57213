"""The terminal's table."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.rows import COLUMNS, Column, shown, table_rows
from ctxmode_cli.report.text import heading, notes_lines
from ctxmode_cli.report.visible import visible

NATURAL_WIDTH = 1000
"""Wider than any table: nothing is ever cut."""


def as_table(comparison: Comparison, *, width: int | None = None, colour: bool = False) -> str:
    """Heading, table, notes and, last, the answer.

    Args:
        comparison: What to show.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    console = plain_console(colour=colour)
    first = wrapped(heading(comparison), console, width)
    notes = [wrapped(f"note: {line}", console, width, "      ") for line in notes_lines(comparison)]
    last = wrapped(visible(answer(comparison)), console, width)
    return "\n".join(
        [first, "", fitted_table(table_rows(comparison), COLUMNS, console, width), "", *notes, "", last, ""]
    )


def plain_console(*, colour: bool) -> Console:
    """Where text is laid out before it is written: nothing is cut, and styles come only with `colour`."""
    return Console(
        file=io.StringIO(),
        width=NATURAL_WIDTH,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )


def fitted_table(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], console: Console, width: int | None
) -> str:
    """A table alone; in a narrow terminal the columns go that matter least: figures never break.

    Args:
        rows: Values by column key; None where something was not evaluated.
        columns: In the order in which they stand.
        console: Lays the table out.
        width: Columns of the terminal; None for a pipe.
    """
    rows = list(rows)
    table = _grid(rows, columns, 2)
    droppable = sorted((column for column in columns if column.dropped), key=lambda column: column.dropped)
    for dropped in range(len(droppable) + 1):
        kept = [column for column in columns if column not in droppable[:dropped]]
        table = _grid(rows, kept, 2 if dropped == 0 else 1)
        if width is None or Measurement.get(console, console.options, table).maximum <= width:
            break
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _grid(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], gap: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column in columns:
        title = column.title.replace(" ", "\n")
        table.add_column(Text(title), justify="left" if column.key == "mode" else "right", vertical="bottom")
    for row in rows:
        table.add_row(*(Text(visible(shown(column, row[column.key]))) for column in columns))
    return table


def wrapped(text: str, console: Console, width: int | None, indent: str = "") -> str:
    """`text` in lines of the terminal's width, in which a Chinese character takes two columns."""
    if width is None:
        return text
    lines = Text(text).wrap(console, max(1, width - len(indent)))
    return f"\n{indent}".join(line.plain.rstrip() for line in lines)
