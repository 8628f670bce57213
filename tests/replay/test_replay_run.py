"""Conversations side by side: in their order, so many at a time, and no more read than that."""

import threading
from collections.abc import Iterator

import pytest

from ctxmode_cli.replay.run import _ordered_map


def test_so_many_are_under_way_at_a_time() -> None:
    """Three calls that wait for each other end, and what ends first does not come first."""
    together = threading.Barrier(3, timeout=5)
    first = threading.Event()

    def made(item: int) -> int:
        together.wait()
        if item % 3 == 0:
            assert first.wait(5)
            first.clear()
        elif item % 3 == 2:
            first.set()
        return item * 10

    assert list(_ordered_map(made, range(9), 3)) == [item * 10 for item in range(9)]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_is_read_than_is_under_way(concurrency: int) -> None:
    """A log of any length is never held: items are read as results are taken."""
    read = 0

    def items() -> Iterator[int]:
        nonlocal read
        while True:
            read += 1
            yield read

    results = _ordered_map(lambda item: item, items(), concurrency)
    for taken in range(1, 101):
        assert next(results) == taken
        assert read == taken + concurrency - 1


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_error_ends_it(concurrency: int) -> None:
    """An error comes in its place in the order, and nothing that has not begun is begun."""
    begun = []

    def made(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise ValueError(item)
        return item

    results = _ordered_map(made, iter(range(100)), concurrency)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="2"):
        next(results)
    assert len(begun) <= 2 + concurrency
