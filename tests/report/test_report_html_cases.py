"""Which conversations a page shows, and what of them."""

from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import pytest
from pages import WRONG, Made, configs, made, trip

from ctxmode_cli.report.html.cases import MESSAGES, MOST, Case
from ctxmode_cli.report.html.kept import Kept


def losing(number: int, facts: int, turns: int = 4) -> dict[str, Any]:
    """A conversation whose first message says some numbers, all of them needed in the last."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        said = " ".join(f"my code is {1000 + fact};" for fact in range(facts)) if not turn else f"Go on with {turn}."
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": f"Done {turn}."}]
    probed = [
        {"id": f"f{fact}", "kind": "code", "value": f"{1000 + fact}", "stated_at": 0, "probe_at": [len(messages) - 2]}
        for fact in range(facts)
    ]
    return {"id": f"c{number}", "messages": messages, "facts": probed}


def worst(found: Made, mode: str) -> list[str]:
    return [case.conversation for case in found.kept.cases.by_mode[mode]]


def test_the_worst_are_kept_in_any_order() -> None:
    """By facts lost, then by id; three of a mode, none where nothing is lost."""
    records = [losing(number, facts) for number, facts in enumerate((1, 3, 2, 5, 3))]
    for order in list(permutations(records))[::17]:
        found = made(order, configs(sliding_turns=1, summary_threshold=None))
        assert worst(found, "zero") == worst(found, "sliding") == ["c3", "c1", "c4"]
        assert worst(found, "full") == []
        assert [case.damage for case in found.kept.cases.by_mode["zero"]] == [Fraction(5), Fraction(3), Fraction(3)]


@pytest.fixture(scope="module")
def trips() -> Made:
    return made([trip(0)], configs())


def case_of(found: Made, mode: str) -> Case:
    [case] = found.kept.cases.by_mode[mode]
    return case


def test_a_lost_fact_is_marked_where_full_has_it(trips: Made) -> None:
    """Both requests side by side; what the mode lacks is marked in the other, and the lines say what was left out."""
    case = case_of(trips, "sliding")
    assert case.told.startswith("loses ")
    assert all(not is_there for _, is_there in case.facts)
    assert case.sent.mode == "sliding"
    assert case.full.mode == "full"
    assert not [part for part in case.sent.parts if part.text.marked]
    marked = [part for part in case.full.parts if part.is_lost]
    assert [(part.number, part.text.marked) for part in marked] == [(1, "parking space")]
    assert case.sent.not_sent[0].endswith("outside the window")
    assert case.full.not_sent == []
    assert case.lost.rows[0][:4] == ["parking", "wish", "parking space", "window"]
    assert case.sent.prompt_tokens is not None
    assert case.full.prompt_tokens is not None
    assert case.sent.prompt_tokens < case.full.prompt_tokens == case.scale


def test_a_bar_is_as_long_as_its_tokens(trips: Made) -> None:
    """The pieces lie end to end, and the larger request fills the bar but for the opening of the reply."""
    case = case_of(trips, "sliding")
    bars = list(case.full.bar(case.scale))
    assert bars[0].start == 0
    for bar, after in pairwise(bars):
        assert bar.start + bar.width == pytest.approx(after.start, abs=0.2)
    assert sum(bar.tokens for bar in bars) == case.scale - 3


def test_a_contradiction_is_told_with_its_statement(trips: Made) -> None:
    """The first request that sends it is shown; each summary has its lines, and the wrong one what it gets wrong."""
    case = case_of(trips, "summary")
    assert case.damage == 1
    assert "contradicts 1 fact in summaries" in case.told
    assert any(part.purpose == "summary" for part in case.sent.parts)
    [line] = [line for line in case.summaries[0].lines if line.wrong]
    assert line.text == WRONG
    assert line.wrong == ['contradicts parking: it denies what was said, "parking space"']
    assert case.summaries[0].request == case.request


def test_full_is_replayed_where_nobody_asked_for_it() -> None:
    """A replay of one mode shows what full would have sent all the same."""
    found = made([trip(0)], {"sliding": configs()["sliding"]})
    alone, beside = case_of(found, "sliding"), case_of(made([trip(0)], configs()), "sliding")
    assert alone == beside


def test_of_many_messages_those_that_matter_are_shown() -> None:
    """The first, the last, and those that say a fact; of the others, how many and how large they are."""
    case = case_of(made([losing(0, 2, turns=60)], configs()), "zero")
    parts = case.full.parts
    assert len([part for part in parts if not part.more]) <= MESSAGES
    assert [part.more.split(",")[0] for part in parts if part.more] == ["95 more messages"]
    assert parts[0].is_lost
    assert parts[-1].purpose == "input"


def test_of_many_modes_few_have_cases() -> None:
    """One case a mode where there are many, and none beyond the most that a page shows."""
    names = {f"zero-{number}": configs()["zero"] for number in range(MOST + 3)}
    found = made([losing(number, 2) for number in range(3)], names)
    assert [len(cases) for cases in found.kept.cases.by_mode.values()] == [1] * MOST


def test_what_cannot_be_sent_says_why() -> None:
    """An unsendable request has no parts, and full's beside it."""
    case = case_of(made([losing(0, 30)], configs(max_tokens=12)), "zero")
    assert case.sent.prompt_tokens is None
    assert case.sent.lines[0].startswith("cannot be sent")
    assert case.full.parts


def test_nothing_is_kept_of_a_log_without_labels() -> None:
    """Without facts there are no worst conversations; requests to play with there are."""
    record = losing(0, 0)
    found = made([record], configs())
    assert all(not cases for cases in found.kept.cases.by_mode.values())
    assert isinstance(found.kept, Kept)
    assert len(found.kept.offers.found) == 3
