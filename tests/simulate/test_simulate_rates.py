"""What tokens cost at the rates of a tier."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.simulate.rates import Rates, Tier, Usage


def tier(above: int, plain: int, cached: int, write: int, output: int) -> Tier:
    """Rates in millionths of a USD."""
    rates = (Decimal(rate).scaleb(-6) for rate in (plain, cached, write, output))
    return Tier(above, *rates)


SMALL = tier(0, 10, 1, 12, 50)
RATES = Rates((SMALL, tier(1_000, 20, 2, 24, 60), tier(5_000, 30, 3, 36, 70)))

amounts = st.integers(0, 10**9)
usages = st.builds(Usage, amounts, amounts, amounts, amounts)


@pytest.mark.parametrize(
    ("prompt", "index"),
    [(0, 0), (1, 0), (999, 0), (1_000, 0), (1_001, 1), (5_000, 1), (5_001, 2), (10**9, 2)],
)
def test_tier_is_that_of_the_whole_request(prompt: int, index: int) -> None:
    """A tier begins with the first request that has more tokens than its limit."""
    assert RATES.tier(prompt) == index


def test_cost_adds_four_parts() -> None:
    """3 x 10 + 5 x 1 + 7 x 12 + 11 x 50 = 669 millionths; without a cache (3 + 5 + 7) x 10 + 550 = 700."""
    usage = Usage(uncached=3, cached=5, written=7, completion=11)
    assert RATES.cost(usage, 0) == Decimal("0.000669")
    assert RATES.cost_uncached(usage, 0) == Decimal("0.000700")
    assert RATES.cost(usage, 1) == Decimal("0.000898")  # 3 x 20 + 5 x 2 + 7 x 24 + 11 x 60 = 60 + 10 + 168 + 660


def test_usage_of_a_call() -> None:
    """What is not read from the cache is written where the prompt is long enough, and plain input elsewhere."""
    assert Usage.of_call(10, 4, 2, writes=True) == Usage(uncached=0, cached=4, written=6, completion=2)
    assert Usage.of_call(10, 4, 2, writes=False) == Usage(uncached=6, cached=4, written=0, completion=2)


@given(usages)
def test_prompt_is_all_input(usage: Usage) -> None:
    """Prompt tokens are those that were read, written, or neither."""
    assert usage.prompt == usage.uncached + usage.cached + usage.written


@given(st.lists(usages, max_size=20))
def test_costs_add_up_to_the_last_digit(many: list[Usage]) -> None:
    """The cost of a sum of tokens is the sum of the costs."""
    total = Usage(*map(sum, zip(*many, strict=True))) if many else Usage()
    assert RATES.cost(total, 1) == sum(RATES.cost(usage, 1) for usage in many)
    assert RATES.cost_uncached(total, 1) == sum(RATES.cost_uncached(usage, 1) for usage in many)


@given(usages)
def test_cache_that_is_written_for_nothing_never_costs(usage: Usage) -> None:
    """Where writing costs what input does, a cache never makes a call dearer."""
    rates = Rates((tier(0, 10, 1, 10, 50),))
    assert rates.cost(usage, 0) <= rates.cost_uncached(usage, 0)


def test_cache_can_cost_more_than_it_saves() -> None:
    """Where writing is dearer than input and nothing is read, the cache costs: 100 x 12 against 100 x 10."""
    usage = Usage(written=100)
    assert RATES.cost(usage, 0) == Decimal("0.0012")
    assert RATES.cost_uncached(usage, 0) == Decimal("0.0010")
