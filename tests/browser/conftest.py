"""A page in a real browser without a network; `make test-browser` installs what drives it, the browser is the system's."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hostile import TEXTS, hostile_record
from pages import Made, configs, made, trip
from playwright.sync_api import Browser, Page, sync_playwright

from ctxmode_cli.report.html.page import as_html

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots"
"""Kept for people to look at; git ignores them."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser is installed ({', '.join(NAMES)})")
    SCREENSHOTS.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        # A sandbox of its own takes rights that a container may not give; the pages are our own.
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def trips() -> Made:
    """Trips with calls, documents, lost facts, and summaries that contradict the record; a budget that cuts."""
    return made([trip(number, turns=5 + number) for number in range(6)], configs(max_tokens=1200))


@pytest.fixture(scope="session")
def hostile() -> Made:
    """Hostile texts everywhere, in the names of modes too."""
    modes = configs()
    names = {
        "full": modes["full"],
        "summary": modes["summary"],
        **dict.fromkeys(list(TEXTS.values())[:6], modes["sliding"]),
    }
    return made(map(hostile_record, TEXTS.values()), names)


WRITTEN: dict[int, str] = {}


def written(made: Made) -> str:
    """The page, made once."""
    if id(made) not in WRITTEN:
        WRITTEN[id(made)] = as_html(made.comparison, made.kept)
    return WRITTEN[id(made)]


@dataclass
class Opened:
    """A page, open from disk, and what the browser had to say of it."""

    page: Page
    said: list[str] = field(default_factory=list)
    """On the console, and errors."""
    asked: list[str] = field(default_factory=list)
    """Addresses that were asked for."""


@dataclass
class Opener:
    """Opens pages from disk, each in a profile of its own, with the network off."""

    browser: Browser
    folder: Path

    def __call__(self, made: Made, *, dark: bool = False, scripts: bool = True) -> Opened:
        file = self.folder / "report.html"
        file.write_text(written(made), encoding="utf-8")
        context = self.browser.new_context(
            offline=True,
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            viewport={"width": 1280, "height": 900},
        )
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.said.append(message.text))
        opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.page.on("request", lambda request: opened.asked.append(request.url))
        opened.page.goto(file.as_uri())
        if scripts:
            charts = opened.page.locator("figure[data-chart]").count()
            opened.page.wait_for_function(f"document.querySelectorAll('figure.drawn').length === {charts}")
        opened.asked.remove(file.as_uri())
        return opened


@pytest.fixture
def opener(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    yield Opener(browser, tmp_path)
    for context in browser.contexts:
        context.close()
