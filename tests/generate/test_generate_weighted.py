"""Weighted draws."""

from collections import Counter
from random import Random

from ctxmode_cli.generate.weighted import weighted_choice, weighted_range


def test_options_come_as_often_as_their_weights_say() -> None:
    """Of weights 1, 0 and 3 the last comes three times as often as the first, and the second never."""
    rng = Random(1)  # noqa: S311
    drawn = Counter(weighted_choice(rng, "abc", [1, 0, 3]) for _ in range(4000))
    assert set(drawn) == {"a", "c"}
    assert 2.7 < drawn["c"] / drawn["a"] < 3.3


def test_ranges_are_drawn_by_weight_and_numbers_in_them_evenly() -> None:
    """A narrow range of the same weight gives each of its numbers more often; bounds belong to the range."""
    rng = Random(1)  # noqa: S311
    drawn = Counter(weighted_range(rng, [[1, 2, 1], [10, 13, 1]]) for _ in range(8000))
    assert set(drawn) == {1, 2, 10, 11, 12, 13}
    assert 0.9 < sum(drawn[number] for number in (1, 2)) / 4000 < 1.1
    assert 0.9 < drawn[10] / drawn[13] < 1.1
