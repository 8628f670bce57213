"""The charts of a page: Vega-Lite specifications as pure functions of the document, each with its figures as a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.replay.breakdown import AGES, BANDS
from ctxmode_cli.report.html.tables import Table
from ctxmode_cli.report.ranking import front
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted, percent, seconds, usd

Document = Mapping[str, Any]
"""Format 1 of the JSON, the baseline first among its modes."""
Spec = Mapping[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 600, 280
"""Pixels; a page scales the drawing to its own width."""
COLOURS = ("#3b76c4", "#e07b1a", "#2f9e5b", "#c2417f", "#8a63c9", "#b8901f", "#1d9aa8", "#b2503c")
"""Of the modes: each differs from its neighbours in lightness too, and shows on white and on black."""
PLACES = dict(zip(BANDS, ("#2f9e5b", "#7cc49a", "#e0b13a", "#5b9bd5", "#c2413b"), strict=True))
"""Of the parts of a prompt."""
WENT = {
    "window": "outside the window",
    "budget": "cut by the budget",
    "summary": "summarised, and not in the summary",
    "tool_output": "in a shortened tool output",
    "documents": "in a dropped document",
    "unsendable": "request cannot be sent",
    "unmatched": "not found where its label says",
}
"""Where lost facts went, in words."""

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
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
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12, "titleFontSize": 12},
}
"""All that is not data takes the colour of the text around it, so that one drawing serves by day, by night and in print."""


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


def charts(document: Document) -> list[Chart]:
    """The charts that the document has figures for."""
    makers = (
        _recall_by_cost,
        _tokens_by_turn,
        _cost_by_turn,
        _cost_by_turn_uncached,
        _latency,
        _by_age,
        _by_position,
        _lost,
    )
    shown = _with_shown_names(document)
    found = (make(shown) for make in makers)
    return [chart for chart in found if chart is not None]


def _with_shown_names(document: Document) -> Document:
    """The document with the modes' names as they are shown: a library that draws them would act on control characters."""
    pairs = [{**pair, "mode": visible(pair["mode"]), "than": visible(pair["than"])} for pair in document["break_even"]]
    modes = {visible(name): part for name, part in document["modes"].items()}
    return {**document, "modes": modes, "baseline": visible(document["baseline"]), "break_even": pairs}


def _recall_by_cost(document: Document) -> Chart | None:
    """Each mode as a point, and the front of those that no other one beats in both."""
    modes = document["modes"]
    priced = all(part["cost_usd"] for part in modes.values() if part["tokens"]["mean"] is not None)
    points = []
    for name, part in modes.items():
        recall = part["recall"]["in_context"]
        amount = part["cost_usd"]["per_session"] if priced and part["cost_usd"] else part["tokens"]["mean"]
        if recall is not None and amount is not None and (not priced or part["cost_usd"]):
            points.append({"mode": name, "amount": amount, "recall": recall["value"]})
    if not points:
        return None
    best = front([(point["amount"], point["recall"]) for point in points])
    values = [point | {"front": index in best} for index, point in enumerate(points)]
    form: Callable[[float], str] = usd if priced else "{:,.0f}".format
    title = "cost of a session, USD" if priced else "tokens of a request"
    x = _quantity("amount", title, "$~g" if priced else ",d")
    y = _quantity("recall", "facts in context", ".0%", domain=[0, 1])
    line = {
        "mark": {"type": "line", "color": "currentColor", "opacity": 0.4, "strokeDash": [4, 4]},
        "transform": [{"filter": "datum.front"}],
    }
    dots = {
        "mark": {"type": "point", "filled": True, "size": 140, "opacity": 1, "tooltip": True},
        "encoding": {"color": _modes(modes, legend=False)},
    }
    names = {
        "mark": {"type": "text", "align": "left", "dx": 10, "dy": -8, "color": "currentColor", "fontSize": 12},
        "encoding": {"text": {"field": "mode"}},
    }
    spec = _spec(values, layer=[line, dots, names], encoding={"x": x, "y": y})
    rows = [[v["mode"], form(v["amount"]), percent(v["recall"]), "yes" if v["front"] else "no"] for v in values]
    return Chart(
        "recall-by-cost",
        "What the facts cost",
        "Up and to the left is better. The dashed line joins the modes that no other one beats in both (the Pareto front): "
        "every other mode costs more than one of them and keeps no more.",
        spec,
        Table.of(["mode", title, "facts in context", "on the front"], rows),
    )


def _tokens_by_turn(document: Document) -> Chart | None:
    return _turns(
        document, "tokens_mean", "tokens-by-turn", "How requests grow", "tokens of a request", ",d", "{:,.0f}".format,
        "The mean prompt of a request in each turn of a session.",
    )  # fmt: skip


def _cost_by_turn(document: Document) -> Chart | None:
    return _turns(
        document, "cost_usd", "cost-by-turn", "What a session costs, with the prompt cache", "USD so far", "$~g", usd,
        "What has been spent by the end of each turn, summary calls included. " + _break_even(document, "from_turn"),
        "from_turn",
    )  # fmt: skip


def _cost_by_turn_uncached(document: Document) -> Chart | None:
    return _turns(
        document, "cost_uncached_usd", "cost-by-turn-uncached", "What a session costs, without a prompt cache", "USD so far",
        "$~g", usd,
        "The same as if nothing were read from a cache. " + _break_even(document, "from_turn_uncached"),
        "from_turn_uncached",
    )  # fmt: skip


def _break_even(document: Document, key: str) -> str:
    """From which turn on each mode is cheaper than the baseline."""
    baseline = document["baseline"]
    pairs = {pair["mode"]: pair[key] for pair in document["break_even"] if pair["than"] == baseline}
    told = [
        f"{mode} is cheaper than {baseline} " + ("from the first turn" if turn == 1 else f"from turn {turn} on")
        if turn
        else f"{mode} is not cheaper than {baseline} in the end"
        for mode, turn in pairs.items()
    ]
    return f"Break-even: {'; '.join(told)}." if told else ""


def _turns(
    document: Document,
    key: str,
    name: str,
    title: str,
    what: str,
    axis: str,
    form: Callable[[float], str],
    caption: str,
    break_even: str = "",
) -> Chart | None:
    """A line a mode over the turns of a session; a break-even as a dot on the line that becomes the cheaper one."""
    modes, baseline = document["modes"], document["baseline"]
    values = [
        {"mode": mode, "turn": point["turns"], "value": point[key]}
        for mode, part in modes.items()
        for point in part["by_turn"]
        if point[key] is not None
    ]
    if not values:
        return None
    layers: list[Spec] = [{"mark": {"type": "line", "strokeWidth": 2.5, "tooltip": True, "point": {"size": 18}}}]
    turns = (
        {pair["mode"]: pair[break_even] for pair in document["break_even"] if pair["than"] == baseline}
        if break_even
        else {}
    )
    crossings = [value for value in values if turns.get(value["mode"], 0) == value["turn"] and value["turn"] > 1]
    if crossings:
        mark = {"type": "point", "shape": "diamond", "size": 160, "filled": False, "strokeWidth": 2.5, "tooltip": True}
        layers.append({"data": {"values": crossings}, "mark": mark})
    encoding = {
        "x": _quantity("turn", "turn of the session", "d", zero=False, tickMinStep=1),
        "y": _quantity("value", what, axis),
        "color": _modes(modes),
    }
    points = next(iter(modes.values()))["by_turn"]
    reach = f" {counted(points[0]['sessions'], 'session')} at turn 1, {points[-1]['sessions']:,} at turn {len(points)}."
    told = {(value["mode"], value["turn"]): form(value["value"]) for value in values}
    rows = [
        [f"{p['turns']}", f"{p['sessions']:,}", *(told.get((mode, p["turns"]), "–") for mode in modes)] for p in points
    ]
    return Chart(
        name,
        title,
        caption.strip() + reach,
        _spec(values, layer=layers, encoding=encoding),
        Table.of(["turn", "sessions", *modes], rows),
    )


def _latency(document: Document) -> Chart | None:
    """The share of requests that are done by a time."""
    modes = document["modes"]
    told = {mode: part["latency_s"]["percentiles"] for mode, part in modes.items() if part["latency_s"]}
    if not told:
        return None
    values = [
        {"mode": mode, "seconds": value, "share": int(share) / 100}
        for mode, percentiles in told.items()
        for share, value in percentiles.items()
    ]
    encoding = {
        "x": _quantity("seconds", "seconds, simulated", "~g"),
        "y": _quantity("share", "share of requests done", ".0%", domain=[0, 1]),
        "color": _modes(modes),
        "order": {"field": "share"},
    }
    shares = next(iter(told.values()))
    rows = [[f"{share} %", *(seconds(percentiles[share]) for percentiles in told.values())] for share in shares]
    return Chart(
        "latency",
        "How long requests take",
        "The share of requests that are done within a time; further left is faster. "
        f"Simulated with the profile {document['latency_profile']['name']}.",
        _spec(values, mark={"type": "line", "strokeWidth": 2.5, "tooltip": True}, encoding=encoding),
        Table.of(["share of requests", *told], rows),
    )


def _by_age(document: Document) -> Chart | None:
    """Recall in context by how many turns ago a fact was said."""
    shares = _shares(document, "age")
    ages = [age for age in AGES if any(age in part for part in shares.values())]
    if not ages:
        return None
    values = [
        {"mode": mode, "age": age, "recall": part[age]["in_context"], "probes": part[age]["probes"]}
        for mode, part in shares.items()
        for age in ages
        if age in part
    ]
    encoding = {
        "x": {
            "field": "age",
            "type": "ordinal",
            "sort": ages,
            "title": "turns since the fact was said",
            "axis": {"labelAngle": 0},
        },
        "xOffset": {"field": "mode", "sort": list(document["modes"])},
        "y": _quantity("recall", "facts in context", ".0%", domain=[0, 1]),
        "color": _modes(document["modes"]),
        "tooltip": _tooltip(mode="mode", age="age", recall="facts in context", probes="probes"),
    }
    rows = [
        [age, f"{max(part.get(age, {}).get('probes', 0) for part in shares.values()):,}"]
        + [percent(part[age]["in_context"]) if age in part else "–" for part in shares.values()]
        for age in ages
    ]
    return Chart(
        "recall-by-age",
        "Which facts are forgotten: by age",
        "The share of probed facts that were in context when they were needed, by the turns since they were said.",
        _spec(values, mark={"type": "bar"}, encoding=encoding),
        Table.of(["turns ago", "probes", *shares], rows),
    )


def _by_position(document: Document) -> Chart | None:
    """Where the needed facts stood in the prompt, and what a model would make of them there."""
    shares = _shares(document, "position")
    if not any(shares.values()):
        return None
    values = [
        {"mode": mode, "place": place, "rank": rank, "probes": part[place]["probes"], "used": part[place]["modelled"]}
        for mode, part in shares.items()
        for rank, place in enumerate(PLACES)
        if place in part
    ]
    caption = (
        "Where the facts stood in the prompt when they were needed. A model uses what stands in the middle less: recall "
        f"(modelled) by the profile {document['position_profile']['name']} is in the table."
    )
    titles = {"mode": "mode", "place": "place", "probes": "probes", "used": "recall (modelled)"}
    spec = _spec(
        values, mark={"type": "bar"}, encoding=_stacked(document, "place", PLACES, titles), height=_bars(shares)
    )
    rows = [[v["mode"], v["place"], f"{v['probes']:,}", percent(v["used"])] for v in values]
    return Chart(
        "recall-by-position", "Where the needed facts stood", caption, spec, Table.of([*titles.values()], rows, left=2)
    )


def _lost(document: Document) -> Chart | None:
    """Where the facts went that were not in context."""
    lost = {mode: part["recall"]["lost"] for mode, part in document["modes"].items()}
    went = [reason for reason in WENT if any(reason in part for part in lost.values())]
    if not went:
        return None
    values = [
        {"mode": mode, "went": WENT[reason], "rank": rank, "probes": part[reason]}
        for mode, part in lost.items()
        for rank, reason in enumerate(went)
        if reason in part
    ]
    colours = dict(zip(WENT.values(), COLOURS, strict=False))
    titles = {"mode": "mode", "went": "where the facts went", "probes": "probes"}
    encoding = _stacked(
        document, "went", {WENT[reason]: colours[WENT[reason]] for reason in went}, titles, stack="zero"
    )
    rows = [[v["mode"], v["went"], f"{v['probes']:,}"] for v in values]
    return Chart(
        "lost",
        "Where facts were lost",
        "Probes whose fact was not in context, by what became of it.",
        _spec(values, mark={"type": "bar"}, encoding=encoding, height=_bars(lost)),
        Table.of([*titles.values()], rows, left=2),
    )


def _shares(document: Document, axis: str) -> dict[str, Mapping[str, Any]]:
    """By mode, the probes by one thing that they differ in; a mode where they differ too much has none."""
    return {mode: part["recall"]["by"].get(axis) or {} for mode, part in document["modes"].items()}


def _stacked(
    document: Document, field: str, colours: Mapping[str, str], titles: Mapping[str, str], stack: str = "normalize"
) -> Spec:
    """A bar a mode, its parts side by side."""
    amount = _quantity(
        "probes", "share of probes" if stack == "normalize" else "probes", ".0%" if stack == "normalize" else ",d"
    )
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {
        "y": {"field": "mode", "type": "nominal", "sort": list(document["modes"]), "title": None},
        "x": amount | {"stack": stack},
        "color": {
            "field": field,
            "type": "nominal",
            "scale": scale,
            "title": None,
            "legend": {"orient": "top", "columns": 3, "labelLimit": 260},
        },
        "order": {"field": "rank"},
        "tooltip": _tooltip(**titles),
    }


def _bars(parts: Sequence[Any] | Mapping[str, Any]) -> int:
    return 44 * len(parts)


def _tooltip(**titles: str) -> list[Spec]:
    return [{"field": field, "title": title} for field, title in titles.items()]


def _quantity(
    field: str, title: str, form: str, domain: Sequence[float] | None = None, *, zero: bool = True, **axis: Any
) -> dict[str, Any]:
    scale: dict[str, Any] = {"zero": zero, "nice": True} if domain is None else {"domain": domain}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": {"format": form, **axis}}


def _modes(modes: Mapping[str, Any], *, legend: bool = True) -> Spec:
    """A colour a mode, the same in every chart."""
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(modes))]
    shown = {"orient": "top", "title": None} if legend else None
    return {"field": "mode", "type": "nominal", "scale": {"domain": list(modes), "range": colours}, "legend": shown}


def _spec(values: Sequence[Mapping[str, Any]], height: int = HEIGHT, **parts: Any) -> Spec:
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "width": WIDTH,
        "height": height,
        "data": {"values": list(values)},
        **parts,
    }
