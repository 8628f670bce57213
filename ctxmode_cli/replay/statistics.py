"""How sure the figures are: a Poisson bootstrap over conversations, paired between modes.

Each replicate gives each conversation a weight that is drawn from a Poisson distribution with mean 1 (Chamandy et al.,
Estimating Uncertainty for Massive Data Streams, 2012), as if conversations had been drawn with replacement. Conversations
are what is drawn, since requests of one conversation are alike. The weights depend on the seed and the conversation's id
alone, and sums are whole numbers: any order of adding, any sharding and any engine gives the same bytes, and modes are
paired, as they have the same weights.

Every measure is a ratio of two sums. Recall is the sum of the facts' shares over the number of facts, so that facts weigh
alike, and a conversation with many facts weighs more than one with few; the alternative, a mean of the conversations'
recalls, would answer what a session keeps, not what becomes of a fact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import shake_128
from itertools import accumulate
from math import exp, factorial
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:  # numpy is loaded where something is replayed, so that `--help` does not pay for it
    import numpy as np
    from numpy.typing import NDArray

REPLICATES = 1_000
FIXED_POINT = 10**9
"""Shares of facts and USD are added up as whole numbers of this part."""
TAIL = Fraction(25, 1000)
"""Of the replicates, what lies outside a 95 % interval on each side."""

_BITS = 32
_LARGEST_WEIGHT = 12
"""A larger one has a probability below 2^-32."""
_BOUNDS = [
    round(share * 2**_BITS) for share in accumulate(exp(-1) / factorial(weight) for weight in range(_LARGEST_WEIGHT))
]
"""A draw of 32 bits below the first has the weight 0, below the second 1, and so on."""


class Sums(NamedTuple):
    """What one mode's measures are ratios of, in one conversation; whole numbers."""

    sessions: int
    """1."""
    cost: int
    """USD, summary calls included, 0 where a price is unknown; in fixed point, as all that is not a count."""
    cost_uncached: int
    requests: int
    """Sendable ones."""
    tokens: int
    """Prompt tokens of these."""
    replied: int
    """Sendable requests with a known reply."""
    latency_ms: int
    """Of these."""
    facts: int
    """Probed ones."""
    in_context: int
    """Their shares of probes in context; in fixed point."""
    used: int
    """Their mean use probabilities; in fixed point."""
    answered_facts: int = 0
    """Those that a model was asked for, and answered."""
    answered: int = 0
    """Their shares of right answers; in fixed point."""


class Measure(NamedTuple):
    """A ratio of two sums."""

    over: str
    under: str
    unit: int = 1
    """What the ratio is divided by."""


MEASURES: Mapping[str, Measure] = {
    "recall.in_context": Measure("in_context", "facts", FIXED_POINT),
    "recall.modelled": Measure("used", "facts", FIXED_POINT),
    "recall.answered": Measure("answered", "answered_facts", FIXED_POINT),
    "tokens.mean": Measure("tokens", "requests"),
    "cost_usd.per_session": Measure("cost", "sessions", FIXED_POINT),
    "cost_usd.per_session_uncached": Measure("cost_uncached", "sessions", FIXED_POINT),
    "latency_s.mean": Measure("latency_ms", "replied", 1000),
}
"""By name, which is the measure's path in the JSON."""


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass
class _Replicated:
    """One mode's sums, weighted, in every replicate."""

    sums: "NDArray[np.int64]"
    """One row a field of `Sums`, one column a replicate."""
    present: "NDArray[np.int64]"
    """For each field, the conversations in which it is not 0."""

    def ratio(self, measure: Measure) -> "NDArray[np.float64] | None":
        """The measure in every replicate, NaN where it has nothing; None with fewer than two conversations for it."""
        import numpy as np  # noqa: PLC0415 - see above

        over, under = Sums._fields.index(measure.over), Sums._fields.index(measure.under)
        if self.present[under] < 2:  # noqa: PLR2004 - one conversation says nothing of the spread
            return None
        total = self.sums[under] * float(measure.unit)
        ratios: NDArray[np.float64] = np.full(REPLICATES, np.nan)
        np.divide(self.sums[over], total, out=ratios, where=total > 0)
        return ratios


@dataclass
class Replicates:
    """The bootstrap's weighted sums, which add up: their size does not depend on the number of conversations."""

    seed: int = 0
    _modes: dict[str, _Replicated] = field(default_factory=dict)

    def add(self, conversation_id: str, sums: Mapping[str, Sums]) -> None:
        """Take in one conversation.

        Args:
            conversation_id: With the seed, what its weights are drawn by.
            sums: By mode.
        """
        import numpy as np  # noqa: PLC0415 - see above

        weights = poisson_weights(self.seed, conversation_id)
        for mode, values in sums.items():
            column = np.array(values, dtype=np.int64)
            self._take(mode, _Replicated(np.multiply.outer(column, weights), (column != 0).astype(np.int64)))

    def __iadd__(self, other: "Replicates") -> Self:
        for mode, part in other._modes.items():
            self._take(mode, _Replicated(part.sums.copy(), part.present.copy()))
        return self

    def _take(self, mode: str, part: _Replicated) -> None:
        known = self._modes.setdefault(mode, part)
        if known is not part:
            known.sums += part.sums
            known.present += part.present

    def conversations(self, mode: str, measure: str) -> int:
        """How many conversations have something to say of a mode's measure."""
        under = Sums._fields.index(MEASURES[measure].under)
        return int(self._modes[mode].present[under]) if mode in self._modes else 0

    def interval(self, mode: str, measure: str, value: Fraction | None) -> Interval | None:
        """A mode's figure with its interval.

        Args:
            mode: Its name.
            measure: One of `MEASURES`.
            value: The figure itself.

        Returns:
            None where the figure is unknown, or fewer than two conversations have something to say of it.
        """
        return None if value is None else _interval(float(value), self.ratio(mode, measure))

    def difference(self, mode: str, other: str, measure: str, value: Fraction | None) -> Interval | None:
        """The difference between two modes' figures, mode less other, with its interval; paired, so it is narrow.

        Args:
            mode: The name of the one.
            other: That of the other.
            measure: One of `MEASURES`.
            value: The difference itself.

        Returns:
            None as for `interval`.
        """
        return _difference(self.ratio(mode, measure), self.ratio(other, measure), value)

    def change(self, before: "Replicates", mode: str, measure: str, value: Fraction | None) -> Interval | None:
        """The difference between a mode's figures in two runs with its interval, paired conversation by conversation.

        Args:
            before: Of the other run, with the same seed and the same data.
            mode: Its name.
            measure: One of `MEASURES`.
            value: The difference itself, this run less the other.

        Returns:
            None as for `interval`.
        """
        return _difference(self.ratio(mode, measure), before.ratio(mode, measure), value)

    def ratio(self, mode: str, measure: str) -> "NDArray[np.float64] | None":
        """A mode's measure in every replicate; None without the mode, or with fewer than two conversations for it."""
        return self._modes[mode].ratio(MEASURES[measure]) if mode in self._modes else None


def poisson_weights(seed: int, conversation_id: str) -> "NDArray[np.int64]":
    """The weight of a conversation in each replicate: independent draws from a Poisson distribution with mean 1.

    They are read off a hash, so that no version of a library can change them.
    """
    import numpy as np  # noqa: PLC0415 - see above

    # surrogatepass: an id may be any JSON string.
    key = f"bootstrap\0{seed}\0{conversation_id}".encode("utf-8", "surrogatepass")
    draws = np.frombuffer(shake_128(key).digest(REPLICATES * _BITS // 8), dtype="<u4")
    return np.searchsorted(np.array(_BOUNDS, dtype="<u4"), draws, side="right")


def _difference(
    one: "NDArray[np.float64] | None", other: "NDArray[np.float64] | None", value: Fraction | None
) -> Interval | None:
    if one is None or other is None or value is None:
        return None
    return _interval(float(value), one - other)


def _interval(value: float, replicates: "NDArray[np.float64] | None") -> Interval | None:
    """The percentile interval (nearest rank); it takes in the figure, which fixed point may have moved off its end."""
    import numpy as np  # noqa: PLC0415 - see above

    if replicates is None:
        return None
    known = np.sort(replicates[~np.isnan(replicates)])
    outside = int(TAIL * known.size)
    return Interval(value, min(value, float(known[outside])), max(value, float(known[-1 - outside])))
