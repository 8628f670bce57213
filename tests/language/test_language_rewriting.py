"""Replacements that look for a rare sign first replace what a plain search would."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.language.dates import days, times
from ctxmode_cli.language.fold import FOLDING, fold_together
from ctxmode_cli.language.negation import links
from ctxmode_cli.language.numbers import amounts, numerals
from ctxmode_cli.language.rewriting import Rewrite, rewrite, word_anchors

REWRITES = [*FOLDING, *numerals(), *amounts(), *days(), *times(), *links()]
WORDS = [
    "5", "12", "2024", "30", "1.50", "-", "/", ".", ":", ",", " ", "\n", "\0", "年", "月", "日", "点", "时", "刻", "半", "万", "千", "十", "一", "百分之",
    "the ", "of ", "march", "may ", "dec", "st", "th ", "first", "twenty seventh", "one", "hundred", " thousand", "million", "and ", "noon",
    "half past ", "quarter to ", " o'clock", " am", " p\nm", " in the ", "at ", "evening", "night", "下午", "晚上", "$", "€", " usd", "kg", "元", "a", "、",
]  # fmt: skip
LONGEST = [
    "2024年12月25日", "2024-12-25", "2024.12.25", "on the twenty seventh of december 2024", "12/25/2024", "123456789012345.123456789 million",
    "at quarter past 12:30 o'clock in the evening", "afternoon12:30", "12点30分", "12:30:00", "$1,000.50",
]  # fmt: skip
"""What stands longest before the sign that it is found by."""
TEXTS = st.lists(st.sampled_from(WORDS), max_size=14).map("".join)


def test_anchored_pattern() -> None:
    """An anchor is where to look: left of it as far as is said, never into what was replaced before."""
    one = Rewrite(re.compile(r"\d{1,3}-\d"), "x", (re.compile(r"-(?<=\d-)\d"),), before=3)
    assert [match[0] for match in one.matches("1-2-3 1234-5 -6 7-")] == ["1-2", "234-5"]
    assert rewrite("1-2-3 1234-5 -6 7-", [one]) == "x-3 1x -6 7-"
    assert (
        rewrite("a hot day, hot", [Rewrite(re.compile(" (hot)"), r" [\1]", word_anchors("hot"))])
        == "a [hot] day, [hot]"
    )


def assert_finds_what_its_pattern_finds(one: Rewrite, text: str) -> None:
    folded = fold_together([text])
    for read in (text, folded, rewrite(folded, numerals())):
        assert [match.span() for match in one.matches(read)] == [match.span() for match in one.pattern.finditer(read)]
        assert one.apply(read) == one.pattern.sub(one.replacement, read)


@pytest.mark.parametrize("one", REWRITES, ids=lambda one: one.pattern.pattern[:24])
@given(text=TEXTS)
def test_anchors_miss_nothing(one: Rewrite, text: str) -> None:
    """Every rewrite finds what its pattern by itself finds, and writes what it would."""
    assert_finds_what_its_pattern_finds(one, text)


@pytest.mark.parametrize("text", LONGEST)
def test_anchors_reach_back_far_enough(text: str) -> None:
    """What stands far before the rare sign of a pattern is found with it."""
    for one in REWRITES:
        assert_finds_what_its_pattern_finds(one, text)
