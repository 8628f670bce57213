"""A session while it is written: its messages, its values, and the labels that follow from what was said where."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from ctxmode_cli.generate.grammar import CALENDAR_PARTS, Call, Grammar, Json, Repeat, SlotSpec, Turn
from ctxmode_cli.generate.template import Node, Number, Slot, expand

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
MAX_DRAWS = 200
"""A value that was said before is drawn again this often."""
LONG_PAUSES = 0.06
"""Share of user messages that come after minutes, not seconds: people go and look for their order number."""


@dataclass(slots=True)
class StatedFact:
    """A fact of the session so far; positions are indexes of messages, turns count user messages from 0."""

    id: str
    slot: str
    value: str
    aliases: list[str]
    stated_at: int
    stated_in_turn: int
    supersedes: str | None = None
    superseded_at: int | None = None
    probe_at: list[int] = field(default_factory=list)

    def said_in(self, text: str) -> bool:
        """Whether a text carries the value or an alias; without regard to case or to word boundaries."""
        folded = text.lower()
        return any(form.lower() in folded for form in (self.value, *self.aliases))


class _Parts:
    """The parts that one value is written with."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.known = texts.keys()

    def say(self, slot: Slot) -> str:
        return self._texts[slot.name]


class Script:
    """Writes a session turn by turn, and labels each fact where it is stated, changed and needed.

    Args:
        grammar: Of the session's language.
        rng: The only source of chance.
        start: When the session begins.
    """

    def __init__(self, grammar: Grammar, rng: Random, start: datetime) -> None:
        self._grammar = grammar
        self._rng = rng
        self._now = start
        self._day = start.date()
        self._said = ""
        self._forms: dict[str, dict[str, str]] = {}
        self._used: set[str] = set()
        self.turns = 0
        self.messages: list[dict[str, Any]] = []
        self.facts: list[StatedFact] = []
        self.live: dict[str, StatedFact] = {}

    @property
    def known(self) -> AbstractSet[str]:
        """Slots that have a value."""
        return self._forms.keys()

    def say(self, slot: Slot) -> str:
        """The text of a slot; a new fact where the slot is stated or changed."""
        name = slot.name
        if slot.sign == "~" or name not in self._forms:
            self._state(name, slot.form)
        self._used.add(name)
        return self._forms[name][slot.form]

    def expand(self, node: Node) -> str:
        """One text of a template, with the session's values."""
        return expand(node, self._rng, self)

    def add(self, role: str, content: str | None, *, wait: tuple[int, int], **fields: Any) -> None:
        """Append a message that comes `wait` (low, high) seconds after the one before."""
        self._now += timedelta(seconds=self._rng.randint(*wait))
        ts = self._now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.messages.append({"role": role, "content": content, **fields, "ts": ts})
        calls = fields.get("tool_calls", ())
        said = "\n".join([content or "", *(call["function"]["arguments"] for call in calls)])
        self._said += said.lower() + "\n"

    def write_turn(self, turn: Turn, before: str = "", after: str = "") -> None:
        """Write a user message and what the agent does about it, and note which facts that needed.

        Args:
            turn: What is said and looked up.
            before: What the user says first.
            after: What the user adds at the end.
        """
        position = len(self.messages)
        user_text = (before + self.expand(turn.user).strip() + after).strip()
        self.add("user", user_text, wait=self._thinking_time())
        self._used = set()
        if turn.call_groups:
            for number, group in enumerate(turn.call_groups):
                self._write_calls(group)
                if number == 0:
                    self._note_probes(position, user_text)
                self._write_results(group)
        reply = self.expand(turn.reply).strip()
        self.add("assistant", reply, wait=(2, 6 + len(reply) // 40))
        if not turn.call_groups:
            self._note_probes(position, user_text)
        self.turns += 1

    def _thinking_time(self) -> tuple[int, int]:
        return (240, 1500) if self._rng.random() < LONG_PAUSES else (8, 120)

    def _write_calls(self, group: tuple[Call, ...]) -> None:
        calls = []
        for call in group:
            arguments = json.dumps(self._fill(call.arguments), ensure_ascii=False)
            function = {"name": call.tool.name, "arguments": arguments}
            calls.append({"id": f"call_{self._rng.getrandbits(64):016x}", "type": "function", "function": function})
        self.add("assistant", None, wait=(1, 4), tool_calls=calls)

    def _write_results(self, group: tuple[Call, ...]) -> None:
        calls = self.messages[-1]["tool_calls"]
        for call, made in zip(group, calls, strict=True):
            content = json.dumps(self._fill(call.tool.result), ensure_ascii=False)
            self.add("tool", content, wait=(1, 2), tool_call_id=made["id"], name=call.tool.name)

    def _fill(self, value: Json) -> Any:
        """The JSON value with its templates expanded; a lone number stays a number."""
        if isinstance(value, Mapping):
            return {key: self._fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._fill(item) for item in value]
        if isinstance(value, Repeat):
            return [self._fill(value.each) for _ in range(self._rng.randint(value.low, value.high))]
        if isinstance(value, int | float):
            return value
        text = self.expand(value)
        numeric = isinstance(value, Number) or (isinstance(value, Slot) and value.form == "number")
        return json.loads(text) if numeric else text

    def _note_probes(self, position: int, user_text: str) -> None:
        """The agent's first message of the turn has been written: what it used and the user did not say was needed."""
        for name in self._used & self.live.keys():
            fact = self.live[name]
            if fact.stated_at < position and not fact.said_in(user_text):
                fact.probe_at.append(position)

    def _state(self, name: str, form: str) -> None:
        """Give the slot a value; a fact gets one that nobody has said yet, and its label."""
        spec = self._grammar.slots[name]
        if not spec.is_fact:
            self._forms[name] = self._draw(spec)
            return
        for _ in range(MAX_DRAWS):
            forms = self._draw(spec)
            names = sorted(spec.aliases & forms.keys() | {form})
            if not any(forms[each].lower() in self._said for each in names):
                break
        else:
            raise ValueError(f'all values of the slot "{name}" have been said')
        aliases = dict.fromkeys(forms[each] for each in names if forms[each] != forms[form])
        stated_at = len(self.messages)
        fact = StatedFact(f"f{len(self.facts)}", name, forms[form], list(aliases), stated_at, self.turns)
        old = self.live.get(name)
        if old is not None:
            old.superseded_at, fact.supersedes = stated_at, old.id
        self._forms[name] = forms
        self.live[name] = fact
        self.facts.append(fact)

    def _draw(self, spec: SlotSpec) -> dict[str, str]:
        """A random value of the slot in all its forms."""
        nothing = _Parts({})
        parts = {name: expand(node, self._rng, nothing) for name, node in spec.parts.items()}
        if spec.calendar:
            parts |= self._date_parts(spec.calendar)
        return {name: expand(node, self._rng, _Parts(parts)) for name, node in spec.forms.items()}

    def _date_parts(self, days: tuple[int, int]) -> dict[str, str]:
        day = self._day + timedelta(days=self._rng.randint(*days))
        texts = (str(day.year), str(day.month), str(day.day), f"{day.month:02}", f"{day.day:02}", MONTHS[day.month - 1])
        return dict(zip(CALENDAR_PARTS, texts, strict=True))
