"""Lines of a tool output that tell of an error."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache

from ctxmode_cli.data import data_file


def error_lines(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that begin with a word of error, with their numbers from 1; a time or a bracket may stand before it."""
    begins = _begins().match
    return [(number, line) for number, line in enumerate(lines, 1) if begins(line)]


@cache
def _begins() -> re.Pattern[str]:
    words = tomllib.loads(data_file("context/errors.toml").read_text(encoding="utf-8"))
    latin = "|".join(map(re.escape, words["en"]))
    chinese = "|".join(map(re.escape, words["zh"]))
    # What may stand before the word: a time, a level's bracket, a list's dash; `ValueError` ends with its word.
    return re.compile(rf"(?:[\W\d_]|[TZ](?![a-z]))*+(?:(?:[A-Za-z.]*?(?:{latin})\b)|{chinese})", re.IGNORECASE)
