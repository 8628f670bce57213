"""The replay of a conversation, against one that makes every request anew and counts and checks it from its messages."""

import gc
import gzip
import json
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from assumptions import simulation
from dialogues import MODEL, WINDOW, Digest, counter, dialogue, mode_settings, record_messages, tool_schemas, unhurried
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_record import reply_spans, request_faults, wire_tokens
from slow_reference import SlowRequest, SlowSession, Unsendable

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.plan import Summarizer
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.generate.sessions import generate_sessions
from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer

DATASETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"
FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")


def conversation_of(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] = ()) -> Conversation:
    record = {"id": "x", "messages": list(messages), "tools": list(tools)}
    return parse_conversation(record, where="test:1", default_id="x")


def completion_tokens(messages: Sequence[Message], start: int, stop: int) -> int | None:
    """Of the reply: what its messages count beyond an empty message of their role and name."""
    if start == stop:
        return None
    replies = [message.wire() for message in messages[start:stop] if message.role == "assistant"]
    return sum(wire_tokens(reply) - wire_tokens({**reply, "content": "", "tool_calls": []}) for reply in replies)


def check_replay(conversation: Conversation, configs: dict[str, ContextConfig], summarizer: Summarizer) -> int:
    """Hold every row of the replay against the slow one; how many requests were compared."""
    session = Replay(configs, counter(), summarizer, simulation())(conversation)
    messages = conversation.messages
    spans = reply_spans(messages)
    assert [(request.position, request.reply_stop) for request in session.requests] == spans
    assert session.completion_tokens == [completion_tokens(messages, *span) for span in spans]
    each_user = not any(message.role == "assistant" for message in messages)
    for name, config in configs.items():
        slow = SlowSession(messages, config, conversation.tools, WINDOW, summarizer, each_user)
        expected = [slow.request(position) for position, _ in spans]
        _check_mode(session, name, expected)
        calls = [
            row.context.summary_call for row in session.modes[name].requests if row.context and row.context.summary_call
        ]
        assert [not call.failed for call in calls] == slow.calls
    return len(spans) * len(configs)


def _check_mode(session: SessionReplay, mode: str, expected: Sequence[SlowRequest | Unsendable]) -> None:
    rows = session.modes[mode].requests
    assert [row.request for row in rows] == list(range(len(expected)))
    for request, row, slow in zip(session.requests, rows, expected, strict=True):
        assert row.invalid == ()
        if isinstance(slow, Unsendable):
            assert (row.context, row.unsendable) == (None, slow.reason)
            continue
        assert row.unsendable is None
        assert row.context is not None
        assert row.context.prompt_tokens == slow.tokens
        assert row.context.trimmed == slow.trimmed
        assert row.context.messages(session.history) == slow.wire
        past = session.conversation.messages[: request.position]
        sent = [item for item in slow.items if isinstance(item, int)]
        assert not request_faults(past, sent) - request_faults(past, range(len(past)))


@settings(unhurried, max_examples=100)
@given(record_messages, tool_schemas, st.data())
def test_replay_of_generated_conversations(
    recorded: list[dict[str, Any]], tools: list[dict[str, Any]], data: st.DataObject
) -> None:
    """Prompt tokens, completion tokens, unsendable and invalid are those of the slow replay, for all modes at once."""
    configs = {str(mode): data.draw(mode_settings(mode)) for mode in ContextMode}
    check_replay(conversation_of(recorded, tools), configs, Digest(data.draw(st.sampled_from([0, 1, 2]))))


def real_conversations(name: str, count: int) -> list[Conversation]:
    """The first conversations of a data set, of long ones the first 80 messages."""
    path = DATASETS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the shared datasets are not here")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in islice(lines, count)]
    return [conversation_of(_unlike(record["messages"][:80]), record.get("tools") or ()) for record in records]


def _unlike(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, no two tool outputs alike: the slow reading knows of no references to earlier copies."""
    return [
        {**message, "content": f"{message['content']} #{index}"} if message["role"] == "tool" else message
        for index, message in enumerate(messages)
    ]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("tau_bench", 16),
        ("tau2_bench", 16),
        ("bfcl_memory", 4),
        ("crosswoz", 20),
        ("kdconv", 20),
        ("multiwoz21", 20),
        ("interleaved_zh", 2),
        ("interleaved_en", 2),
    ],
)
def test_replay_of_real_conversations(name: str, count: int) -> None:
    """The same on recorded conversations, with budgets that hold them and with some that do not."""
    summarizer = ExtractiveSummarizer(counter())
    config = partial(ContextConfig, model=MODEL, tool_history="full", tool_max_tokens=WINDOW)
    configs = {
        "zero": config(mode="zero"),
        "full": config(mode="full"),
        "sliding": config(mode="sliding", sliding_turns=4, sliding_low=2),
        "summary": config(mode="summary", summary_threshold=2, summary_every=1),
        "small": config(mode="summary", max_tokens=1500, summary_trigger="both", summary_every=2),
        "window": config(mode="full", reserved_output=WINDOW - 2500),
    }
    compared = [check_replay(conversation, configs, summarizer) for conversation in real_conversations(name, count)]
    assert min(compared) > 0


@pytest.mark.parametrize("name", ["tau_bench", "crosswoz", "interleaved_en", "interleaved_zh"])
def test_replay_full_requests_are_the_record(name: str) -> None:
    """Every `full` request under the window is the record up to there, byte for byte."""
    replay = Replay({"full": ContextConfig(mode="full", model=MODEL)}, counter(), Digest(0), simulation())
    for conversation in real_conversations(name, 8):
        session = replay(conversation)
        recorded = [
            {field: value for field, value in m.items() if field in FIELDS} for m in conversation.recorded["messages"]
        ]
        for request, row in zip(session.requests, session.modes["full"].requests, strict=True):
            assert row.context is not None
            sent = row.context.messages(session.history)
            assert json.dumps(sent) == json.dumps(recorded[: request.position])


def replay_of(script: str, *modes: str, **contents: Any) -> SessionReplay:
    configs = {mode: ContextConfig(mode=mode, model=MODEL) for mode in modes}
    return Replay(configs, counter(), Digest(0), simulation())(conversation_of(dialogue(script, **contents)))


def test_replay_figures_worked_by_hand() -> None:
    """Prompt tokens of each request by the cookbook's framing: 3 a message and its role, 3 for the reply."""
    session = replay_of("s u a u a", "full", "zero", s0="Be brief.", u1="hello", a2="hi", u3="bye", a4="good bye")
    # s0: 3 + 1 + 3; u1, a2, u3: 3 + 1 + 1 each; 3 for the reply.
    full, zero = (
        [row.context.prompt_tokens for row in rows.requests if row.context] for rows in session.modes.values()
    )
    assert full == [7 + 5 + 3, 7 + 5 + 5 + 5 + 3]
    assert zero == [7 + 5 + 3, 7 + 5 + 3]
    assert session.completion_tokens == [1, 2]


def test_replay_completion_counts_calls_without_framing() -> None:
    """A reply in parts counts its contents and calls: 3 + name + arguments each; no role, framing, name or id."""
    messages = dialogue("u a:c a", a1=None, a2="good bye")
    messages[2]["name"] = "helper"
    session = Replay({}, counter(), Digest(0), simulation())(conversation_of(messages))
    # the call: 3, "look" 1, "{}" 1; the text: 2
    assert session.completion_tokens == [5 + 2]


def test_replay_open_request_has_no_completion() -> None:
    """A record that ends with the user has one more request, whose completion is unknown."""
    session = replay_of("u a u", "full")
    assert session.completion_tokens == [2, None]
    assert len(session.modes["full"].requests) == 2


def test_replay_is_teacher_forced_and_sees_nothing_later() -> None:
    """The history of a request is what was recorded before it; the record's end is measured too."""
    session = replay_of("u a s a u a a s", "full")
    assert [row.context.length for row in session.modes["full"].requests if row.context] == [1, 5]
    assert len(session.history) == 8


def test_replay_completion_leaves_system_messages_in_a_reply_out() -> None:
    """A system message between the parts of a reply is no part of its completion."""
    assert replay_of("u a s a u a a s", "full").completion_tokens == [2 + 2, 2 + 2]


def test_replay_rows_name_their_turn() -> None:
    """Rows are numbered by request and by turn: a tool loop is several requests in one turn."""
    session = replay_of("u a u a:c t:c a:d t:d a u", "zero")
    rows = session.modes["zero"].requests
    assert [(row.request, row.turn) for row in rows] == [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)]


def test_replay_without_requests() -> None:
    """A record in which the user never speaks has no requests, and its faults are still counted."""
    session = replay_of("s a:c", "full", "zero")
    assert [rows.requests for rows in session.modes.values()] == [[], []]
    assert session.record_faults == {"unanswered_call": 1}


def test_replay_unsendable_request_keeps_its_row() -> None:
    """A request that cannot be sent keeps its row, with the reason and without a context; the next ones go on."""
    configs = {"zero": ContextConfig(mode="zero", model=MODEL, max_tokens=20)}
    session = Replay(configs, counter(), Digest(0), simulation())(conversation_of(dialogue("u a u a", u0="word " * 40)))
    first, second = session.modes["zero"].requests
    assert (first.context, first.unsendable, first.invalid) == (None, "input", ())
    assert second.context is not None


def test_nothing_of_a_session_refers_to_itself() -> None:
    """What is freed as soon as a session is done need not wait for the collector, which a replay runs rarely."""
    messages = dialogue(" ".join(["s", *(["u a:x t:x a"] * 12)]))
    facts = [{"id": "f", "kind": "k", "value": "u1", "stated_at": 1, "probe_at": [5, 41]}]
    record = {"id": "c", "messages": messages, "facts": facts}
    configs = {mode: ContextConfig(mode=mode, model=MODEL) for mode in ContextMode}
    replay = Replay(configs, counter(), Digest(0), simulation())
    replay(parse_conversation(record, where="log:1", default_id="c"))
    gc.collect()
    gc.disable()
    try:
        replay(parse_conversation(record, where="log:1", default_id="c"))
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [type(found).__name__ for found in gc.garbage if type(found).__module__.startswith("ctxmode_cli")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert ours == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_labels_change_no_request(lang: str) -> None:
    """No mode, step or summarizer sees a label: without them every request of every mode is the same, to the byte."""
    config = partial(ContextConfig, model=MODEL, fact_card=True, summary_threshold=2, summary_every=1)
    configs = {
        **{str(mode): config(mode=mode) for mode in ContextMode},
        "small": config(mode="summary", max_tokens=900, placement="tail", tool_priority="low", tool_max_tokens=60),
    }
    replay = Replay(configs, counter(), ExtractiveSummarizer(counter()), simulation())
    for record in generate_sessions(4, 0, (lang,)):
        assert record["facts"]
        bare = {field: value for field, value in record.items() if field != "facts"}
        labelled, unlabelled = (
            replay(parse_conversation(dict(made), where="log:1", default_id="c")) for made in (record, bare)
        )
        for mode in configs:
            rows = zip(labelled.modes[mode].requests, unlabelled.modes[mode].requests, strict=True)
            for with_labels, without in rows:
                if with_labels.context is None or without.context is None:
                    assert with_labels == without
                    continue
                assert with_labels.context.messages(labelled.history) == without.context.messages(unlabelled.history)
