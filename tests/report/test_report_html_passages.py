"""Texts cut to a size: no more bytes than are given, and nothing lost without its being said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.report.html.passages import Passage, passage, size

TEXT = st.text(st.characters() | st.sampled_from("<&'\"\x1b\u202e\ud800长"), max_size=60)


@pytest.mark.parametrize(
    ("text", "limit", "marked", "expected"),
    [
        ("all of it", 9, "", Passage("all of it")),
        ("all of it", 3, "", Passage("all", left_out=6)),
        ("长长长", 7, "", Passage("长长", left_out=1)),
        ("<<<", 9, "", Passage("<<", left_out=1)),
        ("a\x1b", 4, "", Passage("a", left_out=1)),
        ("0123456789", 6, "45", Passage("3", "45", "678", 4)),
        ("0123456789", 6, "ab", Passage("012345", left_out=4)),
        ("0123456789", 2, "3456", Passage("", "34", "", 8)),
        ("01", 9, "01", Passage("", "01")),
    ],
)
def test_passages_by_hand(text: str, limit: int, marked: str, expected: Passage) -> None:
    """What is cut, is counted; a mark is shown in any case, with more behind it than before it."""
    assert passage(text, limit, marked) == expected


@given(TEXT, st.integers(0, 80), TEXT)
def test_a_passage_is_a_part_and_fits(text: str, limit: int, marked: str) -> None:
    """Its parts stand side by side in the text, take no more than is given, and with what is left out are all of it."""
    found = passage(text, limit, marked)
    whole = found.before + found.marked + found.after
    assert whole in text
    assert len(whole) + found.left_out == len(text)
    assert size(whole) <= limit
