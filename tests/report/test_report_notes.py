"""What readers are told beside the figures."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from comparisons import Build

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.breakdown import MAX_VALUES, Breakdown
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.statistics import FIXED_POINT, Replicates, Sums
from ctxmode_cli.replay.verdict import Verdict
from ctxmode_cli.report.document import document
from ctxmode_cli.report.notes import NO_GATE, NOT_ANSWERED, TEACHER_FORCED, notes
from ctxmode_cli.report.text import heading
from ctxmode_cli.report.words import counted, listed, percent, usd, usd_decimals
from ctxmode_cli.simulate.rates import Usage

RECALL = (
    "recall (in context) is an upper bound: the value was in what would be sent; recall (modelled) is that times how "
    "likely it is used where it stands: profile flat, wherever a fact stands, it is used: the same as recall in context"
)


def before(compared: Comparison) -> list[str]:
    """The notes on what is wrong, which stand before those on what recall means."""
    told = notes(compared)
    return told[: told.index(RECALL)]


CASES: list[tuple[dict[str, Any], str]] = [
    ({"facts": 0}, "no facts are labelled, so recall of any kind is null and nothing says what a mode loses"),
    (
        {"facts": 2, "probes": 0},
        "no label can be probed, so recall of any kind is null; --probes all asks for each fact in every later turn",
    ),
    (
        {"facts": 2, "probes": 2},
        RECALL,
    ),
    ({"unprobed": 1}, "left out, since no request needs the fact from history: 1 labelled probe"),
    ({"unprobed": 1200}, "left out, since no request needs the fact from history: 1,200 labelled probes"),
    (
        {"unmatched_facts": 1, "unmatched_listed": ['a: f "v"']},
        '1 fact not found where the label says, counted as lost: a: f "v"',
    ),
    (
        {"unmatched_facts": 12, "unmatched_listed": ['a: f "v"', 'b: g "w"']},
        '12 facts not found where the label says, counted as lost: a: f "v"; b: g "w"; and 10 more',
    ),
    ({"open_requests": 1}, "1 open request: the record ends before the reply, so only input is billed"),
    ({"open_requests": 2}, "2 open requests: the record ends before the reply, so only input is billed"),
    (
        {"record_faults": Counter(orphan_result=1)},
        "in the records themselves, 1 tool result answers no call; such requests are replayed as they were",
    ),
    (
        {"record_faults": Counter(orphan_result=2)},
        "in the records themselves, 2 tool results answer no call; such requests are replayed as they were",
    ),
    (
        {"record_faults": Counter(unanswered_call=1)},
        "in the records themselves, 1 call has no result; such requests are replayed as they were",
    ),
    (
        {"record_faults": Counter(unanswered_call=3)},
        "in the records themselves, 3 calls have no result; such requests are replayed as they were",
    ),
    (
        {"uncounted_parts": Counter(input_audio=2, file=1)},
        "no published rule counts the tokens of these parts, which count 0: 1 file, 2 input_audio",
    ),
]


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_note_on_the_data(build: Build, data: dict[str, Any], expected: str) -> None:
    """What is wrong with the data or missing from it is said once, in the right number."""
    assert notes(build(full=(10,), data=data)).count(expected) == 1


def test_clean_data_needs_few_notes(build: Build) -> None:
    """Where nothing is wrong, what recall and replay mean, the prices, the cache rule and the profile are all."""
    first, second, *assumed = notes(build(full=(10, 1000), zero=(5, 0)))
    assert (first, second) == (RECALL, TEACHER_FORCED)
    assert [note.split(":")[0].split(" (")[0] for note in assumed] == [
        "prices in USD per million tokens",
        "simulated prompt cache",
        "simulated latency",
    ]


@pytest.mark.parametrize("modes", [{"full": (10, 900)}, {"zero": (5, 0)}, {"full": (10, 5), "zero": (5, 5)}])
def test_note_on_normalised_recall(build: Build, modes: dict[str, Any]) -> None:
    """Where recall cannot be normalised, the reason is in the JSON, which alone has it."""
    compared = build(**modes)
    reason = "normalised recall (in context) is null: it takes zero and full, and a gap between them"
    assert reason in document(compared)["notes"]
    assert reason not in notes(compared)


def test_notes_on_what_only_the_json_has(build: Build) -> None:
    """The JSON has all the notes of the table, and after them the reasons of nulls that the table does not show."""
    compared = build(full=(10, 1000), zero=(5, 0))
    told = document(compared)["notes"]
    unsure = "intervals and differences are null where fewer than two conversations say something of them"
    not_asked = [NOT_ANSWERED, NO_GATE, "cost per day is null: --sessions-per-day asks for it"]
    assert told == [*notes(compared), *not_asked, unsure]
    asked = dataclasses.replace(compared, sessions_per_day=3, gate=Verdict(()))
    assert document(asked)["notes"] == [*notes(compared), NOT_ANSWERED, unsure]


def test_note_on_skipped_records(build: Build) -> None:
    """What was skipped is in every output."""
    compared = build(full=(10,))
    assert "skipped: 1 bad record" in notes(dataclasses.replace(compared, skipped=1))
    assert "skipped: 2 bad records" in notes(dataclasses.replace(compared, skipped=2))


# --- how sure the figures are ---


def kept(share: int) -> Sums:
    """A conversation that keeps so many of ten facts."""
    return Sums(1, 0, 0, 1, 10, 1, 10, 10, share * FIXED_POINT, share * FIXED_POINT)


def weighed(build: Build, conversations: int, **shares: Callable[[int], int]) -> Comparison:
    """A comparison on so many conversations, of which each mode keeps what it keeps of ten facts by their number."""
    replicates = Replicates()
    for number in range(conversations):
        replicates.add(str(number), {mode: kept(share(number)) for mode, share in shares.items()})
    facts = 10 * conversations
    sums = {mode: sum(map(share, range(conversations))) for mode, share in shares.items()}
    modes = {mode: {"tokens": 10, "kept": share, "facts": facts} for mode, share in sums.items()}
    return build(**modes, changed={"replicates": replicates})


def test_few_conversations_are_warned_of(build: Build) -> None:
    """Below 200 conversations intervals are too narrow; with one there is none to warn of."""
    told = {
        count: [note for note in notes(weighed(build, count, full=lambda number: 9 + number % 2)) if "interval" in note]
        for count in (1, 199, 200)
    }
    few = "intervals (95 %, bootstrap over conversations) are too narrow: 199 conversations tell of recall (in context), fewer than 200"
    assert told == {1: [], 199: [few], 200: []}


def test_modes_that_the_data_cannot_separate(build: Build) -> None:
    """Named are the modes whose difference to the baseline may be 0; one that loses a little everywhere is not."""
    compared = weighed(
        build,
        50,
        full=lambda number: 9,  # noqa: ARG005 - as the others
        sliding=lambda number: 8,  # noqa: ARG005 - as the others
        summary=lambda number: 8 + number % 3,
        zero=lambda number: 9,  # noqa: ARG005 - as the others
    )
    told = [note for note in notes(compared) if "separate" in note]
    assert told == [
        "recall (in context): the data cannot separate summary and zero from full, since the interval of the difference includes 0"
    ]


def test_axis_with_too_many_values_is_told(build: Build) -> None:
    """What is not broken down, for want of fewer values, has its reason in the JSON."""
    breakdown = Breakdown()
    for number in range(MAX_VALUES + 1):
        breakdown.axes["source"].share(str(number))
    compared = build(full=(10, 900), changed={"breakdowns": {"full": breakdown}})
    assert document(compared)["modes"]["full"]["recall"]["by"]["source"] is None
    assert (
        "recall (in context, modelled) by source is null: more than 256 values say nothing"
        in document(compared)["notes"]
    )


def test_modes_that_share_a_note_are_told_together(build: Build) -> None:
    """What is true of several modes is one note."""
    compared = build(full=(10, 900), zero=(10, 900, 2), sliding=(10, 900, 3), summary=(10, 900, 2))
    assert [note.partition(" requests ")[0] for note in before(compared)] == ["zero, summary: 2", "sliding: 3"]


def test_notes_on_modes(build: Build) -> None:
    """A clamped budget, unsendable requests and steps down are told for each mode, before all else."""
    compared = build(full=(10, 900, 1), summary=(10, 900, 2))
    configs = {name: ContextConfig(mode=name, max_tokens=200_000) for name in ("full", "summary")}
    compared.modes["summary"].stepped_down.update(sliding=3, zero=1)
    compared.data.open_requests = 1
    assert before(dataclasses.replace(compared, configs=configs)) == [
        "full: 1 request cannot be sent within the budget (input: 1); counted 0 in recall of any kind, left out of means and costs",
        "summary: --max-tokens 200000 is clamped to 126000, the window of 128000 less the reserved output",
        "summary: 2 requests cannot be sent within the budget (input: 2); counted 0 in recall of any kind, left out of means and costs",
        "summary: requests stepped down to a simpler mode: 3 to sliding, 1 to zero",
        "1 open request: the record ends before the reply, so only input is billed",
    ]


@pytest.mark.parametrize(
    ("settings", "unseen", "expected"),
    [
        ({}, 0, "on their own, in the background, outside the latency"),
        ({"summary_call": "blocking"}, 0, "on their own, while requests wait"),
        ({"summary_prefix": "session"}, 0, "behind the session's own prefix, in the background, outside the latency"),
        (
            {},
            1200,
            (
                "on their own, in the background, outside the latency; 1,200 tokens to summarise were over its window and "
                "never seen"
            ),
        ),
    ],
)
def test_note_on_summary_calls(build: Build, settings: dict[str, Any], unseen: int, expected: str) -> None:
    """How a mode's summary calls are made is told last, with what a call with too small a window never saw."""
    compared = build(full=(10, 900), summary={"tokens": 10, "kept": 900, "calls": Usage(uncached=9)})
    configs = {"full": ContextConfig(mode="full"), "summary": ContextConfig(mode="summary", **settings)}
    compared.modes["summary"].calls["summary"].unseen_tokens = unseen
    model = configs["summary"].summarising_model
    assert notes(dataclasses.replace(compared, configs=configs))[-1] == (
        f"summary: its summary calls go to {model}, {expected}"
    )
    assert "summary calls" not in " ".join(notes(build(full=(10, 900), summary=(10, 900))))


@pytest.mark.parametrize("unseen", [0, 1200])
def test_note_on_card_calls(build: Build, unseen: int) -> None:
    """How the fact card's calls are made, what was over their window, and, where a model was asked, which and where."""
    compared = build(full={"tokens": 10, "kept": 900, "card_calls": Usage(uncached=9)})
    compared.modes["full"].calls["card"].unseen_tokens = unseen
    how = "full: its card calls go to gpt-4o-mini, one for each user message of earlier turns, in the background, "
    over = "; 1,200 tokens of user messages were over its window and never seen" if unseen else ""
    assert notes(compared)[-1] == f"{how}outside the latency{over}"
    asked = dataclasses.replace(compared, endpoint="http://here", asked_for=("card",))
    assert notes(asked)[-1] == "full: its fact card's facts came from openai, model gpt-4o-mini at http://here"


def test_heading(build: Build) -> None:
    """The heading counts what was replayed, in the right number, and names tokenizer and seed."""
    one = build(full=(10,), data={"conversations": 1, "requests": 1, "facts": 1, "probes": 1})
    assert heading(one) == (
        "1 conversation, 1 request, 1 labelled fact, 1 probe; tokens of gpt-4o (o200k_base), seed 0"
    )
    many = build(full=(10,), data={"conversations": 1000, "requests": 2, "facts": 0})
    assert heading(many) == "1,000 conversations, 2 requests, no labelled facts; tokens of gpt-4o (o200k_base), seed 0"


@pytest.mark.parametrize(("count", "text"), [(0, "0 calls"), (1, "1 call"), (2, "2 calls"), (12_000, "12,000 calls")])
def test_counted(count: int, text: str) -> None:
    """One is singular, everything else plural."""
    assert counted(count, "call") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.0%"),
        (1, "100.0%"),
        (0.9996, "99.9%"),
        (0.0004, "<0.1%"),
        (0.1234, "12.3%"),
        (1.0004, "100.0%"),
        (1.5, "150.0%"),
    ],
)
def test_percent(share: float, text: str) -> None:
    """Less than all is never 100 %, more than nothing never 0 %."""
    assert percent(share) == text


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_listed(words: list[str], text: str) -> None:
    """Words are listed as one reads them out."""
    assert listed(words) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (1, "$1.00"),
        (0.5, "$0.500"),
        (0.0123456, "$0.0123"),
        (0.00001, "$0.0000100"),
        (Decimal("0.0657791"), "$0.0658"),
    ],
)
def test_usd(amount: float, text: str) -> None:
    """Cents from a dollar on, below that three leading digits, so that a small amount never looks like none."""
    assert usd(amount) == text
    assert len(text.partition(".")[2]) == usd_decimals(amount)


def test_usd_beside_others() -> None:
    """With the decimals of a neighbour, points stand below each other."""
    assert usd(12.5, 4) == "$12.5000"
