"""Format 1 of the JSON, and hostile text in every form."""

import csv
import dataclasses
import io
import json
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from assumptions import PRICE, PROFILE, RULE, simulation
from comparisons import Build

from ctxmode_cli.replay.turns import TurnCounts
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import as_csv, as_json, as_jsonl, as_markdown
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.visible import visible
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.prices import Price, PriceTier
from ctxmode_cli.simulate.rates import Bill, Usage

KNOWN = Provider.of(PRICE, RULE)
UNPRICED = Provider.of(None, RULE)
FREE = Provider.of(Price("any", "", (PriceTier(0, Decimal(0), Decimal(0)),), "made up", ""), RULE)
CALLED = {"tokens": 10, "kept": 900, "calls": Usage(uncached=9)}
ASKED = {"sessions_per_day": 3}


def priced(model: Provider, summarizer: Provider) -> dict[str, Any]:
    """What changes where the models are charged like that."""
    return {"simulation": simulation(providers={"gpt-4o": model, "gpt-4o-mini": summarizer})}


TOP = {
    "format", "version", "baseline", "model", "encoding", "seed", "selection", "settings", "prices", "notes", "data", "modes",
    "break_even", "differences", "gate", "answer",
}  # fmt: skip
DATA = {
    "conversations", "requests", "open_requests", "facts", "probes", "unprobed", "skipped", "record_faults", "sources",
}  # fmt: skip
MODE = {
    "requests", "unsendable", "invalid", "trimmed", "tokens", "cached_tokens", "latency_s", "cost_usd", "recall",
    "harm", "summary_calls", "card_calls", "by_turn",
}  # fmt: skip


MEASURES = {
    "recall.in_context", "recall.modelled", "recall.answered", "tokens.mean", "cost_usd.per_session", "cost_usd.per_session_uncached",
    "latency_s.mean",
}  # fmt: skip


def test_every_promised_name_is_there(build: Build) -> None:
    """Each name of format 1 is there, whatever can be evaluated so far; there may be more."""
    report = document(build(full=(10, 900), summary=(5, 800)))
    assert set(report) >= TOP
    assert set(report["data"]) >= DATA
    for mode in ("full", "summary"):
        part = report["modes"][mode]
        assert set(part) >= MODE
        assert set(part["tokens"]) == {"mean", "p50", "p95", "total"}
        assert set(part["recall"]) == {"in_context", "modelled", "answered", "normalised", "by", "lost"}
        assert set(part["recall"]["modelled"]) == {"value", "low", "high", "profile"}
        assert set(part["recall"]["by"]) == {"age", "position", "kind", "lang", "source"}
        assert set(part["intervals"]) == MEASURES
        assert set(part["recall"]["in_context"]) == {"value", "low", "high"}
        assert set(part["cached_tokens"]) == {"mean", "total", "share"}
        assert set(part["latency_s"]) == {"mean", "p50", "p95", "p99", "percentiles", "profile"}
        assert set(part["cost_usd"]) == {
            "total", "total_uncached", "summary_calls", "card_calls", "per_request", "per_session", "per_day", "relative",
            "relative_uncached", "per_session_uncached",
        }  # fmt: skip
        for purpose in ("summary", "card"):
            counts = {"count", "failed", "prompt_tokens", "completion_tokens", "unseen_tokens"}
            assert set(part[f"{purpose}_calls"]) == counts
        assert report["settings"][mode]["mode"] == mode
        assert report["settings"][mode]["sliding_turns"] == 10
    assert set(report["differences"]) == {"summary"}
    assert set(report["differences"]["summary"]) == MEASURES


def test_costs_and_times_by_hand(build: Build) -> None:
    """Money is the nearest float of the exact amount, in USD; latency in seconds."""
    # full: 3 x 600 + 0.3 x 1000 + 3.75 x 400 + 15 x 100 = 5,100 millionths of a dollar; without a cache 3 x 2000 + 1500.
    full = {"tokens": [1500, 500], "cached": 1000, "written": 400, "replies": 100, "latency_ms": [700, 1300]}
    # summary: 3 x 500 and, for its call, 3 x 100 + 0.3 x 50 + 15 x 20 = 615; without a cache 3 x 500 + 3 x 150 + 300.
    summary = {"tokens": 500, "calls": Usage(100, 50, 0, 20)}
    report = document(build(full=full, summary=summary, changed={"sessions_per_day": 3}))
    assert report["modes"]["full"]["cost_usd"] == {
        "total": 0.0051, "total_uncached": 0.0075, "summary_calls": 0.0, "card_calls": 0.0, "per_request": 0.00255, "per_session": 0.00255,
        "per_session_uncached": 0.00375, "per_day": 0.00765, "relative": 1.0, "relative_uncached": 1.0,
    }  # fmt: skip
    assert report["modes"]["summary"]["cost_usd"] == {
        "total": 0.002115, "total_uncached": 0.00225, "summary_calls": 0.000615, "card_calls": 0.0, "per_request": 0.002115,
        "per_session": 0.0010575, "per_session_uncached": 0.001125, "per_day": 0.0031725, "relative": 2115 / 5100, "relative_uncached": 0.3,
    }  # fmt: skip
    assert report["modes"]["full"]["cached_tokens"] == {"mean": 500.0, "total": 1000, "share": 0.5}
    percentiles = report["modes"]["full"]["latency_s"].pop("percentiles")
    assert report["modes"]["full"]["latency_s"] == {
        "mean": 1.0, "p50": 0.7, "p95": 1.3, "p99": 1.3, "profile": "made-up",
    }  # fmt: skip
    assert percentiles == {str(percent): 0.7 if percent <= 50 else 1.3 for percent in (*range(5, 100, 5), 99, 100)}


def test_what_the_figures_rest_on(build: Build) -> None:
    """Prices, cache rule and profile stand in the JSON with their source, date and what is to be known of them."""
    changed = priced(KNOWN, KNOWN)
    report = document(build(full=(10,), data={"clocks": Counter(none=2)}, changed=changed))
    price = {
        "source": "made up",
        "date": "2026-01-01",
        "usd_per_million": [{"above": 0, "input": 3.0, "cached": 0.3, "write": 3.75, "output": 15.0}],
    }
    assert report["prices"] == {
        "source": "made up", "date": "2026-01-01", "models": {"gpt-4o": price, "gpt-4o-mini": price},
    }  # fmt: skip
    rule = {"name": "made-up", "source": "made up", "date": "", "note": ""}
    assert report["prompt_cache"] == {
        "rules": {"gpt-4o": rule, "gpt-4o-mini": rule}, "scope": "session", "think_time_s": None, "clocks": {"none": 2},
    }  # fmt: skip
    assert report["latency_profile"] == {"name": "made-up", "source": "", "date": "", "note": ""}


OPTIONS = {"selection", "settings", "think_time_s"}


def nulls(value: Any, path: str = "") -> list[str]:
    """The paths of all nulls in a document; those of options are no results, and left out."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [found for key, item in value.items() if key not in OPTIONS for found in nulls(item, f"{path}.{key}")]
    return []


NOT_SENT = "cannot be sent|there is no request"
NO_PRICE = "no price of .* is known"
REASONS = {
    "prices": NO_PRICE, "gpt-4o": NO_PRICE, "gpt-4o-mini": NO_PRICE, "cost_usd": f"{NO_PRICE}|{NOT_SENT}",
    "per_day": "cost per day is null", "relative": f"{NO_PRICE}|relative cost is null",
    "relative_uncached": f"{NO_PRICE}|relative cost is null", "share": NOT_SENT, "latency_s": "latency is null",
    "gate": "gate", "harm": "harm", "modelled": "so recall of any kind is null|differences", "answered": "answered recall",
    "low": "intervals", "high": "intervals", "normalised": "normalised recall .in context. is null|so recall of any kind is null",
    "in_context": "so recall of any kind is null|differences", "mean": f"{NOT_SENT}|latency is null|differences",
    "per_session": f"{NO_PRICE}|{NOT_SENT}|differences", "per_session_uncached": f"{NO_PRICE}|{NOT_SENT}|differences",
    "p50": NOT_SENT, "p95": NOT_SENT,
}  # fmt: skip
"""Which words of the notes give the reason of a null."""


@pytest.mark.parametrize(
    ("modes", "nulled"),
    [
        ({"full": (10, 900)}, "per_day normalised"),
        ({"full": (10,)}, "in_context"),
        ({"full": (None, 0, 2)}, "mean p50 p95 share cost_usd latency_s"),
        ({"full": (None, 0, 2), "zero": (10, 500)}, "relative relative_uncached"),
        ({"full": {"tokens": 10, "kept": 900, "latency_ms": []}, "zero": (10, 500)}, "latency_s"),
        ({"full": (None,), "data": {"requests": 0}}, "mean cost_usd latency_s"),
        ({"full": (10,), "changed": ASKED | priced(UNPRICED, UNPRICED)}, "prices cost_usd"),
        ({"full": (10, 900), "summary": CALLED, "changed": priced(KNOWN, UNPRICED)}, "gpt-4o-mini cost_usd"),
        ({"full": CALLED, "zero": (10, 0), "changed": priced(KNOWN, UNPRICED)}, "relative relative_uncached"),
        ({"full": (10,), "changed": priced(FREE, FREE)}, "relative relative_uncached"),
    ],
)
def test_every_null_has_its_reason(build: Build, modes: dict[str, Any], nulled: str) -> None:
    """What is null is told in the notes."""
    report = document(build(**{"data": {"facts": 5}} | modes))
    told = "\n".join(report["notes"])
    names = {path.rsplit(".", 1)[-1] for path in nulls(report)}
    assert names >= set(nulled.split())
    for name in names:
        assert re.search(REASONS[name], told), name


def test_json_is_sorted_and_lines_too(build: Build) -> None:
    """Keys are sorted, and equal results are equal bytes whatever the order in which things were counted."""
    compared = build(full=(10, 900, 1), zero=(5, 0))
    text = as_json(compared)
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    for line in as_jsonl(compared).splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True)
    faults = [("orphan_result", 2), ("unanswered_call", 1)]
    orders = [Counter(dict(order)) for order in (faults, faults[::-1])]
    first, second = (as_json(build(full=(10, 900), data={"record_faults": order})) for order in orders)
    assert first == second


# --- hostile text ---

HOSTILE = {
    "rich markup": "[bold red]x[/]",
    "terminal escape": "\x1b[31mx\x1b]0;title\x07",
    "terminal escape in one character": "a\x9b31mb\x7f",
    "right-to-left override": "a\u202eb\u2066c",
    "html": "<script>alert(1)</script>&lt;",
    "pipe and line break": "a|b\n# c",
    "carriage return": "a\rb",
    "formula": "=HYPERLINK(1)",
    "lone surrogate": "a\ud800b",
    "NUL": "a\x00b",
    "dollars": "$50 and $60",
    "emphasis": "*a* _b_ ~~c~~ `d` [e](f)",
}
SHOWN = str.maketrans({
    "\x1b": r"\x1b", "\x07": r"\x07", "\u202e": r"\u202e", "\u2066": r"\u2066", "\x9b": r"\x9b", "\x7f": r"\x7f", "\n": r"\n", "\r": r"\r",
    "\ud800": r"\ud800", "\x00": r"\x00",
})  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_shown_as_text(build: Build, text: str) -> None:
    """Ids, values and file names of a log are shown, never acted upon, and every form can be encoded."""
    data = {"unmatched_facts": 1, "unmatched_listed": [text], "uncounted_parts": Counter({text: 1})}
    compared = dataclasses.replace(build(full=(10, 900), data=data), sources=[(text, "0" * 64)])
    safe = text.translate(SHOWN)
    assert visible(text) == safe
    table = as_table(compared)
    assert table.count(safe) == 2
    assert all(char.isprintable() or char == "\n" for char in table)
    assert all(char.isprintable() or char == "\n" for char in as_table(compared, width=20))
    markdown = as_markdown(compared)
    escaped = "".join(f"\\{char}" if char in "\\`*_[]<>|#&~$" else char for char in safe)
    assert markdown.count(escaped) == 2
    assert all(char.isprintable() or char == "\n" for char in markdown)
    assert len(markdown.splitlines()) == len(
        as_markdown(build(full=(10, 900), data={**data, "unmatched_listed": ["x"]})).splitlines()
    )
    parsed = json.loads(as_json(compared))
    assert all(char.isprintable() or char == "\n" for char in as_json(compared) + as_jsonl(compared))
    assert parsed["data"]["sources"][0]["name"] == text
    for form in (table, markdown, as_json(compared), as_jsonl(compared), as_csv(compared)):
        form.encode()


@pytest.mark.parametrize(
    ("name", "cell"),
    [("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"), ("\tx", r"'\tx"), ("a\x1b[1m", r"a\x1b[1m")],
)
def test_csv_holds_no_formula(build: Build, name: str, cell: str) -> None:
    """A name that a spreadsheet or a terminal would act upon is text: of a mode, a model, a rule, a profile."""
    [row] = csv.DictReader(io.StringIO(as_csv(build(full=(10,)))))
    assert row["mode"] == "full"
    compared = build(full=(10,))
    named = dataclasses.replace(
        compared,
        baseline=name,
        modes={name: compared.modes["full"]},
        configs={name: compared.configs["full"]},
        model=name,
        simulation=simulation(
            providers={name: Provider.of(PRICE, dataclasses.replace(RULE, name=name))},
            profile=dataclasses.replace(PROFILE, name=name),
            model=name,
        ),
        position_profile=dataclasses.replace(compared.position_profile, name=name),
    )
    [row] = csv.DictReader(io.StringIO(as_csv(named)))
    names = ("mode", "model", "cache_rule", "latency_profile", "position_profile")
    assert [row[key] for key in names] == [cell] * 5
    assert "\x1b" not in as_markdown(named) + as_table(named)


def test_csv_has_what_a_spreadsheet_wants(build: Build) -> None:
    """Unrounded figures, and what they rest on, so that rows of several runs can stand in one sheet."""
    full = {"tokens": [1500, 500], "cached": 1000, "written": 400, "replies": 100, "latency_ms": [700, 1300]}
    summary = {"tokens": 500, "calls": Usage(100, 50, 0, 20)}
    written = as_csv(build(full=full, summary=summary, changed={"sessions_per_day": 3, "skipped": 4}))
    first, second = csv.DictReader(io.StringIO(written))
    assert first == {
        "mode": "full", "model": "gpt-4o", "requests": "2", "tokens_total": "2000", "tokens_mean": "1000.0",
        "tokens_p50": "500", "tokens_p95": "1500", "tokens_relative": "1.0", "cost_total_usd": "0.0051",
        "cost_total_uncached_usd": "0.0075", "cost_summary_calls_usd": "0.0", "cost_card_calls_usd": "0.0", "cost_per_session_usd": "0.00255",
        "cost_per_day_usd": "0.00765", "cost_relative": "1.0", "cost_relative_uncached": "1.0", "summary_share": "",
        "cache_rule": "made-up", "cached_tokens": "1000", "cached_share": "0.5", "latency_mean_s": "1.0",
        "latency_p50_s": "0.7", "latency_p95_s": "1.3", "latency_p99_s": "1.3", "latency_profile": "made-up",
        "recall_in_context": "", "recall_in_context_low": "", "recall_in_context_high": "", "recall_modelled": "",
        "recall_in_context_less_baseline_low": "", "recall_in_context_less_baseline_high": "",
        "recall_modelled_low": "", "recall_modelled_high": "", "recall_answered": "",
        "recall_answered_low": "", "recall_answered_high": "", "position_profile": "flat", "recall_answered_is": "", "summary_calls": "0",
        "summary_prompt_tokens": "0", "summary_completion_tokens": "0",
        "card_calls": "", "card_prompt_tokens": "", "card_completion_tokens": "", "card_share": "",
        "trimmed": "0", "unsendable": "0", "invalid": "0", "skipped": "4",
    }  # fmt: skip
    assert (second["tokens_relative"], second["summary_prompt_tokens"]) == ("0.5", "150")
    assert float(second["summary_share"]) == 615 / 2115


def test_csv_is_empty_where_nothing_was_evaluated(build: Build) -> None:
    """What is null is an empty cell, not a word and not a zero; people see a dash."""
    compared = build(full=(None, None, 2))
    [row] = csv.DictReader(io.StringIO(as_csv(compared)))
    empty = ("tokens_mean", "tokens_relative", "cost_total_usd", "cost_relative", "latency_p95_s", "recall_in_context")
    assert {row[key] for key in empty} == {""}
    assert row["unsendable"] == "2"
    [cells] = [line.split() for line in as_table(compared).splitlines() if line.startswith("full ")]
    assert cells[1:10] == ["–"] * 9


# --- the table ---


def header(table: str) -> str:
    """The words of the titles."""
    lines = table.splitlines()
    [end] = [number for number, line in enumerate(lines) if line.startswith("mode ")]
    return " ".join(lines[lines.index("") + 1 : end + 1])


def row(table: str, mode: str) -> list[str]:
    """A mode's figures."""
    return next(line.split()[1:] for line in table.splitlines() if line.startswith(f"{mode} "))


def test_large_figures_fit_into_80_columns(build: Build) -> None:
    """Figures of six digits leave less room between columns, and are whole."""
    table = as_table(build(full=(123_456, 1000, 9), summary=(98_765, 900)), width=80)
    assert max(map(len, table.splitlines())) <= 80
    assert row(table, "full")[:2] == ["123,456", "123,456"]


def test_money_has_its_points_below_each_other(build: Build) -> None:
    """All amounts of a column have as many decimals as the smallest needs: 0.003, 0.00015 and 3 USD a session."""
    table = as_table(build(full=(2000,), zero=(100,), sliding=(2_000_000,)))
    assert [row(table, mode)[3] for mode in ("full", "zero", "sliding")] == ["$0.003000", "$0.000150", "$3.000000"]


def test_cost_of_a_day_is_a_column_where_it_is_asked_for(build: Build) -> None:
    """`--sessions-per-day` adds a column: 0.003 USD x 1,000."""
    compared = build(full=(2000,))
    assert "day" not in header(as_table(compared))
    daily = dataclasses.replace(compared, sessions_per_day=1000)
    assert row(as_table(daily), "full")[3:5] == ["$0.00300", "$3.00"]
    assert "| cost/session | cost/day |" in as_markdown(daily)


def test_columns_that_a_narrow_terminal_leaves_out_are_named(build: Build) -> None:
    """First go columns of zeros and dashes, then those that matter least; the table says which."""
    modes = {
        "full": (2000, 1000),
        "summary": {"tokens": 1000, "kept": 990, "calls": Usage(uncached=100), "unsendable": 1},
    }
    table = as_table(build(**modes), width=110)
    assert max(map(len, table.splitlines())) <= 110
    left_out = "tokens p50, cache hit share, trimmed, invalid"
    assert f"no room here for: {left_out} (a pipe or --format csv has them)" in table.replace("\n", " ")
    assert "unsendable" in header(table)
    assert "trimmed" not in header(table)
    assert "no room" not in as_table(build(**modes), width=140)
    assert "no room" not in as_table(build(**modes))
    narrow = as_table(build(**modes), width=40)
    assert row(narrow, "summary") == ["1,000", "55.0%", "55.0%", "99.0%"]
    assert "tokens p95" in narrow.replace("\n", " ")


def test_a_mode_that_sends_nothing_has_no_costs_by_turn(build: Build) -> None:
    """Nothing sent is not cheap: its costs are unknown turn by turn, and it breaks even with nobody."""
    comparison = build(full=(10, 900), zero={"tokens": None, "kept": 0, "unsendable": 2})
    for mode, requests in (("full", 2), ("zero", 0)):
        counts = TurnCounts(2, requests, 10 * requests, Bill({0: Usage(10)} if requests else {}))
        comparison.modes[mode].by_turn.turns.append(counts)
    report = document(comparison)
    assert report["modes"]["full"]["by_turn"] == [
        {"turns": 1, "sessions": 2, "tokens_mean": 10.0, "cost_usd": 0.000015, "cost_uncached_usd": 0.000015}
    ]
    [point] = report["modes"]["zero"]["by_turn"]
    assert (point["tokens_mean"], point["cost_usd"], point["cost_uncached_usd"]) == (None, None, None)
    assert report["break_even"] == []
