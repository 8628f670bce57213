"""One request of one mode, seen from inside: its pieces, what was left out and why, and where the facts are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from ctxmode_cli.context.audit import missing
from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.context import NOTHING_DROPPED, Context, Piece, head_length, span
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.language.explain import explain, why_missing
from ctxmode_cli.language.matching import message_text
from ctxmode_cli.language.statements import StatementReader
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.score.harm import STALE, contradictions
from ctxmode_cli.score.recall import Carrier
from ctxmode_cli.score.scores import Score
from ctxmode_cli.simulate.charges import Charge


class MessageView(NamedTuple):
    """A recorded message that is sent."""

    number: int
    """Its index in the conversation."""
    role: str
    tokens: int
    text: str
    """All that a model reads of it."""


class Contradiction(NamedTuple):
    """A statement of generated text, and the fact that it contradicts."""

    statement: str
    fact: str
    """Its id."""
    value: str
    negative: bool


@dataclass(frozen=True, slots=True)
class PieceView:
    """A part of the request: a range of recorded messages, or a generated note."""

    purpose: str
    tokens: int
    start: int | None
    """First message; None for a note of its own."""
    stop: int | None
    """One past the last message; None for a note of its own."""
    messages: tuple[MessageView, ...] = ()
    role: str = ""
    """Of a note."""
    text: str = ""
    """Of a note."""
    contradictions: tuple[Contradiction, ...] = ()


class Dropped(NamedTuple):
    """Recorded messages that are not sent."""

    why: str
    """`summary`, `window`, `budget` or `input` (call groups of the current input)."""
    start: int
    stop: int
    tokens: int


class FactPlace(NamedTuple):
    """One of the places where a fact stands in a request."""

    purpose: str
    """Of the piece."""
    message: int | None
    """Index of the recorded message; None in generated text."""
    line: str
    """Of the generated text; empty for a message."""
    position: float
    """Tokens before the message or note, over all prompt tokens; 0 for the head."""
    written: str
    """The value as it stands there."""
    reading: str
    """As what it was found: `text`, `number`, `date` or `time`."""


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact that the request needs."""

    fact: Fact
    age_turns: int
    went: str | None
    """Where it went; None where it is in context."""
    why: str | None
    """Why it is not found where its label says; None where it is."""
    use: float | None
    """How likely a model uses it at the best of its places; None where it has none."""
    places: tuple[FactPlace, ...]


class StaleView(NamedTuple):
    """A value that is sent and no longer holds."""

    fact: str
    """Id of the fact that is needed, or that has no successor."""
    value: str
    """The old value."""
    message: int | None
    statement: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What one mode makes of one request."""

    mode: str
    turn: int
    pieces: tuple[PieceView, ...]
    """Empty for a request that cannot be sent."""
    messages: Sequence[dict[str, Any]]
    """The request's, in wire form."""
    tools_tokens: int
    """Of the tool schemas."""
    reply_tokens: int
    """Of the opening of the reply."""
    prompt_tokens: int | None
    completion_tokens: int | None
    """Of the recorded reply; None for an open request."""
    budget: Budget
    trimmed: bool
    stepped_down: str | None
    unsendable: str | None
    invalid: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    dropped_documents: Mapping[str, int]
    """Chunks of the current turn's documents that are not sent, by reason, as the audit has it."""
    charge: Charge | None
    cost: Decimal | None
    """USD, summary call left out; None where the price is unknown, or nothing is sent."""
    facts: tuple[FactView, ...]
    stale: tuple[StaleView, ...]
    probed: tuple[int, ...]
    """All requests of the conversation that need a fact."""

    def tokens_of(self, *purposes: str) -> int:
        """Tokens of the pieces with these purposes."""
        return sum(piece.tokens for piece in self.pieces if piece.purpose in purposes)

    def sent(self) -> set[int]:
        """Indexes of the recorded messages that are sent."""
        return {message.number for piece in self.pieces for message in piece.messages}


def inspect_request(session: SessionReplay, replay: Replay, mode: str, request: int) -> Inspection:
    """What a mode makes of a request.

    Args:
        session: The replayed conversation.
        replay: What it was replayed with.
        mode: Name of one of its modes.
        request: 0-based, one that the conversation has.
    """
    history, rows = session.history, session.modes[mode]
    row, charge = rows.requests[request], rows.charges[request]
    context = row.context
    config = replay.modes[mode]
    scores = [score for score in rows.scores if score.request == request]
    return Inspection(
        mode=mode,
        turn=row.turn,
        pieces=() if context is None else tuple(_pieces(context, session)),
        messages=[] if context is None else context.messages(history),
        tools_tokens=history.fixed_tokens - history.counter.REPLY_TOKENS,
        reply_tokens=history.counter.REPLY_TOKENS,
        prompt_tokens=None if context is None else context.prompt_tokens,
        completion_tokens=session.completion_tokens[request],
        budget=config.budget(history.counter.model.window),
        trimmed=context is not None and context.trimmed,
        stepped_down=None if context is None else context.stepped_down,
        unsendable=row.unsendable,
        invalid=row.invalid,
        dropped=() if context is None else tuple(_dropped(context, history)),
        dropped_documents=NOTHING_DROPPED if context is None else context.documents_dropped,
        charge=charge,
        cost=_cost(charge, replay),
        facts=tuple(_fact(score, context, session) for score in scores),
        stale=tuple(_stale(session, mode, request)),
        probed=tuple(sorted({score.request for score in rows.scores})),
    )


class SummaryView(NamedTuple):
    """A summary, as long as requests send it."""

    request: int
    """The first of them."""
    note: PieceView


def summaries(session: SessionReplay, mode: str) -> Iterator[SummaryView]:
    """Each summary that a mode's requests send, once, with its statements that contradict the record."""
    last: Note | None = None
    for row in session.modes[mode].requests:
        for piece in () if row.context is None else row.context.pieces:
            if row.context is not None and isinstance(piece, Note) and piece.purpose == "summary" and piece != last:
                last = piece
                yield SummaryView(row.request, _note(piece, row.context, session.conversation))


def _cost(charge: Charge | None, replay: Replay) -> Decimal | None:
    rates = replay.simulation.providers[replay.simulation.model].rates
    return None if charge is None or rates is None else rates.cost(charge.usage, charge.tier)


def _pieces(context: Context, session: SessionReplay) -> Iterator[PieceView]:
    history, conversation = session.history, session.conversation
    for piece in context.pieces:
        if isinstance(piece, Note):
            yield _note(piece, context, conversation)
        else:
            views = (_message(history, at) for at in range(piece.start, piece.stop))
            yield PieceView(piece.purpose, piece.tokens, piece.start, piece.stop, tuple(views))


def _note(note: Note, context: Context, conversation: Conversation) -> PieceView:
    found = tuple(_contradictions(note, context, conversation))
    start, stop = (None, None) if note.replaces is None else span(note)
    return PieceView(note.purpose, note.tokens, start, stop, (), note.role, note.text, found)


def _message(history: History, index: int) -> MessageView:
    message: Message = history.messages[index]
    return MessageView(index, message.role, history.range_tokens(index, index + 1), message_text(message))


def _contradictions(note: Note, context: Context, conversation: Conversation) -> Iterator[Contradiction]:
    if note.purpose != "summary":
        return
    reader = StatementReader(conversation.facts, conversation.messages)
    for index, statement in contradictions(note, context.summarised, conversation.facts, reader):
        fact = conversation.facts[index]
        yield Contradiction(statement, fact.id, fact.value, fact.negative)


def _dropped(context: Context, history: History) -> Iterator[Dropped]:
    """The ranges of messages that are not sent, each for one reason."""
    for why, start, stop in missing(context):
        yield Dropped(why, start, stop, history.range_tokens(start, stop))


def _fact(score: Score, context: Context | None, session: SessionReplay) -> FactView:
    fact = session.conversation.facts[score.fact]
    carriers = () if context is None else session.places.carriers(score.fact, context)
    places = tuple(_place(fact, carrier, context, session.history) for carrier in carriers if context is not None)
    stated = session.conversation.messages[fact.stated_at]
    return FactView(
        fact,
        score.age_turns,
        score.went,
        None if session.places.is_found(score.fact) else why_missing(fact, message_text(stated)),
        None if score.place is None else score.place.use,
        places,
    )


def _place(fact: Fact, carrier: Carrier, context: Context, history: History) -> FactPlace:
    text = carrier.line if carrier.message is None else message_text(history.messages[carrier.message])
    mention = next(found for found in explain(fact, text).mentions if found.denied == fact.negative)
    position = _tokens_before(carrier, context, history) / context.prompt_tokens
    return FactPlace(carrier.purpose, carrier.message, carrier.line, position, mention.written, mention.reading)


def _tokens_before(carrier: Carrier, context: Context, history: History) -> int:
    """Tokens before the message or note that carries a fact; 0 for the head, as recall (modelled) has it."""
    if carrier.piece < head_length(context.pieces):
        return 0
    before = history.fixed_tokens - history.counter.REPLY_TOKENS
    before += sum(piece.tokens for piece in context.pieces[: carrier.piece])
    piece: Piece = context.pieces[carrier.piece]
    if carrier.message is None or isinstance(piece, Note):
        return before
    return before + history.range_tokens(piece.start, carrier.message)


def _stale(session: SessionReplay, mode: str, request: int) -> Iterator[StaleView]:
    facts = session.conversation.facts
    for harm in session.modes[mode].harm:
        if harm.request == request and harm.kind == STALE and harm.old is not None:
            yield StaleView(facts[harm.fact].id, facts[harm.old].value, harm.message, harm.statement)
