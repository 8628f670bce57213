"""Which facts a text carries: whole values in any of their forms, asserted or denied as the fact has it.

Differences that carry no meaning do not matter (`fold`), numbers and dates are read where the fact's kind says so
(`readings`), a value is never a part of a longer number or word (`boundaries`), and a statement that denies the value
does not carry the fact (`negation`). `explain` shows all this for one fact and one text.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick, Implementation

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.boundaries import part_of
from ctxmode_cli.language.fold import joined, plain
from ctxmode_cli.language.negation import is_denied
from ctxmode_cli.language.readings import TEXT, forms_of, variants_of


class Mention(NamedTuple):
    """A whole value in one of a row of texts."""

    fact: int
    """Index of the fact."""
    place: int
    """Index of the text."""
    denied: bool


class Match(NamedTuple):
    """An occurrence of a form in a view of a text."""

    facts: tuple[int, ...]
    """Indexes of the facts that have the form."""
    start: int
    end: int
    part_of: str | None
    """What longer thing it is a part of; None for a whole value."""


class Stances(NamedTuple):
    """What a text says of facts, by their indexes; one that it both asserts and denies is in both."""

    carried: set[int]
    """It has the value, or denies it where the fact is a denial."""
    contradicted: set[int]
    """It denies the value, or has it where the fact is a denial."""


class FactMatcher:
    """Finds all facts of a conversation in a text with one automaton over the forms of their values and aliases."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._negative = [fact.negative for fact in facts]
        owners: dict[str, dict[str, dict[int, None]]] = {}
        for fact, view, form in forms_of(facts):
            owners.setdefault(form, {}).setdefault(view, {})[fact] = None
        self.views = frozenset({TEXT}.union(*owners.values()))
        self._owners = [[(view, tuple(facts)) for view, facts in views.items()] for views in owners.values()]
        """For each form, the views in which it is looked for, and the facts that do."""
        # Quicker to build than the default, and hardly slower to run: conversations are short.
        self._automaton = AhoCorasick(owners, implementation=Implementation.ContiguousNFA)

    def facts_in(self, text: str) -> set[int]:
        """Indexes of the facts that `text` carries."""
        return self.facts_in_each([text])[0]

    def facts_in_each(self, texts: Sequence[str]) -> list[set[int]]:
        """Indexes of the facts that each of the texts carries; quicker for many short ones than one after the other."""
        carried: list[set[int]] = [set() for _ in texts]
        for fact, place, denied in self._mentions(texts, carried):
            if denied == self._negative[fact]:
                carried[place].add(fact)
        return carried

    def stances_in(self, text: str) -> Stances:
        """What `text` says of the facts."""
        stances = Stances(set(), set())
        for fact, _, denied in self._mentions([text], [set()]):
            (stances.carried if denied == self._negative[fact] else stances.contradicted).add(fact)
        return stances

    def locate(self, messages: Sequence[Message]) -> dict[int, list[int]]:
        """For each fact that occurs at all, the positions of the messages that carry it, in order."""
        places: dict[int, list[int]] = {}
        for position, facts in enumerate(self.facts_in_each([message_text(message) for message in messages])):
            for fact in facts:
                places.setdefault(fact, []).append(position)
        return places

    def matches(self, view: str, text: str) -> Iterator[Match]:
        """Every occurrence of a form in a plain view of a text."""
        for form, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            for owned, facts in self._owners[form]:
                if owned == view:
                    yield Match(facts, start, end, part_of(text, start, end))

    def _mentions(self, texts: Sequence[str], settled: Sequence[AbstractSet[int]]) -> Iterator[Mention]:
        """Every mention of a fact in a text, but for those of the facts that are settled for that text by then."""
        if not self._negative:
            return
        variants = variants_of(texts, self.views)
        marked = joined(variants.texts)
        ends = list(accumulate(len(text) + 1 for text in variants.texts))
        unmarked = plain(marked)
        for form, start, end in self._automaton.find_matches_as_indexes(unmarked, overlapping=True):
            place, views = variants.readings[bisect_right(ends, start - 1)]
            known = settled[place]
            new = [fact for view, facts in self._owners[form] if view in views for fact in facts if fact not in known]
            if new and part_of(unmarked, start, end) is None:
                denied = is_denied(marked, start, end)
                for fact in new:
                    yield Mention(fact, place, denied)


def stances_of(values: Iterable[tuple[str, str]], text: str) -> Stances:
    """What `text` says of values, each with its kind: those that it has are carried, those that it denies contradicted."""
    facts = [Fact("", kind, value, (), 0, None, None, (), negative=False, question=None) for kind, value in values]
    return FactMatcher(facts).stances_in(text)


def message_text(message: Message) -> str:
    """All that a model reads of a message: its text, and its tool calls with their arguments."""
    text = content_text(message.content)
    if not message.tool_calls:
        return text
    return "\n".join([text, *(f"{call.name} {call.arguments}" for call in message.tool_calls)])
