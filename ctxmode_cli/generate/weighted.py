"""Weighted draws, in whole numbers: the same on every platform."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def weighted_choice(rng: Random, options: Sequence[T], weights: Sequence[int]) -> T:
    """One of the options, each as often as its weight says."""
    ticket = rng.randrange(sum(weights))
    for option, weight in zip(options, weights, strict=True):
        ticket -= weight
        if ticket < 0:
            return option
    raise AssertionError("the weights add up to more than any ticket")


def weighted_range(rng: Random, ranges: Sequence[Sequence[int]]) -> int:
    """A whole number from weighted ranges, each [low, high, weight]: first a range, then evenly a number in it."""
    low, high, _ = weighted_choice(rng, ranges, [weight for _, _, weight in ranges])
    return rng.randint(low, high)
