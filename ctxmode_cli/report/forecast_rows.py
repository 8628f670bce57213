"""The points of a forecast as rows: the table has those of a few numbers of turns, a file has all."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from ctxmode_cli.replay.forecast import Forecast, Point
from ctxmode_cli.report.rows import Column, Row
from ctxmode_cli.report.words import seconds

COLUMNS = (
    Column("turns", "turns", "{:,d}".format),
    Column("mode", "mode", str),
    Column("tokens_mean", "tokens/\nrequest", "{:,.0f}".format),
    Column("tokens_total", "tokens/\nsession", "{:,.0f}".format, dropped=3),
    Column("cost_usd", "cost/\nsession", None),
    Column("cost_uncached_usd", "no\ncache", None),
    Column("cost_per_day_usd", "cost/\nday", None, asked_for=True),
    Column("cost_per_day_uncached_usd", "no\ncache", None, dropped=4, asked_for=True),
    Column("latency_p95_s", "simulated\nlatency\np95", seconds),
    Column("summary_calls", "summary\ncalls/\nsession", "{:,.1f}".format, dropped=2),
    Column("trimmed", "trimmed", "{:,d}".format, dropped=1),
    Column("unsendable", "unsendable", "{:,d}".format, dropped=5),
)


def point_rows(forecast: Forecast, turns: Sequence[int]) -> Iterator[dict[str, Any]]:
    """A row for each of these numbers of turns and each mode, the baseline first; None where a price is unknown."""
    baseline = forecast.comparison.baseline
    modes = sorted(forecast.points, key=lambda mode: mode != baseline)
    for number in turns:
        for mode in modes:
            yield {"mode": mode} | point_values(forecast, forecast.points[mode][number - 1])


def point_values(forecast: Forecast, point: Point) -> dict[str, Any]:
    """A point by column key."""
    latency = point.latency_p95_ms
    return {
        "turns": point.turns,
        "tokens_mean": None if point.tokens_mean is None else float(point.tokens_mean),
        "tokens_total": float(point.tokens_total),
        "cost_usd": _float(point.cost, 1),
        "cost_uncached_usd": _float(point.cost_uncached, 1),
        "cost_per_day_usd": _float(point.cost, forecast.comparison.sessions_per_day),
        "cost_per_day_uncached_usd": _float(point.cost_uncached, forecast.comparison.sessions_per_day),
        "latency_p95_s": None if latency is None else latency / 1000,
        "summary_calls": float(point.summary_calls),
        "trimmed": point.trimmed,
        "unsendable": point.unsendable,
    }


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of the table, without those of requests that the budget touched where there are none."""
    budget = {"trimmed", "unsendable"}
    shown = (column for column in COLUMNS if not column.asked_for or any(row[column.key] is not None for row in rows))
    return [column for column in shown if column.key not in budget or any(row[column.key] for row in rows)]


def milestones(turns: int) -> list[int]:
    """The numbers of turns that the table shows: 1, 5, 10, 20, 50, 100, … and the last."""
    steps = (step * 10**power for power in range(len(str(turns))) for step in (1, 2, 5))
    return sorted({step for step in steps if step < turns and step != 2} | {turns})  # noqa: PLR2004 - 1 and 5 do for few turns


def _float(cost: Decimal | None, times: int | None) -> float | None:
    return None if cost is None or times is None else float(cost * times)
