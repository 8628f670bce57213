"""A forecast is the replay of sessions that are long enough, read off at every number of turns."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from assumptions import MODELS, PRICE, RULE, simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.generate.filler import TurnSize, filler_session
from ctxmode_cli.replay.forecast import Forecast, Point, TurnTotals
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.run import run
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.replay.turns import BreakEven
from ctxmode_cli.simulate.charges import Provider, Simulation
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.summarize.full_length import FullLengthSummarizer
from ctxmode_cli.summarize.wording import wording
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")


def refuse(error: CtxmodeError) -> NoReturn:
    raise error


def forecast(sessions: Iterable[Conversation], simulated: Simulation, **configs: ContextConfig) -> Forecast:
    """The forecast that these sessions come to, the first mode its baseline."""
    by_turn = TurnTotals()
    replay = Replay(configs, COUNTER, FullLengthSummarizer(ExtractiveSummarizer(COUNTER)), simulated)
    totals = run(sessions, replay, keep=by_turn.add, reject=refuse)
    baseline = next(iter(configs))
    compared = Comparison(
        "gpt-4o", COUNTER.encoding_name, 128_000, 0, baseline, configs, totals.data, totals.modes, [], simulated
    )
    return by_turn.forecast(compared, "made for a test")


def mode(name: str, **settings: Any) -> ContextConfig:
    return ContextConfig(mode=name, **{"max_tokens": 100_000} | settings)


# --- the planner's case ---

PLANNED = TurnSize(system=397, user=192, reply=400)
"""A turn of (4 + 192) + (4 + 400) = 600 tokens, and 4 + 397 in front, which with the opening's 3 makes a reply's 404."""


def planner(minimum: int | None) -> Mapping[str, Point]:
    """What 60 turns take in each mode of the planner, at $3 and $15 for every call."""
    rule = replace(RULE, minimum=minimum)
    provider = Provider.of(PRICE, rule)
    found = forecast(
        [filler_session("s", 60, PLANNED)],
        simulation(providers=dict.fromkeys(MODELS, provider)),
        full=mode("full"),
        sliding=mode("sliding", sliding_turns=11),
        hysteresis=mode("sliding", sliding_turns=11, sliding_low=5),
        summary=mode("summary", summary_threshold=0, summary_every=7, summary_target_tokens=1496),
    )
    return {name: points[-1] for name, points in found.points.items()}


def test_the_planner_s_figures_without_a_cache() -> None:
    """A public planner's default: 60 turns of 600 tokens, 400 out, a window of 12, a digest of 1,500 every 8 turns.

    It counts the current turn whole, with the reply that is still to come, and nothing for a system prompt. Here the
    current input is what the user has said; a system prompt of the reply's size stands for the rest, and the window
    is 11 complete turns and the current one. Then its closed forms hold to the token: full 600 x (1 + … + 60), sliding
    600 x (78 + 48 x 12), with hysteresis down to 6 turns 600 x (78 + 6 x 63 + 51).
    """
    points = planner(None)
    assert {name: points[name].tokens_total for name in ("full", "sliding", "hysteresis")} == {
        "full": 1_098_000,
        "sliding": 392_400,
        "hysteresis": 304_200,
    }
    costs = {name: points[name].cost for name in ("full", "sliding", "hysteresis")}
    assert costs == {"full": Decimal("3.654"), "sliding": Decimal("1.5372"), "hysteresis": Decimal("1.2726")}
    assert costs == {name: points[name].cost_uncached for name in costs}


def test_the_planner_s_summary_without_a_cache() -> None:
    """Its summary: 600 x (7 x 36 + 10) + 60 x 1,500 + 7 x (1,500 + 8 x 600) = 291,300 tokens in, $1.391.

    It sends a digest from the first turn on, and the first refresh is shown one. Here there is none before the first
    refresh, at turn 9: 8 requests and 1 call have 1,500 tokens less each. Each call has its instructions and the
    opening of its reply more, and writes 1,496 tokens, which the framing makes 1,500 where they are sent.
    """
    point = planner(None)["summary"]
    assert point.summary_calls == 7
    assert point.tokens_total == 600 * (7 * 36 + 10) + (60 - 8) * 1500
    instructions = COUNTER.generated("system", COUNTER.text(wording("en").instructions(1496, behind_prefix=False)))
    calls = 7 * (8 * 600 + instructions + 3) + (7 - 1) * 1500
    assert point.tokens_total + calls == 291_300 - 9 * 1500 + 7 * (instructions + 3)
    replies = 60 * 400 + 7 * 1496
    assert point.cost == Decimal(3 * int(point.tokens_total + calls) + 15 * replies) / 1_000_000
    assert point.cost_uncached == point.cost


def test_with_a_cache_the_planner_s_ranking_turns_round() -> None:
    """Least of 1,024 tokens, read at 0.1, written at 1.25: sliding becomes dearer than without a cache, full cheap."""
    points = planner(1024)
    costs = {name: point.cost for name, point in points.items()}
    assert sorted(costs, key=lambda name: costs[name] or 0) == ["hysteresis", "full", "summary", "sliding"]
    assert float(costs["full"] or 0) == pytest.approx(0.815, abs=0.001)
    assert float(costs["sliding"] or 0) == pytest.approx(1.696, abs=0.001)
    assert float(costs["hysteresis"] or 0) == pytest.approx(0.650, abs=0.001)
    assert (points["sliding"].cost or 0) > (points["sliding"].cost_uncached or 0)


# --- the points ---

SIZE = TurnSize(system=50, user=16, reply=26)
"""54 tokens in front, 20 and 30 a turn, 3 at the end: the request of turn n (from 1) has 77 + 50 (n - 1)."""


def test_the_points_of_a_session_by_hand() -> None:
    """Requests of 77, 127 and 177 tokens, replies of 26, no cache: $3 and $15 a million, 0.5 s and 1 ms a token."""
    simulated = simulation(providers=dict.fromkeys(MODELS, Provider.of(PRICE, replace(RULE, minimum=None))))
    found = forecast([filler_session("s", 3, SIZE)], simulated, full=mode("full"))
    points = found.points["full"]
    assert [point.turns for point in points] == [1, 2, 3]
    assert [point.tokens_total for point in points] == [77, 204, 381]
    assert [point.tokens_mean for point in points] == [77, 102, 127]
    assert [point.cost for point in points] == [Decimal(micro) / 1_000_000 for micro in (621, 1392, 2313)]
    assert [point.latency_p95_ms for point in points] == [827, 877, 927]


@pytest.mark.parametrize("turns", [1, 7, 12, 19])
def test_shorter_sessions_take_what_a_longer_one_took_so_far(turns: int) -> None:
    """One replay of long sessions gives the same point as a replay of sessions that end there."""
    modes = {"full": mode("full"), "sliding": mode("sliding", sliding_turns=3), "summary": mode("summary")}
    long = forecast([filler_session("s", 20, SIZE)], simulation(), **modes)
    short = forecast([filler_session("s", turns, SIZE)], simulation(), **modes)
    assert {name: points[turns - 1] for name, points in long.points.items()} == {
        name: points[-1] for name, points in short.points.items()
    }


def test_all_requests_of_a_turn_are_its_own() -> None:
    """A turn with two calls is one turn of three requests: what it takes stands at its number of turns."""
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    step = [{"role": "assistant", "content": None, "tool_calls": calls}, {"role": "tool", "tool_call_id": "1"}]
    turn = [{"role": "user", "content": "q"}, *step, *step, {"role": "assistant", "content": "a"}]
    record = {"messages": [{"content": "r"} | message for message in turn * 2]}
    session = parse_conversation(record, where="here", default_id="s")
    points = forecast([session], simulation(), full=mode("full")).points["full"]
    assert [(point.turns, point.tokens_mean and point.tokens_total / point.tokens_mean) for point in points] == [
        (1, 3),
        (2, 6),
    ]


def test_cut_requests_are_counted_from_the_turn_on_at_which_they_are_cut() -> None:
    """With room for 150 tokens the third request of 177 is cut."""
    points = forecast([filler_session("s", 3, SIZE)], simulation(), sliding=mode("sliding", max_tokens=150))
    assert [point.trimmed for point in points.points["sliding"]] == [0, 0, 1]


def test_costs_are_means_over_sessions() -> None:
    """Two sessions of 77 and 97 tokens cost the mean of both; the percentile is over the requests of both."""
    sessions = [filler_session("a", 1, SIZE), filler_session("b", 1, SIZE._replace(user=36))]
    [point] = forecast(sessions, simulation(), full=mode("full")).points["full"]
    [first], [second] = (forecast([session], simulation(), full=mode("full")).points["full"] for session in sessions)
    assert (first.tokens_total, second.tokens_total, point.tokens_total) == (77, 97, 87)
    assert point.cost == ((first.cost or 0) + (second.cost or 0)) / 2
    assert point.latency_p95_ms == max(first.latency_p95_ms or 0, second.latency_p95_ms or 0)


def test_what_cannot_be_sent_is_counted_and_takes_nothing() -> None:
    """A mode that can send nothing has no tokens, no latency, and no place among those that are compared."""
    found = forecast([filler_session("s", 2, SIZE)], simulation(), full=mode("full"), zero=mode("zero", max_tokens=20))
    assert [(point.tokens_mean, point.unsendable) for point in found.points["zero"]] == [(None, 1), (None, 2)]
    assert found.sendable == ["full"]
    assert list(found.break_evens()) == []


# --- break-even ---


def bare(costs: Mapping[str, list[tuple[int | None, int | None]]]) -> Forecast:
    """A forecast of nothing but costs, with the cache and without it, by number of turns."""

    def point(turns: int, cost: int | None, uncached: int | None) -> Point:
        money = [None if value is None else Decimal(value) for value in (cost, uncached)]
        return Point(turns, 1, 1, *money, 1, 0, 0, 0)  # type: ignore[arg-type]

    points = {name: [point(turns, *pair) for turns, pair in enumerate(pairs, 1)] for name, pairs in costs.items()}
    return Forecast(None, 4, "", points)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("costs", "turn"),
    [
        ([(1, 2), (2, 3), (3, 4), (4, 5)], 1),
        ([(1, 1), (2, 2), (2, 3), (2, 4)], 3),
        ([(1, 2), (3, 2), (1, 2), (1, 2)], 3),
        ([(1, 2), (1, 2), (1, 2), (3, 2)], None),
        ([(1, 2), (1, 2), (1, 2), (2, 2)], None),
        ([(2, 1), (2, 1), (2, 1), (1, 2)], 4),
    ],
    ids=["always", "level at first", "interrupted", "dearer at the end", "level at the end", "only at the end"],
)
def test_break_even_is_the_turn_from_which_on_a_mode_stays_cheaper(
    costs: list[tuple[int, int]], turn: int | None
) -> None:
    """Cheaper at every number of turns from there to the last; level is not cheaper."""
    found = bare({"one": [(one, 0) for one, _ in costs], "other": [(other, 0) for _, other in costs]})
    assert next(found.break_evens()) == BreakEven("one", "other", turn, None)


def test_break_even_with_the_cache_and_without_are_apart() -> None:
    """Each has its own turn, for every mode against every other one."""
    found = bare({"full": [(1, 1), (2, 3), (3, 5), (4, 7)], "summary": [(1, 2), (3, 2), (2, 2), (1, 2)]})
    assert list(found.break_evens()) == [BreakEven("full", "summary", None, None), BreakEven("summary", "full", 3, 2)]


def test_without_a_price_there_is_no_break_even() -> None:
    """A mode whose cost is unknown is left out, the others are compared."""
    known, unknown = [(1, 1)] * 4, [(1, 1), (1, 1), (None, None), (None, None)]
    found = bare({"full": known, "sliding": known, "summary": unknown})
    assert not found.is_priced
    assert [(pair.mode, pair.than) for pair in found.break_evens()] == [("full", "sliding"), ("sliding", "full")]
