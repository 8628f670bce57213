"""`ctxmode convert`: any readable log to JSON lines or Parquet."""

from typing import Annotated

import typer

from ctxmode_cli.commands.console import note, tell_skipped
from ctxmode_cli.commands.options import MAX_ERRORS, ON_ERROR
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.words import counted


def convert(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="IN... OUT", help='Logs (files, directories, globs, "-"), then the file to write.'),
    ],
    on_error: ON_ERROR = "fail",
    max_errors: MAX_ERRORS = None,
) -> None:
    """Convert logs to the format and compression that OUT's extension names; nothing of a record is lost.

    Each option can also be set in the environment, as CTXMODE_ and its name.
    """
    from ctxmode_cli.commands.outputs import refuse_inputs
    from ctxmode_cli.conversation.files import Reading, open_writer

    *inputs, output = paths
    if not inputs:
        raise CtxmodeError("an input and an output are needed", hint="ctxmode convert logs.jsonl.gz logs.parquet")
    reading = Reading(inputs, on_error=on_error, max_errors=max_errors)
    refuse_inputs(reading.inputs, [output])
    count = 0
    with open_writer(output) as writer:
        for conversation in reading.conversations():
            writer.write(conversation)
            count += 1
    tell_skipped(reading)
    skipped = f", {reading.skipped:,} bad skipped" if reading.skipped else ""
    note(f"{counted(count, 'conversation')} written to {output}{skipped}")
