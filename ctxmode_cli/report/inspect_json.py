"""An inspected request as JSON: the exact messages, and what they are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ctxmode_cli import __version__
from ctxmode_cli.context.context import PURPOSES
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.formats import to_json
from ctxmode_cli.report.inspect_view import FactView, Inspection, PieceView

FORMAT = 1


def inspection_json(session: SessionReplay, replay: Replay, request: int, views: Sequence[Inspection]) -> str:
    """The whole document: of one mode, or of two and what only one of them sends.

    With one mode its figures stand at the top, so that `.messages` is the request; with two they are in `modes`.
    """
    shared = {
        "format": FORMAT,
        "version": __version__,
        "conversation": session.conversation.id,
        "request": request,
        "requests": len(session.requests),
        "position": session.requests[request].position,
        "model": replay.simulation.model,
        "encoding": session.history.counter.encoding_name,
        "latency_profile": replay.simulation.profile.name,
        "position_profile": replay.position_profile.name,
        "tools": list(session.conversation.tools),
    }
    parts = {view.mode: _inspection(view, replay) for view in views}
    if len(views) == 1:
        return to_json(shared | parts[views[0].mode]) + "\n"
    one, other = (view.sent() for view in views)
    only = {views[0].mode: sorted(one - other), views[1].mode: sorted(other - one)}
    return to_json(shared | {"modes": parts, "only": only}) + "\n"


def _inspection(view: Inspection, replay: Replay) -> dict[str, Any]:
    charge = view.charge
    return {
        "mode": view.mode,
        "settings": asdict(replay.modes[view.mode]),
        "turn": view.turn,
        "messages": view.messages,
        "pieces": [_piece(piece, view) for piece in view.pieces],
        "dropped": [dropped._asdict() for dropped in view.dropped],
        "dropped_documents": dict(view.dropped_documents),
        "tokens": _tokens(view),
        "budget": {name: getattr(view.budget, name) for name in ("request", "system", "input", "history")},
        "cost_usd": None if view.cost is None else float(view.cost),
        "cached_tokens": None if charge is None else charge.usage.cached,
        "latency_s": None if charge is None or charge.latency_ms is None else charge.latency_ms / 1000,
        "trimmed": view.trimmed,
        "stepped_down": view.stepped_down,
        "unsendable": view.unsendable,
        "invalid": list(view.invalid),
        "facts": [_fact(fact) for fact in view.facts],
        "stale": [stale._asdict() for stale in view.stale],
    }


def _tokens(view: Inspection) -> dict[str, int | None]:
    prompt = view.prompt_tokens
    return {
        "prompt": prompt,
        "completion": view.completion_tokens,
        "tools": view.tools_tokens,
        "reply": view.reply_tokens,
        **{purpose: view.tokens_of(purpose) for purpose in PURPOSES},
        "free": None if prompt is None else view.budget.request - prompt,
    }


def _piece(piece: PieceView, view: Inspection) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "purpose": piece.purpose,
        "tokens": piece.tokens,
        "share": piece.tokens / (view.prompt_tokens or 1),
        "start": piece.start,
        "stop": piece.stop,
    }
    if piece.start is None:
        found = [one._asdict() for one in piece.contradictions]
        return shown | {"role": piece.role, "contradictions": found}
    return shown | {"message_tokens": [message.tokens for message in piece.messages]}


def _fact(view: FactView) -> Mapping[str, Any]:
    fact = view.fact
    return {
        "id": fact.id,
        "kind": fact.kind,
        "value": fact.value,
        "negative": fact.negative,
        "age_turns": view.age_turns,
        "in_context": view.went is None,
        "went": view.went,
        "why_not_found": view.why,
        "use": view.use,
        "places": [place._asdict() for place in view.places],
    }
