"""Costs through the whole program: the golden figures, and rows that add up to the totals to the last digit."""

import gzip
import json
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
GOLDEN = SHARED / "golden" / "prompt_cache.json"
REAL = SHARED / "datasets" / "interleaved_en.jsonl.gz"
RULES = ("breakpoint", "blocks_128", "blocks_128_deep_discount")
golden = pytest.mark.skipif(not GOLDEN.is_file(), reason="the golden figures are not beside this repository")
real = pytest.mark.skipif(not REAL.is_file(), reason="the labelled conversations are not beside this repository")


def config_of(figures: dict[str, Any]) -> str:
    """A ctxmode.toml with the prices, the rules and the modes of the golden figures."""
    price = figures["price_usd_per_million"]
    rules = "".join(
        f"[cache_rules.{name}]\n" + "".join(f"{key} = {rule[key]}\n" for key in ("minimum", "unit", "read", "write"))
        for name, rule in figures["cache_rules"].items()
    )
    return f"""
max_tokens = 100_000
[prices.gpt-4o]
input = {price["input"]}
output = {price["output"]}
[modes.sliding_12]
base = "sliding"
sliding_turns = 12
[modes.sliding_12_to_6]
base = "sliding"
sliding_turns = 12
sliding_low = 6
{rules}"""


@golden
@pytest.mark.parametrize("rule", RULES)
def test_golden_figures(ctxmode: Any, here: Path, rule: str) -> None:
    """Every figure that an independent program worked out, exactly."""
    figures = json.loads(GOLDEN.read_text(encoding="utf-8"), parse_float=Decimal)
    assert set(figures["cache_rules"]) == set(RULES)
    (here / "ctxmode.toml").write_text(config_of(figures), encoding="utf-8")
    modes = figures["expected"][rule]
    data = str(GOLDEN.with_suffix(".jsonl"))
    result = ctxmode(
        "compare", data, "--modes", ",".join(modes), "--cache-rules", rule, "--format", "json", "-o", "run/"
    )
    assert result.code == 0
    compared = json.loads(result.out, parse_float=Decimal)["modes"]
    rows = pq.read_table(here / "run" / "requests.parquet").to_pylist()
    got = {
        name: {
            "requests": mode["requests"],
            "prompt_tokens": mode["tokens"]["total"],
            "cached_tokens": mode["cached_tokens"]["total"],
            "completion_tokens": sum(row["completion_tokens"] for row in rows if row["mode"] == name),
            "cost_uncached_usd": mode["cost_usd"]["total_uncached"],
            "cost_cached_usd": mode["cost_usd"]["total"],
        }
        for name, mode in compared.items()
    }
    assert got == modes


@golden
def test_a_window_that_slides_at_every_turn_costs_more_with_the_cache(ctxmode: Any, here: Path) -> None:
    """Fewer tokens, and yet dearer than sending everything: the prefix is written anew at each turn.

    Reported, among others, as cloudflare/agents issue 2200. A window that is cut back and grows again does not.
    """
    figures = json.loads(GOLDEN.read_text(encoding="utf-8"), parse_float=Decimal)
    (here / "ctxmode.toml").write_text(config_of(figures), encoding="utf-8")
    names = "full,sliding_12,sliding_12_to_6"
    data = str(GOLDEN.with_suffix(".jsonl"))
    result = ctxmode("compare", data, "--modes", names, "--cache-rules", "breakpoint", "--format", "json")
    document = json.loads(result.out)
    cost = {name: mode["cost_usd"] for name, mode in document["modes"].items()}
    assert cost["sliding_12"]["total"] > cost["sliding_12"]["total_uncached"]
    assert cost["sliding_12_to_6"]["total"] < cost["full"]["total"] < cost["sliding_12"]["total"]
    assert cost["sliding_12"]["total_uncached"] < cost["full"]["total_uncached"]
    assert "turns the ranking round" in document["answer"]


@real
@pytest.mark.parametrize("prefix", ["none", "session"])
def test_rows_add_up_to_the_totals(ctxmode: Any, here: Path, prefix: str) -> None:
    """The costs of all requests and summary calls of a mode, in the run folder, are its total in results.json."""
    with gzip.open(REAL, "rb") as lines:
        (here / "logs.jsonl").write_bytes(b"".join(islice(lines, 3)))
    arguments = ("--summary-prefix", prefix, "--model", "gpt-5.6", "--summary-call", "blocking")
    assert ctxmode("compare", "logs.jsonl", *arguments, "-o", "run/").code == 0
    modes = json.loads((here / "run" / "results.json").read_text(encoding="utf-8"), parse_float=Decimal)["modes"]
    requests = pq.read_table(here / "run" / "requests.parquet").to_pylist()
    calls = pq.read_table(here / "run" / "summaries.parquet").to_pylist()
    assert calls
    for name, mode in modes.items():
        rows, called = ([row for row in table if row["mode"] == name] for table in (requests, calls))
        cost = mode["cost_usd"]
        assert sum(row["cost_usd"] for row in (*rows, *called)) == cost["total"]
        assert sum(row["cost_uncached_usd"] for row in (*rows, *called)) == cost["total_uncached"]
        assert sum(row["cost_usd"] for row in called) == cost["summary_calls"]
        assert sum(row["cached_tokens"] for row in rows) == mode["cached_tokens"]["total"]
    assert any(row["cached_tokens"] for row in calls) == (prefix == "session")


@real
def test_three_ways_of_summary_calls_have_three_totals(ctxmode: Any, here: Path) -> None:
    """A model of its own, the session's model behind the session's own prefix, and the same model without it.

    Reported as anomalyco/opencode issue 25120: the summary call shares no prefix and pays the full price.
    """
    with gzip.open(REAL, "rb") as lines:
        (here / "logs.jsonl").write_bytes(b"".join(islice(lines, 2)))
    ways = {
        "own": (),
        "prefix": ("--summary-prefix", "session"),
        "alone": ("--summary-model", "gpt-4o"),
    }
    costs = {}
    for way, arguments in ways.items():
        result = ctxmode("replay", "logs.jsonl", "--mode", "summary", *arguments, "--format", "json")
        costs[way] = json.loads(result.out)["modes"]["summary"]["cost_usd"]["summary_calls"]
    assert costs["own"] < costs["alone"]
    assert len(set(costs.values())) == len(ways)
