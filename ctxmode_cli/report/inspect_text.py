"""An inspected request for people: tokens as bars, each message in a line or two, the notes in full, and the facts."""

from collections.abc import Sequence

from rich.text import Text

from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.inspect_view import FactView, Inspection, PieceView
from ctxmode_cli.report.inspect_words import (
    contradiction,
    documents_not_sent,
    message_range,
    needed,
    not_sent,
    note_lines,
    placed,
    stale,
    totals,
    unsendable,
)
from ctxmode_cli.report.table import plain_console
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted, listed, percent

_BAR = 24
"""Columns of a bar that stands for the whole request."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_PREVIEW_LINES = 2
_LABEL = 10
_NAMED = 10
"""Requests that are named; the others are counted."""
_COLOURS = {
    "system": "blue",
    "card": "magenta",
    "summary": "magenta",
    "constraints": "magenta",
    "documents": "yellow",
    "history": "cyan",
    "tool_output": "cyan",
    "input": "green",
}
_BAD = "bold red"


class _Page:
    """Lines for a terminal of some width, or for a pipe, where none is broken or cut."""

    def __init__(self, width: int | None, *, colour: bool) -> None:
        self._console = plain_console(colour=colour)
        self._width = width
        self._lines: list[Text] = []

    def line(self, text: str = "", style: str = "", prefix: Text | None = None, lines: int | None = None) -> None:
        """Add a text, its later lines indented behind the prefix, cut after a number of lines."""
        before = prefix or Text()
        room = None if self._width is None else max(1, self._width - before.cell_len)
        shown = [Text(visible(text), style)] if room is None else self._wrapped(visible(text), style, room, lines)
        for number, part in enumerate(shown):
            self._lines.append((before if number == 0 else Text(" " * before.cell_len)) + part)

    def heading(self, text: str) -> None:
        """Add a heading behind an empty line."""
        self.line()
        self.line(text, "bold")

    def text(self) -> str:
        """All lines."""
        with self._console.capture() as captured:
            for line in self._lines:
                self._console.print(line, soft_wrap=True)
        return "\n".join(line.rstrip() for line in captured.get().split("\n"))

    def _wrapped(self, text: str, style: str, room: int, lines: int | None) -> list[Text]:
        if lines is not None:
            text = text[: room * lines + 1]  # one more than can be shown, however narrow its characters
        parts = list(Text(text, style).wrap(self._console, room)) or [Text()]
        for part in parts:
            part.rstrip()
        if lines is not None and len(parts) > lines:
            parts = parts[:lines]
            parts[-1].truncate(room - 1)
            parts[-1].append("…")
        return parts


def inspection_text(
    session: SessionReplay,
    replay: Replay,
    request: int,
    views: Sequence[Inspection],
    *,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """One mode's request, or two, one after the other, and what only one of them sends.

    Args:
        session: The replayed conversation.
        replay: What it was replayed with.
        request: 0-based.
        views: One for each mode.
        width: Columns of the terminal; None for a pipe, where nothing is wrapped or cut.
        colour: Whether to send terminal styles.
    """
    page = _Page(width, colour=colour)
    counter = session.history.counter
    page.line(
        f"{session.conversation.id}: request {request} of 0 to {len(session.requests) - 1}, turn {views[0].turn}; "
        f"tokens of {counter.model.name} ({counter.encoding_name})",
        "bold",
    )
    for view in views:
        _mode(page, view, replay)
    if len(views) > 1:
        _differences(page, views[0], views[1])
    return page.text()


def _mode(page: _Page, view: Inspection, replay: Replay) -> None:
    page.heading(f"== {view.mode} ==")
    if view.prompt_tokens is None:
        page.line(unsendable(view), _BAD)
    else:
        _bars(page, view)
        page.line()
        for line in totals(view, view.prompt_tokens, replay):
            page.line(line)
        if view.invalid:
            page.line(f"an API would refuse it: {', '.join(view.invalid)}", _BAD)
        page.heading("what is sent")
        for piece in view.pieces:
            _piece(page, piece)
        _not_sent(page, view)
    _facts(page, view)


def _bars(page: _Page, view: Inspection) -> None:
    page.line(f"{'piece':<{_LABEL}}{'messages':>11}{'tokens':>9}{'share':>8}", "bold")
    rows = [(piece.purpose, message_range(piece.start, piece.stop), piece.tokens) for piece in view.pieces]
    framing = [("tools", "", view.tools_tokens)] if view.tools_tokens else []
    for purpose, messages, tokens in [*framing, *rows, ("reply", "", view.reply_tokens)]:
        share = tokens / (view.prompt_tokens or 1)
        label = Text(f"{purpose:<{_LABEL}}{messages:>11}{tokens:>9,}{percent(share):>8}  ")
        page.line(_bar(share), _COLOURS.get(purpose, ""), prefix=label)


def _bar(share: float) -> str:
    eighths = max(1, round(share * _BAR * 8))
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def _piece(page: _Page, piece: PieceView) -> None:
    colour = _COLOURS.get(piece.purpose, "")
    if piece.start is None:
        page.line(f"{counted(piece.tokens, 'token')}, generated, as {piece.role}", prefix=_label(piece.purpose, colour))
        _note(page, piece)
    elif piece.role:
        prefix = _label(piece.purpose, colour)
        prefix.append(f"{piece.start:>4} {piece.role:<10}")
        page.line(f"[shortened] {' '.join(piece.text.split())}", prefix=prefix, lines=_PREVIEW_LINES)
    for number, message in enumerate(piece.messages):
        prefix = _label(piece.purpose if number == 0 else "", colour)
        prefix.append(f"{message.number:>4} {message.role[:9]:<10}")
        page.line(" ".join(message.text.split()), prefix=prefix, lines=_PREVIEW_LINES)


def _label(purpose: str, colour: str) -> Text:
    return Text(f"{purpose:<{_LABEL}}", colour)


def _note(page: _Page, piece: PieceView) -> None:
    """A generated note in full, its statements that contradict the record marked."""
    for line, wrong in note_lines(piece):
        mark = "!! " if wrong else "   "
        page.line(line, _BAD if wrong else "", prefix=Text(f"{'':<{_LABEL}}{mark}", _BAD))
        for one in wrong:
            page.line(contradiction(one), _BAD, prefix=Text(" " * (_LABEL + 3)))


def _not_sent(page: _Page, view: Inspection) -> None:
    page.heading("what is not sent")
    if not view.dropped and not view.dropped_documents:
        page.line("nothing: all that came before is there")
    for part in view.dropped:
        page.line(not_sent(part))
    for why, chunks in view.dropped_documents.items():
        page.line(documents_not_sent(why, chunks))


def _probed(requests: Sequence[int]) -> str:
    """Where to look instead."""
    if not requests:
        return ""
    more = f" and {len(requests) - _NAMED} more" if len(requests) > _NAMED else ""
    return f"; those that need one: {', '.join(map(str, requests[:_NAMED]))}{more}"


def _facts(page: _Page, view: Inspection) -> None:
    page.heading("facts that it needs")
    if not view.facts:
        page.line(f"none is probed at this request{_probed(view.probed)}")
    for fact in view.facts:
        _fact(page, fact)
    for one in view.stale:
        page.line(stale(one), _BAD, _mark("!! "))


def _fact(page: _Page, view: FactView) -> None:
    if view.went is not None:
        page.line(needed(view), _BAD, _mark("-  "))
        return
    page.line(needed(view), prefix=_mark("+  "))
    for place in view.places:
        page.line(placed(place), prefix=Text("     "))


def _mark(mark: str) -> Text:
    return Text(mark)


def _differences(page: _Page, one: Inspection, other: Inspection) -> None:
    page.heading("what only one of them sends")
    for view, beside in ((one, other), (other, one)):
        only = sorted(view.sent() - beside.sent())
        known = {message.number: message.tokens for piece in view.pieces for message in piece.messages}
        notes = [
            piece for piece in view.pieces if piece.text and piece.text not in {same.text for same in beside.pieces}
        ]
        parts = [f"the {piece.purpose}, {counted(piece.tokens, 'token')}" for piece in notes]
        if only:
            tokens = sum(known[index] for index in only)
            parts.append(f"{counted(len(only), 'message')}, {counted(tokens, 'token')}: {_ranges(only)}")
        page.line(f"{view.mode}: {'; '.join(parts) if parts else 'nothing'}")
    kept, lost = ({fact.fact.id for fact in view.facts if fact.went is None} for view in (one, other))
    for view, ids in ((one, kept - lost), (other, lost - kept)):
        if ids:
            page.line(f"only {view.mode} has the facts {listed(sorted(ids))}")


def _ranges(indexes: Sequence[int]) -> str:
    """Indexes in short, such as 0-3, 7."""
    ranges: list[tuple[int, int]] = []
    for index in indexes:
        if ranges and ranges[-1][1] == index:
            ranges[-1] = (ranges[-1][0], index + 1)
        else:
            ranges.append((index, index + 1))
    return ", ".join(message_range(*span) for span in ranges)
