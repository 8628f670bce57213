"""The entry point: the list of commands, and the one place that prints an error and chooses an exit code."""

import errno
import gc
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ctxmode_cli import __version__
from ctxmode_cli.commands.calibrate import latency
from ctxmode_cli.commands.compare import compare
from ctxmode_cli.commands.console import note, print_errors, write_result
from ctxmode_cli.commands.convert import convert
from ctxmode_cli.commands.diff import diff
from ctxmode_cli.commands.forecast import forecast
from ctxmode_cli.commands.formats import formats
from ctxmode_cli.commands.gate import gate
from ctxmode_cli.commands.generate import generate
from ctxmode_cli.commands.inspect_request import inspect
from ctxmode_cli.commands.label import label
from ctxmode_cli.commands.models import models
from ctxmode_cli.commands.modes import modes
from ctxmode_cli.commands.options import from_environment
from ctxmode_cli.commands.replay import replay
from ctxmode_cli.commands.tokenizer_check import tokenizer_check
from ctxmode_cli.errors import CtxmodeError, ExitCode, InputErrors, system_errors

EPILOG = "Exit codes: 0 passed, 1 a gate or check failed, 2 usage or bad input, 3 not evaluated, 4 internal error."

app = typer.Typer(
    name="ctxmode",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
    pretty_exceptions_enable=False,
)

for command in (
    compare,
    replay,
    gate,
    diff,
    inspect,
    forecast,
    generate,
    convert,
    label,
    tokenizer_check,
    modes,
    models,
    formats,
):
    app.command()(from_environment(command))

calibrations = typer.Typer(no_args_is_help=True)
calibrations.command()(from_environment(latency))
app.add_typer(calibrations, name="calibrate", help="Fit profiles to what you recorded.")


def _print_version(wanted: bool) -> None:
    if wanted:
        write_result(f"ctxmode {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replay recorded LLM conversations through each context mode and measure what each would have sent."""


def main() -> None:
    """Run the command line; every way out has its exit code, and a crash is never a 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 shows what it cannot write
    try:
        app()
    except InputErrors as error:
        print_errors(error.errors, error.total)
        sys.exit(ExitCode.USAGE)
    except CtxmodeError as error:
        print_errors([error], 1)
        sys.exit(ExitCode.USAGE)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except SystemExit as stop:
        # typer ends with 1 where whoever read stdout has gone; here 1 means a failed gate.
        if isinstance(stop.__context__, BrokenPipeError):
            sys.exit(ExitCode.INTERRUPTED)
        # It also ends so after an EOFError, which it takes for the end of a prompt; there are no prompts here.
        if isinstance(stop.__context__, typer.Abort) and stop.__context__.__cause__:
            _end_with_crash(stop.__context__.__cause__)
        raise
    except BaseException as error:  # noqa: BLE001 - the catch-all that keeps a crash, of a library in Rust too, from looking like a failed gate
        _end_with_crash(error)


def _end_with_crash(error: BaseException) -> NoReturn:
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        # Whoever was writing, such as the library that prints the help: a full disk is no fault of ctxmode.
        where = str(error.filename or "<stdout>")
        print_errors([CtxmodeError(f"the result cannot be written: {error.strerror}", where=where)], 1)
        sys.exit(ExitCode.USAGE)
    note(f"internal error: {type(error).__name__}: {error}")
    for line in "".join(traceback.format_tb(error.__traceback__)).splitlines():
        note(line)
    note("hint: this is a fault of ctxmode; please report it with the lines above")
    sys.exit(ExitCode.INTERNAL)


def run() -> NoReturn:
    """Run the command line as a process of its own, which ends as soon as all is written.

    Python would first take apart, one by one, the hundreds of thousands of objects that a vocabulary is made of.
    """
    # Reference cycles are looked for more rarely: a replay makes many small objects and no cycles.
    gc.set_threshold(1_000_000)
    code: int | str | None = ExitCode.OK
    try:
        _open_closed_streams()
        main()
    except SystemExit as stop:
        code = stop.code
    try:
        with system_errors("the result cannot be written", where="<stdout>"):
            sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = ExitCode.INTERRUPTED
    except CtxmodeError as error:
        if not code:  # else it was told, and this is what could not be written then
            print_errors([error], 1)
            code = ExitCode.USAGE
    os._exit(code if isinstance(code, int) else ExitCode.OK)


def _open_closed_streams() -> None:
    """Give a process that was started without a standard stream an empty one, since libraries take them for granted."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - it stays open as long as the process
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - likewise
        print_errors([CtxmodeError("there is nowhere to write the result", where="<stdout>")], 1)
        sys.exit(ExitCode.USAGE)
