"""The modes of a comparison side by side: the rows that the terminal, Markdown and CSV share."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import percent, seconds, usd


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table."""

    key: str
    """Name in CSV."""
    title: str
    """Title for people."""
    form: Callable[[Any], str]
    """A value for people."""
    dropped: int = 0
    """In what order columns go where a terminal is too narrow; 0: it stays."""


COLUMNS = (
    Column("mode", "mode", str),
    Column("tokens_mean", "tokens/ request", "{:,.0f}".format),
    Column("tokens_p50", "tokens p50", "{:,d}".format, dropped=4),
    Column("tokens_p95", "tokens p95", "{:,d}".format, dropped=6),
    Column("cost_per_session_usd", "cost/ session", usd, dropped=7),
    Column("cost_relative", "cost", percent),
    Column("cost_relative_uncached", "cost, no cache", percent),
    Column("cached_share", "cache hits", percent, dropped=9),
    Column("latency_p95_s", "latency p95", seconds),
    Column("recall_in_context", "recall (in context)", percent),
    Column("summary_calls", "summary calls", "{:,d}".format, dropped=8),
    Column("summary_share", "their cost", percent, dropped=5),
    Column("trimmed", "trimmed", "{:,d}".format, dropped=1),
    Column("unsendable", "unsendable", "{:,d}".format, dropped=3),
    Column("invalid", "invalid", "{:,d}".format, dropped=2),
)


def table_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row a mode, the baseline first, values by column key; None where something was not evaluated."""
    return [_row(comparison, name) for name in _ordered(comparison)]


def _row(comparison: Comparison, name: str) -> dict[str, Any]:
    totals = comparison.modes[name]
    cost = comparison.cost(name)
    calls = totals.summary_calls.count
    latency_p95 = totals.latency_ms.percentile(95)
    return {
        "mode": name,
        "tokens_mean": _float(totals.prompt_tokens.mean),
        "tokens_p50": totals.prompt_tokens.percentile(50),
        "tokens_p95": totals.prompt_tokens.percentile(95),
        "cost_per_session_usd": None if cost is None else float(cost.total / comparison.data.conversations),
        "cost_relative": _float(comparison.relative_cost(name)),
        "cost_relative_uncached": _float(comparison.relative_cost(name, cached=False)),
        "cached_share": _float(totals.cached_share),
        "latency_p95_s": None if latency_p95 is None else latency_p95 / 1000,
        "recall_in_context": _float(totals.recall.value),
        "summary_calls": calls,
        "summary_share": float(cost.summary_calls / cost.total) if calls and cost and cost.total else None,
        "trimmed": totals.trimmed,
        "unsendable": totals.unsendable.total(),
        "invalid": totals.invalid.total(),
    }


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
