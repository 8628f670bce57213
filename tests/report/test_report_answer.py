"""The sentence to decide by: who is named, and what is never left out.

By hand, at 3 USD per million prompt tokens and two sessions: 2,000 tokens are 0.006 USD in all, so 0.003 a session.
"""

from typing import Any

import pytest
from assumptions import PRICE, RULE, simulation
from comparisons import Build

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.prices import Price, PriceTier
from ctxmode_cli.simulate.rates import Usage

KEEPING = "the facts (at least 95% of the best recall in context)"
AMONG = f"of the modes that keep {KEEPING}"
UNPRICED = {
    "simulation": simulation(providers={"gpt-4o": Provider.of(None, RULE), "gpt-4o-mini": Provider.of(PRICE, RULE)})
}
FREE = Provider.of(Price("any", "", (PriceTier(0, 0, 0),), "made up", ""), RULE)


def test_cheapest_of_those_that_keep_the_facts(build: Build) -> None:
    """The mode that costs least is named among those near the best recall, and what the next cheaper loses."""
    compared = build(full=(2000, 1000), zero=(100, 0), sliding=(1000, 700), summary=(1500, 990))
    assert answer(compared) == (
        f"summary costs least {AMONG}: $0.00225 a session, 75.0% of full's $0.00300, with 99.0% of the facts in "
        "context; sliding costs $0.00150 but keeps only 70.0%."
    )


def test_fewest_tokens_may_cost_more(build: Build) -> None:
    """Money decides, not tokens: 2,000 read at a tenth of the price are cheaper than 1,500 written at 1.25 times it."""
    compared = build(
        full={"tokens": 2000, "kept": 1000, "cached": 2000}, sliding={"tokens": 1500, "kept": 1000, "written": 1500}
    )
    # 2000 x 0.3 / 1e6 / 2 = 0.0003 USD a session; without a cache it would be 0.003 against 0.00225: 75 %.
    # 1500 x 3.75 / 1e6 / 2 = 0.0028125 USD, 9.375 times as much.
    assert answer(compared) == (
        f"full costs least {AMONG}: $0.000300 a session, with 100.0% of the facts in context. The prompt cache turns "
        "the ranking round: with it full costs less than sliding, 100.0% against 937.5% of full's cost; without it "
        "more, 100.0% against 75.0%."
    )


def test_summary_calls_are_in_the_cost(build: Build) -> None:
    """A mode's cost holds its summary calls, and the sentence says what share they are."""
    compared = build(
        full=(2000, 1000), summary={"tokens": 1000, "kept": 1000, "calls": Usage(uncached=100, completion=60)}
    )
    # (1000 x 3 + 100 x 3 + 60 x 15) / 1e6 / 2 = 0.0021 USD, of which 0.0006 is the call's.
    assert answer(compared) == (
        f"summary costs least {AMONG}: $0.00210 a session (28.6% of it for 1 summary call), 70.0% of full's $0.00300, "
        "with 100.0% of the facts in context."
    )


def test_card_calls_are_in_the_cost(build: Build) -> None:
    """So are calls that a model reads the fact card with, beside those for summaries, each with its own share."""
    card, call = Usage(uncached=200, completion=20), Usage(uncached=100, completion=60)
    compared = build(full=(4000, 1000), summary={"tokens": 1000, "kept": 1000, "calls": call, "card_calls": card})
    # Card: (200 x 3 + 20 x 15) / 1e6 / 2 = 0.00045 USD; requests 0.0015, summary 0.0006; all of full is 0.006.
    assert answer(compared) == (
        f"summary costs least {AMONG}: $0.00255 a session (23.5% of it for 1 summary call and 17.6% of it for 1 card "
        "call), 42.5% of full's $0.00600, with 100.0% of the facts in context."
    )


def test_cost_of_a_day(build: Build) -> None:
    """Where a number of sessions a day is given, costs are those of a day: 0.003 USD x 10,000 sessions."""
    compared = build(full=(2000, 1000), sliding=(1000, 990), changed={"sessions_per_day": 10_000})
    assert ": $15.00 a day, 50.0% of full's $30.00, with" in answer(compared)


@pytest.mark.parametrize(("kept", "begins"), [(950, "sliding costs"), (949, "Only full keeps")])
def test_keeping_the_facts_is_95_percent_of_the_best(build: Build, kept: int, begins: str) -> None:
    """At 95 % of the best recall a mode counts as keeping the facts, below it does not."""
    assert answer(build(full=(2000, 1000), sliding=(1000, kept))).startswith(begins)


def test_baseline_as_the_answer(build: Build) -> None:
    """Where the baseline itself is the answer, it is not related to itself."""
    assert answer(build(full=(2000, 1000), sliding=(1000, 700))) == (
        f"Only full keeps {KEEPING}: it costs $0.00300 a session, with 100.0% of the facts in context; sliding costs "
        "$0.00150 but keeps only 70.0%."
    )


def test_all_but_is_not_all(build: Build) -> None:
    """Recall that is less than all is never written as 100 %, nor more than nothing as 0 %."""
    text = answer(build(full=([2000] * 2, 9999, 0, 10_000), sliding=(1000, 1, 0, 10_000)))
    assert "with 99.9% of the facts" in text
    assert "keeps only <0.1%." in text


def test_nothing_kept_is_said_in_a_word(build: Build) -> None:
    """A mode that keeps no fact keeps none, rather than 0.0 % of them."""
    assert answer(build(full=(2000, 1000), zero=(100, 0))).endswith("; zero costs $0.000150 but keeps none.")
    assert answer(build(zero=(100, 0))) == "zero costs $0.000150 a session, with none of the facts in context."


def test_modes_that_are_level_are_all_named(build: Build) -> None:
    """Short conversations make modes equal; then none of them is put before the others."""
    compared = build(full=(300, 1000), zero=(100, 0), sliding=(300, 1000), summary=(300, 1000))
    assert answer(compared).startswith(f"full, sliding and summary cost least {AMONG}: $0.000450 a session, with")
    assert answer(build(full=(400, 1000), sliding=(300, 1000), summary=(300, 1000))).startswith(
        f"sliding and summary cost least {AMONG}: $0.000450 a session, 75.0% of full's $0.000600, with 100.0%"
    )


def test_mode_that_is_level_with_the_baseline_is_not_related_to_it(build: Build) -> None:
    """Where the baseline is one of those that are level, in whatever order, its 100 % says nothing."""
    compared = build(sliding=(300, 1000), full=(300, 1000), baseline="full")
    assert answer(compared) == (
        f"sliding and full cost least {AMONG}: $0.000450 a session, with 100.0% of the facts in context."
    )


def test_of_two_at_one_price_the_one_that_keeps_more_is_named(build: Build) -> None:
    """At equal cost recall decides, whatever the order of the modes."""
    assert answer(build(full=(400, 1000), sliding=(300, 960), summary=(300, 970))).startswith("summary costs")


def test_unsendable_requests_are_never_left_out(build: Build) -> None:
    """Every mode that is named is named with the number of requests it cannot send."""
    compared = build(full=(2000, 900, 3), zero=(100, 0), sliding=(1000, 100, 2), summary=(1500, 890, 1))
    assert answer(compared) == (
        f"summary (1 request unsendable) costs least {AMONG}: $0.00225 a session, 75.0% of full's $0.00300 "
        "(3 requests unsendable), with 89.0% of the facts in context; sliding (2 requests unsendable) costs $0.00150 "
        "but keeps only 10.0%."
    )


def test_without_labels(build: Build) -> None:
    """Without facts to probe the cheapest mode is named, and that nothing says what it loses."""
    assert answer(build(full=(2000,), zero=(100, None, 1))) == (
        "zero (1 request unsendable) costs least: $0.000150 a session, 5.0% of full's $0.00300; without facts to "
        "probe, nothing says what is lost."
    )


def test_without_labels_sending_no_history_is_no_answer(build: Build) -> None:
    """Without facts to probe, that zero costs least is no news: the cheapest of the others is named."""
    assert answer(build(full=(2000,), zero=(100,), sliding=(1000,))) == (
        "sliding costs least of the modes that send history: $0.00150 a session, 50.0% of full's $0.00300; without "
        "facts to probe, nothing says what is lost."
    )


def test_one_mode(build: Build) -> None:
    """One mode alone is compared with nothing."""
    assert answer(build(sliding=(1000, 700))) == "sliding costs $0.00150 a session, with 70.0% of the facts in context."
    assert answer(build(sliding=(1000, None, 2))) == "sliding (2 requests unsendable) costs $0.00150 a session."


def test_one_mode_that_can_send_anything(build: Build) -> None:
    """Where the others can send nothing, that is said, and they do not count as free."""
    assert answer(build(full=(None, 0, 2), zero=(100, 500))) == (
        "zero costs $0.000150 a session, with 50.0% of the facts in context, as the only mode that can send any of "
        "these requests."
    )


def test_baseline_that_can_send_nothing(build: Build) -> None:
    """Where the baseline can send nothing, no cost is related to it."""
    assert answer(build(full=(None, 0, 2), sliding=(1000, 990), summary=(1500, 1000))) == (
        f"sliding costs least {AMONG}: $0.00150 a session, with 99.0% of the facts in context."
    )


def test_nothing_sendable(build: Build) -> None:
    """Where no mode can send anything, that is the answer."""
    expected = "No mode can send any of these requests within its budget."
    assert answer(build(full=(None, None, 2), zero=(None, None, 2))) == expected
    assert answer(build(full=(None, None, 2))) == expected


def test_nothing_to_send(build: Build) -> None:
    """Conversations without a request are not said to be too long."""
    assert answer(build(full=(None,), data={"requests": 0})) == (
        "There is no request in these conversations, so there is nothing to compare."
    )


def test_no_fact_in_context(build: Build) -> None:
    """Where every mode loses every fact, none is recommended."""
    assert answer(build(full=(2000, 0), zero=(100, 0))) == "No mode has any of the facts in context."


# --- where money says nothing ---


def test_tokens_decide_where_a_price_is_unknown(build: Build) -> None:
    """Without the price of the sessions' model, modes are ranked by the tokens of their requests."""
    summary = {"tokens": 1500, "kept": 990, "calls": Usage(uncached=100, completion=60)}
    compared = build(full=(2000, 1000), sliding=(1000, 700), summary=summary, changed=UNPRICED)
    assert answer(compared) == (
        f"summary sends least {AMONG}: 1,500 tokens a request (and 160 more in 1 summary call), 75.0% of full's 2,000, "
        "with 99.0% of the facts in context; sliding sends 1,000 but keeps only 70.0%."
    )
    assert answer(build(sliding=(1000,), changed=UNPRICED)) == "sliding sends 1,000 tokens a request."


def test_tokens_decide_where_only_the_summarizer_has_no_price(build: Build) -> None:
    """A mode whose cost is half known is not taken for cheap: then tokens rank them all."""
    providers = {"gpt-4o": Provider.of(PRICE, RULE), "gpt-4o-mini": Provider.of(None, RULE)}
    changed = {"simulation": simulation(providers=providers)}
    modes: dict[str, Any] = {
        "full": (2000, 1000),
        "summary": {"tokens": 1000, "kept": 1000, "calls": Usage(uncached=9)},
    }
    assert answer(build(**modes, changed=changed)).startswith(f"summary sends least {AMONG}: 1,000 tokens a request")
    assert answer(build(full=(2000, 1000), summary=(1000, 1000), changed=changed)).startswith("summary costs least")


def test_tokens_decide_where_all_is_free(build: Build) -> None:
    """At a price of 0 every mode costs the same, so tokens rank them."""
    free = {"simulation": simulation(providers=dict.fromkeys(("gpt-4o", "gpt-4o-mini"), FREE))}
    assert answer(build(full=(2000, 1000), sliding=(1000, 990), changed=free)).startswith("sliding sends least")


def test_failed_calls_of_a_mode_that_is_free(build: Build) -> None:
    """Where a mode costs nothing at all, its calls are no share of it."""
    providers = {"gpt-4o": FREE, "gpt-4o-mini": Provider.of(PRICE, RULE)}
    compared = build(
        full={"tokens": 2000, "kept": 1000, "calls": Usage(uncached=10)},
        summary={"tokens": 1000, "kept": 1000, "calls": Usage()},
        changed={"simulation": simulation(providers=providers)},
    )
    assert answer(compared).startswith(f"summary costs least {AMONG}: $0.00 a session, 0.0% of full's $0.0000150, with")


# --- where the prompt cache turns the ranking round ---


def told(compared: Comparison) -> str:
    """What the answer says of the ranking, from the second sentence on."""
    return answer(compared).partition(" The prompt cache turns the ranking round: with it ")[2]


def mode(uncached_cost: int, cost: int, kept: int = 1000) -> dict[str, Any]:
    """A mode of so many thousands of tokens, that cost with the cache as much as another number of plain thousands.

    Each token read from the cache saves 0.9 of a plain one's price, each token written adds 0.25.
    """
    tokens, worth = uncached_cost * 1000, cost * 1000
    if worth > tokens:
        return {"tokens": tokens, "kept": kept, "written": (worth - tokens) * 4}
    return {"tokens": tokens, "kept": kept, "cached": (tokens - worth) * 10 // 9}


def test_ranking_that_stays_is_not_mentioned(build: Build) -> None:
    """Where the same mode is cheaper either way, there is nothing to say."""
    assert told(build(full=mode(100, 91), sliding=mode(90, 90))) == ""
    assert told(build(full=mode(100, 100), sliding=mode(100, 91))) == ""


def test_the_mode_that_would_be_chosen_comes_first(build: Build) -> None:
    """Of several turned pairs the one is told that changes the answer, though another one turns by more."""
    # sliding and summary are 13 apart with the cache and 15 without; sliding and zero 15 and 16, but zero keeps nothing.
    compared = build(full=mode(100, 82), summary=mode(55, 65), sliding=mode(70, 52), zero=mode(54, 67, kept=0))
    assert (
        told(compared)
        == "sliding costs less than summary, 63.4% against 79.3% of full's cost; without it more, 70.0% against 55.0%."
    )


def test_else_a_pair_with_the_answer(build: Build) -> None:
    """Where the answer is the same without the cache, a pair that it is in goes before pairs that turn by more."""
    # The answer is summary either way. It and zero are 2 and 3 apart, full and sliding 9 and 12.
    compared = build(full=mode(100, 91), summary=mode(48, 48), zero=mode(45, 50, kept=0), sliding=mode(88, 100))
    assert told(compared).startswith("summary costs less than zero, ")


def test_else_a_pair_with_the_baseline(build: Build) -> None:
    """Else one with the baseline goes before pairs that turn by more."""
    compared = build(full=mode(80, 82), summary=mode(40, 40), zero=mode(78, 90, kept=0), sliding=mode(90, 81))
    # full and zero are 8 and 2 apart, sliding and full 1 and 10, sliding and zero 9 and 12.
    assert told(compared).startswith("full costs less than zero, ")


def test_turn_that_nobody_sees_is_not_told(build: Build) -> None:
    """Where both figures would look the same, the cache is not said to turn anything."""
    full = {"tokens": 100_000, "kept": 1000, "written": 40}
    sliding = {"tokens": 100_001, "kept": 1000}
    # With the cache 100,010 against 100,001, without it 100,000 against 100,001: 100.0 % each time.
    assert told(build(full=full, sliding=sliding)) == ""


def test_turned_modes_are_named_with_their_unsendable_requests(build: Build) -> None:
    """Also in the second sentence no mode is named without the requests that it cannot send."""
    compared = build(full=mode(100, 91), sliding=mode(95, 95) | {"unsendable": 2})
    assert told(compared).startswith("full costs less than sliding (2 requests unsendable), 100.0% against ")


def test_no_turn_without_costs(build: Build) -> None:
    """Where costs are unknown no ranking by cost is told."""
    assert told(build(full=mode(100, 91), sliding=mode(95, 95), changed=UNPRICED)) == ""
