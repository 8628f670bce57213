"""Numbers in words and units by their many names, in one form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.language.fold import fold_together
from ctxmode_cli.language.numbers import amounts, chinese_number, english_number, numerals
from ctxmode_cli.language.rewriting import rewrite

CHINESE = {
    "十": 10, "十五": 15, "二十": 20, "一百零五": 105, "一百二": 120, "一百二十": 120, "两千": 2000, "三千五": 3500, "一千零一": 1001,
    "一万零五百": 10500, "两万三": 23000, "一千万": 10_000_000, "三亿五千万": 350_000_000, "三万亿": 3 * 10**12, "二〇二四": 2024, "零五": 5, "七": 7,
    "三四": None, "三四百": None, "万一": None, "千万": None, "百": None,
}  # fmt: skip
ENGLISH = {
    "four": 4, "twenty five": 25, "one hundred": 100, "hundred": 100, "two hundred and fifty": 250, "one hundred twenty five": 125,
    "one thousand three hundred and thirty": 1330, "two million": 2_000_000, "twelve hundred": 1200, "thirty thousand and six": 30_006,
    "one two": None, "twenty twelve": None, "ten five": None, "five twenty": None,
}  # fmt: skip
AMOUNTS = {
    "一千块钱": "1000 cny", "共1,000元": "共1000 cny", "$250.00": "250 usd", "eight hundred and ten dollars": "810 usd",
    "12.5万": "125000", "1.5 million": "1500000", "5千米": "5 km", "3.50": "3.5", "10 kg": "10 kg", "百分之五十": "50 %",
    "两个小时": "2 h", "三块蛋糕": "3块蛋糕", "三四个人": "三四个人", "十分好": "十分好", "十分钟": "10 min", "一起去": "一起去", "￥50": "50 cny",
}  # fmt: skip


@pytest.mark.parametrize(("numeral", "number"), CHINESE.items())
def test_chinese_number(numeral: str, number: int | None) -> None:
    """A well-formed numeral is its number; two digits side by side are "three or four", and none."""
    assert chinese_number(numeral) == number


@pytest.mark.parametrize(("words", "number"), ENGLISH.items())
def test_english_number(words: str, number: int | None) -> None:
    """Well-formed words are their number; a row of numbers is none."""
    assert english_number(words) == number


@pytest.mark.parametrize(("text", "read"), AMOUNTS.items())
def test_amount(text: str, read: str) -> None:
    """A number is in digits without needless zeros, its unit behind it by one name; what is no number stays."""
    assert rewrite(fold_together([text]), numerals() + amounts())[1:-1] == read


def spoken(number: int) -> str:
    """A number below ten thousand in Chinese, digit by digit and the slow way."""
    words = ""
    for place, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // place % 10
        if digit:
            words += "零一二三四五六七八九"[digit] + unit
        elif words and not words.endswith("零") and number % place:
            words += "零"
    return words


@given(st.integers(1, 9999))
def test_every_number_is_read_as_it_is_spoken(number: int) -> None:
    """The numeral of any number is read as that number, on its own and ten thousand times it."""
    assert chinese_number(spoken(number)) == number
    assert chinese_number(spoken(number) + "万") == number * 10_000
