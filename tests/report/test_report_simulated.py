"""What readers are told of the simulated figures: which prices, which cache rule, which profile, and their limits."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from assumptions import PRICE, PROFILE, RULE, simulation
from comparisons import Build

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.simulated import cost_notes, latency_notes, unknown_price_notes
from ctxmode_cli.simulate.cache_rules import CacheRule, find_cache_rule
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.latency import find_profile
from ctxmode_cli.simulate.prices import Price, PriceTier

KNOWN = Provider.of(PRICE, RULE)
UNKNOWN = Provider.of(None, RULE)
TIERED = Price(
    "big",
    "",
    (PriceTier(0, Decimal("1.25"), Decimal(10)), PriceTier(200_000, Decimal("2.5"), Decimal(15))),
    "made up",
    "",
    own=True,
)


def with_providers(build: Build, **providers: Provider) -> Comparison:
    named = {name.replace("_", "-"): provider for name, provider in providers.items()}
    return build(full=(10,), changed={"simulation": simulation(providers=named), "model": next(iter(named))})


def with_rule(build: Build, rule: CacheRule, clocks: dict[str, int], **changed: Any) -> str:
    """The note on the prompt cache."""
    assumed = simulation(providers={"gpt-4o": Provider.of(PRICE, rule)}, **changed)
    return list(cost_notes(build(full=(10,), data={"clocks": Counter(clocks)}, changed={"simulation": assumed})))[-1]


# --- prices ---


def test_prices_of_one_source_are_one_note(build: Build) -> None:
    """Source and day stand once, with each model's prices: a read token at 0.1 and a written one at 1.25 of 3 USD."""
    [note, _] = cost_notes(with_providers(build, b=KNOWN, a=KNOWN))
    prices = "input 3, cached 0.3, written 3.75, output 15"
    assert note == f"prices in USD per million tokens (made up, 2026-01-01): a {prices}; b {prices}"


def test_prices_of_two_sources_are_two_notes(build: Build) -> None:
    """Prices of one's own and a library's do not share a source; a price without a day names none."""
    own = Provider.of(replace(PRICE, source="contract", date=""), RULE)
    first, second, _ = cost_notes(with_providers(build, a=KNOWN, b=own, c=KNOWN))
    assert first.startswith("prices in USD per million tokens (made up, 2026-01-01): a input 3,")
    assert "; c input 3," in first
    assert second.startswith("prices in USD per million tokens (contract): b input 3,")


def test_only_prices_that_differ_are_named(build: Build) -> None:
    """Without a cache read and write cost what input costs; tiers are named with their size."""
    [note, _] = cost_notes(with_providers(build, big=Provider.of(TIERED, find_cache_rule("none", "big"))))
    assert note == (
        "prices in USD per million tokens (made up): big input 1.25, output 10, above 200,000 tokens input 2.5, output 15"
    )


def test_unknown_price_is_told(build: Build) -> None:
    """A model without a price is named, with what to do; the others' prices are still there."""
    reason = (
        "is known: costs that take it, and shares of them, are null; [prices] in ctxmode.toml takes one of your own"
    )
    assert list(unknown_price_notes(with_providers(build, b=UNKNOWN, a=KNOWN, c=UNKNOWN))) == [
        f"no price of b and c {reason}"
    ]
    assert list(unknown_price_notes(with_providers(build, a=KNOWN))) == []
    assert len(list(cost_notes(with_providers(build, a=UNKNOWN)))) == 1


# --- the prompt cache ---


@pytest.mark.parametrize(
    ("lifetime_s", "clocks", "changed", "expected"),
    [
        (None, {"recorded": 2}, {}, "sessions start cold, nothing expires"),
        (None, {"none": 2}, {"warm_system": True}, "system prompts are always warm, nothing expires"),
        (300.0, {"recorded": 2}, {}, "sessions start cold, entries expire 300 s after their last use"),
        (
            300.0,
            {"none": 2},
            {},
            "sessions start cold, what was sent stays warm for want of times (--think-time sets a gap)",
        ),
        (
            300.0,
            {"recorded": 1, "none": 1},
            {},
            (
                "sessions start cold, entries expire 300 s after their last use, but never in 1 conversation without times "
                "(--think-time sets a gap)"
            ),
        ),
        (
            3600.0,
            {"recorded": 1, "think_time": 1},
            {"think_time_s": 90.0},
            (
                "sessions start cold, entries expire 3600 s after their last use, turns being 90 s apart where no times are "
                "recorded"
            ),
        ),
    ],
)
def test_note_on_the_cache(
    build: Build, lifetime_s: float | None, clocks: dict[str, int], changed: dict[str, Any], expected: str
) -> None:
    """The rule is named with its source, how a session starts, and what makes an entry expire."""
    note = with_rule(build, replace(RULE, lifetime_s=lifetime_s), clocks, **changed)
    assert note == f"simulated prompt cache: rule made-up (made up); {expected}"


def test_rule_of_ones_own_has_no_source(build: Build) -> None:
    """A rule without source and date is one's own; one with both names both."""
    assert "rule made-up (your own); " in with_rule(build, replace(RULE, source=""), {"none": 1})
    assert "rule made-up (guide, 2026-02-03); " in with_rule(
        build, replace(RULE, source="guide", date="2026-02-03"), {"none": 1}
    )


def test_no_cache(build: Build) -> None:
    """Without a prompt cache nothing is said of its sessions and times."""
    assert with_rule(build, find_cache_rule("none", "gpt-4o"), {"none": 1}) == (
        "no prompt cache is simulated (rule none): cost with and without cache is the same"
    )


# --- latency ---


def test_profile_is_named_with_what_it_rests_on(build: Build) -> None:
    """Latency is called simulated, by the profile of that name, and a fitted profile says so."""
    compared = build(full=(10,))
    assert list(latency_notes(compared)) == ["simulated latency: profile made-up"]
    article = replace(compared, simulation=simulation(profile=find_profile("article")))
    assert list(latency_notes(article)) == [
        "simulated latency: profile article, fitted to two figures of the published comparison, not measured"
    ]
    assert PROFILE.note == ""


def test_mode_without_a_known_reply_has_no_latency(build: Build) -> None:
    """A mode none of whose requests has a recorded reply is named; where that is every mode, no profile is."""
    some = build(full=(10,), zero={"tokens": 5, "latency_ms": []}, sliding={"tokens": 7, "latency_ms": []})
    reason = "latency is null for zero and sliding: no request that can be sent has a recorded reply"
    assert list(latency_notes(some)) == ["simulated latency: profile made-up", reason]
    none = build(zero={"tokens": 5, "latency_ms": []})
    assert list(latency_notes(none)) == [reason.replace(" and sliding", "")]


@pytest.mark.parametrize(("cached", "warm"), [(900, True), (899, False)])
def test_latency_of_prompts_that_are_nearly_all_cached(build: Build, cached: int, warm: bool) -> None:
    """From 90 % of cached prompt tokens on, latency is said to be that of a warm cache."""
    compared = build(full={"tokens": 1000, "cached": cached}, zero={"tokens": 10, "cached": 10, "latency_ms": []})
    expected = "latency is that of a warm cache, which nearly all prompt tokens are read from, in full (90.0%)"
    assert (expected in latency_notes(compared)) == warm
