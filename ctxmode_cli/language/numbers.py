"""Numbers in words and units by their many names, rewritten to one form: 一千, 1千 and "one thousand" are 1000.

A Chinese numeral of one character is a number only before a measure word, and one of several only where it is well
formed: 三四个 is "three or four". A hundred things that begin with 一 are none.
"""

import re
import tomllib
from decimal import Decimal
from functools import cache
from math import prod
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.language.rewriting import Rewrite, anchors, word_anchors

_DIGITS = {
    char: value
    for value, chars in enumerate(("〇零", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
_MAGNITUDES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_TEN, _HUNDRED, _MYRIAD = 10, 100, 10**4
_LONGEST = 20
"""Characters: longer runs of numerals are no number. All patterns are bounded, whatever a text repeats."""
NUMERALS = frozenset(_DIGITS) | frozenset(_MAGNITUDES)
"""The characters of Chinese numbers."""


def chinese_number(numeral: str) -> int | None:
    """The number that a Chinese numeral stands for; None where it is not well formed.

    Digits alone are read one by one where there are three or a zero (二〇二四); 三四 is "three or four". A last digit
    behind a hundred or more counts tenths of it (三千五 is 3500), as it is spoken.
    """
    if _MAGNITUDES.keys().isdisjoint(numeral):
        pair = len(numeral) == len("三四") and {"零", "〇"}.isdisjoint(numeral)
        return None if pair else int("".join(str(_DIGITS[char]) for char in numeral))
    total = section = 0
    digit: int | None = None
    unit = 1
    for char in numeral:
        if char in _DIGITS:
            if digit:
                return None
            digit = _DIGITS[char]
            unit = unit if digit else _TEN  # behind a zero, a digit counts for itself
            continue
        size = _MAGNITUDES[char]
        if size < _MYRIAD:
            if digit is None and (size != _TEN or section):
                return None
            section += (1 if digit is None else digit) * size
        else:
            section += digit or 0
            if not section and not total:
                return None
            total, section = (total + section * size if size == _MYRIAD else (total + section) * size), 0
        digit, unit = None, size
    return total + section + (digit or 0) * max(1, unit // _TEN)


def english_number(words: str) -> int | None:
    """The number that English words stand for; None where they are not well formed ("one two", "twenty twelve")."""
    table = numbers_data()["english"]
    total = group = 0
    for word in words.replace(" and ", " ").split():
        if (size := table["magnitudes"].get(word)) == _HUNDRED:
            group = (group or 1) * size
        elif size:
            total, group = total + (group or 1) * size, 0
        else:
            value = table["words"][word]
            tens, ones = group % _HUNDRED, group % _TEN
            if tens and (ones or tens == _TEN or value >= _TEN):
                return None
            group += value
    return total + group


@cache
def numerals() -> tuple[Rewrite, ...]:
    """Rewrites of numbers in words to digits, in a folded text with boundaries around it."""
    data = numbers_data()
    measures = "|".join(sorted(data["chinese"]["measures"], key=len, reverse=True))
    numeral = f"[{''.join(sorted(NUMERALS))}]"
    single = f"(?<![百千万亿])(?={measures})"
    none = re.compile("|".join(data["chinese"]["no_number"]))

    def chinese(match: re.Match[str]) -> str:
        numeral, text = match[0], match.string
        if len(numeral) > _LONGEST or none.match(text, match.start()):
            return numeral
        number = chinese_number(numeral)
        return numeral if number is None else str(number)

    words = "|".join(sorted((*data["english"]["words"], *data["english"]["magnitudes"]), key=len, reverse=True))
    ordinals = "|".join(data["dates"]["ordinals"])
    sizes = "|".join(data["english"]["magnitudes"])

    def english(match: re.Match[str]) -> str:
        number = english_number(match[0][1:])
        return match[0] if number is None else f"{match[0][0]}{number}"

    return (
        Rewrite(re.compile(f"{numeral}(?:{numeral}+|{single})"), chinese, beyond_ascii=True),
        Rewrite(
            re.compile(rf"\d{{1,15}}(?:\.\d{{1,9}})?(?:[百千万亿]{{1,4}}(?![米克瓦])| (?:{sizes})(?![^\W_]))"),
            _with_magnitude,
            anchors(f" (?:{sizes})", *(rf"{size}(?<=\d{size})" for size in "百千万亿")),
            before=25,
        ),
        Rewrite(
            re.compile(rf"[ \n\0](?:{words})(?: (?:and )?(?:{words})){{0,20}}(?![^\W_]| (?:{ordinals}))"),
            english,
            word_anchors(words),
        ),
    )


@cache
def amounts() -> tuple[Rewrite, ...]:
    """Rewrites of amounts to a number without needless zeros, and one name for its unit."""
    data = numbers_data()
    names = {name: unit for unit, names in data["units"].items() for name in names}
    listed = "|".join(sorted((name for name in names if name not in "$€£¥"), key=len, reverse=True))
    opening = "".join({name[0] for name in names})
    not_units = "|".join(data["not_units"])
    return (
        Rewrite(re.compile(r"百分之(\d+(?:\.\d+)?)"), r"\1%"),
        Rewrite(re.compile(r"\.(?<=\d\.)(\d{0,9}?)0+(?![\d.])"), lambda match: f".{match[1]}" if match[1] else ""),
        Rewrite(
            re.compile(r"([$€£¥])(\d+(?:\.\d+)?)"),
            lambda match: f"{match[2]} {names[match[1]]}",
            anchors(r"\$\d", r"€\d", r"£\d", r"¥\d"),
        ),
        Rewrite(
            re.compile(rf"\d(?=[ {opening}]) ?(?!{not_units})({listed})(?![a-z0-9])"),
            lambda match: f"{match[0][0]} {names[match[1]]}",
        ),
    )


@cache
def numbers_data() -> dict[str, Any]:
    """The table of numbers in words, units, months and parts of the day."""
    return tomllib.loads(data_file("language/numbers.toml").read_text(encoding="utf-8"))


def _with_magnitude(match: re.Match[str]) -> str:
    """12.5万 or "12.5 million" in digits."""
    number = match[0].rstrip("".join(_MAGNITUDES)).partition(" ")[0]
    behind = match[0].removeprefix(number).strip()
    sizes = numbers_data()["english"]["magnitudes"] | _MAGNITUDES
    names = [behind] if behind.isascii() else behind
    value = Decimal(number) * prod(sizes[name] for name in names)
    return f"{value.normalize():f}"
