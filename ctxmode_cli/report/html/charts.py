"""The charts of a page: Vega-Lite specifications as pure functions of the document, each with its figures as a table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxmode_cli.replay.breakdown import AGES, BANDS
from ctxmode_cli.report.html.chart import COLOURS, Chart, Document, Spec, modes_scale, quantity, spec, tooltip
from ctxmode_cli.report.html.tables import Table
from ctxmode_cli.report.html.turn_charts import turn_charts
from ctxmode_cli.report.ranking import front
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import percent, seconds, usd

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


def charts(document: Document) -> list[Chart]:
    """The charts that the document has figures for."""
    shown = _with_shown_names(document)
    others = [make(shown) for make in (_recall_by_cost, _latency, _by_age, _by_position, _lost)]
    first, *rest = others
    return [chart for chart in (first, *turn_charts(shown), *rest) if chart is not None]


def _with_shown_names(document: Document) -> Document:
    """The document with the modes' names as they are shown: a library that draws them would act on control characters."""
    pairs = [{**pair, "mode": visible(pair["mode"]), "than": visible(pair["than"])} for pair in document["break_even"]]
    modes = {visible(name): part for name, part in document["modes"].items()}
    return {**document, "modes": modes, "baseline": visible(document["baseline"]), "break_even": pairs}


def _recall_by_cost(document: Document) -> Chart | None:
    """Each mode as a point, and the front of those that no other one beats in both."""
    modes = document["modes"]
    sending = [part for part in modes.values() if part["tokens"]["mean"] is not None]
    priced = all(part["cost_usd"] for part in sending)
    values = [
        {"mode": name, "amount": amount, "recall": part["recall"]["in_context"]["value"]}
        for name, part in modes.items()
        if (amount := _amount(part, priced=priced)) is not None and part["recall"]["in_context"]
    ]
    if not values:
        return None
    best = front([(value["amount"], value["recall"]) for value in values])
    values = [value | {"front": index in best} for index, value in enumerate(values)]
    form: Callable[[float], str] = usd if priced else "{:,.0f}".format
    title = "cost of a session, USD" if priced else "tokens of a request"
    encoding = {
        "x": quantity("amount", title, "$~g" if priced else ",d"),
        "y": quantity("recall", "facts in context", ".0%", domain=[0, 1]),
    }
    rows = [[v["mode"], form(v["amount"]), percent(v["recall"]), "yes" if v["front"] else "no"] for v in values]
    return Chart(
        "recall-by-cost",
        "What the facts cost",
        "Up and to the left is better. The dashed line joins the modes that no other one beats in both (the Pareto front): "
        "every other mode costs more than one of them and keeps no more.",
        spec(values, layer=_points(modes), encoding=encoding),
        Table.of(["mode", title, "facts in context", "on the front"], rows),
    )


def _amount(part: Mapping[str, Any], *, priced: bool) -> float | None:
    """What a mode takes: USD a session, or tokens a request where a price is unknown."""
    amount: float | None = (part["cost_usd"] or {}).get("per_session") if priced else part["tokens"]["mean"]
    return amount


def _points(modes: Mapping[str, Any]) -> list[Spec]:
    """Points with their names, and the line of the front."""
    line = {"type": "line", "color": "currentColor", "opacity": 0.4, "strokeDash": [4, 4]}
    point = {"type": "point", "filled": True, "size": 140, "opacity": 1, "tooltip": True}
    name = {"type": "text", "align": "left", "dx": 9, "dy": -11, "color": "currentColor", "fontSize": 12}
    return [
        {"mark": line, "transform": [{"filter": "datum.front"}]},
        {"mark": point, "encoding": {"color": modes_scale(modes, legend=False)}},
        {"mark": name, "encoding": {"text": {"field": "mode"}}},
    ]


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
        "x": quantity("seconds", "seconds, simulated", "~g"),
        "y": quantity("share", "share of requests done", ".0%", domain=[0, 1]),
        "color": modes_scale(modes),
        "order": {"field": "share"},
    }
    shares = next(iter(told.values()))
    rows = [[f"{share} %", *(seconds(percentiles[share]) for percentiles in told.values())] for share in shares]
    return Chart(
        "latency",
        "How long requests take",
        "The share of requests that are done within a time; further left is faster. "
        f"Simulated with the profile {document['latency_profile']['name']}.",
        spec(values, mark={"type": "line", "strokeWidth": 2.5, "tooltip": True}, encoding=encoding),
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
        "y": quantity("recall", "facts in context", ".0%", domain=[0, 1]),
        "color": modes_scale(document["modes"]),
        "tooltip": tooltip(mode="mode", age="age", recall="facts in context", probes="probes"),
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
        spec(values, mark={"type": "bar"}, encoding=encoding),
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
    drawn = spec(
        values, mark={"type": "bar"}, encoding=_stacked(document, "place", PLACES, titles), height=_bars(shares)
    )
    rows = [[v["mode"], v["place"], f"{v['probes']:,}", percent(v["used"])] for v in values]
    return Chart(
        "recall-by-position", "Where the needed facts stood", caption, drawn, Table.of([*titles.values()], rows, left=2)
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
        spec(values, mark={"type": "bar"}, encoding=encoding, height=_bars(lost)),
        Table.of([*titles.values()], rows, left=2),
    )


def _shares(document: Document, axis: str) -> dict[str, Mapping[str, Any]]:
    """By mode, the probes by one thing that they differ in; a mode where they differ too much has none."""
    return {mode: part["recall"]["by"].get(axis) or {} for mode, part in document["modes"].items()}


def _stacked(
    document: Document, field: str, colours: Mapping[str, str], titles: Mapping[str, str], stack: str = "normalize"
) -> Spec:
    """A bar a mode, its parts side by side."""
    amount = quantity(
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
        "tooltip": tooltip(**titles),
    }


def _bars(parts: Sequence[Any] | Mapping[str, Any]) -> int:
    return 44 * len(parts)
