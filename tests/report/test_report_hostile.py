"""What somebody puts into a log to have a report act on it shows as text, in every form."""

import csv
import io
import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser

import pytest
from hostile import TEXTS, hostile_record
from markdown_it import MarkdownIt
from pages import Made, configs, made

from ctxmode_cli.replay.audit import audit_lines
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import as_csv, as_json, as_jsonl, as_markdown
from ctxmode_cli.report.html.page import as_html
from ctxmode_cli.report.inspect_json import inspection_json
from ctxmode_cli.report.inspect_text import inspection_text
from ctxmode_cli.report.inspect_view import inspect_request
from ctxmode_cli.report.table import as_table
from ctxmode_cli.report.visible import visible

EACH = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "footer", "script", "h1", "h2", "h3", "h4",
    "p", "div", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "details", "summary", "b",
    "i", "em", "q", "mark", "label", "select", "input", "output", "svg", "g", "path", "line", "rect", "text", "defs", "clippath",
}  # fmt: skip
"""What a page is made of."""
OURS_ATTRIBUTES = re.compile(r"on|href|src$|action$|style$", re.IGNORECASE)


@cache
def hostile(text: str) -> Made:
    """The text in every place of a log, and as the name of a mode."""
    modes = configs()
    return made([hostile_record(text)], {"full": modes["full"], text: modes["zero"], "summary": modes["summary"]})


def harmless(text: str) -> bool:
    """Whether a terminal does nothing but show it."""
    return all(char.isprintable() or char == "\n" for char in text)


class Page(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.shown: list[str] = []
        self.within = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(name for name, _ in attrs)
        self.within = tag

    def handle_endtag(self, _tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        if self.within not in {"script", "style"}:
            self.shown.append(data)


@EACH
def test_a_terminal_shows_it(text: str) -> None:
    """The table, its notes and an inspected request have no control character, and rich reads no markup."""
    found = hostile(text)
    table = as_table(found.comparison, width=100)
    assert harmless(table)
    assert visible(text)[:10].strip() in as_table(found.comparison)
    session = found.sessions[0]
    for mode in session.modes:
        view = inspect_request(session, found.replay, mode, 1)
        assert harmless(inspection_text(session, found.replay, 1, [view], width=80))
        piped = inspection_text(session, found.replay, 1, [view])
        assert visible(" ".join(text.split())) in piped


@EACH
def test_markdown_has_no_more_than_its_own(text: str) -> None:
    """A parser finds a paragraph, a table and a list, no markup within them, and as many cells as there are columns."""
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(as_markdown(hostile(text).comparison))
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
    assert kinds == {"paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item"}
    inline = {child.type for token in tokens for child in token.children or ()}
    assert inline <= {"text", "text_special", "softbreak"}
    rows = sum(token.type == "tr_open" for token in tokens)
    cells = sum(token.type in {"td_open", "th_open"} for token in tokens)
    assert rows == 4
    assert cells % rows == 0


def test_a_page_has_no_more_than_its_own() -> None:
    """A parser finds our elements, no handler and no address; each text is there to read; data end where they should."""
    modes = configs()
    names = {"full": modes["full"], "summary": modes["summary"], **dict.fromkeys(TEXTS.values(), modes["zero"])}
    found = made(map(hostile_record, TEXTS.values()), names)
    page = as_html(found.comparison, found.kept)
    parsed = Page(page)
    assert set(parsed.tags) <= OURS
    assert not [name for name in parsed.attributes if OURS_ATTRIBUTES.match(name)]
    assert parsed.tags.count("script") == 4
    assert harmless("".join(parsed.shown))
    read = " ".join("".join(parsed.shown).split())
    for text in TEXTS.values():
        assert " ".join(visible(text).split()) in read
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert "<" not in data
    domain = json.loads(data)["charts"]["tokens-by-turn"]["encoding"]["color"]["scale"]["domain"]
    assert domain == list(map(visible, names))


@EACH
def test_a_sheet_has_no_formula(text: str) -> None:
    """No cell starts as a formula does, and none has a control character."""
    rows = list(csv.reader(io.StringIO(as_csv(hostile(text).comparison))))
    assert len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        assert harmless(cell)
        assert cell[:1] not in {"=", "+", "@", "\t", "\r"}
        assert not cell.startswith("-") or float(cell) < 0


def json_outputs(found: Made) -> Iterator[str]:
    """All that is written as JSON."""
    session = found.sessions[0]
    yield as_json(found.comparison)
    yield from as_jsonl(found.comparison).splitlines()
    views = [inspect_request(session, found.replay, mode, 1) for mode in ("full", "summary")]
    yield inspection_json(session, found.replay, 1, views)


@EACH
def test_json_carries_it_unharmed(text: str) -> None:
    """Every JSON is whole, has no character that a terminal acts upon, and gives back the very text."""
    found = hostile(text)
    for written in json_outputs(found):
        assert not re.search(
            "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ud800-\udfff]", written
        )
        json.loads(written)
        written.encode()
    assert json.loads(as_json(found.comparison)) == json.loads(json.dumps(document(found.comparison)))
    assert text in json.loads(as_json(found.comparison))["modes"]
    for line in audit_lines(found.sessions[0]):
        assert json.loads(line)["conversation_id"] == f"{text} id"
