"""The grammars of one language, read from the data files and checked."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from typing import Any, TypeAlias

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.generate.template import NOTHING, Needs, Node, in_turn, one_of, parse

LANGUAGES = ("zh", "en")
FOLDER = "customer_service"
CALENDAR_PARTS = ("year", "month", "day", "mm", "dd", "month_name")
"""What the value of a slot with a `calendar` is written with."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A JSON list of `low` to `high` items made alike; in the data `{each = …, times = [low, high]}`."""

    each: "Json"
    low: int
    high: int


Json: TypeAlias = Node | Mapping[str, "Json"] | list["Json"] | Repeat | int | float
"""A JSON value whose strings are templates."""


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """Something with one value at a time in a session: how the value is drawn and written."""

    kind: str
    """Of the fact; "" for background that stays the same but is nobody's key fact."""
    negative: bool
    calendar: tuple[int, int] | None
    """Days from the session's day between which a date is drawn."""
    parts: Mapping[str, Node]
    """Drawn once, shared by all forms of a value."""
    forms: Mapping[str, Node]
    """Written forms by name; "value" is the usual one."""
    aliases: frozenset[str]
    """Forms that name the value beyond doubt, so that they are labelled as aliases."""
    question: Node

    @property
    def is_fact(self) -> bool:
        """Whether the value is labelled."""
        return bool(self.kind)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the agent can call: its OpenAI schema, and what it answers."""

    name: str
    schema: Mapping[str, Any]
    result: Json


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    tool: Tool
    arguments: Json


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says, what the agent looks up, and what it replies."""

    user: Node
    call_groups: tuple[tuple[Call, ...], ...]
    """Each group is one assistant message."""
    reply: Node
    needs: Needs
    answered_with: frozenset[str]
    """Slots that the agent's first message needs and the user does not say: a turn that probes them."""


@dataclass(frozen=True, slots=True, eq=False)
class Intent:
    """Something a user comes for, in one or more turns.

    `role` is "task" (once a session), "chat" (may come again) or "closing" (the last turn).
    """

    name: str
    scenario: str
    role: str
    weight: int
    """How often users come for it, against the other intents that could begin."""
    coming_back: Node
    """How a user takes the intent up again after an interruption."""
    turns: tuple[Turn, ...]
    needs: Needs
    """Of all its turns, one after the other."""
    changes_a_fact: bool
    """Whether a user changes their mind here."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What a user adds to a message, with the share of messages that have it."""

    chance: float
    text: Node


@dataclass(frozen=True, slots=True)
class Manner:
    """How a user talks, the same through a session."""

    name: str
    weight: int
    """How often users have it, against the other manners."""
    opener: Remark
    """Before the message, where nothing else opens it."""
    aside: Remark
    closer: Remark


@dataclass(frozen=True, slots=True)
class Grammar:
    """Everything that sessions of one language are made of."""

    lang: str
    slots: Mapping[str, SlotSpec]
    intents: tuple[Intent, ...]
    hello: Node
    aside: Node
    """How a user breaks off for another subject."""
    manners: tuple[Manner, ...]
    personas: tuple[Node, ...]
    rules: tuple[Node, ...]
    """Policy rules of the system prompt."""
    tools: tuple[Mapping[str, Any], ...]
    """Schemas of all functions that the agent has, whether it calls them or not."""
    plan: Mapping[str, Any]
    """Lengths, distances and chances of a session, as in `plan.toml`."""


@cache
def load_grammar(lang: str) -> Grammar:
    """Read the grammars of a language ("zh" or "en").

    Raises:
        CtxmodeError: There are no grammars in that language.
        ValueError: A data file is broken; the text names the template.
    """
    if lang not in LANGUAGES:
        raise CtxmodeError(f'no grammars in the language "{lang}"', hint=f"languages are {', '.join(LANGUAGES)}")
    return _Reader(lang).grammar()


class _Reader:
    """Turns the TOML tables of one language into templates."""

    def __init__(self, lang: str) -> None:
        self._lang = lang
        self._slots = _toml("slots.toml")
        self._phrases: dict[str, Node] = {}
        phrases = _toml("phrases.toml")
        self._coming_back = phrases.pop("coming_back")
        for name, texts in phrases.items():
            self._phrases[name] = self._template(texts)
        self._tools = {name: self._tool(name, table) for name, table in _toml("tools.toml").items()}

    def grammar(self) -> Grammar:
        system = _toml("system.toml")
        return Grammar(
            lang=self._lang,
            slots={name: self._slot(table) for name, table in self._slots.items()},
            intents=tuple(self._intents()),
            hello=self._phrases["hello"],
            aside=self._phrases["aside"],
            manners=tuple(self._manner(table) for table in _toml("manners.toml")["manner"]),
            personas=tuple(self._template(table) for table in system["persona"]),
            rules=tuple(self._template(table) for table in system["rule"]),
            tools=tuple(tool.schema for tool in self._tools.values()),
            plan=_toml("plan.toml"),
        )

    def _own(self, value: Any) -> Any:
        """The part of a value that is in this language: itself, or one side of a {zh, en} table."""
        return value.get(self._lang) if isinstance(value, dict) else value

    def _template(self, texts: Any, slots: Sequence[str] | None = None, **phrases: Node) -> Node:
        """The choice among the texts of this language."""
        own = self._own(texts)
        options = [own] if isinstance(own, str) else own
        names = self._slots if slots is None else slots
        return one_of([parse(option, self._phrases | phrases, names) for option in options])

    def _manner(self, table: Mapping[str, Any]) -> Manner:
        remarks = {
            name: Remark(table[name]["chance"], self._template(table[name])) for name in ("opener", "aside", "closer")
        }
        return Manner(table["name"], table["weight"], **remarks)

    def _slot(self, table: Mapping[str, Any]) -> SlotSpec:
        parts = {name: self._template(texts, ()) for name, texts in table.get("part", {}).items()}
        written_with = (*parts, *(CALENDAR_PARTS if "calendar" in table else ()))
        aliases = {name: texts for name, texts in table.get("alias", {}).items() if self._own(texts)}
        forms = {"value": table["value"], **aliases, **table.get("form", {})}
        return SlotSpec(
            kind=table.get("kind", ""),
            negative=table.get("polarity") == "negative",
            calendar=tuple(table["calendar"]) if "calendar" in table else None,
            parts=parts,
            forms={name: self._template(texts, written_with) for name, texts in forms.items() if self._own(texts)},
            aliases=frozenset(aliases) | {"value"},
            question=self._template(table.get("question", ""), ()),
        )

    def _tool(self, name: str, table: Mapping[str, Any]) -> Tool:
        properties = {
            key: {"type": kind, "description": self._own(about)} for key, (kind, about) in table["parameters"].items()
        }
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        function = {"name": name, "description": self._own(table["description"]), "parameters": parameters}
        return Tool(name, {"type": "function", "function": function}, self._json(table["result"]))

    def _json(self, value: Any) -> Json:
        if isinstance(value, dict) and value.keys() == {"each", "times"}:
            return Repeat(self._json(value["each"]), *value["times"])
        if isinstance(value, dict) and value.keys() != set(LANGUAGES):
            return {key: self._json(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._json(item) for item in value]
        return value if isinstance(value, int | float) else self._template(value)

    def _intents(self) -> Iterator[Intent]:
        for file in sorted(_folder("intents"), key=lambda file: file.name):
            for table in tomllib.loads(file.read_text("utf-8"))["intent"]:
                yield self._intent(file.name.removesuffix(".toml"), table)

    def _intent(self, scenario: str, table: Mapping[str, Any]) -> Intent:
        turns = tuple(self._turn(turn) for turn in table["turn"])
        return Intent(
            name=table["name"],
            scenario=scenario,
            role=table.get("role", "task"),
            weight=table.get("weight", 1),
            coming_back=self._template(self._coming_back, topic=self._template(table["topic"])),
            turns=turns,
            needs=in_turn(turn.needs for turn in turns),
            changes_a_fact=any(turn.needs.may_state & turn.needs.required for turn in turns),
        )

    def _turn(self, table: Mapping[str, Any]) -> Turn:
        user, reply = self._template(table["user"]), self._template(table["reply"])
        groups = tuple(
            tuple(Call(self._tools[name], self._json(arguments)) for name, arguments in group.items())
            for group in table.get("calls", ())
        )
        asked = [in_turn(_json_needs(call.arguments) for call in group) for group in groups]
        found = [in_turn(_json_needs(call.tool.result) for call in group) for group in groups]
        looked_up = [each for pair in zip(asked, found, strict=True) for each in pair]
        first = asked[0] if asked else reply.needs
        answered_with = first.required - user.needs.required - user.needs.may_state
        return Turn(user, groups, reply, in_turn([user.needs, *looked_up, reply.needs]), answered_with)


def _json_needs(value: Json) -> Needs:
    """The needs of all templates in a JSON value."""
    if isinstance(value, Mapping):
        return in_turn(_json_needs(item) for item in value.values())
    if isinstance(value, list):
        return in_turn(_json_needs(item) for item in value)
    if isinstance(value, Repeat):
        return _json_needs(value.each)
    return NOTHING if isinstance(value, int | float) else value.needs


def _folder(name: str) -> Iterator[Traversable]:
    return data_file(f"{FOLDER}/{name}").iterdir()


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(data_file(f"{FOLDER}/{name}").read_text("utf-8"))
