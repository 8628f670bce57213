"""How a dry run is told: bounds, estimates and what is unknown, by figures made up here."""

import json

import pytest
from assumptions import PRICE, RULE

from ctxmode_cli.replay.dry_run import Caller, DryRun
from ctxmode_cli.report.dry_run import dry_run_answer, dry_run_json, dry_run_notes, dry_run_table
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.rates import Usage
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
NAME = "gpt-4o"


@pytest.fixture
def run() -> DryRun:
    """Two callers of one model: three calls of a bound, and two that are estimated, with one answer kept."""
    run = DryRun("https://me:hush@x.test/v1/", None, {NAME: Provider.of(PRICE, RULE)}, COUNTER)
    for caller, exact, count, kept in (
        (Caller("full", "facts", NAME), True, 3, 0),
        (Caller("summary", "summaries", NAME), False, 2, 1),
    ):
        run.enter(caller, exact=exact)
        totals = run.callers[caller]
        totals.count, totals.kept = count, kept
        totals.bill.add([(0, Usage(1000, 0, 0, 100))] * count)
    return run


def test_bounds_and_estimates_have_their_signs(run: DryRun) -> None:
    """3,000 tokens at 3 and 300 at 15 USD a million are at most 0.0135; of an estimate nothing is a bound."""
    rows = [line.split() for line in dry_run_table(run).splitlines()]
    assert ["full", "facts", NAME, "3", "0", "3,000", "≤300", "≤$0.0135"] in rows
    assert ["summary", "summaries", NAME, "~2", "1", "~2,000", "~200", "~$0.00900"] in rows
    assert ["all", "all", NAME, "~5", "1", "~5,000", "~500", "~$0.0225"] in rows


def test_sentence(run: DryRun) -> None:
    """It says what is a bound, what an estimate, and what the cache saves."""
    assert dry_run_answer(run) == (
        "A live run would make about 5 calls to https://x.test/v1, of about 5,000 prompt tokens and about 500 tokens of "
        "output, for about $0.0225; 1 answer would come from the cache."
    )
    del run.callers[Caller("summary", "summaries", NAME)]
    assert dry_run_answer(run) == (
        "A live run would make 3 calls to https://x.test/v1, of 3,000 prompt tokens and at most 300 tokens of output, "
        "for at most $0.0135."
    )


def test_notes(run: DryRun) -> None:
    """What is estimated, at which prices; nothing where nobody is asked."""
    notes = " ".join(dry_run_notes(run))
    assert "estimates (~): summaries (summary) rest on answers that are not known yet" in notes
    assert "prices in USD per million tokens (made up, 2026-01-01): gpt-4o input 3, " in notes
    assert list(dry_run_notes(DryRun("", None, {}, COUNTER))) == []


def test_json(run: DryRun) -> None:
    """The same figures, unrounded, in keys that say which of them is a bound."""
    report = json.loads(dry_run_json(run, skipped=2))
    assert report["skipped"] == 2
    assert report["calls"][0] == {
        "mode": "full", "purpose": "facts", "model": NAME, "count": 3, "cached": 0, "prompt_tokens": 3000,
        "most_output_tokens": 300, "cost_usd": 0.0135, "estimated": False,
    }  # fmt: skip
    assert report["models"][NAME] == report["total"]
    assert report["total"]["cost_usd"] == 0.0225


def test_hostile_names_are_shown(run: DryRun) -> None:
    """A model's name cannot move the cursor."""
    caller = run.enter(Caller("full", "facts", "\x1b[2J"), exact=True)
    run.providers = {**run.providers, caller.model: Provider.of(None, RULE)}
    run.counters[caller.model] = COUNTER
    run.callers[caller].count = 1
    run.callers[caller].bill.add([(0, Usage(1, 0, 0, 1))])
    assert "price unknown" in dry_run_table(run)
    assert "\x1b" not in dry_run_table(run) + dry_run_json(run, skipped=0)
