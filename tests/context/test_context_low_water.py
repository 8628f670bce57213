"""The low-water mark: where a budget's cut leaves history, for how long its start stays there, and what ends that."""

import json
from pathlib import Path
from typing import Any

import pytest
from dialogues import MODEL, WINDOW, counter, dialogue, messages_of

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context, Recorded
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryRequest, SummaryResult
from ctxmode_cli.conversation.parse import parse_message

GOLDEN = Path(__file__).resolve().parents[2] / ".." / "shared" / "golden"


def equal_turns() -> list[dict[str, Any]]:
    """60 turns; user 200 and reply 400 tokens each, with framing 3 + 1 (one token a word)."""
    turn = [{"role": "user", "content": ("time " * 196).strip()}, {"role": "assistant", "content": "person"}]
    turn[1]["content"] = ("person " * 396).strip()
    return turn * 60


def play(session: ContextManager, messages: list[dict[str, Any]]) -> list[Context]:
    made = []
    for message in messages:
        if message["role"] == "assistant" and session.history.turns:
            made.append(session.build_context())
        session.append(message)
    return made if message["role"] == "assistant" else [*made, session.build_context()]


def manager(mode: str = "full", **settings: Any) -> ContextManager:
    def summarizer(request: SummaryRequest) -> SummaryResult:
        return SummaryResult("so far", 2, request.messages_tokens)

    config = ContextConfig(mode=mode, model=MODEL, **settings)
    return ContextManager(config, summarizer=summarizer, history=History(counter()))


def first_sent(context: Context) -> int:
    return next(piece.start for piece in context.pieces if isinstance(piece, Recorded) and piece.purpose != "system")


# Of room for 12 turns (12 x 600, the input 200, the opening of the reply 3) the 13th complete turn forces a cut to the
# half: 6 turns, from turn 7 on; 7 more turns pass until there are 13 again. Turn n starts at message 2n.
ROOM = 12 * 600 + 200 + 3
STARTS = [0] * 13 + [7] * 7 + [14] * 7 + [21] * 7 + [28] * 7 + [35] * 7 + [42] * 7 + [49] * 5


@pytest.mark.parametrize(
    ("mode", "settings"),
    [
        ("full", {"reserved_output": WINDOW - ROOM}),
        ("sliding", {"max_tokens": ROOM, "sliding_turns": 60}),
        ("sliding", {"max_tokens": WINDOW, "history_tokens": ROOM - 203, "sliding_turns": 60}),
        ("summary", {"max_tokens": ROOM, "summary_threshold": None}),
    ],
)
def test_start_stays_until_the_budget_forces_the_next_cut(mode: str, settings: dict[str, Any]) -> None:
    """60 equal turns with room for 12, cut back to half of it: the start moves every seventh turn, in every mode."""
    contexts = play(manager(mode, budget_low=0.5, **settings), equal_turns())
    assert [first_sent(context) // 2 for context in contexts] == STARTS
    assert [context.trimmed for context in contexts] == [start > 0 for start in STARTS]
    assert sum(context.prompt_tokens for context in contexts) == 309_780  # as a window of 12 turns cut back to 6


def test_without_a_mark_the_start_moves_at_every_turn() -> None:
    """To the brim, each turn after the twelfth pushes one out: the same as a window of 12 turns."""
    contexts = play(manager("full", reserved_output=WINDOW - ROOM), equal_turns())
    assert [first_sent(context) // 2 for context in contexts] == [max(0, turn - 12) for turn in range(60)]
    assert sum(context.prompt_tokens for context in contexts) == 397_380


@pytest.mark.parametrize(
    ("name", "mode", "settings"),
    [
        ("zero", "zero", {}),
        ("full", "full", {}),
        ("sliding_12", "sliding", {"sliding_turns": 12}),
        ("sliding_12_to_6", "sliding", {"sliding_turns": 12, "sliding_low": 6}),
    ],
)
def test_golden_prompt_tokens(name: str, mode: str, settings: dict[str, Any]) -> None:
    """The golden conversation's prompt tokens, as an independent program worked them out."""
    if not GOLDEN.is_dir():
        pytest.skip("the golden conversation is not there")
    golden = json.loads((GOLDEN / "prompt_cache.json").read_text())["expected"]["breakpoint"][name]
    messages = json.loads((GOLDEN / "prompt_cache.jsonl").read_text())["messages"]
    contexts = play(manager(mode, max_tokens=WINDOW, **settings), messages)
    assert len(contexts) == golden["requests"]
    assert sum(context.prompt_tokens for context in contexts) == golden["prompt_tokens"]


# From here on a message is 3 + 1 and the two tokens of its content ("u0"): 6; a turn 12; the opening of the reply 3.


def starts(session: ContextManager, script: str, **contents: Any) -> list[int]:
    return [first_sent(context) for context in play(session, dialogue(script, **contents))]


@pytest.mark.parametrize(
    ("low", "expected"),
    [(1.0, [0, 0, 0, 2, 4]), (0.51, [0, 0, 0, 4, 4]), (0.5, [0, 0, 0, 4, 4]), (0.49, [0, 0, 0, 6, 6]), (0.01, [0, 0, 0, 6, 6])],
)  # fmt: skip
def test_mark_is_a_share_of_historys_room(low: float, expected: list[int]) -> None:
    """Of room for two turns (24) half holds one to the token, and less than half none."""
    assert starts(manager("sliding", max_tokens=33, budget_low=low), "u a u a u a u a u") == expected


def test_state_holds_the_cut() -> None:
    """The cut is in the state, so that a stored session goes on from where it was cut."""
    session = manager("sliding", max_tokens=33, budget_low=0.5)
    play(session, dialogue("u a u a u a u"))
    assert session._state.cut_start == 4
    again = manager("sliding", max_tokens=33, budget_low=0.5)
    for message in messages_of("u a u a u a u a u"):
        again.append(message)
    again._state = session._state
    assert first_sent(again.build_context()) == 4


def test_nothing_is_remembered_to_the_brim() -> None:
    """At 1 the budget cuts at each request for itself: a later request with more room takes in what fits."""
    session = manager("sliding", max_tokens=33)
    play(session, dialogue("u a u a u a u"))
    assert session._state.cut_start == 0


def test_all_is_sent_where_all_fits_again() -> None:
    """Where what the mode wants fits, nothing is left out for an earlier cut, and that cut is forgotten."""
    # Turn 0 is 6 + 3 + 1 + 31 = 41; the room is 60 - 9 = 51.
    session = manager("sliding", sliding_turns=2, max_tokens=60, budget_low=0.2)
    contexts = play(session, dialogue("u a u a u a u a u", a1="word " * 30))
    # 41 + 12 > 51: cut to 10 of history, that is to none. Then turns 1 and 2 are wanted, and fit.
    assert [(first_sent(context), context.trimmed) for context in contexts] == [
        (0, False),
        (0, False),
        (4, True),
        (2, False),
        (4, False),
    ]
    assert session._state.cut_start == 0


def test_refresh_that_moves_past_the_cut() -> None:
    """A summary that takes in what was cut leaves nothing to hold."""
    # Room for 51 - 9 = 42: three turns (36) and four are 48. At 4 the budget cuts to 21: one turn.
    settings = {"summary_threshold": 1, "summary_every": 3, "max_tokens": 51, "budget_low": 0.5}
    contexts = play(manager("summary", **settings), dialogue("u a u a u a u a u a u a u"))
    assert [(first_sent(context), context.trimmed) for context in contexts] == [
        (0, False), (0, False), (0, False), (0, False),
        (6, True),
        (8, False),  # five complete turns: a summary of the first four
        (8, False),
    ]  # fmt: skip


def test_late_result_gives_the_cut_up() -> None:
    """Where a late result joins the turns about the cut, history is cut anew, and no result goes without its call."""
    session = manager("full", reserved_output=WINDOW - 80, budget_low=0.5)
    play(session, dialogue("u a u a u a u a:c u a u a u"))
    # The call's turn is 17; all six are 77, over the room of 80 - 9 = 71: of its half 8 to 11 are 24, with the call 41.
    assert session._state.cut_start == 8
    for message in dialogue("t:c"):
        session.append(message)
    # All from 6 on is one turn now: 17 + 5 x 6 + 6 = 53. Of the 24 left the three turns before are 36; half holds one.
    assert first_sent(session.build_context()) == 4
    for message in dialogue("a u"):
        session.append(message)
    assert first_sent(session.build_context()) == 4  # 12 + 53 + 6, just the 71


def test_share_is_cut_to_its_mark() -> None:
    """A ceiling on history is cut to its mark like the budget, and a larger one counts for no more than the room."""
    assert starts(manager("sliding", history_tokens=24, budget_low=0.5), "u a u a u a u a u") == [0, 0, 0, 4, 4]
    settings = {"max_tokens": 33, "history_tokens": 30, "budget_low": 0.5}
    assert starts(manager("sliding", **settings), "u a u a u a u a u") == [0, 0, 0, 4, 4]


def test_input_that_leaves_less_room_forces_the_next_cut() -> None:
    """A held start moves where the current input grows until what is held no longer fits beside it."""
    session = manager("sliding", max_tokens=45, budget_low=0.7)
    # Room 36; at four turns (48) cut to 25: two turns, from 4 on. With an input of 18 the room is 24, which holds both;
    # with a call and a result more (11 + 6 + 5) it holds neither: of 45 - 3 - 35 = 7 the mark is 4.
    contexts = play(session, dialogue("u a u a u a u a u a:c t:c"))
    assert [first_sent(context) for context in contexts] == [0, 0, 0, 0, 4, 6]


DOCUMENT = "Retrieved documents (generated note, not a message from the user):\n\n[1] opens at 9"


def summary_of(tokens: int, **settings: Any) -> ContextManager:
    def wordy(request: SummaryRequest) -> SummaryResult:
        return SummaryResult("word " * (tokens - 5), tokens - 4, request.messages_tokens)

    settings = {"summary_threshold": 0, "summary_every": 2, "summary_role": "assistant", **settings}
    return ContextManager(
        ContextConfig(mode="summary", model=MODEL, **settings), summarizer=wordy, history=History(counter())
    )


def test_summary_over_the_mark_stays() -> None:
    """A summary that is over the mark and fits the room stays; turns come in behind it until they no longer fit."""
    contexts = play(summary_of(30, max_tokens=9 + 50, budget_low=0.5), dialogue("u a " * 5 + "u"))
    # Summary of three turns; with one turn 42, with two 54 > 50: cut to 25, so the turns go and the summary stays.
    told = [(context.summarised, first_sent(context), context.trimmed) for context in contexts]
    assert told == [(0, 0, False), (0, 0, False), (0, 0, False), (6, 6, False), (6, 6, False), (6, 10, True)]


def test_summary_and_turns_share_the_mark() -> None:
    """The mark is for all of history: what the summary takes of it is no turn's."""
    settings = {"max_tokens": 9 + 60, "budget_low": 0.5, "summary_every": 5}
    contexts = play(summary_of(10, **settings), dialogue("u a " * 11 + "u"))
    # The summary of the first six turns; with five more it is 70: of the mark of 30 it leaves 20, which is one turn.
    assert [first_sent(context) for context in contexts[-2:]] == [12, 20]


def documented(session: ContextManager, turns: int) -> Context:
    for message in dialogue("u a " * turns + "u"):
        session.append(message)
    session.append({"role": "user", "content": "u0", "documents": [{"id": "1", "text": "opens at 9"}]})
    return session.build_context()


def test_documents_use_what_the_mark_leaves_free() -> None:
    """Where the budget has cut the history, documents go in where they fit over the mark; at 1 that is nowhere."""
    note = counter().generated("system", counter().text(DOCUMENT))
    # The input is 12, the opening 3; four turns are 48, one token more than the room.
    room = 15 + 47
    free = 47 - note
    held = documented(manager("sliding", max_tokens=room, budget_low=(free + 0.5) / 47), 4)
    assert [getattr(piece, "purpose", "") for piece in held.pieces] == ["history", "documents", "input"]
    dropped = documented(manager("sliding", max_tokens=room, budget_low=(free + 1.5) / 47), 4)
    assert [piece.purpose for piece in dropped.pieces] == ["history", "input"]
    assert [piece.purpose for piece in documented(manager("sliding", max_tokens=room), 4).pieces] == [
        "history",
        "input",
    ]


def test_input_taken_back_leaves_the_cut() -> None:
    """A refused input changes nothing of where the history is cut."""
    session = manager("sliding", max_tokens=33, budget_low=0.5)
    play(session, dialogue("u a u a u a u"))
    session.append(parse_message({"role": "assistant", "content": "a7"}))
    before = session._state
    with pytest.raises(Exception, match="cannot fit"):
        session.build_request_messages("word " * 40)
    assert session._state is before
