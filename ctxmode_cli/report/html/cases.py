"""The conversations that each mode does worst by, kept small while a replay runs, for a person to look into."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.replay.breakdown import Breakdown, WorstCase
from ctxmode_cli.replay.results import mode_of_base
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.html.passages import Passage, passage, size
from ctxmode_cli.report.html.tables import Table
from ctxmode_cli.report.inspect_view import FactView, Inspection, PieceView, inspect_request, summaries
from ctxmode_cli.report.inspect_words import contradiction, needed, not_sent, note_lines, stale, totals, unsendable
from ctxmode_cli.report.words import counted, listed
from ctxmode_cli.score.harm import CONTRADICTED

MOST_PER_MODE, MOST = 3, 12
"""Conversations that a page shows."""
MESSAGES = 24
"""Messages of a request that are shown: those that say a fact, some at its start, and the last ones."""
_FIRST = 4
_MARKED = 10
MESSAGE_BYTES, NOTE_BYTES, LINE_BYTES = 320, 2400, 400
"""Of a message, of a generated note, and of what is said of a fact."""
SUMMARIES = 3
"""Of a conversation, those with contradictions first."""


class Part(NamedTuple):
    """A message or a note of a request; or, with nothing else than `more`, what is not shown there."""

    purpose: str = ""
    number: int | None = None
    role: str = ""
    tokens: int = 0
    text: Passage = Passage("")
    is_lost: bool = False
    """Whether it says a fact that the other mode's request lacks."""
    more: str = ""


class Request(NamedTuple):
    """What one mode sends at a request."""

    mode: str
    prompt_tokens: int | None
    lines: Sequence[str]
    """What it takes, or why it cannot be sent."""
    shares: Sequence[tuple[str, int]]
    """Tokens by the purpose of pieces, in their order."""
    parts: Sequence[Part]
    not_sent: Sequence[str]

    def bar(self, scale: int) -> Iterator["Bar"]:
        """The pieces side by side, in a bar that is 1,000 wide for `scale` tokens."""
        stops = accumulate((tokens for _, tokens in self.shares), initial=0)
        for (purpose, tokens), start in zip(self.shares, stops, strict=False):
            yield Bar(purpose, tokens, round(1000 * start / scale, 1), round(1000 * tokens / scale, 1))


class Bar(NamedTuple):
    """A part of a bar."""

    purpose: str
    tokens: int
    start: float
    width: float


class Line(NamedTuple):
    """Of a summary."""

    text: str
    wrong: Sequence[str]
    """What it contradicts."""


class Summary(NamedTuple):
    """A summary, and what it gets wrong."""

    request: int
    """The first one that sends it."""
    tokens: int
    lines: Sequence[Line]
    left_out: int
    """Characters that are not shown."""


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation that a mode does badly by."""

    damage: Fraction
    """Facts lost, each by the share of its probes that miss it, and facts contradicted."""
    conversation: str
    """Its id."""
    told: str
    """What is wrong, in words."""
    request: int
    """The one that is shown."""
    facts: Sequence[tuple[str, bool]]
    """What that needs, and whether it is there."""
    lost: Table
    sent: Request
    full: Request
    """What `full` would have sent."""
    summaries: Sequence[Summary]
    more_summaries: int

    @property
    def scale(self) -> int:
        """Tokens of the larger of the two requests."""
        return max(self.sent.prompt_tokens or 0, self.full.prompt_tokens or 0, 1)

    @property
    def rank(self) -> tuple[Fraction, str]:
        """Sorts the worst first, whatever order they came in."""
        return -self.damage, self.conversation


class Cases:
    """Keeps the worst conversations of each mode; takes no more room for a large log than for a small one.

    Args:
        replay: What sessions were replayed with.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._most = max(1, min(MOST_PER_MODE, MOST // len(replay.modes)))
        self.by_mode: dict[str, list[Case]] = {mode: [] for mode in list(replay.modes)[:MOST]}
        """Worst first; modes beyond the most cases have none."""

    def add(self, session: SessionReplay) -> None:
        """Look at one replayed conversation."""
        for mode, kept in self.by_mode.items():
            worst = _worst(session, mode)
            if worst is None:
                continue
            damage = worst.lost + len(_contradicted(session, mode))
            if len(kept) == self._most and (-damage, worst.conversation) >= kept[-1].rank:
                continue
            kept.append(self._case(session, mode, worst, damage))
            kept.sort(key=lambda case: case.rank)
            del kept[self._most :]

    def _case(self, session: SessionReplay, mode: str, worst: WorstCase, damage: Fraction) -> Case:
        request = _chosen(session, mode)
        sent = inspect_request(session, self._replay, mode, request)
        full = self._full(session, request)
        lost = {fact.fact.id for fact in sent.facts if fact.went is not None}
        found = sorted(summaries(session, mode), key=lambda one: (not one.note.contradictions, one.request))
        return Case(
            damage=damage,
            conversation=worst.conversation,
            told=_told(worst, len(_contradicted(session, mode))),
            request=request,
            facts=[(_cut(needed(fact)), fact.went is None) for fact in sent.facts[:_MARKED]]
            + [(_cut(stale(one)), False) for one in sent.stale[:_MARKED]],
            lost=_lost_table(worst),
            sent=_request(sent, self._replay, ()),
            full=_request(full, self._replay, lost),
            summaries=[_summary(one.request, one.note) for one in found[:SUMMARIES]],
            more_summaries=max(0, len(found) - SUMMARIES),
        )

    def _full(self, session: SessionReplay, request: int) -> Inspection:
        """What the mode that sends everything makes of the request; it is replayed where nobody asked for it."""
        replay = self._replay
        name = mode_of_base(replay.modes, ContextMode.FULL)
        if name is None:
            name = ContextMode.FULL.value
            config = replace(next(iter(replay.modes.values())), mode=name)
            replay = replace(replay, modes={name: config}, answering=None)
            session = replay(session.conversation)
        return inspect_request(session, replay, name, request)


def _worst(session: SessionReplay, mode: str) -> WorstCase | None:
    """What a mode loses of a conversation; None where it harms none of its facts."""
    scores = session.modes[mode].scores
    part = Breakdown()
    part.add(session.conversation, scores)
    if part.worst:
        return part.worst[0]
    if not _contradicted(session, mode):
        return None
    return WorstCase(Fraction(0), session.conversation.id, len(set(scores.probes.fact.tolist())), ())


def _contradicted(session: SessionReplay, mode: str) -> set[int]:
    """The facts that summaries contradict."""
    return {harm.fact for harm in session.modes[mode].harm if harm.kind == CONTRADICTED}


def _chosen(session: SessionReplay, mode: str) -> int:
    """The request to show: the first that sends a contradiction, else the one that lacks most."""
    rows = session.modes[mode]
    wrong = [harm.request for harm in rows.harm if harm.kind == CONTRADICTED]
    if wrong:
        return min(wrong)
    lacking = Counter(score.request for score in rows.scores if score.went is not None)
    return max(sorted(lacking), key=lacking.__getitem__)


def _told(worst: WorstCase, contradicted: int) -> str:
    parts = []
    if worst.lost_facts:
        parts.append(f"loses {float(worst.lost):.1f} of {counted(worst.facts, 'fact')}")
    if contradicted:
        parts.append(f"contradicts {counted(contradicted, 'fact')} in summaries")
    return listed(parts)


def _lost_table(worst: WorstCase) -> Table:
    rows = [
        [_cut(fact.fact), _cut(fact.kind), _cut(fact.value), fact.went.replace("_", " "), f"{fact.request}"]
        for fact in worst.lost_facts
    ]
    return Table.of(["fact", "kind", "value", "where it went", "first missed at request"], rows, left=4)


def _request(view: Inspection, replay: Replay, lost: Collection[str]) -> Request:
    lines = [unsendable(view)] if view.prompt_tokens is None else list(totals(view, view.prompt_tokens, replay))
    return Request(
        view.mode,
        view.prompt_tokens,
        lines,
        [(piece.purpose, piece.tokens) for piece in view.pieces],
        list(_gathered(list(_parts(view, lost)))),
        [not_sent(part) for part in view.dropped[:MESSAGES]],
    )


def _parts(view: Inspection, lost: Collection[str]) -> Iterator[Part]:
    """All that a request is made of; messages that say a fact are marked there."""
    said: defaultdict[int, list[tuple[FactView, str]]] = defaultdict(list)
    for fact in view.facts:
        for place in fact.places:
            if place.message is not None:
                said[place.message].append((fact, place.written))
    for piece in view.pieces:
        if not piece.messages:
            yield Part(piece.purpose, piece.start, piece.role, piece.tokens, passage(piece.text, NOTE_BYTES))
        for message in piece.messages:
            found = sorted(said.get(message.number, []), key=lambda one: one[0].fact.id not in lost)
            written = found[0][1] if found else ""
            text = passage(message.text, MESSAGE_BYTES, written)
            missed = bool(found) and found[0][0].fact.id in lost
            yield Part(piece.purpose, message.number, message.role, message.tokens, text, missed)


def _gathered(parts: Sequence[Part]) -> Iterator[Part]:
    """As many parts as are shown, and in the place of the others how many these are."""
    notes = [index for index, part in enumerate(parts) if part.number is None]
    marked = [index for index, part in enumerate(parts) if part.text.marked]
    marked.sort(key=lambda index: not parts[index].is_lost)
    shown = {*notes[:_FIRST], *marked[:_MARKED], *range(min(_FIRST, len(parts)))}
    shown |= {*range(max(0, len(parts) - max(0, MESSAGES - len(shown))), len(parts))}
    hidden: list[Part] = []
    for index, part in enumerate(parts):
        if index not in shown:
            hidden.append(part)
            continue
        if hidden:
            yield _more(hidden)
            hidden = []
        yield part


def _more(hidden: Sequence[Part]) -> Part:
    tokens = sum(part.tokens for part in hidden)
    return Part(more=f"{counted(len(hidden), 'more message')}, {counted(tokens, 'token')}")


def _summary(request: int, note: PieceView) -> Summary:
    lines, room, total = [], NOTE_BYTES, 0
    for text, wrong in note_lines(note):
        shown = passage(text, room)
        total += shown.left_out
        room = max(0, room - size(shown.before) - 1)
        if room:
            lines.append(Line(shown.before, [_cut(contradiction(one)) for one in wrong]))
    return Summary(request, note.tokens, lines, total)


def _cut(text: str) -> str:
    shown = passage(text, LINE_BYTES)
    return f"{shown.before}…" if shown.left_out else shown.before
