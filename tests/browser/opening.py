"""Opens a page in a browser as a reader does, and keeps what the browser had to say."""

from dataclasses import dataclass, field
from pathlib import Path

from pages import Made
from playwright.sync_api import Browser, Page

from ctxmode_cli.report.html.page import as_html

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots"
"""Kept for people to look at; git ignores them."""
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
