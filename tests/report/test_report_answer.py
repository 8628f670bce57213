"""The sentence to decide by: who is named, and what is never left out."""

from collections.abc import Callable

import pytest

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer

Build = Callable[..., Comparison]
AMONG = "of the modes that keep the facts (at least 95% of the best recall in context)"


def test_cheapest_of_those_that_keep_the_facts(build: Build) -> None:
    """The mode with the fewest tokens is named among those near the best recall, and what the next cheaper loses."""
    compared = build(full=(2000, 1000), zero=(100, 0), sliding=(1000, 700), summary=(1500, 990))
    assert answer(compared) == (
        f"summary sends the fewest tokens {AMONG}: 1,500 a request, 75.0% of full's 2,000, with 99.0% of the facts in "
        "context; sliding sends 1,000 but keeps only 70.0%."
    )


@pytest.mark.parametrize(("kept", "begins"), [(950, "sliding sends"), (949, "Only full keeps")])
def test_keeping_the_facts_is_95_percent_of_the_best(build: Build, kept: int, begins: str) -> None:
    """At 95 % of the best recall a mode counts as keeping the facts, below it does not."""
    assert answer(build(full=(2000, 1000), sliding=(1000, kept))).startswith(begins)


def test_baseline_as_the_answer(build: Build) -> None:
    """Where the baseline itself is the answer, it is not related to itself."""
    assert answer(build(full=(2000, 1000), sliding=(1000, 700))) == (
        "Only full keeps the facts (at least 95% of the best recall in context): 2,000 a request, with 100.0% of the "
        "facts in context; sliding sends 1,000 but keeps only 70.0%."
    )


def test_all_but_is_not_all(build: Build) -> None:
    """Recall that is less than all is never written as 100 %, nor more than nothing as 0 %."""
    text = answer(build(full=([2000] * 2, 9999, 0, 10_000), sliding=(1000, 1, 0, 10_000)))
    assert "with 99.9% of the facts" in text
    assert "keeps only <0.1%." in text


def test_modes_that_are_level_are_all_named(build: Build) -> None:
    """Short conversations make modes equal; then none of them is put before the others."""
    compared = build(full=(300, 1000), zero=(100, 0), sliding=(300, 1000), summary=(300, 1000))
    assert answer(compared).startswith(f"full, sliding and summary send the fewest tokens {AMONG}: 300 a request, with")
    assert answer(build(full=(400, 1000), sliding=(300, 1000), summary=(300, 1000))).startswith(
        f"sliding and summary send the fewest tokens {AMONG}: 300 a request, 75.0% of full's 400, with 100.0%"
    )


def test_of_two_at_one_price_the_one_that_keeps_more_is_named(build: Build) -> None:
    """At equal tokens recall decides, whatever the order of the modes."""
    assert answer(build(full=(400, 1000), sliding=(300, 960), summary=(300, 970))).startswith("summary sends")


def test_unsendable_requests_are_never_left_out(build: Build) -> None:
    """Every mode that is named is named with the number of requests it cannot send."""
    compared = build(full=(2000, 900, 3), zero=(100, 0), sliding=(1000, 100, 2), summary=(1500, 890, 1))
    assert answer(compared) == (
        f"summary (1 request unsendable) sends the fewest tokens {AMONG}: 1,500 a request, 75.0% of full's 2,000 "
        "(3 requests unsendable), with 89.0% of the facts in context; sliding (2 requests unsendable) sends 1,000 but "
        "keeps only 10.0%."
    )


def test_without_labels(build: Build) -> None:
    """Without facts to probe the cheapest mode is named, and that nothing says what it loses."""
    assert answer(build(full=(2000,), zero=(100, None, 1))) == (
        "zero (1 request unsendable) sends the fewest tokens: 100 a request, 5.0% of full's 2,000; without facts to "
        "probe, nothing says what is lost."
    )


def test_one_mode(build: Build) -> None:
    """One mode alone is compared with nothing."""
    assert (
        answer(build(sliding=(1000, 700)))
        == "sliding sends 1,000 tokens a request, with 70.0% of the facts in context."
    )
    assert answer(build(sliding=(1000, None, 2))) == "sliding (2 requests unsendable) sends 1,000 tokens a request."


def test_one_mode_that_can_send_anything(build: Build) -> None:
    """Where the others can send nothing, that is said."""
    assert answer(build(full=(None, 0, 2), zero=(100, 500))) == (
        "zero sends 100 tokens a request, with 50.0% of the facts in context, as the only mode that can send any of "
        "these requests."
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
