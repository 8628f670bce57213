"""Plain tables on stdout: as wide as the terminal, and never cut in a pipe."""

import io
import sys
from collections.abc import Iterable, Sequence

from ctxmode_cli.commands.console import wants_colour, write_result


def write_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Write a title, a header line, the rows and an empty line; the first `left` columns stand left."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ctxmode_cli.report.table import NATURAL_WIDTH

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    terminal = sys.stdout.isatty()
    out = io.StringIO()
    Console(
        file=out, width=None if terminal else NATURAL_WIDTH, force_terminal=terminal, no_color=not wants_colour()
    ).print(table)
    body = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    write_result(f"{title}\n{body}\n\n")
