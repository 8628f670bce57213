"""What fits a budget: clamping, shares, cuts to the token, documents, and by how much what must go in is over."""

import gc
import weakref
from typing import Any

import pytest
from dialogues import MODEL, TOOLS, WINDOW, counter, dialogue, history_of, messages_of, sent

from ctxmode_cli.context.config import Budget, ContextConfig
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Plan, State
from ctxmode_cli.context.steps.assemble import assemble
from ctxmode_cli.context.steps.budget import OverBudgetError, fit
from ctxmode_cli.context.steps.tool_outputs import sent_forms
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError

# A message of these dialogues is 3 + 1 and the two tokens of its content ("u0"): 6; the opening of the reply is 3.


def manager(script: str, mode: str = "sliding", *, tools: Any = (), **settings: Any) -> ContextManager:
    contents = settings.pop("contents", {})
    session = ContextManager(ContextConfig(mode=mode, model=MODEL, **settings), history=History(counter(), tools=tools))
    for message in dialogue(script, **contents):
        session.append(message)
    return session


def test_budget_is_clamped_to_the_window() -> None:
    """The input budget is the smaller of max_tokens and what the window leaves beside the reserved output."""
    assert ContextConfig(max_tokens=8000).budget(128_000).request == 8000
    assert ContextConfig(max_tokens=200_000).budget(128_000).request == 126_000
    assert ContextConfig(max_tokens=8000, reserved_output=1000).budget(8192).request == 7192


def test_budget_of_full_is_the_window() -> None:
    """Full is held by the window alone, not by max_tokens nor by shares."""
    config = ContextConfig(mode="full", max_tokens=8000, system_tokens=1, input_tokens=1, history_tokens=1)
    assert config.budget(128_000) == Budget(126_000)


def test_budget_needs_room() -> None:
    """An output that takes the whole window is an error."""
    with pytest.raises(CtxmodeError, match="whole window of 2000 tokens"):
        ContextConfig(reserved_output=2000).budget(2000)
    assert ContextConfig(reserved_output=1999).budget(2000).request == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"mode": "slidng"}, 'mode is "slidng"'),
        ({"summary_trigger": "often"}, 'summary_trigger is "often"'),
        ({"summary_strategy": "x"}, 'summary_strategy is "x"'),
        ({"summary_role": "user"}, 'summary_role is "user"'),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"reserved_output": -1}, "reserved_output is -1"),
        ({"history_tokens": -1}, "history_tokens is -1"),
        ({"sliding_turns": -1}, "sliding_turns is -1"),
        ({"sliding_turns": 2, "sliding_low": 3}, "sliding_low is 3, more than"),
        ({"summary_threshold": -1}, "summary_threshold is -1"),
        ({"summary_target_tokens": 0}, "summary_target_tokens is 0"),
        ({"budget_low": 0}, "budget_low is 0"),
        ({"budget_low": 1.01}, "budget_low is 1.01"),
        ({"budget_low": float("nan")}, "budget_low is nan"),
        ({"compress_ratio": 0}, "compress_ratio is 0"),
        ({"compress_ratio": 1.01}, "compress_ratio is 1.01"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], complaint: str) -> None:
    """A setting out of its range is an error that names it and its value."""
    with pytest.raises(CtxmodeError, match=complaint):
        ContextConfig(**settings)


@pytest.mark.parametrize(
    ("room", "pieces", "tokens"),
    [
        (39, "0-0 1-4 5-5", 39),
        (38, "0-0 3-4 5-5", 27),
        (27, "0-0 3-4 5-5", 27),
        (26, "0-0 5-5", 15),
        (15, "0-0 5-5", 15),
    ],
)
def test_history_is_cut_to_the_token(room: int, pieces: str, tokens: int) -> None:
    """Whole turns go, oldest first, where the request is one token over, and not before."""
    context = manager("s u a u a u", max_tokens=room).build_context()
    assert (sent(context), context.prompt_tokens, context.trimmed) == (pieces, tokens, room != 39)


@pytest.mark.parametrize(("room", "pieces"), [(45, "0-0 1-5 6-6"), (44, "0-0 2-5 6-6")])
def test_preamble_is_cut_first(room: int, pieces: str) -> None:
    """The greeting before the first user message is the first to go."""
    assert sent(manager("s a u a u a u", "full", reserved_output=WINDOW - room).build_context()) == pieces


def test_full_is_trimmed_by_the_window_only() -> None:
    """Full loses its oldest turns where the window forces it, and counts the request as trimmed."""
    context = manager("s u a u a u", "full", max_tokens=1, reserved_output=WINDOW - 38).build_context()
    assert (sent(context), context.trimmed) == ("0-0 3-4 5-5", True)
    assert not manager("s u a u a u", "full", max_tokens=1).build_context().trimmed


def test_tool_schemas_count_against_the_budget() -> None:
    """Tool schemas go with every request, so that they leave less room for history."""
    schemas = counter().tools(TOOLS[1])
    assert schemas > 20
    context = manager("u a u", tools=TOOLS[1], max_tokens=schemas + 21).build_context()
    assert (sent(context), context.prompt_tokens) == ("0-1 2-2", schemas + 21)
    assert sent(manager("u a u", tools=TOOLS[1], max_tokens=schemas + 20).build_context()) == "2-2"


@pytest.mark.parametrize(("share", "pieces"), [(24, "0-0 1-4 5-5"), (23, "0-0 3-4 5-5"), (11, "0-0 5-5")])
def test_history_share_is_a_ceiling(share: int, pieces: str) -> None:
    """History keeps at most its share, though the budget has room for more."""
    assert sent(manager("s u a u a u", history_tokens=share).build_context()) == pieces


def test_unused_shares_are_free() -> None:
    """Shares that are not used take nothing away: the history gets all that is left of the budget."""
    context = manager("s u a u a u", max_tokens=39, system_tokens=30, input_tokens=30).build_context()
    assert (sent(context), context.trimmed) == ("0-0 1-4 5-5", False)


def test_system_share_is_a_ceiling() -> None:
    """System messages and tool schemas over their share are an error by just the tokens too many."""
    schemas = counter().tools(TOOLS[1])
    assert manager("s u s", tools=TOOLS[1], system_tokens=12 + schemas).build_context().length == 3
    with pytest.raises(OverBudgetError) as error:
        manager("s u s", tools=TOOLS[1], system_tokens=7 + schemas).build_context()
    assert (error.value.reason, error.value.over_by) == ("system", 5)


def test_input_share_is_a_ceiling() -> None:
    """A current input over its share is an error by just the tokens too many."""
    assert manager("s u", input_tokens=6).build_context().length == 2
    with pytest.raises(OverBudgetError) as error:
        manager("s u", input_tokens=2).build_context()
    assert (error.value.reason, error.value.over_by) == ("input", 4)


@pytest.mark.parametrize(
    ("room", "reason", "over_by"), [(8, "system", 1), (9, "input", 6), (14, "input", 1), (1, "system", 8)]
)
def test_what_cannot_fit_says_by_how_much(room: int, reason: str, over_by: int) -> None:
    """System messages that alone are over are named; else the current input is, by the tokens too many of both."""
    with pytest.raises(OverBudgetError) as error:
        manager("s u", max_tokens=room).build_context()
    assert (error.value.reason, error.value.over_by) == (reason, over_by)
    assert f"{over_by} tokens over the budget" in str(error.value)
    assert isinstance(error.value, CtxmodeError)
    assert error.value.hint


# u0 is 6; a call group is a call (6, and 3 + 1 + 1 of its function) and a result (6): 17; the opening of the reply is 3.
LOOP = "u a:c t:c a:d t:d a:e t:e"


@pytest.mark.parametrize(
    ("room", "pieces", "tokens"),
    [(60, "0-6", 60), (59, "0-0 3-6", 43), (43, "0-0 3-6", 43), (42, "0-0 5-6", 26), (26, "0-0 5-6", 26)],
)
def test_tool_loop_loses_its_oldest_groups(room: int, pieces: str, tokens: int) -> None:
    """Of a tool loop over the budget the oldest call groups go; its user message and its newest group stay."""
    context = manager(LOOP, "zero", max_tokens=room).build_context()
    assert (sent(context), context.prompt_tokens, context.trimmed) == (pieces, tokens, room < 60)


def test_newest_group_that_does_not_fit_is_an_error() -> None:
    """Where user message and newest group are over, the error says by how much those two are."""
    with pytest.raises(OverBudgetError) as error:
        manager(LOOP, "zero", max_tokens=21).build_context()
    assert (error.value.reason, error.value.over_by) == ("input", 5)


def test_words_of_the_user_stay_in_a_cut_input() -> None:
    """User and system messages between the groups that go are sent, in their order."""
    # A late result made one turn of it: all before the last group is one step, a user's and a system message in it.
    context = manager("u a:c u s t:c a:e t:e", "zero", max_tokens=38).build_context()
    assert (sent(context), context.prompt_tokens) == ("0-0 2-3 5-6", 38)


def test_preamble_that_a_late_result_drew_in_goes_whole() -> None:
    """Of what was said before the user first spoke nothing is cut, not even a result in front that answers nothing."""
    script = "t:x a a:c u t:c"
    # Five messages of 6, the call's function 5, the opening 3: all of it is one group.
    assert sent(manager(script, "zero", max_tokens=38).build_context()) == "0-4"
    with pytest.raises(OverBudgetError) as error:
        manager(script, "zero", max_tokens=37).build_context()
    assert (error.value.reason, error.value.over_by) == ("input", 1)


def test_parallel_results_stay_together() -> None:
    """A group with several results goes or stays as one, whatever the order of its results."""
    script = "u a:c t:c a:d,e t:e t:d"
    assert sent(manager(script, "zero", max_tokens=40).build_context()) == "0-0 3-5"
    with pytest.raises(OverBudgetError):
        manager(script, "zero", max_tokens=30).build_context()


DOCUMENTS = [{"id": "1", "text": "opens at 9"}, {"id": "2", "text": "closes at 18"}]
NOTE = "Retrieved documents (generated note, not a message from the user):\n\n[1] opens at 9\n\n[2] closes at 18"


def documented(script: str, at: int, **settings: Any) -> ContextManager:
    contents = settings.pop("contents", {})
    session = ContextManager(ContextConfig(model=MODEL, **settings), history=History(counter()))
    for position, message in enumerate(dialogue(script, **contents)):
        session.append({**message, "documents": DOCUMENTS} if position == at else message)
    return session


def test_documents_stand_before_the_user_message() -> None:
    """The current turn's documents go as one generated note directly before its user message, in every mode."""
    for mode in ("zero", "full", "sliding"):
        session = documented("s u a u", 3, mode=mode)
        wire = session.build_request_messages()
        assert wire[-2:] == [{"role": "system", "content": NOTE}, {"role": "user", "content": "u3"}]
        assert "documents" not in wire[-1]


def test_documents_stay_for_the_whole_tool_loop() -> None:
    """In a tool loop the note stays before the turn's user message; a burst has one note for all its documents."""
    assert sent(documented("s u u a:c t:c", 2).build_context()) == "0-0 documents 1-4"


def test_documents_go_before_any_turn_does() -> None:
    """A note that would fit once a turn is cut goes all the same: documents are the first to be dropped."""
    note = 4 + counter().text(NOTE)
    long = {"u0": "word " * 100}
    whole = 3 + 4 + counter().text(long["u0"]) + 6 + 6
    cut = documented("u a u", 2, max_tokens=whole - 1, contents=long).build_context()
    assert (sent(cut), cut.trimmed) == ("2-2", True)
    assert 3 + note + 6 < whole - 1
    note_only = documented("u a u", 2, max_tokens=whole, contents=long).build_context()
    assert (sent(note_only), note_only.prompt_tokens, note_only.trimmed) == ("0-1 2-2", whole, True)


def test_documents_stay_where_a_share_cuts() -> None:
    """What is cut for a share of its own leaves the documents: dropping them would save no turn and no call group."""
    history = documented("u a u a u", 4, history_tokens=12).build_context()
    assert (sent(history), history.trimmed) == ("2-3 documents 4-4", True)
    note = 4 + counter().text(NOTE)
    beside_one_turn = documented("u a u a u", 4, history_tokens=23, max_tokens=9 + 12 + note).build_context()
    assert (sent(beside_one_turn), beside_one_turn.prompt_tokens) == ("2-3 documents 4-4", 9 + 12 + note)
    groups = documented(LOOP, 0, mode="zero", input_tokens=56).build_context()
    assert (sent(groups), groups.trimmed) == ("documents 0-0 3-6", True)


def test_turns_that_only_a_summary_crowded_out_come_back() -> None:
    """Where the summary fits the history's share but not the budget, it goes, and with it all that it cost in turns."""
    history = history_of(messages_of("u a u a u a u"))
    plan = Plan(0, Note("summary", "system", "so far", 50))
    budget = Budget(request=9 + 40, history=70)
    forms = sent_forms(history, ContextConfig())
    plan, _ = fit(history, history.frame, budget, plan, None, State(), forms)
    context = assemble(history, history.frame, plan, None, plan.start, forms, "head")
    assert (sent(context), context.prompt_tokens, context.stepped_down) == ("0-5 6-6", 9 + 36, "sliding")


def test_documents_go_before_call_groups_do() -> None:
    """Where call groups go to fit the budget, the documents are gone, however much room a group leaves."""
    large = {"t2": "word " * 100}
    context = documented(LOOP, 0, mode="zero", max_tokens=100, contents=large).build_context()
    assert (sent(context), context.prompt_tokens) == ("0-0 3-6", 43)
    assert 43 + 4 + counter().text(NOTE) <= 100


def test_documents_are_read_once_for_a_tool_loop() -> None:
    """Every mode and every request of a tool loop send the very same note; new documents make a new one."""
    session = documented("u a:c t:c", 0)
    other = ContextManager(ContextConfig(mode="zero", model=MODEL), history=session.history)
    note = session.build_context().pieces[0]
    session.append({"role": "assistant", "content": "on it"})
    assert session.build_context().pieces[0] is note
    assert other.build_context().pieces[0] is note
    session.append({"role": "user", "content": "u", "documents": DOCUMENTS[:1]})
    assert other.build_context().pieces[0].text == NOTE[: NOTE.index("\n\n[2]")]


class Text(str):
    """A text of which one can see whether it is still held."""

    __slots__ = ("__weakref__",)


def test_documents_are_forgotten_with_the_session() -> None:
    """After a reset nothing holds what was retrieved for a customer."""
    session = ContextManager(ContextConfig(model=MODEL), history=History(counter()))
    held = weakref.ref(text := Text("customer's own"))
    session.append(parse_message({"role": "user", "content": "u", "documents": [{"text": text}]}))
    del text
    assert "customer's own" in session.build_request_messages()[0]["content"]
    session.reset()
    gc.collect()
    assert held() is None


def test_documents_of_earlier_turns_are_not_sent() -> None:
    """Documents of earlier turns are not sent again."""
    assert sent(documented("s u a u", 1).build_context()) == "0-0 1-2 3-3"


def test_documents_go_first() -> None:
    """Where the note is one token too many a document goes, and all turns stay; with room for it nothing does."""
    note = 4 + counter().text(NOTE)
    kept = documented("u a u", 2, max_tokens=21 + note).build_context()
    assert (sent(kept), kept.prompt_tokens, kept.trimmed) == ("0-1 documents 2-2", 21 + note, False)
    dropped = documented("u a u", 2, max_tokens=20 + note).build_context()
    one = 4 + counter().text(NOTE[: NOTE.index("\n\n[2]")])
    assert (sent(dropped), dropped.prompt_tokens, dropped.trimmed) == ("0-1 documents 2-2", 21 + one, True)
    none = documented("u a u", 2, max_tokens=20 + one).build_context()
    assert (sent(none), none.prompt_tokens, none.trimmed) == ("0-1 2-2", 21, True)
