"""Positions of some of a history's messages, as ranges of neighbours: a request costs its pieces, not its length."""

from bisect import bisect_left, bisect_right


class Ranges:
    """Positions, added in rising order, kept as ranges of neighbours."""

    __slots__ = ("_starts", "_stops")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def add(self, position: int) -> None:
        """Take in a position that lies after all others."""
        if self._stops and self._stops[-1] == position:
            self._stops[-1] += 1
        else:
            self._starts.append(position)
            self._stops.append(position + 1)

    def pop(self) -> None:
        """Take the last position out again."""
        self._stops[-1] -= 1
        if self._stops[-1] == self._starts[-1]:
            self._starts.pop()
            self._stops.pop()

    def within(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The positions in `range(start, stop)`, as (start, stop) of each range of neighbours."""
        first, last = bisect_right(self._stops, start), bisect_left(self._starts, stop)
        spans = zip(self._starts[first:last], self._stops[first:last], strict=True)
        return [(max(start, begin), min(stop, end)) for begin, end in spans]
