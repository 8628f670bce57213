"""Which facts are in a text: a first matching of whole values; width, case and spacing do not matter.

A value is whole where it does not continue a longer number or a longer word of a spaced script: `$50` is not in
`$500`, `12` is not in `2012`, `5日` is not in `15日`. Chinese needs no word boundaries.
"""

from collections.abc import Sequence

from ahocorasick_rs import AhoCorasick, Implementation

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.language.fold import fold, is_spaced_word

_BREAKS = frozenset({r"\n", r"\r", r"\t"})
"""White space as JSON text writes it: the `n` of a line break does not continue the word after it."""


class FactMatcher:
    """Finds all facts of a conversation in a text in one pass, with one automaton over their values and aliases."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        owners: dict[str, set[int]] = {}
        for index, fact in enumerate(facts):
            for form in fact.forms:
                folded = fold(form)
                if folded:
                    owners.setdefault(folded, set()).add(index)
        self._owners = list(owners.values())
        # Quicker to build than the default, and hardly slower to run: conversations are short.
        self._automaton = AhoCorasick(owners, implementation=Implementation.ContiguousNFA)

    def facts_in(self, text: str) -> set[int]:
        """Indexes of the facts of which the value or an alias is in `text`."""
        folded = fold(text)
        matches = self._automaton.find_matches_as_indexes(folded, overlapping=True)
        forms = {form for form, start, end in matches if is_whole(folded, start, end)}
        return set().union(*map(self._owners.__getitem__, forms))

    def locate(self, messages: Sequence[Message]) -> dict[int, list[int]]:
        """For each fact that occurs at all, the positions of the messages that carry it, in order."""
        places: dict[int, list[int]] = {}
        for position, message in enumerate(messages):
            for fact in self.facts_in(message_text(message)):
                places.setdefault(fact, []).append(position)
        return places


def message_text(message: Message) -> str:
    """All that a model reads of a message: its text, and its tool calls with their arguments."""
    text = content_text(message.content)
    if not message.tool_calls:
        return text
    return "\n".join([text, *(f"{call.name} {call.arguments}" for call in message.tool_calls)])


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stands for itself, not inside a longer word or number; `text` is folded."""
    before = text[start - 1] if start else " "
    if before != " ":
        first = text[start]
        if is_spaced_word(before) and is_spaced_word(first) and text[max(0, start - 2) : start] not in _BREAKS:
            return False
        if before in ".," and first.isdigit() and text[start - 2 : start - 1].isdigit():
            return False
    after = text[end] if end < len(text) else " "
    if after != " ":
        last = text[end - 1]
        if is_spaced_word(after) and is_spaced_word(last):
            return False
        if after in ".," and last.isdigit() and text[end + 1 : end + 2].isdigit():
            return False
    return True
