"""What is lost and where it went: by hand, and whatever order it is counted in."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from assumptions import simulation
from dialogues import Digest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.steps.documents import HEADING
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.replay.breakdown import MAX_VALUES, MAX_WORST, Axis, Breakdown, Share
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.score.position import Place
from ctxmode_cli.score.scores import NOT_ASKED, WENT, Asked, Probes, Scores
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")


def fact(value: str, stated_at: int, *probe_at: int, kind: str = "k") -> dict[str, Any]:
    return {"id": f"the {value}", "kind": kind, "value": value, "stated_at": stated_at, "probe_at": list(probe_at)}


def talk(*texts: str) -> list[dict[str, Any]]:
    """User and assistant in turn."""
    return [{"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(texts)]


def conversation(messages: Sequence[Mapping[str, Any]], *facts: Mapping[str, Any], **fields: Any) -> Conversation:
    record = {"id": "c", "messages": messages, "facts": list(facts), **fields}
    return parse_conversation(record, where="log:1", default_id="c")


def went(record: Conversation, mode: str, **changed: Any) -> list[str | None]:
    """Where the facts of a record's probes went in one mode."""
    replay = Replay({mode: ContextConfig(mode=mode, **changed)}, COUNTER, Digest(0), simulation())
    return [score.went for score in replay(record).modes[mode].scores]


# --- where a lost fact went ---

COLOURS = conversation(
    talk("red", "ok", "blue", "ok", "green", "ok", "which?", "all"), fact("red", 0, 6), fact("green", 4, 6)
)


def test_outside_the_window() -> None:
    """A window of one turn has green and not red; without history both are outside; with all of it neither."""
    assert went(COLOURS, "sliding", sliding_turns=1) == ["window", None]
    assert went(COLOURS, "zero") == ["window", "window"]
    assert went(COLOURS, "full") == [None, None]


def test_dropped_by_the_budget() -> None:
    """What the mode wanted and the budget cut is told apart from what it did not want."""
    long = talk("gold", "ok", "red", "ok " * 400, "blue", "ok", "which?", "all")
    record = conversation(long, fact("gold", 0, 6), fact("red", 2, 6), fact("blue", 4, 6))
    assert went(record, "sliding", sliding_turns=2, max_tokens=200) == ["window", "budget", None]
    assert went(record, "sliding", sliding_turns=3, max_tokens=200) == ["budget", "budget", None]


def test_not_in_the_summary() -> None:
    """What was summarised and is not told is the summary's loss; what was never summarised is verbatim."""
    assert went(COLOURS, "summary", summary_threshold=1, summary_every=0) == ["summary", None]


def test_the_newest_mention_says_where_a_fact_went() -> None:
    """Red said again in the window's reach, and cut there, was lost to the budget, though it was first said outside."""
    record = conversation(talk("red", "ok", "red " * 300, "ok", "blue", "ok", "which?", "all"), fact("red", 0, 6))
    assert went(record, "sliding", sliding_turns=2, max_tokens=200) == ["budget"]


def test_unsendable_and_unmatched() -> None:
    """A request that cannot be sent loses all it needs; a fact that is not where its label says is nowhere."""
    record = conversation(talk("red", "ok", "word " * 400, "ok"), fact("red", 0, 2), fact("pink", 1, 2))
    assert went(record, "sliding", max_tokens=200) == ["unsendable", "unmatched"]


def test_documents_that_were_dropped() -> None:
    """A fact in the documents of this turn, which did not fit, went with them."""
    asked = {"role": "user", "content": "which?", "documents": [{"id": "d", "text": "red " * 400}]}
    record = conversation(
        [*talk("red", "ok", "blue", "ok"), asked, {"role": "assistant", "content": "all"}],
        fact("red", 0, 4),
    )
    assert went(record, "sliding", sliding_turns=1, max_tokens=200) == ["documents"]
    assert went(record, "sliding", sliding_turns=1, max_tokens=2000) == [None]


def test_chunks_that_were_not_chosen() -> None:
    """A fact in a chunk that others outranked was lost with the documents, and so was one in a chunk that did not fit."""
    texts = ("which one is it", "one of them", "red")
    asked = {"role": "user", "content": "which one?", "documents": [{"id": text, "text": text} for text in texts]}
    record = conversation(
        [*talk("red", "ok", "blue", "ok"), asked, {"role": "assistant", "content": "all"}],
        fact("red", 0, 4),
    )
    assert went(record, "sliding", sliding_turns=1, max_documents=2) == ["documents"]
    assert went(record, "sliding", sliding_turns=1, max_documents=3) == [None]
    # The reply's opening, one turn and the input of 5, 5 and 7 tokens, and the note.
    note = "\n\n".join([HEADING, *(f"[{number}] {text}" for number, text in enumerate(texts, 1))])
    everything = 3 + 5 + 5 + 7 + 4 + TokenCounter.for_model("gpt-4o").text(note)
    assert went(record, "sliding", sliding_turns=1, max_tokens=everything) == [None]
    assert went(record, "sliding", sliding_turns=1, max_tokens=everything - 1) == ["documents"]


# --- counting ---


class Row(NamedTuple):
    """What becomes of one probe."""

    fact: int
    age: int = 1
    place: Place | None = None
    request: int = 0
    lost: str = "window"


def scores_of(rows: Sequence[Row]) -> Scores:
    """The arrays of a few probes, which come request by request."""
    rows = sorted(rows, key=lambda row: row.request)
    asked = [Asked(number, number, number) for number in range(10)]
    facts, ages, requests = (np.array([row[column] for row in rows], dtype=np.int64) for column in (0, 1, 3))
    use = np.array([-1.0 if row.place is None else row.place.use for row in rows])
    position = np.array([np.nan if row.place is None else row.place.position for row in rows])
    went = np.array([WENT.index(row.lost) if row.place is None else -1 for row in rows], dtype=np.int64)
    return Scores(Probes(facts, requests, ages, asked, 0), use, position, went, np.full(len(went), NOT_ASKED))


def counted(axis: str, row: Row) -> str:
    """Where one probe is counted."""
    breakdown = Breakdown()
    breakdown.add(conversation(talk("x", "y"), fact("x", 0)), scores_of([row]))
    [value] = breakdown.axes[axis].shares or ()
    return value


@pytest.mark.parametrize(
    ("turns", "band"),
    [
        (1, "1-2"),
        (2, "1-2"),
        (3, "3-5"),
        (5, "3-5"),
        (6, "6-10"),
        (10, "6-10"),
        (11, "11-20"),
        (20, "11-20"),
        (21, ">20"),
    ],
)
def test_age_bands(turns: int, band: str) -> None:
    """Bands take in both of their ends."""
    assert counted("age", Row(0, turns)) == band


@pytest.mark.parametrize(
    ("place", "band"),
    [
        (None, "not in context"),
        (Place(0.0, 1), "head"),
        (Place(0.01, 1), "first third"),
        (Place(0.34, 1), "middle third"),
        (Place(0.67, 1), "last third"),
        (Place(1.0, 1), "last third"),
    ],
)
def test_position_bands(place: Place | None, band: str) -> None:
    """The head is exactly the beginning; thirds are of the whole prompt."""
    assert counted("position", Row(0, 1, place)) == band


def test_breakdown_by_hand() -> None:
    """Three probes of two facts: one at the head, one in the last third, one lost outside the window."""
    record = conversation(talk("red", "ok"), fact("red", 0, kind="colour"), fact("ok", 1, kind="word"), lang="en")
    breakdown = Breakdown()
    rows = [Row(0, 1, Place(0.0, 0.9)), Row(0, 7, request=3), Row(1, 2, Place(0.8, 0.5))]
    breakdown.add(record, scores_of(rows))
    shares = {axis: part.shares for axis, part in breakdown.axes.items()}
    assert shares == {
        "age": {"1-2": Share(2, 2, 1_400_000), "6-10": Share(1, 0, 0)},
        "position": {
            "head": Share(1, 1, 900_000), "not in context": Share(1, 0, 0), "last third": Share(1, 1, 500_000),
        },
        "kind": {"colour": Share(2, 1, 900_000), "word": Share(1, 1, 500_000)},
        "lang": {"en": Share(3, 2, 1_400_000)},
        "source": {"": Share(3, 2, 1_400_000)},
    }  # fmt: skip
    assert Share(2, 1, 900_000).in_context == Fraction(1, 2)
    assert Share(2, 1, 900_000).modelled == Fraction(9, 20)
    assert breakdown.went == {"window": 1}
    [case] = breakdown.worst
    assert case == (Fraction(1, 2), "c", 2, (("the red", "colour", "red", 3, "window"),))


def test_worst_conversations() -> None:
    """Listed are the ten that lose most facts, worst first; then by their ids; one that loses nothing is not."""
    breakdown = Breakdown()
    for number in [*range(0, 30, 2), *range(29, 0, -2)]:
        facts = [fact(f"v{index}", 0) for index in range(30)]
        rows = [Row(index, place=None if index < number // 2 else Place(0, 1)) for index in range(30)]
        breakdown.add(conversation(talk("x", "y"), *facts, id=f"{number:02}"), scores_of(rows))
    listed = [(int(case.lost), case.conversation) for case in breakdown.worst]
    assert listed == [
        (14, "28"),
        (14, "29"),
        (13, "26"),
        (13, "27"),
        (12, "24"),
        (12, "25"),
        (11, "22"),
        (11, "23"),
        (10, "20"),
        (10, "21"),
    ]
    assert [len(case.lost_facts) for case in breakdown.worst] == [MAX_WORST] * MAX_WORST
    assert breakdown.worst[0].lost_facts[0].fact == "the v0"


def test_conversations_that_lose_alike_are_listed_by_their_ids() -> None:
    """Of eleven that lose as much, the ten with the first ids are kept, whichever came first."""
    breakdown = Breakdown()
    for number in range(20, 9, -1):
        breakdown.add(conversation(talk("x", "y"), fact("v", 0), id=str(number)), scores_of([Row(0)]))
    assert [case.conversation for case in breakdown.worst] == [str(number) for number in range(10, 20)]


def test_long_names_are_cut() -> None:
    """A log may hold whole documents in its names; sixty characters of each are kept."""
    breakdown = Breakdown()
    record = conversation(talk("x", "y"), fact("v" * 99, 0, kind="k" * 99), source="s" * 99, id="i" * 99)
    breakdown.add(record, scores_of([Row(0)]))
    assert list(breakdown.axes["kind"].shares or ()) == ["k" * 60 + "…"]
    assert list(breakdown.axes["source"].shares or ()) == ["s" * 60 + "…"]
    assert breakdown.worst[0].conversation == "i" * 60 + "…"
    assert breakdown.worst[0].lost_facts[0].value == "v" * 60 + "…"


def test_axis_with_too_many_values_is_given_up() -> None:
    """Where nearly each record has a value of its own there is nothing to compare, in whatever order they come."""
    full, other = Axis(), Axis()
    for number in range(MAX_VALUES):
        full.share(str(number)).add(Share(1, 1, 0))
    other.share("0").add(Share(1, 1, 0))
    other += full
    assert other.shares is not None
    assert other.shares["0"] == Share(2, 2, 0)
    other.share("new")
    assert other.shares is None
    full += other
    assert full.shares is None
    full.share("0").add(Share(1, 1, 1))
    assert full.shares is None


ROWS = st.lists(
    st.builds(
        Row,
        st.integers(0, 2),
        st.integers(1, 30),
        st.none() | st.builds(Place, st.floats(0, 1), st.floats(0, 1)),
        st.integers(0, 9),
        st.sampled_from(["window", "budget"]),
    ),
    max_size=6,
)


@settings(max_examples=50)
@given(st.lists(ROWS, max_size=14), st.integers(0, 14), st.randoms(use_true_random=False))
def test_any_order_and_any_shards(sessions: list[list[Row]], cut: int, random: Random) -> None:
    """However conversations are ordered and spread, the breakdown is the same, its worst cases too."""
    facts = [fact(value, 0) for value in ("a", "b", "c")]
    records = [(conversation(talk("x", "y"), *facts, id=str(number)), rows) for number, rows in enumerate(sessions)]
    together, total = Breakdown(), Breakdown()
    for record, rows in records:
        together.add(record, scores_of(rows))
    random.shuffle(records)
    for shard in (records[:cut], records[cut:]):
        part = Breakdown()
        for record, rows in shard:
            part.add(record, scores_of(rows))
        total += part
    assert total == together
    probes = sum(map(len, sessions))
    for axis in total.axes.values():
        assert axis.shares is not None
        assert sum(share.probes for share in axis.shares.values()) == probes
