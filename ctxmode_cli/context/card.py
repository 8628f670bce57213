"""The fact card: what was said and still holds, kept from the moment it is said, and written as a short note.

A card is a value. Facts come in by `update`, a person's corrections by `correct`, and `write` makes the text. Where the
facts come from is the caller's choice: `card_facts` says what an extractor is, and has one.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self

from ctxmode_cli.data import data_file
from ctxmode_cli.language.extraction import holds_several
from ctxmode_cli.language.fold import fold


class CardFact(NamedTuple):
    """A fact as it was stated."""

    kind: str
    value: str
    negative: bool
    """Whether the value is what was denied."""
    changes: bool
    """Whether the user says there that it takes an earlier value's place."""
    position: int
    """Of the message that says it; of the last one that does, once it is on a card."""
    by_user: bool = True
    """Whether the user has said it, or a person has set it; else only the assistant has said it."""


class Card(NamedTuple):
    """What is known of a conversation: small, and stored to go on later."""

    facts: tuple[CardFact, ...] = ()
    """Those that hold by what was said, the oldest first, each value once."""
    pinned: tuple[CardFact, ...] = ()
    """Those that a person has put on the card."""
    removed: tuple[CardFact, ...] = ()
    """Those that a person has taken off."""

    def to_json(self) -> dict[str, Any]:
        """The card as JSON can hold it."""
        return {name: [list(fact) for fact in facts] for name, facts in self._asdict().items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The card that `to_json` made this of."""
        return cls(*(tuple(CardFact(*fields) for fields in stored[name]) for name in cls._fields))


def update(card: Card, facts: Sequence[CardFact]) -> Card:
    """The card after what further messages state.

    A value that is said again stays in its place. A denial takes the place of what it denies, and an assertion that of
    its denial. A value that the user says is a change takes the place of the last mentioned one of its kind, and where
    a kind has one value at a time the last statement is it. What a person has pinned gives way only to a change that
    the user states, and what a person has removed does not come back.

    Args:
        card: The card so far.
        facts: All that one or several messages state, in order, none of which the card has read before.
    """
    removed = {_key(fact) for fact in card.removed}
    for fact in facts:
        if _key(fact) not in removed:
            card = _stated(card, fact)
    return card


def correct(card: Card, *, set_: Sequence[CardFact] = (), remove: Sequence[CardFact] = ()) -> Card:
    """The card after a person's correction.

    Args:
        card: The card so far.
        set_: Facts that hold, whatever was said before. They replace what a statement of the user would replace.
        remove: Facts to be taken off, of whatever kind: what counts is value and polarity.
    """
    for fact in remove:
        card = _without(card, [fact])._replace(removed=(*_others(card.removed, [fact]), fact))
    for fact in set_:
        held = [*card.pinned, *card.facts]
        card = _without(card, [*_opposite(fact, held), *_succeeded(fact, held), fact])
        card = card._replace(pinned=(*card.pinned, fact), removed=_others(card.removed, [fact]))
    return card


def write(card: Card, *, lang: str, limit: int, count: Callable[[str], int]) -> tuple[str, tuple[CardFact, ...]]:
    """The card as text, a heading and a line for each fact, and the facts for which it has no room.

    Lines stand in the order in which the facts came, so that a further fact only adds a line, and a provider's cache
    keeps what stands before it. Where the limit does not hold all, what a person has pinned stays, then the more
    important kinds, then what was said last. Without room for any fact the text is empty.

    Args:
        card: The card.
        lang: "zh" or "en", the language of heading and names.
        limit: Tokens.
        count: Tokens of a text. It is called for each line: lines end with a line break and none begins with one, so
            their tokens add up.
    """
    facts = [*card.pinned, *card.facts]
    lines = [_line(fact, lang) for fact in facts]
    heading = f"{card_data().heading[lang]}\n"
    room = limit - count(heading)
    kept = set()
    pinned = len(card.pinned)
    for index in sorted(range(len(facts)), key=lambda index: _rank(facts[index], pinned=index < pinned), reverse=True):
        tokens = count(lines[index])
        if tokens <= room:
            room -= tokens
            kept.add(index)
    text = "".join([heading, *(line for index, line in enumerate(lines) if index in kept)]) if kept else ""
    return text, tuple(fact for index, fact in enumerate(facts) if index not in kept)


class CardData(NamedTuple):
    """`datasets/context/card.toml`; texts by language, kinds by name."""

    heading: Mapping[str, str]
    line: Mapping[str, str]
    denied: Mapping[str, str]
    kinds: Mapping[str, Mapping[str, Any]]
    other_kinds: Mapping[str, Any]
    one_at_a_time: frozenset[str]
    from_assistant: frozenset[str]


@cache
def card_data() -> CardData:
    """That file."""
    data = tomllib.loads(data_file("context/card.toml").read_text(encoding="utf-8"))
    for name in ("one_at_a_time", "from_assistant"):
        data[name] = frozenset(data[name])
    return CardData(**data)


_folded = lru_cache(maxsize=4096)(fold)


def _key(fact: CardFact) -> tuple[str, bool]:
    """What makes two statements the same: value and polarity."""
    return _folded(fact.value), fact.negative


def _stated(card: Card, fact: CardFact) -> Card:
    """The card after one statement."""
    held = [*card.pinned, *card.facts]
    earlier = [old for old in held if old.position < fact.position or (fact.changes and not old.changes)]
    replaced = _opposite(fact, held) + _succeeded(fact, earlier)
    if not fact.changes and any(old in card.pinned for old in replaced):
        return card
    if not fact.by_user and any(old.by_user for old in replaced):
        return card  # the assistant's word does not undo the user's
    card = _without(card, replaced)
    key = _key(fact)
    if any(_key(old) == key for old in card.pinned):
        return card
    if all(_key(old) != key for old in card.facts):
        return card._replace(facts=(*card.facts, fact))
    return card._replace(facts=tuple(_said_again(old, fact) if _key(old) == key else old for old in card.facts))


def _said_again(old: CardFact, fact: CardFact) -> CardFact:
    return old._replace(changes=fact.changes, position=fact.position, by_user=old.by_user or fact.by_user)


def _opposite(fact: CardFact, held: Sequence[CardFact]) -> list[CardFact]:
    """What denies the fact, or what the fact denies."""
    value = _folded(fact.value)
    return [old for old in held if old.negative != fact.negative and _folded(old.value) == value]


def _succeeded(fact: CardFact, held: Sequence[CardFact]) -> list[CardFact]:
    """The other values of its kind that a statement of the user takes the place of.

    All, or that which was mentioned last, one of the user's own if there is such.
    """
    if fact.negative or not fact.by_user:
        return []
    key = _key(fact)
    rivals = [old for old in held if old.kind == fact.kind and not old.negative and _key(old) != key]
    if fact.kind in card_data().one_at_a_time:
        return rivals
    if not rivals or not fact.changes or holds_several(fact.kind):
        return []
    return [max(reversed(rivals), key=lambda old: (old.by_user, old.position))]


def _without(card: Card, facts: Sequence[CardFact]) -> Card:
    """The card without these facts, pinned or not."""
    return card._replace(facts=_others(card.facts, facts), pinned=_others(card.pinned, facts))


def _others(facts: Sequence[CardFact], without: Sequence[CardFact]) -> tuple[CardFact, ...]:
    keys = {_key(fact) for fact in without}
    return tuple(fact for fact in facts if _key(fact) not in keys)


def _rank(fact: CardFact, *, pinned: bool) -> tuple[bool, int, bool, int]:
    """What stays before something else does."""
    data = card_data()
    return pinned, data.kinds.get(fact.kind, data.other_kinds)["importance"], fact.by_user, fact.position


def _line(fact: CardFact, lang: str) -> str:
    data = card_data()
    kind = data.kinds.get(fact.kind, {}).get(lang, fact.kind)
    value = data.denied[lang].format(value=fact.value) if fact.negative else fact.value
    return " ".join(data.line[lang].format(kind=kind, value=value).split()) + "\n"
