"""Probes and recall in context, on cases worked out by hand."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import History, Note, Recorded
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.score.position import USE_UNITS, Curve, Place, PositionProfile
from ctxmode_cli.score.recall import FactPlaces, Recall, probed_facts
from ctxmode_cli.score.scores import Asked, Judge, Probes
from ctxmode_cli.tokens.counter import TokenCounter


def fact(value: str, stated_at: int, probe_at: Sequence[int] = (), superseded_at: int | None = None) -> Fact:
    return Fact(
        value, "kind", value, (), stated_at, superseded_at, None, tuple(probe_at), negative=False, question=None
    )


def messages(*texts: str) -> list[Message]:
    return [parse_message({"role": "user", "content": text}) for text in texts]


# A record of three turns; the second holds a tool loop with three requests:
#   0 system, 1 user, 2 assistant | 3 user, 4 call, 5 result, 6 call, 7 result, 8 assistant | 9 user, 10 assistant
TEXTS = ("policy", "red", "ok", "blue?", "call", "green", "call", "result", "done", "gold?", "bye")
ASKED = [Asked(0, 1, 2), Asked(1, 3, 4), Asked(4, 9, 10)]
"""The first request of each turn; requests 2 and 3 are later ones of the tool loop."""
REQUESTS = 5


class Probe(NamedTuple):
    fact: int
    age_turns: int


def probes_of(
    facts: Sequence[Fact],
    *,
    every_turn: bool = False,
    texts: Sequence[str] = TEXTS,
    asked: Sequence[Asked] = ASKED,
    turns: Sequence[int] = (1, 3, 9),
) -> tuple[list[list[Probe]], int]:
    """The probes of each request, and how many labelled ones were left out."""
    places = FactPlaces(facts, messages(*texts), probed_facts(facts, every_turn=every_turn))
    probes = Probes.of(facts, places, asked, turns, every_turn=every_turn)
    due: list[list[Probe]] = [[] for _ in range(REQUESTS)]
    for fact, index, age in zip(probes.fact.tolist(), probes.asked.tolist(), probes.age_turns.tolist(), strict=True):
        due[asked[index].request].append(Probe(fact, age))
    return due, probes.unprobed


def probed_requests(*facts: Fact, every_turn: bool = False) -> tuple[list[int], int]:
    due, unprobed = probes_of(facts, every_turn=every_turn)
    return [request for request, probes in enumerate(due) for _ in probes], unprobed


def test_probe_is_the_first_request_after_its_user_message() -> None:
    """In a tool loop only the first request is a probe."""
    assert probed_requests(fact("red", 1, [3])) == ([1], 0)


def test_probe_in_a_later_turn() -> None:
    """Each user message that needs the fact is one probe, at the turn's first request."""
    assert probed_requests(fact("red", 1, [3, 9])) == ([1, 4], 0)


def test_fact_stated_in_this_turn_is_not_probed() -> None:
    """A fact that is stated in the current turn, or later, cannot have been lost from history."""
    assert probed_requests(fact("green", 5, [3])) == ([], 1)
    assert probed_requests(fact("gold?", 9, [9])) == ([], 1)
    assert probed_requests(fact("gold?", 9, [3])) == ([], 1)
    assert probed_requests(fact("said nowhere", 9, [9])) == ([], 1)


def test_fact_stated_by_the_system_message_is_probed() -> None:
    """What the system prompt says counts as stated before every turn."""
    due, _ = probes_of([fact("policy", 0, [3])])
    assert due[1] == [Probe(fact=0, age_turns=1)]


def test_superseded_fact_is_not_probed() -> None:
    """A fact that no longer holds is not asked for, not even in the turn that changes it; before that it is."""
    assert probed_requests(fact("red", 1, [3, 9], superseded_at=3)) == ([], 2)
    assert probed_requests(fact("red", 1, [3, 9], superseded_at=8)) == ([1], 1)
    assert probed_requests(fact("red", 1, [9], superseded_at=9)) == ([], 1)
    assert probed_requests(fact("red", 1, [9], superseded_at=10)) == ([4], 0)


def test_fact_that_the_input_states_is_not_probed() -> None:
    """A value that the current input says itself needs no history."""
    texts = [*TEXTS[:9], "gold or red?", *TEXTS[10:]]
    due, unprobed = probes_of([fact("red", 1, [3, 9])], texts=texts)
    assert ([len(probes) for probes in due], unprobed) == ([0, 1, 0, 0, 0], 1)


def test_probe_without_a_request_is_unprobed() -> None:
    """A label after the last request, or before any turn, is counted and no probe."""
    assert probed_requests(fact("red", 1, [10])) == ([], 1)
    assert probed_requests(fact("policy", 0, [0])) == ([], 1)


def test_two_labels_in_one_input_are_one_probe() -> None:
    """A probe is a pair of fact and request: a burst of user messages that needs a fact twice asks once."""
    burst, left_out = probes_of(
        [fact("red", 0, [1, 2])], texts=("red", "a", "b", "c"), asked=[Asked(0, 1, 3)], turns=(0, 1)
    )
    assert (burst[0], left_out) == ([Probe(0, 1)], 0)
    due, unprobed = probes_of([fact("red", 1, [3, 4])])
    assert ([len(probes) for probes in due], unprobed) == ([0, 1, 0, 0, 0], 1)  # 4 lies behind request 1, in its loop


def test_every_turn_takes_the_first_request_of_each_later_turn() -> None:
    """`--probes all` asks for every fact in every later turn, once, whatever the labels say."""
    assert probed_requests(fact("red", 1), every_turn=True) == ([1, 4], 0)
    assert probed_requests(fact("green", 5), every_turn=True) == ([4], 0)
    assert probed_requests(fact("gold?", 9), every_turn=True) == ([], 0)
    assert probed_requests(fact("red", 1, [10], superseded_at=8), every_turn=True) == ([1], 0)


def test_age_is_counted_in_turns() -> None:
    """A fact's age is the number of turns since the one that stated it."""
    due, _ = probes_of([fact("red", 1, [3, 9]), fact("green", 5, [9])])
    assert due[1] == [Probe(0, 1)]
    assert due[4] == [Probe(0, 2), Probe(1, 1)]


def test_only_labelled_facts_are_probed() -> None:
    """Facts without `probe_at` are left out, unless every turn is a probe."""
    facts = [fact("red", 1), fact("blue", 3, [9])]
    assert probed_facts(facts, every_turn=False) == [1]
    assert probed_facts(facts, every_turn=True) == [0, 1]


# --- in context ---

# Each word is one token, so that a message is 5 tokens: 3 for itself, one for its role, one for its text.
WORD = 5
REPLY = 3
COUNTER = TokenCounter.for_model("gpt-4o")
RISING = PositionProfile("rising", (1,), (Curve((0.0, 1.0), (0.0, 1.0)),))
"""Use is the position itself."""
FALLING = PositionProfile("falling", (1,), (Curve((0.0, 1.0), (1.0, 0.0)),))
SCHEMA = {"type": "function", "function": {"name": "look", "description": "look up", "parameters": {"type": "object"}}}


def history_of(*texts: str, tools: Sequence[Mapping[str, Any]] = ()) -> History:
    history = History(COUNTER, tools=tools)
    for message in messages(*texts):
        history.append(message)
    return history


def context_of(*pieces: Piece) -> Context:
    tokens = REPLY + sum(piece.tokens for piece in pieces)
    return Context(pieces, prompt_tokens=tokens, length=0, summarised=0, trimmed=False)


def sent(purpose: str, start: int, stop: int) -> Recorded:
    return Recorded(purpose, start, stop, WORD * (stop - start))


def summary(text: str) -> Note:
    return Note("summary", "system", text, 10)


def best_place(
    index: int, facts: Sequence[Fact], context: Context, history: History, profile: PositionProfile = RISING
) -> Place | None:
    """Where a fact stands best in a context that is all history."""
    wanted = range(len(facts))
    places = FactPlaces(facts, history.messages, wanted)
    stop = len(history)
    probes = Probes(np.array([index]), np.array([0]), np.array([1]), [Asked(0, stop, stop)], 0)
    [score] = Judge(probes, places, history, profile)([context])
    return score.place


def place(
    texts: Sequence[str],
    *pieces: Piece,
    profile: PositionProfile = RISING,
    tools: Sequence[Mapping[str, Any]] = (),
    value: str = "red",
    stated_at: int = 0,
) -> Place | None:
    """Where a fact stands best, of a context made of these pieces."""
    return best_place(0, [fact(value, stated_at)], context_of(*pieces), history_of(*texts, tools=tools), profile)


@pytest.mark.parametrize(
    ("pieces", "carried"),
    [
        ([sent("history", 0, 1)], True),
        ([sent("system", 0, 1)], True),
        ([sent("history", 1, 2)], False),
        ([sent("input", 0, 3)], False),
        ([summary("- Red it is\n")], True),
        ([summary("- reddish\n")], False),
        ([Note("documents", "system", "the red one", 0)], True),
        ([sent("history", 1, 2), summary("- red\n"), sent("input", 2, 3)], True),
        ([], False),
    ],
)
def test_in_context(pieces: list[Piece], carried: bool) -> None:
    """A fact is in context where system messages, history or notes say it; the current input does not count."""
    assert (place(("red", "blue", "red"), *pieces) is not None) is carried


def test_repetition_keeps_a_fact_in_context() -> None:
    """A later message that says the value again carries it as well as the first."""
    assert place(("red", "blue", "red"), sent("history", 1, 3))


def test_value_across_the_lines_of_a_document() -> None:
    """In a document, as in a message, a line break within a value is white space."""
    note = Note("documents", "system", "flights to New\nYork", 0)
    assert place(("New York",), note, value="New York")


def test_unmatched_fact_is_listed_and_never_in_context() -> None:
    """A fact that is not found where its label says counts as lost, even where another message says it."""
    texts = ("nothing", "red")
    assert FactPlaces([fact("red", 0)], messages(*texts), [0]).unmatched == [0]
    assert not place(texts, sent("history", 0, 2), summary("- red\n"))


def test_facts_keep_their_numbers() -> None:
    """Where only some facts are wanted, they are still named by their place in the conversation."""
    facts, texts = [fact("red", 0), fact("blue", 1), fact("green", 2)], ("red", "blue", "nothing")
    places = FactPlaces(facts, messages(*texts), [1, 2])
    assert places.unmatched == [2]
    assert places.occurrences.tolist() == [[1], [1]]
    assert places.facts_in_note(summary("- red\n- blue\n- green\n")) == [1]


# --- the best place ---

FIVE = ("red", "blue", "green", "red", "now")
WHOLE = (sent("system", 0, 1), sent("history", 1, 4), sent("input", 4, 5))
"""5 + 15 + 5 tokens and 3 for the reply: 28."""


def test_position_is_the_share_of_tokens_before_the_message() -> None:
    """Green stands behind red and blue: 10 of 28 tokens."""
    assert place(FIVE, *WHOLE, value="green", stated_at=2) == (10 / 28, 10 / 28)


def test_system_messages_are_the_head() -> None:
    """What stands before all history is at position 0, a system message among many as well."""
    pieces = (sent("system", 1, 3), sent("history", 3, 5))
    assert place(FIVE, *pieces, profile=FALLING, value="green", stated_at=2) == (0, 1)


def test_tool_schemas_come_first() -> None:
    """Schemas stand before every message, so that history stands behind them, and the head stays the head."""
    schemas = COUNTER.tools([SCHEMA])
    context = context_of(*WHOLE)
    context = context._replace(prompt_tokens=context.prompt_tokens + schemas)
    facts, history = [fact("green", 2), fact("red", 0)], history_of(*FIVE, tools=[SCHEMA])
    assert best_place(0, facts, context, history) == pytest.approx(((10 + schemas) / (28 + schemas),) * 2)
    assert best_place(1, facts, context, history, FALLING) == (0, 1)


def test_best_of_several_places() -> None:
    """Red stands in the system message and at 15 of 28 tokens: which is better is the profile's to say."""
    assert place(FIVE, *WHOLE, profile=RISING) == (15 / 28, 15 / 28)
    assert place(FIVE, *WHOLE, profile=FALLING) == (0, 1)


def test_summary_is_the_head_and_documents_are_where_they_are() -> None:
    """A summary's facts are at the head, wherever its tokens lie; documents stand behind the history."""
    history = sent("history", 1, 4)
    assert place(FIVE, sent("system", 4, 5), summary("- red"), profile=FALLING) == (0, 1)
    documents = Note("documents", "system", "green", 7)
    found = place(FIVE, history, documents, sent("input", 4, 5), value="green", stated_at=2)
    assert found == (15 / 30, 15 / 30)  # 15 + 7 + 5 + 3
    assert place(FIVE, history, documents, profile=FALLING, value="green", stated_at=2) == (5 / 25, 1 - 5 / 25)


def test_use_falls_with_length() -> None:
    """The same share of a longer prompt is another place."""
    curves = (Curve((0.0,), (1.0,)), Curve((0.0,), (0.0,)))
    profile = PositionProfile("by length", (0, 280), curves)
    found = place(FIVE, *WHOLE, profile=profile, value="green", stated_at=2)
    assert found == pytest.approx((10 / 28, 0.9))


# --- the mean over facts ---


def of_facts(counts: Mapping[int, tuple[int, int]], use: float = 0.5) -> Recall:
    """The recall of facts given as (probes, hits), each hit used with one probability."""
    probes = [(fact, number < hits) for fact, (probes, hits) in counts.items() for number in range(probes)]
    facts, found = np.array(probes, dtype=np.int64).reshape(-1, 2).T
    return Recall.of_facts(facts, found > 0, found * round(use * USE_UNITS))


def test_facts_weigh_alike() -> None:
    """A fact that is probed three times and kept once, and one probed once and kept: (1/3 + 1) / 2."""
    recall = of_facts({0: (3, 1), 1: (1, 1)})
    assert recall.value == Fraction(2, 3)
    assert (recall.facts, recall.probes) == (2, 4)


def test_fact_without_a_hit_counts_zero() -> None:
    """A fact that is always lost stays in the mean: (2/2 + 0/5) / 2."""
    assert of_facts({0: (2, 2), 1: (5, 0)}).value == Fraction(1, 2)


def test_no_probes_is_no_recall() -> None:
    """Without probes there is no recall, which is not a recall of zero."""
    assert Recall().value is None
    assert of_facts({}).value is None
    assert of_facts({0: (1, 0)}).value == 0


def test_conversations_add_up() -> None:
    """The recall of two conversations is the mean over all their facts, not of their recalls."""
    total = of_facts({0: (1, 1)})
    total += of_facts({0: (2, 1), 1: (2, 0), 2: (4, 3)})
    assert total.value == (1 + Fraction(1, 2) + 0 + Fraction(3, 4)) / 4


COUNTS = st.lists(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), max_size=20)


@given(COUNTS, st.integers(0, 20))
def test_recall_is_the_mean_of_shares(counts: list[tuple[int, int]], cut: int) -> None:
    """However the facts are spread over conversations, recall is the exact mean of their shares."""
    total = Recall()
    for part in (counts[:cut], counts[cut:]):
        total += of_facts(dict(enumerate(part)), use=0.25)
    shares = [Fraction(hits, probes) for probes, hits in counts]
    assert total.value == (sum(shares, Fraction()) / len(shares) if shares else None)
    assert total.modelled == (total.value / 4 if total.value is not None else None)
    assert total.probes == sum(probes for probes, _ in counts)
