"""Replacements that are made in a whole text, one after the other."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Rewrite(NamedTuple):
    """One replacement; its pattern begins with what is found quickest, since it is tried at every character."""

    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def rewrite(text: str, rewrites: Sequence[Rewrite]) -> str:
    """`text` after all of the replacements."""
    for pattern, replacement in rewrites:
        text = pattern.sub(replacement, text)
    return text
