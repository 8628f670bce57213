"""A forecast in the formats that a user can name: table, json, jsonl, csv, markdown."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxmode_cli.replay.forecast import Forecast
from ctxmode_cli.report.document import document
from ctxmode_cli.report.forecast_chart import chart
from ctxmode_cli.report.forecast_rows import columns_of, milestones, point_rows, point_values
from ctxmode_cli.report.forecast_text import (
    break_even_lines,
    cost_of,
    forecast_answer,
    forecast_heading,
    forecast_notes,
    has_cache,
)
from ctxmode_cli.report.formats import EXTENSIONS, csv_text, escaped, markdown_table, to_json
from ctxmode_cli.report.table import fitted_table, plain_console, wrapped
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import usd

_SHARED_KEYS = (
    "format",
    "version",
    "baseline",
    "model",
    "encoding",
    "seed",
    "selection",
    "settings",
    "prices",
    "prompt_cache",
)
"""What a forecast says in the words of a comparison."""


def forecast_table(forecast: Forecast, *, width: int | None = None, colour: bool = False) -> str:
    """Heading, table, charts, notes, break-even turns and, last, the answer.

    Args:
        forecast: What to show.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    console = plain_console(colour=colour)
    rows = list(point_rows(forecast, milestones(forecast.turns)))
    table = fitted_table(rows, columns_of(rows), console, width)
    notes = [wrapped(visible(line), console, width, "note: ") for line in forecast_notes(forecast)]
    lines = [wrapped(visible(line), console, width) for line in break_even_lines(forecast)]
    first, last = (wrapped(visible(text(forecast)), console, width) for text in (forecast_heading, forecast_answer))
    charts = [part for drawn in _charts(forecast, width=width, colour=colour) for part in (drawn, "")]
    return "\n".join([first, "", *table, "", *charts, *notes, "", *lines, last, ""])


def _charts(forecast: Forecast, *, width: int | None, colour: bool) -> Iterable[str]:
    """Cost against turns, with the prompt cache and without it; none where a price is unknown."""
    if not forecast.is_priced or not forecast.sendable:
        return
    titles = {True: "cost of a session by its turns, with the prompt cache", False: "the same without it"}
    if not has_cache(forecast):
        titles = {True: "cost of a session by its turns"}
    for cached, title in titles.items():
        lines = {
            mode: [float(cost_of(point, cached=cached) or 0) for point in forecast.points[mode]]
            for mode in forecast.sendable
        }
        yield chart(title, lines, usd, width=width, colour=colour)


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """The forecast as one document; null where something was not evaluated, with the reason in `notes`."""
    comparison = document(forecast.comparison)
    data = comparison["data"]
    return {key: comparison[key] for key in _SHARED_KEYS} | {
        "latency_profile": forecast.comparison.simulation.profile.name,
        "sessions": {
            "count": forecast.comparison.data.conversations,
            "turns": forecast.turns,
            "made": forecast.sessions,
            "per_day": forecast.comparison.sessions_per_day,
            "skipped": data["skipped"],
            "sources": data["sources"],
        },
        "notes": [visible(line) for line in forecast_notes(forecast)],
        "modes": {
            mode: {"points": [point_values(forecast, point) for point in points]}
            for mode, points in forecast.points.items()
        },
        "break_even": [
            {"mode": pair.mode, "than": pair.than, "from_turn": pair.cached, "from_turn_uncached": pair.uncached}
            for pair in forecast.break_evens()
        ],
        "answer": forecast_answer(forecast),
    }


def forecast_json(forecast: Forecast) -> str:
    """The whole document."""
    return to_json(forecast_document(forecast)) + "\n"


def _all_rows(forecast: Forecast) -> Iterable[Mapping[str, Any]]:
    return point_rows(forecast, range(1, forecast.turns + 1))


def forecast_jsonl(forecast: Forecast) -> str:
    """One line for each number of turns and each mode."""
    return "".join(to_json(row, indent=None) + "\n" for row in _all_rows(forecast))


def forecast_csv(forecast: Forecast) -> str:
    """Every point with unrounded values; empty where something was not evaluated."""
    return csv_text(list(_all_rows(forecast)))


def forecast_markdown(forecast: Forecast) -> str:
    """A heading, the table, notes, break-even turns and the answer."""
    rows = list(point_rows(forecast, milestones(forecast.turns)))
    notes = [f"- {escaped(visible(line))}" for line in forecast_notes(forecast)]
    lines = [f"- {escaped(visible(line))}" for line in break_even_lines(forecast)]
    head = escaped(visible(forecast_heading(forecast)))
    table = markdown_table(rows, columns_of(rows))
    return "\n".join([head, "", *table, "", *notes, "", *lines, "", escaped(visible(forecast_answer(forecast))), ""])


FORECAST_FORMATS: dict[str, Callable[[Forecast], str]] = {
    "table": forecast_table,
    "json": forecast_json,
    "jsonl": forecast_jsonl,
    "csv": forecast_csv,
    "markdown": forecast_markdown,
}
FORECAST_EXTENSIONS = {extension: form for extension, form in EXTENSIONS.items() if form in FORECAST_FORMATS}
"""Which format `-o FILE` writes."""
