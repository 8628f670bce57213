"""What sessions take by their number of turns: since a mode sees only the past, one replay tells it for every number."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from ctxmode_cli.replay.results import Comparison, ModeTotals
from ctxmode_cli.replay.session import ModeRows, SessionReplay


class Point(NamedTuple):
    """What one mode takes for sessions of so many turns, summary calls included in the costs."""

    turns: int
    tokens_mean: Fraction | None
    """Prompt tokens of a request; None where none can be sent."""
    tokens_total: Fraction
    """Prompt tokens of a session's requests."""
    cost: Decimal | None
    """USD a session; None where a price is unknown."""
    cost_uncached: Decimal | None
    """The same without a prompt cache."""
    latency_p95_ms: int | None
    summary_calls: Fraction
    """A session."""
    trimmed: int
    """Requests that the budget forced a cut in, of all sessions."""
    unsendable: int
    """Requests of all sessions that do not fit the budget; they take nothing."""


class BreakEven(NamedTuple):
    """From how many turns on, up to the longest sessions looked at, a mode is cheaper than another; None: never so."""

    mode: str
    than: str
    cached: int | None
    """With the prompt cache."""
    uncached: int | None
    """Without it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What sessions of 1, 2, … turns take, mode by mode."""

    comparison: Comparison
    """Of the longest sessions."""
    turns: int
    """Theirs."""
    sessions: str
    """How they were made, in words."""
    points: Mapping[str, Sequence[Point]]
    """By mode; one for each number of turns."""

    @property
    def is_priced(self) -> bool:
        """Whether the cost of every mode that can send anything is known."""
        return all(self._cost(self.points[mode][-1], cached=True) is not None for mode in self.sendable)

    @property
    def sendable(self) -> list[str]:
        """Modes that can send anything at all; what the others cost says nothing."""
        return [mode for mode, points in self.points.items() if points[-1].tokens_mean is not None]

    def break_evens(self) -> Iterator[BreakEven]:
        """For each mode and each other one, where the costs of both are known."""
        for mode, than in permutations(self.points, 2):
            cached, uncached = (self._savings(mode, than, cached=cached) for cached in (True, False))
            if cached is not None and uncached is not None:
                yield BreakEven(mode, than, _positive_from(cached), _positive_from(uncached))

    def _savings(self, mode: str, than: str, *, cached: bool) -> list[Decimal] | None:
        """By how much the mode is cheaper than the other, by number of turns; None where a cost is unknown."""
        savings = []
        for point, other in zip(self.points[mode], self.points[than], strict=True):
            cost, other_cost = self._cost(point, cached=cached), self._cost(other, cached=cached)
            if cost is None or other_cost is None:
                return None
            savings.append(other_cost - cost)
        return savings

    @staticmethod
    def _cost(point: Point, *, cached: bool) -> Decimal | None:
        return point.cost if cached else point.cost_uncached


def _positive_from(values: Sequence[Decimal]) -> int | None:
    """From which one on, counted from 1, all are above 0."""
    first = len(values)
    while first and values[first - 1] > 0:
        first -= 1
    return None if first == len(values) else first + 1


@dataclass
class TurnTotals:
    """What replayed sessions add up to, turn by turn."""

    by_turn: list[dict[str, ModeTotals]] = field(default_factory=list)

    def add(self, session: SessionReplay) -> None:
        """Count a session, each request at its turn."""
        for mode, rows in session.modes.items():
            for turn, part in _by_turn(rows).items():
                while len(self.by_turn) <= turn:
                    self.by_turn.append({})
                self.by_turn[turn].setdefault(mode, ModeTotals()).add(part)

    def forecast(self, comparison: Comparison, sessions: str) -> Forecast:
        """The forecast that the turns add up to.

        Args:
            comparison: Of the same sessions.
            sessions: How these were made, in words.
        """
        points: dict[str, list[Point]] = {mode: [] for mode in comparison.modes}
        so_far = {mode: ModeTotals() for mode in comparison.modes}
        shorter = replace(comparison, modes=so_far)
        for turns, parts in enumerate(self.by_turn, 1):
            for mode, part in parts.items():
                so_far[mode] += part
                points[mode].append(_point(shorter, mode, turns))
        return Forecast(comparison, len(self.by_turn), sessions, points)


def _by_turn(rows: ModeRows) -> dict[int, ModeRows]:
    parts: dict[int, ModeRows] = {}
    for row, charge in zip(rows.requests, rows.charges, strict=True):
        part = parts.setdefault(row.turn, ModeRows([], [], rows.scores, []))  # made sessions have no facts to probe
        part.requests.append(row)
        part.charges.append(charge)
    return parts


def _point(comparison: Comparison, mode: str, turns: int) -> Point:
    totals, sessions = comparison.modes[mode], comparison.data.conversations
    cost, uncached = comparison.cost(mode), comparison.cost(mode, cached=False)
    return Point(
        turns=turns,
        tokens_mean=totals.prompt_tokens.mean,
        tokens_total=Fraction(totals.prompt_tokens.total, sessions),
        cost=None if cost is None else cost.total / sessions,
        cost_uncached=None if uncached is None else uncached.total / sessions,
        latency_p95_ms=totals.latency_ms.percentile(95),
        summary_calls=Fraction(totals.calls["summary"].count, sessions),
        trimmed=totals.trimmed,
        unsendable=totals.unsendable.total(),
    )
