"""What modes are ranked by, and whether the prompt cache turns the ranking round."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from ctxmode_cli.replay.results import Comparison, Cost
from ctxmode_cli.report.words import counted, listed, percent, usd


@dataclass(frozen=True, slots=True)
class Measure:
    """What each mode takes: money, or tokens where money says nothing."""

    does: str
    """`costs` or `sends`."""
    least: str
    """What the best mode does: `costs least`."""
    least_together: str
    """What several do that are level."""
    amounts: Mapping[str, Fraction]
    """By mode: USD a session or a day, or tokens a request."""
    form: Callable[[Fraction], str]
    unit: str
    calls: Callable[[str], str]
    """What a mode's calls beside its requests are of its amount, or take on top of it."""

    def shown(self, name: str) -> str:
        """A mode's amount."""
        return self.form(self.amounts[name])

    def told(self, name: str) -> str:
        """A mode's amount with its unit and its calls beside the requests."""
        return f"{self.shown(name)} {self.unit}{self.calls(name)}"


def measure_of(comparison: Comparison, names: Sequence[str]) -> Measure:
    """Cost, unless a price is unknown or everything is free: then tokens."""
    costs = {name: cost for name in names if (cost := comparison.cost(name)) is not None}
    if len(costs) < len(names) or not any(cost.total for cost in costs.values()):
        return _by_tokens(comparison, names)
    return _by_cost(comparison, costs)


def _by_cost(comparison: Comparison, costs: Mapping[str, Cost]) -> Measure:
    unit, sessions = "a session", Fraction(1, comparison.data.conversations)
    if comparison.sessions_per_day is not None:
        unit, sessions = "a day", sessions * comparison.sessions_per_day

    def calls(name: str) -> str:
        cost = costs[name]
        spent = [
            f"{percent(cost.calls[purpose] / cost.total)} of it for {counted(calls.count, f'{purpose} call')}"
            for purpose, calls in comparison.modes[name].calls.items()
            if calls.count and cost.total
        ]
        return f" ({listed(spent)})" if spent else ""

    amounts = {name: Fraction(cost.total) * sessions for name, cost in costs.items()}
    return Measure("costs", "costs least", "cost least", amounts, usd, unit, calls)


def _by_tokens(comparison: Comparison, names: Sequence[str]) -> Measure:
    def calls(name: str) -> str:
        totals = comparison.modes[name]
        more = [
            f"{(calls.prompt_tokens + calls.completion_tokens) / totals.requests:,.0f} more in "
            f"{counted(calls.count, f'{purpose} call')}"
            for purpose, calls in totals.calls.items()
            if calls.count
        ]
        return f" (and {listed(more)})" if more else ""

    def form(tokens: Fraction) -> str:
        return f"{float(tokens):,.0f}"

    amounts = {name: comparison.modes[name].prompt_tokens.mean or Fraction() for name in names}
    unit = "tokens a request"
    return Measure("sends", "sends least", "send least", amounts, form, unit, calls)


class Turn(NamedTuple):
    """Two modes whose ranking the prompt cache turns round, with their costs over the baseline's."""

    modes: tuple[str, str]
    """The one that is cheaper with the cache, then the one that is cheaper without it."""
    cached: tuple[Fraction, Fraction]
    uncached: tuple[Fraction, Fraction]

    @property
    def size(self) -> Fraction:
        """By how much the one is cheaper with the cache and the other without it, the lesser of both."""
        return min(self.cached[1] - self.cached[0], self.uncached[0] - self.uncached[1])

    @property
    def seen(self) -> bool:
        """Whether the costs differ in the digits that are shown."""
        return self.size > 0 and all(percent(one) != percent(other) for one, other in (self.cached, self.uncached))


def biggest_turn(comparison: Comparison, names: Sequence[str], chosen: str, candidates: Sequence[str]) -> Turn | None:
    """Of the pairs of modes that the prompt cache turns round the one that matters most to whoever decides.

    That is the chosen mode and the one that would be chosen without a cache; else a pair with either of them; else one
    with the baseline; else the one that turns most. None where no ranking is turned.

    Args:
        comparison: All of it.
        names: Modes to look at.
        chosen: The cheapest of the candidates.
        candidates: The modes that the choice is among.
    """
    cached, uncached = (_relative(comparison, names, cached=with_cache) for with_cache in (True, False))
    rival = min((name for name in candidates if name in uncached), key=uncached.__getitem__, default=chosen)

    def worth(turn: Turn) -> tuple[int, bool, Fraction]:
        return len({chosen, rival}.intersection(turn.modes)), comparison.baseline in turn.modes, turn.size

    turns = [
        Turn((one, other), (cached[one], cached[other]), (uncached[one], uncached[other]))
        for one, other in permutations(cached, 2)
    ]
    return max((turn for turn in turns if turn.seen), key=worth, default=None)


def _relative(comparison: Comparison, names: Sequence[str], *, cached: bool) -> dict[str, Fraction]:
    """The costs that are known, over the baseline's."""
    costs = {name: comparison.relative_cost(name, cached=cached) for name in names}
    return {name: cost for name, cost in costs.items() if cost is not None}


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The Pareto front: indexes of the points that no other one beats.

    Args:
        points: What each takes, the less the better, and what it gives, the more the better.
    """

    def beats(other: tuple[float, float], point: tuple[float, float]) -> bool:
        return other != point and other[0] <= point[0] and other[1] >= point[1]

    return [index for index, point in enumerate(points) if not any(beats(other, point) for other in points)]
