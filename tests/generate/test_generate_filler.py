"""Filler: exactly so many tokens, and no two messages alike."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.conversation.requests import list_requests
from ctxmode_cli.generate.filler import TurnSize, filler, filler_session
from ctxmode_cli.tokens.counter import TokenCounter

MODELS = ["gpt-4o", "gpt-4", "gpt-oss-120b"]


@pytest.mark.parametrize("model", MODELS)
@given(tokens=st.integers(0, 3000), number=st.integers(0, 2**40))
@settings(max_examples=40, deadline=None)
def test_filler_has_exactly_so_many_tokens(model: str, tokens: int, number: int) -> None:
    """The model's own encoding counts what was asked for, whatever the number."""
    assert TokenCounter.for_model(model).text(filler(tokens, number)) == tokens


@pytest.mark.parametrize(("tokens", "different"), [(1, 52), (2, 2704), (200, 5000)])
def test_texts_differ_as_long_as_the_letters_can_tell(tokens: int, different: int) -> None:
    """One letter tells 52 numbers apart, two 52 x 52; neighbours differ in their first token."""
    texts = [filler(tokens, number) for number in range(different)]
    assert len(set(texts)) == different
    assert all(one[0] != other[0] for one, other in pairwise(texts))


def test_a_session_has_its_turns_and_no_two_messages_alike() -> None:
    """A system prompt, then a user message and a reply a turn, of the sizes asked for."""
    session = filler_session("s", 60, TurnSize(system=50, user=6, reply=20))
    assert [message.role for message in session.messages[:3]] == ["system", "user", "assistant"]
    assert len(list_requests(session.messages)) == 60
    assert len({str(message.wire()) for message in session.messages}) == 121
    count = TokenCounter.for_model("gpt-4o").text
    assert [count(str(message.content)) for message in session.messages[:3]] == [50, 6, 20]


def test_a_session_without_a_system_prompt() -> None:
    """No tokens, no message."""
    assert [message.role for message in filler_session("s", 1, TurnSize(0, 1, 1)).messages] == ["user", "assistant"]
