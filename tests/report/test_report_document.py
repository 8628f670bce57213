"""Format 1 of the JSON, and hostile text in every form."""

import csv
import dataclasses
import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import as_csv, as_json, as_jsonl, as_markdown
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.visible import visible

Build = Callable[..., Comparison]

TOP = {
    "format", "version", "baseline", "model", "encoding", "seed", "selection", "settings", "prices", "notes", "data", "modes",
    "differences", "gate", "answer",
}  # fmt: skip
DATA = {
    "conversations", "requests", "open_requests", "facts", "probes", "unprobed", "skipped", "record_faults", "sources",
}  # fmt: skip
MODE = {
    "requests", "unsendable", "invalid", "trimmed", "tokens", "cached_tokens", "latency_s", "cost_usd", "recall",
    "harm", "summary_calls",
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
        assert set(part["recall"]) == {"in_context", "modelled", "answered", "normalised"}
        assert set(part["recall"]["in_context"]) == {"value", "low", "high"}
        assert set(part["summary_calls"]) == {"count", "failed", "prompt_tokens", "completion_tokens", "unseen_tokens"}
        assert report["settings"][mode]["mode"] == mode
        assert report["settings"][mode]["sliding_turns"] == 10


OPTIONS = {"selection", "settings"}


def nulls(value: Any, path: str = "") -> list[str]:
    """The paths of all nulls in a document; those of options are no results, and left out."""
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [found for key, item in value.items() if key not in OPTIONS for found in nulls(item, f"{path}.{key}")]
    return []


REASONS = {
    "prices": "prices", "differences": "differences", "gate": "gate", "cached_tokens": "prompt cache",
    "latency_s": "latency", "cost_usd": "cost", "harm": "harm", "modelled": "modelled", "answered": "answered recall",
    "low": "intervals", "high": "intervals", "normalised": "normalised recall is null",
    "in_context": "so recall is null", "mean": "cannot be sent", "p50": "cannot be sent", "p95": "cannot be sent",
}  # fmt: skip
"""Which words of the notes give the reason of a null."""


@pytest.mark.parametrize("modes", [{"full": (10, 900)}, {"full": (10,)}, {"full": (None, 0, 2)}])
def test_every_null_has_its_reason(build: Build, modes: dict[str, Any]) -> None:
    """What is null is told in the notes."""
    report = document(build(**modes, data={"facts": 5}))
    told = "\n".join(report["notes"])
    for path in nulls(report):
        name = path.rsplit(".", 1)[-1]
        if name == "normalised" and report["modes"]["full"]["recall"]["in_context"] is None:
            name = "in_context"
        assert REASONS[name] in told


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


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_csv_holds_no_formula(build: Build, name: str) -> None:
    """A mode's name that a spreadsheet would calculate is text there."""
    [row] = csv.DictReader(io.StringIO(as_csv(build(full=(10,)))))
    assert row["mode"] == "full"
    compared = build(full=(10,))
    named = dataclasses.replace(compared, baseline=name, modes={name: compared.modes["full"]})
    [row] = csv.DictReader(io.StringIO(as_csv(named)))
    assert row["mode"] == f"'{name}"


def test_csv_is_empty_where_nothing_was_evaluated(build: Build) -> None:
    """What is null is an empty cell, not a word and not a zero; people see a dash."""
    [row] = csv.DictReader(io.StringIO(as_csv(build(full=(None, None, 2)))))
    assert (row["tokens_mean"], row["tokens_relative"], row["tokens_p95"], row["recall_in_context"]) == ("",) * 4
    assert row["unsendable"] == "2"
    assert as_table(build(full=(None, None, 2))).splitlines()[3].split()[1:5] == ["–"] * 4


def test_large_figures_fit_into_80_columns(build: Build) -> None:
    """Figures of six digits leave less room between columns, and are whole."""
    table = as_table(build(full=(123_456, 1000, 9), summary=(98_765, 900)), width=80).splitlines()
    assert max(map(len, table)) <= 80
    assert ["full", "123,456", "100.0%", "123,456"] in [line.split()[:4] for line in table]
