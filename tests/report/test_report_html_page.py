"""The page: all that the other forms say, in one file that asks for nothing."""

import base64
import hashlib
import json
import os
import re
import sys
from functools import reduce
from html import unescape
from pathlib import Path

import pytest
from pages import Made, configs, made, trip

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.formats import as_json
from ctxmode_cli.report.html.drawing import script
from ctxmode_cli.report.html.page import as_html, require_html
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.rows import columns_of, table_rows
from ctxmode_cli.report.text import heading

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "compare.html"
LARGEST = 2_000_000
"""Bytes of a page."""


def trips_made() -> Made:
    """Two trips through three modes, under a budget that cuts."""
    modes = configs(max_tokens=1200)
    return made(
        [trip(number, turns=5) for number in range(2)], {mode: modes[mode] for mode in ("full", "sliding", "summary")}
    )


@pytest.fixture(scope="module")
def trips() -> Made:
    return trips_made()


@pytest.fixture(scope="module")
def page(trips: Made) -> str:
    return as_html(trips.comparison, trips.kept)


def without_assets(page: str) -> str:
    """The page without its scripts and its style, which have tests of their own, and the hashes that go with them."""
    page = re.sub(r"<script>.*?</script>", "<script></script>", page, flags=re.DOTALL)
    page = re.sub(r"<style>.*?</style>", "<style></style>", page, flags=re.DOTALL)
    return re.sub(r"sha256-[\w+/=&#;]+", "sha256-…", page)


def table_of(page: str) -> list[list[str]]:
    """The cells of the first table."""
    table = page[page.index("<table>") : page.index("</table>")]
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in table.split("</tr>")[:-1]
    ]


def figures(page: str) -> dict[str, str]:
    """Each chart's part of a page, by its name."""
    return dict(re.findall(r'<figure id="([\w-]+)"(.*?)</figure>', page, re.DOTALL))


def test_it_is_as_it_was(page: str) -> None:
    """The page says and draws the same until someone means it to change; UPDATE_GOLDEN=1 writes it anew."""
    written = without_assets(page)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(written, encoding="utf-8", newline="")
    assert written == GOLDEN.read_text(encoding="utf-8")


def test_equal_input_gives_equal_bytes(trips: Made, page: str) -> None:
    """A second page of the same replay, and one of the same replay done again, are the same to the byte."""
    assert as_html(trips.comparison, trips.kept) == page
    again = trips_made()
    assert as_html(again.comparison, again.kept) == page


def test_another_result_gives_another_page(page: str) -> None:
    """Other counts are seen in the table, and in the chart that they belong to."""
    other = trips_made()
    counts = other.comparison.modes["sliding"].by_turn.turns[2]
    counts.prompt_tokens += 1000
    other.comparison.modes["sliding"].prompt_tokens.counts[4000] += 1
    changed = without_assets(as_html(other.comparison, other.kept))
    before = without_assets(page)
    assert table_of(changed) != table_of(before)
    charts = {chart for chart in figures(before) if figures(before)[chart] != figures(changed)[chart]}
    assert charts == {"tokens-by-turn"}


def test_it_says_what_the_others_say(trips: Made, page: str) -> None:
    """Heading, answer, notes and every cell of the table are those of the terminal."""
    comparison = trips.comparison
    text = unescape(page)
    for said in (heading(comparison), answer(comparison), *notes(comparison)):
        assert said in text
    rows = table_rows(comparison)
    columns = columns_of(rows)
    expected = [[column.title, *column.cells(rows)] for column in columns]
    assert table_of(page) == [["", *expected[0][1:]], *expected[1:]]


def test_its_figures_are_those_of_the_json(trips: Made, page: str) -> None:
    """What the table rounds is what the JSON has in full."""
    [names, *figures] = table_of(page)
    modes = json.loads(as_json(trips.comparison))["modes"]
    cells = {title: dict(zip(names[1:], row, strict=True)) for title, *row in figures}
    paths = {
        "tokens/request": ("tokens", "mean"), "tokens p50": ("tokens", "p50"), "tokens p95": ("tokens", "p95"),
        "cost/session": ("cost_usd", "per_session"), "relative cost": ("cost_usd", "relative"),
        "relative cost, no cache": ("cost_usd", "relative_uncached"), "cache hit share": ("cached_tokens", "share"),
        "simulated latency p95": ("latency_s", "p95"), "recall (in context)": ("recall", "in_context", "value"),
        "recall (modelled)": ("recall", "modelled", "value"), "summary calls": ("summary_calls", "count"),
        "trimmed": ("trimmed",),
    }  # fmt: skip
    for title, path in paths.items():
        for mode, part in modes.items():
            exact = reduce(lambda value, key: value[key], path, part)
            shown = cells[title][mode]
            digits = len(shown.rstrip("% s").partition(".")[2])
            seen = float(re.sub(r"[$,% s]", "", shown)) / (100 if "%" in shown else 1)
            assert seen == pytest.approx(exact, abs=0.51 * 10 ** -(digits + 2 * ("%" in shown)))


def test_it_forbids_itself_every_request(page: str) -> None:
    """Nothing is allowed but its own scripts and its own style, each by the digest of what stands there."""
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        digests = [
            hashlib.sha256(text.encode()).digest() for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        ]
        assert rules[kind].split() == [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert "unsafe" not in policy
    addresses = re.findall(r'\b(?:src|href|action)="([^"]*)"', without_assets(page))
    assert all(address.startswith("#") for address in addresses)


def test_the_script_ends_no_script() -> None:
    """What is bundled stands in a page as it is: it has no end of a script, and no start of a comment."""
    assert not re.search(r"</script|<!--|<script", script(), re.IGNORECASE)


def test_a_log_of_any_size_makes_a_page_that_opens() -> None:
    """Long texts in every place, many turns, facts and modes, and Chinese: the page stays under two million bytes."""
    long = trip(0, turns=60)
    for message in long["messages"]:
        if isinstance(message["content"], str):
            message["content"] = message["content"] + "<长文本>" * 400
    long["facts"] = [
        fact | {"id": f"{fact['id']}-{n}" + "'" * 500, "kind": "类" * 500} for n in range(20) for fact in long["facts"]
    ]
    modes = configs(max_tokens=100_000)
    names = modes | {f"{mode}-{n}": config for n in range(2) for mode, config in modes.items()}
    found = made([long | {"id": f"{n}" * 500} for n in range(1)], names)
    page = as_html(found.comparison, found.kept)
    assert len(page.encode()) < LARGEST
    assert "more characters" in page
    assert sum(map(len, found.kept.cases.by_mode.values())) <= 12


def test_a_page_of_totals_alone_has_no_conversations(trips: Made) -> None:
    """Where nothing was kept of conversations, the page has the table, the charts and the notes."""
    page = without_assets(as_html(trips.comparison))
    assert 'id="charts"' in page
    assert 'id="cases"' not in page
    assert 'id="budget"' not in page


def test_nothing_to_draw_draws_nothing() -> None:
    """Without labels and replies there are no charts of facts or times, and without a request none at all."""
    talk = {"id": "a", "messages": [{"role": "user", "content": "hello"}]}
    found = made([talk], configs())
    page = without_assets(as_html(found.comparison, found.kept))
    assert re.findall(r'data-chart="([\w-]+)"', page) == ["tokens-by-turn", "cost-by-turn", "cost-by-turn-uncached"]
    nothing = made([{"id": "a", "messages": [{"role": "assistant", "content": "hello"}]}], configs())
    assert "data-chart" not in without_assets(as_html(nothing.comparison, nothing.kept))


def test_missing_libraries_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says which library is missing, and the hint how to get it."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(CtxmodeError, match="vl_convert, which is not installed") as raised:
        require_html()
    assert raised.value.hint == 'pip install "ctxmode[html]"'
