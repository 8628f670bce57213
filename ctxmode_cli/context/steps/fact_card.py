"""The fact card: read from each message once, when its turn is over, and written anew only when a fact changed."""

from collections.abc import Iterator
from functools import lru_cache

from ctxmode_cli.context.card import Card, update, write
from ctxmode_cli.context.card_facts import CardReading, FactExtractor
from ctxmode_cli.context.context import AuxiliaryCall
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

    def __call__(self, history: History, state: State) -> tuple[State, tuple[AuxiliaryCall, ...]]:
        """The state with all facts on the card that were said before the current turn, and the calls that found them."""
        stop = history.turn_start
        if stop <= state.card_stop:
            return state, ()
        readings = list(self._readings(history, state.card_stop, stop))
        card = update(state.card, [fact for reading in readings for fact in reading.facts])
        note = state.card_note if card == state.card else self.note(card, history)
        calls = tuple(reading.call for reading in readings if reading.call is not None)
        return state._replace(card=card, card_note=note, card_stop=stop), calls

    def note(self, card: Card, history: History) -> Note | None:
        """The card as it is sent, in the language of the user's first words; None for an empty one."""
        first = next((message for message in history.messages if message.role == "user"), None)
        lang = language_of([first] if first else [])
        text, _ = write(card, lang=lang, limit=self._limit, count=self._line_tokens)
        return (
            Note("card", "system", text, self._counter.generated("system", self._counter.text(text))) if text else None
        )

    def _readings(self, history: History, start: int, stop: int) -> Iterator[CardReading]:
        """What `messages[start:stop]` state; several modes read each message once."""
        for position in range(start, stop):
            key = self._extractor, position
            if key not in history.shared:
                history.shared[key] = self._extractor(history.messages[position], position)
            yield history.shared[key]
