"""`-o report.html`: the page as a command writes it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ctxmode = Callable[..., Any]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TALK = (str(GOLDEN / "talk.jsonl"), "--config", str(GOLDEN / "ctxmode.toml"))
LOADED = """
import atexit, sys
sys.argv = ["ctxmode", *sys.argv[1:]]
atexit.register(lambda: sys.stderr.write(" ".join(sorted(sys.modules))))
from ctxmode_cli.commands.main import main
main()
"""


def test_compare_writes_a_page_whose_bytes_hang_on_its_input_alone(ctxmode: Ctxmode, here: Path) -> None:
    """Charts, conversations and a budget are in it, and another process writes the same."""
    assert ctxmode("compare", *TALK, "-o", "report.html").code == 0
    page = (here / "report.html").read_text(encoding="utf-8")
    assert all(f'id="{part}"' in page for part in ("answer", "charts", "cases", "budget", "notes"))
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    again = [sys.executable, "-m", "ctxmode_cli", "compare", *TALK, "-q", "-o", "again.html"]
    subprocess.run(again, env=environment, capture_output=True, check=True)
    assert (here / "again.html").read_text(encoding="utf-8") == page


def test_replay_writes_a_page_of_one_mode(ctxmode: Ctxmode, here: Path) -> None:
    """A mode alone has a page too, with what full would have sent."""
    assert ctxmode("replay", *TALK, "--mode", "zero", "-o", "zero.HTML").code == 0
    page = (here / "zero.HTML").read_text(encoding="utf-8")
    assert "As full would have sent it" in page


def test_without_the_extra_nothing_is_read(ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is told before the run, with what to do; no file is left."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = ctxmode("compare", *TALK, "-o", "report.html")
    assert (result.code, result.out) == (2, "")
    assert result.err == ('error: a page takes jinja2, which is not installed\nhint: pip install "ctxmode[html]"\n')
    assert list(here.iterdir()) == []


def test_a_forecast_has_no_page(ctxmode: Ctxmode, here: Path) -> None:
    """Its error names the extensions that it has."""
    result = ctxmode("forecast", "--user-tokens", "9", "--turns", "2", "-o", "x.html")
    assert (result.code, list(here.iterdir())) == (2, [])
    assert "hint: .json .jsonl .csv .md\n" in result.err


def test_who_asks_for_no_page_does_not_pay_for_one(here: Path) -> None:
    """Other outputs load neither the libraries nor the modules of the page."""
    finished = subprocess.run(
        [sys.executable, "-c", LOADED, "compare", *TALK, "-q", "-o", str(here / "x.json")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"jinja2", "vl_convert", "ctxmode_cli.report.html"} & set(finished.stderr.split())
