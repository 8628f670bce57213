"""Sessions that are kept between requests: each goes on as if it had been held, and none meets another."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pytest
from dialogues import MODEL, TOOLS, Digest, counter, dialogue, mode_settings, unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.card import CardFact
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import State, SummaryRequest, SummaryResult
from ctxmode_cli.context.session_record import SessionRecord, read_record, write_record
from ctxmode_cli.context.sessions import MemorySessionStore, Sessions
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError

SLIDING = ContextConfig(mode="sliding", model=MODEL)
SUMMARY = ContextConfig(
    mode="summary", model=MODEL, summary_threshold=1, summary_every=0, fact_card=True, summary_target_tokens=200
)
SAID = [
    "My order number is 55512.",
    "我不吃辣，预算八百元。",
    "No, the order number is 77713!",
    "ok",
    "half a surrogate: \ud83d",
]


@dataclass
class Clock:
    now: float = 0

    def __call__(self) -> float:
        return self.now


@dataclass
class Counted:
    """A summarizer that counts its calls, all sessions' together."""

    calls: list[SummaryRequest] = field(default_factory=list)

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        self.calls.append(request)
        return Digest(0)(request)


@dataclass
class OneText:
    """A store that holds one text, whichever session asks."""

    text: str | None = None

    @contextmanager
    def hold(self, session_id: str) -> Iterator["OneText"]:
        assert session_id
        yield self

    def load(self) -> str | None:
        return self.text

    def save(self, text: str) -> None:
        self.text = text


def ask(manager: ContextManager, text: str) -> list[dict[str, Any]]:
    """One request and its answer."""
    built = manager.build_request_messages(text)
    manager.append({"role": "assistant", "content": f"I heard {len(text)} characters."})
    return built


# --- nothing crosses ---


class Step(NamedTuple):
    """What one request does in its session."""

    said: str
    change: ContextConfig | None
    correct: bool


def take(manager: ContextManager, step: Step) -> list[dict[str, Any]]:
    if step.change is not None:
        manager.change_mode(step.change)
    if step.correct and manager.summary is not None:
        manager.correct_summary(f"{manager.summary}\n- {step.said[:9]}".replace("Summary", "In short"))
        manager.correct_card(set_=[CardFact("name", step.said[:5], negative=False, changes=False, position=0)])
    return ask(manager, step.said)


changes = st.sampled_from(["sliding", "summary", "full", "zero"]).map(
    lambda mode: replace(SUMMARY, mode=mode, max_tokens=400, budget_low=0.5)
)
steps = st.builds(
    Step,
    st.sampled_from(SAID),
    st.one_of(st.none(), st.none(), st.none(), changes),
    st.sampled_from([False, False, True]),
)
interleavings = st.lists(st.tuples(st.sampled_from(["a", "b", "会话"]), steps), min_size=1, max_size=20)


def by_session(interleaving: Sequence[tuple[str, Step]]) -> dict[str, list[Step]]:
    taken = defaultdict(list)
    for session_id, step in interleaving:
        taken[session_id].append(step)
    return taken


@unhurried
@given(interleaving=interleavings)
def test_sessions_do_not_meet(interleaving: list[tuple[str, Step]]) -> None:
    """However requests of several sessions follow each other, or run at once, each is as if its session ran alone."""
    summarizer = Digest(5)
    alone = {}
    for session_id, taken in by_session(interleaving).items():
        manager = ContextManager(SUMMARY, summarizer=summarizer, tools=TOOLS[1])
        alone[session_id] = [take(manager, step) for step in taken]

    sessions = Sessions(MemorySessionStore(60), SUMMARY, summarizer, tools=TOOLS[1])
    in_turn = defaultdict(list)
    for session_id, step in interleaving:
        with sessions.open(session_id) as manager:
            in_turn[session_id].append(take(manager, step))
    assert in_turn == alone

    sessions = Sessions(MemorySessionStore(60), SUMMARY, summarizer, tools=TOOLS[1])

    def run(session_id: str, taken: list[Step]) -> list[list[dict[str, Any]]]:
        built = []
        for step in taken:
            with sessions.open(session_id) as manager:
                built.append(take(manager, step))
        return built

    with ThreadPoolExecutor(len(alone)) as pool:
        at_once = dict(zip(alone, pool.map(lambda item: run(*item), by_session(interleaving).items()), strict=True))
    assert at_once == alone


@unhurried
@given(data=st.data(), mode=st.sampled_from(["sliding", "summary", "full", "zero"]))
def test_any_settings_go_on_where_they_were(data: st.DataObject, mode: str) -> None:
    """A session that is stored after each request sends what one sends that is held, under any settings."""
    config = replace(data.draw(mode_settings(mode)), fact_card=data.draw(st.booleans()), fact_card_tokens=40)
    held = ContextManager(config, summarizer=Digest(3))
    sessions = Sessions(MemorySessionStore(60), config, Digest(3))
    for text in data.draw(st.lists(st.sampled_from(SAID), max_size=12)):
        outcomes = []
        for manager in (held, None):
            try:
                if manager is not None:
                    outcomes.append(ask(manager, text))
                else:
                    with sessions.open("x") as opened:
                        outcomes.append(ask(opened, text))
            except CtxmodeError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_requests_of_one_session_wait_for_each_other() -> None:
    """Threads that use one session at the same time lose no message."""
    sessions = Sessions(MemorySessionStore(60), SLIDING)

    def append(number: int) -> None:
        with sessions.open("x") as manager:
            manager.append({"role": "user", "content": str(number)})
            time.sleep(0.001)  # so that the others come in between, if they can

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, range(40)))
    with sessions.open("x") as manager:
        assert sorted(int(str(message.content)) for message in manager.history.messages) == list(range(40))


def test_a_session_that_is_held_too_long_is_an_error() -> None:
    """Whoever waits longer than allowed is told so, with the session; another session is free; then it is free too."""
    sessions = Sessions(MemorySessionStore(60, wait_s=0.01), SLIDING)
    with sessions.open("x"):
        with pytest.raises(CtxmodeError, match=r'session "x": another request has held it for 0\.01 seconds'):
            sessions.open("x").__enter__()
        with sessions.open("y"):
            pass
    with sessions.open("x"):
        pass


def test_locks_go_with_their_last_user() -> None:
    """A store that has seen many sessions holds no lock of any that is over."""
    store = MemorySessionStore(60)
    sessions = Sessions(store, SLIDING)
    for number in range(5):
        with sessions.open(str(number)):
            assert len(store._locks) == 1
    assert len(store._locks) == 0


# --- what is kept ---


def test_no_summary_is_paid_for_twice() -> None:
    """The summarizer is called as often as if the session had been held, and told the same."""
    stored, held = Counted(), Counted()
    sessions = Sessions(MemorySessionStore(60), SUMMARY, stored)
    manager = ContextManager(SUMMARY, summarizer=held)
    for number in range(6):
        ask(manager, f"question {number}")
        with sessions.open("x") as opened:
            ask(opened, f"question {number}")
    with sessions.open("x") as opened:
        assert opened.summary == manager.summary is not None
    assert len(stored.calls) == len(held.calls) == 4
    assert [call.previous for call in stored.calls] == [call.previous for call in held.calls]


def test_messages_are_stored_as_recorded() -> None:
    """Fields that are never sent, times and documents, come back as they were."""
    sessions = Sessions(MemorySessionStore(60), SLIDING)
    message = {"role": "user", "content": "x", "ts": "2024-01-01T00:00:00Z", "documents": [{"id": "d", "text": "t"}]}
    with sessions.open("x") as manager:
        manager.append(message)
    with sessions.open("x") as manager:
        assert [kept.recorded for kept in manager.history.messages] == [message]


def test_a_block_that_fails_stores_nothing() -> None:
    """Where the model does not answer, the session stays as it was before the question."""
    sessions = Sessions(MemorySessionStore(60), SLIDING)
    with sessions.open("x") as manager:
        ask(manager, "first")

    def request_without_answer() -> None:
        with sessions.open("x") as manager:
            manager.build_request_messages("second")
            raise TimeoutError

    with pytest.raises(TimeoutError):
        request_without_answer()
    with sessions.open("x") as manager:
        assert [message.content for message in manager.history.messages][::2] == ["first"]


def test_a_session_ends_its_time_after_the_last_request() -> None:
    """Each request gives a session its whole time again; after that it begins anew."""
    clock = Clock()
    sessions = Sessions(MemorySessionStore(60, timer=clock), SLIDING)
    lengths = []
    for now in (0, 59, 118, 178):
        clock.now = now
        with sessions.open("x") as manager:
            lengths.append(len(manager.history))
            ask(manager, "hi")
    assert lengths == [0, 2, 4, 0]


def test_the_session_that_was_used_longest_ago_goes_first() -> None:
    """Beyond the most sessions that are kept, the one goes that was used longest ago."""
    sessions = Sessions(MemorySessionStore(60, most=2), SLIDING)
    for session_id in ("a", "b", "a", "c"):
        with sessions.open(session_id) as manager:
            manager.append({"role": "user", "content": "x"})
    lengths = {}
    for session_id in ("a", "c"):
        with sessions.open(session_id) as manager:
            lengths[session_id] = len(manager.history)
    with sessions.open("b") as manager:
        lengths["b"] = len(manager.history)
    assert lengths == {"a": 2, "c": 1, "b": 0}


def test_a_changed_mode_stays_changed_and_other_settings_follow() -> None:
    """A session keeps what it changed; what is set anew for all sessions reaches it too."""
    store = MemorySessionStore(60)
    with Sessions(store, SLIDING).open("x") as manager:
        manager.change_mode(replace(SLIDING, mode="zero"))
    with Sessions(store, replace(SLIDING, max_tokens=5000)).open("x") as manager:
        assert (manager.config.mode, manager.config.max_tokens) == ("zero", 5000)
    with Sessions(store, SLIDING).open("y") as manager:
        assert manager.config == SLIDING


def test_a_session_forgotten_in_its_block_begins_anew() -> None:
    """`reset` lasts: the next request finds no message."""
    sessions = Sessions(MemorySessionStore(60), SLIDING)
    with sessions.open("x") as manager:
        ask(manager, "hi")
    with sessions.open("x") as manager:
        manager.reset()
    with sessions.open("x") as manager:
        assert len(manager.history) == 0


def test_another_model_counts_a_stored_summary_anew() -> None:
    """A service that goes over to another model keeps its sessions, counted for that one."""
    store = MemorySessionStore(60)
    for model in (MODEL, "gpt-4"):
        sessions = Sessions(store, replace(SUMMARY, model=model), lambda _: SummaryResult("预算八百元", 4, 1))
        for number in range(3):
            with sessions.open("x") as manager:
                ask(manager, f"question {number}") if model == MODEL else None
    summary = manager.state.summary
    assert summary is not None
    assert summary.tokens == manager.history.counter.generated("system", manager.history.counter.text("预算八百元"))
    assert summary.tokens != counter().generated("system", counter().text("预算八百元"))


# --- what is refused ---


@pytest.mark.parametrize("session_id", ["", None, 7, b"x"])
def test_an_id_is_a_text(session_id: Any) -> None:
    """An id that is empty or no text would give users each other's session, and is refused."""
    with pytest.raises(CtxmodeError, match="a session's id is a text"), Sessions(OneText(), SLIDING).open(session_id):
        pass


def stored(**changed: Any) -> str:
    """A session as it is stored, with something else in it."""
    state = State(card_stop=1)
    record = json.loads(write_record(SessionRecord([parse_message(one) for one in dialogue("u a u")], state, {})))
    for path, value in changed.items():
        *parents, name = path.split("__")
        place = record
        for parent in parents:
            place = place[parent]
        place[name] = value
    return json.dumps(record)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "7",
        "null",
        "{}",
        "[" * 100_000,
        stored(messages=None),
        stored(messages=[{"role": "robot"}]),
        stored(messages=[7]),
        stored(settings=None),
        stored(settings={"no_such": 1}),
        stored(settings={"mode": "no such"}),
        stored(settings={"max_tokens": "many"}),
        stored(settings={"model": "gpt-4"}),
        stored(state=None),
        stored(state__summarised=4),
        stored(state__summarised=-1),
        stored(state__window_turn="0"),
        stored(state__cut_start=True),
        stored(state__summary="text"),
        stored(state__summary={"role": "system"}),
        stored(state__summary={"role": "robot", "text": "x"}),
        stored(state__summary={"role": "system", "text": 7}),
        stored(state__card=None),
        stored(state__card__facts=[["date"]]),
        stored(state__card__facts=[["date", 7, False, False, 0]]),
        stored(state__card__facts=[["date", "May", False, False, "0"]]),
        stored(state__card_stop=None),
        stored(state__corrections={"kept": []}),
        stored(state__corrections={"kept": [7], "removed": []}),
        stored(version=2),
    ],
)
def test_what_cannot_be_read_is_an_error_of_that_session(text: str) -> None:
    """Damaged text, another version, or state that does not fit the messages: an error that names the session."""
    with pytest.raises(CtxmodeError, match='session "x": '), Sessions(OneText(text), SLIDING).open("x"):
        pass


def test_another_version_is_told_as_such() -> None:
    """A text of a version that is not known is told apart from a damaged one."""
    with pytest.raises(CtxmodeError, match="it is of version 2, and this is version 1"):
        read_record(stored(version=2), counter())


def test_a_message_that_is_no_json_is_refused() -> None:
    """What cannot be stored is told when the block ends, with the session, and nothing is stored."""
    store = OneText()
    with (
        pytest.raises(CtxmodeError, match=r'session "x": .*cannot be stored'),
        Sessions(store, SLIDING).open("x") as one,
    ):
        one.append({"role": "user", "content": "x", "ts": "2024-01-01T00:00:00Z", "by": object()})
    assert store.text is None


def test_an_unknown_model_is_told_before_any_session() -> None:
    """A misspelt model is an error of the settings, not of the first session."""
    with pytest.raises(CtxmodeError, match="gpt-99"):
        Sessions(OneText(), ContextConfig(model="gpt-99"))
