"""Lines around the table that the terminal and Markdown share."""

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.visible import visible


def heading(comparison: Comparison) -> str:
    """What was replayed, with which tokenizer."""
    data = comparison.data
    labelled = f"{data.facts:,} labelled facts, {data.probes:,} probes" if data.facts else "no labelled facts"
    return (
        f"{data.conversations:,} conversations, {data.requests:,} requests, {labelled}; "
        f"tokens of {comparison.model} ({comparison.encoding}), seed {comparison.seed}"
    )


def notes_lines(comparison: Comparison) -> list[str]:
    """The notes, readable: control characters shown."""
    return [visible(line) for line in notes(comparison)]
