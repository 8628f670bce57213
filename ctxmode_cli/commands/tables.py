"""Plain tables on stdout: as wide as the terminal, and never cut in a pipe."""

import sys
from collections.abc import Iterable, Sequence

from ctxmode_cli.commands.console import wants_colour


def write_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a title, a header line and the rows; the first column stands left, numbers stand right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ctxmode_cli.report.table import NATURAL_WIDTH

    table = Table(box=None, pad_edge=False, header_style="bold")
    cells = [[Text(cell) for cell in row] for row in rows]
    for index, column in enumerate(columns):
        numbers = index > 0 and all(row[index].plain[:1] in "+-0123456789" for row in cells)
        table.add_column(Text(column), justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else NATURAL_WIDTH
    console = Console(file=sys.stdout, width=width, no_color=not wants_colour(), highlight=False)
    console.print(Text(title), table, "", sep="\n", soft_wrap=False)
