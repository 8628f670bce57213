"""Estimates and kinds of text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.tokens.counter import TokenCounter
from ctxmode_cli.tokens.estimators import (
    CONTENT_CLASSES,
    RULES,
    ErrorSum,
    EstimatorErrors,
    content_class,
    estimators_beside,
    sample_texts,
)


@pytest.mark.parametrize(
    ("rule", "text", "guess"),
    [
        ("chars/4", "12345678", 2),
        ("chars/2", "12345678", 4),
        ("utf8-bytes/4", "你好你好", 3),
        ("utf8-bytes/4", "\ud800", 0.75),
        ("words*1.33", "one  two\nthree", 3.99),
        ("words*1.33", "我不需要宠物推荐", 1.33),
    ],
)
def test_rules_of_thumb(rule: str, text: str, guess: float) -> None:
    """Each rule of thumb is what its name says."""
    assert math.isclose(RULES[rule](text), guess)


def test_errors_are_signed_shares_of_the_truth() -> None:
    """Too much is positive, too little negative; the worst is the one furthest from zero."""
    errors = ErrorSum()
    for guess, true in ((15, 10), (2, 10), (10, 10)):
        errors.add(guess, true)
    assert errors.count == 3
    assert math.isclose(errors.mean, (0.5 - 0.8 + 0.0) / 3)
    assert math.isclose(errors.worst, -0.8)


def test_nothing_has_no_error() -> None:
    """A text without tokens has no shares and is left out."""
    errors = ErrorSum()
    errors.add(7, 0)
    assert (errors.count, errors.mean, errors.worst) == (0, 0.0, 0.0)


def test_other_encodings_are_estimators() -> None:
    """Every other vocabulary is an estimator, the model's own and those that share it are not."""
    names = ["cl100k_base", "o200k_base", "o200k_harmony"]
    assert set(estimators_beside("o200k_base", names)) == {"cl100k_base", *RULES}
    assert set(estimators_beside("o200k_harmony", names)) == {"cl100k_base", *RULES}
    assert set(estimators_beside("cl100k_base", names)) == {"o200k_base", *RULES}
    assert set(estimators_beside("cl100k_base", ["cl100k_base"])) == set(RULES)


def test_errors_are_kept_by_class() -> None:
    """Each kind of text has its own sums, in the order of the kinds."""
    errors = EstimatorErrors(TokenCounter.for_model("gpt-4o"), RULES)
    errors.add("hello world", "en")
    errors.add("你好", "zh")
    assert list(errors.by_class) == ["zh", "en"]
    assert math.isclose(errors.by_class["en"]["chars/4"].mean, (11 / 4 - 2) / 2)
    assert math.isclose(errors.by_class["zh"]["chars/4"].mean, (2 / 4 - 1) / 1)


@pytest.mark.parametrize("kind", list(sample_texts()))
def test_samples_are_of_their_class(kind: str) -> None:
    """The rule finds the class under which each built-in text stands."""
    texts = sample_texts()[kind]
    assert len(texts) == 10
    assert [content_class(text) for text in texts] == [kind] * 10


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "other"),
        ("010-65008117", "other"),
        ("配送先の住所を変更したいのですが", "other"),
        ("주문을 취소해 주세요", "other"),
        ("Подскажите, пожалуйста", "other"),
        ("寄到杭州市西湖區華星時代廣場A座1203室", "zh"),
        ("Café crème, s'il vous plaît", "en"),
        ("Say 谢谢 when they bring the tea, and leave it at that.", "en"),
        ("用iPhone拍的", "mixed"),
        ("{not json}", "en"),
        ("[1, 2, 3]", "json"),
        ("[" * 100_000 + "]" * 100_000, "other"),
        ('"a JSON text alone is a sentence"', "en"),
        ("Here you are:\n```\nx\n```", "code"),
        ("I found your items:\n- Electric toothbrush ($119.99)\n- Lamp (blue, large)\n\nAnything else?", "en"),
        ("Roses are red,\nviolets are blue,\nsugar is sweet,\nand so are you.", "en"),
    ],
)
def test_content_class(text: str, kind: str) -> None:
    """The kind of a text by what it is made of."""
    assert content_class(text) == kind


@given(text=st.text())
def test_every_text_has_a_class(text: str) -> None:
    """No text is without a class."""
    assert content_class(text) in CONTENT_CLASSES
