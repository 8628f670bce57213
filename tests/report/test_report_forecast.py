"""A forecast as people and programs read it: sentences, rows, charts, files."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import pytest
from assumptions import MODELS, PRICE, RULE, simulation

from ctxmode_cli.commands.options import OutputFormat
from ctxmode_cli.replay.forecast import Forecast, Point
from ctxmode_cli.report.forecast_chart import HEIGHT, chart
from ctxmode_cli.report.forecast_formats import FORECAST_EXTENSIONS, FORECAST_FORMATS, forecast_json, forecast_table
from ctxmode_cli.report.forecast_rows import milestones
from ctxmode_cli.report.forecast_text import break_even_lines, forecast_answer, forecast_notes
from ctxmode_cli.report.words import usd
from ctxmode_cli.simulate.charges import Provider

Costs = list[tuple[float | None, float | None]]
FULL: Costs = [(1, 1), (2, 3), (3, 5), (4, 8)]
SUMMARY: Costs = [(1, 1), (2.5, 2), (2.5, 3), (2, 4)]
SLIDING: Costs = [(1, 1), (2.5, 2), (4, 2.5), (5, 3)]


@pytest.fixture
def forecast(build: Any) -> Any:
    """Makes a forecast of costs with the cache and without it, by mode and number of turns."""

    def make(
        unsendable: dict[str, int] | None = None, *, cache: bool = True, per_day: int | None = None, **modes: Costs
    ) -> Forecast:
        missing = unsendable or {}
        comparison = build(**dict.fromkeys(modes, ([100],)))
        if not cache:
            provider = Provider.of(PRICE, replace(RULE, minimum=None))
            comparison = replace(comparison, simulation=simulation(providers=dict.fromkeys(MODELS, provider)))
        points = {
            name: [point(turns, *pair, missing.get(name, 0)) for turns, pair in enumerate(costs, 1)]
            for name, costs in modes.items()
        }
        length = len(next(iter(modes.values())))
        return Forecast(replace(comparison, sessions_per_day=per_day), length, "made for a test", points)

    return make


def point(turns: int, cost: float | None, uncached: float | None, unsendable: int) -> Point:
    money = [None if value is None else Decimal(str(value)) for value in (cost, uncached)]
    return Point(turns, Fraction(100), Fraction(100 * turns), money[0], money[1], 1500, Fraction(0), 0, unsendable)


# --- break-even and answer ---


def test_each_mode_against_the_baseline_with_the_cache_and_without(forecast: Any) -> None:
    """The turn from which on it stays cheaper, and "never" where there is none; then the cheapest against the rest."""
    assert break_even_lines(forecast(full=FULL, sliding=SLIDING, summary=SUMMARY)) == [
        "sliding beats full on cost from turn 2 on without the prompt cache, but with it never within 4 turns.",
        "summary beats full on cost from turn 2 on without the prompt cache, from turn 3 on with it.",
        "summary beats sliding on cost from turn 3 on with the prompt cache, but without it never within 4 turns.",
    ]


def test_where_the_baseline_is_the_cheapest_it_is_said_once(forecast: Any) -> None:
    """What the others do against it is all there is to say."""
    lines = break_even_lines(forecast(full=[(1, 1)] * 4, sliding=SLIDING, summary=SUMMARY))
    assert [line.split(" never")[0] for line in lines] == ["sliding", "summary"]


@pytest.mark.parametrize(
    ("costs", "line"),
    [
        (
            [(1, 1), (1, 1), (1, 1), (1, 1)],
            "sliding beats full on cost from turn 2 on, with the prompt cache or without it.",
        ),
        (FULL, "sliding never beats full on cost within 4 turns, with the prompt cache or without it."),
        (
            [(1, 9), (1, 9), (1, 9), (1, 9)],
            "sliding beats full on cost from turn 2 on with the prompt cache, but without it never within 4 turns.",
        ),
    ],
)
def test_break_even_sentence(forecast: Any, costs: Costs, line: str) -> None:
    """Both at the same turn, at none, or only with the cache."""
    assert break_even_lines(forecast(full=FULL, sliding=costs)) == [line]


def test_without_a_cache_rule_nothing_is_said_of_a_cache(forecast: Any) -> None:
    """One cost, one sentence, one chart."""
    found = forecast(cache=False, full=FULL, summary=[(1, 1)] * 4)
    assert break_even_lines(found) == ["summary beats full on cost from turn 2 on."]
    assert forecast_answer(found).endswith("25.0% of full's $4.00, whose p95 is 1.50 s.")
    assert forecast_table(found).count("cost of a session by its turns") == 1
    assert "the same without it" not in forecast_table(found)


def test_the_answer_says_where_the_cache_changes_it(forecast: Any) -> None:
    """The cheapest with the cache, beside the baseline; and the cheapest without it, where that is another."""
    assert forecast_answer(forecast(full=FULL, sliding=SLIDING, summary=SUMMARY)) == (
        "At 4 turns summary costs least: $2.00 a session, p95 1.50 s; that is 50.0% of full's $4.00, whose p95 is "
        "1.50 s; without the prompt cache sliding costs least: $3.00 a session, against $4.00 a session with summary."
    )


def test_the_answer_names_modes_that_are_level(forecast: Any) -> None:
    """None of them is called the cheapest."""
    assert forecast_answer(forecast(full=FULL, zero=SUMMARY, summary=SUMMARY)).startswith(
        "At 4 turns zero and summary cost least: $2.00"
    )


def test_the_answer_of_one_mode(forecast: Any) -> None:
    """There is nothing that it costs less than; a day costs so many sessions."""
    assert forecast_answer(forecast(full=FULL, per_day=100)) == (
        "At 4 turns full costs $4.00 a session ($400.00 a day), p95 1.50 s; without the prompt cache $8.00 a session "
        "($800.00 a day)."
    )


def test_a_mode_with_unsendable_requests_is_named_with_their_number(forecast: Any) -> None:
    """Wherever it is said to be cheaper."""
    found = forecast({"zero": 3}, full=FULL, zero=[(1, 1)] * 4)
    assert "zero (3 requests unsendable) costs least" in forecast_answer(found)
    assert break_even_lines(found)[0].startswith("zero (3 requests unsendable) beats full")


def test_a_mode_that_can_send_nothing_is_never_the_cheapest(forecast: Any) -> None:
    """It costs nothing, and says nothing."""
    found = forecast(full=FULL, zero=[(0, 0)] * 4)
    nothing = [each._replace(tokens_mean=None, unsendable=9) for each in found.points["zero"]]
    found = replace(found, points={**found.points, "zero": nothing})
    assert forecast_answer(found).startswith("At 4 turns full costs least: $4.00 a session")
    assert "+ zero" not in forecast_table(found)
    found = replace(found, points={"zero": nothing})
    assert (forecast_answer(found), break_even_lines(found)) == (
        "No mode can send any of these requests within its budget.",
        [],
    )
    assert "┤" not in forecast_table(found)


def test_without_a_price_the_answer_is_in_tokens(forecast: Any) -> None:
    """Costs are null, and neither chart nor break-even is made up."""
    found = forecast(full=[(None, None)] * 4)
    assert forecast_answer(found) == (
        "Prices are unknown, so no mode can be called the cheapest; at 4 turns full sends the fewest tokens: 400 prompt "
        "tokens a session."
    )
    assert break_even_lines(found) == []
    assert "┤" not in forecast_table(found)
    document = json.loads(forecast_json(found))
    assert (document["break_even"], document["modes"]["full"]["points"][0]["cost_usd"]) == ([], None)


def test_notes_say_how_the_sessions_were_drawn(forecast: Any) -> None:
    """Turns that are drawn from a log know nothing of each other; turns made of numbers need no such note."""
    found = forecast(full=FULL)
    drawn = replace(found, comparison=replace(found.comparison, sources=[("log.jsonl", "0")], skipped=2))
    assert not any("independently" in line for line in forecast_notes(found))
    assert any("drawn independently" in line for line in forecast_notes(drawn))
    assert "skipped: 2 bad records" in forecast_notes(drawn)


def test_notes_say_from_which_turn_on_the_budget_cuts(forecast: Any) -> None:
    """The figures of a mode that is cut are no longer those of its policy."""
    found = forecast(full=FULL)
    cut = [each._replace(trimmed=max(0, each.turns - 2)) for each in found.points["full"]]
    lines = forecast_notes(replace(found, points={"full": cut}))
    assert "full: from turn 3 on the budget cuts requests shorter than the mode would have them" in lines


# --- rows and files ---


@pytest.mark.parametrize(
    ("turns", "shown"),
    [(1, [1]), (2, [1, 2]), (5, [1, 5]), (7, [1, 5, 7]), (60, [1, 5, 10, 20, 50, 60]), (100, [1, 5, 10, 20, 50, 100])],
)
def test_numbers_of_turns_that_the_table_shows(turns: int, shown: list[int]) -> None:
    """A few, ever further apart, and the last."""
    assert milestones(turns) == shown


def test_every_format_of_the_option_and_every_extension_is_written(forecast: Any) -> None:
    """What the shared option offers, a forecast can write."""
    assert set(FORECAST_FORMATS) == set(get_args(OutputFormat))
    assert FORECAST_EXTENSIONS
    assert set(FORECAST_EXTENSIONS.values()) <= set(FORECAST_FORMATS)
    assert all(form(forecast(full=FULL, summary=SUMMARY)).endswith("\n") for form in FORECAST_FORMATS.values())


def test_files_have_every_point_unrounded(forecast: Any) -> None:
    """CSV and JSON lines: a row for each number of turns and mode, the baseline first; JSON: the points by mode."""
    found = forecast(full=FULL, summary=SUMMARY, per_day=10)
    rows = list(csv.DictReader(io.StringIO(FORECAST_FORMATS["csv"](found))))
    assert [(row["turns"], row["mode"]) for row in rows[:3]] == [("1", "full"), ("1", "summary"), ("2", "full")]
    assert (rows[3]["cost_usd"], rows[3]["cost_per_day_usd"], rows[3]["cost_uncached_usd"]) == ("2.5", "25.0", "2.0")
    lines = [json.loads(line) for line in FORECAST_FORMATS["jsonl"](found).splitlines()]
    assert [str(line["cost_usd"]) for line in lines] == [row["cost_usd"] for row in rows]
    document = json.loads(forecast_json(found))
    assert document["format"] == 1
    assert document["modes"]["summary"]["points"][1] == {key: value for key, value in lines[3].items() if key != "mode"}
    assert document["break_even"] == [
        {"mode": "full", "than": "summary", "from_turn": None, "from_turn_uncached": None},
        {"mode": "summary", "than": "full", "from_turn": 3, "from_turn_uncached": 2},
    ]
    assert document["answer"] == forecast_answer(found)


def test_the_answer_is_the_last_line(forecast: Any) -> None:
    """In the table and in Markdown, after the break-even turns."""
    found = forecast(full=FULL, summary=SUMMARY)
    table = forecast_table(found).splitlines()
    assert table[-2:] == [*break_even_lines(found), forecast_answer(found)]
    lines = FORECAST_FORMATS["markdown"](found).splitlines()
    assert lines[3].startswith("| --: | :-- | --: |")  # the mode is text
    assert lines[-1].startswith("At 4 turns summary costs least:")


# --- the chart ---


def columns(line: str) -> int:
    """How many columns of a terminal a line takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


@pytest.mark.parametrize("width", [None, 40, 100])
def test_a_chart_is_as_wide_as_the_terminal(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider, also with names of two columns a character; in a pipe it is 80 columns wide.

    The surroundings have no say: a pipe has the same chart in a small terminal.
    """
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("LINES", "10")
    drawn = chart("cost", {"full": [1, 2, 3], "滑动窗口": [1, 1, 1]}, usd, width=width)
    lines = drawn.splitlines()
    assert len(lines) == HEIGHT
    assert max(map(columns, lines)) == (width or 80)
    assert "滑动窗口" in drawn


def test_a_plain_chart_tells_lines_apart_by_their_marks() -> None:
    """No terminal codes, a mark of its own for each line, the higher line above, and round figures at the side."""
    drawn = chart("cost", {"full": [0.0, 0.5, 1.0], "zero": [0.0, 0.1, 0.2]}, usd)
    assert "\x1b" not in drawn
    assert "* full" in drawn
    assert "+ zero" in drawn
    last = [line[-2] for line in drawn.splitlines() if line.endswith("│")]
    assert last.index("*") < last.index("+")
    assert re.findall(r"^ *(\S+)┤", drawn, flags=re.MULTILINE) == ["$1.00", "$0.500", "$0.00"]
    assert re.findall(r"\d+", drawn.splitlines()[-1]) == ["1", "2", "3"]


def test_a_coloured_chart_is_the_same_each_time() -> None:
    """Drawing one leaves nothing behind for the next."""
    first, _, second = (chart("cost", lines, usd, colour=True) for lines in ({"a": [1, 2]}, {"b": [5]}, {"a": [1, 2]}))
    assert first == second
    assert "\x1b[" in first


def test_a_chart_shows_control_characters() -> None:
    """A name from a file plays no tricks on the terminal."""
    assert "\x1b" not in chart("cost", {"a\x1b[2J": [1.0]}, usd)


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [1e-9, 2e-9], [12345.0] * 300])
def test_a_chart_of_anything(values: list[float]) -> None:
    """Nothing, next to nothing, and a lot can be drawn."""
    assert len(chart("cost", {"a": values}, usd).splitlines()) == HEIGHT
