"""What a reader sees and does in a browser."""

import re

import pytest
from opening import SCREENSHOTS, Opener
from pages import WRONG, Made
from playwright.sync_api import expect

CHARTS = [
    "recall-by-cost", "tokens-by-turn", "cost-by-turn", "cost-by-turn-uncached", "latency", "recall-by-age", "recall-by-position",
    "lost",
]  # fmt: skip


def test_the_page_opens_without_a_word_and_asks_for_nothing(opener: Opener, trips: Made) -> None:
    """No error, no warning and no request; its own policy would forbid one; each chart is drawn by the script."""
    opened = opener(trips)
    figures = opened.page.locator("figure[data-chart]")
    assert figures.evaluate_all("all => all.map(one => one.id)") == CHARTS
    for chart in CHARTS:
        drawn = opened.page.locator(f"#{chart} .live svg")
        expect(drawn).to_be_visible()
        assert drawn.locator("path, line, rect").count() > 5
        expect(opened.page.locator(f"#{chart} .static")).to_be_hidden()
    opened.page.screenshot(path=SCREENSHOTS / "light.png", full_page=True)
    assert (opened.said, opened.asked) == ([], [])
    refused = opened.page.evaluate("fetch('https://example.invalid/').then(() => 'sent', error => error.name)")
    assert refused == "TypeError"
    assert any("Content Security Policy" in line for line in opened.said)


def test_no_text_of_a_log_acts(opener: Opener, hostile: Made) -> None:
    """With hostile text everywhere the page is as quiet, nothing has run, and every conversation opens."""
    opened = opener(hostile)
    opened.page.locator(".case").evaluate_all("all => all.forEach(one => { one.open = true; })")
    opened.page.locator("#budget select").select_option(index=1)
    opened.page.screenshot(path=SCREENSHOTS / "hostile.png", full_page=True)
    assert opened.page.evaluate("window.broken") is None
    assert (opened.said, opened.asked) == ([], [])


def test_without_scripts_all_is_there_but_the_budget(opener: Opener, trips: Made) -> None:
    """Each chart has its drawing and its figures, and conversations open; what needs a script does not show."""
    opened = opener(trips, scripts=False)
    for chart in CHARTS:
        expect(opened.page.locator(f"#{chart} .static svg")).to_be_visible()
        expect(opened.page.locator(f"#{chart} .live")).to_be_hidden()
        opened.page.locator(f"#{chart} summary").click()
        expect(opened.page.locator(f"#{chart} table")).to_be_visible()
    expect(opened.page.locator("#budget")).to_be_hidden()
    opened.page.locator(".case > summary").first.click()
    expect(opened.page.locator(".case .request").first).to_be_visible()
    opened.page.screenshot(path=SCREENSHOTS / "no-scripts.png", full_page=True)
    assert (opened.said, opened.asked) == ([], [])


def test_a_dark_page_is_dark(opener: Opener, trips: Made) -> None:
    """Where the reader's system is dark, text is light on dark, in charts too."""
    opened = opener(trips, dark=True)
    opened.page.screenshot(path=SCREENSHOTS / "dark.png", full_page=True)
    colours = [
        opened.page.locator(where).first.evaluate(f"one => getComputedStyle(one).{what}")
        for where, what in (("body", "backgroundColor"), ("body", "color"), ("#latency .live text", "fill"))
    ]
    back, text, label = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert back < 200
    assert min(text, label) > 500


def test_a_printed_page_has_drawings(opener: Opener, trips: Made) -> None:
    """On paper the drawings are those that need no script, black on white, and the table fits."""
    opened = opener(trips, dark=True)
    opened.page.set_viewport_size({"width": 794, "height": 1123})
    opened.page.emulate_media(media="print")
    expect(opened.page.locator("#latency .static svg")).to_be_visible()
    expect(opened.page.locator("#latency .live")).to_be_hidden()
    assert opened.page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.page.locator("#answer table").first.bounding_box()["width"] < 794  # A4 at 96 dots an inch
    expect(opened.page.locator("#budget")).to_be_hidden()
    opened.page.pdf(path=SCREENSHOTS / "print.pdf", format="A4")
    opened.page.screenshot(path=SCREENSHOTS / "print.png", full_page=True)


def test_a_bad_conversation_shows_what_is_wrong(opener: Opener, trips: Made) -> None:
    """It opens to the request as sent and as full would send it; lost facts and wrong statements are marked."""
    opened = opener(trips)
    case = opened.page.locator("#case-summary-1")
    expect(case.locator(".request").first).to_be_hidden()
    case.locator("summary").click()
    expect(case.locator(".request")).to_have_count(2)
    expect(case.locator(".request").first).to_be_visible()
    expect(case.locator(".note .wrong").first).to_have_text(WRONG)
    expect(case.locator(".note .why").first).to_contain_text("contradicts parking: it denies what was said")
    sliding = opened.page.locator("#case-sliding-1")
    sliding.locator("summary").click()
    lost = sliding.locator(".request").nth(1).locator("li.lost mark").all_text_contents()
    assert set(lost) <= {"parking space", "750 euros"}
    assert lost
    expect(sliding.locator(".facts .lost").first).to_contain_text("LOST")
    case.screenshot(path=SCREENSHOTS / "case.png")
    sliding.screenshot(path=SCREENSHOTS / "case-sliding.png")
    assert opened.said == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_hangs_over_the_edge(opener: Opener, trips: Made, width: int) -> None:
    """On a telephone and on a desk the page itself does not scroll sideways."""
    opened = opener(trips)
    opened.page.set_viewport_size({"width": width, "height": 800})
    opened.page.locator(".case").evaluate_all("all => all.forEach(one => { one.open = true; })")
    opened.page.screenshot(path=SCREENSHOTS / f"width-{width}.png", full_page=True)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
