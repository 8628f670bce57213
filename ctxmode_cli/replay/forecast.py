"""What sessions take by their number of turns: since a mode sees only the past, one replay tells it for every number."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from ctxmode_cli.replay.results import Comparison, ModeTotals
from ctxmode_cli.replay.session import ModeRows, SessionReplay
from ctxmode_cli.replay.turns import BreakEven, break_evens


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
        costs, uncached = (
            {mode: [self._cost(point, cached=cached) for point in points] for mode, points in self.points.items()}
            for cached in (True, False)
        )
        return break_evens(costs, uncached)

    @staticmethod
    def _cost(point: Point, *, cached: bool) -> Decimal | None:
        return point.cost if cached else point.cost_uncached


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
