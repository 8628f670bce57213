"""What all charts of a page have in common: how they look, and the parts of their specifications in Vega-Lite."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.report.html.tables import Table

Document = Mapping[str, Any]
"""Format 1 of the JSON, the baseline first among its modes."""
Spec = Mapping[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 600, 280
"""Pixels; a page scales the drawing to its own width."""
COLOURS = ("#3b76c4", "#e07b1a", "#2f9e5b", "#c2417f", "#8a63c9", "#b8901f", "#1d9aa8", "#b2503c")
"""Of the modes: each differs from its neighbours in lightness too, and shows on white and on black."""
CONFIG: Spec = {
    "background": None,
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.15,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "legend": {
        "symbolType": "circle",
        "symbolStrokeWidth": 4,
        "symbolSize": 60,
        "columnPadding": 28,
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
}
"""All that is not data takes the colour of the text around it, so that one drawing serves by day, by night and in print.

The first font comes with the library that measures text, so that a drawing is the same wherever it is made.
"""


class Chart(NamedTuple):
    """One chart."""

    name: str
    """Names its place in the page."""
    title: str
    caption: str
    """What is seen, and what to look for."""
    spec: Spec
    table: Table
    """The figures that it draws."""


def tooltip(**titles: str) -> list[Spec]:
    """What a pointer is told: fields by their names, with what they are called."""
    return [{"field": field, "title": title} for field, title in titles.items()]


def quantity(
    field: str, title: str, form: str, domain: Sequence[float] | None = None, *, zero: bool = True, **axis: Any
) -> dict[str, Any]:
    """An axis of figures.

    Args:
        field: Of a value.
        title: What the figures are.
        form: A figure at a tick, in d3's notation.
        domain: From where to where; None for what the figures take.
        zero: Whether the axis starts at 0.
        axis: What else is said of its look.
    """
    scale: dict[str, Any] = {"zero": zero, "nice": zero} if domain is None else {"domain": domain}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": {"format": form, **axis}}


def modes_scale(modes: Mapping[str, Any], *, legend: bool = True) -> Spec:
    """A colour a mode, the same in every chart."""
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(modes))]
    shown = {"orient": "top", "title": None} if legend else None
    return {"field": "mode", "type": "nominal", "scale": {"domain": list(modes), "range": colours}, "legend": shown}


def spec(values: Sequence[Mapping[str, Any]], height: int = HEIGHT, **parts: Any) -> Spec:
    """A whole specification, its values in it."""
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "width": WIDTH,
        "height": height,
        "data": {"values": list(values)},
        **parts,
    }
