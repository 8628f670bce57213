"""Numbers in words and units by their many names, rewritten to one form: 一千, 1千 and "one thousand" are 1000.

A Chinese numeral of one character is a number only before a measure word, and one of several only where it is well
formed: 三四个 is "three or four". A hundred things that begin with 一 are none.
"""

import re
import tomllib
from functools import cache
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.language.rewriting import Rewrite

_DIGITS = {char: value for value, chars in enumerate(("〇零", "一", "二两", "三", "四", "五", "六", "七", "八", "九")) for char in chars}
_MAGNITUDES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
NUMERALS = frozenset(_DIGITS) | frozenset(_MAGNITUDES)
"""The characters of Chinese numbers."""


def chinese_number(numeral: str) -> int | None:
    """The number that a Chinese numeral stands for; None where it is not well formed.

    Digits alone are read one by one where there are three or a zero (二〇二四); 三四 is "three or four". A last digit
    behind a hundred or more counts tenths of it (三千五 is 3500), as it is spoken.
    """
    if not _MAGNITUDES.keys() & set(numeral):
        spelled = len(numeral) != 2 or not {"零", "〇"}.isdisjoint(numeral)
        return int("".join(str(_DIGITS[char]) for char in numeral)) if spelled else None
    total = section = 0
    digit: int | None = None
    last = 0
    for char in numeral:
        if char in _DIGITS:
            if digit:
                return None
            digit, last = _DIGITS[char], last if _DIGITS[char] else 1
            continue
        size = _MAGNITUDES[char]
        if digit is None and (size != 10 or section):
            return None
        if size < 10**4:
            section += (1 if digit is None else digit) * size
        else:
            total, section = (total + section + (digit or 0)) * size, 0
        digit, last = None, size
    return total + section + (digit or 0) * (last // 10 if last > 10 else 1)


def english_number(words: str) -> int | None:
    """The number that English words (and digits among them) stand for; None where they are not well formed."""
    table = numbers_data()["english"]
    total = section = 0
    last = 0
    for word in words.split():
        if word == "and":
            continue
        if size := table["magnitudes"].get(word):
            if size == 100:
                section = (section or 1) * size
            else:
                total, section = total + (section or 1) * size, 0
            last = size
            continue
        value = table["words"][word]
        if 0 < last < 20 or (20 <= last < 100 and value >= 10):
            return None
        section += value
        last = value
    return total + section


@cache
def numerals() -> tuple[Rewrite, ...]:
    """Rewrites of numbers in words to digits, in a folded text with boundaries around it."""
    data = numbers_data()
    measures = "|".join(sorted(data["chinese"]["measures"], key=len, reverse=True))
    single = re.compile(f"(?:{measures})")
    none = re.compile("|".join(data["chinese"]["no_number"]))

    def chinese(match: re.Match[str]) -> str:
        numeral, text = match[0], match.string
        if none.match(text, match.start()):
            return numeral
        if len(numeral) == 1 and (numeral in "百千万亿" or not single.match(text, match.end())):
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
        Rewrite(re.compile(f"[{''.join(sorted(NUMERALS))}]+"), chinese),
        Rewrite(re.compile(r"\d+(?:\.\d+)?[百千万亿]+(?![米克瓦])"), _with_magnitude),
        Rewrite(re.compile(rf"\d+(?:\.\d+)? (?:{sizes})(?![^\W_])"), _with_magnitude),
        Rewrite(re.compile(rf"[ \n\0](?:{words})(?: (?:and )?(?:{words}))*(?![^\W_]| (?:{ordinals}))"), english),
    )


@cache
def amounts() -> tuple[Rewrite, ...]:
    """Rewrites of amounts to a number without needless zeros, and one name for its unit."""
    units = numbers_data()["units"]
    symbols = {name: unit for unit, names in units.items() for name in names if name in "$€£¥"}
    names = sorted(((name, unit) for unit, names in units.items() for name in names), key=lambda pair: -len(pair[0]))
    groups = "|".join(f"({name if name[0] != '$' else re.escape(name)})" for name, _ in names)

    def named(match: re.Match[str]) -> str:
        assert match.lastindex is not None
        return f"{match[0][0]} {names[match.lastindex - 1][1]}"

    return (
        Rewrite(re.compile(r"百分之(\d+(?:\.\d+)?)"), r"\1%"),
        Rewrite(re.compile(r"\.(?<=\d\.)(\d*?)0+(?![\d.])"), lambda match: f".{match[1]}" if match[1] else ""),
        Rewrite(re.compile(r"([$€£¥])(\d+(?:\.\d+)?)"), lambda match: f"{match[2]} {symbols[match[1]]}"),
        Rewrite(re.compile(rf"\d ?(?:{groups})(?![a-z0-9])"), named),
    )


@cache
def numbers_data() -> dict[str, Any]:
    """The table of numbers in words, units, months and parts of the day."""
    return tomllib.loads(data_file("language/numbers.toml").read_text(encoding="utf-8"))


def _with_magnitude(match: re.Match[str]) -> str:
    """12.5万 or "12.5 million" in digits."""
    number = re.match(r"[\d.]+", match[0])
    assert number is not None
    value = float(number[0])
    rest = match[0][number.end() :].strip()
    sizes = {**_MAGNITUDES, **numbers_data()["english"]["magnitudes"]}
    for size in [rest] if rest.isascii() else rest:
        value *= sizes[size]
    return f"{value:.6f}".rstrip("0").rstrip(".")
