"""`ctxmode gate`: whether the results of a run hold what they should, as an exit code."""

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ctxmode_cli.commands.console import terminal_width, write_result
from ctxmode_cli.commands.options import AGAINST_OPTION, CONFIG, DIFFERENT_DATA_OPTION, GATE_OPTION, OutputFormat
from ctxmode_cli.errors import CtxmodeError

if TYPE_CHECKING:
    from ctxmode_cli.commands.config_file import ConfigFile


def gate(
    results: Annotated[str, typer.Argument(help="A results.json, or a run folder.")],
    rules: Annotated[list[str] | None, GATE_OPTION] = None,
    against: Annotated[str | None, AGAINST_OPTION] = None,
    allow_different_data: Annotated[bool, DIFFERENT_DATA_OPTION] = False,
    output_format: Annotated[OutputFormat, typer.Option("--format", help="Form of the result on stdout.")] = "table",
    files: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", help="Also write FILE (.json .jsonl .csv .md .xml); repeats."),
    ] = None,
    config: CONFIG = None,
) -> None:
    """Check the results of a run by rules, and against those of an earlier one.

    Rules and tolerances also come from the table gate of ctxmode.toml.

    Exits with 1 where a check fails, with 3 where one cannot be evaluated.

    Example: ctxmode gate results.json --gate "summary.recall.in_context >= 0.85" --against main/results.json
    """
    from ctxmode_cli.commands.gating import Gate, snapshot_of, tell_verdict
    from ctxmode_cli.commands.outputs import open_outputs, refuse_inputs
    from ctxmode_cli.replay.stored import open_run
    from ctxmode_cli.report.gate_formats import GATE_EXTENSIONS, GATE_FORMATS, gate_table
    from ctxmode_cli.report.junit import as_junit

    asked = Gate.of(cast("ConfigFile", config), rules, against, allow_different_data=allow_different_data)
    if not asked.is_asked:
        hint = "--gate RULE, --against SNAPSHOT, or [gate] in ctxmode.toml"
        raise CtxmodeError("there is nothing to check", hint=hint)
    run = open_run(results)
    refuse_inputs([results, *asked.inputs], files or ())
    with ExitStack() as stack:
        outputs = open_outputs(files or (), stack, GATE_EXTENSIONS)
        now = snapshot_of(run)
        verdict = asked.judge(now)
        junit = partial(as_junit, run.results["modes"], conversations=now.conversations)
        for file in outputs.files:
            file.write((GATE_FORMATS | {"junit": junit})[file.format](verdict))
    is_table = output_format == "table"
    write_result(gate_table(verdict, width=terminal_width()) if is_table else GATE_FORMATS[output_format](verdict))
    if code := tell_verdict(verdict, is_shown=output_format in {"table", "markdown"}):
        raise typer.Exit(code)
