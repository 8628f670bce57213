"""What is lost, by what it is and where it goes: the probes of one mode by age, position, kind, language and source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.score.position import USE_UNITS
from ctxmode_cli.score.scores import WENT, Scores

AXES = ("age", "position", "kind", "lang", "source")
MAX_VALUES = 256
"""An axis with more values than this, such as a source of its own for each record, is given up: it would say nothing."""
MAX_WORST = 10
"""Conversations that are listed, and lost facts of each."""
MAX_NAME = 60
"""Characters of a name that are kept; a log may hold whole documents there."""
UNNAMED = ""
"""The value of records that do not say."""

_OLDEST = (2, 5, 10, 20)
AGES = ("1-2", "3-5", "6-10", "11-20", ">20")
"""Turns since a fact was said."""
_PART = 10**9
"""Of a fact; what a conversation loses is told to that, since exact fractions of many probes are slow to add."""
_THIRDS = 3
BANDS = ("head", "first third", "middle third", "last third", "not in context")
"""Parts of a prompt."""


def short(text: str, length: int = MAX_NAME) -> str:
    """A text as it is kept and shown."""
    return text if len(text) <= length else f"{text[:length]}…"


def utf8(text: str) -> str:
    """`text` as Parquet can hold it: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(slots=True)
class Share:
    """Probes with one thing in common; unlike in recall, each probe weighs alike."""

    probes: int = 0
    hits: int = 0
    """In context."""
    use: int = 0
    """Use probabilities, in `USE_UNITS`."""

    def add(self, other: "Share") -> None:
        """Count the probes of another one too."""
        self.probes += other.probes
        self.hits += other.hits
        self.use += other.use

    @property
    def in_context(self) -> Fraction:
        """The share of them that is in context."""
        return Fraction(self.hits, self.probes)

    @property
    def modelled(self) -> Fraction:
        """Their mean use probability."""
        return Fraction(self.use, self.probes * USE_UNITS)


@dataclass
class Axis:
    """The probes by one thing that they differ in."""

    shares: dict[str, Share] | None = field(default_factory=dict)
    """By value; None where there are more than `MAX_VALUES`, in whatever order they came."""

    def share(self, value: str) -> Share:
        """Where probes with that value are counted."""
        if self.shares is None:
            return Share()
        share = self.shares.get(value)
        if share is None:
            share = self.shares[value] = Share()
            if len(self.shares) > MAX_VALUES:
                self.shares = None
        return share

    def __iadd__(self, other: "Axis") -> Self:
        if other.shares is None:
            self.shares = None
        else:
            for value, part in other.shares.items():
                self.share(value).add(part)
        return self


class LostFact(NamedTuple):
    """A fact that was not in context when it was needed."""

    fact: str
    """Its id."""
    kind: str
    value: str
    request: int
    """The first one that needed it and did not have it."""
    went: str
    """Where it went, for that request (`WENT`)."""


class WorstCase(NamedTuple):
    """A conversation that loses much."""

    lost: Fraction
    """Facts lost: the sum of the shares of their probes that are not in context."""
    conversation: str
    """Its id."""
    facts: int
    """Probed ones."""
    lost_facts: tuple[LostFact, ...]
    """The first of the facts that any probe misses."""

    @property
    def rank(self) -> tuple[Fraction, str, tuple[LostFact, ...]]:
        """What sorts the worst first, whatever order they came in."""
        return -self.lost, self.conversation, self.lost_facts


@dataclass
class Breakdown:
    """The probes of one mode, broken down; adds up in any order."""

    axes: dict[str, Axis] = field(default_factory=lambda: {axis: Axis() for axis in AXES})
    went: Counter[str] = field(default_factory=Counter)
    """Probes that miss their fact, by where it went."""
    worst: list[WorstCase] = field(default_factory=list)
    """The conversations that lose most, worst first."""

    def __iadd__(self, other: "Breakdown") -> Self:
        for name, axis in other.axes.items():
            self.axes[name] += axis
        self.went.update(other.went)
        self._keep_worst([*self.worst, *other.worst])
        return self

    def add(self, conversation: Conversation, scores: Scores) -> None:
        """Count the probes of one conversation."""
        probes = scores.probes
        if not len(probes):
            return
        kinds = [short(fact.kind) for fact in conversation.facts]
        names = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        kind = np.array([names[kind] for kind in kinds])[probes.fact]
        bands = np.where(scores.in_context, _band_of(scores.position), len(BANDS) - 1)
        self._count("age", AGES, np.searchsorted(_OLDEST, probes.age_turns), scores)
        self._count("position", BANDS, bands, scores)
        self._count("kind", tuple(names), kind, scores)
        together = np.zeros(len(probes), dtype=np.int64)
        self._count("lang", (short(conversation.lang or UNNAMED),), together, scores)
        self._count("source", (short(conversation.source or UNNAMED),), together, scores)
        lost = np.bincount(scores.went[~scores.in_context], minlength=len(WENT))
        self.went.update({WENT[index]: count for index, count in enumerate(lost.tolist()) if count})
        if lost.any():
            self._add_case(conversation, scores)

    def _count(self, axis: str, values: Sequence[str], band: NDArray[np.int64], scores: Scores) -> None:
        """Count probes on one axis: `band` is the index of each probe's value."""
        sums = (np.bincount(band, weights, len(values)) for weights in (None, scores.in_context, scores.units))
        for value, probes, hits, use in zip(values, *(column.tolist() for column in sums), strict=True):
            if probes:
                self.axes[axis].share(value).add(Share(probes, round(hits), round(use)))

    def _add_case(self, conversation: Conversation, scores: Scores) -> None:
        probes = scores.probes
        needed = np.bincount(probes.fact)
        lacking = np.bincount(probes.fact, ~scores.in_context)
        by_needed = np.bincount(needed, lacking).tolist()
        lost = Fraction(sum(round(count) * _PART // each for each, count in enumerate(by_needed) if count), _PART)
        if len(self.worst) == MAX_WORST and lost < self.worst[-1].lost:
            return
        missed, first = np.unique(probes.fact[~scores.in_context], return_index=True)
        went = scores.went[~scores.in_context][first]
        asked = probes.asked[~scores.in_context][first]
        listed = []
        for index, request, where in zip(missed.tolist(), asked.tolist(), went.tolist(), strict=True):
            fact = conversation.facts[index]
            names = short(fact.id), short(fact.kind), short(fact.value)
            listed.append(LostFact(*names, probes.requests[request].request, WENT[where]))
        case = WorstCase(lost, short(conversation.id), int((needed > 0).sum()), tuple(listed[:MAX_WORST]))
        self._keep_worst([*self.worst, case])

    def _keep_worst(self, cases: list[WorstCase]) -> None:
        self.worst = sorted(cases, key=lambda case: case.rank)[:MAX_WORST]


def _band_of(positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """By index of `BANDS`, in which part of the prompt each place is."""
    thirds = np.minimum(np.nan_to_num(positions) * _THIRDS, _THIRDS - 1).astype(np.int64) + 1
    return np.where(positions == 0, 0, thirds)
