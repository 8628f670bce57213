"""How a value is read by the kind of its fact: every value as text, some also as numbers, a date or a time.

A text has a view for each reading, in which what is written in many ways is written in one (`numbers`, `dates`), and a
value is looked for in the views of its own reading. Which kinds are read how is data, in `datasets/language/kinds.toml`.
"""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import translate
from functools import cache

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.data import data_file
from ctxmode_cli.language.dates import ANY_YEAR, days, times
from ctxmode_cli.language.fold import BOUNDARY, fold, plain
from ctxmode_cli.language.numbers import amounts, numerals
from ctxmode_cli.language.rewriting import Rewrite, rewrite

TEXT = "text"
"""The view that holds a text as it was folded."""

_YEAR = re.compile(r"(?<![^\W_])y(?!0000)\d{4} ")
_SPACES_BY_CJK = re.compile(r" (?=[\u2e80-\U0010ffff])|(?<=[\u2e80-\U0010ffff]) ")


def rewrites_of(view: str) -> tuple[Rewrite, ...]:
    """What makes a view of a folded text with boundaries around it."""
    if view == TEXT:
        return ()
    return numerals() + {"number": amounts, "date": days, "time": times}[view]()


def forms_by_view(fact: Fact) -> Iterator[tuple[str, str]]:
    """The views in which to look for a fact, and the plain forms to look for in each.

    A Chinese form is also found without the marks that it is written with. A date with a year is also found where a day
    is named without one, as people do; not so where the year is half of the value, as in a birthday. A date without a
    year is found in every year.
    """
    reading = reading_of(fact.kind)
    for form in filter(None, map(_folded_form, fact.forms)):
        yield TEXT, plain(form)
        yield TEXT, _SPACES_BY_CJK.sub("", plain(form))
        if reading:
            view = reading.removeprefix("full_")
            read = plain(rewrite(f"{BOUNDARY}{form}{BOUNDARY}", rewrites_of(view))[1:-1])
            yield view, read.removeprefix(ANY_YEAR)
            if reading == "date":
                yield view, _YEAR.sub(ANY_YEAR, read)


@cache
def reading_of(kind: str) -> str | None:
    """`number`, `date`, `full_date` or `time`; None for a kind that is plain text."""
    name = kind.lower().rpartition(".")[2]
    return next((reading for reading, pattern in _kinds() if pattern.match(name)), None)


def _folded_form(form: str) -> str:
    """A form without the sign that only says that a number follows: #W23 is order W23."""
    return fold(form).lstrip("#")


@cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    kinds = tomllib.loads(data_file("language/kinds.toml").read_text(encoding="utf-8"))
    return tuple((reading, re.compile("|".join(map(translate, names)))) for reading, names in kinds.items())
