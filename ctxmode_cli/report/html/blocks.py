"""A recorded request as blocks of tokens: all that the budget's rules ask of it, for a page to go through them anew."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmode_cli.context.config import Budget, ContextConfig, ContextMode, DocumentLimits
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.plan import Plan
from ctxmode_cli.context.steps.budget import history_tokens, input_tokens, input_tokens_from
from ctxmode_cli.context.steps.documents import document_tokens
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.replay.breakdown import short
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.html.passages import passage
from ctxmode_cli.report.visible import visible

MOST = 6
"""Requests that a page offers, one a mode."""
LONGEST = 400
"""Turns and steps of a request that is offered."""
MOST_CHUNKS = 30
WORDS_BYTES = 60
"""Of what a turn begins with."""


class Wish(NamedTuple):
    """What a mode wants to send at a request, before the budget has its say."""

    history: History
    """As it was then."""
    config: ContextConfig
    plan: Plan


def wish_of(session: SessionReplay, replay: Replay, mode: str, request: int) -> Wish:
    """What a mode wanted at a request that it could send, read off what came of it.

    Notes that the budget left out then are not in it.
    """
    history = session.history.empty()
    for message in session.history.messages[: session.requests[request].position]:
        history.append(message)
    context = session.modes[mode].requests[request].context
    if context is None:
        return Wish(history, replay.modes[mode], Plan(history.turn_start))
    notes = {piece.purpose: piece for piece in context.pieces if isinstance(piece, Note) and piece.replaces is None}
    plan = Plan(
        start=context.wanted,
        summary=notes.get("summary"),
        summarised=context.summarised,
        card=notes.get("card"),
        constraints=notes.get("constraints"),
    )
    return Wish(history, replay.modes[mode], plan)


def blocks(wish: Wish) -> dict[str, Any]:
    """The tokens of each part of a request, as the budget's rules take them.

    Of what can be cut from its start, a list has the tokens that are left by where it is cut, the uncut whole first.
    """
    history, plan = wish.history, wish.plan
    frame, sent = history.frame, sent_forms(history, wish.config)
    bare = plan._replace(summary=None, card=None, constraints=None)
    turn_start = history.turn_start
    starts = [plan.start, *(turn for turn in history.turns if turn > plan.start)]
    steps = [step for step in history.steps if step < turn_start]

    def recorded(start: int, called_from: int = 0) -> int:
        return history_tokens(history, bare._replace(start=start, called_from=called_from), sent)

    tools = history.fixed_tokens - history.counter.REPLY_TOKENS
    return {
        "tools": tools,
        "reply": history.counter.REPLY_TOKENS,
        "system": frame.fixed_tokens - history.fixed_tokens,
        "input": [
            input_tokens(history, frame, sent),
            *(input_tokens_from(history, step, sent) for step in history.steps if step >= turn_start),
        ],
        "notes": {
            purpose: note.tokens
            for purpose, note in (("summary", plan.summary), ("card", plan.card), ("constraints", plan.constraints))
            if note is not None
        },
        "turns": [recorded(start) for start in starts],
        "talk": [recorded(start, turn_start) for start in starts],
        "calls": [recorded(plan.start, step) for step in steps] if history.tool_outputs else [],
        "steps": [sum(start <= step for start in starts[1:]) for step in steps] if history.tool_outputs else [],
        "words": [_words(history, start, stop) for start, stop in pairwise(starts)],
        "documents": document_tokens(history, _limits(wish)),
    }


def _limits(wish: Wish) -> DocumentLimits:
    """What is considered of the documents, as many as a page lets anybody choose."""
    limits = _budget(wish).documents
    return limits if limits.as_recorded else replace(limits, most=MOST_CHUNKS)


def _words(history: History, start: int, stop: int) -> str:
    """What the user says first in a turn."""
    spoken = (message for message in history.messages[start:stop] if message.role == "user")
    text = next((content_text(message.content) for message in spoken), "")
    shown = passage(" ".join(text.split()), WORDS_BYTES)
    return visible(shown.before) + ("…" if shown.left_out else "")


def _budget(wish: Wish) -> Budget:
    return wish.config.budget(wish.history.counter.model.window)


@dataclass(frozen=True, slots=True)
class Offer:
    """A request to play with, and how rich it is."""

    rank: tuple[int, int, str]
    """Kinds of blocks, tokens of the record, and the conversation."""
    title: str
    blocks: Mapping[str, Any]
    settings: Mapping[str, Any]
    """What the mode is set to."""

    @property
    def data(self) -> dict[str, Any]:
        """As a page has it."""
        return {"title": self.title, "settings": self.settings, **self.blocks}


class Offers:
    """Keeps for each mode the request with the most kinds of blocks; of those, the longest.

    Args:
        replay: What sessions were replayed with.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        modes = [mode for mode, config in replay.modes.items() if config.mode != ContextMode.ZERO]
        self.by_mode: dict[str, Offer | None] = dict.fromkeys(modes[:MOST])

    def add(self, session: SessionReplay) -> None:
        """Look at one replayed conversation."""
        for mode, known in self.by_mode.items():
            rows = session.modes[mode].requests
            limits = self._replay.modes[mode].document_limits(session.history.counter.model.window)
            ranks = [(_rank(row.context, session, limits), row.request) for row in rows if row.context is not None]
            best, request = max(ranks, default=((0, 0, ""), 0))
            if best[0] and (known is None or best > known.rank):
                self.by_mode[mode] = _offer(session, self._replay, mode, request, best)

    @property
    def found(self) -> Sequence[Offer]:
        """All of them."""
        return [offer for offer in self.by_mode.values() if offer is not None]


def _rank(context: Context, session: SessionReplay, limits: DocumentLimits) -> tuple[int, int, str]:
    """Nothing for a request that is too much for a page, or whose notes the budget has dropped: they are not known."""
    history = session.history
    current = history.messages[context.turn_start : context.length]
    documents = sum(len(message.documents) for message in current) if limits.as_recorded else 0
    if context.stepped_down or documents > MOST_CHUNKS or len(history.turns) + len(history.steps) > LONGEST:
        return 0, 0, ""
    kinds = {piece.purpose for piece in context.pieces} | ({"documents"} if context.documents_dropped else set())
    return len(kinds), history.range_tokens(0, context.length), session.conversation.id


def _offer(session: SessionReplay, replay: Replay, mode: str, request: int, rank: tuple[int, int, str]) -> Offer:
    wish = wish_of(session, replay, mode, request)
    budget = _budget(wish)
    settings = {
        "request": budget.request,
        "reserved": wish.config.reserved_output,
        "system": budget.system,
        "input": budget.input,
        "history": budget.history,
        "low": budget.low,
        "calls_first": budget.calls_first,
        "documents": budget.documents.most,
        "as_recorded": budget.documents.as_recorded,
        "documents_first": budget.documents.first,
    }
    title = f"{mode}: {visible(short(session.conversation.id))}, request {request}"
    return Offer(rank, title, blocks(wish), settings)
