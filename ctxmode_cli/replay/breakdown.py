"""What is lost, by what it is and where it goes: the probes of one mode by age, position, kind, language and source."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Self

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.replay.session import ProbeRow
from ctxmode_cli.score.position import USE_UNITS, Place

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
_AGES = ("1-2", "3-5", "6-10", "11-20", ">20")
_THIRDS = ("first third", "middle third", "last third")


def short(text: str, length: int = MAX_NAME) -> str:
    """A text as it is kept and shown."""
    return text if len(text) <= length else f"{text[:length]}…"


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
    """Where it went, for that request (`FactPlaces.went`)."""


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

    def add(self, conversation: Conversation, probes: Sequence[ProbeRow]) -> None:
        """Count the probes of one conversation."""
        if not probes:
            return
        age, position, kind, lang, source = (self.axes[axis].share for axis in AXES)
        together = Share()
        for row in probes:
            place = row.place
            use = 0 if place is None else place.units
            value = short(conversation.facts[row.probe.fact].kind)
            for share in (together, age(age_band(row.probe.age_turns)), position(position_band(place)), kind(value)):
                share.probes += 1
                share.hits += place is not None
                share.use += use
        for about in (lang(short(conversation.lang or UNNAMED)), source(short(conversation.source or UNNAMED))):
            about.add(together)
        missed = [row for row in probes if row.went is not None]
        self.went.update(row.went for row in missed if row.went is not None)
        if missed:
            self._add_case(conversation, probes, missed)

    def _add_case(self, conversation: Conversation, probes: Sequence[ProbeRow], missed: Sequence[ProbeRow]) -> None:
        needed = Counter(row.probe.fact for row in probes)
        lacking = Counter(row.probe.fact for row in missed)
        lost = sum((Fraction(count, needed[fact]) for fact, count in lacking.items()), Fraction())
        if len(self.worst) == MAX_WORST and lost < self.worst[-1].lost:
            return
        first = {row.probe.fact: row for row in reversed(missed)}
        facts = conversation.facts
        listed = tuple(
            LostFact(
                short(facts[fact].id), short(facts[fact].kind), short(facts[fact].value), row.request, row.went or ""
            )
            for fact, row in sorted(first.items())[:MAX_WORST]
        )
        self._keep_worst([*self.worst, WorstCase(lost, short(conversation.id), len(needed), listed)])

    def _keep_worst(self, cases: list[WorstCase]) -> None:
        self.worst = sorted(cases, key=lambda case: case.rank)[:MAX_WORST]


def age_band(turns: int) -> str:
    """The band of an age in turns."""
    return _AGES[bisect_left(_OLDEST, turns)]


def position_band(place: Place | None) -> str:
    """In which part of the prompt a fact stands."""
    if place is None:
        return "not in context"
    if not place.position:
        return "head"
    return _THIRDS[min(int(place.position * len(_THIRDS)), len(_THIRDS) - 1)]
