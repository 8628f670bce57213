"""One run in every form: whoever reads the terminal, a pull request, a page, CI or a file reads the same numbers."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("vl_convert", reason="the extra `html` is not installed")

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RULES = {
    "tokens.mean": "<= 100000",
    "recall.in_context": ">= 0",
    "recall.modelled": ">= 0",
    "cost_usd.relative": "<= 9",
}
Numbers = Mapping[str, Mapping[str, str]]
"""What a form shows: by mode, then by measure."""


class _Tables(HTMLParser):
    """The cells of a page's tables, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "tr":
            self.rows.append([])
        self._in_cell = tag in {"td", "th"}
        if self._in_cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run, with its output on a terminal that is a pipe in `table.txt`, and all files."""
    folder = tmp_path_factory.mktemp("forms")
    files = [word for form in ("md", "html", "csv", "json", "xml") for word in ("-o", str(folder / f"x.{form}"))]
    gate = [word for path, bound in RULES.items() for word in ("--gate", f"{path} {bound}")]
    settings = ["--config", str(GOLDEN / "ctxmode.toml"), "-q", *gate, *files]
    command = [sys.executable, "-m", "ctxmode_cli", "compare", str(GOLDEN / "talk.jsonl"), *settings]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    (folder / "table.txt").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def truth(folder: Path) -> Numbers:
    """The figures of the JSON, in the words that people read."""
    modes = json.loads((folder / "x.json").read_text(encoding="utf-8"))["modes"]
    return {
        name: {
            "tokens/request": f"{mode['tokens']['mean']:,.0f}",
            "tokens p95": f"{mode['tokens']['p95']:,}",
            "relative cost": f"{mode['cost_usd']['relative']:.1%}",
            "recall (in context)": f"{mode['recall']['in_context']['value']:.1%}",
            "recall (modelled)": f"{mode['recall']['modelled']['value']:.1%}",
            "unsendable": str(sum(mode["unsendable"].values())),
        }
        for name, mode in modes.items()
    }


def picked(shown: Numbers, truth: Numbers) -> Numbers:
    """Of what is shown, the measures that are compared."""
    return {name: {measure: shown[name][measure] for measure in part} for name, part in truth.items()}


def test_markdown_and_page(folder: Path, truth: Numbers) -> None:
    """The table of a pull request and that of the page have the JSON's figures, rounded."""
    lines = [line for line in (folder / "x.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    heading, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    markdown = {row[0]: dict(zip(heading, row, strict=True)) for row in rows}
    assert picked(markdown, truth) == truth
    tables = _Tables()
    tables.feed((folder / "x.html").read_text(encoding="utf-8"))
    [_, *names], *turned = tables.rows
    page = {name: {row[0]: row[column] for row in turned[:16]} for column, name in enumerate(names, 1)}
    assert picked(page, truth) == truth


def test_terminal(folder: Path, truth: Numbers) -> None:
    """Each mode's line on a terminal has them, in the order of the columns."""
    lines = (folder / "table.txt").read_text(encoding="utf-8").splitlines()
    for name, part in truth.items():
        [line] = [line for line in lines if re.match(rf"{name} +[\d,]+ ", line)]
        cells = iter(line.split())
        assert all(figure in cells for figure in part.values()), line


def test_csv(folder: Path) -> None:
    """The spreadsheet has the JSON's figures as they are."""
    modes = json.loads((folder / "x.json").read_text(encoding="utf-8"))["modes"]
    with (folder / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["mode"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(modes)
    for name, mode in modes.items():
        pairs = {
            "tokens_mean": mode["tokens"]["mean"],
            "tokens_p95": mode["tokens"]["p95"],
            "cost_relative": mode["cost_usd"]["relative"],
            "recall_in_context": mode["recall"]["in_context"]["value"],
            "recall_modelled": mode["recall"]["modelled"]["value"],
            "unsendable": sum(mode["unsendable"].values()),
        }
        assert {key: float(rows[name][key]) for key in pairs} == pairs


def test_junit(folder: Path) -> None:
    """The cases of CI show the figures that the rules were held against, in four digits at least."""
    document = json.loads((folder / "x.json").read_text(encoding="utf-8"))
    shown = {
        (suite.get("name"), str(case.get("name"))): case.findtext("system-out")
        for suite in ET.parse(folder / "x.xml").getroot()  # noqa: S314 - our own file
        for case in suite
        if str(case.get("classname")).endswith(".rule")
    }
    assert len(shown) == len(document["modes"]) * len(RULES)
    for rule in document["gate"]["rules"]:
        assert float(str(shown[rule["mode"], rule["rule"]])) == pytest.approx(rule["value"], rel=1e-3)
