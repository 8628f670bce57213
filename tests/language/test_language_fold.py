"""What `fold` does to a text, and that it does it once and for all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.language.fold import fold, is_spaced_word, plain

CASES = {
    "case": ("Grand HOTEL", "grand hotel"),
    "case beyond ASCII": ("STRASSE straße", "strasse strasse"),
    "full width": ("ＡＢＣ１２３：５００", "abc123:500"),
    "half-width kana": ("ｶﾞ", "ガ"),
    "spaces in Chinese": ("北京\u3000大学 A 座", "北京大学a座"),
    "no-break space": ("a\u00a0b", "a b"),
    "runs of white space": ("  a \t b  ", "a b"),
    "line breaks end a clause": ("a \r\n b\u2028c\n", "a\nb\nc"),
    "clauses": ("Yes, he said: no. 好，不。", "yes\nhe said\nno\n好\n不"),
    "lists": ("茶 、 酒", "茶、酒"),
    "brackets and quotes": ("(a) [b] “c” 《丁》", "a b c丁"),
    "apostrophes": ("O’Hare's 'x'", "o'hare's x"),
    "hyphens": ("check-in – 3 – 5, -5, a--b", "check in 3-5\n-5\na b"),
    "hyphens in Chinese": ("周一-周五 8点-9点", "周一、周五8点、9点"),
    "slashes": ("a/b 3/5", "a b 3/5"),
    "digit grouping": ("1,500,000 1,5 21,500", "1500000 1\n5 21500"),
    "a trailing .0": ("50.0 4.00 1.0.0 10.0.0.1 3.10", "50 4 1.0.0 10.0.0.1 3.10"),
    "units": ("50kg 3pm 5 % $ 5 12B", "50 kg 3 pm 5% $5 12b"),
    "script": ("寵物推薦", "宠物推荐"),
    "zero width space": ("Bei\u200bjing", "beijing"),
    "joiners, soft hyphen, byte order mark": ("\ufeffa\u200cb\u200dc\u2060d\u00ade", "abcde"),
    "a mark that a zero width space parted from its letter": ("e\u200b\u0301", "é"),
    "JSON escapes": (r"\u5317\u4eac", "北京"),
    "JSON escapes in capitals": (r"\u5317\u4EAC", "北京"),
    "JSON escapes of one emoji": (r"\ud83d\ude00", "😀"),
    "half an emoji in JSON escapes": (r"a\ud83db", "a\ufffdb"),
    "half an emoji": ("a\ud83db", "a\ufffdb"),
    "what is no JSON escape": (r"c\users \u12 \uZZZZ", r"c\users \u12 \uzzzz"),
    "NUL is white space, and an escape character stays": ("a\x00 b\x1bc", "a b\x1bc"),
    "nothing": ("", ""),
    "only what is not seen": (" \u200b\n", ""),
}


@pytest.mark.parametrize(("text", "folded"), CASES.values(), ids=CASES)
def test_fold(text: str, folded: str) -> None:
    """What carries no meaning is made alike, clauses end at a mark, and everything else stays."""
    assert fold(text) == folded


@given(st.text(st.characters(codec=None)))
def test_folded_text_can_be_encoded(text: str) -> None:
    """Whatever a log holds, its folded text is UTF-8, with one mark where there were many and none at the ends."""
    folded = fold(text)
    assert folded.encode().decode() == folded
    assert plain(folded) == " ".join(plain(folded).split(" "))
    assert not re.search("[ \n、]{2}|^[ \n、]|[ \n、]$", folded)
    assert len(plain(folded)) == len(folded)


@given(st.text(st.characters(exclude_characters="\\", codec="utf-8")))
def test_escaped_text_folds_like_itself(text: str) -> None:
    """A text and its JSON escapes are read alike, astral characters included."""
    units = text.encode("utf-16-be")
    escaped = "".join(rf"\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    assert fold(escaped) == fold(text)


@pytest.mark.parametrize(
    ("char", "spaced"),
    [("a", True), ("é", True), ("5", True), ("ж", True), ("北", False), ("カ", False), ("$", False), (" ", False)],
)
def test_scripts_with_spaces_between_words(char: str, spaced: bool) -> None:
    """Latin and Cyrillic letters and digits make words that end at a space; Chinese and Japanese do not."""
    assert is_spaced_word(char) is spaced
