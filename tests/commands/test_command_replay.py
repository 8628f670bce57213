"""`ctxmode replay`."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import Ctxmode


def test_one_mode(ctxmode: Ctxmode, talk: str) -> None:
    """One mode is replayed, sliding unless another is named, and the last line says what it costs."""
    result = ctxmode("replay", talk)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert len([line for line in lines[: lines.index("", 2)] if line.startswith(("mode ", "sliding "))]) == 2
    assert result.out.splitlines()[-1].startswith("sliding costs $")
    assert set(json.loads(ctxmode("replay", talk, "--mode", "zero", "--format", "json").out)["modes"]) == {"zero"}


def test_same_figures_as_compare(ctxmode: Ctxmode, talk: str) -> None:
    """A mode alone has the figures that it has beside others, but for those that are related to another mode's."""
    compared = json.loads(ctxmode("compare", talk, "--format", "json").out)["modes"]
    for mode, part in compared.items():
        [alone] = json.loads(ctxmode("replay", talk, "--mode", mode, "--format", "json").out)["modes"].values()
        assert alone["recall"]["normalised"] is None
        assert alone["cost_usd"]["relative"] == alone["cost_usd"]["relative_uncached"] == 1
        for group, name in (("recall", "normalised"), ("cost_usd", "relative"), ("cost_usd", "relative_uncached")):
            alone[group].pop(name)
            part[group].pop(name)
        assert alone == part


def test_run_folder(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """`-o run` keeps one row a request, and the results that it printed."""
    printed = ctxmode("replay", talk, "--mode", "summary", "-o", "run", "--format", "json").out
    assert sorted(path.name for path in (here / "run").iterdir()) == [
        "card_calls.parquet",
        "harm.parquet",
        "probes.parquet",
        "requests.parquet",
        "results.json",
        "run.json",
        "summaries.parquet",
    ]
    assert (here / "run" / "results.json").read_text(encoding="utf-8") == printed
    assert pq.read_table(here / "run" / "requests.parquet").num_rows == json.loads(printed)["data"]["requests"]
    run = json.loads((here / "run" / "run.json").read_text())
    assert run["settings"]["summary"]["summary_every"] == 4
    assert run["inputs"][0]["name"] == talk
    assert (run["seed"], run["model"]) == (0, "gpt-4o")


def test_run_folder_that_exists(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """An earlier run is never overwritten."""
    (here / "run").mkdir()
    result = ctxmode("replay", talk, "-o", "run")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: run: the run folder exists already\nhint: name another, or remove it\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((), "Missing argument"), (("x.jsonl", "--mode", "slide"), 'error: mode is "slide"')],
)
def test_wrong_usage(ctxmode: Ctxmode, arguments: tuple[str, ...], error: str) -> None:
    """Without data, or with an unknown mode, it exits with 2."""
    result = ctxmode("replay", *arguments)
    assert (result.code, result.out) == (2, "")
    assert error in result.err


def test_environment(ctxmode: Ctxmode, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode can be set in the environment, and a flag is stronger."""
    monkeypatch.setenv("CTXMODE_MODE", "zero")
    assert "zero costs" in ctxmode("replay", talk).out
    assert "full costs" in ctxmode("replay", talk, "--mode", "full").out
