"""Every form of one small comparison, as it was when it was last looked at; UPDATE_GOLDEN=1 writes them anew."""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.run import run
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import as_csv, as_json, as_jsonl, as_markdown
from ctxmode_cli.report.table import as_table
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODES = ("full", "zero", "sliding", "summary")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Three short conversations, of which one has an input that fits into no budget but that of full."""
    counter = TokenCounter.for_model("gpt-4o")
    configs = {mode: ContextConfig(mode=mode, max_tokens=400, summary_target_tokens=150) for mode in MODES}
    reading = Reading([str(GOLDEN / "talk.jsonl")])
    replay = Replay(configs, counter, ExtractiveSummarizer(counter), simulation())
    totals = run(reading.conversations(), replay, keep=lambda _: None, reject=reading.reject)
    sources = [("talk.jsonl", digest) for _, digest in reading.sources]
    return Comparison(
        "gpt-4o", counter.encoding_name, 128_000, 0, "full", configs, totals.data, totals.modes, sources, simulation()
    )


FORMS: Mapping[str, Callable[[Comparison], str]] = {
    "compare.piped.txt": as_table,
    "compare.80.txt": lambda compared: as_table(compared, width=80),
    "compare.140.txt": lambda compared: as_table(compared, width=140),
    "compare.colour.txt": lambda compared: as_table(compared, width=140, colour=True),
    "compare.md": as_markdown,
    "compare.csv": as_csv,
    "compare.jsonl": as_jsonl,
    "compare.json": as_json,
}


@pytest.mark.parametrize("name", FORMS)
def test_form_is_as_it_was(comparison: Comparison, name: str) -> None:
    """A report says the same in the same words until someone means it to change."""
    written = FORMS[name](comparison)
    golden = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(written, encoding="utf-8", newline="")
    assert written == golden.read_text(encoding="utf-8")


def test_terminal_lines_fit(comparison: Comparison) -> None:
    """No line is longer than the terminal is wide, and every figure of the piped table is whole in the narrow one."""
    for width in (80, 100, 140):
        assert max(map(len, as_table(comparison, width=width).splitlines())) <= width
    piped, narrow = ([line.split() for line in as_table(comparison, width=w).splitlines()] for w in (None, 80))
    for mode in MODES:
        assert next(line for line in piped if line[:1] == [mode]) == next(line for line in narrow if line[:1] == [mode])


def test_piped_table_is_neither_wrapped_nor_cut(comparison: Comparison) -> None:
    """In a pipe each mode, each note and the answer is one line, however long, without styles."""
    lines = as_table(comparison).splitlines()
    data = document(comparison)
    assert lines[-1] == data["answer"]
    assert [line for line in lines if line.startswith("note: ")] == [f"note: {note}" for note in data["notes"]]
    assert [line.split()[0] for line in lines[3:7]] == list(MODES)
    assert "…" not in "".join(lines)
    assert "\x1b" not in "".join(lines)


def test_terminal_says_all_that_a_pipe_says(comparison: Comparison) -> None:
    """Wrapping moves words to other lines and loses none."""
    assert set(as_table(comparison).split()) - {"recall", "tokens/request"} <= set(
        as_table(comparison, width=80).split()
    )


def figures(cells: list[str]) -> list[float | None]:
    """The figures of a row, shares in per cent, as numbers."""
    return [None if cell in {"–", ""} else float(re.sub("[,%<]", "", cell)) for cell in cells]


def test_same_figures_in_every_form(comparison: Comparison) -> None:
    """Table, Markdown, CSV, JSON lines and JSON say the same of each mode."""
    modes = json.loads(as_json(comparison))["modes"]
    baseline = modes["full"]["tokens"]["mean"]
    lines = {line["mode"]: line for line in map(json.loads, as_jsonl(comparison).splitlines())}
    assert lines == {mode: {"mode": mode, "skipped": comparison.skipped, **part} for mode, part in modes.items()}
    rows = {row["mode"]: row for row in csv.DictReader(io.StringIO(as_csv(comparison)))}
    table = {line.split()[0]: line.split()[1:] for line in as_table(comparison).splitlines()[3:7]}
    markdown = {
        cells[0]: cells[1:]
        for line in as_markdown(comparison).splitlines()[4:8]
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])
    }
    for mode, part in modes.items():
        exact = [
            part["tokens"]["mean"],
            part["tokens"]["mean"] / baseline,
            part["tokens"]["p50"],
            part["tokens"]["p95"],
            part["recall"]["in_context"]["value"],
            part["summary_calls"]["count"],
            part["trimmed"],
            sum(part["unsendable"].values()),
            sum(part["invalid"].values()),
        ]
        assert [float(cell) for cell in list(rows[mode].values())[1:-1]] == pytest.approx(exact)
        rounded = [round(exact[0]), round(exact[1] * 100, 1), *exact[2:4], round(exact[4] * 100, 1), *exact[5:]]
        assert figures(table[mode]) == rounded
        assert figures(markdown[mode]) == rounded
