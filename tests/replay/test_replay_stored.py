"""Finished runs read back: results, frames, conversations, and the bootstrap drawn again."""

import itertools
import json
import shutil
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from assumptions import simulation

from ctxmode_cli import CtxmodeError, open_run
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.replay.by_conversation import ByConversation, FactScore
from ctxmode_cli.replay.results import Totals
from ctxmode_cli.replay.run_folder import RunFolder
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.replay.statistics import MEASURES, Replicates
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
TALK = Path(__file__).resolve().parents[1] / "golden" / "talk.jsonl"
RESULTS = {"format": 1, "seed": 0, "data": {"conversations": 3}, "modes": {"full": {"requests": 33}}}
FIGURES = Fraction(0), Fraction(10**6)
"""Stand for any: an interval takes its figure in, so that one below all shows its upper end, and one above its lower end."""


def made(folder: Path, **settings: Any) -> tuple[Totals, ByConversation]:
    """A run folder, and what was counted while it was written."""
    configs = {mode: ContextConfig(mode=mode, max_tokens=400, **settings) for mode in ("full", "sliding", "summary")}
    replay = Replay(configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation())
    totals, seen = Totals(replay), ByConversation()
    with RunFolder(folder, simulation()) as rows:
        for conversation in Reading([str(TALK)]).conversations():
            session = replay(conversation)
            totals.add(session)
            seen.add(session)
            rows.add(session)
        rows.finish(json.dumps(RESULTS), {"seed": 0})
    return totals, seen


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Totals, ByConversation]:
    """A finished run, and what it came to."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, *made(folder, summary_target_tokens=100)


def test_a_run_has_its_results_and_how_it_was_made(run: tuple[Path, Totals, ByConversation]) -> None:
    """Results and settings are those of the files."""
    opened = open_run(run[0])
    assert (opened.path, opened.results, opened.run) == (run[0], RESULTS, {"seed": 0})
    assert open_run(str(run[0])).results == RESULTS
    alone = open_run(run[0] / "results.json")
    assert (alone.results, alone.run, alone.by_conversation(), alone.replicates()) == (RESULTS, None, None, None)


def test_a_run_has_its_rows_as_frames(run: tuple[Path, Totals, ByConversation]) -> None:
    """The frames add up to the totals; money is exact; a frame is read once."""
    folder, totals, _ = run
    opened = open_run(folder)
    requests = opened.requests[opened.requests["mode"] == "summary"]
    assert requests["prompt_tokens"].sum() == totals.modes["summary"].prompt_tokens.total
    assert isinstance(opened.requests["cost_usd"].iloc[0], Decimal)
    assert len(opened.summaries) == totals.modes["summary"].calls["summary"].count
    assert set(opened.probes["mode"]) == {"full", "sliding", "summary"}
    assert len(opened.harm) == sum(harm.counts.total() for harm in totals.harm.values())
    assert opened.requests is opened.requests


def test_conversations_are_read_as_they_were_counted(run: tuple[Path, Totals, ByConversation]) -> None:
    """The folder says the same of each conversation as the replay did."""
    folder, _, seen = run
    assert open_run(folder).by_conversation() == seen
    assert seen.modes["summary"]["dinner"].facts["room"].is_lost


def test_the_bootstrap_is_drawn_again(run: tuple[Path, Totals, ByConversation]) -> None:
    """Every interval off the folder's rows is the one of the replay."""
    folder, totals, _ = run
    again = open_run(folder).replicates()
    assert again is not None
    assert totals.modes["summary"].calls["summary"].count
    for mode, measure, figure in itertools.product(totals.modes, MEASURES, FIGURES):
        found, expected = (each.interval(mode, measure, figure) for each in (again, totals.replicates))
        assert found == (expected if expected is None else pytest.approx(expected, abs=1e-9)), (mode, measure)


def test_a_change_is_paired(run: tuple[Path, Totals, ByConversation], tmp_path: Path) -> None:
    """A run does not differ from itself, and from another one no more than the two intervals would allow."""
    folder, totals, _ = run
    again = open_run(folder).replicates() or Replicates()
    same = again.change(totals.replicates, "summary", "tokens.mean", Fraction(0))
    assert same is not None
    assert (same.low, same.high) == pytest.approx((0, 0), abs=1e-9)
    other, _ = made(tmp_path / "other", sliding_turns=1)
    apart = other.replicates.change(again, "sliding", "tokens.mean", Fraction(-1))
    assert apart is not None
    assert apart.low < -1 < apart.high <= 0
    assert again.change(totals.replicates, "zero", "tokens.mean", Fraction(0)) is None


def test_facts_are_lost_by_shares() -> None:
    """A fact is worse off where a smaller share of its probes has it, however many there are."""
    assert FactScore(4, 1).is_worse_than(FactScore(2, 1))
    assert not FactScore(4, 2).is_worse_than(FactScore(2, 1))
    assert not FactScore(1, 1).is_worse_than(FactScore(2, 1))


# --- what is no run ---


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "this is no JSON object"),
        ("[]", "this is no JSON object"),
        ("[" * 100_000, "this is no JSON object"),
        ("{}", "these are no results of a comparison"),
        ('{"format": 1, "modes": [], "data": {}}', "these are no results of a comparison"),
        ('{"format": 1, "modes": {"full": 3}, "data": {}}', "these are no results of a comparison"),
        ('{"format": 2, "modes": {}, "data": {}}', "the results have format 2"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: str, message: str) -> None:
    """A file that is something else says so, with what to do."""
    path = tmp_path / "results.json"
    path.write_text(content)
    with pytest.raises(CtxmodeError) as caught:
        open_run(path)
    assert (caught.value.message, caught.value.where) == (message, str(path))
    assert caught.value.hint


def test_what_no_figure_can_be_is_unknown(tmp_path: Path) -> None:
    """NaN and numbers without end are read as null, so that no gate compares them."""
    path = tmp_path / "results.json"
    path.write_text('{"format": 1, "data": {}, "modes": {"full": {"tokens": [NaN, Infinity, -Infinity, 1e999, 2.5]}}}')
    assert open_run(path).results["modes"]["full"] == {"tokens": [None, None, None, None, 2.5]}


def test_what_is_missing_is_told(run: tuple[Path, Totals, ByConversation], tmp_path: Path) -> None:
    """A folder without its files, a results file without rows, and a damaged table are errors with a place."""
    with pytest.raises(CtxmodeError, match=r"run\.json: the results cannot be read: No such file"):
        open_run(tmp_path)
    with pytest.raises(CtxmodeError, match=r"a results file has no requests"):
        _ = open_run(run[0] / "results.json").requests
    copy = tmp_path / "copy"
    shutil.copytree(run[0], copy)
    (copy / "probes.parquet").write_bytes(b"PAR1 damaged")
    for read in (lambda: open_run(copy).probes, open_run(copy).by_conversation, open_run(copy).replicates):
        with pytest.raises(CtxmodeError, match="cannot be read"):
            read()


def test_without_pandas_the_hint_names_the_extra(
    run: tuple[Path, Totals, ByConversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results need no extra; frames say which one they need."""
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    opened = open_run(run[0])
    assert opened.results == RESULTS
    with pytest.raises(CtxmodeError, match="frames need pandas") as caught:
        _ = opened.probes
    assert caught.value.hint == 'pip install "ctxmode[notebook]"'
