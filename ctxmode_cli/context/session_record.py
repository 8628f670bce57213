"""What a session is stored as: JSON text that another process, or a later version, reads back or refuses."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.context.card import Card
from ctxmode_cli.context.history import Note
from ctxmode_cli.context.plan import Corrections, State
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter

_VERSION = 1


class SessionRecord(NamedTuple):
    """A session between two requests."""

    messages: Sequence[Message]
    state: State
    settings: Mapping[str, Any]
    """Those in which the session's mode differs from what all sessions begin with."""


NEW_SESSION = SessionRecord((), State(), {})


def write_record(record: SessionRecord) -> str:
    """The session as JSON text, in ASCII since a message may hold lone surrogates, which no UTF-8 can carry.

    Raises:
        CtxmodeError: A message holds what JSON cannot.
    """
    state = record.state
    stored = {
        "version": _VERSION,
        "messages": [message.recorded for message in record.messages],
        "settings": record.settings,
        "state": {
            **state._asdict(),
            "summary": _write_note(state.summary),
            "card": state.card.to_json(),
            "card_note": _write_note(state.card_note),
            "corrections": state.corrections._asdict(),
        },
    }
    try:
        return json.dumps(stored, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise CtxmodeError(f"a message cannot be stored as JSON: {error}") from None


def read_record(text: str, counter: TokenCounter) -> SessionRecord:
    """The session that `write_record` wrote.

    Args:
        text: The stored text.
        counter: That of the session's model: it counts the notes anew, so that a stored figure is never trusted.

    Raises:
        CtxmodeError: The text is not such a session, or one of another version.
    """
    try:
        stored = json.loads(text)
        version = stored["version"]
        if version == _VERSION:
            messages = [parse_message(message) for message in stored["messages"]]
            return SessionRecord(messages, _read_state(stored["state"], len(messages), counter), {**stored["settings"]})
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CtxmodeError(f"it is damaged ({type(error).__name__}: {error})") from None
    raise CtxmodeError(f"it is of version {version!r}, and this is version {_VERSION}")


def _write_note(note: Note | None) -> dict[str, str] | None:
    return {"role": note.role, "text": note.text} if note else None


def _read_state(stored: Mapping[str, Any], length: int, counter: TokenCounter) -> State:
    """The state; every count in it is of messages, so that none is above their number."""
    counts = {name: stored[name] for name in ("window_turn", "summarised", "cut_start", "card_stop")}
    for name, count in counts.items():
        if type(count) is not int or not 0 <= count <= length:
            raise ValueError(f"{name} is {count!r}")
    corrections = {name: tuple(map(_text, stored["corrections"][name])) for name in Corrections._fields}
    return State(
        **counts,
        summary=_read_note("summary", stored["summary"], counter),
        card=_read_card(stored["card"]),
        card_note=_read_note("card", stored["card_note"], counter),
        corrections=Corrections(**corrections),
    )


def _read_card(stored: Mapping[str, Any]) -> Card:
    card = Card.from_json(stored)
    facts = (*card.facts, *card.pinned, *card.removed)
    for text in (text for fact in facts for text in (fact.kind, fact.value)):
        _text(text)
    for fact in facts:
        if type(fact.position) is not int:
            raise TypeError(f"{fact.position!r} is no position")
    return card


def _read_note(purpose: str, stored: Mapping[str, str] | None, counter: TokenCounter) -> Note | None:
    if stored is None:
        return None
    role, text = stored["role"], _text(stored["text"])
    return Note(purpose, role, text, counter.generated(role, counter.text(text)))


def _text(stored: Any) -> str:
    if not isinstance(stored, str):
        raise TypeError(f"{stored!r} is no text")
    return stored
