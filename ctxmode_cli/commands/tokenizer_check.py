"""`ctxmode tokenizer-check`: whether tokens are counted as they should be, and how wrong every estimate is."""

import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmode_cli.commands.console import note, visible
from ctxmode_cli.errors import ExitCode

if TYPE_CHECKING:
    from rich.table import Table

    from ctxmode_cli.tokens.check import TokenizerReport
    from ctxmode_cli.tokens.estimators import ErrorSum

PIPED_WIDTH = 200
"""Columns where the output is no terminal; tables take no more than they need."""


class OutputFormat(StrEnum):
    """The forms of the result."""

    TABLE = "table"
    JSON = "json"


class OnError(StrEnum):
    """What a record that cannot be read leads to."""

    FAIL = "fail"
    SKIP = "skip"


def tokenizer_check(
    data: Annotated[list[str] | None, typer.Argument(help="Logs of your own: files, folders, globs, or - for stdin.")] = None,
    model: Annotated[str, typer.Option(help="Whose tokens the estimates are measured against.")] = "gpt-4o",
    output_format: Annotated[OutputFormat, typer.Option("--format", help="Form of the result.")] = OutputFormat.TABLE,
    on_error: Annotated[OnError, typer.Option(help="Stop at records that cannot be read, or skip them.")] = OnError.FAIL,
    max_errors: Annotated[int | None, typer.Option(min=0, help="How many bad records are borne.")] = None,
) -> None:
    """Check golden counts, vocabularies and the model table; measure the error of estimates.

    Exits with 1 on any mismatch. Errors of estimates, and of recorded usage in DATA, are reported only.
    """
    from ctxmode_cli.conversation.files import Reading
    from ctxmode_cli.tokens.check import check_tokenizer
    from ctxmode_cli.tokens.models import find_model

    found = find_model(model)
    reading = Reading(data, on_error=on_error.value, max_errors=max_errors) if data else None
    report = check_tokenizer(found, reading.conversations() if reading else ())
    skipped = reading.skipped if reading else 0
    if output_format is OutputFormat.JSON:
        result = report.as_json() | {"skipped": skipped}
        sys.stdout.write(json.dumps(result, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
    else:
        _print_tables(report)
    if skipped:
        note(f"note: {skipped} records were skipped")
    if report.failures:
        raise typer.Exit(ExitCode.FAILED)


def _print_tables(report: "TokenizerReport") -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPED_WIDTH
    console = Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False)
    console.print(_encodings_table(report))
    where = f"for {report.model.name} ({report.model.encoding}), mean and worst"
    if report.builtin:
        console.print(_errors_table(f"Error of estimates {where}", report.builtin.by_class))
    if report.records:
        title = f"The same on your {report.records.messages:,} messages, {where}"
        console.print(_errors_table(title, report.records.estimators.by_class))
        console.print(_usage_line(report.records.usage))
    for line in (*report.failures, *report.notes, report.answer):
        console.print(visible(line), soft_wrap=True)


def _encodings_table(report: "TokenizerReport") -> "Table":
    from rich.table import Table

    table = Table("encoding", "vocabulary (SHA-256)", "golden counts", title="Encodings", title_justify="left")
    for name, check in report.encodings.items():
        right = check.cases - len(check.wrong)
        table.add_row(name, check.sha256, f"{right} of {check.cases}" + (" WRONG" if check.wrong else ""))
    return table


def _errors_table(title: str, by_class: Mapping[str, Mapping[str, "ErrorSum"]]) -> "Table":
    from rich.table import Table

    table = Table("estimate", title=title, title_justify="left")
    for kind in by_class:
        table.add_column(kind, justify="right")
    for name in next(iter(by_class.values()), {}):
        cells = (f"{sums[name].mean:+.0%} ({sums[name].worst:+.0%})" for sums in by_class.values())
        table.add_row(name, *cells)
    return table


def _usage_line(usage: "ErrorSum") -> str:
    if not usage.count:
        return "No request in your data has recorded usage."
    return (
        f"Counted against recorded prompt tokens of {usage.count:,} requests: "
        f"{usage.mean:+.1%} in the mean, {usage.worst:+.1%} at worst."
    )
