"""Tables as a page shows them."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from ctxmode_cli.report.rows import Column, Row


class Table(NamedTuple):
    """Titles, and rows of cells for people."""

    titles: Sequence[str]
    left: Sequence[bool]
    """Whether a column stands on the left, as text does."""
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(cls, titles: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Self:
        """A table whose first columns are text, and the others figures."""
        return cls(titles, [index < left for index in range(len(titles))], rows)

    @classmethod
    def of_modes(cls, columns: Sequence[Column], rows: Sequence[Row]) -> Self:
        """The table that the other reports have too, turned: a column a mode, so that it fits a page.

        Args:
            columns: Of those tables, the mode's name first.
            rows: One a mode.
        """
        names, *figures = columns
        return cls.of(["", *names.cells(rows)], [[column.title, *column.cells(rows)] for column in figures])
