"""The page: one file that asks for nothing else, put together from a comparison."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxmode_cli import __version__
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.answer import answer
from ctxmode_cli.report.notes import notes
from ctxmode_cli.report.rows import columns_of, table_rows
from ctxmode_cli.report.text import heading
from ctxmode_cli.report.visible import visible

if TYPE_CHECKING:  # the extra's libraries may not be there, and are loaded when a page is made
    from jinja2 import Environment


class Table(NamedTuple):
    """A table of a page."""

    titles: Sequence[str]
    stands_left: Sequence[bool]
    """Whether a column is aligned on the left, as text is."""
    rows: Sequence[Sequence[str]]


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


def as_html(comparison: Comparison) -> str:
    """The whole page.

    Raises:
        CtxmodeError: The extra `html` is not installed.
    """
    require_html()
    rows = table_rows(comparison)
    columns = columns_of(rows)
    table = Table(
        [column.title for column in columns],
        [column.stands_left for column in columns],
        list(zip(*(column.cells(rows) for column in columns), strict=True)),
    )
    return (
        _environment()
        .get_template("page.html")
        .render(
            version=__version__,
            heading=heading(comparison),
            answer=answer(comparison),
            table=table,
            notes=notes(comparison),
        )
    )


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


def _shown(value: Any) -> Any:
    """What a template writes: text with control characters shown, line by line; what is markup already as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(map(visible, value.split("\n")))
