"""The charts over the turns of a session: how requests grow, and what has been spent, with break-even turns."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ctxmode_cli.report.html.chart import Chart, Document, Spec, modes_scale, quantity, spec
from ctxmode_cli.report.html.tables import Table
from ctxmode_cli.report.words import counted, usd

DRAWN = 60
"""Turns that are drawn and tabled of more: all of them would make the page large, and no curve clearer."""
DOTTED = 30
"""Turns up to which each is a dot on its line: more would make the page large."""


class _Lines(NamedTuple):
    """What one of the charts draws."""

    name: str
    title: str
    caption: str
    key: str
    """Of the figure in `by_turn`."""
    axis: str
    """What the figure is."""
    tick: str
    """The figure at a tick, as Vega has it."""
    form: Callable[[float], str]
    """The figure in a table."""
    break_even: str = ""
    """Of the turn in `break_even`; empty where none belongs there."""


_CHARTS = (
    _Lines(
        "tokens-by-turn",
        "How requests grow",
        "The mean prompt of a request in each turn of a session.",
        "tokens_mean",
        "tokens of a request",
        ",d",
        "{:,.0f}".format,
    ),
    _Lines(
        "cost-by-turn",
        "What a session costs, with the prompt cache",
        "What has been spent by the end of each turn, summary calls included.",
        "cost_usd",
        "USD so far",
        "$~g",
        usd,
        "from_turn",
    ),
    _Lines(
        "cost-by-turn-uncached",
        "What a session costs, without a prompt cache",
        "The same as if nothing were read from a cache.",
        "cost_uncached_usd",
        "USD so far",
        "$~g",
        usd,
        "from_turn_uncached",
    ),
)


def turn_charts(document: Document) -> list[Chart]:
    """Those that the document has figures for."""
    return [_chart(document, lines) for lines in _CHARTS if _values(document, lines)]


def _drawn(document: Document, mode: str, lines: _Lines) -> list[Mapping[str, Any]]:
    """The turns of a mode that are drawn: evenly spaced ones, the first, the last, and those of a break-even."""
    points = document["modes"][mode]["by_turn"]
    step = -(-len(points) // DRAWN) or 1
    kept = {1, len(points), *_break_even(document, lines).values()}
    return [point for point in points if point["turns"] % step == 0 or point["turns"] in kept]


def _values(document: Document, lines: _Lines) -> list[dict[str, Any]]:
    return [
        {"mode": mode, "turn": point["turns"], "value": point[lines.key]}
        for mode in document["modes"]
        for point in _drawn(document, mode, lines)
        if point[lines.key] is not None
    ]


def _chart(document: Document, lines: _Lines) -> Chart:
    """A line a mode, and a diamond where a mode becomes cheaper than the baseline for good."""
    modes, values = document["modes"], _values(document, lines)
    points = next(iter(modes.values()))["by_turn"]
    turns = _break_even(document, lines)
    crossings = [value for value in values if turns.get(value["mode"]) == value["turn"] > 1]
    dots = {"point": {"size": 18}} if len(points) <= DOTTED else {}
    layers: list[Spec] = [{"mark": {"type": "line", "strokeWidth": 2.5, "tooltip": True, **dots}}]
    if crossings:
        mark = {"type": "point", "shape": "diamond", "size": 160, "strokeWidth": 2.5, "tooltip": True}
        layers.append({"data": {"values": crossings}, "mark": mark})
    encoding = {
        "x": quantity("turn", "turn of the session", "d", zero=False, tickMinStep=1),
        "y": quantity("value", lines.axis, lines.tick),
        "color": modes_scale(modes),
    }
    reach = f"{counted(points[0]['sessions'], 'session')} at turn 1, {points[-1]['sessions']:,} at turn {len(points)}."
    caption = " ".join(filter(None, (lines.caption, _told(turns, document["baseline"]), reach)))
    return Chart(
        lines.name, lines.title, caption, spec(values, layer=layers, encoding=encoding), _table(document, lines)
    )


def _table(document: Document, lines: _Lines) -> Table:
    modes = document["modes"]
    told = {(value["mode"], value["turn"]): lines.form(value["value"]) for value in _values(document, lines)}
    rows = [
        [f"{point['turns']}", f"{point['sessions']:,}", *(told.get((mode, point["turns"]), "–") for mode in modes)]
        for point in _drawn(document, document["baseline"], lines)
    ]
    return Table.of(["turn", "sessions", *modes], rows)


def _break_even(document: Document, lines: _Lines) -> dict[str, int | None]:
    """By mode, from which turn on it is cheaper than the baseline; None where it is not in the end."""
    pairs = document["break_even"] if lines.break_even else ()
    return {pair["mode"]: pair[lines.break_even] for pair in pairs if pair["than"] == document["baseline"]}


def _told(turns: Mapping[str, int | None], baseline: str) -> str:
    told = [
        f"{mode} is {f'cheaper than {baseline} from turn {turn} on' if turn else f'not cheaper than {baseline} in the end'}"
        for mode, turn in turns.items()
    ]
    return f"Break-even: {'; '.join(told)}." if told else ""
