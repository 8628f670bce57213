"""The terminal's table."""

import io
import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.rows import COLUMNS, shown, table_rows
from ctxmode_cli.report.text import heading, notes_lines
from ctxmode_cli.report.visible import visible

NATURAL_WIDTH = 1000
"""Wider than any table: in a pipe nothing is cut."""


def as_table(comparison: Comparison, *, width: int | None = None, colour: bool = False) -> str:
    """Heading, table, notes and, last, the answer.

    Args:
        comparison: What to show.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(Text(column.title), justify="left" if column.key == "mode" else "right", overflow="fold")
    for row in table_rows(comparison):
        table.add_row(*(Text(visible(shown(column, row[column.key]))) for column in COLUMNS))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or NATURAL_WIDTH,
        force_terminal=colour,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    console.print(table)
    body = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    notes = [_wrap(f"note: {line}", width, "      ") for line in notes_lines(comparison)]
    parts = [_wrap(heading(comparison), width), "", body, "", *notes, "", _wrap(visible(answer(comparison)), width)]
    return "\n".join(parts) + "\n"


def _wrap(text: str, width: int | None, indent: str = "") -> str:
    return text if width is None else textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
