"""`ctxmode calibrate`: profiles fitted to what was recorded."""

from contextlib import ExitStack, closing
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.console import note, tell_skipped, write_result
from ctxmode_cli.commands.options import MAX_ERRORS, ON_ERROR, TABLE_OR_JSON
from ctxmode_cli.commands.tables import write_table
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.visible import visible

if TYPE_CHECKING:
    from ctxmode_cli.conversation.files import Reading
    from ctxmode_cli.simulate.calibration import Calibration, FitError


def latency(
    data: Annotated[
        list[str],
        typer.Argument(metavar="LOGS", help="Logs whose replies have latency_s and usage; - is stdin."),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE.toml", help="Write the profile, for --latency-profile."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the conversations that are held out.")] = 0,
    holdout: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of the conversations that only measures the fit.")
    ] = 0.2,
    output_format: TABLE_OR_JSON = "table",
    on_error: ON_ERROR = "fail",
    max_errors: MAX_ERRORS = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")] = False,
) -> None:
    """Fit a latency profile to recorded times, and say how far it is off on conversations it has not seen.

    Each option can also be set in the environment, as CTXMODE_ and its name.

    Logs that cannot carry a fit are refused.
    """
    from ctxmode_cli.commands.outputs import refuse_inputs
    from ctxmode_cli.conversation.files import Reading
    from ctxmode_cli.conversation.streams import open_output
    from ctxmode_cli.profiles import EXTENSION
    from ctxmode_cli.report.formats import to_json
    from ctxmode_cli.simulate.latency import as_toml

    if output is not None and not output.lower().endswith(EXTENSION):
        hint = f"-o latency{EXTENSION}; the figures stand on stdout without it"
        raise CtxmodeError(f"a profile is a file that ends in {EXTENSION}", where=output, hint=hint)
    reading = Reading(data, on_error=on_error, max_errors=max_errors)
    refuse_inputs(reading.inputs, [output] if output else [])
    with ExitStack() as stack:
        file = stack.enter_context(open_output(output)) if output else None
        calibration = _calibrate(reading, name=output or "calibrated", seed=seed, holdout=holdout, quiet=quiet)
        if file:
            file.write(as_toml(calibration.profile).encode())
    if output_format == "json":
        write_result(to_json(calibration.as_json() | {"seed": seed, "skipped": reading.skipped}) + "\n")
    else:
        _write_tables(calibration)
    tell_skipped(reading)
    if output and not quiet:
        note(f"profile written to {output}")


def _calibrate(reading: "Reading", *, name: str, seed: int, holdout: float, quiet: bool) -> "Calibration":
    from ctxmode_cli.commands.progress import progress

    try:
        from ctxmode_cli.simulate.calibration import Observations, calibrate
    except ModuleNotFoundError as error:
        message, hint = "a fit needs scipy, which is not installed", 'pip install "ctxmode[calibrate]"'
        raise CtxmodeError(message, hint=hint) from error

    observations = Observations()
    with closing(progress(reading.conversations(), quiet=quiet)) as conversations:
        for conversation in conversations:
            observations.add(conversation)
    source = ", ".join(f"{visible(PurePath(log).name)} (sha256 {digest})" for log, digest in reading.sources)
    return calibrate(observations, name=name, source=source, seed=seed, holdout=holdout)


def _write_tables(calibration: "Calibration") -> None:
    profile = calibration.profile
    rows = [
        (key, f"{getattr(profile, key):.4g}", "" if error is None else f"{error:.1%}")
        for key, error in calibration.standard_errors.items()
    ]
    rows.append(("noise_sigma", f"{profile.noise_sigma:.4g}", ""))
    write_table("Latency profile", ("parameter", "value", "standard error"), rows)
    parts = {"fitted": calibration.fitted, "held out": calibration.held_out}
    columns = ("part", "replies", "outliers", "median error", "p95 error", "bias")
    write_table(
        "Error against the recorded times", columns, (_error_row(name, part) for name, part in parts.items() if part)
    )
    for line in (*(f"note: {line}" for line in calibration.notes), calibration.answer):
        write_result(line + "\n")


def _error_row(name: str, error: "FitError") -> tuple[str, ...]:
    return (
        name,
        f"{error.replies:,}",
        f"{error.outliers:,}",
        f"{error.median:.1%}",
        f"{error.p95:.1%}",
        f"{error.bias:+.1%}",
    )
