"""The charts' figures, worked out by hand, and what their captions say of them."""

from collections.abc import Callable
from typing import Any

import pytest
from assumptions import RULE, simulation

from ctxmode_cli.replay.breakdown import Axis, Breakdown, Share
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.document import document
from ctxmode_cli.report.html.chart import Chart
from ctxmode_cli.report.html.charts import WENT, charts
from ctxmode_cli.report.html.drawing import svg
from ctxmode_cli.report.html.turn_charts import DRAWN
from ctxmode_cli.report.ranking import front
from ctxmode_cli.score.scores import WENT as PLACES_LOST
from ctxmode_cli.simulate.charges import Provider

Build = Callable[..., Comparison]


def drawn(comparison: Comparison, changed: dict[str, Any] | None = None) -> dict[str, Chart]:
    """The charts by name; `changed` has parts of modes to put into the document."""
    whole = document(comparison)
    for mode, parts in (changed or {}).items():
        whole["modes"][mode] |= parts
    return {chart.name: chart for chart in charts(whole)}


def by_turn(*costs: float) -> dict[str, Any]:
    """Points of sessions that cost so much, without a cache twice that."""
    return {
        "by_turn": [
            {
                "turns": turns,
                "sessions": 9 - turns,
                "tokens_mean": 10.0 * turns,
                "cost_usd": cost,
                "cost_uncached_usd": 2 * cost,
            }
            for turns, cost in enumerate(costs, 1)
        ]
    }


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([], []),
        ([(1, 1)], [0]),
        ([(1, 0.2), (2, 0.9), (3, 0.8), (4, 1.0)], [0, 1, 3]),
        ([(1, 0.5), (1, 0.6)], [1]),
        ([(1, 0.5), (2, 0.5)], [0]),
        ([(1, 0.5), (1, 0.5)], [0, 1]),
    ],
)
def test_the_front_is_what_no_other_beats(points: list[tuple[float, float]], expected: list[int]) -> None:
    """Dearer and no better is beaten, and so is worse at the same price; what is level stays."""
    assert front(points) == expected


def test_recall_by_cost(build: Build) -> None:
    """At 3 USD a million tokens: cost and recall of each mode, and which of them are on the front."""
    chart = drawn(build(full=(2_000_000, 900), sliding=(1_500_000, 400), summary=(1_000_000, 800)))["recall-by-cost"]
    assert chart.spec["data"]["values"] == [
        {"mode": "full", "amount": 3.0, "recall": 0.9, "front": True},
        {"mode": "sliding", "amount": 2.25, "recall": 0.4, "front": False},
        {"mode": "summary", "amount": 1.5, "recall": 0.8, "front": True},
    ]
    assert chart.table.rows[1] == ["sliding", "$2.25", "40.0%", "no"]


def test_recall_by_tokens_where_a_price_is_unknown(build: Build) -> None:
    """Tokens stand in the place of costs; a mode that sends nothing is no point; without labels there is no chart."""
    unpriced = {"simulation": simulation(providers={"gpt-4o": Provider.of(None, RULE)})}
    found = drawn(build(full=(2000, 900), zero={"tokens": None, "kept": 0, "unsendable": 1}, changed=unpriced))
    assert found["recall-by-cost"].table.rows == [["full", "2,000", "90.0%", "yes"]]
    assert "cost-by-turn" not in found
    assert "recall-by-cost" not in drawn(build(full=(2000,)))


def test_turns_and_break_even(build: Build) -> None:
    """A line a mode; the turn from which on a mode stays cheaper is said, and marked on its line."""
    comparison = build(full=(10, 900), summary=(5, 800))
    whole = document(comparison)
    whole["modes"]["full"] |= by_turn(1, 2, 4)
    whole["modes"]["summary"] |= by_turn(2, 3, 3.5)
    whole["break_even"] = [
        {"mode": "full", "than": "summary", "from_turn": None, "from_turn_uncached": None},
        {"mode": "summary", "than": "full", "from_turn": 3, "from_turn_uncached": None},
    ]
    found = {chart.name: chart for chart in charts(whole)}
    cost, uncached = found["cost-by-turn"], found["cost-by-turn-uncached"]
    assert cost.spec["layer"][1]["data"]["values"] == [{"mode": "summary", "turn": 3, "value": 3.5}]
    assert "Break-even: summary is cheaper than full from turn 3 on. 8 sessions at turn 1, 6 at turn 3." in cost.caption
    assert "Break-even: summary is not cheaper than full in the end." in uncached.caption
    assert len(uncached.spec["layer"]) == 1
    assert cost.table.titles == ["turn", "sessions", "full", "summary"]
    assert cost.table.rows[2] == ["3", "6", "$4.00", "$3.50"]
    assert uncached.table.rows[2] == ["3", "6", "$8.00", "$7.00"]
    assert found["tokens-by-turn"].table.rows[1] == ["2", "7", "20", "20"]


def test_a_mode_that_is_cheaper_from_the_start_has_no_mark(build: Build) -> None:
    """There is no turn at which its line crosses the other."""
    whole = document(build(full=(10, 900), summary=(5, 800)))
    whole["modes"]["full"] |= by_turn(2, 4)
    whole["modes"]["summary"] |= by_turn(1, 2)
    whole["break_even"] = [{"mode": "summary", "than": "full", "from_turn": 1, "from_turn_uncached": 1}]
    found = {chart.name: chart for chart in charts(whole)}["cost-by-turn"]
    assert len(found.spec["layer"]) == 1
    assert "summary is cheaper than full from turn 1 on" in found.caption


def test_of_many_turns_some_are_drawn(build: Build) -> None:
    """At most so many that the page stays small; the first, the last and a break-even among them."""
    comparison = build(full=(10, 900), summary=(5, 800))
    whole = document(comparison)
    for mode in ("full", "summary"):
        whole["modes"][mode] |= by_turn(*range(1, 200))
    whole["break_even"] = [{"mode": "summary", "than": "full", "from_turn": 7, "from_turn_uncached": 7}]
    found = {chart.name: chart for chart in charts(whole)}["cost-by-turn"]
    turns = [int(row[0]) for row in found.table.rows]
    assert turns[:5] == [1, 4, 7, 8, 12]
    assert turns[-1] == 199
    assert len(turns) <= DRAWN + 3
    assert [value["turn"] for value in found.spec["data"]["values"] if value["mode"] == "full"] == turns


def test_latency_is_the_share_that_is_done(build: Build) -> None:
    """Of two requests of 0.5 and 2 seconds, half are done by 0.5 s and all by 2 s."""
    chart = drawn(build(full={"tokens": [1, 1], "latency_ms": [500, 2000]}, zero={"tokens": [1], "latency_ms": []}))[
        "latency"
    ]
    shares = {value["share"]: value["seconds"] for value in chart.spec["data"]["values"]}
    assert (shares[0.05], shares[0.5], shares[0.55], shares[1.0]) == (0.5, 0.5, 2.0, 2.0)
    assert {value["mode"] for value in chart.spec["data"]["values"]} == {"full"}
    assert chart.table.rows[-1] == ["100 %", "2.00 s"]


def test_facts_by_age_position_and_loss(build: Build) -> None:
    """Ages in their order, not that of their names; places with the recall that a model would have; where facts went."""
    part = Breakdown()
    units = 10**6
    part.axes["age"] = Axis({"11-20": Share(4, 1, 0), "3-5": Share(2, 2, 0)})
    part.axes["position"] = Axis({"head": Share(3, 3, 3 * units), "not in context": Share(1, 0, 0)})
    part.went.update(window=2, summary=1)
    found = drawn(build(full=(10, 900), changed={"breakdowns": {"full": part}}))
    assert found["recall-by-age"].table.rows == [["3-5", "2", "100.0%"], ["11-20", "4", "25.0%"]]
    assert found["recall-by-age"].spec["encoding"]["x"]["sort"] == ["3-5", "11-20"]
    assert [row[:3] for row in found["recall-by-position"].table.rows] == [
        ["full", "head", "3"],
        ["full", "not in context", "1"],
    ]
    assert found["lost"].table.rows == [
        ["full", "outside the window", "2"],
        ["full", "summarised, and not in the summary", "1"],
    ]


def test_every_way_to_lose_a_fact_has_words() -> None:
    """No reason of the scores is left out of the chart."""
    assert set(WENT) == set(PLACES_LOST)


def test_a_drawing_is_the_same_each_time(build: Build) -> None:
    """The library numbers its parts on and on; in a page they are numbered by chart, each one once."""
    chart = drawn(build(full=(10, 900), summary=(5, 800)))["recall-by-cost"]
    assert svg(chart.spec, chart.name) == svg(chart.spec, chart.name)
    clipped = {**chart.spec, "layer": [{"mark": {"type": "point", "clip": True}}]}
    one, other = svg(clipped, "one"), svg(clipped, "other")
    assert 'id="one-0"' in one
    assert "url(#one-0)" in one
    assert one.replace("one-", "other-") == other
