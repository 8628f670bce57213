"""What tokens cost: rates per token, by the tier that a request's size falls in."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import add
from typing import NamedTuple, Self


class Usage(NamedTuple):
    """Tokens of one call, or of many, by what each is charged as."""

    uncached: int = 0
    """Prompt tokens at the input price."""
    cached: int = 0
    """Prompt tokens read from the cache."""
    written: int = 0
    """Prompt tokens written to the cache, at the write price."""
    completion: int = 0

    @classmethod
    def of_call(cls, prompt: int, cached: int, completion: int, *, writes: bool) -> Self:
        """The usage of one call: what is not read from the cache is written where `writes`, else plain input."""
        rest = prompt - cached
        return cls(0, cached, rest, completion) if writes else cls(rest, cached, 0, completion)

    @property
    def prompt(self) -> int:
        """All prompt tokens."""
        return self.uncached + self.cached + self.written


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates of requests of one size, in USD per token; each a whole number of 10^-12 USD, so that sums are exact."""

    above: int
    """Holds for requests with more prompt tokens than this, up to the next tier's."""
    input: Decimal
    cached: Decimal
    write: Decimal
    output: Decimal


@dataclass(frozen=True, slots=True)
class Rates:
    """What one model's tokens cost, with one provider's cache rule."""

    tiers: tuple[Tier, ...]
    """In rising order; the first is above 0."""

    def tier(self, prompt_tokens: int) -> int:
        """Index of the tier that a whole request of so many prompt tokens is charged at."""
        return max(0, bisect_left(self.tiers, prompt_tokens, key=lambda tier: tier.above) - 1)

    def cost(self, usage: Usage, tier: int) -> Decimal:
        """USD of tokens that are charged at a tier."""
        rate = self.tiers[tier]
        return (
            rate.input * usage.uncached
            + rate.cached * usage.cached
            + rate.write * usage.written
            + rate.output * usage.completion
        )

    def cost_uncached(self, usage: Usage, tier: int) -> Decimal:
        """The same with all input at the input price, as if there were no cache."""
        rate = self.tiers[tier]
        return rate.input * usage.prompt + rate.output * usage.completion


@dataclass
class Bill:
    """Tokens of many calls by the tier that each is charged at; bills add up, money is derived."""

    usage: dict[int, Usage] = field(default_factory=dict)

    def __iadd__(self, other: "Bill") -> Self:
        for tier, usage in other.usage.items():
            self.add_call(tier, usage)
        return self

    def add(self, calls: Iterable[tuple[int, Usage]]) -> None:
        """Take in calls, each with its tier."""
        by_tier: defaultdict[int, list[Usage]] = defaultdict(list)
        for tier, usage in calls:
            by_tier[tier].append(usage)
        for tier, usages in by_tier.items():
            self.add_call(tier, _sum(usages))

    def add_call(self, tier: int, usage: Usage) -> None:
        """Take in one call."""
        known = self.usage.get(tier)
        self.usage[tier] = usage if known is None else Usage(*map(add, known, usage))

    @property
    def total(self) -> Usage:
        """The tokens of all tiers."""
        return _sum(list(self.usage.values()))

    def cost(self, rates: Rates) -> Decimal:
        """USD."""
        return sum((rates.cost(usage, tier) for tier, usage in self.usage.items()), Decimal(0))

    def cost_uncached(self, rates: Rates) -> Decimal:
        """USD without a prompt cache."""
        return sum((rates.cost_uncached(usage, tier) for tier, usage in self.usage.items()), Decimal(0))


def _sum(usages: Sequence[Usage]) -> Usage:
    return Usage(*map(sum, zip(*usages, strict=True)))
