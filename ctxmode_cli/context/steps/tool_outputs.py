"""Tool outputs: over the limit to key paths and statistics, in earlier turns to one line, repeated ones to a reference."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.context import Piece, span
from ctxmode_cli.context.history import History, Note, Recorded
from ctxmode_cli.context.outlines.files import file_reference
from ctxmode_cli.context.outlines.one_line import one_line
from ctxmode_cli.context.outlines.outline import outline
from ctxmode_cli.conversation.message import content_text, with_text

_WORTH_SHORTENING = 50
"""An output of fewer tokens is sent as recorded: a line or a reference would hardly be shorter, and says less."""


class Sent(NamedTuple):
    """How one mode sends recorded messages; the same object for all requests of a session."""

    earlier: "Form"
    """What tool outputs of earlier turns are sent as,"""
    current: "Form"
    """and those of the current input."""
    merges: bool
    """Whether an output that is sent twice becomes a reference the second time."""


class Form:
    """What a history's tool outputs are shortened to by one rule: each is worked out once, when it is first asked for.

    It stays with the history, and does not refer to it: what refers to itself is not freed at once.

    Args:
        purpose: Of the notes that stand for shortened outputs.
        shorten: The text to send in place of the output at a position; None to send it as recorded.
    """

    def __init__(self, purpose: str, shorten: Callable[[History, int], str | None]) -> None:
        self._purpose = purpose
        self._shorten = shorten
        self._notes: list[Note] = []
        self._at: list[int] = []
        """Positions of the notes."""
        self._saved = [0]
        """Tokens that the notes before each of them save, and all of them."""
        self._seen = 0
        """How many tool outputs have been asked for."""

    def saved(self, history: History, start: int, stop: int) -> int:
        """Tokens less than recorded that `messages[start:stop]` take."""
        self._read_up_to(history, stop)
        return self._saved[bisect_left(self._at, stop)] - self._saved[bisect_left(self._at, start)]

    def split(self, history: History, piece: Recorded) -> Iterator[Piece]:
        """A range of recorded messages, with what stands for its shortened outputs as pieces of their own."""
        self._read_up_to(history, piece.stop)
        first, last = bisect_left(self._at, piece.start), bisect_left(self._at, piece.stop)
        return _split(history, piece, self._notes[first:last])

    def _read_up_to(self, history: History, stop: int) -> None:
        outputs = history.tool_outputs
        while self._seen < len(outputs) and outputs[self._seen] < stop:
            self._read(history, outputs[self._seen])
            self._seen += 1

    def _read(self, history: History, position: int) -> None:
        text = self._shorten(history, position)
        note = None if text is None else replacement(history, position, text, self._purpose)
        if note is not None:
            self._notes.append(note)
            self._at.append(position)
            saved = history.range_tokens(position, position + 1) - note.tokens
            self._saved.append(self._saved[-1] + saved)


def _split(history: History, piece: Recorded, notes: Iterable[Note]) -> Iterator[Piece]:
    """A range of recorded messages with each of `notes` in the place of the output that it replaces; they rise."""
    start = piece.start
    for note in notes:
        at, after = span(note)
        if start < at:
            yield piece._replace(start=start, stop=at, tokens=history.range_tokens(start, at))
        yield note
        start = after
    if start < piece.stop:
        yield piece._replace(start=start, tokens=history.range_tokens(start, piece.stop))


def replacement(history: History, position: int, text: str, purpose: str) -> Note | None:
    """The note that says `text` in place of a tool output; None where that takes no fewer tokens."""
    message = history.messages[position]
    tokens = history.counter.message(message._replace(content=with_text(message.content, text)))
    if tokens >= history.range_tokens(position, position + 1):
        return None
    return Note(purpose, "tool", text, tokens, position)


def sent_forms(history: History, config: ContextConfig) -> Sent:
    """How a mode sends the tool outputs of a history; `full` sends them as recorded."""
    as_recorded = config.mode == ContextMode.FULL
    key = ("tool_outputs", None if as_recorded else (config.tool_max_tokens, config.tool_history))
    forms: Sent | None = history.shared.get(key)
    if forms is None:
        outlined = partial(_outlined, config.tool_max_tokens)
        current = _as_recorded if as_recorded else outlined
        earlier = _in_one_line if not as_recorded and config.tool_history == "line" else current
        forms = Sent(Form("tool_output", earlier), Form("input", current), merges=not as_recorded)
        history.shared[key] = forms
    return forms


def _as_recorded(_history: History, _position: int) -> None:
    return None


def _outlined(limit: int, history: History, position: int) -> str | None:
    """The outline of an output of more than `limit` tokens, made once however many forms and modes ask for it."""
    if history.range_tokens(position, position + 1) <= limit:
        return None
    key = outline, limit, position
    if key not in history.shared:
        text, count = content_text(history.messages[position].content), history.counter.text
        history.shared[key] = outline(text, limit, count) if count(text) > limit else None
    outlined: str | None = history.shared[key]
    return outlined


def _in_one_line(history: History, position: int) -> str | None:
    if history.range_tokens(position, position + 1) < _WORTH_SHORTENING:
        return None
    text = content_text(history.messages[position].content)
    return one_line(*_called(history, position), text)


def _called(history: History, position: int) -> tuple[str, str]:
    """Name and arguments of the call that an output answers."""
    call = history.call_answered_by(position)
    return ("", "") if call is None else (call.name, call.arguments)


class _Copies:
    """Which tool outputs say the same, and the references that stand for all but one of them."""

    def __init__(self) -> None:
        self.first: dict[int, int] = {}
        """By position of an output that is one of several alike, that of the first of them."""
        self._first_of: dict[str, int] = {}
        self._references: dict[tuple[int, int, str], Note | None] = {}
        self._seen = 0

    def read(self, history: History) -> None:
        """Take in the outputs that have come since."""
        for position in history.tool_outputs[self._seen :]:
            if history.range_tokens(position, position + 1) < _WORTH_SHORTENING:
                continue
            first = self._first_of.setdefault(content_text(history.messages[position].content), position)
            if first != position:
                self.first[first] = self.first[position] = first
        self._seen = len(history.tool_outputs)

    def reference(self, history: History, position: int, earlier: int) -> Note | None:
        """What stands for the output at `position` where the one at `earlier` is sent; None where that is no shorter."""
        purpose = "input" if position >= history.turn_start else "tool_output"
        key = position, earlier, purpose
        if key not in self._references:
            self._references[key] = replacement(history, position, _referring(history, position, earlier), purpose)
        return self._references[key]


def merge_copies(pieces: tuple[Piece, ...], history: History) -> tuple[Piece, ...]:
    """The pieces with a reference in place of each tool output that another one before it in the request says alike.

    Only what is sent counts: where the window has lost the first copy, the next one goes in whole, and where that takes
    no more tokens than a reference, it stays.
    """
    copies: _Copies = history.shared.setdefault(_Copies, _Copies())
    copies.read(history)
    if not copies.first:
        return pieces
    alike = sorted(copies.first)
    sent: dict[tuple[int, str | None], int] = {}
    """The first output of the request by what it says, and by the text in its place, if any."""
    notes = {}
    for piece in pieces:
        start, stop = span(piece)
        text = piece.text if isinstance(piece, Note) else None
        for position in alike[bisect_left(alike, start) : bisect_left(alike, stop)]:
            earlier = sent.setdefault((copies.first[position], text), position)
            note = None if earlier == position else copies.reference(history, position, earlier)
            tokens = piece.tokens if isinstance(piece, Note) else history.range_tokens(position, position + 1)
            if note is not None and note.tokens < tokens:
                notes[position] = note
    return tuple(part for piece in pieces for part in _with_references(piece, notes, history))


def _referring(history: History, position: int, earlier: int) -> str:
    """The words of a reference: a file is named where both calls have read it, else the earlier call is."""
    text = content_text(history.messages[position].content)
    file, earlier_file = (file_reference(*_called(history, at), text) for at in (position, earlier))
    if file is not None and file == earlier_file:
        return file
    return f"[the same result as that of the earlier call of {_called(history, earlier)[0] or 'a tool'}]"


def _with_references(piece: Piece, notes: Mapping[int, Note], history: History) -> Iterable[Piece]:
    """A piece, its outputs that `notes` have a reference for as pieces of their own."""
    start, stop = span(piece)
    if isinstance(piece, Note):
        return (notes.get(start, piece) if start < stop else piece,)
    return _split(history, piece, (note for at, note in notes.items() if start <= at < stop))
