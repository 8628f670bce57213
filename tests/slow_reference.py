"""What a request should be, worked out the slow and obvious way: by whole lists, counted again from what is sent.

Written from the definitions (turn, request, current input, cutting, summary, validity), not from the code; it shares
with the package only messages, settings, the token counter and what ranks documents.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

from dialogues import MODEL, counter

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.plan import Summarizer, SummaryError, SummaryRequest
from ctxmode_cli.context.retrieval import as_recorded, choose
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter

Wire = Mapping[str, Any]
SYSTEMS = {"system", "developer"}


model_counter = cache(TokenCounter.for_model)


@cache
def _encoded_tokens(encoded: str, model: str) -> int:
    return model_counter(model).message(parse_message(json.loads(encoded)))


def wire_tokens(message: Wire, model: str = MODEL) -> int:
    return _encoded_tokens(json.dumps(message), model)


def recount(wire: Sequence[Wire], tools: Sequence[Wire]) -> int:
    return sum(map(wire_tokens, wire)) + counter().tools(tools) + 3


def spoken(messages: Sequence[Message], start: int, stop: int) -> list[int]:
    return [position for position in range(start, stop) if messages[position].role not in SYSTEMS]


def answered_calls(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(call, result): each result answers the latest earlier call of its id."""
    pairs = []
    for result, message in enumerate(messages):
        if message.role == "tool":
            callers = [p for p in range(result) if any(c.id == message.tool_call_id for c in messages[p].tool_calls)]
            pairs += [(callers[-1], result)] if callers else []
    return pairs


def turn_starts(messages: Sequence[Message], *, each_user: bool) -> list[int]:
    talk = spoken(messages, 0, len(messages))
    starts = [
        position
        for before, position in zip([None, *talk], talk, strict=False)
        if messages[position].role == "user" and (each_user or before is None or messages[before].role != "user")
    ]
    for call, result in answered_calls(messages):
        joined = [start for start in starts if call < start <= result]
        starts = [start for start in starts if start not in joined]
        if joined and not any(start <= call for start in starts):
            starts.insert(0, talk[0])
    return starts


def group_starts(messages: Sequence[Message], turn: int) -> list[int]:
    """Where the call groups of the turn from `turn` on start: replies, and results that answer nothing."""
    talk = spoken(messages, 0, len(messages))
    pairs = answered_calls(messages)
    answers = {result for _, result in pairs}
    starts = []
    for before, position in zip([None, *talk], talk, strict=False):
        previous = None if before is None else messages[before].role
        role = messages[position].role
        if (role == "assistant" and previous != "assistant") or (
            role == "tool" and position not in answers and previous == "user"
        ):
            starts.append(position)
    whole = [start for start in starts if start >= turn and not any(c < start <= r for c, r in pairs)]
    first_user = next(position for position in talk if position >= turn and messages[position].role == "user")
    # What a late result drew in from before the user first spoke goes whole.
    drawn_in = [turn] if whole and whole[0] < first_user else []
    return drawn_in + [start for start in whole if start > first_user]


def reply_spans(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """(position, one past the reply's last assistant message) of every request; equal where the reply is unknown."""
    talk = spoken(messages, 0, len(messages))
    users = [position for position in talk if messages[position].role == "user"]
    if not users:
        return []
    if not any(message.role == "assistant" for message in messages):
        return [(stop, stop) for stop in [*users[1:], len(messages)]]
    spans = []
    for index, position in enumerate(talk):
        previous = messages[talk[index - 1]].role if index else None
        if messages[position].role != "assistant" or previous == "assistant" or position < users[0]:
            continue
        last = index
        while last + 1 < len(talk) and messages[talk[last + 1]].role == "assistant":
            last += 1
        spans.append((position, talk[last] + 1))
    return spans + _open_span(messages, talk)


def _open_span(messages: Sequence[Message], talk: Sequence[int]) -> list[tuple[int, int]]:
    last = messages[talk[-1]].role
    if last == "assistant" or (last == "tool" and _waiting(messages, talk)):
        return []
    return [(len(messages), len(messages))]


def _waiting(messages: Sequence[Message], talk: Sequence[int]) -> bool:
    """Whether a call of the last reply has no result yet."""
    replies = [index for index, position in enumerate(talk) if messages[position].role == "assistant"]
    first = last = replies[-1]
    while first - 1 in replies:
        first -= 1
    called = {call.id for index in range(first, last + 1) for call in messages[talk[index]].tool_calls}
    return bool(called - {messages[position].tool_call_id for position in talk[last:]})


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
        decision = self._decide(past, turns)
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
            over = sum(wire_tokens(past[position].wire()) for position in kept) - room
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
        tokens = sum(wire_tokens(past[position].wire()) for position in spoken(past, self.summarised, turns[-1]))
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
        room = limit - fixed - sum(wire_tokens(past[position].wire()) for position in current)
        first = self.config.document_priority == "high"
        notes = self._documents_notes(past, turns[-1])
        note = next((note for note in notes if first and wire_tokens(note) <= room), None)
        room -= wire_tokens(note) if note else 0
        attempt = self._fit(past, turns, decision, min(share, room))
        kept = _history_tokens(past, attempt, turns[-1])
        if attempt is not decision and room < share:
            # Of what is cut to the budget, the documents get only what the mark leaves free, which is nothing at 1.
            kept = max(kept, int(self.config.budget_low * room))
        if not first and (whole_input or fixed + input_share <= limit):
            note = next((note for note in notes if kept + wire_tokens(note) <= room), None)
        items = self._items(past, turns[-1], current, attempt, note)
        wire = _materialise(past, items)
        trimmed = not whole_input or attempt is not decision or note is not next(iter(notes), None)
        return SlowRequest(items, wire, recount(wire, self.tools), trimmed, attempt.stepped_down)

    def _fit(self, past: Sequence[Message], turns: Sequence[int], decision: Decision, room: int) -> Decision:
        """The decision, or what is left of it: held where it was cut before, else cut to the low-water mark."""

        def fits(attempt: Decision, most: int) -> bool:
            return _history_tokens(past, attempt, turns[-1]) <= most

        mark, self.cut = self.cut, None
        if fits(decision, room):
            return decision
        attempts = _attempts(decision, turns)[1:]
        with_summary = bool(next(attempt for attempt in attempts if fits(attempt, room)).summary)
        attempts = [attempt for attempt in attempts if bool(attempt.summary) == with_summary]
        start = max(decision.start, mark) if mark in turns else decision.start
        held = [attempt for attempt in attempts if attempt.start == start and fits(attempt, room)]
        low = [attempt for attempt in attempts if fits(attempt, int(self.config.budget_low * room))]
        attempt = [*held, *low, attempts[-1]][0]
        self.cut = attempt.start if self.config.budget_low < 1 else None
        return attempt

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
        turn: int,
        current: Sequence[int],
        decision: Decision,
        note: dict[str, str] | None,
    ) -> list[int | dict[str, str]]:
        leading = next((p for p, message in enumerate(past) if message.role not in SYSTEMS), len(past))
        items: list[int | dict[str, str]] = list(range(leading))
        if decision.summary:
            items.append(decision.summary)
        if note and self.config.document_priority == "high":
            items.insert(leading, note)
            note = None
        for position in range(leading, len(past)):
            if position == turn and note:
                items.append(note)
            history = decision.start <= position < turn
            if past[position].role in SYSTEMS or history or position in current:
                items.append(position)
        return items


def _attempts(decision: Decision, turns: Sequence[int]) -> list[Decision]:
    """The decision, then with one more of its oldest turns cut each time, then the same without its summary."""
    cuts = [replace(decision, start=start) for start in turns if start >= decision.start]
    if decision.stepped_down:
        cuts[-1] = replace(cuts[-1], stepped_down="zero")
    if decision.summary:
        sliding = [Decision(start, stepped_down="sliding") for start in turns if start >= decision.start]
        cuts += [*sliding[:-1], Decision(turns[-1], stepped_down="zero")]
    return [decision, *cuts]


def _history_tokens(past: Sequence[Message], decision: Decision, turn: int) -> int:
    told = wire_tokens(decision.summary) if decision.summary else 0
    return told + sum(wire_tokens(past[position].wire()) for position in spoken(past, decision.start, turn))


def _documents_note(texts: Sequence[str]) -> dict[str, str]:
    heading = "Retrieved documents (generated note, not a message from the user):"
    numbered = [f"[{number}] {text}" for number, text in enumerate(texts, 1)]
    return {"role": "system", "content": "\n\n".join([heading, *numbered])}


def _materialise(past: Sequence[Message], items: Sequence[int | dict[str, str]]) -> list[dict[str, Any]]:
    return [past[item].wire() if isinstance(item, int) else dict(item) for item in items]


def request_faults(messages: Sequence[Message], positions: Sequence[int]) -> set[tuple[str, int, str]]:
    """What a provider would refuse in a request of these recorded messages: (check, position, call id).

    Calls and results are told by their ids in what is sent. A result must also follow its call with nothing but
    system messages and other results between them.
    """
    talk = [position for position in positions if messages[position].role not in SYSTEMS]
    faults: set[tuple[str, int, str]] = set()
    called: set[str] = set()
    open_calls: set[str] = set()
    for index, position in enumerate(talk):
        message = messages[position]
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            faults |= set() if call_id in called else {("orphan_result", position, call_id)}
            faults |= set() if call_id in open_calls else {("misplaced_result", position, call_id)}
            continue
        open_calls = {call.id for call in message.tool_calls}
        called |= open_calls
        faults |= {("unanswered_call", position, i) for i in open_calls if not _is_answered(messages, talk, index, i)}
    return faults | _first_faults(messages, talk)


def _is_answered(messages: Sequence[Message], talk: Sequence[int], index: int, call_id: str) -> bool:
    for position in talk[index + 1 :]:
        if messages[position].tool_call_id == call_id:
            return True
        if any(call.id == call_id for call in messages[position].tool_calls):
            return False
    return False


def _first_faults(messages: Sequence[Message], talk: Sequence[int]) -> set[tuple[str, int, str]]:
    """A request starts with the user, or with all that was said before the user first spoke."""
    everything = spoken(messages, 0, len(messages))
    preamble: list[int] = []
    for position in everything:
        if messages[position].role == "user":
            break
        preamble.append(position)
    whole_preamble = bool(preamble) and list(talk[: len(preamble)]) == preamble
    starts_well = messages[talk[0]].role == "user" or whole_preamble
    return set() if starts_well else {("first_not_user", talk[0], "")}
