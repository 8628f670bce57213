"""Where a value stands for itself, and where it is a part of a longer number or word."""

from ctxmode_cli.language.fold import is_spaced_word
from ctxmode_cli.language.numbers import NUMERALS

_ESCAPED_BREAKS = frozenset({r"\n", r"\r", r"\t"})
"""White space as JSON text writes it: the `n` of a line break does not continue the word after it."""


def part_of(text: str, start: int, end: int) -> str | None:
    """What `text[start:end]` is a part of: "a longer number" or "a longer word"; None where it stands for itself.

    `$50` is not in `$500`, `12` not in `2012`, `5日` not in `15日`, 二月 not in 十二月, 5 not in -5 or in 5万. Chinese
    needs no word boundaries. `text` is folded and plain, with boundaries around it.
    """
    before = text[start - 1]
    if before != " " and (whole := _continues_before(text, start, before)):
        return whole
    after = text[end]
    if after == " ":
        return None
    last = text[end - 1]
    if is_spaced_word(after) and is_spaced_word(last):
        return "a longer number" if after.isdigit() and last.isdigit() else "a longer word"
    if last.isdigit():
        if after in "万亿" or (after in ".:" and text[end + 1].isdigit()):
            return "a longer number"
    elif after in NUMERALS and last in NUMERALS:
        return "a longer number"
    return None


def _continues_before(text: str, start: int, before: str) -> str | None:
    first = text[start]
    if is_spaced_word(before) and is_spaced_word(first):
        if text[start - 2 : start] in _ESCAPED_BREAKS:
            return None
        return "a longer number" if before.isdigit() and first.isdigit() else "a longer word"
    if first.isdigit():
        if before in ".:" and text[start - 2].isdigit():
            return "a longer number"
        if before == "-" and not text[start - 2].isdigit():
            return "a longer number"  # the sign of it
    elif first in NUMERALS and before in NUMERALS:
        return "a longer number"
    return None
