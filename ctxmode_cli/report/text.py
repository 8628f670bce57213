"""Lines around the table that the terminal and Markdown share."""

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.gate_checks import gate_summary
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted


def heading(comparison: Comparison) -> str:
    """What was replayed, with which tokenizer; control characters shown."""
    data = comparison.data
    labelled = "no labelled facts"
    if data.facts:
        labelled = f"{counted(data.facts, 'labelled fact')}, {counted(data.probes, 'probe')}"
    return visible(
        f"{counted(data.conversations, 'conversation')}, {counted(data.requests, 'request')}, {labelled}; "
        f"tokens of {comparison.model} ({comparison.encoding}), seed {comparison.seed}"
    )


def gate_lines(comparison: Comparison) -> list[str]:
    """What the gate says, readable: control characters shown; nothing without a gate."""
    return [] if comparison.gate is None else [visible(line) for line in gate_summary(comparison.gate)]


def notes_lines(comparison: Comparison) -> list[str]:
    """The notes, readable: control characters shown."""
    return [visible(line) for line in notes(comparison)]
