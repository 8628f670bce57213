"""All probes judged at once, compared with a judgement of each probe that reads every message of its request."""

from collections.abc import Sequence
from typing import Any

import pytest
from assumptions import simulation
from dialogues import Digest, counter, mode_settings, record_messages, tool_schemas, unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.language.matching import FactMatcher, message_text
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.score.position import Curve, Place, PositionProfile

VALUES = ["朝阳区", "7731", "ok", "$1,240.50"]
SLOPE = PositionProfile("slope", (1, 500), (Curve((0.0, 1.0), (0.2, 1.0)), Curve((0.0, 1.0), (0.1, 0.8))))
"""The later a fact stands, the better; the longer the prompt, the worse."""


@st.composite
def labelled(draw: st.DrawFn) -> Conversation:
    """A conversation of any shape, with facts that are stated and asked for anywhere."""
    messages = draw(record_messages)
    positions = st.integers(0, len(messages) - 1)
    facts: list[dict[str, Any]] = [
        {"id": value, "kind": "k", "value": value, "stated_at": draw(positions)}
        | {"probe_at": draw(st.lists(positions, max_size=3))}
        for value in draw(st.lists(st.sampled_from(VALUES), unique=True, min_size=1))
    ]
    record = {"id": "c", "messages": messages, "tools": draw(tool_schemas), "facts": facts}
    return parse_conversation(record, where="here", default_id="c")


def says(conversation: Conversation, index: int, text: str) -> bool:
    return bool(FactMatcher([conversation.facts[index]]).facts_in(text))


def places_of(session: SessionReplay, context: Context, index: int) -> list[float]:
    """Where a fact stands in a prompt: shares of its tokens."""
    conversation, history = session.conversation, session.history
    stated = conversation.messages[conversation.facts[index].stated_at]
    if not says(conversation, index, message_text(stated)):
        return []
    tokens = history.fixed_tokens - 3
    found = []
    for piece in context.pieces:
        if not isinstance(piece, Recorded):
            lines = piece.text.split("\n") if piece.purpose == "summary" else [piece.text]
            if any(says(conversation, index, line) for line in lines):
                found.append(0 if piece.purpose == "summary" else tokens)
        elif piece.purpose != "input":
            found += _in_range(session, piece, index, tokens)
        tokens += piece.tokens
    return [before / context.prompt_tokens for before in found]


def _in_range(session: SessionReplay, piece: Recorded, index: int, tokens: int) -> list[int]:
    history: History = session.history
    return [
        0 if piece.purpose == "system" else tokens + history.range_tokens(piece.start, position)
        for position in range(piece.start, piece.stop)
        if says(session.conversation, index, message_text(session.conversation.messages[position]))
    ]


def use(profile: PositionProfile, position: float, prompt_tokens: int) -> float:
    """As the two curves of SLOPE have it."""
    share = min(1.0, max(0.0, (prompt_tokens - 1) / 499))
    first, second = 0.2 + 0.8 * position, 0.1 + 0.7 * position
    assert profile is SLOPE
    return first * (1 - share) + second * share


@pytest.mark.parametrize("mode", list(ContextMode))
@unhurried
@given(st.data(), labelled(), st.booleans(), st.integers(0, 3))
def test_every_probe_is_judged_as_if_it_were_alone(
    mode: str, data: st.DataObject, conversation: Conversation, every_turn: bool, fails_at: int
) -> None:
    """In context exactly where a message or note that is sent says it; at the best of its places, or somewhere gone."""
    config = data.draw(mode_settings(mode))
    replay = Replay({mode: config}, counter(), Digest(fails_at), simulation(), every_turn, SLOPE)
    session = replay(conversation)
    rows = session.modes[mode]
    probed: list[tuple[int, int]] = []
    for score in rows.scores:
        context = rows.requests[score.request].context
        found = [] if context is None else places_of(session, context, score.fact)
        best = max(found, default=None)
        assert (score.place is None) == (best is None)
        assert (score.went is None) == (best is not None)
        if best is not None and context is not None:
            assert score.place == pytest.approx(Place(best, use(SLOPE, best, context.prompt_tokens)))
        probed.append((score.request, score.fact))
    assert probed == sorted(set(probed))
    _check_probes(session, probed, every_turn=every_turn)


def _check_probes(session: SessionReplay, probed: Sequence[tuple[int, int]], *, every_turn: bool) -> None:
    """Each is asked for by its label, stated before its turn, and not said by the input itself."""
    asked = {request.request: request for request in session.probes.requests}
    for request, index in probed:
        fact, (_, start, stop) = session.conversation.facts[index], asked[request]
        assert fact.stated_at < start
        assert every_turn or any(start <= position < stop for position in fact.probe_at)
        said = (message_text(message) for message in session.conversation.messages[start:stop])
        is_found = index not in session.unmatched
        assert not (is_found and any(says(session.conversation, index, text) for text in said))
