"""What is counted turn by turn, on figures worked out by hand."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest

from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import Recorded
from ctxmode_cli.replay.session import RequestRow
from ctxmode_cli.replay.turns import MAX_TURNS, BreakEven, ByTurn, TurnPoint, break_evens
from ctxmode_cli.simulate.charges import Charge
from ctxmode_cli.simulate.rates import Bill, Usage


def cents(bill: Bill, calls_bill: Bill, cached: bool) -> Decimal:
    """A cent for each prompt token, a tenth of it where it was cached; summary calls alike."""
    total = [bill.total, calls_bill.total]
    return sum(
        (Decimal(usage.uncached) + (usage.cached if not cached else usage.cached / Decimal(10))) / 100
        for usage in total
    ) + Decimal(0)


def session(*requests: tuple[int, int | None, int], call: int = 0) -> tuple[list[RequestRow], list[Charge | None]]:
    """Requests as (turn, prompt tokens or None for an unsendable one, cached of them); the first has a summary call."""
    rows: list[RequestRow] = []
    charges: list[Charge | None] = []
    for index, (turn, tokens, cached) in enumerate(requests):
        if tokens is None:
            rows.append(RequestRow(index, turn, None, "input", ()))
            charges.append(None)
            continue
        context = Context((Recorded("input", 0, 1, tokens),), tokens, 1, 0, trimmed=False)
        rows.append(RequestRow(index, turn, context, None, ()))
        calls = (Charge(Usage(call), 0, 0),) if call and not index else ()
        charges.append(Charge(Usage(tokens - cached, cached), 0, 1, calls))
    return rows, charges


def counted(*sessions: tuple[list[RequestRow], list[Charge | None]]) -> ByTurn:
    by_turn = ByTurn()
    for one in sessions:
        by_turn.add(*one)
    return by_turn


SHORT = session((0, 100, 0), (0, 200, 100), call=50)
LONG = session((0, 100, 0), (1, 300, 200), (2, None, 0))


def test_points_by_hand() -> None:
    """A turn's tokens are a mean over its requests, its costs one over the sessions that reach it, added up by turn."""
    first = TurnPoint(1, 2, Fraction(400, 3), Fraction(360, 200), Fraction(450, 200))
    second = TurnPoint(2, 1, Fraction(300), Fraction(360, 200) + Fraction(120, 100), Fraction(450, 200) + 3)
    third = second._replace(turns=3, tokens_mean=None)
    assert counted(SHORT, LONG).points(cents) == [first, second, third]


@pytest.mark.parametrize("order", list(permutations([SHORT, LONG, session((1, 7, 7)), session()])))
def test_any_order_and_any_parts_add_up_to_the_same(order: Sequence[Any]) -> None:
    """Sessions may come in any order, and be counted apart first."""
    together = counted(*order)
    apart = ByTurn()
    for one in order:
        apart += counted(one)
    assert together == apart == counted(*reversed(order))


def test_parts_stay_apart_when_they_are_added() -> None:
    """What was added to another one is not changed by what comes later."""
    part, total = counted(SHORT), ByTurn()
    total += part
    total.add(*LONG)
    assert part == counted(SHORT)


def test_turns_that_few_reach_are_not_told() -> None:
    """Of 40 sessions two are one in twenty, and one is less."""
    sessions = [session((0, 10, 0))] * 38 + [session((0, 10, 0), (1, 10, 0)), session((0, 1, 0), (1, 1, 0), (2, 1, 0))]
    assert [point.sessions for point in counted(*sessions).points(cents)] == [40, 2]


def test_a_very_long_session_takes_bounded_room() -> None:
    """Only its first turns are told."""
    by_turn = counted(session(*((turn, 1, 0) for turn in range(MAX_TURNS + 50))))
    assert len(by_turn.turns) == MAX_TURNS


def test_an_unknown_price_leaves_the_costs_unknown() -> None:
    """From the first turn with an unknown cost on no sum is known; tokens are."""
    points = counted(SHORT, LONG).points(
        lambda bill, calls, cached: None if not bill.total.prompt else cents(bill, calls, cached)
    )
    assert [point.cost is None for point in points] == [False, False, True]
    assert [point.tokens_mean for point in points[:2]] == [Fraction(400, 3), 300]


def test_break_even_is_the_turn_from_which_a_mode_stays_cheaper() -> None:
    """Cheaper at first is not enough; with the cache and without it are apart; unknown costs break even with nothing."""
    cached = {
        "full": [Decimal(1), Decimal(3), Decimal(6)],
        "zero": [Decimal(2), Decimal(3), Decimal(4)],
        "own": [None] * 3,
    }
    uncached = {**cached, "zero": [Decimal(1)] * 3}
    assert list(break_evens(cached, uncached)) == [
        BreakEven("full", "zero", None, None),
        BreakEven("zero", "full", 3, 2),
    ]
