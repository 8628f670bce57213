"""What holds for every mode on every conversation, whatever its roles, calls, budgets and shares."""

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pytest
from dialogues import (
    MODEL,
    WINDOW,
    Digest,
    counter,
    history_of,
    mode_settings,
    record_messages,
    tool_schemas,
    unhurried,
    well_formed_messages,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_record import group_starts, recount, request_faults, spoken, turn_starts
from slow_reference import SlowSession, Unsendable

from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.context.context import Context
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.context.validity import mode_faults
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError

Built = Context | OverBudgetError
MODES = list(ContextMode)
every_mode = pytest.mark.parametrize("mode", MODES)


@dataclass(frozen=True)
class Case:
    """A record, its tools, a mode's settings, and the positions at which requests are made."""

    recorded: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    config: ContextConfig
    summarizer: Digest
    asked: list[int]

    @cached_property
    def messages(self) -> list[Message]:
        return [parse_message(message) for message in self.recorded]

    def manager(self, history: History | None = None) -> ContextManager:
        if history is None:
            history = History(counter(), tools=self.tools)
        return ContextManager(self.config, summarizer=self.summarizer, history=history)


@st.composite
def cases(draw: st.DrawFn, mode: str) -> Case:
    recorded = draw(record_messages)
    first_user = next((index for index, message in enumerate(recorded) if message["role"] == "user"), len(recorded))
    asked = [index for index in range(first_user + 1, len(recorded) + 1) if draw(st.integers(0, 3))]
    return Case(
        recorded, draw(tool_schemas), draw(mode_settings(mode)), Digest(draw(st.sampled_from([0, 0, 1, 2]))), asked
    )


def build(manager: ContextManager) -> Built:
    try:
        return manager.build_context()
    except OverBudgetError as error:
        return error


def told(built: Built) -> object:
    """A build as a value that can be compared."""
    return (built.reason, built.over_by) if isinstance(built, OverBudgetError) else built


def requests(case: Case, manager: ContextManager) -> Iterator[tuple[int, Built]]:
    """Feed the record message by message and make each request."""
    for position, message in enumerate(case.messages, 1):
        manager.append(message)
        if position in case.asked:
            yield position, build(manager)


def build_all(case: Case, manager: ContextManager) -> list[object]:
    """Every request of the case as a value that can be compared."""
    return [told(built) for _, built in requests(case, manager)]


def contexts(case: Case) -> Iterator[tuple[int, Context, ContextManager]]:
    """The sendable requests of a case, each with the manager as it was when it made it."""
    manager = case.manager()
    for position, built in requests(case, manager):
        if isinstance(built, Context):
            yield position, built, manager


def positions(context: Context) -> list[int]:
    return [p for piece in context.pieces if isinstance(piece, Recorded) for p in range(piece.start, piece.stop)]


@every_mode
@unhurried
@given(st.data())
def test_context_is_what_the_definitions_say(mode: str, data: st.DataObject) -> None:
    """Each request sends just what a slow reading of the definitions sends, or fails with the same reason and figure."""
    case = data.draw(cases(mode))
    manager = case.manager()
    slow = SlowSession(case.messages, case.config, case.tools, WINDOW, case.summarizer)
    for position, built in requests(case, manager):
        expected = slow.request(position)
        if isinstance(expected, Unsendable):
            assert told(built) == expected
            continue
        assert isinstance(built, Context)
        assert built.messages(manager.history) == expected.wire
        assert built.prompt_tokens == expected.tokens
        assert (built.trimmed, built.stepped_down) == (expected.trimmed, expected.stepped_down)


@every_mode
@unhurried
@given(st.data())
def test_budget_holds(mode: str, data: st.DataObject) -> None:
    """What is sent, counted again from its messages, is what the context says and never more than the budget."""
    case = data.draw(cases(mode))
    for _, context, manager in contexts(case):
        wire = context.messages(manager.history)
        assert context.prompt_tokens == recount(wire, case.tools)
        assert context.prompt_tokens <= manager.budget.request


@every_mode
@unhurried
@given(st.data())
def test_order_is_kept(mode: str, data: st.DataObject) -> None:
    """Recorded messages are sent in their order, each once, and as recorded."""
    case = data.draw(cases(mode))
    for _, context, manager in contexts(case):
        sent = positions(context)
        assert sent == sorted(set(sent))
        notes = sum(not isinstance(piece, Recorded) for piece in context.pieces)
        wire = context.messages(manager.history)
        assert len(wire) == len(sent) + notes
        recorded = [case.messages[p].wire() for p in sent]
        assert [message for message in wire if message in recorded] == recorded or notes


@every_mode
@unhurried
@given(st.data())
def test_no_mode_makes_a_fault(mode: str, data: st.DataObject) -> None:
    """A request has no fault that the whole record would not have at the same message, by the slow check and the fast."""
    case = data.draw(cases(mode))
    for position, context, manager in contexts(case):
        past = case.messages[:position]
        faults = request_faults(past, positions(context)) - request_faults(past, range(position))
        assert not faults
        assert mode_faults(context, manager.history, manager.budget) == ()


@every_mode
@unhurried
@given(st.data())
def test_what_must_go_in_goes_in(mode: str, data: st.DataObject) -> None:
    """The user's words and the newest call group of the current input, and every system message, are in."""
    case = data.draw(cases(mode))
    for position, context, _ in contexts(case):
        past = case.messages[:position]
        sent = set(positions(context))
        turn = turn_starts(past, each_user=False)[-1]
        assert sent >= {p for p in range(position) if past[p].is_system}
        assert sent >= {p for p in range(turn, position) if past[p].role == "user"}
        groups = group_starts(past, turn)
        assert sent >= set(spoken(past, groups[-1] if groups else turn, position))


@every_mode
@unhurried
@given(st.data())
def test_dropped_messages_are_counted(mode: str, data: st.DataObject) -> None:
    """Each message before a request is sent, told by the summary, or counted as dropped."""
    case = data.draw(cases(mode))
    for position, context, manager in contexts(case):
        past = case.messages[:position]
        summarised = spoken(past, 0, context.summarised)
        assert not set(summarised) & set(positions(context))
        assert context.sent_messages() == len(positions(context))
        expected = position - len(positions(context)) - len(summarised)
        assert context.dropped_messages(manager.history) == expected


@every_mode
@unhurried
@given(st.data())
def test_nothing_later_is_seen(mode: str, data: st.DataObject) -> None:
    """A request is the same whether or not the record goes on after it."""
    case = data.draw(cases(mode))
    for position, built in requests(case, case.manager()):
        ended = replace(case, recorded=case.recorded[:position])
        assert build_all(ended, ended.manager())[-1] == told(built)


@every_mode
@unhurried
@given(st.data())
def test_building_twice_changes_nothing(mode: str, data: st.DataObject) -> None:
    """A request that is built again is the same request."""
    case = data.draw(cases(mode))
    once, twice = case.manager(), case.manager()
    for position, message in enumerate(case.messages, 1):
        once.append(message)
        twice.append(message)
        if position not in case.asked:
            continue
        build(twice)
        first, second = build(once), build(twice)
        if isinstance(first, OverBudgetError) or isinstance(second, OverBudgetError):
            assert told(first) == told(second)
            continue
        assert first._replace(calls=()) == second._replace(calls=())


@every_mode
@unhurried
@given(st.data())
def test_managers_share_nothing(mode: str, data: st.DataObject) -> None:
    """Two managers fed in turns, and managers that read one history, make what each makes alone."""
    case, other = data.draw(cases(mode)), data.draw(cases(data.draw(st.sampled_from(MODES))))
    alone = build_all(case, case.manager())
    other_alone = build_all(other, other.manager())
    first, second = case.manager(), other.manager()
    made: list[object] = []
    other_made: list[object] = []
    for position in range(1, max(len(case.messages), len(other.messages)) + 1):
        for one, manager, kept in ((case, first, made), (other, second, other_made)):
            if position <= len(one.messages):
                manager.append(one.messages[position - 1])
            if position in one.asked:
                kept.append(told(build(manager)))
    assert (made, other_made) == (alone, other_alone)


@unhurried
@given(st.data())
def test_shared_history_changes_nothing(data: st.DataObject) -> None:
    """Managers of all modes that read one history make what they make with a history of their own."""
    by_mode = {mode: data.draw(cases(mode)) for mode in MODES}
    record = by_mode[ContextMode.ZERO]
    by_mode = {mode: replace(record, config=case.config) for mode, case in by_mode.items()}
    shared = History(counter(), tools=record.tools)
    managers = {mode: case.manager(shared) for mode, case in by_mode.items()}
    made: dict[str, list[object]] = {mode: [] for mode in MODES}
    for position, message in enumerate(record.messages, 1):
        shared.append(message)
        for mode, manager in managers.items():
            if position in record.asked:
                made[mode].append(told(build(manager)))
    for mode, case in by_mode.items():
        assert made[mode] == build_all(case, case.manager())


@every_mode
@unhurried
@given(st.data())
def test_reset_empties(mode: str, data: st.DataObject) -> None:
    """After a reset a manager is as new: it makes what it would have made on its first session."""
    case, earlier = data.draw(cases(mode)), data.draw(cases(mode))
    manager = case.manager()
    build_all(earlier, manager)
    manager.reset()
    assert len(manager.history) == 0
    with pytest.raises(CtxmodeError, match="no user message"):
        manager.build_context()
    again = build_all(case, manager)
    assert again == build_all(case, case.manager())


@pytest.mark.parametrize("mode", ["full", "sliding", "summary"])
@unhurried
@given(record_messages, tool_schemas)
def test_identity(mode: str, recorded: list[dict[str, Any]], tools: list[dict[str, Any]]) -> None:
    """Where nothing needs doing, what is sent is the record, to the byte (and the current turn's documents)."""
    config = ContextConfig(mode=mode, model=MODEL, max_tokens=100_000, sliding_turns=100, summary_threshold=100)
    history = History(counter(), tools=tools)
    manager = ContextManager(config, summarizer=Digest(0), history=history)
    for position, message in enumerate(recorded, 1):
        manager.append(message)
        if not history.turns:
            continue
        context = manager.build_context()
        wire = context.messages(history)
        notes = [index for index, sent in enumerate(wire) if str(sent["content"]).startswith("Retrieved documents")]
        for index in notes:
            del wire[index]
        fields = ("role", "content", "name", "tool_calls", "tool_call_id")
        expected = [{field: value for field, value in m.items() if field in fields} for m in recorded[:position]]
        assert json.dumps(wire) == json.dumps(expected)
        assert not context.trimmed


@unhurried
@given(well_formed_messages, st.integers(0, 4))
def test_sliding_holds_the_most_recent_turns(recorded: list[dict[str, Any]], turns: int) -> None:
    """Sliding sends exactly the last complete turns, as many as there are up to its number."""
    manager = ContextManager(
        ContextConfig(mode="sliding", model=MODEL, sliding_turns=turns, max_tokens=WINDOW), history=History(counter())
    )
    users = []
    for position, message in enumerate(recorded):
        manager.append(message)
        users += [position] if message["role"] == "user" else []
        sent = positions(manager.build_context())
        assert sent[0] == users[max(0, len(users) - 1 - turns)]
        assert len(sent) == position + 1 - sent[0]


@unhurried
@given(record_messages)
def test_caller_and_manager_share_no_message(recorded: list[dict[str, Any]]) -> None:
    """A caller who changes what he appended, or what he was given, changes nothing that is sent later."""
    manager = ContextManager(ContextConfig(mode="full", model=MODEL))
    given_away = deepcopy(recorded)
    for message in given_away:
        manager.append(message)
    if not manager.history.turns:
        return
    before = json.dumps(manager.build_request_messages())
    for message in given_away:
        _spoil(message)
    for message in manager.build_request_messages():
        _spoil(message)
    assert json.dumps(manager.build_request_messages()) == before


def _spoil(message: dict[str, Any]) -> None:
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = "spoiled"
    if isinstance(message["content"], list):
        for part in message["content"]:
            part["text"] = "spoiled"
        message["content"].append({"type": "text", "text": "spoiled"})
    message["content"] = "spoiled"
    message["role"] = "tool"


@every_mode
@unhurried
@given(st.data())
def test_refused_input_is_taken_back(mode: str, data: st.DataObject) -> None:
    """An input that cannot be sent leaves the manager as it was: it goes on as if it had never been given."""
    case = data.draw(cases(mode))
    manager, untouched = case.manager(), case.manager()
    for position, message in enumerate(case.messages, 1):
        manager.append(message)
        untouched.append(message)
        if position not in case.asked:
            continue
        assert told(build(manager)) == told(build(untouched))
        with pytest.raises(OverBudgetError) as refused:
            manager.build_request_messages("word " * case.config.max_tokens)
        assert refused.value.over_by > 0
        assert manager.history.messages == untouched.history.messages
        assert told(build(manager)) == told(build(untouched))


def _random_context(data: st.DataObject, history: History) -> Context:
    """A context that leaves out any messages but the newest, as a careless mode might; the preamble goes whole."""
    preamble = range(history.turns[0])
    with_preamble = data.draw(st.booleans())
    pieces: list[Recorded] = []
    for position in range(len(history)):
        is_system = history.messages[position].is_system
        kept = with_preamble if position in preamble and not is_system else data.draw(st.integers(0, 4)) > 0
        if not kept and position + 1 < len(history):
            continue
        if pieces and pieces[-1].stop == position and pieces[-1].purpose != "system" and data.draw(st.booleans()):
            pieces[-1] = pieces[-1]._replace(stop=position + 1)
        else:
            pieces.append(Recorded("system" if is_system else "history", position, position + 1, 0))
    return Context(tuple(pieces), 0, len(history), 0, trimmed=False)


def _is_answered_once(messages: Sequence[Message]) -> bool:
    """Whether no call id is called or answered twice, so that ids alone tell what belongs together."""
    called = [call.id for message in messages for call in message.tool_calls]
    answered = [message.tool_call_id for message in messages if message.role == "tool"]
    return len(called) == len(set(called)) and len(answered) == len(set(answered))


@settings(unhurried, max_examples=150)
@given(record_messages, st.data())
def test_faults_are_found(recorded: list[dict[str, Any]], data: st.DataObject) -> None:
    """Of a request that leaves out any messages, the check finds just what a slow look at its ids finds."""
    messages = [parse_message(message) for message in recorded]
    if not _is_answered_once(messages):
        return
    history = history_of(messages)
    if not history.turns or messages[-1].is_system:
        return
    context = _random_context(data, history)
    sent = positions(context)
    found = mode_faults(context, history, ContextConfig(model=MODEL).budget(WINDOW))
    faults = request_faults(messages, sent) - request_faults(messages, range(len(messages)))
    parted = {check for check, _, _ in faults} & {"orphan_result", "unanswered_call"}
    assert ("parted_call" in found) == bool(parted)
    assert ("first_not_user" in found) == any(check == "first_not_user" for check, _, _ in faults)
    assert ("lost_system" in found) == (not set(history.systems) <= set(sent))
    assert "disorder" not in found
