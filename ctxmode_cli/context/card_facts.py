"""What a message states that belongs on the fact card: what an extractor is, and the one that goes by rules."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import NamedTuple, Protocol

from ctxmode_cli.context.card import CardFact, card_data
from ctxmode_cli.context.context import AuxiliaryCall
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.extraction import Stated, stated_in
from ctxmode_cli.language.fold import fold_characters
from ctxmode_cli.language.matching import stances_of
from ctxmode_cli.language.negation import may_deny


class CardReading(NamedTuple):
    """What an extractor finds in a message."""

    facts: Sequence[CardFact] = ()
    """What is given up there before what takes its place."""
    call: AuxiliaryCall | None = None
    """The call that it took; None where no model was asked."""


class FactExtractor(Protocol):
    """Finds what a message states."""

    def __call__(self, message: Message, position: int) -> CardReading:
        """The facts of one message, which stands at `position`."""
        ...


def extract_card_facts(message: Message, position: int) -> CardReading:
    """The facts of a message by the rules of `language.extraction`, a `FactExtractor` that asks no model.

    All that the user states; of what the assistant says only numbers under which things are found again, dates and times, since
    most of the rest it repeats, or lists as a choice. Nothing of the system prompt, which is sent anyway, nor of what
    tools return, which is mostly never needed again. A value that the user only denies is a denial ("not on Monday"),
    unless that is to give it up for another: then it comes right before that one, which takes its place.
    """
    if message.role not in ("user", "assistant"):
        return CardReading()
    by_user = message.role == "user"
    stated = [one for one in stated_in(message) if by_user or one.found.kind in card_data().from_assistant]
    denied = _denied(stated, content_text(message.content))
    changed = {one.found.kind for one in stated if one.changes}
    facts = []
    for index, (found, changes) in enumerate(stated):
        given_up = index in denied and found.kind in changed
        if index not in denied or by_user:
            negative = found.negative or (index in denied and not given_up)
            facts.append((changes, given_up, CardFact(found.kind, found.value, negative, changes, position, by_user)))
    return CardReading([fact for *_, fact in sorted(facts, key=itemgetter(0, 1))])


def _denied(stated: Sequence[Stated], text: str) -> AbstractSet[int]:
    """Indexes of the values that the text only denies ("not on Monday")."""
    if not stated or not may_deny(fold_characters(text)):
        return frozenset()
    carried, denied = stances_of([(one.found.kind, one.found.value) for one in stated], text)
    return denied - carried
