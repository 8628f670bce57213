"""An inspected request in words, for the terminal and for a page."""

from collections.abc import Iterator

from ctxmode_cli.replay.session import Replay
from ctxmode_cli.report.inspect_view import (
    Contradiction,
    Dropped,
    FactPlace,
    FactView,
    Inspection,
    PieceView,
    StaleView,
)
from ctxmode_cli.report.words import counted, percent, seconds, usd

_WHY = {
    "summary": "told by the summary instead",
    "window": "outside the window",
    "budget": "cut by the budget",
    "input": "call groups of the current input, cut by the budget",
}
_WHY_DOCUMENTS = {
    "empty": "without text",
    "duplicate": "the same as one that is chosen",
    "near_duplicate": "nearly the same as one that is chosen",
    "rank": "outranked by those that are chosen",
    "budget": "over the budget",
}
_WENT = {
    "unmatched": "it is not found where its label says",
    "unsendable": "nothing can be sent",
    "tool_output": "its message is a tool output that was shortened",
    "documents": "it stands in retrieved documents that were dropped",
    "summary": "its message was summarised, and the summary does not say it",
    "budget": "its message was cut by the budget",
    "window": "its message is outside the window",
}


def message_range(start: int | None, stop: int | None) -> str:
    """Recorded messages by their numbers, `generated` for a note of its own."""
    if start is None or stop is None:
        return "generated"
    return str(start) if stop == start + 1 else f"{start}-{stop - 1}"


def unsendable(view: Inspection) -> str:
    """Why nothing is sent."""
    return f"cannot be sent: what must go in is over the budget ({view.unsendable})"


def totals(view: Inspection, prompt: int, replay: Replay) -> Iterator[str]:
    """What a request of `prompt` tokens takes: of its budget, of money and of time."""
    budget = view.budget
    parts = (
        ("system and tools", view.tools_tokens + view.tokens_of("system"), budget.system),
        ("current input", view.tokens_of("input"), budget.input),
        ("history", view.tokens_of("history", "tool_output", "summary", "card", "constraints"), budget.history),
    )
    held = [
        f"{name} {tokens:,}" + ("" if ceiling is None else f" of at most {ceiling:,}")
        for name, tokens, ceiling in parts
    ]
    yield f"{prompt:,} of {budget.request:,} tokens, {budget.request - prompt:,} free: {', '.join(held)}"
    if view.stepped_down:
        yield f"stepped down to {view.stepped_down}"
    yield ", ".join(_charged(view, replay))


def _charged(view: Inspection, replay: Replay) -> Iterator[str]:
    """What the request takes."""
    charge = view.charge
    yield "cost unknown" if view.cost is None else f"cost {usd(view.cost)}"
    if charge is None:
        return
    yield f"{charge.usage.cached:,} tokens from the cache (simulated)"
    profile = replay.simulation.profile.name
    if charge.latency_ms is None:
        yield "no latency, since the record ends before the reply"
    else:
        yield f"latency {seconds(charge.latency_ms / 1000)} (simulated, profile {profile})"


def not_sent(part: Dropped) -> str:
    """What is left out, and why."""
    messages = f"{message_range(part.start, part.stop)}: {counted(part.stop - part.start, 'message')}"
    return f"{messages}, {counted(part.tokens, 'token')}: {_WHY[part.why]}"


def documents_not_sent(why: str, chunks: int) -> str:
    """How much of retrieved documents is left out, and why."""
    return f"{counted(chunks, 'chunk')} of retrieved documents: {_WHY_DOCUMENTS[why]}"


def note_lines(note: PieceView) -> Iterator[tuple[str, list[Contradiction]]]:
    """A generated note line by line, each with its statements that contradict the record."""
    for line in note.text.rstrip("\n").split("\n"):
        yield line, [one for one in note.contradictions if one.statement in " ".join(line.split())]


def contradiction(one: Contradiction) -> str:
    """What a statement gets wrong."""
    what = "asserts what the user denied" if one.negative else "denies what was said"
    return f'contradicts {one.fact}: it {what}, "{one.value}"'


def needed(view: FactView) -> str:
    """A fact that a request needs, and whether it is there."""
    fact = view.fact
    about = f'{fact.id}: {fact.kind} {"not " if fact.negative else ""}"{fact.value}"'
    age = f"{counted(view.age_turns, 'turn')} old"
    if view.went is None:
        return f"{about}, {age}: in context"
    return f"{about}, {age}: LOST: {_WENT[view.went]}{f' ({view.why})' if view.why else ''}"


def placed(place: FactPlace) -> str:
    """Where a fact stands."""
    where = f"message {place.message}" if place.message is not None else f'"{place.line.strip()}"'
    at = "at the head" if not place.position else f"at {percent(place.position)} of the prompt"
    reading = "" if place.reading == "text" else f", read as {place.reading}"
    return f'{place.purpose}, {where}, {at}: as "{place.written}"{reading}'


def stale(view: StaleView) -> str:
    """A value that is sent and no longer holds, and where."""
    where = f"in message {view.message}" if view.message is not None else f'in the summary: "{view.statement}"'
    return f'{view.fact}: stale: the old value "{view.value}" is sent, {where}'
