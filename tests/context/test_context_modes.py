"""What each mode sends, worked out by hand: window starts, refreshes of the summary, steps down."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from dialogues import MODEL, counter, dialogue, history_of, play, sent

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Recorded
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.context.steps.budget import OverBudgetError
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError


@dataclass
class Recorder:
    """A summarizer that remembers what it was asked, and fails at the calls of the given numbers."""

    fails: frozenset[int] = frozenset()
    asked: list[SummaryRequest] = field(default_factory=list)

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        self.asked.append(request)
        number = len(self.asked)
        if number in self.fails:
            raise SummaryError("no answer", prompt_tokens=77)
        text = f"summary {number}"
        return SummaryResult(text, counter().text(text), 100 + number, unseen_tokens=number)

    def told(self) -> list[list[Any]]:
        return [[message.content for message in request.messages] for request in self.asked]


def manager(mode: str, summarizer: Recorder | None = None, **settings: Any) -> ContextManager:
    config = ContextConfig(mode=mode, model=MODEL, **settings)
    return ContextManager(config, summarizer=summarizer, history=History(counter()))


def exchanges(count: int) -> str:
    return " ".join(["u a"] * count)


def test_zero_sends_system_messages_and_current_input() -> None:
    """Zero sends all system messages, wherever they stand, and the current turn so far."""
    contexts = play(manager("zero"), "s u a d u s a:c t:c a")
    assert [sent(context) for context in contexts] == ["0-0 1-1", "0-0 3-3 4-5", "0-0 3-3 4-7"]


def test_zero_leaves_the_preamble_out() -> None:
    """A greeting before the user first spoke is history, which zero does not send."""
    assert [sent(context) for context in play(manager("zero"), "s a u a")] == ["0-0 2-2"]


def test_full_sends_everything() -> None:
    """Full sends all that was said so far, the preamble too."""
    assert [sent(context) for context in play(manager("full"), "s a u a d u a")] == ["0-0 1-1 2-2", "0-0 1-4 5-5"]


def test_sliding_keeps_the_last_turns() -> None:
    """A window of two turns starts at the second last complete turn; the preamble goes with the first."""
    contexts = play(manager("sliding", sliding_turns=2), "s a " + exchanges(5))
    assert [sent(context) for context in contexts] == [
        "0-0 1-1 2-2",
        "0-0 1-3 4-4",
        "0-0 1-5 6-6",
        "0-0 4-7 8-8",
        "0-0 6-9 10-10",
    ]


def test_sliding_moves_once_a_turn() -> None:
    """Within a tool loop the window's start stays where it was when the turn began."""
    contexts = play(manager("sliding", sliding_turns=1), "u a u a u a:c t:c a:d t:d a")
    assert [sent(context) for context in contexts[2:]] == ["2-3 4-4", "2-3 4-6", "2-3 4-8"]


def test_sliding_grows_and_is_cut_back() -> None:
    """With hysteresis the window grows to its number of turns, then is cut back to the low mark."""
    contexts = play(manager("sliding", sliding_turns=4, sliding_low=2), exchanges(10))
    starts = [context.pieces[0].start for context in contexts if isinstance(context.pieces[0], Recorded)]
    assert starts == [0, 0, 0, 0, 0, 6, 6, 6, 12, 12]


def test_sliding_of_no_turns_is_zero() -> None:
    """A window of no turns sends the current input only."""
    assert sent(play(manager("sliding", sliding_turns=0), "s u a u")[-1]) == "0-0 3-3"


def test_sliding_goes_back_where_turns_join() -> None:
    """Where a late result makes one turn of several, the window still holds as many complete turns as it may."""
    contexts = play(manager("sliding", sliding_turns=2), "u a u a u a:c u a u a u t:c a u a")
    # Turns start at 0, 2, 4, 6, 8 and 10 until the result at 11 makes one turn of all from 4 on.
    assert [sent(context) for context in contexts[-2:]] == ["0-3 4-11", "2-12 13-13"]


def test_sliding_window_is_full_after_turns_joined_unseen() -> None:
    """Turns that join while no request is made do not leave a window of fewer turns than there are."""
    session = manager("sliding", sliding_turns=3)
    play(session, "u a:c u a u a u a u a u")
    for message in dialogue("t:c u t:x u t:x u t:x u"):
        session.append(message)
    # One turn from 0 to 11, then turns at 12, 14, 16 and 18.
    assert sent(session.build_context()) == "12-17 18-18"


def test_summary_by_turns_follows_its_schedule() -> None:
    """With 6 kept and every 4, the first refresh comes at 11 complete turns, the next ones 5 turns later each."""
    summarizer = Recorder()
    contexts = play(manager("summary", summarizer), "s " + exchanges(18))
    refreshed = [index for index, context in enumerate(contexts) if context.summary_call is not None]
    assert refreshed == [11, 16]
    # Turn n starts at 1 + 2n. At 11 complete turns, all but the last 6 are the first 5: messages 1 to 10.
    assert [sent(contexts[index]) for index in (10, 11, 12, 15)] == [
        "0-0 1-20 21-21",
        "0-0 summary 11-22 23-23",
        "0-0 summary 11-24 25-25",
        "0-0 summary 11-30 31-31",
    ]
    assert [sent(contexts[index]) for index in (16, 17)] == ["0-0 summary 21-32 33-33", "0-0 summary 21-34 35-35"]


def test_summary_rolls() -> None:
    """Rolling tells the last summary and what left the window since; the system messages are left out."""
    summarizer = Recorder()
    play(manager("summary", summarizer, summary_threshold=1, summary_every=1), "a u a s u a u a u a u a u a")
    assert summarizer.told() == [["a0", "u1", "a2", "u4", "a5"], ["u6", "a7", "u8", "a9"]]
    assert [request.previous for request in summarizer.asked] == [None, "summary 1"]


def test_summary_rebuilds() -> None:
    """Rebuild tells all originals again, without the last summary."""
    summarizer = Recorder()
    settings = {"summary_threshold": 1, "summary_every": 0, "summary_strategy": "rebuild"}
    play(manager("summary", summarizer, **settings), exchanges(4))
    assert summarizer.told() == [["u0", "a1"], ["u0", "a1", "u2", "a3"]]
    assert [request.previous for request in summarizer.asked] == [None, None]


def test_summary_request_is_measured() -> None:
    """The summarizer is told the tokens of the messages that it is given, and its target."""
    summarizer = Recorder()
    settings = {"summary_threshold": 0, "summary_every": 0, "summary_target_tokens": 55}
    play(manager("summary", summarizer, **settings), "u s a u", u0="hello", a2="hi")
    # role 3 + 1 and one token of content each; the system message between them is not told
    assert [(request.messages_tokens, request.target_tokens) for request in summarizer.asked] == [(10, 55)]


def test_summary_by_tokens() -> None:
    """By tokens, a refresh comes when the history is over its share of the input budget, and covers all but the kept."""
    summarizer = Recorder()
    settings = {"summary_threshold": 1, "summary_trigger": "tokens", "max_tokens": 100, "compress_ratio": 0.3}
    contexts = play(manager("summary", summarizer, **settings), exchanges(5))
    # Each message is 3 + 1 + 2 tokens ("u", "0"): 12 a turn; 30 is passed at three complete turns (36). After that the
    # history is the summary (3 + 1 + 3) and the turns since: over 30 again with the next turn (31).
    assert [sent(context) for context in contexts] == [
        "0-0",
        "0-1 2-2",
        "0-3 4-4",
        "summary 4-5 6-6",
        "summary 6-7 8-8",
    ]
    assert len(summarizer.asked) == 2


@pytest.mark.parametrize(("trigger", "calls"), [("turns", 0), ("tokens", 1), ("both", 1)])
def test_summary_trigger_names_what_asks(trigger: str, calls: int) -> None:
    """With many tokens in few turns, `turns` asks for nothing, `tokens` and `both` do."""
    summarizer = Recorder()
    settings = {"summary_threshold": 1, "summary_every": 4, "max_tokens": 1000, "compress_ratio": 0.1}
    play(manager("summary", summarizer, summary_trigger=trigger, **settings), "u a u a u", u0="word " * 200)
    assert len(summarizer.asked) == calls


@pytest.mark.parametrize(("trigger", "calls"), [("turns", 1), ("tokens", 0), ("both", 1)])
def test_summary_trigger_by_turns_needs_no_tokens(trigger: str, calls: int) -> None:
    """With many short turns, `tokens` asks for nothing, `turns` and `both` do."""
    summarizer = Recorder()
    settings = {"summary_threshold": 1, "summary_every": 1, "summary_trigger": trigger}
    play(manager("summary", summarizer, **settings), "u a u a u a u")
    assert len(summarizer.asked) == calls


def test_summary_stands_after_the_leading_system_messages() -> None:
    """The summary follows the leading system messages; later ones that it passes follow it, in their order."""
    session = manager("summary", Recorder(), summary_threshold=0, summary_every=0, summary_role="assistant")
    context = play(session, "s d u s a d u")[-1]
    assert sent(context) == "0-1 summary 3-3 5-5 6-6"
    assert context.messages(session.history)[2] == {"role": "assistant", "content": "summary 1"}


def test_summary_call_is_counted() -> None:
    """The request that a summary was made for carries the call's figures."""
    context = play(manager("summary", Recorder(), summary_threshold=0, summary_every=0), "u a u")[-1]
    assert context.summary_call is not None
    assert context.summary_call._asdict() == {
        "purpose": "summary",
        "model": "gpt-4o-mini",
        "prefix": None,
        "message": None,
        "strategy": "rolling",
        "prompt_tokens": 101,
        "completion_tokens": 3,
        "unseen_tokens": 1,
        "failed": False,
        "text": "summary 1",
    }


def test_failed_summary_falls_back_and_tries_again() -> None:
    """Where the summary fails, that request is a sliding one and says so; the next one tries again, nothing is lost."""
    summarizer = Recorder(fails=frozenset({2, 3}))
    settings = {"summary_threshold": 1, "summary_every": 0, "sliding_turns": 2}
    contexts = play(manager("summary", summarizer, **settings), exchanges(6))
    assert [(sent(context), context.stepped_down) for context in contexts] == [
        ("0-0", None),
        ("0-1 2-2", None),
        ("summary 2-3 4-4", None),
        ("2-5 6-6", "sliding"),
        ("4-7 8-8", "sliding"),
        ("summary 8-9 10-10", None),
    ]
    assert [request.previous for request in summarizer.asked] == [None, *["summary 1"] * 3]
    assert summarizer.told()[3] == ["u2", "a3", "u4", "a5", "u6", "a7"]
    failed = [
        context.summary_call for context in contexts if context.summary_call is not None and context.summary_call.failed
    ]
    assert [(call.prompt_tokens, call.completion_tokens) for call in failed] == [(77, 0), (77, 0)]


def test_failed_summary_steps_down_to_zero() -> None:
    """Where the sliding window does not fit either, the request is a zero one and says so."""
    settings = {"summary_threshold": 0, "summary_every": 0, "max_tokens": 20}
    contexts = play(manager("summary", Recorder(fails=frozenset({1})), **settings), "u a u", a1="word " * 50)
    assert (sent(contexts[-1]), contexts[-1].stepped_down, contexts[-1].trimmed) == ("2-2", "zero", True)


def test_failed_summary_stays_sliding_where_some_turns_fit() -> None:
    """A sliding window that only loses its oldest turns to the budget is still a step down to sliding."""
    settings = {"summary_threshold": 0, "summary_every": 1, "max_tokens": 40}
    contexts = play(manager("summary", Recorder(fails=frozenset({1})), **settings), "u a u a u", a1="word " * 50)
    assert (sent(contexts[-1]), contexts[-1].stepped_down) == ("2-3 4-4", "sliding")


def test_summary_that_does_not_fit_steps_down_to_zero() -> None:
    """Where the summary itself is over what the history may hold, the request is a zero one; the summary is kept."""
    settings = {"summary_threshold": 0, "summary_every": 0, "max_tokens": 40, "sliding_turns": 2}
    contexts = play(manager("summary", Recorder(), **settings), "u a u a u", u2="word " * 25)
    # "summary 1" is 3 + 1 + 3 tokens: beside the input of 30 and the reply's opening it has room for no more than 7.
    assert [(sent(context), context.stepped_down) for context in contexts[1:]] == [
        ("summary 2-2", None),
        ("summary 4-4", None),
    ]
    settings["max_tokens"] = 36
    contexts = play(manager("summary", Recorder(), **settings), "u a u a u", u2="word " * 25)
    assert [(sent(context), context.stepped_down, context.summarised) for context in contexts[1:]] == [
        ("2-2", "zero", 0),
        ("summary 4-4", None, 4),
    ]


def test_turns_go_in_where_only_the_summary_does_not_fit() -> None:
    """Where the summary alone is over what the history may hold, turns that fit go in without it."""

    def wordy(request: SummaryRequest) -> SummaryResult:
        return SummaryResult("word " * 30, 31, request.messages_tokens)

    config = ContextConfig(
        mode="summary", model=MODEL, summary_threshold=1, summary_every=0, max_tokens=40, summary_role="assistant"
    )
    session = ContextManager(config, summarizer=wordy, history=History(counter()))
    [*_, context] = play(session, "u a u a u")
    # A turn is 2 x (3 + 1 + 2) = 12 tokens, the input 6, the opening 3: of 40, the summary's 3 + 1 + 31 leave too little.
    assert (sent(context), context.stepped_down, context.trimmed) == ("2-3 4-4", "sliding", True)


def test_unsendable_request_pays_for_no_summary() -> None:
    """Where the current input does not fit, no summary is called in vain."""
    summarizer = Recorder()
    session = manager("summary", summarizer, summary_threshold=0, summary_every=0, max_tokens=20)
    for message in dialogue("u a u", u2="word " * 50):
        session.append(message)
    with pytest.raises(OverBudgetError):
        session.build_context()
    assert not summarizer.asked


def test_dropped_messages_are_neither_sent_nor_told() -> None:
    """What the budget or the window leaves out is counted as dropped; what the summary tells is not."""
    window = manager("sliding", sliding_turns=1)
    assert play(window, "s u a s u a u a u")[-1].dropped_messages(window.history) == 4
    summarising = manager("summary", Recorder(), summary_threshold=1, summary_every=0)
    assert play(summarising, "s u a s u a u a u")[-1].dropped_messages(summarising.history) == 0


def test_late_result_of_a_summarised_call_drops_the_summary() -> None:
    """Where a late result answers a call that was summarised, the summary no longer ends at a turn and is given up."""
    summarizer = Recorder()
    settings = {"summary_threshold": 1, "summary_every": 0}
    contexts = play(manager("summary", summarizer, **settings), "u a u a:c u a u a u t:c a")
    assert [sent(context) for context in contexts[-2:]] == ["summary 4-5 6-6", "0-1 2-9"]


def test_late_result_is_seen_though_a_new_turn_began() -> None:
    """The same holds where the next turn has begun before a request is made: no result goes without its call."""
    session = manager("summary", Recorder(), summary_threshold=1, summary_every=0)
    play(session, "u a u a:c u a u a u")
    for message in dialogue("t:c u"):
        session.append(message)
    # Turns start at 0, 2 and 10: the first goes into a new summary, the second is whole.
    assert sent(session.build_context()) == "summary 2-9 10-10"


def test_unanswered_call_freezes_nothing() -> None:
    """A call that is never answered leaves with its turn like any other message."""
    contexts = play(manager("sliding", sliding_turns=1), "u a:lost u a u a u a")
    assert [sent(context) for context in contexts] == ["0-0", "0-1 2-2", "2-3 4-4", "4-5 6-6"]


def test_summary_mode_needs_a_summarizer() -> None:
    """A summary mode without a summarizer is an error that names what is missing."""
    with pytest.raises(CtxmodeError, match="summarizer"):
        manager("summary")


def test_modes_do_not_need_a_summarizer() -> None:
    """The other modes are built without a summarizer and share a history."""
    history = history_of([parse_message(message) for message in dialogue("u a u")])
    for mode in ("zero", "full", "sliding"):
        assert ContextManager(ContextConfig(mode=mode), history=history).build_context().length == 3
