"""The expansion language of the grammars: how one line of data becomes many different messages.

    (a|b|c)        one of the alternatives; of three or more, the first ones come more often
    [text]         an optional part: in or out with equal chance
    {name}         a phrase of the grammar, or the present value of a slot
    {name.form}    the value in another of its written forms
    {+name}        states a slot that nobody has stated yet: a new fact
    {=name}        states the slot where it is unknown, repeats it otherwise
    {~name}        changes a slot that is known: a new fact that supersedes the old one
    {#07-23}       a whole number of that range, written as wide as its lower bound

A part that needs what the session does not know yet is never chosen. So that this cannot fail, one alternative of
each choice must ask for no more than all of them do.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce
from random import Random
from typing import Protocol, TypeAlias

MANY = 3
"""Of so many alternatives in a line the first ones are favoured; of fewer, all come equally often."""
DRAWS = 3
"""The lowest of so many even draws is taken: of ten alternatives the first comes in 27 of 100 cases, the last in 1 of 1,000."""
_TOKENS = re.compile(r"\{([^{}]*)\}|([()\[\]|])|([^{}()\[\]|]+)|(.)", re.DOTALL)
_NUMBER = re.compile(r"#(\d+)-(\d+)")
_NAME = re.compile(r"([+=~]?)([a-z_]+)(?:\.([a-z_]+))?")


@dataclass(frozen=True, slots=True)
class Needs:
    """What a template asks of a session, and what it adds to it: names of slots."""

    required: frozenset[str] = frozenset()
    """Must be known before."""
    fresh: frozenset[str] = frozenset()
    """Must be unknown before."""
    states: frozenset[str] = frozenset()
    """Are known afterwards, whatever is chosen."""
    may_state: frozenset[str] = frozenset()
    """Can become a new fact, now or where it is unknown."""

    def met_by(self, known: AbstractSet[str]) -> bool:
        """Whether a session that knows these slots can say the template."""
        return known >= self.required and known.isdisjoint(self.fresh)

    def then(self, later: "Needs") -> "Needs":
        """What both ask for when the other one follows."""
        return Needs(
            self.required | (later.required - self.states),
            self.fresh | later.fresh,
            self.states | later.states,
            self.may_state | later.may_state,
        )


NOTHING = Needs()


def in_turn(all_needs: Iterable[Needs]) -> Needs:
    """What templates ask for that are said one after the other."""
    return reduce(Needs.then, all_needs, NOTHING)


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that stands for itself."""

    text: str
    needs: Needs = field(default=NOTHING, init=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A random whole number, zero-padded to `width` digits."""

    low: int
    high: int
    width: int
    needs: Needs = field(default=NOTHING, init=False)


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of the session; `sign` says whether it is stated, changed or only used here."""

    sign: str
    name: str
    form: str
    needs: Needs


@dataclass(frozen=True, slots=True)
class Series:
    """Parts said one after the other."""

    parts: tuple["Node", ...]
    needs: Needs


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives of which one is said; `free` where none of them asks for anything."""

    options: tuple["Node", ...]
    free: bool
    favours_first: bool
    """Whether those written first come more often, as some words of a language do."""
    needs: Needs


Node: TypeAlias = Literal | Number | Slot | Series | Choice


class Values(Protocol):
    """The values that a template is filled with."""

    @property
    def known(self) -> AbstractSet[str]:
        """Names of the slots that have a value."""

    def say(self, slot: Slot) -> str:
        """The text of the slot, which states or changes it where its sign says so."""


def parse(text: str, phrases: Mapping[str, Node], slots: Collection[str]) -> Node:
    """Read one template.

    Args:
        text: A line in the expansion language.
        phrases: Templates that `{name}` stands for; they are built in.
        slots: Names that have their value only in a session.

    Raises:
        ValueError: The line is not in the language, or uses an unknown name.
    """
    try:
        tokens = _tokens(text)
        node, closed_by = _parse_series(tokens, phrases, slots)
    except ValueError as error:
        raise ValueError(f"{error} in the template {text!r}") from None
    if closed_by:
        raise ValueError(f'"{closed_by}" without its beginning in the template {text!r}')
    return node


def one_of(options: Sequence[Node], *, favours_first: bool = False) -> Node:
    """One of the templates, each as often as the others unless the first ones are favoured.

    Raises:
        ValueError: No option is as undemanding as all of them together, so that a session could be left without any.
    """
    if len(options) == 1:
        return options[0]
    all_needs = [option.needs for option in options]
    required = frozenset.intersection(*(needs.required for needs in all_needs))
    fresh = frozenset.intersection(*(needs.fresh for needs in all_needs))
    if not any(needs.required == required and needs.fresh == fresh for needs in all_needs):
        raise ValueError("every alternative asks for something of its own")
    states = frozenset.intersection(*(needs.states for needs in all_needs))
    may_state = frozenset[str]().union(*(needs.may_state for needs in all_needs))
    free = all(needs == NOTHING for needs in all_needs)
    return Choice(tuple(options), free, favours_first, Needs(required, fresh, states, may_state))


def expand(node: Node, rng: Random, values: Values) -> str:
    """One text of the template; draws from `rng`, and states slots through `values`."""
    match node:
        case Literal():
            return node.text
        case Series():
            return "".join([expand(part, rng, values) for part in node.parts])
        case Choice():
            known = values.known
            options = node.options if node.free else [each for each in node.options if each.needs.met_by(known)]
            return expand(_pick(rng, options, node.favours_first), rng, values)
        case Slot():
            return values.say(node)
        case Number():
            return str(rng.randint(node.low, node.high)).zfill(node.width)


def _pick(rng: Random, options: Sequence[Node], favours_first: bool) -> Node:
    draws = DRAWS if favours_first and len(options) >= MANY else 1
    return options[min(rng.randrange(len(options)) for _ in range(draws))]


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of kind ("name", "mark" or "text") and content."""
    for match in _TOKENS.finditer(text):
        name, mark, plain, stray = match.groups()
        if stray is not None:
            raise ValueError(f"a stray {stray!r}")
        yield ("name", name) if name is not None else ("mark", mark) if mark else ("text", plain)


def _parse_series(
    tokens: Iterator[tuple[str, str]], phrases: Mapping[str, Node], slots: Collection[str]
) -> tuple[Node, str]:
    """Parts up to a mark that ends them, and that mark ("" at the end of the line)."""
    parts: list[Node] = []
    for kind, content in tokens:
        if kind == "text":
            parts.append(Literal(content))
        elif kind == "name":
            parts.append(_named(content, phrases, slots))
        elif content in {"(", "["}:
            parts.append(_parse_group(content, tokens, phrases, slots))
        else:
            return _series(parts), content
    return _series(parts), ""


def _parse_group(
    opening: str, tokens: Iterator[tuple[str, str]], phrases: Mapping[str, Node], slots: Collection[str]
) -> Node:
    options: list[Node] = [Literal("")] if opening == "[" else []
    closed_by = "|"
    while closed_by == "|":
        option, closed_by = _parse_series(tokens, phrases, slots)
        options.append(option)
    if closed_by != {"(": ")", "[": "]"}[opening]:
        raise ValueError(f'"{opening}" without its end')
    return one_of(options, favours_first=True)


def _named(content: str, phrases: Mapping[str, Node], slots: Collection[str]) -> Node:
    if number := _NUMBER.fullmatch(content):
        low, high = number.groups()
        return Number(int(low), int(high), len(low))
    match = _NAME.fullmatch(content)
    if match is None:
        raise ValueError(f"no name and no range: {{{content}}}")
    sign, name, form = match[1], match[2], match[3] or "value"
    if name in slots:
        return Slot(sign, name, form, _slot_needs(sign, name))
    if name in phrases and not sign and not match[3]:
        return phrases[name]
    raise ValueError(f"the unknown name {{{content}}}")


def _slot_needs(sign: str, name: str) -> Needs:
    this = frozenset({name})
    if sign == "+":
        return Needs(fresh=this, states=this, may_state=this)
    if sign == "=":
        return Needs(states=this, may_state=this)
    return Needs(required=this, may_state=this if sign == "~" else frozenset())


def _series(parts: Iterable[Node]) -> Node:
    parts = tuple(parts)
    return parts[0] if len(parts) == 1 else Series(parts, in_turn(part.needs for part in parts))
