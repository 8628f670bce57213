"""Whether the key facts were still there: probes, recall in context, and recall as modelled.

A probe is a pair of a fact and a request that needs it. Recall (in context) of a fact is the share of its probes in
which the value or an alias stands in what is sent, the current input left out; recall (modelled) of a fact is the mean
over its probes of the probability that a model uses it where it stands, which is 0 where it is not in context. The
recall of a mode is the mean over facts, so that each fact weighs alike however often it is probed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ctxmode_cli.context.context import HEAD, Context
from ctxmode_cli.context.history import Note
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.score.position import USE_UNITS, Flags, Ints


class Carrier(NamedTuple):
    """What carries a fact in a request: a recorded message, or a line of generated text."""

    piece: int
    """Index of the piece that it is a part of."""
    purpose: str
    """Of that piece."""
    message: int | None
    """Index of the message; None for generated text."""
    line: str
    """The line; empty for a message. Of a note that is no summary it is the whole text."""


class FactPlaces:
    """Where the facts of one conversation are said: looked up once, for all modes.

    Args:
        facts: The conversation's labelled facts.
        messages: All of its messages.
        wanted: Indexes of the facts that matter; the others are not looked for.
    """

    def __init__(self, facts: Sequence[Fact], messages: Sequence[Message], wanted: Sequence[int]) -> None:
        self.count = len(facts)
        """How many facts there are, those that are not looked for among them."""
        self._wanted = wanted
        self._matcher = FactMatcher([facts[index] for index in wanted])
        places = self._matcher.locate(messages)
        positions = {index: places.get(number, []) for number, index in enumerate(wanted)}
        self.unmatched = [index for index in wanted if facts[index].stated_at not in positions[index]]
        """Wanted facts that the matcher does not find where the label says: never counted as in context."""
        for index in self.unmatched:
            positions[index] = []
        self._positions = positions
        said = [(index, position) for index in sorted(positions) for position in positions[index]]
        self.occurrences = np.array(said, dtype=np.int64).reshape(-1, 2).T
        """Facts, rising, and the positions of the messages that say them, rising for each fact."""
        self._unmatched = set(self.unmatched)
        self._line_facts: dict[str, set[int]] = {}
        self._note_facts: dict[str, list[int]] = {}

    def facts_in_note(self, note: Note) -> list[int]:
        """Indexes of the facts that a generated note says."""
        facts = self._note_facts.get(note.text)
        if facts is None:
            found = {self._wanted[number] for number in set().union(*self._facts_in_lines(_lines(note)))}
            facts = self._note_facts[note.text] = sorted(found - self._unmatched)
        return facts

    def is_found(self, fact: int) -> bool:
        """Whether the matcher finds a wanted fact where the label says that it is stated."""
        return bool(self._positions[fact])

    def carriers(self, fact: int, context: Context) -> Iterator[Carrier]:
        """All that carries a wanted fact in a request, in the order in which it is sent, the current input left out."""
        said = self._positions[fact]
        if not said:
            return
        for number, piece in enumerate(context.pieces):
            if piece.purpose == "input":
                continue
            if isinstance(piece, Note):
                if fact in self.facts_in_note(piece):
                    lines = _lines(piece)
                    for line, found in zip(lines, self._facts_in_lines(lines), strict=True):
                        if fact in (self._wanted[index] for index in found):
                            yield Carrier(number, piece.purpose, None, line)
            else:
                first = bisect_left(said, piece.start)
                for position in said[first : bisect_left(said, piece.stop, first)]:
                    yield Carrier(number, piece.purpose, position, "")

    def _facts_in_lines(self, lines: Sequence[str]) -> list[set[int]]:
        """The facts in each line of a note; most lines of a running summary come again in the next."""
        new = list({line: None for line in lines if line not in self._line_facts})
        self._line_facts.update(zip(new, self._matcher.facts_in_each(new), strict=True))
        return [self._line_facts[line] for line in lines]


def _lines(note: Note) -> list[str]:
    """Each line of a summary or a card stands for itself; a line break within a document is white space."""
    return note.text.split("\n") if note.purpose in HEAD else [note.text]


def probed_facts(facts: Sequence[Fact], *, every_turn: bool) -> list[int]:
    """Indexes of the facts that probes ask for: those with `probe_at`, or all."""
    return [index for index, fact in enumerate(facts) if every_turn or fact.probe_at]


@dataclass
class Recall:
    """Raw counts of recall in context, which add up; the ratio is derived."""

    hits_by_probes: Counter[int] = field(default_factory=Counter)
    """For facts with n probes: how many of their probes, taken together, were in context."""
    facts_by_probes: Counter[int] = field(default_factory=Counter)
    """How many facts have n probes."""
    use_by_probes: Counter[int] = field(default_factory=Counter)
    """For facts with n probes: the use probabilities of their probes, in `USE_UNITS`."""

    def __iadd__(self, other: "Recall") -> Self:
        self.hits_by_probes.update(other.hits_by_probes)
        self.facts_by_probes.update(other.facts_by_probes)
        self.use_by_probes.update(other.use_by_probes)
        return self

    @classmethod
    def of_facts(cls, fact: Ints, in_context: Flags, units: Ints) -> Self:
        """The recall of one conversation.

        Args:
            fact: The fact of each probe.
            in_context: Whether the probe finds it.
            units: How likely it is used there, in `USE_UNITS`; 0 where it is not found.
        """
        probes = np.bincount(fact)
        hits = np.bincount(fact, weights=in_context)
        use = np.bincount(fact, weights=units)
        columns = (np.bincount(probes, weights=weights) for weights in (hits, np.ones(len(probes)), use))
        return cls(*(_counter(column) for column in columns))

    @property
    def facts(self) -> int:
        """How many facts were probed."""
        return self.facts_by_probes.total()

    @property
    def probes(self) -> int:
        """How many probes there were."""
        return sum(count * facts for count, facts in self.facts_by_probes.items())

    @property
    def value(self) -> Fraction | None:
        """The mean over facts of the share of their probes in context; None without probes."""
        return _shares(self.hits_by_probes) / self.facts if self.facts else None

    @property
    def modelled(self) -> Fraction | None:
        """The mean over facts of the mean use probability at their probes; None without probes."""
        return _shares(self.use_by_probes) / (self.facts * USE_UNITS) if self.facts else None


def _counter(sums: NDArray[Any]) -> Counter[int]:
    """Whole numbers by index, from 1 on; those that are 0 are left out."""
    return Counter({index: round(value) for index, value in enumerate(sums.tolist()) if index and value})


def _shares(by_probes: Mapping[int, int]) -> Fraction:
    """The sum over facts of what their probes add up to, over the number of these."""
    return sum((Fraction(sum_, count) for count, sum_ in by_probes.items()), Fraction())
