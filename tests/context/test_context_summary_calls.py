"""What a summary call sends and to whom: the model, its counter and window, and the session's prefix before it."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from dialogues import MODEL, TOOLS, counter, dialogue, history_of, messages_of, play, record_messages, shown, unhurried
from hypothesis import given

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import AuxiliaryCall, Context, wire_form
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import content_text
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

INSTRUCTIONS = 100
CHINESE = "我想改一下收货地址：朝阳区建国路88号。"


@dataclass
class Recorder:
    """A summarizer that remembers what it was asked, and refuses what its model's window does not hold."""

    text: str = "so far"
    unseen: int = 0
    """What the summarizer left out by itself."""
    asked: list[SummaryRequest] = field(default_factory=list)

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        self.asked.append(request)
        prompt = INSTRUCTIONS + (request.prefix.tokens if request.prefix else request.messages_tokens + 3)
        over_by = prompt + request.target_tokens - request.counter.model.window
        if over_by > 0:
            raise SummaryError("too long", over_by=over_by)
        return SummaryResult(self.text, counter().text(self.text), prompt, self.unseen)


def manager(summarizer: Any, model: str = MODEL, tools: Any = (), **settings: Any) -> ContextManager:
    settings = {"summary_threshold": 1, "summary_every": 0, **settings}
    config = ContextConfig(mode="summary", model=model, **settings)
    return ContextManager(config, summarizer=summarizer, history=History(TokenCounter.for_model(model), tools=tools))


def calls(contexts: list[Context]) -> list[AuxiliaryCall]:
    return [context.summary_call for context in contexts if context.summary_call is not None]


# --- whose model ---


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({}, "gpt-4o-mini"),
        ({"summary_model": "gpt-4.1"}, "gpt-4.1"),
        ({"summary_model": MODEL}, MODEL),
        ({"summary_prefix": "session"}, MODEL),
        ({"summary_prefix": "session", "summary_model": MODEL}, MODEL),
    ],
)
def test_the_model_that_summarises(settings: dict[str, Any], model: str) -> None:
    """A small model of its own where nothing is said, behind the session's prefix the session's own, else the named."""
    assert ContextConfig(model=MODEL, **settings).summarising_model == model
    summarizer = Recorder()
    [call] = calls(play(manager(summarizer, **settings), "u a u a u"))
    assert (call.model, summarizer.asked[0].counter.model.name) == (model, model)


def test_another_model_has_no_use_for_the_prefix() -> None:
    """The session's prefix is in the cache of the session's model; another model behind it is an error."""
    with pytest.raises(CtxmodeError, match=r"summary_model is gpt-4o-mini.* a cache belongs to one model") as error:
        ContextConfig(model=MODEL, summary_prefix="session", summary_model="gpt-4o-mini")
    assert error.value.hint


@pytest.mark.parametrize("mode", ["summary", "full"])
def test_unknown_summary_model_is_told_at_once(mode: str) -> None:
    """An unknown model is an error of the settings, with suggestions, whether or not the mode would summarise."""
    with pytest.raises(CtxmodeError, match='"gpt-4o-mni" is unknown') as error:
        ContextConfig(mode=mode, summary_model="gpt-4o-mni")
    assert "gpt-4o-mini" in (error.value.hint or "")


@pytest.mark.parametrize(("setting", "value"), [("summary_prefix", "own"), ("summary_call", "later")])
def test_choices_are_checked(setting: str, value: str) -> None:
    """A choice that there is not is an error that names the setting and its value."""
    with pytest.raises(CtxmodeError, match=f'{setting} is "{value}"'):
        ContextConfig(**{setting: value})


# --- counted for that model ---


def test_tokens_are_those_of_the_model_that_summarises() -> None:
    """Messages and completion are counted by the summarizing model's encoding, the note by the session's."""
    summarizer = Recorder(text=CHINESE)
    own, billed = TokenCounter.for_model("gpt-4"), TokenCounter.for_model("gpt-4o-mini")
    session = manager(
        lambda request: summarizer(request)._replace(text_tokens=own.text(CHINESE)), model="gpt-4", summary_threshold=0
    )
    contexts = play(session, "u a u", u0=CHINESE)
    [call] = calls(contexts)
    assert own.text(CHINESE) != billed.text(CHINESE)
    assert summarizer.asked[0].messages_tokens == 4 + billed.text(CHINESE) + 6
    assert call.completion_tokens == billed.text(CHINESE)
    note = contexts[-1].pieces[0]
    assert note.tokens == 4 + own.text(CHINESE)


@unhurried
@given(record_messages)
def test_every_range_is_counted_for_another_model(recorded: list[dict[str, Any]]) -> None:
    """Every range's tokens for another encoding, or for another rule of images, are those of its messages, one by one."""
    messages = [parse_message(message) for message in recorded]
    history = history_of(messages[:1])
    for name in ("gpt-4-turbo", "gpt-4o-mini", "gpt-4o"):
        other = TokenCounter.for_model(name)
        for length in range(1, len(messages) + 1):
            for message in messages[len(history) : length]:
                history.append(message)
            expected = sum(other.message(message) for message in messages[1:length] if not message.is_system)
            assert history.spoken_tokens_by(other, 1, length) == expected


@pytest.mark.parametrize("name", ["gpt-4-turbo", "gpt-4o-mini"])
def test_tokens_for_another_model_follow_what_is_taken_back(name: str) -> None:
    """A message that is taken back is forgotten for every model, and the one in its place is counted."""
    other = TokenCounter.for_model(name)
    image = [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    history = history_of(messages_of("u a u", u2=image))
    history.spoken_tokens_by(other, 0, 3)
    history.pop()
    assert history.spoken_tokens_by(other, 0, 2) == 12
    [again] = messages_of("u", u0="好 word")
    history.append(again)
    assert history.spoken_tokens_by(other, 0, 3) == 12 + other.message(again)


@dataclass
class CountingCounter(TokenCounter):
    """Keeps what it has counted."""

    counted: list[str]

    def __init__(self, model: str) -> None:
        super().__init__(TokenCounter.for_model(model).model)
        self.counted = []

    def message(self, message: Any) -> int:
        self.counted.append(content_text(message.content))
        return super().message(message)


def test_each_message_is_encoded_once_for_each_encoding() -> None:
    """Another encoding reads each message once, however many ranges are asked for; the same encoding reads none."""
    history = history_of(messages_of("s u a u a u"))
    other, same = CountingCounter("gpt-4-turbo"), CountingCounter("gpt-4o-mini")
    for start, stop in ((0, 3), (1, 3), (0, 5), (2, 6)):
        history.spoken_tokens_by(other, start, stop)
        history.spoken_tokens_by(same, start, stop)
    assert other.counted == ["u1", "a2", "u3", "a4", "u5"]
    assert same.counted == []


def test_only_messages_of_parts_are_counted_for_another_rule_of_images() -> None:
    """Where only the rule of images differs, text is not encoded again; what holds an image is counted once."""
    image = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    history = history_of(messages_of("s u a u a u", u3=image))
    mini = CountingCounter("gpt-4o-mini")
    for start, stop in ((0, 3), (1, 5), (0, 6)):
        history.spoken_tokens_by(mini, start, stop)
    assert mini.counted == ["see"]


# --- behind the session's prefix ---


def test_prefix_is_what_the_session_would_send() -> None:
    """The call begins with what the session's request would begin with: systems, running summary, all up to the turn."""
    summarizer = Recorder()
    script = "s u a s u a u a u a u a u"
    contexts = play(manager(summarizer, summary_every=1, summary_prefix="session"), script)
    # Turns start at 1, 4, 6, 8, 10 and 12. At three complete turns the first two are summarised, at five all but one.
    prefixes = [shown(call.prefix) for call in calls(contexts)]
    assert prefixes == ["0-0 1-7", "0-0 summary 3-3 6-11"]
    assert [len(request.messages) for request in summarizer.asked] == [4, 4]


def test_prefix_equals_what_the_last_request_sent() -> None:
    """Message by message the call begins as the session's last request did, so that a provider's cache holds it."""
    summarizer = Recorder()
    session = manager(summarizer, tools=TOOLS[1], summary_every=2, summary_prefix="session", summary_role="assistant")
    last: list[dict[str, Any]] = []
    for message in dialogue("s u s a u a u a:c t:c a s u a u a u a u a u a"):
        if message["role"] == "assistant" and session.history.turns:
            asked = len(summarizer.asked)
            context = session.build_context()
            for request in summarizer.asked[asked:]:
                assert request.prefix is not None
                assert request.prefix.messages()[: len(last)] == last
                assert request.prefix.history.tools == TOOLS[1]
                assert wire_form(context.summary_call.prefix, session.history) == request.prefix.messages()  # type: ignore[union-attr, arg-type]
            last = context.messages(session.history)
        session.append(message)
    assert len(summarizer.asked) == 2


def test_rebuild_sends_the_originals_behind_the_systems() -> None:
    """A rebuild's prefix is the session's without a summary: the system messages and everything that was said."""
    contexts = play(manager(Recorder(), summary_prefix="session", summary_strategy="rebuild"), "s u a s u a u a u")
    assert [shown(call.prefix) for call in calls(contexts)] == ["0-0 1-5", "0-0 1-7"]


def test_tokens_of_the_prefix_worked_by_hand() -> None:
    """Tool schemas, system messages, running summary and turns, and the opening of the reply, each once."""
    summarizer = Recorder()
    play(manager(summarizer, tools=TOOLS[1], summary_prefix="session"), "s u a u a u a u")
    schemas = counter().tools(TOOLS[1])
    # Five messages of 6; then one system message, the summary of 3 + 1 + 2, and four messages.
    assert [request.prefix.tokens for request in summarizer.asked if request.prefix] == [
        schemas + 5 * 6 + 3,
        schemas + 6 + 6 + 4 * 6 + 3,
    ]


def test_calls_without_prefix_have_none() -> None:
    """A call that goes alone has no prefix."""
    assert [call.prefix for call in calls(play(manager(Recorder()), "u a u a u"))] == [None]


def test_the_summary_is_the_same_either_way() -> None:
    """Where a call goes changes what it costs, not what is summarised nor what the session sends."""
    alone, behind = (
        play(manager(ExtractiveSummarizer(counter()), summary_prefix=prefix), "u a " * 8 + "u")
        for prefix in ("none", "session")
    )
    assert [context._replace(calls=()) for context in alone] == [context._replace(calls=()) for context in behind]
    assert [call.text for call in calls(alone)] == [call.text for call in calls(behind)]
    assert [call.unseen_tokens for call in calls(behind)] == [0] * 7


# --- over the window ---

# gpt-4's window is 8,192: of it a target of 92 and the instructions (100, and 3 for the reply) leave 7,997.
SMALL = {"summary_model": "gpt-4", "summary_target_tokens": 92, "max_tokens": 100_000}
ROOM = 8192 - 92 - INSTRUCTIONS - 3


def words(tokens: int) -> str:
    """A text with which a message has so many tokens: each word is one, the message's role and framing are four."""
    return ("word " * (tokens - 4)).strip()


@pytest.mark.parametrize(("first", "unseen"), [(ROOM - 18, 0), (ROOM - 17, ROOM - 17), (ROOM + 5000, ROOM + 5000)])
def test_capped_input_leaves_the_oldest_unseen(first: int, unseen: int) -> None:
    """One token over the window, the oldest message stays unseen as a whole; at the window nothing does."""
    summarizer = Recorder()
    contexts = play(manager(summarizer, **{**SMALL, "summary_every": 1}), "u a u a u a u", u0=words(first))
    [call] = calls(contexts)
    assert (call.failed, call.unseen_tokens) == (False, unseen)
    assert call.prompt_tokens == INSTRUCTIONS + 3 + first + 18 - unseen
    said = [content_text(message.content) for message in summarizer.asked[-1].messages]
    assert said[-3:] == ["a1", "u2", "a3"]
    assert len(said) == (3 if unseen else 4)


def test_capped_input_parts_no_call() -> None:
    """What is left out of a capped call goes by whole call groups: results leave with their calls."""
    summarizer = Recorder()
    settings = {**SMALL, "summary_every": 0}
    # The call is 6 + 3 + 1 + 1; to leave it out is enough, but both its results go too.
    contexts = play(manager(summarizer, **settings), "u a:c,d t:c t:d a u a u", u0=words(ROOM - 20))
    [call] = calls(contexts)
    assert [content_text(message.content) for message in summarizer.asked[-1].messages][-1] == "a4"
    assert call.unseen_tokens + summarizer.asked[-1].messages_tokens == ROOM - 20 + 16 + 6 + 6 + 6
    assert [message.role for message in summarizer.asked[-1].messages] == ["assistant", "tool", "tool", "assistant"]
    contexts = play(manager(summarizer, **settings), "u a:c,d t:c t:d a u a u", a1=words(ROOM - 20))
    assert [message.role for message in summarizer.asked[-1].messages] == ["assistant"]
    assert calls(contexts)[0].unseen_tokens == 6 + ROOM - 20 + 10 + 12


def test_rolling_keeps_the_last_summary_in_a_capped_call() -> None:
    """What is left out are messages; the last summary stays in the call."""
    summarizer = Recorder(unseen=7)
    contexts = play(manager(summarizer, **SMALL), "u a u a u a u", u2=words(ROOM))
    first, second = calls(contexts)
    assert (first.unseen_tokens, second.unseen_tokens) == (7, 7 + ROOM)  # and what the summarizer itself left out
    assert [(request.previous, len(request.messages)) for request in summarizer.asked[-2:]] == [
        ("so far", 2),
        ("so far", 1),
    ]


def test_window_that_holds_no_message_is_a_failure() -> None:
    """Where not even the newest call group fits, no call is made: the request falls back and nothing is billed."""
    contexts = play(manager(Recorder(), **SMALL), "u a u a u", a1=words(ROOM + 1))
    [call] = calls(contexts)
    assert call == AuxiliaryCall("summary", "gpt-4", 0, 0, failed=True, strategy="rolling")
    assert contexts[-1].stepped_down == "sliding"
    assert shown(contexts[-1].pieces) == "0-3 4-4"


def test_system_messages_are_nothing_to_tell() -> None:
    """Where only system messages are left of what is to be told, there is nothing to call for."""
    contexts = play(manager(Recorder(), **SMALL), "u a s s u a u", a1=words(ROOM + 1))
    assert [(call.failed, call.prompt_tokens) for call in calls(contexts)] == [(True, 0)]


def test_prefix_over_the_window_is_a_failure() -> None:
    """Behind the session's prefix nothing can be left out: over the window there is no call, and nothing is billed."""
    settings = {"model": "gpt-4", "summary_prefix": "session", "reserved_output": 10, "summary_target_tokens": 92}
    # Prefix: four messages, the first of them long, and 3; instructions 100; target 92.
    for first, failed in ((8192 - 92 - 100 - 3 - 18, False), (8192 - 92 - 100 - 3 - 17, True)):
        summarizer = Recorder()
        [call] = calls(play(manager(summarizer, max_tokens=9000, **settings), "u a u a u", u0=words(first)))
        assert (call.failed, call.prompt_tokens == 0, call.prefix is None) == (failed, failed, failed)
        assert len(summarizer.asked) == 1


def test_extractive_summarizer_says_what_its_window_does_not_hold() -> None:
    """The offline summarizer counts its own instructions and the last summary, and is capped like any other."""
    summarizer = ExtractiveSummarizer(counter())
    settings = {**SMALL, "summary_target_tokens": 200}
    text = "I want 5 cups. " * 600
    contexts = play(manager(summarizer, **settings), "u a u a u a u a u", u0=text, u2=text, u4=text)
    gpt_4 = TokenCounter.for_model("gpt-4")
    assert {call.model for call in calls(contexts)} == {"gpt-4"}
    assert all(not call.failed and call.prompt_tokens <= 8192 - 200 for call in calls(contexts))
    settings["summary_strategy"] = "rebuild"
    rebuilt = calls(play(manager(summarizer, **settings), "u a u a u a u a u", u0=text, u2=text, u4=text))
    said = gpt_4.message(messages_of("u", u0=text)[0])
    assert [call.unseen_tokens for call in rebuilt] == [0, 0, said]
