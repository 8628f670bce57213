"""The bootstrap: weights, intervals by hand, and that neither order nor sharding changes a byte."""

import hashlib
import runpy
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, factorial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.replay.statistics import FIXED_POINT, MEASURES, REPLICATES, Interval, Replicates, Sums, poisson_weights

NOTHING = Sums(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def facts(kept: float, probed: int) -> Sums:
    """A conversation with so many facts probed, of which so many are in context, and half as many used."""
    return NOTHING._replace(facts=probed, in_context=round(kept * FIXED_POINT), used=round(kept * FIXED_POINT / 2))


def replicates_of(sums: Mapping[str, Mapping[str, Sums]], seed: int = 0) -> Replicates:
    """Of conversations by id, each with its modes."""
    replicates = Replicates(seed)
    for conversation_id, modes in sums.items():
        replicates.add(conversation_id, modes)
    return replicates


# --- weights ---


def test_weights_are_read_off_a_hash() -> None:
    """Each weight is the Poisson quantile of 32 bits of SHAKE-128 of seed and id: no library's version changes it."""
    digest = hashlib.shake_128(b"bootstrap\x007\x00a").digest(4 * REPLICATES)
    bounds = [sum(exp(-1) / factorial(k) for k in range(most + 1)) for most in range(12)]
    draws = [int.from_bytes(digest[start : start + 4], "little") / 2**32 for start in range(0, len(digest), 4)]
    assert poisson_weights(7, "a").tolist() == [sum(draw >= bound for bound in bounds) for draw in draws]


def test_weights_are_poisson() -> None:
    """Over many conversations their frequencies are those of a Poisson distribution with mean 1."""
    weights = np.concatenate([poisson_weights(0, str(number)) for number in range(500)])
    frequencies = np.bincount(weights) / weights.size
    assert frequencies[:5] == pytest.approx([exp(-1) / factorial(k) for k in range(5)], abs=0.003)
    assert weights.mean() == pytest.approx(1, abs=0.005)
    assert weights.var() == pytest.approx(1, abs=0.01)


def test_weights_hang_on_seed_and_id_alone() -> None:
    """Another seed or id has other weights; any JSON string is an id."""
    assert poisson_weights(0, "a").tolist() == poisson_weights(0, "a").tolist()
    assert poisson_weights(0, "a").tolist() != poisson_weights(1, "a").tolist()
    assert poisson_weights(0, "a").tolist() != poisson_weights(0, "b").tolist()
    assert poisson_weights(0, "\ud800").size == REPLICATES


# --- by hand ---

KEPT = {"a": (4, 2, 1), "b": (1, 1, 0), "c": (5, 5, 2)}
"""By conversation: facts, and how many of them each of two modes keeps."""


def three(seed: int = 0) -> Replicates:
    return replicates_of(
        {name: {"full": facts(full, n), "zero": facts(zero, n)} for name, (n, full, zero) in KEPT.items()}, seed
    )


def by_hand(kept: Sequence[int], weights: Mapping[str, Sequence[int]]) -> list[Fraction]:
    """Recall in each replicate that has a conversation at all, kept facts given in the order of `KEPT`."""
    found = []
    for draw in zip(*(weights[name] for name in KEPT), strict=True):
        probed = sum(w * n for w, (n, *_) in zip(draw, KEPT.values(), strict=True))
        if probed:
            found.append(Fraction(sum(w * k for w, k in zip(draw, kept, strict=True)), probed))
    return found


def percentiles(values: Sequence[Fraction]) -> tuple[float, float]:
    """The values that 2.5 % of all lie below and above (nearest rank)."""
    outside = len(values) * 25 // 1000
    return float(sorted(values)[outside]), float(sorted(values)[-1 - outside])


def test_intervals_by_hand() -> None:
    """An interval is what 2.5 % of the replicates lie below and above; facts weigh alike, not conversations."""
    weights = {name: poisson_weights(0, name).tolist() for name in KEPT}
    full, zero = ([kept[mode] for kept in KEPT.values()] for mode in (1, 2))
    replicates = three()
    for mode, kept in (("full", full), ("zero", zero)):
        value = Fraction(sum(kept), 10)
        expected = (float(value), *percentiles(by_hand(kept, weights)))
        assert replicates.interval(mode, "recall.in_context", value) == pytest.approx(expected)
        halved = replicates.interval(mode, "recall.modelled", value / 2)
        assert halved == pytest.approx([part / 2 for part in expected])


def test_differences_are_paired() -> None:
    """The difference is taken replicate by replicate, under the same weights in both modes."""
    weights = {name: poisson_weights(0, name).tolist() for name in KEPT}
    lost = by_hand([zero - full for _, full, zero in KEPT.values()], weights)
    value = Fraction(3 - 8, 10)
    found = three().difference("zero", "full", "recall.in_context", value)
    assert found == pytest.approx((-0.5, *percentiles(lost)))
    alone = [three().interval(mode, "recall.in_context", Fraction(1, 2)) for mode in ("full", "zero")]
    widths = [interval.high - interval.low for interval in alone if interval]
    assert found is not None
    assert found.high - found.low < sum(widths)


@pytest.mark.parametrize(
    ("measure", "over", "under", "amounts", "value"),
    [
        ("tokens.mean", "tokens", "requests", ((10, 1), (50, 3)), Fraction(15)),
        ("latency_s.mean", "latency_ms", "replied", ((2000, 2), (1000, 1)), Fraction(1)),
        ("cost_usd.per_session", "cost", "sessions", ((FIXED_POINT, 1), (3 * FIXED_POINT, 1)), Fraction(2)),
        ("cost_usd.per_session_uncached", "cost_uncached", "sessions", ((0, 1), (FIXED_POINT, 1)), Fraction(1, 2)),
    ],
)
def test_other_measures(
    measure: str, over: str, under: str, amounts: Sequence[tuple[int, int]], value: Fraction
) -> None:
    """Each measure is the ratio of its two sums, in its unit; with two conversations the ends are one of them alone."""
    sums = {str(n): {"m": NOTHING._replace(**{over: x, under: y})} for n, (x, y) in enumerate(amounts)}
    unit = MEASURES[measure].unit
    ends = sorted(x / y / unit for x, y in amounts)
    assert replicates_of(sums).interval("m", measure, value) == pytest.approx((float(value), *ends))


def test_fixed_point_moves_no_figure_out_of_its_interval() -> None:
    """A third of the facts, in every conversation, is a third in every replicate, but for the ninth digit."""
    third = replicates_of({str(number): {"m": facts(1 / 3, 1)} for number in range(5)})
    interval = third.interval("m", "recall.in_context", Fraction(1, 3))
    assert interval == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert interval is not None
    assert interval.low <= 1 / 3 <= interval.high


# --- nothing to tell ---


def test_one_conversation_has_no_interval() -> None:
    """One conversation says nothing of the spread, nor do two of which one was asked nothing."""
    one = replicates_of({"a": {"m": facts(1, 2)}})
    assert one.interval("m", "recall.in_context", Fraction(1, 2)) is None
    assert one.difference("m", "m", "recall.in_context", Fraction(0)) is None
    other = replicates_of({"a": {"m": facts(1, 2)}, "b": {"m": NOTHING}})
    assert other.interval("m", "recall.in_context", Fraction(1, 2)) is None
    assert (other.conversations("m", "recall.in_context"), other.conversations("m", "cost_usd.per_session")) == (1, 2)


def test_an_unknown_figure_has_no_interval() -> None:
    """Without a figure, or for a mode that was never replayed, there is none."""
    assert three().interval("full", "recall.in_context", None) is None
    assert three().interval("sliding", "recall.in_context", Fraction(1)) is None
    assert three().difference("full", "sliding", "recall.in_context", Fraction(1)) is None
    assert three().conversations("sliding", "recall.in_context") == 0


# --- properties ---

SUMS = st.tuples(st.integers(0, 9), st.integers(0, 10**9), st.integers(0, 10**9)).map(
    lambda drawn: NOTHING._replace(facts=drawn[0], in_context=drawn[0] * drawn[1], used=drawn[0] * drawn[2])
)
SESSIONS = st.dictionaries(st.text(max_size=4), st.fixed_dictionaries({"full": SUMS, "zero": SUMS}), max_size=12)


def recall(sums: Mapping[str, Mapping[str, Sums]], mode: str) -> Fraction | None:
    parts = [modes[mode] for modes in sums.values()]
    probed = sum(part.facts for part in parts)
    return Fraction(sum(part.in_context for part in parts), probed * FIXED_POINT) if probed else None


@settings(max_examples=25)
@given(SESSIONS, st.integers(0, 12), st.randoms(use_true_random=False))
def test_any_order_and_any_shards(sums: dict[str, dict[str, Sums]], cut: int, random: Random) -> None:
    """However the conversations are ordered and spread over accumulators, the figures are the same, to the last bit."""
    together = replicates_of(sums)
    names = list(sums)
    random.shuffle(names)
    parts = [replicates_of({name: sums[name] for name in shard}) for shard in (names[:cut], names[cut:])]
    untouched = [part.interval("full", "recall.in_context", recall(sums, "full")) for part in parts]
    total = Replicates()
    for part in parts:
        total += part
    for mode in ("full", "zero"):
        value = recall(sums, mode)
        assert total.interval(mode, "recall.in_context", value) == together.interval(mode, "recall.in_context", value)
    assert [part.interval("full", "recall.in_context", recall(sums, "full")) for part in parts] == untouched


@settings(max_examples=25)
@given(SESSIONS)
def test_an_interval_takes_in_its_figure(sums: dict[str, dict[str, Sums]]) -> None:
    """The figure lies in its interval; of a mode with itself the difference is exactly 0."""
    replicates = replicates_of(sums)
    value = recall(sums, "full")
    interval = replicates.interval("full", "recall.in_context", value)
    if interval is not None:
        assert interval.low <= interval.value <= interval.high
        assert replicates.difference("full", "full", "recall.in_context", Fraction(0)) == Interval(0, 0, 0)


# --- coverage ---


def test_intervals_cover() -> None:
    """With 200 conversations, 95 % intervals hold the true recall in 93 to 97 % of the draws."""
    coverage = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "coverage.py"))["coverage"]
    assert 0.93 <= coverage(draws=500, conversations=200) <= 0.97
