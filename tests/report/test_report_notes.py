"""What readers are told beside the figures."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.notes import NOT_YET, TEACHER_FORCED, notes
from ctxmode_cli.report.text import heading
from ctxmode_cli.report.words import counted, percent

Build = Callable[..., Comparison]


def extra(compared: Comparison) -> list[str]:
    """The notes beside the two that every comparison has."""
    first, second, *rest = notes(compared)
    assert (first, second) == (TEACHER_FORCED, NOT_YET)
    return rest


CASES: list[tuple[dict[str, Any], str]] = [
    ({"facts": 0}, "no facts are labelled, so nothing here says what a mode loses"),
    (
        {"facts": 2, "probes": 0},
        "no label can be probed, so recall is null; --probes all asks for each fact in every later turn",
    ),
    (
        {"facts": 2, "probes": 2},
        "recall is in context: the value was in what would be sent; a model may still not use it, so it is an upper bound",
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
    ({"open_requests": 1}, "1 open request: the record ends before the reply"),
    ({"open_requests": 2}, "2 open requests: the record ends before the reply"),
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
    assert extra(build(full=(10,), data=data)).count(expected) == 1


def test_clean_data_needs_no_notes(build: Build) -> None:
    """Where nothing is wrong, nothing more is said than what recall means."""
    assert len(extra(build(full=(10, 1000), zero=(5, 0)))) == 1


@pytest.mark.parametrize("modes", [{"full": (10, 900)}, {"zero": (5, 0)}, {"full": (10, 5), "zero": (5, 5)}])
def test_note_on_normalised_recall(build: Build, modes: dict[str, Any]) -> None:
    """Where recall cannot be normalised, the reason is there."""
    assert "normalised recall is null: it takes zero and full, and a gap between them" in notes(build(**modes))


def test_note_on_skipped_records(build: Build) -> None:
    """What was skipped is in every output."""
    compared = build(full=(10,))
    assert "skipped: 1 bad record" in notes(dataclasses.replace(compared, skipped=1))
    assert "skipped: 2 bad records" in notes(dataclasses.replace(compared, skipped=2))


def test_notes_on_modes(build: Build) -> None:
    """A clamped budget, unsendable requests and steps down are told for each mode."""
    compared = build(full=(10, None, 1), summary=(10, None, 2))
    configs = {name: ContextConfig(mode=name, max_tokens=200_000) for name in ("full", "summary")}
    compared.modes["summary"].stepped_down.update(sliding=3, zero=1)
    assert extra(dataclasses.replace(compared, configs=configs))[1:] == [
        "full: 1 request cannot be sent within the budget (input: 1); counted 0 in recall, left out of the means",
        "summary: --max-tokens 200000 is clamped to 126000, the window of 128000 less the reserved output",
        "summary: 2 requests cannot be sent within the budget (input: 2); counted 0 in recall, left out of the means",
        "summary: requests stepped down to a simpler mode: 3 to sliding, 1 to zero",
    ]


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
