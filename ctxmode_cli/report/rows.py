"""The modes of a comparison side by side: the rows that the terminal, Markdown and CSV share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from ctxmode_cli.replay.results import Comparison, Histogram, ModeTotals
from ctxmode_cli.report.words import percent, seconds, usd, usd_decimals

Row = Mapping[str, Any]
"""A mode's figures by name; None where something was not evaluated."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table for people."""

    key: str
    """Of the figure in a row."""
    heading: str
    """Title in lines, as narrow as the figures."""
    form: Callable[[Any], str] | None
    """A figure for people; None for dollars, which take the decimals of their neighbours."""
    dropped: int = 0
    """In what order columns go where a terminal is too narrow; 0: it stays."""
    asked_for: bool = False
    """Whether it is there only where a mode has a figure for it."""
    upper: str = ""
    """Of the upper end in a row, where the figure is the lower end of an interval."""

    @property
    def title(self) -> str:
        """Title in one line."""
        return self.heading.replace("/\n", "/").replace("\n", " ")

    @property
    def stands_left(self) -> bool:
        """Whether its cells are aligned on the left, as text is."""
        return self.form is str

    def cells(self, rows: Iterable[Row]) -> list[str]:
        """The figures of all rows as people read them."""
        values = [self._value(row) for row in rows]
        decimals = max((usd_decimals(value) for value in values if value is not None and self.form is None), default=0)
        form = self.form or partial(usd, decimals=decimals)
        return ["–" if value is None else form(value) for value in values]

    def _value(self, row: Row) -> Any:
        """The figure, of an interval both ends."""
        value = row[self.key]
        return (value, row[self.upper]) if self.upper and value is not None else value


def _shares(ends: tuple[float, float]) -> str:
    """An interval of shares, in per cent."""
    return f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}%"


def _points(ends: tuple[float, float]) -> str:
    """An interval of differences between shares, in points."""
    return f"[{100 * ends[0]:+.1f},{100 * ends[1]:+.1f}]"


COLUMNS = (
    Column("mode", "mode", str),
    Column("tokens_mean", "tokens/\nrequest", "{:,.0f}".format),
    Column("tokens_p50", "tokens\np50", "{:,d}".format, dropped=3),
    Column("tokens_p95", "tokens\np95", "{:,d}".format, dropped=5),
    Column("cost_per_session_usd", "cost/\nsession", None, dropped=6),
    Column("cost_per_day_usd", "cost/\nday", None, dropped=9, asked_for=True),
    Column("cost_relative", "relative\ncost", percent),
    Column("cost_relative_uncached", "relative\ncost,\nno cache", percent),
    Column("cached_share", "cache\nhit\nshare", percent, dropped=10),
    Column("latency_p95_s", "simulated\nlatency\np95", seconds, dropped=11),
    Column("recall_in_context", "recall\n(in\ncontext)", percent),
    Column(
        "recall_in_context_low",
        "recall (in\ncontext),\n95% interval",
        _shares,
        dropped=5,
        asked_for=True,
        upper="recall_in_context_high",
    ),
    Column(
        "recall_in_context_less_baseline_low",
        "its points less\nthe baseline's,\n95% interval",
        _points,
        dropped=3,
        asked_for=True,
        upper="recall_in_context_less_baseline_high",
    ),
    Column("recall_modelled", "recall\n(modelled)", percent, dropped=12),
    Column("recall_answered", "recall\n(answered)", percent, asked_for=True),
    Column("summary_calls", "summary\ncalls", "{:,d}".format, dropped=8),
    Column("summary_share", "their\nshare\nof cost", percent, dropped=7),
    Column("card_calls", "card\ncalls", "{:,d}".format, dropped=8, asked_for=True),
    Column("card_share", "card calls'\nshare\nof cost", percent, dropped=7, asked_for=True),
    Column("trimmed", "trimmed", "{:,d}".format, dropped=1),
    Column("unsendable", "unsendable", "{:,d}".format, dropped=4),
    Column("invalid", "invalid", "{:,d}".format, dropped=2),
)


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of the table."""
    return [column for column in COLUMNS if not column.asked_for or any(row[column.key] is not None for row in rows)]


def table_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row a mode, the baseline first: the figures of the table, and more for CSV; money in USD, times in seconds."""
    return [_row(comparison, name) for name in (comparison.baseline, *comparison.others)]


def _row(comparison: Comparison, name: str) -> dict[str, Any]:
    totals = comparison.modes[name]
    return {
        "mode": name,
        "model": comparison.model,
        "requests": totals.requests,
        **_tokens(totals, comparison.modes[comparison.baseline]),
        **_cost(comparison, name),
        "cache_rule": comparison.simulation.providers[comparison.model].rule.name,
        "cached_tokens": totals.bill.total.cached,
        "cached_share": as_float(totals.cached_share),
        **_latency(totals.latency_ms),
        "latency_profile": comparison.simulation.profile.name,
        **_recall(comparison, name),
        "position_profile": comparison.position_profile.name,
        "recall_answered_is": None if comparison.answers_from is None else comparison.answers_from.graded,
        **_calls(totals),
        "trimmed": totals.trimmed,
        "unsendable": totals.unsendable.total(),
        "invalid": totals.invalid.total(),
        "skipped": comparison.skipped,
    }


def _tokens(totals: ModeTotals, baseline: ModeTotals) -> dict[str, Any]:
    mean, other = totals.prompt_tokens.mean, baseline.prompt_tokens.mean
    return {
        "tokens_total": totals.prompt_tokens.total,
        "tokens_mean": as_float(mean),
        "tokens_p50": totals.prompt_tokens.percentile(50),
        "tokens_p95": totals.prompt_tokens.percentile(95),
        "tokens_relative": float(mean / other) if mean is not None and other else None,
    }


def _calls(totals: ModeTotals) -> dict[str, Any]:
    """Of each purpose; null for the card where no model is called for it."""
    columns: dict[str, Any] = {}
    for purpose, calls in totals.calls.items():
        is_asked = purpose == "summary" or calls.count
        columns |= {
            f"{purpose}_calls": calls.count if is_asked else None,
            f"{purpose}_prompt_tokens": calls.prompt_tokens if is_asked else None,
            f"{purpose}_completion_tokens": calls.completion_tokens if is_asked else None,
        }
    return columns


def _cost(comparison: Comparison, name: str) -> dict[str, Any]:
    """USD."""
    cost, uncached = comparison.cost(name), comparison.cost(name, cached=False)
    calls = comparison.modes[name].calls
    return {
        "cost_total_usd": None if cost is None else float(cost.total),
        "cost_total_uncached_usd": None if uncached is None else float(uncached.total),
        **{f"cost_{purpose}_calls_usd": None if cost is None else float(cost.calls[purpose]) for purpose in calls},
        "cost_per_session_usd": as_float(comparison.session_cost(name)),
        "cost_per_day_usd": as_float(comparison.daily_cost(name)),
        "cost_relative": as_float(comparison.relative_cost(name)),
        "cost_relative_uncached": as_float(comparison.relative_cost(name, cached=False)),
        **{
            f"{purpose}_share": float(cost.calls[purpose] / cost.total) if part.count and cost and cost.total else None
            for purpose, part in calls.items()
        },
    }


def _recall(comparison: Comparison, name: str) -> dict[str, Any]:
    """Of each kind with its 95 % interval, and that of the paired difference from the baseline's recall (in context).

    Ends are null where nothing says how sure a figure is.
    """
    columns: dict[str, float | None] = {}
    for kind in ("in_context", "modelled", "answered"):
        interval = comparison.interval(name, f"recall.{kind}")
        columns |= {
            f"recall_{kind}": as_float(comparison.value(name, f"recall.{kind}")),
            f"recall_{kind}_low": None if interval is None else interval.low,
            f"recall_{kind}_high": None if interval is None else interval.high,
        }
    less = None if name == comparison.baseline else comparison.difference(name, "recall.in_context")
    return columns | {
        "recall_in_context_less_baseline_low": None if less is None else less.low,
        "recall_in_context_less_baseline_high": None if less is None else less.high,
    }


def _latency(latency_ms: Histogram) -> dict[str, Any]:
    """Seconds."""
    percentiles = {percent: latency_ms.percentile(percent) for percent in (50, 95, 99)}
    return {
        "latency_mean_s": None if latency_ms.mean is None else float(latency_ms.mean / 1000),
        **{f"latency_p{percent}_s": None if ms is None else ms / 1000 for percent, ms in percentiles.items()},
    }


def as_float(value: Fraction | None) -> float | None:
    """The nearest float."""
    return None if value is None else float(value)
