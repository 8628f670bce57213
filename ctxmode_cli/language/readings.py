"""How a value is read by the kind of its fact: every value as text, some also as numbers, a date or a time.

A text has a view for each reading, in which what is written in many ways is written in one (`numbers`, `dates`), and a
value is looked for in the views of its own reading. Which kinds are read how is data, in `datasets/language/kinds.toml`.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from typing import NamedTuple

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.data import data_file
from ctxmode_cli.language.dates import ANY_YEAR, days, times
from ctxmode_cli.language.fold import BOUNDARY, fold_together, plain
from ctxmode_cli.language.negation import links
from ctxmode_cli.language.numbers import amounts, numerals
from ctxmode_cli.language.rewriting import Rewrite, rewrite

TEXT = "text"
"""The view that holds a text as it was folded."""

_REWRITES = {"number": amounts, "date": days, "time": times, "link": links}
_FULL = "full_"
_LINK = "link"
"""The view without words that only link, in which the values of denials are looked for."""
_YEAR = re.compile(r"(?<![^\W_])y(?!0000)\d{4} ")
_SPACES_BY_CJK = re.compile(r" (?=[\u2e80-\U0010ffff])|(?<=[\u2e80-\U0010ffff]) ")


class Form(NamedTuple):
    """What is looked for: one way to write a fact's value."""

    fact: int
    """Index of the fact."""
    view: str
    text: str
    """Folded and plain, as it stands in that view."""


class Variants(NamedTuple):
    """A row of texts, each once for all the views that read it alike: most hold no number, date or time to rewrite."""

    texts: list[str]
    """Folded."""
    readings: list[tuple[int, frozenset[str]]]
    """For each of them, the index of the text that it is, and the views in which that is read so."""


def variants_of(texts: Sequence[str], views: frozenset[str]) -> Variants:
    """What has to be searched to find what stands in any of the views of the texts."""
    written = {view: text[1:-1].split(BOUNDARY) for view, text in view_texts(fold_together(texts), views).items()}
    plain_texts = written.pop(TEXT)
    readings = [(place, views) for place in range(len(plain_texts))]
    rewritten: dict[tuple[int, str], set[str]] = {}
    for view, ways in written.items():
        for place, (way, text) in enumerate(zip(ways, plain_texts, strict=True)):
            if way != text:
                readings[place] = place, readings[place][1] - {view}
                rewritten.setdefault((place, way), set()).add(view)
    readings += ((place, frozenset(group)) for (place, _), group in rewritten.items())
    return Variants(plain_texts + [way for _, way in rewritten], readings)


def view_texts(folded: str, views: Collection[str]) -> dict[str, str]:
    """Each view of a folded text with boundaries around it."""
    texts = {TEXT: folded}
    if len(views) > 1:
        in_digits = rewrite(folded, numerals())
        texts |= {view: rewrite(in_digits, _REWRITES[view]()) for view in views if view != TEXT}
    return texts


def rewrites_of(view: str) -> tuple[Rewrite, ...]:
    """All that makes a view of a folded text."""
    return () if view == TEXT else numerals() + _REWRITES[view]()


def forms_of(facts: Sequence[Fact]) -> Iterator[Form]:
    """All forms of the facts, in the views in which to look for them.

    A Chinese form is also found without the marks that it is written with. A date with a year is also found where a day
    is named without one, as people do; not so where the year is half of the value, as in a birthday. A date without a
    year is found in every year. What a negative fact denies is also found with and without words that only link.
    """
    owners = [(index, reading_of(fact.kind)) for index, fact in enumerate(facts) for _ in fact.forms]
    folded = fold_together([form for fact in facts for form in fact.forms])
    views = {TEXT, *(reading.removeprefix(_FULL) for _, reading in owners if reading)}
    if any(fact.negative for fact in facts):
        views.add(_LINK)
    written = {view: map(_bare, plain(text)[1:-1].split(BOUNDARY)) for view, text in view_texts(folded, views).items()}
    ways = [dict(zip(written, texts, strict=True)) for texts in zip(*written.values(), strict=True)]
    for (fact, reading), texts in zip(owners, ways, strict=False):
        for view, form in _ways_to_write(texts, reading):
            if form:
                yield Form(fact, view, form)
        if facts[fact].negative and texts[_LINK]:
            yield Form(fact, _LINK, texts[_LINK])


def _ways_to_write(texts: Mapping[str, str], reading: str | None) -> Iterator[tuple[str, str]]:
    yield TEXT, texts[TEXT]
    if not texts[TEXT].isascii():
        yield TEXT, _SPACES_BY_CJK.sub("", texts[TEXT])
    if reading:
        view = reading.removeprefix(_FULL)
        yield view, texts[view].removeprefix(ANY_YEAR)
        if reading == "date" and _YEAR.search(texts[view]):
            yield view, _YEAR.sub(ANY_YEAR, texts[view])


@cache
def reading_of(kind: str) -> str | None:
    """`number`, `date`, `full_date` or `time`; None for a kind that is plain text."""
    name = kind.lower().rpartition(".")[2]
    return next((reading for reading, pattern in _kinds() if pattern.match(name)), None)


def _bare(form: str) -> str:
    """A form without the sign that only says that a number follows: #W23 is order W23, and # by itself is a value."""
    form = form.strip()
    return form.lstrip("# ") or form


@cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    kinds = tomllib.loads(data_file("language/kinds.toml").read_text(encoding="utf-8"))
    return tuple((reading, re.compile("|".join(map(translate, names)))) for reading, names in kinds.items())
