"""All probes of a conversation judged at once, for one mode after another: arrays, since there may be millions of probes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ctxmode_cli.context.context import Context, head_length
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.steps.documents import recorded_documents
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.score.position import USE_UNITS, Flags, Floats, Ints, Place, PositionProfile
from ctxmode_cli.score.recall import FactPlaces

WENT = ("window", "summary", "budget", "documents", "tool_output", "unsendable", "unmatched")
"""Where a fact went that is not in context: what became of the newest message before the turn that says it.

`unmatched` (the fact is not found where its label says), `unsendable`, `documents` (those that were retrieved for this turn
have it, and they were dropped), `tool_output` (a tool output that has it was shortened), `summary` (the message was summarised, and the summary does not say it), `budget` (the mode
wanted the message and the budget cut it), or `window` (the mode did not want it).
"""
_WINDOW, _SUMMARY, _BUDGET, _DOCUMENTS, _TOOL_OUTPUT, _UNSENDABLE, _UNMATCHED = range(len(WENT))
_NOWHERE = -1

NOT_ASKED, FAILED = -1, -2
"""Of a probe that no model was asked, and of one whose answer could not be had."""


class Asked(NamedTuple):
    """The first request of a turn: the one that probes are made of."""

    request: int
    """0-based within the conversation."""
    turn_start: int
    """Index of the message at which its turn starts."""
    position: int
    """How many messages lie before it."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes of one conversation, which are the same for every mode; arrays of one length, request by request."""

    fact: Ints
    """Index of the fact within its conversation."""
    asked: Ints
    """Index of the request among `requests`."""
    age_turns: Ints
    """Turns between saying and needing."""
    requests: Sequence[Asked]
    unprobed: int
    """Labelled probes for which there is no request, or none that can be judged."""

    def __len__(self) -> int:
        return len(self.fact)

    @classmethod
    def of(
        cls,
        facts: Sequence[Fact],
        places: FactPlaces,
        requests: Sequence[Asked],
        turns: Sequence[int],
        *,
        every_turn: bool,
    ) -> "Probes":
        """The probes that labels ask for, or with `every_turn` each fact at every later turn.

        A fact is probed where it was stated before the turn, is not superseded, and the current input does not say it.

        Args:
            facts: The conversation's labelled facts.
            places: Where they are said.
            requests: The first request of each turn.
            turns: Where turns start, for ages.
            every_turn: Whatever the labels say.
        """
        can = _can_be_judged(facts, places, requests)
        unprobed = 0
        if not every_turn:
            wanted, unprobed = _labelled(facts, requests)
            unprobed += int((wanted & ~can).sum())
            can &= wanted
        asked, fact = np.nonzero(can)
        age = _turn_of(turns, _turn_starts(requests)[asked]) - _turn_of(turns, _stated_at(facts)[fact])
        return cls(fact, asked, age, requests, unprobed)


def _stated_at(facts: Sequence[Fact]) -> Ints:
    return np.array([fact.stated_at for fact in facts], dtype=np.int64)


def _turn_starts(requests: Sequence[Asked]) -> Ints:
    return np.array([request.turn_start for request in requests], dtype=np.int64)


def _positions(requests: Sequence[Asked]) -> Ints:
    return np.array([request.position for request in requests], dtype=np.int64)


def _turn_of(turns: Sequence[int], positions: Ints) -> Ints:
    """The turn that each message is in; the first also for what comes before it."""
    return np.maximum(np.searchsorted(np.array(turns, dtype=np.int64), positions, side="right") - 1, 0)


def _can_be_judged(facts: Sequence[Fact], places: FactPlaces, requests: Sequence[Asked]) -> Flags:
    """Request by fact: stated before the turn, not superseded by then, and not said again by the current input itself."""
    never = np.iinfo(np.int64).max
    superseded = np.array(
        [never if fact.superseded_at is None else fact.superseded_at for fact in facts], dtype=np.int64
    )
    starts, stops = _turn_starts(requests), _positions(requests)
    can: Flags = (_stated_at(facts) < starts[:, None]) & (superseded >= stops[:, None])
    said_fact, said_at = places.occurrences
    asked = np.searchsorted(stops, said_at, side="right")
    one_input_each = bool((np.diff(starts) > 0).all())  # unless turns were joined since
    while True:
        within = asked < len(requests)
        asked, said_fact, said_at = asked[within], said_fact[within], said_at[within]
        inside = starts[asked] <= said_at
        can[asked[inside], said_fact[inside]] = False
        if one_input_each or not len(asked):
            return can
        asked = asked + 1


def _labelled(facts: Sequence[Fact], requests: Sequence[Asked]) -> tuple[Flags, int]:
    """Request by fact: what labels ask for; and how many labels name no turn with a request."""
    wanted = np.zeros((len(requests), len(facts)), dtype=np.bool_)
    labels = [(position, index) for index, fact in enumerate(facts) for position in fact.probe_at]
    if not labels:
        return wanted, 0
    positions, owners = np.array(labels, dtype=np.int64).T
    asked = np.searchsorted(_positions(requests), positions, side="right")
    found = asked < len(requests)
    found[found] = _turn_starts(requests)[asked[found]] <= positions[found]
    wanted[asked[found], owners[found]] = True
    return wanted, int((~found).sum())


class Score(NamedTuple):
    """What became of one probe."""

    fact: int
    request: int
    age_turns: int
    place: Place | None
    """The best of the fact's places in the prompt; None where it is not in context."""
    went: str | None
    """Where a fact went that is not in context (`WENT`)."""
    answered: bool | None
    """Whether a model answered with it; None where none was asked, or no answer could be had."""


@dataclass(frozen=True)
class Scores:
    """What became of each probe in one mode: arrays as long as the probes."""

    probes: Probes
    use: Floats
    """How likely a model uses the fact at the best of its places; -1 where it is not in context."""
    position: Floats
    """That place: tokens before it over all prompt tokens."""
    went: Ints
    """Where the fact went, by index of `WENT`; -1 where it is in context."""
    answered: Ints
    """1 or 0, whether a model answered with the fact; else `NOT_ASKED` or `FAILED`."""

    @cached_property
    def in_context(self) -> Flags:
        """Whether the fact is in what is sent, the current input left out."""
        return self.use >= 0

    @cached_property
    def units(self) -> Ints:
        """The probabilities in `USE_UNITS`, 0 where the fact is not in context."""
        units: Ints = np.rint(np.maximum(self.use, 0) * USE_UNITS).astype(np.int64)
        return units

    def __iter__(self) -> Iterator[Score]:
        probes = self.probes
        columns = (probes.fact, probes.asked, probes.age_turns, self.use, self.position, self.went, self.answered)
        for fact, asked, age, use, position, went, answered in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            place = None if went >= 0 else Place(position, use)
            where, right = WENT[went] if went >= 0 else None, bool(answered) if answered >= 0 else None
            yield Score(fact, probes.requests[asked].request, age, place, where, right)


class Judge:
    """Judges the probes of one conversation in each mode's requests.

    The head, position 0, is what stands before all history: system messages, and a summary. System messages that were
    recorded amid the history that is sent stand where they stand. Tool schemas are the prompt's first tokens.

    Args:
        probes: What is asked.
        places: Where the facts are said.
        history: All of the conversation, counted.
        profile: Says which of a fact's places is best.
    """

    def __init__(self, probes: Probes, places: FactPlaces, history: History, profile: PositionProfile) -> None:
        self._probes = probes
        self._places = places
        self._history = history
        self._profile = profile
        starts = _turn_starts(probes.requests)
        said_fact, said_at = places.occurrences
        first = np.searchsorted(said_fact, probes.fact, side="left")
        # Of a fact's occurrences only those before the turn matter: the current input is left out.
        keys = said_fact * (len(history) + 1) + said_at
        stop = np.searchsorted(keys, probes.fact * (len(history) + 1) + starts[probes.asked])
        counts = stop - first
        self._pair_probe = np.repeat(np.arange(len(probes)), counts)
        within = np.arange(len(self._pair_probe)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._pair_at = said_at[np.repeat(first, counts) + within]
        self._pair_asked = probes.asked[self._pair_probe]
        self._pair_tokens = np.array(history.tokens_before, dtype=np.int64)[self._pair_at]
        self._newest = np.full(len(probes), _NOWHERE)
        self._newest[counts > 0] = said_at[stop[counts > 0] - 1]
        self._documents = [
            recorded_documents(history, request.turn_start, request.position) if history.documented else None
            for request in probes.requests
        ]

    def __call__(self, contexts: Sequence[Context | None]) -> Scores:
        """What became of each probe.

        Args:
            contexts: What one mode sends at each of the probes' requests; None where nothing can be.
        """
        layout = _Layout(contexts, self._history)
        use = np.full(len(self._probes), -1.0)
        position = np.full(len(self._probes), np.nan)
        self._read_messages(layout, use, position)
        self._read_notes(layout, use, position)
        not_asked = np.full(len(self._probes), NOT_ASKED)
        return Scores(self._probes, use, position, self._went(layout, contexts, use < 0), not_asked)

    def _read_messages(self, layout: "_Layout", use: Floats, position: Floats) -> None:
        before = np.full(len(self._pair_at), -1, dtype=np.int64)
        for span in layout.spans:
            start, stop, offset, moves = (column[self._pair_asked] for column in span)
            inside = (self._pair_at >= start) & (self._pair_at < stop)
            before[inside] = (offset + moves * self._pair_tokens)[inside]
        [found] = np.nonzero(before >= 0)
        if not len(found):
            return
        prompt = layout.prompt[self._pair_asked[found]]
        where = before[found] / prompt
        likely = self._profile.use(where, prompt)
        probe = self._pair_probe[found]
        [starts] = np.nonzero(np.diff(probe, prepend=-1))
        best = np.maximum.reduceat(likely, starts)
        is_best = likely == np.repeat(best, np.diff(starts, append=len(probe)))
        first = np.minimum.reduceat(np.where(is_best, np.arange(len(probe)), len(probe)), starts)
        use[probe[starts]] = best
        position[probe[starts]] = where[first]

    def _read_notes(self, layout: "_Layout", use: Floats, position: Floats) -> None:
        asked, fact = self._probes.asked, self._probes.fact
        for notes, before in layout.notes:
            says = self._says(notes)[asked, fact]
            where = before / layout.prompt
            likely = self._profile.use(where, layout.prompt)[asked]
            better = says & (likely > use)
            use[better] = likely[better]
            position[better] = where[asked][better]

    def _says(self, notes: Mapping[int, Note]) -> Flags:
        """Request by fact: whether the request's note says it."""
        distinct = list(dict.fromkeys(notes.values()))
        rows = np.zeros((len(distinct) + 1, self._places.count), dtype=np.bool_)
        for row, note in enumerate(distinct):
            rows[row, self._places.facts_in_note(note)] = True
        number = {note: row for row, note in enumerate(distinct)}
        chosen = np.full(len(self._probes.requests), len(distinct))  # the last row, that of no note, says nothing
        chosen[list(notes)] = [number[note] for note in notes.values()]
        said: Flags = rows[chosen]
        return said

    def _went(self, layout: "_Layout", contexts: Sequence[Context | None], lost: Flags) -> Ints:
        """Where each fact went that is not in context."""
        asked, fact, newest = self._probes.asked, self._probes.fact, self._newest
        went = np.where(newest >= layout.wanted[asked], _BUDGET, _WINDOW)
        went[newest < layout.summarised[asked]] = _SUMMARY
        for index, dropped in self._dropped_documents(contexts):
            went[(asked == index) & np.isin(fact, self._places.facts_in_note(dropped))] = _DOCUMENTS
        if layout.shortened:
            for probe in np.flatnonzero(lost):
                if newest[probe] in layout.shortened.get(asked[probe], ()):
                    went[probe] = _TOOL_OUTPUT
        went[~layout.sendable[asked]] = _UNSENDABLE
        went[newest < 0] = _UNMATCHED
        went[~lost] = _NOWHERE
        return went

    def _dropped_documents(self, contexts: Sequence[Context | None]) -> Iterator[tuple[int, Note]]:
        """What was retrieved for a request, by its index, unless all of it is sent as recorded."""
        for index, (text, context) in enumerate(zip(self._documents, contexts, strict=True)):
            if text is None or context is None:
                continue
            if not any(isinstance(piece, Note) and piece.text == text for piece in context.pieces):
                yield index, Note("documents", "system", text, 0)


class _Layout:
    """Where what a mode sends stands in each of its prompts, as arrays over the requests."""

    def __init__(self, contexts: Sequence[Context | None], history: History) -> None:
        self.sendable = np.array([context is not None for context in contexts], dtype=np.bool_)
        self.prompt = np.array([context.prompt_tokens if context else 1 for context in contexts], dtype=np.int64)
        self.summarised = np.array([context.summarised if context else 0 for context in contexts], dtype=np.int64)
        self.wanted = np.array([context.wanted if context else 0 for context in contexts], dtype=np.int64)
        spans: list[list[tuple[int, int, int, int, int]]] = []
        self.notes: list[tuple[dict[int, Note], Ints]] = []
        """For each of a request's notes: by request the note, and the tokens before it."""
        self.shortened: dict[int, set[int]] = {}
        """By request, positions of the tool outputs that are sent shortened."""
        tools_tokens = history.fixed_tokens - history.counter.REPLY_TOKENS
        for index, context in enumerate(contexts):
            tokens, ranges, notes = tools_tokens, 0, 0
            head = head_length(context.pieces) if context else 0
            for number, piece in enumerate(context.pieces if context else ()):
                if piece.purpose == "input":
                    pass
                elif isinstance(piece, Note):
                    if piece.replaces is not None:
                        self.shortened.setdefault(index, set()).add(piece.replaces)
                    if notes == len(self.notes):
                        self.notes.append(({}, np.zeros(len(contexts), dtype=np.int64)))
                    self.notes[notes][0][index] = piece
                    self.notes[notes][1][index] = 0 if number < head else tokens
                    notes += 1
                else:
                    if ranges == len(spans):
                        spans.append([])
                    moves = piece.purpose != "system"
                    before = tokens - history.tokens_before[piece.start] if moves else 0
                    spans[ranges].append((index, piece.start, piece.stop, before, moves))
                    ranges += 1
                tokens += piece.tokens
        self.spans = [_columns(rows, len(contexts)) for rows in spans]
        """For each of a request's ranges: start, stop, and what has to be added to the tokens before a message in the
        record (times 1, or 0 at the head) to give the tokens before it in the prompt."""


def _columns(rows: Sequence[tuple[int, ...]], length: int) -> Ints:
    """Rows that begin with their request, as columns over all requests; 0 where a request has none."""
    columns = np.zeros((len(rows[0]) - 1, length), dtype=np.int64)
    index, *values = np.array(rows, dtype=np.int64).T
    columns[:, index] = values
    return columns
