"""What a request should be, worked out the slow and obvious way: by whole lists, counted again from what is sent.

Written from the definitions (turn, request, current input, cutting, summary, validity), not from the code; it shares
with the package only messages, settings, the token counter, what ranks documents, the words that stand for a tool output,
and which facts are said and hold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dialogues import MODEL, counter
from slow_record import (
    SYSTEMS,
    Wire,
    answered_calls,
    group_starts,
    model_counter,
    recount,
    spoken,
    turn_starts,
    wire_tokens,
)

from ctxmode_cli.context.card import Card, CardFact, card_data, update
from ctxmode_cli.context.card_facts import extract_card_facts
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.outlines.files import file_reference
from ctxmode_cli.context.outlines.one_line import one_line
from ctxmode_cli.context.outlines.outline import outline
from ctxmode_cli.context.plan import Summarizer, SummaryError, SummaryRequest
from ctxmode_cli.context.retrieval import as_recorded, choose
from ctxmode_cli.conversation.message import Message, content_text, with_text
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.sentences import language_of

WORTH_SHORTENING = 50
"""Tool outputs of fewer tokens stay as they are."""


@dataclass
class SlowRequest:
    """One request: the positions that are sent, with generated notes between them."""

    items: list[int | dict[str, str]]
    wire: list[dict[str, Any]]
    tokens: int
    trimmed: bool
    stepped_down: str | None = None


class Unsendable(NamedTuple):
    """A request that cannot be sent."""

    reason: str
    over_by: int


@dataclass
class Decision:
    """What a mode wants to send, before the budget is looked at."""

    start: int
    summary: dict[str, str] | None = None
    stepped_down: str | None = None
    card: dict[str, str] | None = None
    called_from: int = 0
    """Calls and results of history before this position are left out, if anything is."""


@dataclass
class SlowSession:
    """One conversation through one mode; `request` is called for one position after another."""

    messages: Sequence[Message]
    config: ContextConfig
    tools: Sequence[Wire]
    window: int
    summarizer: Summarizer | None = None
    each_user: bool = False
    window_start_turn: int = 0
    summary: dict[str, str] | None = None
    summarised: int = 0
    cut: int | None = None
    """Where the budget cut the history, and where it stays cut as long as that fits."""
    read_to: int = 0
    """The card knows the facts of the messages before this position."""
    calls: list[bool] = field(default_factory=list)
    """Whether each summary call succeeded."""

    def request(self, position: int) -> SlowRequest | Unsendable:
        """The request before `messages[position]`."""
        past = self.messages[:position]
        turns = turn_starts(past, each_user=self.each_user)
        limit = self.window - self.config.reserved_output
        shares = self.config
        if self.config.mode == "full":
            shares = replace(self.config, system_tokens=None, input_tokens=None, history_tokens=None)
        else:
            limit = min(limit, self.config.max_tokens)
        current = self._current_input(past, turns[-1], limit, shares)
        if isinstance(current, Unsendable):
            return current
        decision = replace(self._decide(past, turns), card=self._card(past, turns[-1]))
        return self._assemble(past, turns, current, decision, limit, shares)

    def _current_input(
        self, past: Sequence[Message], turn: int, limit: int, shares: ContextConfig
    ) -> list[int] | Unsendable:
        systems = [position for position, message in enumerate(past) if message.role in SYSTEMS]
        fixed = recount([past[position].wire() for position in systems], self.tools)
        if shares.system_tokens is not None and fixed - 3 > shares.system_tokens:
            return Unsendable("system", fixed - 3 - shares.system_tokens)
        if fixed > limit:
            return Unsendable("system", fixed - limit)
        room = limit - fixed if shares.input_tokens is None else min(limit - fixed, shares.input_tokens)
        whole = spoken(past, turn, len(past))
        over = 0
        for cut in [turn, *group_starts(past, turn)[1:]]:
            kept = [position for position in whole if position >= cut or past[position].role == "user"]
            over = sum(self._tokens(past, position, turn) for position in kept) - room
            if over <= 0:
                return kept
        return Unsendable("input", over)

    def _decide(self, past: Sequence[Message], turns: Sequence[int]) -> Decision:
        if self.config.mode == "zero":
            return Decision(turns[-1])
        if self.config.mode == "full":
            return Decision(0)
        if self.config.mode == "sliding":
            return Decision(self._window_start(turns))
        return self._decide_summary(past, turns)

    def _window_start(self, turns: Sequence[int]) -> int:
        complete = len(turns) - 1
        low = self.config.sliding_turns if self.config.sliding_low is None else self.config.sliding_low
        held = complete - self.window_start_turn
        if held > self.config.sliding_turns or held < min(low, complete):
            self.window_start_turn = complete - min(low, complete)
        return turns[self.window_start_turn] if self.window_start_turn else 0

    def _decide_summary(self, past: Sequence[Message], turns: Sequence[int]) -> Decision:
        if self.summarised and self.summarised not in turns:
            self.summary, self.summarised = None, 0
        target = self._due(past, turns)
        if target is None:
            return Decision(self.summarised, self.summary)
        rolling = self.config.summary_strategy == "rolling" and self.summary is not None
        told = spoken(past, self.summarised if rolling else 0, target)
        # Without a model of its own named, gpt-4o-mini summarises, or behind the session's prefix the session's own.
        model = MODEL if self.config.summary_prefix == "session" else self.config.summary_model or "gpt-4o-mini"
        request = SummaryRequest(
            previous=self.summary["content"] if rolling and self.summary else None,
            messages=[past[position] for position in told],
            messages_tokens=sum(wire_tokens(past[position].wire(), model) for position in told),
            target_tokens=self.config.summary_target_tokens,
            counter=model_counter(model),
        )
        assert self.summarizer is not None
        try:
            text = self.summarizer(request).text
        except SummaryError:
            self.calls.append(False)
            fallback = replace(self, window_start_turn=0)
            return Decision(fallback._window_start(turns), stepped_down="sliding")
        self.calls.append(True)
        self.summary, self.summarised = {"role": self.config.summary_role, "content": text}, target
        return Decision(target, self.summary)

    def _due(self, past: Sequence[Message], turns: Sequence[int]) -> int | None:
        keep = self.config.summary_threshold
        complete = turns[:-1]
        if keep is None or len(complete) <= keep:
            return None
        target = turns[len(complete) - keep]
        if target <= self.summarised:
            return None
        verbatim = [start for start in complete if start >= self.summarised]
        by_turns = len(verbatim) > keep + self.config.summary_every
        room = min(self.config.max_tokens, self.window - self.config.reserved_output)
        told = spoken(past, self.summarised, turns[-1])
        tokens = sum(self._tokens(past, position, turns[-1]) for position in told)
        by_tokens = tokens + (wire_tokens(self.summary) if self.summary else 0) > self.config.compress_ratio * room
        trigger = self.config.summary_trigger
        due = by_turns if trigger == "turns" else by_tokens if trigger == "tokens" else by_turns or by_tokens
        return target if due else None

    def _assemble(
        self,
        past: Sequence[Message],
        turns: Sequence[int],
        current: Sequence[int],
        decision: Decision,
        limit: int,
        shares: ContextConfig,
    ) -> SlowRequest:
        whole_input = len(current) == len(spoken(past, turns[-1], len(past)))
        share = math.inf if shares.history_tokens is None else shares.history_tokens
        fixed = recount([message.wire() for message in past if message.role in SYSTEMS], self.tools)
        input_share = math.inf if shares.input_tokens is None else shares.input_tokens
        room = limit - fixed - sum(self._tokens(past, position, turns[-1]) for position in current)
        first = self.config.document_priority == "high"
        notes = self._documents_notes(past, turns[-1])
        note = next((note for note in notes if first and wire_tokens(note) <= room), None)
        room -= wire_tokens(note) if note else 0
        attempt = self._fit(past, turns, decision, min(share, room))
        kept = self._history_tokens(past, attempt, turns)
        if attempt is not decision and room < share:
            # Of what is cut to the budget, the documents get only what the mark leaves free, which is nothing at 1.
            kept = max(kept, int(self.config.budget_low * room))
        if not first and (whole_input or fixed + input_share <= limit):
            note = next((note for note in notes if kept + wire_tokens(note) <= room), None)
        items = self._items(past, turns, current, attempt, note)
        wire = self._materialise(past, items, turns[-1])
        trimmed = not whole_input or attempt is not decision or note is not next(iter(notes), None)
        return SlowRequest(items, wire, recount(wire, self.tools), trimmed, attempt.stepped_down)

    def _fit(self, past: Sequence[Message], turns: Sequence[int], decision: Decision, room: int) -> Decision:
        """The decision, or what is left of it: held where it was cut before, else cut to the low-water mark."""
        mark, self.cut = self.cut, None
        if self._history_tokens(past, decision, turns) <= room:
            return decision
        attempt = self._cut_to(past, turns, _with_notes_that_fit(decision, room), room, mark)
        self.cut = attempt.start if self.config.budget_low < 1 else None
        return attempt

    def _cut_to(
        self, past: Sequence[Message], turns: Sequence[int], decision: Decision, room: int, mark: int | None
    ) -> Decision:
        def fits(attempt: Decision, most: int) -> bool:
            return self._history_tokens(past, attempt, turns) <= most

        low, turn = int(self.config.budget_low * room), turns[-1]
        if self.config.tool_priority == "low" and any(message.role == "tool" for message in past):
            groups = [start for start in group_starts(past, turns[0]) if start < turn]
            without = [replace(decision, called_from=start) for start in [*groups, turn]]
            if fits(without[-1], room):
                return next((attempt for attempt in without if fits(attempt, low)), without[-1])
            decision = without[-1]
        attempts = [replace(decision, start=start) for start in [decision.start, *turns] if start >= decision.start]
        if decision.stepped_down:
            attempts = [replace(one, stepped_down="zero") if one.start == turn else one for one in attempts]
        start = max(decision.start, mark) if mark in turns else decision.start
        held = [attempt for attempt in attempts if attempt.start == start and fits(attempt, room)]
        return [*held, *[attempt for attempt in attempts if fits(attempt, low)], attempts[-1]][0]

    def _history(self, past: Sequence[Message], decision: Decision, turns: Sequence[int]) -> list[int]:
        """What is sent before the current turn, system messages left out; what comes before all turns goes whole."""
        return [
            position
            for position in spoken(past, decision.start, turns[-1])
            if position < turns[0] or position >= decision.called_from or not _is_called(past[position])
        ]

    def _history_tokens(self, past: Sequence[Message], decision: Decision, turns: Sequence[int]) -> int:
        told = sum(wire_tokens(note) for note in (decision.card, decision.summary) if note)
        return told + sum(self._tokens(past, position, turns[-1]) for position in self._history(past, decision, turns))

    def _card(self, past: Sequence[Message], turn: int) -> dict[str, str] | None:
        """What was said before the current turn and holds, as far as it fits; what is on the card once stays known."""
        if not self.config.fact_card:
            return None
        self.read_to = max(self.read_to, turn)
        facts = [fact for p in range(self.read_to) for fact in extract_card_facts(past[p], p).facts]
        user = [message for message in past if message.role == "user"][:1]
        text = _card_text(update(Card(), facts), language_of(user), self.config.fact_card_tokens)
        return {"role": "system", "content": text} if text else None

    def _sent_as(self, past: Sequence[Message], position: int, turn: int) -> dict[str, Any]:
        """A recorded message as it is sent if nothing else is: outputs of the current turn outlined, others in one line."""
        message = past[position]
        wire = message.wire()
        if message.role != "tool" or self.config.mode == "full":
            return wire
        text, limit = content_text(message.content), self.config.tool_max_tokens
        if position < turn and self.config.tool_history == "line":
            short = one_line(*_called(past, position), text) if wire_tokens(wire) >= WORTH_SHORTENING else None
        else:
            short = outline(text, limit, counter().text) if counter().text(text) > limit else None
        return wire if short is None else _shorter(wire, message, short)

    def _tokens(self, past: Sequence[Message], position: int, turn: int) -> int:
        return wire_tokens(self._sent_as(past, position, turn))

    def _materialise(
        self, past: Sequence[Message], items: Sequence[int | dict[str, str]], turn: int
    ) -> list[dict[str, Any]]:
        """The wire form; an output that the request has already, in the same words, becomes a reference to it."""
        wire: list[dict[str, Any]] = []
        before: list[tuple[int, str, str]] = []
        for item in items:
            if not isinstance(item, int):
                wire.append(dict(item))
                continue
            message, sent = past[item], self._sent_as(past, item, turn)
            if (
                message.role == "tool"
                and self.config.mode != "full"
                and wire_tokens(message.wire()) >= WORTH_SHORTENING
            ):
                said = content_text(message.content), content_text(parse_message(sent).content)
                copied = [position for position, *words in before if tuple(words) == said]
                before.append((item, *said))
                sent = _shorter(sent, message, _reference(past, copied[0], item)) if copied else sent
            wire.append(sent)
        return wire

    def _documents_notes(self, past: Sequence[Message], turn: int) -> list[dict[str, str]]:
        """The note with all chunks, and with one less of those that rank last each time; which these are is tested apart."""
        users = [message for message in past[turn:] if message.role == "user"]
        documents = [document for message in users for document in message.documents]
        most, tokens = self.config.max_documents, self.config.document_tokens
        if self.config.mode == "full" and most is None and tokens is None:
            chosen = as_recorded(documents)
        else:
            if self.config.mode != "full":
                most, tokens = 8 if most is None else most, 1000 if tokens is None else tokens
            query = "\n".join(content_text(message.content) for message in users)
            chosen = choose(query, documents, most=most, tokens=tokens, counter=counter())
        return [_documents_note(chosen.texts(count)) for count in range(len(chosen.chunks), 0, -1)]

    def _items(
        self,
        past: Sequence[Message],
        turns: Sequence[int],
        current: Sequence[int],
        decision: Decision,
        note: dict[str, str] | None,
    ) -> list[int | dict[str, str]]:
        history = self._history(past, decision, turns)
        first = self.config.document_priority == "high"
        head = self.config.placement == "head"
        leading = next((p for p, message in enumerate(past) if message.role not in SYSTEMS), len(past))
        items: list[int | dict[str, str] | None] = list(range(leading))
        items += [decision.card if head else None, note if first else None, decision.summary]
        for position in range(leading, len(past)):
            if position == turns[-1]:
                items += [None if first else note, None if head else decision.card]
            if past[position].role in SYSTEMS or position in history or position in current:
                items.append(position)
        return [item for item in items if item is not None]


def _with_notes_that_fit(decision: Decision, room: int) -> Decision:
    """The decision without a card that alone takes more than `room`, and without a summary that does so with the card."""
    card = decision.card if decision.card and wire_tokens(decision.card) <= room else None
    told = sum(wire_tokens(note) for note in (card, decision.summary) if note)
    if decision.summary and told > room:
        return replace(decision, card=card, summary=None, stepped_down="sliding")
    return replace(decision, card=card)


def _card_text(card: Card, lang: str, limit: int) -> str:
    """Heading and lines of the facts: of those that do not all fit, one after the other by importance, newest first."""
    data = card_data()

    def rank(fact: CardFact) -> tuple[int, bool, int, int]:
        kind = data.kinds.get(fact.kind, data.other_kinds)
        return kind["importance"], fact.by_user, fact.position, -card.facts.index(fact)

    def text(facts: Sequence[CardFact]) -> str:
        lines = []
        for fact in card.facts:
            if fact in facts:
                value = data.denied[lang].format(value=fact.value) if fact.negative else fact.value
                kind = data.kinds.get(fact.kind, {}).get(lang, fact.kind)
                lines.append(" ".join(data.line[lang].format(kind=kind, value=value).split()))
        return "".join(f"{line}\n" for line in [data.heading[lang], *lines]) if lines else ""

    kept: list[CardFact] = []
    for fact in sorted(card.facts, key=rank, reverse=True):
        if counter().text(text([*kept, fact])) <= limit:
            kept.append(fact)
    return text(kept)


def _is_called(message: Message) -> bool:
    return message.role == "tool" or bool(message.tool_calls)


def _called(past: Sequence[Message], position: int) -> tuple[str, str]:
    """Name and arguments of the call that an output answers."""
    callers = [call for call, result in answered_calls(past) if result == position]
    calls = [call for caller in callers for call in past[caller].tool_calls if call.id == past[position].tool_call_id]
    return (calls[0].name, calls[0].arguments) if calls else ("", "")


def _shorter(wire: dict[str, Any], message: Message, text: str) -> dict[str, Any]:
    """The tool output with `text` in its place, where that takes fewer tokens."""
    replaced = {**wire, "content": with_text(message.content, text)}
    return replaced if wire_tokens(replaced) < wire_tokens(wire) else wire


def _reference(past: Sequence[Message], first: int, position: int) -> str:
    """A file that both calls read is named; else it is the earlier call that is."""
    text = content_text(past[position].content)
    file = file_reference(*_called(past, position), text)
    if file is not None and file == file_reference(*_called(past, first), text):
        return file
    return f"[the same result as that of the earlier call of {_called(past, first)[0] or 'a tool'}]"


def _documents_note(texts: Sequence[str]) -> dict[str, str]:
    heading = "Retrieved documents (generated note, not a message from the user):"
    numbered = [f"[{number}] {text}" for number, text in enumerate(texts, 1)]
    return {"role": "system", "content": "\n\n".join([heading, *numbered])}
