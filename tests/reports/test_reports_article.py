"""The report's figures are those of this version: its reduced ones are made anew, its page is made of its files."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARTICLE = ROOT / "reports" / "article"
DATA = ROOT.parent / "shared" / "datasets"
"""Real conversations, which do not come with the project; without them, figures that take them are not made."""
UNCOMPARED = {"version", "date", "source"}
"""Keys whose values change with a release of this package or of the price library, and no figure with them."""
PRICE_TABLE = re.compile(r"genai-prices [\d.]+, \d{4}-\d\d-\d\d")
"""The same in a note."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reduced figures, made now."""
    folder = tmp_path_factory.mktemp("reduced")
    data = ["--data", str(DATA)] if DATA.is_dir() else []
    subprocess.run([sys.executable, str(ARTICLE / "run.py"), "--reduced", "--into", str(folder), *data], check=True)
    return folder


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def compared(path: Path) -> Any:
    """What is compared of a file: the bytes, or of JSON all but what a release changes."""
    if path.suffix != ".json":
        return path.read_bytes()
    return without(json.loads(path.read_text(encoding="utf-8")))


def without(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: without(value) for key, value in node.items() if key not in UNCOMPARED}
    if isinstance(node, list):
        return [without(value) for value in node]
    return PRICE_TABLE.sub("", node) if isinstance(node, str) else node


def test_the_reduced_figures_come_out_as_they_are_kept(made: Path, runner: ModuleType) -> None:
    """Every kept file is written again, with the same content; after a change, run `make article-reduced`."""
    figures, names = runner.read_figures("reduced")
    left_out = [figure for figure in figures if figure.needs_data and not DATA.is_dir()]
    unmade = {file for figure in left_out for file in runner.filled_each(figure.files, names)}
    assert files(made) == sorted({*files(ARTICLE / "reduced")} - unmade)
    for name in files(made):
        assert compared(made / name) == compared(ARTICLE / "reduced" / name), name


def test_the_kept_files_are_those_of_the_figures(runner: ModuleType) -> None:
    """No file of a figure that is no more is left, at either size."""
    for size in ("full", "reduced"):
        figures, names = runner.read_figures(size)
        assert files(ARTICLE / size) == sorted(
            file for figure in figures for file in runner.filled_each(figure.files, names)
        )


def test_the_page_shows_the_numbers_of_the_full_run(runner: ModuleType) -> None:
    """Nothing between the page's markers is typed: made again from the kept files, the page is the same."""
    figures, names = runner.read_figures("full")
    page = (ARTICLE / "README.md").read_text(encoding="utf-8")
    assert runner.with_results(page, figures, names, ARTICLE / "full") == page
