"""Ranges of neighbours against a plain list of positions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.ranges import Ranges

POSITIONS = st.sets(st.integers(0, 20)).map(sorted)


def ranges_of(positions: list[int]) -> Ranges:
    ranges = Ranges()
    for position in positions:
        ranges.add(position)
    return ranges


@given(POSITIONS, st.integers(0, 22), st.integers(0, 22))
def test_ranges_hold_the_positions(positions: list[int], start: int, stop: int) -> None:
    """Within any bounds the ranges are the positions there, and no two of them touch."""
    spans = ranges_of(positions).within(start, stop)
    assert [p for first, end in spans for p in range(first, end)] == [p for p in positions if start <= p < stop]
    assert all(end < first for (_, end), (first, _) in pairwise(spans))


@given(POSITIONS.filter(bool))
def test_ranges_pop_the_last_position(positions: list[int]) -> None:
    """A position that was added and taken out again leaves nothing behind."""
    ranges = ranges_of(positions)
    ranges.pop()
    assert ranges.within(0, 22) == ranges_of(positions[:-1]).within(0, 22)
