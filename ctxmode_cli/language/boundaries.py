"""Where a value stands for itself, and where it is a part of a longer number or word."""

from ctxmode_cli.language.fold import is_spaced_word
from ctxmode_cli.language.numbers import NUMERALS

_NUMBER, _WORD = "a longer number", "a longer word"
_ESCAPED_BREAKS = frozenset({r"\n", r"\r", r"\t"})
"""White space as JSON text writes it: the `n` of a line break does not continue the word after it."""


def part_of(text: str, start: int, end: int) -> str | None:
    """What `text[start:end]` is a part of: "a longer number" or "a longer word"; None where it stands for itself.

    `$50` is not in `$500`, `12` not in `2012`, `5日` not in `15日`, 二月 not in 十二月, 5 not in -5 or in 5万, `555-1234`
    not in `415-555-1234`. Chinese needs no word boundaries. `text` is folded and plain, with boundaries around it.
    """
    before, after = text[start - 1], text[end]
    if before != " ":
        first = text[start]
        if is_spaced_word(before) and is_spaced_word(first) and text[start - 2 : start] not in _ESCAPED_BREAKS:
            return _NUMBER if before.isdigit() and first.isdigit() else _WORD
        if (first.isdigit() or first in NUMERALS) and _number_goes_back(text, start, end):
            return _NUMBER
    if after != " ":
        last = text[end - 1]
        if is_spaced_word(after) and is_spaced_word(last):
            return _NUMBER if after.isdigit() and last.isdigit() else _WORD
        if (last.isdigit() or last in NUMERALS) and _number_goes_on(text, end):
            return _NUMBER
    return None


def _number_goes_back(text: str, start: int, end: int) -> bool:
    before, first = text[start - 1], text[start]
    if not first.isdigit():
        return before in NUMERALS
    in_number = text[start - 2].isdigit()
    if before == "-":  # a sign, or the end of a telephone number
        return not in_number or "-" in text[start:end]
    return before in ".:" and in_number


def _number_goes_on(text: str, end: int) -> bool:
    last, after = text[end - 1], text[end]
    if not last.isdigit():
        return after in NUMERALS
    return after in "万亿" or (after in ".:" and text[end + 1].isdigit())
