"""Draft labels for a conversation that has none: which facts it states, when they change, where they are needed again.

A draft is for a person to check. What the user or the assistant says is drafted, and what a tool returns only where
the conversation comes back to it; the arguments of tool calls are read too, since they show what was needed. Not
drafted is what the system prompt says anyway, and what the matcher would not find again.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.jsonl import decode_json
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.language.extraction import holds_several, only_user_states, stated_in, states_change
from ctxmode_cli.language.fold import fold
from ctxmode_cli.language.matching import FactMatcher

ARGUMENT_RULE = "argument"
"""The rule of a value with which a tool was called, and which had been said before."""
_NO_VALUES = frozenset({"yes", "no", "true", "false", "none", "null", "n/a"})
_SHORTEST, _LONGEST = 2, 60
"""Characters of an argument that can be a fact: one character cannot be told from other text, a longer text was
composed by the assistant."""


class Draft(NamedTuple):
    """A fact that a rule found."""

    fact: Fact
    """Not yet with `superseded_at`, `supersedes` and `probe_at`, which depend on the other drafts."""
    rule: str
    said_at: int
    """Index of the message in which it was found."""
    start: int
    """Where the value begins in that message's text; -1 where it is not there literally."""
    changes: bool
    """Whether the user says there that it takes the place of another value."""
    positions: tuple[int, ...] = ()
    """Indexes of all messages that carry it, in order."""
    reviewed: bool = False
    """Whether a person has confirmed it."""


def find_drafts(messages: Sequence[Message], labelled: Sequence[Fact] = ()) -> list[Draft]:
    """The facts that the rules find in a conversation, in the order in which they are stated.

    Each value is drafted once, and again where the user changes back to it.

    Args:
        messages: The whole conversation.
        labelled: Facts that are known already: they are not drafted again, nor are their ids used.
    """
    found = [*_stated(messages), *_arguments(messages)]
    places = FactMatcher([draft.fact for draft in found]).locate(messages)
    known = {(fold(form), fact.negative) for fact in labelled for form in fact.forms}
    kept: list[Draft] = []
    for index, candidate in enumerate(found):
        draft = _placed(candidate, places.get(index, []), messages)
        key = fold(candidate.fact.value), candidate.fact.negative
        if draft and (key not in known or _changes_back(draft, kept)):
            known.add(key)
            kept.append(draft)
    kept.sort(key=lambda draft: (draft.fact.stated_at, draft.start))
    taken = {fact.id for fact in labelled}
    names = (f"f{number}" for number in range(1, len(kept) + len(taken) + 1))
    free = (name for name in names if name not in taken)
    return [draft._replace(fact=draft.fact._replace(id=name)) for draft, name in zip(kept, free, strict=False)]


def with_value(draft: Draft, value: str, messages: Sequence[Message]) -> Draft | None:
    """The draft with another value; None where the message that it was found in does not carry that."""
    fact = draft.fact._replace(value=value)
    positions = FactMatcher([fact]).locate(messages).get(0, [])
    if draft.said_at not in positions:
        return None
    start = content_text(messages[draft.said_at].content).find(value)
    return _dated(draft._replace(fact=fact, start=start, positions=tuple(positions)))


def as_labels(drafts: Sequence[Draft], messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The drafts as facts of a record: with what they replace, until when they hold, and where they are needed."""
    turns = _turn_starts(messages)
    return [
        _label(draft, fact, _probes(draft, fact, turns, messages))
        for draft, fact in zip(drafts, _linked(drafts, messages), strict=True)
    ]


def _stated(messages: Sequence[Message]) -> Iterator[Draft]:
    """What the rules find in the text of each message but the system's."""
    for position, message in enumerate(messages):
        if message.is_system:
            continue  # none of it would be drafted, and it is long
        for found, changes in stated_in(message):
            fact = _fact(found.kind, found.value, position, negative=found.negative)
            yield Draft(fact, found.rule, position, found.start, changes)


def _arguments(messages: Sequence[Message]) -> Iterator[Draft]:
    """What tools were called with; `said_at` is the call, until it is known who said it before."""
    for position, message in enumerate(messages):
        for call in message.tool_calls:
            for name, value in _leaves(call.arguments):
                if _SHORTEST <= len(value) <= _LONGEST and value.lower() not in _NO_VALUES:
                    yield Draft(_fact(name, value, position), ARGUMENT_RULE, position, -1, changes=False)


def _leaves(arguments: str) -> Iterator[tuple[str, str]]:
    """Each text and number in the JSON of a call's arguments, with the name of the nearest field around it."""
    try:
        waiting = [("", decode_json(arguments))]
    except CtxmodeError:
        return  # the model wrote no JSON
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.items())
        elif isinstance(value, list):
            waiting += [(name, item) for item in reversed(value)]
        elif isinstance(value, str | int | float) and name:
            yield name, str(value).strip()


def _fact(kind: str, value: str, position: int, *, negative: bool = False) -> Fact:
    return Fact("", kind, value, (), position, None, None, (), negative, None)


def _placed(draft: Draft, positions: Sequence[int], messages: Sequence[Message]) -> Draft | None:
    """The draft with its positions; None where it is no key fact."""
    if any(messages[position].is_system for position in positions):
        return None  # every mode always sends it
    draft = draft._replace(positions=tuple(positions))
    if draft.rule == ARGUMENT_RULE:
        return _said_before_its_call(draft, messages)
    if draft.said_at not in positions:
        return None  # the matcher does not find it again
    spoken = any(at > draft.said_at and messages[at].role != "tool" for at in positions)
    return _dated(draft) if spoken or messages[draft.said_at].role != "tool" else None


def _said_before_its_call(draft: Draft, messages: Sequence[Message]) -> Draft | None:
    """The draft of an argument where it was first said; None where the assistant made it up."""
    said = (at for at in draft.positions if at < draft.said_at and not messages[at].tool_calls)
    said_at = next(said, None)
    if said_at is None:
        return None
    text, value = content_text(messages[said_at].content), draft.fact.value
    start = text.find(value)
    changes = messages[said_at].role == "user" and start >= 0 and states_change(text, start, start + len(value))
    return _dated(draft._replace(said_at=said_at, start=start, changes=changes))


def _dated(draft: Draft) -> Draft:
    """The draft with the message that states it: the first that says it, but the user's own word for a wish or change."""
    by_user = draft.changes or only_user_states(draft.fact.kind)
    stated_at = draft.said_at if by_user else draft.positions[0]
    return draft._replace(fact=draft.fact._replace(stated_at=stated_at))


def _changes_back(draft: Draft, kept: Sequence[Draft]) -> bool:
    """Whether the user returns to a value that they had changed to another."""
    if not draft.changes or holds_several(draft.fact.kind):
        return False
    last = next((one for one in reversed(kept) if one.changes and one.fact.kind == draft.fact.kind), None)
    return last is not None and fold(last.fact.value) != fold(draft.fact.value)


def _linked(drafts: Sequence[Draft], messages: Sequence[Message]) -> list[Fact]:
    """The facts of the drafts, each with what it replaces and until when it holds."""
    facts = [draft.fact for draft in drafts]
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for index in sorted(range(len(drafts)), key=lambda index: (drafts[index].said_at, drafts[index].start)):
        draft = drafts[index]
        rivals = holding[draft.fact.kind]
        replaced = _replaced(draft, rivals, drafts, messages)
        if replaced is not None:
            rivals.remove(replaced)
            facts[replaced] = facts[replaced]._replace(superseded_at=draft.said_at)
            facts[index] = facts[index]._replace(supersedes=facts[replaced].id)
        rivals.append(index)
    return facts


def _replaced(draft: Draft, holding: Sequence[int], drafts: Sequence[Draft], messages: Sequence[Message]) -> int | None:
    """Which of the drafts of its kind that still hold this one takes the place of.

    A wish and its denial replace each other. Else it takes a word of change, and the latest value goes: one that is
    named beside the new one if there is such, else one of the user's own, else any.
    """
    fact = draft.fact
    if not (draft.changes or only_user_states(fact.kind)):
        return None
    rivals = [old for old in reversed(holding) if drafts[old].fact.stated_at < fact.stated_at]
    for old in rivals:
        if fold(drafts[old].fact.value) == fold(fact.value):  # then one of them denies it
            return old
    if not draft.changes or holds_several(fact.kind):
        return None
    named = [old for old in rivals if draft.said_at in drafts[old].positions]
    users = [old for old in rivals if messages[drafts[old].said_at].role == "user"]
    return next(iter(named or users or rivals), None)


def _turn_starts(messages: Sequence[Message]) -> list[int]:
    """Positions of the user messages that do not follow another one, system messages aside."""
    starts, previous = [], ""
    for position, message in enumerate(messages):
        if message.role == "user" != previous:
            starts.append(position)
        previous = previous if message.is_system else message.role
    return starts


def _probes(draft: Draft, fact: Fact, turns: Sequence[int], messages: Sequence[Message]) -> list[int]:
    """The user messages whose answer uses the value although their turn has not said it before."""
    probes = []
    previous = -1
    for position in draft.positions:
        turn = turns[bisect_right(turns, position) - 1] if turns and turns[0] <= position else position
        if fact.superseded_at is not None and position >= fact.superseded_at:
            break
        if messages[position].role == "assistant" and max(previous, fact.stated_at) < turn < position:
            probes.append(next(at for at in range(position, -1, -1) if messages[at].role == "user"))
        previous = position
    return probes


def _label(draft: Draft, fact: Fact, probes: Sequence[int]) -> dict[str, Any]:
    label: dict[str, Any] = {
        "id": fact.id,
        "kind": fact.kind,
        "value": fact.value,
        "aliases": [],
        "stated_at": fact.stated_at,
        "superseded_at": fact.superseded_at,
        "supersedes": fact.supersedes,
        "probe_at": list(probes),
        "polarity": "negative" if fact.negative else "positive",
        "question": None,
        "rule": draft.rule,
        "reviewed": draft.reviewed or None,
    }
    return {name: value for name, value in label.items() if value is not None or name == "question"}
