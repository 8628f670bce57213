"""The terminal's table."""

import io
from collections.abc import Sequence
from itertools import product

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.rows import Column, Row, columns_of, table_rows
from ctxmode_cli.report.text import gate_lines, heading, notes_lines
from ctxmode_cli.report.visible import visible

NATURAL_WIDTH = 1000
"""Wider than any table: nothing is ever cut."""


def as_table(comparison: Comparison, *, width: int | None = None, colour: bool = False) -> str:
    """Heading, table, notes, what the gate says, if there is one, and, last, the answer.

    Args:
        comparison: What to show.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    console = plain_console(colour=colour)
    rows = table_rows(comparison)
    first = wrapped(heading(comparison), console, width)
    notes = [wrapped(line, console, width, "note: ") for line in notes_lines(comparison)]
    last = wrapped(visible(answer(comparison)), console, width)
    gate = [*(wrapped(line, console, width) for line in gate_lines(comparison)), ""] if comparison.gate else []
    table = fitted_table(rows, columns_of(rows), console, width)
    return "\n".join([first, "", *table, "", *notes, "", *gate, last, ""])


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
    rows: Sequence[Row],
    columns: Sequence[Column],
    console: Console,
    width: int | None,
    elsewhere: str = "a pipe or --format csv has them",
) -> list[str]:
    """The table, and which columns a narrow terminal leaves no room for: figures never break.

    First go columns that say nothing, with only zeros or dashes, then those that matter least.

    Args:
        rows: At least one.
        columns: In the order in which they stand.
        console: Lays the table out.
        width: Columns of the terminal; None for a pipe.
        elsewhere: Where to find the columns that are left out.
    """
    droppable = sorted(
        (column for column in columns if column.dropped),
        key=lambda column: (any(row[column.key] for row in rows), column.dropped),
    )
    for dropped, gap in product(range(len(droppable) + 1), (2, 1)):
        left_out = droppable[:dropped]
        table = _grid(rows, [column for column in columns if column not in left_out], gap)
        if width is None or Measurement.get(console, console.options, table).maximum <= width:
            break
    with console.capture() as captured:
        console.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    if left_out:
        titles = ", ".join(column.title for column in columns if column in left_out)
        lines += ["", wrapped(f"no room here for: {titles} ({elsewhere})", console, width)]
    return lines


def _grid(rows: Sequence[Row], columns: Sequence[Column], gap: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(column.heading), justify="left" if column.stands_left else "right", vertical="bottom")
    for cells in zip(*(column.cells(rows) for column in columns), strict=True):
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table


def wrapped(text: str, console: Console, width: int | None, prefix: str = "") -> str:
    """`prefix` and `text` in lines of the terminal's width, in which a Chinese character takes two columns."""
    if width is None:
        return prefix + text
    lines = Text(text).wrap(console, max(1, width - len(prefix)))
    return prefix + f"\n{' ' * len(prefix)}".join(line.plain.rstrip() for line in lines)
