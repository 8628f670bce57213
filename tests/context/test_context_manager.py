"""The manager as a service uses it: append, build, reset; what it keeps to itself, and what it refuses."""

import json
from types import MappingProxyType
from typing import Any

import pytest
from dialogues import MODEL, TOOLS, call, counter, dialogue, messages_of, unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryRequest, SummaryResult
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.errors import CtxmodeError


def summarize(request: SummaryRequest) -> SummaryResult:
    return SummaryResult("so far", 2, request.messages_tokens)


def manager(mode: str = "sliding", **settings: Any) -> ContextManager:
    return ContextManager(ContextConfig(mode=mode, model=MODEL, **settings), summarizer=summarize)


def fill(session: ContextManager, script: str, **contents: Any) -> ContextManager:
    for message in dialogue(script, **contents):
        session.append(message)
    return session


def test_manager_sends_what_was_said() -> None:
    """A session's messages come back in OpenAI chat form, with the new input last."""
    session = fill(manager(), "s u a:c t:c a")
    built = session.build_request_messages("and now?")
    assert built == [*dialogue("s u a:c t:c a"), {"role": "user", "content": "and now?"}]


def test_manager_records_the_input_it_is_given() -> None:
    """The input of a request is part of the session from then on."""
    session = manager()
    session.build_request_messages("first")
    session.append({"role": "assistant", "content": "yes"})
    assert [message["content"] for message in session.build_request_messages("second")] == ["first", "yes", "second"]


def test_manager_takes_parsed_messages() -> None:
    """A message that was parsed before is appended as it is."""
    session = manager()
    for message in messages_of("s u"):
        session.append(message)
    assert session.build_request_messages() == dialogue("s u")


def test_manager_takes_any_mapping() -> None:
    """A message may be any mapping, not only a dict."""
    session = manager()
    session.append(MappingProxyType({"role": "user", "content": "hi"}))
    assert session.build_request_messages() == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({"content": "no role"}, 'no "role"'),
        ({"role": "robot", "content": ""}, 'unknown role "robot"'),
        ({"role": "tool", "content": "1"}, "tool_call_id"),
        ("just text", "not a string"),
        (["role"], "not a list"),
        (None, "not null"),
    ],
)
def test_manager_refuses_what_is_no_message(message: Any, complaint: str) -> None:
    """What is not a message is refused with our error, and the session stays as it was."""
    session = fill(manager(), "s u")
    with pytest.raises(CtxmodeError, match=complaint):
        session.append(message)
    assert session.build_request_messages() == dialogue("s u")


def test_manager_needs_a_user_message() -> None:
    """Without a user message there is no request; an error says so."""
    with pytest.raises(CtxmodeError, match="no user message"):
        fill(manager(), "s a").build_request_messages()


def test_manager_of_an_unknown_model_is_an_error() -> None:
    """An unknown model is refused when the manager is made, never counted with another one's encoding."""
    with pytest.raises(CtxmodeError, match="gpt-99"):
        ContextManager(ContextConfig(model="gpt-99"))


def test_manager_default_is_a_sliding_window() -> None:
    """A manager without settings slides over the last ten complete turns."""
    session = ContextManager()
    for message in dialogue("s " + "u a " * 12 + "u"):
        session.append(message)
    assert [message["content"] for message in session.build_request_messages()][:2] == ["s0", "u5"]


def test_manager_tools_count_and_are_copied() -> None:
    """Tool schemas count against the budget, as they were when the manager was made."""
    tools = json.loads(json.dumps(TOOLS[1]))
    session = fill(ContextManager(ContextConfig(model=MODEL), tools=tools), "u")
    tools.clear()
    session.reset()
    session.append({"role": "user", "content": "hello"})
    assert session.build_context().prompt_tokens == 3 + counter().tools(TOOLS[1]) + 3 + 1 + 1


def test_manager_takes_a_refused_input_back() -> None:
    """An input that cannot be sent is taken back, so that a shorter one can be given."""
    session = fill(manager(max_tokens=60), "s u a")
    with pytest.raises(OverBudgetError) as error:
        session.build_request_messages("word " * 60)
    # s0 and the reply's opening are 9; the input is 3 + 1 and 61 tokens.
    assert error.value.over_by == 9 + counter().text("word " * 60) + 4 - 60
    shorter = session.build_request_messages("word")
    assert [message["content"] for message in shorter] == ["s0", "u1", "a2", "word"]


def test_manager_takes_a_refused_input_back_from_a_shared_history() -> None:
    """A refused input is taken back from the history itself: whoever shares it goes on sharing it."""
    history = History(counter())
    first, second = (ContextManager(ContextConfig(model=MODEL, max_tokens=60), history=history) for _ in range(2))
    fill(first, "s u a")
    with pytest.raises(OverBudgetError):
        first.build_request_messages("word " * 60)
    assert first.history is second.history is history
    assert history.messages == messages_of("s u a")


def test_manager_needs_a_history_of_its_model() -> None:
    """A history that counts for another model than the settings name is refused, whichever of the two is meant."""
    with pytest.raises(CtxmodeError, match=r"counts tokens for gpt-4o, the settings are for gpt-4$"):
        ContextManager(ContextConfig(model="gpt-4"), history=History(counter()))


def test_manager_keeps_what_was_appended_where_a_request_is_refused() -> None:
    """A message that was appended, not given as input, stays where the request cannot be sent."""
    session = fill(manager(max_tokens=30), "s u", u1="word " * 60)
    with pytest.raises(OverBudgetError):
        session.build_request_messages()
    assert len(session.history) == 2


def test_manager_takes_the_input_back_whatever_fails() -> None:
    """Where the summarizer itself breaks down, the input is taken back too, and can be given again."""

    def broken(request: SummaryRequest) -> SummaryResult:
        raise ConnectionError(len(request.messages))

    config = ContextConfig(mode="summary", model=MODEL, summary_threshold=0, summary_every=0)
    session = fill(ContextManager(config, summarizer=broken), "u a")
    with pytest.raises(ConnectionError):
        session.build_request_messages("again")
    assert session.history.messages == messages_of("u a")


@pytest.mark.parametrize("mode", list(ContextMode))
def test_manager_reset_forgets_the_session(mode: str) -> None:
    """After a reset nothing of the session is left, neither messages nor summary nor window."""
    session = fill(manager(mode, summary_threshold=0, summary_every=0, sliding_turns=1), "s u a u a u")
    session.build_request_messages()
    session.reset()
    fill(session, "u a u")
    fresh = fill(manager(mode, summary_threshold=0, summary_every=0, sliding_turns=1), "u a u")
    assert session.build_request_messages() == fresh.build_request_messages()


def test_manager_reset_leaves_a_shared_history_alone() -> None:
    """A manager that forgets its session empties nobody else's history."""
    history = History(counter())
    first, second = (ContextManager(ContextConfig(model=MODEL), history=history) for _ in range(2))
    for message in messages_of("u a u"):
        history.append(message)
    first.reset()
    assert len(first.history) == 0
    assert second.build_context().length == 3


@unhurried
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["u", "a"])), max_size=40))
def test_sessions_stay_apart(script: list[tuple[int, str]]) -> None:
    """In sessions that run side by side no message ever shows up in another one."""
    sessions = [manager(mode, summary_threshold=1, summary_every=0) for mode in ContextMode]
    for number, letter in script:
        session = sessions[number]
        session.append({"role": "user" if letter == "u" else "assistant", "content": f"session {number}"})
        if session.history.turns:
            said = {message["content"] for message in session.build_request_messages()}
            assert said <= {f"session {number}", "so far"}


def test_manager_gives_copies() -> None:
    """What is handed out and what was handed in can be changed without effect on the session."""
    session = manager()
    parts = [{"type": "text", "text": "see"}]
    asked = {"role": "user", "content": parts}
    called = {"role": "assistant", "content": None, "tool_calls": [call("c")]}
    session.append(asked)
    session.append(called)
    before = json.dumps(session.build_request_messages())
    parts[0]["text"] = "changed"
    called["tool_calls"].clear()  # type: ignore[union-attr]
    built = session.build_request_messages()
    built[0]["content"][0]["text"] = "changed"
    built[1]["tool_calls"][0]["function"]["name"] = "changed"
    built.clear()
    assert json.dumps(session.build_request_messages()) == before
