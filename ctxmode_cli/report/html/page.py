"""The page: one file that asks for nothing else, put together from a comparison."""

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ctxmode_cli import __version__
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.document import document
from ctxmode_cli.report.formats import to_json
from ctxmode_cli.report.html.charts import charts
from ctxmode_cli.report.html.drawing import script, svg
from ctxmode_cli.report.html.kept import Kept
from ctxmode_cli.report.html.tables import Table
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.rows import columns_of, table_rows
from ctxmode_cli.report.text import heading
from ctxmode_cli.report.visible import visible

if TYPE_CHECKING:  # the extra's libraries may not be there, and are loaded when a page is made
    from jinja2 import Environment

_SLIDERS = {
    "window": "Window",
    "reserved": "Reserved for the reply",
    "system": "System messages and tools, at most",
    "input": "Current input, at most",
    "history": "History, at most",
    "documents": "Chunks of documents, at most",
}
"""Of the budget, by the names that its script knows."""


def require_html() -> None:
    """See whether the libraries are there that a page takes.

    Raises:
        CtxmodeError: The extra `html` is not installed.
    """
    try:
        import jinja2  # noqa: F401, PLC0415 - see above
        import vl_convert  # noqa: F401, PLC0415 - likewise
    except ModuleNotFoundError as error:
        message = f"a page takes {error.name}, which is not installed"
        raise CtxmodeError(message, hint='pip install "ctxmode[html]"') from error


def as_html(comparison: Comparison, kept: Kept | None = None) -> str:
    """The whole page.

    Args:
        comparison: What it tells.
        kept: What was kept of single conversations; None where nothing was, and the page has none.

    Raises:
        CtxmodeError: The extra `html` is not installed.
    """
    require_html()
    found = charts(document(comparison))
    rows = table_rows(comparison)
    offers = [] if kept is None else [offer.data for offer in kept.offers.found]
    data = {"charts": {chart.name: chart.spec for chart in found}, "budget": offers}
    style, scripts = _asset("page.css"), [script(), _asset("charts.js"), _asset("budget.js")]
    page = _environment().get_template("page.html")
    return page.render(
        version=__version__,
        policy=_policy(style, scripts),
        style=_as_it_is(style),
        scripts=[_as_it_is(text) for text in scripts],
        data=_as_it_is(_inert(to_json(data, indent=None))),
        heading=heading(comparison),
        answer=answer(comparison),
        table=Table.of_modes(columns_of(rows), rows),
        charts=[(chart, _as_it_is(svg(chart.spec, chart.name))) for chart in found],
        sliders=_SLIDERS.items(),
        has_budget=bool(offers),
        cases={} if kept is None else {mode: worst for mode, worst in kept.cases.by_mode.items() if worst},
        notes=notes(comparison),
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    """What the page may do: run its own scripts, wear its own style, and ask nobody for anything."""
    hashes = {text: f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style, *scripts)}
    allowed = {
        "default-src": "'none'",
        "script-src": " ".join(hashes[text] for text in scripts),
        "style-src": hashes[style],
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{what} {who}" for what, who in allowed.items())


def _inert(json: str) -> str:
    """JSON in which no browser finds a tag."""
    return json.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


@cache
def _asset(name: str) -> str:
    return (files("ctxmode_cli.report.html") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - see above

    return Environment(
        loader=PackageLoader("ctxmode_cli.report.html"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _as_it_is(text: str) -> str:
    """Text of our own that a template writes without escaping it."""
    from markupsafe import Markup  # noqa: PLC0415 - see above

    return Markup(text)  # noqa: S704 - never of a log


def _shown(value: Any) -> Any:
    """What a template writes: text with control characters shown, line by line; what is markup already as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(map(visible, value.split("\n")))
