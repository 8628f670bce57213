"""What `fold` does to a text, and that it does it once and for all."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxmode_cli.language.fold import fold, is_spaced_word

CASES = {
    "case": ("Grand HOTEL", "grand hotel"),
    "case beyond ASCII": ("STRASSE straße", "strasse strasse"),
    "full width": ("ＡＢＣ１２３：５００", "abc123:500"),
    "half-width kana": ("ｶﾞ", "ガ"),
    "ideographic space": ("北京\u3000大学", "北京 大学"),
    "no-break space": ("5\u00a0kg", "5 kg"),
    "runs of white space": ("  a \t\r\n b\u2028c  ", "a b c"),
    "zero width space": ("Bei\u200bjing", "beijing"),
    "joiners, soft hyphen, byte order mark": ("\ufeffa\u200cb\u200dc\u2060d\u00ade", "abcde"),
    "a mark that a zero width space parted from its letter": ("e\u200b\u0301", "é"),
    "JSON escapes": (r"\u5317\u4eac", "北京"),
    "JSON escapes in capitals": (r"\u5317\u4EAC", "北京"),
    "JSON escapes of one emoji": (r"\ud83d\ude00", "😀"),
    "half an emoji in JSON escapes": (r"a\ud83d b", "a\ufffd b"),
    "half an emoji": ("a\ud83d b", "a\ufffd b"),
    "what is no JSON escape": (r"c:\users \u12 \uZZZZ", r"c:\users \u12 \uzzzz"),
    "NUL and escape characters stay": ("a\x00b\x1b[1m", "a\x00b\x1b[1m"),
    "nothing": ("", ""),
    "only what is not seen": (" \u200b\n", ""),
}


@pytest.mark.parametrize(("text", "folded"), CASES.values(), ids=CASES)
def test_fold(text: str, folded: str) -> None:
    """Case, width, zero-width characters, white space and JSON escapes do not matter; everything else stays."""
    assert fold(text) == folded


@example("\u0399\u0308\u0301")  # casefold takes apart what NFKC put together
@given(st.text(st.characters(exclude_characters="\\", codec=None)))
def test_fold_is_idempotent(text: str) -> None:
    """Folding what is folded changes nothing."""
    assert fold(fold(text)) == fold(text)


@given(st.text(st.characters(codec=None)))
def test_folded_text_can_be_encoded(text: str) -> None:
    """Whatever a log holds, its folded text is UTF-8 with single spaces and none at the ends."""
    folded = fold(text)
    assert folded.encode().decode() == folded
    assert folded == " ".join(folded.split())


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
