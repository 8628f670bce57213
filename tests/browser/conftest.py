"""A page in a real browser without a network; `make test-browser` installs what drives it, the browser is the system's."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import TEXTS, hostile_record
from opening import SCREENSHOTS, Opener
from pages import Made, configs, made, trip
from playwright.sync_api import Browser, sync_playwright

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
    modes = configs(max_tokens=1600)
    modes["card"] = replace(modes["summary"], fact_card=True, placement="tail")
    return made([trip(number, turns=5 + number) for number in range(6)], modes)


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


@pytest.fixture
def opener(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    yield Opener(browser, tmp_path)
    for context in browser.contexts:
        context.close()
