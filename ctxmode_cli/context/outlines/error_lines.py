"""Lines and keys of a tool output that tell of an error."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache

from ctxmode_cli.data import data_file


def error_lines(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines that begin with a word of error, with their numbers from 1; a time or a bracket may stand before it."""
    begins = _begins().match
    return [(number, line) for number, line in enumerate(lines, 1) if begins(line)]


def is_error_key(key: str) -> bool:
    """Whether what stands at a key is an error."""
    return key.lower() in _words()["keys"]


@cache
def _words() -> dict[str, list[str]]:
    return tomllib.loads(data_file("context/errors.toml").read_text(encoding="utf-8"))


@cache
def _begins() -> re.Pattern[str]:
    words = _words()
    latin = "|".join(map(re.escape, words["en"]))
    chinese = "|".join(map(re.escape, words["zh"]))
    # A time, a level's bracket or a list's dash may stand before the word; `ValueError` ends with it, `error.py` is a
    # name, and `0 failed` is none.
    return re.compile(
        rf"(?:[\W\d_]|[TZ](?![a-z]))*+(?<!\b0 )(?:[\w.]*?(?:{latin})(?!\w|\.\w)|{chinese})", re.IGNORECASE
    )
