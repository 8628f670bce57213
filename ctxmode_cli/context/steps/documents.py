"""Documents that were retrieved for the current turn, as one generated note."""

from bisect import bisect_left

from ctxmode_cli.context.history import History, Note
from ctxmode_cli.tokens.counter import TokenCounter

HEADING = "Retrieved documents (generated note, not a message from the user):"


def documents_note(history: History) -> Note | None:
    """The note that stands directly before the current turn's user message; None without documents.

    Documents of earlier turns are not sent.
    """
    return documents_for(history, history.turn_start, len(history))


def documents_for(history: History, turn_start: int, stop: int) -> Note | None:
    """The note for the turn that starts at `turn_start`, of the documents before `stop`; None without any.

    It stays with the history, for the next mode or request to ask.
    """
    documented = history.documented
    positions = documented[bisect_left(documented, turn_start) : bisect_left(documented, stop)]
    texts = tuple(document["text"] for position in positions for document in history.messages[position].documents)
    if not texts:
        return None
    if history.documents_note is None or history.documents_note[0] != texts:
        history.documents_note = texts, _note(history.counter, texts)
    return history.documents_note[1]


def _note(counter: TokenCounter, texts: tuple[str, ...]) -> Note:
    text = "\n\n".join([HEADING, *(f"[{number}] {text}" for number, text in enumerate(texts, 1))])
    return Note("documents", "system", text, counter.generated("system", counter.text(text)))
