"""Where sentences end, and which language a text is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.language.sentences import is_chinese, sentences

CASES = [
    ("I like tea. I hate coffee!", ["I like tea.", "I hate coffee!"]),
    ("Really? Yes.", ["Really?", "Yes."]),
    ("我要茶。不要咖啡！好吗？", ["我要茶。", "不要咖啡！", "好吗？"]),
    ("one\ntwo\r\nthree", ["one", "two", "three"]),
    ("It is 4.7 in a.txt at example.com.", ["It is 4.7 in a.txt at example.com."]),
    ("  a \t b\u2028c  ", ["a b c"]),
    ("no end", ["no end"]),
    ("", []),
    (" \n \n", []),
    ("Room 7. Flight 12. Fine", ["Room 7.", "Flight 12.", "Fine"]),
    ("Use no nuts, e.g. almonds. Thanks", ["Use no nuts, e.g. almonds.", "Thanks"]),
    ("Not with Dr. Chen on St. Mary St. at 5 a.m. please", ["Not with Dr. Chen on St. Mary St. at 5 a.m. please"]),
    ("I do not want pets; children; or smoke. OK", ["I do not want pets; children; or smoke.", "OK"]),
    ("1. Print it. 2. Bring it.", ["1. Print it.", "2. Bring it."]),
    ("Steps: 1. Print.\n12. Bring 2. Thanks", ["Steps: 1. Print.", "12. Bring 2.", "Thanks"]),
    ("步骤：1. 打印。2. 带来。", ["步骤：1. 打印。", "2. 带来。"]),
    ("不要香菜；葱；蒜。谢谢", ["不要香菜；葱；蒜。", "谢谢"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_sentences(text: str, expected: list[str]) -> None:
    """Sentences end at their marks and at line breaks, never at a decimal point, an abbreviation or a semicolon."""
    assert sentences(text) == expected


@given(st.text())
def test_sentences_hold_all_of_the_text(text: str) -> None:
    """Nothing but white space is lost, and no sentence holds a line break or is empty."""
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence and sentence == " ".join(sentence.split()) for sentence in found)


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("我要订房间", True),
        ("I want a room", False),
        ("订 Hilton 的房间", True),
        ("please book it in 北京", False),
        ("北京 Beijing", True),
        ("123", False),
        ("", False),
    ],
)
def test_language(text: str, chinese: bool) -> None:
    """A text is Chinese where Chinese characters are no fewer than Latin words."""
    assert is_chinese(text) is chinese
