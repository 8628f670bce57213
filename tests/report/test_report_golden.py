"""Every form of one small comparison, as it was when it was last looked at; UPDATE_GOLDEN=1 writes them anew."""

import csv
import io
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.run import run
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import as_csv, as_json, as_jsonl, as_markdown
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.rows import columns_of, table_rows
from ctxmode_cli.report.table import as_table
from ctxmode_cli.score.position import find_position_profile
from ctxmode_cli.simulate.cache_rules import own_cache_rules
from ctxmode_cli.simulate.charges import Provider, Simulation
from ctxmode_cli.simulate.latency import find_profile
from ctxmode_cli.simulate.prices import own_prices
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODES = ("full", "zero", "sliding", "summary")


def golden_simulation() -> Simulation:
    """What tests/golden/ctxmode.toml says of prices and cache, and the usual latency profile."""
    table = tomllib.loads((GOLDEN / "ctxmode.toml").read_text(encoding="utf-8"), parse_float=Decimal)
    [rule] = own_cache_rules({"made-up": table["cache_rules"]["made-up"]}, "ctxmode.toml").values()
    prices = own_prices(table["prices"], "ctxmode.toml")
    providers = {model: Provider.of(price, rule) for model, price in prices.items()}
    return Simulation("gpt-4o", providers, find_profile("article"))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Three short conversations, of which one has an input that fits into no budget but that of full."""
    counter = TokenCounter.for_model("gpt-4o")
    configs = {mode: ContextConfig(mode=mode, max_tokens=400, summary_target_tokens=150) for mode in MODES}
    reading = Reading([str(GOLDEN / "talk.jsonl")])
    assumed = golden_simulation()
    profile = find_position_profile("article")
    replay = Replay(configs, counter, ExtractiveSummarizer(counter), assumed, position_profile=profile)
    totals = run(reading.conversations(), replay, keep=lambda _: None, reject=reading.reject)
    sources = [("talk.jsonl", digest) for _, digest in reading.sources]
    return Comparison(
        "gpt-4o",
        counter.encoding_name,
        128_000,
        0,
        "full",
        configs,
        totals.data,
        totals.modes,
        sources,
        assumed,
        position_profile=profile,
        replicates=totals.replicates,
        breakdowns=totals.breakdowns,
        harm=totals.harm,
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


def rows(table: str) -> dict[str, list[str]]:
    """The figures of each mode in a table."""
    lines = table.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("mode "))
    return {line.split()[0]: line.split()[1:] for line in lines[start + 1 : start + 1 + len(MODES)]}


def test_terminal_lines_fit(comparison: Comparison) -> None:
    """No line is longer than the terminal is wide, and every figure of a narrow table is one of the piped one."""
    for width in (80, 100, 140):
        table = as_table(comparison, width=width)
        assert max(map(len, table.splitlines())) <= width
        for mode, cells in rows(table).items():
            assert not Counter(cells) - Counter(rows(as_table(comparison))[mode])


def test_piped_table_is_neither_wrapped_nor_cut(comparison: Comparison) -> None:
    """In a pipe each mode, each note and the answer is one line, however long, without styles."""
    text = as_table(comparison)
    lines = text.splitlines()
    assert lines[-1] == document(comparison)["answer"]
    assert [line for line in lines if line.startswith("note: ")] == [f"note: {note}" for note in notes(comparison)]
    assert list(rows(text)) == list(MODES)
    # without the mode's name, and with the unit of the latency
    assert {len(cells) for cells in rows(text).values()} == {len(columns_of(table_rows(comparison)))}
    assert "…" not in text
    assert "\x1b" not in text


def test_terminal_says_all_that_a_pipe_says(comparison: Comparison) -> None:
    """Wrapping moves words to other lines and loses none; a narrow table loses only columns, which it names."""
    piped, wide, narrow = (as_table(comparison, width=width) for width in (None, 170, 80))
    assert set(piped.split()) == set(wide.split())
    figures = {cell for cells in rows(piped).values() for cell in cells}
    left_out = {"cost/", "session", "p50", "trimmed", "unsendable"}
    assert set(piped.split()) - figures - set(narrow.split()) == left_out
    named = (
        "no room here for: tokens p50, tokens p95, cost/session, recall (in context), 95% interval, "
        "its points less the baseline's, 95% interval, their share of cost, trimmed, unsendable, invalid"
    )
    assert named in narrow.replace("\n", " ")


def number(cell: str) -> float | None:
    """A figure of a table, shares in per cent, as a number."""
    return None if cell in {"–", ""} else float(re.sub("[,%<$\\\\s]", "", cell))


def exact_share(part: float, whole: float) -> Fraction:
    """A share of amounts as they are written, which binary fractions only come near."""
    return Fraction(str(part)) / Fraction(str(whole))


def test_same_figures_in_every_form(comparison: Comparison) -> None:
    """Table, Markdown, CSV, JSON lines and JSON say the same of each mode."""
    results = json.loads(as_json(comparison))
    modes, differences = results["modes"], results["differences"]
    lines = {line["mode"]: line for line in map(json.loads, as_jsonl(comparison).splitlines())}
    assert lines == {mode: {"mode": mode, "skipped": comparison.skipped, **part} for mode, part in modes.items()}
    sheet = {row["mode"]: row for row in csv.DictReader(io.StringIO(as_csv(comparison)))}
    table = rows(as_table(comparison).replace(" s ", "s "))
    markdown = {
        cells[0]: cells[1:]
        for line in as_markdown(comparison).splitlines()[4:8]
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])
    }
    for mode, part in modes.items():
        tokens, cost, calls = part["tokens"], part["cost_usd"], part["summary_calls"]["count"]
        less = differences[mode]["recall.in_context"] if mode in differences else None
        exact = {
            "tokens_mean": (tokens["mean"], 0),
            "tokens_p50": (tokens["p50"], 0),
            "tokens_p95": (tokens["p95"], 0),
            "cost_per_session_usd": (cost["per_session"], 5),
            "cost_relative": (cost["relative"], 3),
            "cost_relative_uncached": (cost["relative_uncached"], 3),
            "cached_share": (part["cached_tokens"]["share"], 3),
            "latency_p95_s": (part["latency_s"]["p95"], 2),
            "recall_in_context": (part["recall"]["in_context"]["value"], 3),
            "recall_in_context_low": (part["recall"]["in_context"]["low"], 3),
            "recall_in_context_less_baseline_low": (less and less["low"], 3),
            "recall_modelled": (part["recall"]["modelled"]["value"], 3),
            "summary_calls": (calls, 0),
            "summary_share": (float(exact_share(cost["summary_calls"], cost["total"])) if calls else None, 3),
            "trimmed": (part["trimmed"], 0),
            "unsendable": (sum(part["unsendable"].values()), 0),
            "invalid": (sum(part["invalid"].values()), 0),
        }
        columns = columns_of(table_rows(comparison))[1:]
        assert [column.key for column in columns] == list(exact)
        for column, shown, marked in zip(columns, table[mode], markdown[mode], strict=True):
            value, digits = exact[column.key]
            cell = sheet[mode][column.key]
            assert (float(cell) if cell else None) == value
            if column.key == "recall_in_context_less_baseline_low":
                assert (
                    shown
                    == marked.replace("\\", "")
                    == (f"[{100 * less['low']:+.1f},{100 * less['high']:+.1f}]" if less else "–")
                )
                continue
            if column.upper:
                low, high = (100 * part["recall"]["in_context"][end] for end in ("low", "high"))
                assert shown == marked == f"{low:.1f}–{high:.1f}%"
                continue
            of_hundred = 100 if "%" in shown else 1
            assert number(marked) == number(shown.removesuffix("s"))
            seen = number(shown.removesuffix("s"))
            expected = None if value is None else pytest.approx(value * of_hundred, abs=0.5 * of_hundred * 10**-digits)
            assert seen == expected, column.key
