"""The modes of a comparison side by side: the rows that the terminal, Markdown and CSV share."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ctxmode_cli.replay.results import Comparison


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table."""

    key: str
    """Name in CSV."""
    title: str
    """Title for people."""
    form: str
    """Format of a value for people, as in `format(value, form)`."""


COLUMNS = (
    Column("mode", "mode", "s"),
    Column("tokens_mean", "tokens/request", ",.0f"),
    Column("tokens_relative", "relative", ".0%"),
    Column("tokens_p95", "p95", ",d"),
    Column("recall_in_context", "recall (in context)", ".1%"),
    Column("summary_calls", "summary calls", ",d"),
    Column("trimmed", "trimmed", ",d"),
    Column("unsendable", "unsendable", ",d"),
    Column("invalid", "invalid", ",d"),
)


def table_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row a mode, the baseline first, values by column key; None where something was not evaluated."""
    baseline = comparison.modes[comparison.baseline].prompt_tokens.mean
    rows = []
    for name in _ordered(comparison):
        totals = comparison.modes[name]
        mean = totals.prompt_tokens.mean
        recall = totals.recall.value
        rows.append(
            {
                "mode": name,
                "tokens_mean": _float(mean),
                "tokens_relative": float(mean / baseline) if mean is not None and baseline else None,
                "tokens_p95": totals.prompt_tokens.percentile(95),
                "recall_in_context": _float(recall),
                "summary_calls": totals.summary_calls.count,
                "trimmed": totals.trimmed,
                "unsendable": totals.unsendable.total(),
                "invalid": totals.invalid.total(),
            }
        )
    return rows


def shown(column: Column, value: Any) -> str:
    """A value as people read it; never 100 % for less than all, never 0 % for more than none."""
    if value is None:
        return "–"
    text = format(value, column.form)
    if column.form == ".1%":
        if text == "100.0%" and value < 1:
            return "99.9%"
        if text == "0.0%" and value > 0:
            return "<0.1%"
    return text


def _ordered(comparison: Comparison) -> list[str]:
    others = [name for name in comparison.modes if name != comparison.baseline]
    return [comparison.baseline, *others]


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
