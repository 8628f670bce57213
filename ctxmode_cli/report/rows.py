"""The modes of a comparison side by side: the rows that the terminal, Markdown and CSV share."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import percent


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table."""

    key: str
    """Name in CSV."""
    title: str
    """Title for people."""
    form: Callable[[Any], str]
    """A value for people."""


COLUMNS = (
    Column("mode", "mode", str),
    Column("tokens_mean", "tokens/request", "{:,.0f}".format),
    Column("tokens_relative", "relative", percent),
    Column("tokens_p50", "p50", "{:,d}".format),
    Column("tokens_p95", "p95", "{:,d}".format),
    Column("recall_in_context", "recall (in context)", percent),
    Column("summary_calls", "summary calls", "{:,d}".format),
    Column("trimmed", "trimmed", "{:,d}".format),
    Column("unsendable", "unsendable", "{:,d}".format),
    Column("invalid", "invalid", "{:,d}".format),
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
                "tokens_p50": totals.prompt_tokens.percentile(50),
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
    """A value as people read it."""
    if value is None:
        return "–"
    return column.form(value)


def _ordered(comparison: Comparison) -> list[str]:
    others = [name for name in comparison.modes if name != comparison.baseline]
    return [comparison.baseline, *others]


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
