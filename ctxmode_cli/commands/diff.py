"""`ctxmode diff`: what changed between two runs."""

from typing import Annotated, Literal

import typer

from ctxmode_cli.commands.console import terminal_width, wants_colour, write_result
from ctxmode_cli.commands.options import DIFFERENT_DATA_OPTION


def diff(
    before: Annotated[str, typer.Argument(help="The first run: a results.json, or a run folder.")],
    after: Annotated[str, typer.Argument(help="The second run, likewise.")],
    allow_different_data: Annotated[bool, DIFFERENT_DATA_OPTION] = False,
    output_format: Annotated[
        Literal["table", "json", "markdown"], typer.Option("--format", help="Form of the result on stdout.")
    ] = "table",
) -> None:
    """Show what changed between two runs: settings, totals, and of run folders each conversation, most harmed first.

    Each option can also be set in the environment, as CTXMODE_ and its name. Runs on different data are refused.

    Example: ctxmode diff main/ run/
    """
    from ctxmode_cli.commands.gating import snapshot_of
    from ctxmode_cli.replay.stored import open_run
    from ctxmode_cli.report.diff import diff as compared
    from ctxmode_cli.report.diff_formats import DIFF_FORMATS, diff_table
    from ctxmode_cli.report.snapshots import require_same_data

    first, second = open_run(before), open_run(after)
    require_same_data(second.results, first.results, where=before, allow_different=allow_different_data)
    found = compared(snapshot_of(first), snapshot_of(second))
    if output_format == "table":
        write_result(diff_table(found, width=terminal_width(), colour=wants_colour()))
    else:
        write_result(DIFF_FORMATS[output_format](found))
