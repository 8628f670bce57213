"""What a gate says, by itself, in the formats that a user can name; and as annotations of a CI server."""

from collections.abc import Callable, Iterator

from ctxmode_cli.replay.verdict import Verdict
from ctxmode_cli.report.formats import csv_text, escaped, markdown_table, to_json
from ctxmode_cli.report.gate_checks import (
    COLUMNS,
    check_line,
    check_rows,
    gate_answer,
    gate_document,
    lost_lines,
    named,
    unmoved_lines,
)
from ctxmode_cli.report.table import plain_console, wrapped
from ctxmode_cli.report.visible import visible

MAX_ANNOTATIONS = 10
"""GitHub shows no more of a step."""


def gate_table(verdict: Verdict, *, width: int | None = None) -> str:
    """A line a check, the conversations that lost facts, notes and, last, the whole in one sentence.

    Args:
        verdict: What to show.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped.
    """
    console = plain_console(colour=False)
    parts = [
        [*(check_line(check) for check in verdict.checks if not check.is_unmoved), *unmoved_lines(verdict)],
        list(lost_lines(verdict)),
        [f"note: {note}" for note in verdict.notes],
        [gate_answer(verdict)],
    ]
    texts = ["\n".join(wrapped(visible(line), console, width) for line in lines) for lines in parts if lines]
    return "\n\n".join(texts) + "\n"


def gate_json(verdict: Verdict) -> str:
    """The part `gate` of format 1."""
    return to_json(gate_document(verdict)) + "\n"


def gate_jsonl(verdict: Verdict) -> str:
    """One line a check."""
    return "".join(to_json(row, indent=None) + "\n" for row in check_rows(verdict))


def gate_csv(verdict: Verdict) -> str:
    """One line a check."""
    return csv_text(check_rows(verdict))


def gate_markdown(verdict: Verdict) -> str:
    """The whole in one sentence, the table of checks, conversations and notes."""
    told = Verdict([check for check in verdict.checks if not check.is_unmoved])
    table = markdown_table(check_rows(told), COLUMNS)
    lines = (*unmoved_lines(verdict), *lost_lines(verdict), *verdict.notes)
    lists = [f"- {escaped(line)}" for line in lines]
    return "\n".join([f"**{escaped(gate_answer(verdict))}**", "", *table, "", *lists]).rstrip("\n") + "\n"


GATE_FORMATS: dict[str, Callable[[Verdict], str]] = {
    "table": gate_table,
    "json": gate_json,
    "jsonl": gate_jsonl,
    "csv": gate_csv,
    "markdown": gate_markdown,
}
GATE_EXTENSIONS = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".xml": "junit"}
"""Which format `-o FILE` writes; JUnit takes more than the verdict (`junit.as_junit`)."""


def annotations(verdict: Verdict) -> Iterator[str]:
    """What did not pass, as workflow commands of GitHub Actions: failures first, and no more than it shows.

    Source of the form: GitHub, Workflow commands for GitHub Actions, and `command.ts` of its toolkit for the escapes.
    """
    wrong = sorted((check for check in verdict.checks if not check.passed), key=lambda check: check.passed is None)
    for check in wrong[:MAX_ANNOTATIONS]:
        kind = "error" if check.passed is False else "warning"
        title = _property(visible(f"ctxmode gate: {named(check)}"))
        yield f"::{kind} title={title}::{_data(visible(check_line(check)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
