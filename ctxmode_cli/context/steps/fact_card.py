"""The fact card: read from each message once, when its turn is over, and written anew only when a fact changed."""

from collections.abc import Iterator
from functools import lru_cache

from ctxmode_cli.context.card import Card, CardFact, update, write
from ctxmode_cli.context.card_facts import FactExtractor
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.plan import State
from ctxmode_cli.language.sentences import language_of
from ctxmode_cli.tokens.counter import TokenCounter


class FactCard:
    """Keeps a card of what was said before the current turn; the current input says the rest itself.

    Args:
        limit: Most tokens of its text.
        counter: That of the session's model.
        extractor: Reads the facts.
    """

    def __init__(self, limit: int, counter: TokenCounter, extractor: FactExtractor) -> None:
        self._limit = limit
        self._counter = counter
        self._extractor = extractor
        self._line_tokens = lru_cache(maxsize=4096)(counter.text)

    def __call__(self, history: History, state: State) -> State:
        """The state with all facts on the card that were said before the current turn."""
        stop = history.turn_start
        if stop <= state.card_stop:
            return state
        card = update(state.card, list(self._stated(history, state.card_stop, stop)))
        note = state.card_note if card == state.card else self.note(card, history)
        return state._replace(card=card, card_note=note, card_stop=stop)

    def note(self, card: Card, history: History) -> Note | None:
        """The card as it is sent, in the language of the user's first words; None for an empty one."""
        first = next((message for message in history.messages if message.role == "user"), None)
        lang = language_of([first] if first else [])
        text, _ = write(card, lang=lang, limit=self._limit, count=self._line_tokens)
        return (
            Note("card", "system", text, self._counter.generated("system", self._counter.text(text))) if text else None
        )

    def _stated(self, history: History, start: int, stop: int) -> Iterator[CardFact]:
        """The facts that `messages[start:stop]` state; several modes read each message once."""
        for position in range(start, stop):
            key = self._extractor, position
            if key not in history.shared:
                history.shared[key] = self._extractor(history.messages[position], position)
            yield from history.shared[key]
