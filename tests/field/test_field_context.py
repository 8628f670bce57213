"""Contexts that went wrong in the field, each as a case of its own with inputs of our own."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryRequest, SummaryResult
from ctxmode_cli.context.steps.budget import OverBudgetError

Message = dict[str, Any]
MODES = ("zero", "full", "sliding", "summary")


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str | None, *call_ids: str) -> Message:
    called = [{"id": i, "type": "function", "function": {"name": "look_up", "arguments": "{}"}} for i in call_ids]
    return {"role": "assistant", "content": text, **({"tool_calls": called} if called else {})}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def turns(count: int, text: str = "and how about the next parcel of my order") -> list[Message]:
    return [message for n in range(count) for message in (user(f"{n}: {text}"), assistant(f"{n}: on its way"))]


class Summarizer:
    """Says how many messages it tells, and keeps them."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        self.told += [str(message.content) for message in request.messages]
        return SummaryResult(f"{len(self.told)} messages before", 3, request.messages_tokens)


def manager(mode: str, messages: Sequence[Message] = (), **settings: Any) -> ContextManager:
    session = ContextManager(ContextConfig(mode=mode, model="gpt-4o", **settings), summarizer=Summarizer())
    for message in messages:
        session.append(message)
    return session


def requests(session: ContextManager, messages: Sequence[Message]) -> Iterator[Context]:
    """Append the messages, and make a request before each reply and at the end."""
    for message in messages:
        if message["role"] == "assistant" and session.history.turns:
            yield session.build_context()
        session.append(message)
    yield session.build_context()


def first_spoken(wire: Sequence[Message]) -> str:
    return next(str(message["role"]) for message in wire if message["role"] != "system")


def unpaired(wire: Sequence[Message]) -> set[str]:
    """Ids that are called and not answered, or answered and not called."""
    called = {call["id"] for message in wire for call in message.get("tool_calls", ())}
    answered = {message["tool_call_id"] for message in wire if message["role"] == "tool"}
    return called ^ answered


@pytest.mark.parametrize("room", range(30, 100, 3))
@pytest.mark.parametrize("mode", MODES)
def test_cut_never_begins_with_a_tool_result(mode: str, room: int) -> None:
    """Elsewhere a cut by budget began with a result whose call was gone; here a cut goes by whole turns.

    langchain-ai/langchain #33245.
    """
    messages = [
        system("Help."),
        user("Where are my two parcels?"),
        assistant(None, "c1", "c2"),
        result("c1", "Lyon"),
        result("c2", "Paris"),
        assistant("In Lyon and in Paris."),
        user("Thanks. When do they come?"),
    ]
    wire = manager(mode, messages, max_tokens=room, reserved_output=128_000 - room).build_request_messages()
    assert first_spoken(wire) == "user"
    assert not unpaired(wire)


def test_each_result_needs_its_own_call() -> None:
    """Elsewhere one matching id was enough to keep a block of results; here each result goes with its own call.

    langchain-ai/langchain #38352.
    """
    messages = [
        user("Two look-ups, please."),
        assistant(None, "c1"),
        assistant(None, "c2"),
        result("c1", "one " * 30),
        result("c2", "two " * 30),
        assistant(None, "c3"),
        result("c3", "three " * 30),
    ]
    for room in range(60, 140, 5):
        wire = manager("zero", messages, max_tokens=room).build_request_messages()
        assert not unpaired(wire)
        assert [message["tool_call_id"] for message in wire if message["role"] == "tool"][-1] == "c3"


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_summary_takes_a_call_with_its_result(keep: int) -> None:
    """Elsewhere the messages kept after a summary began with a result whose call was summarised; here turns are whole.

    langchain-ai/langchain #34282.
    """
    messages = [
        *turns(2),
        user("Look it up."),
        assistant(None, "c1"),
        result("c1", "42"),
        assistant("It is 42."),
        *turns(2),
    ]
    for context in requests(session := manager("summary", summary_threshold=keep, summary_every=0), messages):
        wire = context.messages(session.history)
        assert unpaired(wire) <= {call["id"] for call in wire[-1].get("tool_calls", ())}
        assert first_spoken(wire) == "user"


@pytest.mark.parametrize("mode", MODES)
def test_trigger_between_parallel_results_parts_nothing(mode: str) -> None:
    """Elsewhere the trigger fired after the first of two results and parted them; here both stay with their call.

    langchain-ai/langmem #126.
    """
    messages = [
        *turns(3),
        user("Two look-ups, please."),
        assistant(None, "c1", "c2"),
        result("c1", "long " * 5000),
        result("c2", "ten"),
    ]
    trigger = {"summary_trigger": "tokens", "summary_threshold": 0, "compress_ratio": 0.1}
    settings = {**trigger, "max_tokens": 6000, "tool_max_tokens": 6000}
    wire = manager(mode, messages, **settings).build_request_messages()
    assert wire[-4:] == messages[-4:]
    assert not unpaired(wire)


@pytest.mark.parametrize("mode", MODES)
def test_tool_heavy_turn_is_cut_or_refused(mode: str) -> None:
    """Elsewhere a session of one user message and twenty call pairs could not be cut; here its oldest pairs go.

    strands-agents/harness-sdk #2173.
    """
    pairs = [m for n in range(20) for m in (assistant(None, f"c{n}"), result(f"c{n}", "line " * 40))]
    session = manager(mode, [user("Read all files."), *pairs], max_tokens=300, reserved_output=128_000 - 300)
    wire = session.build_request_messages()
    assert wire[0] == user("Read all files.")
    assert wire[1:] == pairs[-len(wire) + 1 :]
    assert 1 < len(wire) < 20
    session.append(assistant(None, "last"))
    session.append(result("last", "line " * 400))
    with pytest.raises(OverBudgetError):
        session.build_request_messages()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_request_begins_with_the_user(mode: str, count: int) -> None:
    """Elsewhere a window began with an assistant's call and was refused; here every cut request begins with a user.

    strands-agents/harness-sdk #1749.
    """
    greeting = assistant("Welcome!")
    messages = [
        system("Help."),
        greeting,
        *turns(2),
        user("Look."),
        assistant(None, "c1"),
        result("c1", "1"),
        assistant("One."),
    ]
    settings = {"sliding_turns": count, "summary_threshold": count, "summary_every": 0}
    session = manager(mode, **settings)
    for context in requests(session, [*messages, user("Thanks.")]):
        wire = context.messages(session.history)
        assert first_spoken(wire) == "user" or wire[1] == greeting


@pytest.mark.parametrize("mode", MODES)
def test_tool_content_is_sent_as_recorded(mode: str) -> None:
    """Elsewhere JSON of tools was rewritten as prose; here it is sent byte for byte.

    strands-agents/sdk-python #95.
    """
    content = '{"a":[1, 2],\n "b": {"名": "值"}}'
    wire = manager(mode, [user("Look."), assistant("", "c1"), result("c1", content)]).build_request_messages()
    assert wire[-1]["content"] == content
    assert json.loads(wire[-1]["content"]) == {"a": [1, 2], "b": {"名": "值"}}


@pytest.mark.parametrize("mode", ["sliding", "summary"])
def test_unanswered_call_does_not_freeze_the_session(mode: str) -> None:
    """Elsewhere one call without a result kept a session from ever being cut again; here it leaves with its turn.

    google/adk-python #7236.
    """
    session = manager(mode, [*turns(3), user("Look."), assistant(None, "c9"), *turns(50), user("And?")])
    full = manager("full", [*turns(3), user("Look."), assistant(None, "c9"), *turns(50), user("And?")])
    context = session.build_context()
    assert context.prompt_tokens < full.build_context().prompt_tokens / 2
    assert "c9" not in json.dumps(context.messages(session.history))


@pytest.mark.parametrize("mode", ["full", "sliding", "summary"])
def test_nothing_to_do_changes_nothing(mode: str) -> None:
    """Elsewhere tool content was dropped though nothing had to be cut; here the request is the record, to the byte.

    dotnet/extensions #6890.
    """
    messages = [
        system("Help."),
        user("Look."),
        {**assistant(None, "c1"), "name": "助手"},
        result("c1", " {} "),
        assistant(""),
        user("Thanks."),
    ]
    wire = manager(mode, messages).build_request_messages()
    assert json.dumps(wire, sort_keys=True) == json.dumps(messages, sort_keys=True)


@pytest.mark.parametrize("mode", MODES)
def test_system_prompt_is_in_every_request(mode: str) -> None:
    """Elsewhere cutting dropped the system prompt; here it is in every request, and a later one too.

    microsoft/semantic-kernel #12612.
    """
    prompt, rule = system("Help."), {"role": "developer", "content": "Never promise a date."}
    messages = [prompt, *turns(10), rule, *turns(10), user("And?")]
    session = manager(mode, max_tokens=200, sliding_turns=4)
    for number, context in enumerate(requests(session, messages)):
        wire = context.messages(session.history)
        assert wire[0] == prompt
        assert (rule in wire) == (number >= 10)


@pytest.mark.parametrize("leading", [[], [system("Help.")]])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_window_of_n_turns_holds_n(count: int, leading: list[Message]) -> None:
    """Elsewhere a target of ten gave eleven, and of one an error; here n complete turns are n, whatever else is sent.

    The current turn, system messages and the summary do not count. microsoft/semantic-kernel PR #10344, PR #13610.
    """
    messages = [*leading, *turns(6), user("And?")]
    for mode in ("sliding", "summary"):
        session = manager(mode, messages, sliding_turns=count, summary_threshold=count, summary_every=0)
        wire = session.build_request_messages()
        assert sum(message["role"] == "user" for message in wire) == count + 1
        assert wire[: len(leading)] == leading


def test_every_path_that_appends_is_counted() -> None:
    """Elsewhere messages that came past the chat loop escaped the window; here all that is appended counts.

    strands-agents/harness-sdk #578.
    """
    session = manager("sliding", max_tokens=500)
    session.append(user("Run the whole list."))
    for number in range(20):
        session.append(assistant(None, f"c{number}"))
        session.append(result(f"c{number}", "done " * 20))
        context = session.build_context()
        assert context.prompt_tokens <= 500
        assert not unpaired(context.messages(session.history))
    assert context.trimmed


@pytest.mark.parametrize("trigger", ["turns", "tokens", "both"])
def test_no_threshold_is_no_summary(trigger: str) -> None:
    """Elsewhere a threshold of None still summarised; here it never does.

    langchain-ai/langchain PR #33796.
    """
    session = manager("summary", summary_threshold=None, summary_trigger=trigger, compress_ratio=0.01)
    messages = [*turns(25), user("And?")]
    assert all(context.summary_call is None for context in requests(session, messages))
    assert session.build_request_messages() == messages


def test_summarised_messages_are_not_sent_again() -> None:
    """Elsewhere a request carried the summary and all that it told; here a message is told or sent, never both.

    langchain-ai/langchain #13481.
    """
    messages = [system("Help."), *turns(30), user("And?")]
    session, full = manager("summary"), manager("full")
    summarizer = session._mode.summarizer  # type: ignore[attr-defined]
    for context, whole in zip(requests(session, messages), requests(full, messages), strict=True):
        sent = {message["content"] for message in context.messages(session.history)}
        assert not sent & set(summarizer.told)
        if context.summarised:
            assert context.prompt_tokens < whole.prompt_tokens
    assert len(summarizer.told) == 40
