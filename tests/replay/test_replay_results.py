"""What a replay adds up to, on a record worked out by hand."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from assumptions import simulation
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.replay.results import AuxiliaryCalls, Comparison, DataTotals, Histogram, ModeTotals, Totals
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.replay.statistics import MEASURES
from ctxmode_cli.score.answers import Answering
from ctxmode_cli.score.position import Curve, PositionProfile
from ctxmode_cli.score.recall import Recall
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
MODES = ("full", "zero", "sliding", "summary")


def reader(messages: Sequence[Mapping[str, Any]], _tools: Sequence[Mapping[str, Any]]) -> str | None:
    """A model that repeats what it is sent before the question."""
    return "\n".join(message["content"] for message in messages[:-1])


def shy(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str | None:
    """The same, where it is sent more than the current input; else it does not answer."""
    return reader(messages, tools) if len(messages) > 1 + 1 else None


def totals_of(*records: Mapping[str, Any], probes: str = "labelled", **settings: Any) -> Totals:
    """What records add up to in all four modes."""
    configs = {mode: ContextConfig(mode=mode, **settings) for mode in MODES}
    replay = Replay(
        configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation(), probes == "all", answering=Answering(shy, 9, 0)
    )
    totals = Totals(replay)
    for number, record in enumerate(records, 1):
        totals.add(replay(parse_conversation(record, where=f"logs:{number}", default_id=str(number))))
    return totals


def talk(*texts: str) -> list[dict[str, Any]]:
    """User and assistant in turn."""
    return [{"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(texts)]


def fact(value: str, stated_at: int, *probe_at: int, **fields: Any) -> dict[str, Any]:
    return {"id": value, "kind": "k", "value": value, "stated_at": stated_at, "probe_at": list(probe_at), **fields}


def recalls(totals: Totals) -> dict[str, Fraction | None]:
    return {mode: part.recall.value for mode, part in totals.modes.items()}


FOUR_TURNS = {
    "id": "a",
    "messages": talk("red", "ok", "blue", "ok", "green", "ok", "which colours?", "all"),
    "facts": [fact("red", 0, 2, 4, 6), fact("blue", 2, 6), fact("ok", 1), fact("yellow", 4, 6)],
}


def test_answers_by_hand() -> None:
    """Facts that were answered weigh alike: red at one of three probes, blue and the unmatched yellow at none."""
    totals = totals_of(FOUR_TURNS, sliding_turns=1)
    answered = {
        mode: (part.answered.value, part.answered.probes, part.unanswered) for mode, part in totals.modes.items()
    }
    assert answered["full"] == (Fraction(2, 3), 5, 0)
    assert answered["sliding"] == (Fraction(1, 9), 5, 0)
    assert answered["zero"] == (None, 0, 5)


def test_recall_by_hand() -> None:
    """Facts weigh alike, modes are judged by what they send, and an unmatched fact stays in the mean as lost.

    With one turn in the window, sliding has red at the first of its three probes and blue at none.
    """
    totals = totals_of(FOUR_TURNS, sliding_turns=1)
    assert recalls(totals) == {
        "full": Fraction(2, 3),
        "zero": Fraction(0),
        "sliding": Fraction(1, 9),
        "summary": Fraction(2, 3),
    }
    data = totals.data
    assert (data.conversations, data.requests, data.facts, data.probes) == (1, 4, 4, 5)
    assert (data.unprobed, data.unmatched_facts) == (0, 1)
    assert data.unmatched_listed == ['a: yellow "yellow" (not in that message)']


def test_probes_all_by_hand() -> None:
    """Every later turn asks for every fact: ok is said again in each turn, so the window of one turn keeps it."""
    totals = totals_of(FOUR_TURNS, probes="all", sliding_turns=1)
    assert totals.data.probes == 3 + 2 + 3 + 1  # red, blue, ok and yellow
    assert recalls(totals)["full"] == Fraction(3, 4)
    assert recalls(totals)["sliding"] == (Fraction(1, 3) + Fraction(1, 2) + 1 + 0) / 4


def test_unsendable_request_counts_as_lost() -> None:
    """A request that cannot be sent stays a request, counts 0 in recall, and has no tokens."""
    record = {"messages": talk("red", "ok", "red " * 3000, "ok", "blue?", "ok"), "facts": [fact("red", 0, 4)]}
    long_input = {"messages": talk("red", "ok", "blue " * 3000, "ok"), "facts": [fact("red", 0, 2)]}
    totals = totals_of(record, long_input, max_tokens=1000)
    sliding = totals.modes["sliding"]
    assert (sliding.requests, sliding.prompt_tokens.size) == (5, 3)
    assert sliding.unsendable == {"input": 2}
    assert totals.modes["full"].unsendable == {}
    assert recalls(totals)["full"] == 1
    assert recalls(totals)["sliding"] == 0


def test_tokens_are_means_over_sendable_requests() -> None:
    """Three tokens for a message, one for its role, one for its text, three for the reply."""
    totals = totals_of({"messages": talk("red", "ok", "blue", "ok")})
    assert totals.modes["full"].prompt_tokens.counts == {8: 1, 18: 1}
    assert totals.modes["zero"].prompt_tokens.counts == {8: 2}
    assert totals.modes["full"].prompt_tokens.mean == 13
    cut = totals_of({"messages": talk("red", "ok", "blue " * 3000, "ok")}, max_tokens=1000)
    assert cut.modes["zero"].prompt_tokens.mean == 8


def test_open_requests_and_record_faults() -> None:
    """A record that ends before its reply has an open request; calls without results are faults of the record."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    totals = totals_of({"messages": talk("red")}, {"messages": asked}, {"messages": [*asked, *talk("and?", "so")]})
    assert (totals.data.requests, totals.data.open_requests) == (4, 1)
    assert totals.data.record_faults == {"unanswered_call": 2}
    assert [part.invalid for part in totals.modes.values()] == [Counter()] * 4


def test_uncounted_parts_are_named() -> None:
    """Parts that no published rule counts are counted by type."""
    parts = [{"type": "text", "text": "hear"}, {"type": "input_audio"}, {"type": "input_audio"}, {"type": "file"}]
    totals = totals_of({"messages": [{"role": "user", "content": parts}]})
    assert totals.data.uncounted_parts == {"input_audio": 2, "file": 1}


def test_only_the_first_unmatched_facts_are_listed() -> None:
    """Ten unmatched facts are named, all are counted, and an endless value is cut."""
    facts = [fact(f"colour {number} {'x' * 1000}", 0, 2) for number in range(7)]
    records = [{"id": name, "messages": talk("a", "b", "c", "d"), "facts": facts} for name in ("one", "two")]
    data = totals_of(*records).data
    assert (data.unmatched_facts, len(data.unmatched_listed)) == (14, 10)
    assert data.unmatched_listed[7].startswith("two: colour 0")
    assert max(map(len, data.unmatched_listed)) < 200


def test_summary_calls_add_up() -> None:
    """Each call counts its prompt and its completion, failed ones too, apart from the requests' own tokens."""
    record = {"messages": talk(*["I must have tea at 5.", "Noted."] * 13)}
    summary = totals_of(record).modes["summary"]
    assert (summary.calls["summary"].count, summary.calls["summary"].failed) == (1, 0)
    assert summary.calls["summary"].prompt_tokens > summary.calls["summary"].completion_tokens > 0
    failing = totals_of(record, summary_target_tokens=1).modes["summary"]
    assert failing.calls["summary"].count == failing.calls["summary"].failed > 1
    assert failing.stepped_down == {"sliding": failing.calls["summary"].count}


# --- percentiles and sums ---


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 50, None),
        ([7], 1, 7),
        ([7], 100, 7),
        ([1, 2], 50, 1),
        ([1, 2], 51, 2),
        ([15, 20, 35, 40, 50], 30, 20),
        ([15, 20, 35, 40, 50], 40, 20),
        ([15, 20, 35, 40, 50], 50, 35),
        ([15, 20, 35, 40, 50], 100, 50),
        ([3, 3, 3, 9], 75, 3),
        ([3, 3, 3, 9], 76, 9),
        (list(range(1, 21)), 95, 19),
        (list(range(1, 101)), 95, 95),
        (list(range(1, 22)), 95, 20),
    ],
)
def test_percentile_is_the_nearest_rank(values: list[int], percent: int, expected: int | None) -> None:
    """The smallest value that at least so many percent of the values do not exceed; always a value that occurred."""
    assert Histogram(Counter(values)).percentile(percent) == expected


@given(st.lists(st.integers(0, 10_000)), st.lists(st.integers(0, 10_000)), st.integers(1, 100))
def test_histograms_add_up(first: list[int], second: list[int], percent: int) -> None:
    """Two histograms added are the histogram of all values, and their mean is exact."""
    total = Histogram(Counter(first))
    total += Histogram(Counter(second))
    values = sorted(first + second)
    assert (total.size, total.total) == (len(values), sum(values))
    assert total.mean == (Fraction(sum(values), len(values)) if values else None)
    rank = -(-len(values) * percent // 100)
    assert total.percentile(percent) == (values[rank - 1] if values else None)


@pytest.mark.parametrize("target", [1, 60])
def test_totals_of_parts_add_up(target: int) -> None:
    """Conversations counted apart and added are the conversations counted together, with and without failed calls."""
    records = [FOUR_TURNS, {**FOUR_TURNS, "id": "b", "messages": talk(*["tea please", "ok"] * 13), "facts": []}]
    together = totals_of(*records, max_tokens=120, summary_target_tokens=target)
    parts = [totals_of(record, max_tokens=120, summary_target_tokens=target) for record in records]
    for mode in MODES:
        total = ModeTotals()
        for part in parts:
            total += part.modes[mode]
        assert total == together.modes[mode]
    assert together.modes["summary"].calls["summary"] != AuxiliaryCalls()
    assert bool(together.modes["summary"].stepped_down) == (target == 1)


# --- intervals ---


def compared(*records: Mapping[str, Any]) -> Comparison:
    """The comparison of records in all four modes, with half of what is in context used."""
    configs = {mode: ContextConfig(mode=mode, sliding_turns=1) for mode in MODES}
    half = PositionProfile("half", (1,), (Curve((0.0,), (0.5,)),))
    replay = Replay(configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation(), False, half, Answering(reader, 9, 0))
    totals = Totals(replay)
    for record in records:
        totals.add(replay(parse_conversation(record, where="logs:1", default_id="a")))
    return Comparison(
        "gpt-4o", "o200k_base", 128_000, 0, "full", configs, totals.data, totals.modes, [], simulation(),
        replicates=totals.replicates,
    )  # fmt: skip


def test_interval_of_two_conversations() -> None:
    """Of two conversations each interval goes from the figure of the one alone to that of the other."""
    other = {
        **FOUR_TURNS,
        "id": "b",
        "messages": talk("red", "ok", "blue tea " * 20, "ok", "and?", "fine", "red", "so"),
    }
    both = compared(FOUR_TURNS, other)
    parts = compared(FOUR_TURNS), compared(other)
    for mode in MODES:
        for measure in MEASURES:
            low, high = sorted(part.value(mode, measure) or Fraction() for part in parts)
            expected = pytest.approx((float(both.value(mode, measure) or 0), float(low), float(high)), abs=1e-8)
            assert both.interval(mode, measure) == expected, (mode, measure)
        assert both.value(mode, "recall.answered") == both.value(mode, "recall.in_context")
        assert both.value(mode, "recall.modelled") == (both.value(mode, "recall.in_context") or 0) / 2
    assert both.value("full", "cost_usd.per_session") != both.value("full", "cost_usd.per_session_uncached")


# --- between floor and ceiling ---


def comparison(bases: Mapping[str, str] | None = None, /, **kept: int | None) -> Comparison:
    """A comparison of modes that keep so many of ten facts; the base of each is its name, unless another is given."""
    modes = {}
    for name, hits in kept.items():
        recall = Recall() if hits is None else Recall(Counter({1: hits}), Counter({1: 10}))
        modes[name] = ModeTotals(recall=recall)
    configs = {name: ContextConfig(mode=(bases or {}).get(name, name)) for name in modes}
    return Comparison("gpt-4o", "o200k_base", 128_000, 0, "full", configs, DataTotals(), modes, [], simulation())


def test_normalised_recall() -> None:
    """Recall between what zero and what full has: zero is 0, full is 1."""
    compared = comparison(full=9, zero=1, sliding=5, summary=9)
    assert compared.normalised_recall("sliding") == Fraction(1, 2)
    assert compared.normalised_recall("summary") == 1
    assert compared.normalised_recall("full") == 1
    assert compared.normalised_recall("zero") == 0


def test_floor_and_ceiling_under_other_names() -> None:
    """Floor and ceiling are known by their base; where several have it, by the name of the base, else the first."""
    bases = {"none": "zero", "wide": "full", "all": "full", "half": "sliding"}
    kept = {"none": 1, "wide": 9, "all": 6, "half": 5}
    assert comparison(bases, **kept).normalised_recall("half") == Fraction(1, 2)
    assert comparison(bases, **kept, full=3).normalised_recall("half") == 2
    assert comparison({**bases, "full": "sliding"}, **kept, full=3).normalised_recall("half") == Fraction(1, 2)


@pytest.mark.parametrize(
    "kept", [{"full": 9, "sliding": 5}, {"zero": 1, "sliding": 5}, {"full": 5, "zero": 5, "sliding": 5}]
)
def test_normalised_recall_needs_floor_and_ceiling(kept: dict[str, int]) -> None:
    """Without zero, without full, or without a gap between them nothing can be normalised."""
    assert comparison(**kept).normalised_recall("sliding") is None
    assert comparison(full=None, zero=None, sliding=None).normalised_recall("sliding") is None
