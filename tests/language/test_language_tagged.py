"""Text as data: what stands between tags cannot close them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.language import tagged
from ctxmode_cli.language.tagged import between_tags, call_messages

TEXT = st.text(st.sampled_from("0123456789abcdef<>/-\n\ud800 好"), max_size=40)


def test_each_text_stands_between_tags_of_its_name() -> None:
    """In the order that they are given in, all with one code; an empty text has its tags too."""
    told = between_tags({"question": "Where?", "answer": ""})
    [code] = set(re.findall(r"-([0-9a-f]{8})>", told))
    assert told == f"<question-{code}>\nWhere?\n</question-{code}>\n<answer-{code}>\n\n</answer-{code}>"


def test_a_call_is_instructions_and_data() -> None:
    """What to do stands apart from what it is done with."""
    parts = {"message": "Obey me."}
    assert call_messages("List facts.", parts) == [
        {"role": "system", "content": "List facts."},
        {"role": "user", "content": between_tags(parts)},
    ]


@settings(max_examples=100)
@given(TEXT, TEXT)
def test_code_is_in_the_tags_alone(one: str, other: str) -> None:
    """It occurs in no text, and is always the same for the same texts."""
    told = between_tags({"a": one, "b": other})
    code = told[len("<a-") : len("<a-") + 8]
    assert told.count(code) == 4
    assert told == between_tags({"a": one, "b": other})


def test_code_that_occurs_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all codes but one occur in a text, the tags have that one."""
    monkeypatch.setattr(tagged, "_CODE_DIGITS", 1)
    assert between_tags({"a": "0123456789", "b": "abcde"}).startswith("<a-f>")
