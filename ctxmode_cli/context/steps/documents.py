"""Documents that were retrieved for the current turn, as one generated note."""

from bisect import bisect_left
from functools import lru_cache

from ctxmode_cli.context.context import Note
from ctxmode_cli.context.history import History
from ctxmode_cli.tokens.counter import TokenCounter

HEADING = "Retrieved documents (generated note, not a message from the user):"


def documents_note(history: History) -> Note | None:
    """The note that stands directly before the current turn's user message; None without documents.

    Documents of earlier turns are not sent.
    """
    positions = history.documented[bisect_left(history.documented, history.turn_start) :]
    documents = [document for position in positions for document in history.messages[position].documents]
    return _note(history.counter, tuple(document["text"] for document in documents)) if documents else None


@lru_cache(maxsize=4)  # every mode and every request of a tool loop asks for the same note again
def _note(counter: TokenCounter, texts: tuple[str, ...]) -> Note:
    text = "\n\n".join([HEADING, *(f"[{number}] {text}" for number, text in enumerate(texts, 1))])
    return Note("documents", "system", text, counter.generated("system", counter.text(text)))
