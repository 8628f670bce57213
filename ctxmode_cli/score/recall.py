"""Whether the key facts were still there: probes, recall in context, and recall as modelled.

A probe is a pair of a fact and a request that needs it. Recall (in context) of a fact is the share of its probes in
which the value or an alias stands in what is sent, the current input left out; recall (modelled) of a fact is the mean
over its probes of the probability that a model uses it where it stands, which is 0 where it is not in context. The
recall of a mode is the mean over facts, so that each fact weighs alike however often it is probed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple, Self

from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.steps.documents import documents_note
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.score.position import USE_UNITS, Place, PositionProfile

WENT = ("window", "summary", "budget", "documents", "unsendable", "unmatched")
"""Where a fact goes that is not in context, as `FactPlaces.went` says it."""


class Probe(NamedTuple):
    """A request that needs a fact."""

    fact: int
    """Index of the fact within its conversation."""
    age_turns: int
    """Turns between saying and needing."""


class FactPlaces:
    """Where the facts of one conversation are said: looked up once, for all modes.

    Args:
        facts: The conversation's labelled facts.
        messages: All of its messages.
        wanted: Indexes of the facts that matter; the others are not looked for.
    """

    def __init__(self, facts: Sequence[Fact], messages: Sequence[Message], wanted: Sequence[int]) -> None:
        self._matcher = FactMatcher([facts[index] for index in wanted])
        self._number = {index: number for number, index in enumerate(wanted)}
        places = self._matcher.locate(messages)
        self._positions = {index: places.get(number, []) for number, index in enumerate(wanted)}
        self.unmatched = [index for index in wanted if facts[index].stated_at not in self._positions[index]]
        """Facts that the matcher does not find where the label says they are stated: never counted as in context."""
        for index in self.unmatched:
            self._positions[index] = []
        self._line_facts: dict[str, set[int]] = {}
        self._note_facts: dict[str, set[int]] = {}

    def said_within(self, fact: int, start: int, stop: int) -> bool:
        """Whether a message in the range says the fact."""
        positions = self._positions[fact]
        first = bisect_left(positions, start)
        return first < len(positions) and positions[first] < stop

    def best_place(self, fact: int, context: Context, history: History, profile: PositionProfile) -> Place | None:
        """Where a fact stands best of all its places in a prompt, the current input left out; None if in none.

        The head, position 0, is what stands before all history: system messages, and a summary. System messages that
        were recorded amid the history that is sent stand where they stand. Tool schemas are the prompt's first tokens.

        Args:
            fact: Its index.
            context: What is sent.
            history: What it was built from.
            profile: Says which place is best.
        """
        said = self._positions[fact]
        if not said:
            return None
        found: list[int] = []  # tokens before each place
        notes: list[tuple[Note, int]] = []
        tokens = history.fixed_tokens - history.counter.REPLY_TOKENS
        for piece in context.pieces:
            if isinstance(piece, Note):
                notes.append((piece, 0 if piece.purpose == "summary" else tokens))
            elif piece.purpose != "input":
                first = bisect_left(said, piece.start)
                carriers = said[first : bisect_left(said, piece.stop, first)]
                if piece.purpose == "system":
                    found.extend(0 for _ in carriers)
                else:
                    before = tokens - history.tokens_before[piece.start]
                    found.extend(before + history.tokens_before[position] for position in carriers)
            tokens += piece.tokens
        prompt_tokens = context.prompt_tokens
        best = max((profile.place(tokens, prompt_tokens) for tokens in found), key=attrgetter("use"), default=None)
        for note, before in notes:  # last, since notes must be read first
            place = profile.place(before, prompt_tokens)
            if (best is None or place.use > best.use) and self._in_note(fact, note):
                best = place
        return best

    def went(self, fact: int, context: Context | None, history: History) -> str:
        """Where a fact went that is not in context: what became of the newest message before this turn that says it.

        Args:
            fact: Its index.
            context: What is sent; None where nothing can be.
            history: What it was built from.

        Returns:
            `unmatched` (the fact is not found where its label says), `unsendable`, `documents` (those
            that were retrieved for this turn have it, and they were dropped), `summary` (the message was summarised, and the
            summary does not say it), `budget` (the mode wanted the message and the budget cut it), or `window` (the mode
            did not want it).
        """
        said = self._positions[fact]
        if not said:
            return "unmatched"
        if context is None:
            return "unsendable"
        documents = documents_note(history) if history.documented else None
        if documents is not None and self._in_note(fact, documents):
            return "documents"
        newest = said[bisect_left(said, history.turn_start) - 1]
        if newest < context.summarised:
            return "summary"
        return "budget" if newest >= context.wanted else "window"

    def _in_note(self, fact: int, note: Note) -> bool:
        facts = self._note_facts.get(note.text)
        if facts is None:
            # Each line of a summary stands for itself; a line break within a document is white space.
            lines = note.text.split("\n") if note.purpose == "summary" else [note.text]
            facts = self._note_facts[note.text] = set().union(*self._facts_in_lines(lines))
        return self._number[fact] in facts

    def _facts_in_lines(self, lines: Sequence[str]) -> list[set[int]]:
        """The facts in each line of a note; most lines of a running summary come again in the next."""
        new = list({line: None for line in lines if line not in self._line_facts})
        self._line_facts.update(zip(new, self._matcher.facts_in_each(new), strict=True))
        return [self._line_facts[line] for line in lines]


def probed_facts(facts: Sequence[Fact], *, every_turn: bool) -> list[int]:
    """Indexes of the facts that probes ask for: those with `probe_at`, or all."""
    return [index for index, fact in enumerate(facts) if every_turn or fact.probe_at]


class ProbePlan:
    """Hands out the probes of one conversation, request by request.

    Args:
        facts: The conversation's labelled facts.
        places: Where they are said.
        every_turn: Probe each fact at the first request of every later turn, whatever the labels say.
    """

    def __init__(self, facts: Sequence[Fact], places: FactPlaces, *, every_turn: bool) -> None:
        self._facts = facts
        self._places = places
        self._every_turn = every_turn
        self._labelled = sorted((position, index) for index, fact in enumerate(facts) for position in fact.probe_at)
        self._next = 0
        self._last_turn_start = -1
        self.unprobed = 0
        """Labelled probes for which there is no request, or none that can be judged."""

    def due(self, turns: Sequence[int], position: int) -> list[Probe]:
        """The probes of the request before `messages[position]`, in the last of `turns` (their starts)."""
        turn_start = turns[-1]
        if turn_start == self._last_turn_start:
            return []  # a later request of the same tool loop
        self._last_turn_start = turn_start
        if self._every_turn:
            candidates = list(range(len(self._facts)))
        else:
            candidates = self._labelled_candidates(turn_start, position)
        due = [index for index in candidates if self._can_be_judged(index, turn_start, position)]
        if not self._every_turn:
            self.unprobed += len(candidates) - len(due)
        return [Probe(index, self._age(index, turns)) for index in due]

    def finish(self) -> None:
        """Count the labelled probes that no request came for."""
        if not self._every_turn:
            self.unprobed += len(self._labelled) - self._next
            self._next = len(self._labelled)

    def _labelled_candidates(self, turn_start: int, position: int) -> list[int]:
        """The facts that labels in this turn ask for, each once; labels that no first request came for are counted."""
        candidates: dict[int, None] = {}
        while self._next < len(self._labelled) and self._labelled[self._next][0] < position:
            probed_at, index = self._labelled[self._next]
            self._next += 1
            if probed_at >= turn_start:
                candidates[index] = None
            else:
                self.unprobed += 1
        return list(candidates)

    def _can_be_judged(self, index: int, turn_start: int, position: int) -> bool:
        """Stated before this turn, not superseded by now, and not said again by the current input itself."""
        fact = self._facts[index]
        superseded = fact.superseded_at is not None and fact.superseded_at < position
        stated_before = fact.stated_at < turn_start
        return stated_before and not superseded and not self._places.said_within(index, turn_start, position)

    def _age(self, index: int, turns: Sequence[int]) -> int:
        stated_at = self._facts[index].stated_at
        return len(turns) - max(1, bisect_left(turns, stated_at + 1))


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
    def of_facts(cls, places: Mapping[int, Sequence[Place | None]]) -> Self:
        """The recall of one conversation from the place that each fact has at each of its probes."""
        recall = cls()
        for found in places.values():
            count = len(found)
            units = [place.units for place in found if place is not None]
            recall.facts_by_probes[count] += 1
            recall.hits_by_probes[count] += len(units)
            recall.use_by_probes[count] += sum(units)
        return recall

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


def _shares(by_probes: Mapping[int, int]) -> Fraction:
    """The sum over facts of what their probes add up to, over the number of these."""
    return sum((Fraction(sum_, count) for count, sum_ in by_probes.items()), Fraction())
