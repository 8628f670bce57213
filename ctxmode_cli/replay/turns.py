"""What the requests of each turn take, counted so that it adds up, and what sessions of so many turns come to."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, permutations
from typing import NamedTuple, Self, TypeAlias

from ctxmode_cli.replay.session import RequestRow
from ctxmode_cli.simulate.charges import Charge
from ctxmode_cli.simulate.rates import Bill

MAX_TURNS = 200
"""Of a session, from its start: what comes later is in the totals, and not told turn by turn."""
TELLING = Fraction(1, 20)
"""A turn that a smaller share of the sessions reaches is not told: what a handful of long ones does is no curve."""


@dataclass
class TurnCounts:
    """What one mode takes at one turn."""

    sessions: int = 0
    """Those that have a request there."""
    requests: int = 0
    """Sendable ones."""
    prompt_tokens: int = 0
    """Of these."""
    bill: Bill = field(default_factory=Bill)
    """Of these alone."""
    calls_bill: Bill = field(default_factory=Bill)
    """Of the calls that were made beside them."""

    def __iadd__(self, other: "TurnCounts") -> Self:
        self.sessions += other.sessions
        self.requests += other.requests
        self.prompt_tokens += other.prompt_tokens
        self.bill += other.bill
        self.calls_bill += other.calls_bill
        return self


class TurnPoint(NamedTuple):
    """What one mode takes in sessions of so many turns."""

    turns: int
    sessions: int
    """Those that have so many turns."""
    tokens_mean: Fraction | None
    """Prompt tokens of a request in the last of these turns; None where none can be sent."""
    cost: Fraction | None
    """USD a session up to the end of that turn, all calls included; None where a price is unknown."""
    cost_uncached: Fraction | None
    """The same without a prompt cache."""


Costs: TypeAlias = Sequence[Decimal] | Sequence[Fraction] | Sequence[Decimal | None] | Sequence[Fraction | None]
"""USD, None where a price is unknown."""
CostOf: TypeAlias = Callable[[Bill, Bill, bool], Decimal | None]
"""USD of the bills of requests and of calls beside them, with the prompt cache or without it; None where it is unknown."""


@dataclass
class ByTurn:
    """What one mode takes, turn by turn; adds up in any order."""

    turns: list[TurnCounts] = field(default_factory=list)

    def __iadd__(self, other: "ByTurn") -> Self:
        missing = len(other.turns) - len(self.turns)
        self.turns.extend(TurnCounts() for _ in range(missing))
        for turn, counts in enumerate(other.turns):
            self.turns[turn] += counts
        return self

    def add(self, rows: Sequence[RequestRow], charges: Sequence[Charge | None]) -> None:
        """Count one session: its requests, and what each is charged."""
        by_turn: defaultdict[int, list[tuple[RequestRow, Charge | None]]] = defaultdict(list)
        for row, charge in zip(rows, charges, strict=True):
            by_turn[row.turn].append((row, charge))
        for turn, requests in by_turn.items():
            if turn < MAX_TURNS:
                self.turns.extend(TurnCounts() for _ in range(turn + 1 - len(self.turns)))
                _count(self.turns[turn], requests)

    def points(self, cost_of: CostOf) -> list[TurnPoint]:
        """Sessions of 1, 2, … turns, as far as enough of them have so many.

        A turn's cost is the mean over the sessions that reach it, and the costs of turns are added: so a curve never
        falls where it is only other sessions that go on.
        """
        told = list(self._telling())

        def costs(*, cached: bool) -> Iterator[Fraction | None]:
            means = (_mean(cost_of(part.bill, part.calls_bill, cached), part.sessions) for part in told)
            return accumulate(means, _sum)

        return [
            TurnPoint(turns, part.sessions, _mean(part.prompt_tokens, part.requests), cost, uncached)
            for turns, (part, cost, uncached) in enumerate(
                zip(told, costs(cached=True), costs(cached=False), strict=True), 1
            )
        ]

    def _telling(self) -> Iterable[TurnCounts]:
        for counts in self.turns:
            if not counts.sessions or counts.sessions < TELLING * self.turns[0].sessions:
                return
            yield counts


def _count(counts: TurnCounts, requests: Sequence[tuple[RequestRow, Charge | None]]) -> None:
    sent = [row.context.prompt_tokens for row, _ in requests if row.context is not None]
    charges = [charge for _, charge in requests if charge is not None]
    counts.sessions += 1
    counts.requests += len(sent)
    counts.prompt_tokens += sum(sent)
    counts.bill.add((charge.tier, charge.usage) for charge in charges)
    counts.calls_bill.add((call.tier, call.usage) for charge in charges for call in charge.calls)


def _mean(total: Decimal | int | None, count: int) -> Fraction | None:
    return None if total is None or not count else Fraction(total) / count


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


class BreakEven(NamedTuple):
    """From how many turns on, up to the longest sessions looked at, a mode is cheaper than another; None: never so."""

    mode: str
    than: str
    cached: int | None
    """With the prompt cache."""
    uncached: int | None
    """Without it."""


def break_evens(costs: Mapping[str, Costs], uncached: Mapping[str, Costs]) -> Iterator[BreakEven]:
    """For each mode and each other one, where all costs of both are known.

    Args:
        costs: By mode, of sessions of 1, 2, … turns; of each mode as many.
        uncached: The same without a prompt cache.
    """
    for mode, than in permutations(costs, 2):
        savings = [_savings(of[mode], of[than]) for of in (costs, uncached)]
        if None not in savings:
            yield BreakEven(mode, than, *(_positive_from(part) for part in savings if part is not None))


def _savings(costs: Costs, others: Costs) -> list[Decimal | Fraction] | None:
    """By how much the one is cheaper than the other; None where a cost is unknown."""
    pairs = list(zip(costs, others, strict=True))
    known = [Fraction(other) - Fraction(cost) for cost, other in pairs if cost is not None and other is not None]
    return list(known) if len(known) == len(pairs) else None


def _positive_from(values: Sequence[Decimal | Fraction]) -> int | None:
    """From which one on, counted from 1, all are above 0; None where the last is not."""
    first = len(values)
    while first and values[first - 1] > 0:
        first -= 1
    return None if first == len(values) else first + 1
