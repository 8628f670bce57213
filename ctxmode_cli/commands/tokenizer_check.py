"""`ctxmode tokenizer-check`: whether tokens are counted as they should be, and how wrong every estimate is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.console import tell_skipped, write_result
from ctxmode_cli.commands.options import MAX_ERRORS, ON_ERROR, TABLE_OR_JSON
from ctxmode_cli.commands.tables import write_table
from ctxmode_cli.errors import ExitCode
from ctxmode_cli.report.visible import visible

if TYPE_CHECKING:
    from ctxmode_cli.tokens.check import TokenizerReport
    from ctxmode_cli.tokens.estimators import ErrorSum


def tokenizer_check(
    data: Annotated[
        list[str] | None, typer.Argument(help="Your own logs: files, directories, globs, - for stdin.")
    ] = None,
    model: Annotated[str, typer.Option(help="Whose tokens the estimates are measured against.")] = "gpt-4o",
    output_format: TABLE_OR_JSON = "table",
    on_error: ON_ERROR = "fail",
    max_errors: MAX_ERRORS = None,
) -> None:
    """Check golden counts, vocabularies and the model table; measure the error of the usual estimates.

    Each option can also be set in the environment, as CTXMODE_ and its name.

    Any mismatch exits with 1. Errors of estimates, and of usage recorded in DATA, are only reported.
    """
    from ctxmode_cli.conversation.files import Reading
    from ctxmode_cli.report.formats import to_json
    from ctxmode_cli.tokens.check import check_tokenizer
    from ctxmode_cli.tokens.models import find_model

    found = find_model(model)
    reading = Reading(data, on_error=on_error, max_errors=max_errors) if data else None
    report = check_tokenizer(found, reading.conversations() if reading else ())
    skipped = reading.skipped if reading else 0
    if output_format == "json":
        write_result(to_json(report.as_json() | {"skipped": skipped}) + "\n")
    else:
        _write_tables(report)
    if reading:
        tell_skipped(reading)
    if report.failures:
        raise typer.Exit(ExitCode.FAILED)


def _write_tables(report: "TokenizerReport") -> None:
    encodings = (
        (name, check.sha256, f"{check.cases - len(check.wrong)} of {check.cases}" + " WRONG" * bool(check.wrong))
        for name, check in report.encodings.items()
    )
    write_table("Encodings", ("encoding", "vocabulary (SHA-256)", "golden counts"), encodings, left=2)
    counts = f"tokens of {report.model.name} ({report.model.encoding})"
    if report.builtin:
        _write_errors(f"Error of estimates against {counts}: mean (worst) on built-in texts", report.builtin.by_class)
    if report.records:
        title = f"The same on your {report.records.messages:,} messages"
        _write_errors(title, report.records.estimators.by_class)
        write_result(_usage_line(report.records.usage) + "\n\n")
    for line in (*report.failures, *(f"note: {line}" for line in report.notes), report.answer):
        write_result(visible(line) + "\n")


def _write_errors(title: str, by_class: Mapping[str, Mapping[str, "ErrorSum"]]) -> None:
    estimators = next(iter(by_class.values()), {})
    rows = (
        (name, *(f"{sums[name].mean:+.0%} ({sums[name].worst:+.0%})" for sums in by_class.values()))
        for name in estimators
    )
    texts = (f"{kind} ({next(iter(sums.values())).count:,})" for kind, sums in by_class.items())
    write_table(title, ("estimate", *texts), rows)


def _usage_line(usage: "ErrorSum") -> str:
    if not usage.count:
        return "No request in your data has recorded usage."
    return (
        f"Counted against the recorded prompt tokens of {usage.count:,} requests: "
        f"{usage.mean:+.1%} in the mean, {usage.worst:+.1%} at worst."
    )
