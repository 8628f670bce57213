"""How far a negation reaches: to its own object, through a list, and no further."""

import re
import tomllib

import pytest

from ctxmode_cli.data import data_file
from ctxmode_cli.language.fold import fold, fold_together
from ctxmode_cli.language.negation import is_denied

DENIED = [
    "不要X", "我真的不需要这种X", "别再给我推荐什么X", "这不是X", "没有X", "没X", "无X", "请勿使用X", "不要把包裹送X", "不想要太X",
    "不要A、B或者X", "不是A，不要X", "X就不用了", "X不要了，谢谢", "X也不考虑。", "并没有X",
    "not X", "no X", "no more X", "don't want any X", "do not need the X", "never book X", "without X", "this isn't a X", "It isn't X",
    "A instead of X", "decided not to use X", "please don't send me X", "no A or X", "not A or B or X", "without B nor X",
    "X is not needed", "The X isn't required.", "Don't recommend X", "we do not have a X in the north",
]  # fmt: skip
NOT_DENIED = [
    "要X", "不要A，要X", "不要。X", "不要\nX", "不要：X", "没看过，不过X", "不知道X", "没去过X", "特别X", "区别X", "不仅X", "不但有X", "有没有X", "要不要X",
    "能不能推荐X", "需不需要X", "用不用X", "不能没有X", "不是不要X", "这不是X吗", "没有X吗？", "X不要钱", "X要不要", "别忘了X", "不是A、X", "没问题X",
    "X", "not leaving until X", "no, X", "No problem, X", "no problem X", "not only X", "can't wait to see X", "why not X",
    "isn't it X", "Isn't the X near", "wouldn't X do", "never without X", "I do not know if A is X", "order no X", "nothing but X",
    "not A but X", "know X", "there are no X that match", "X is not far", "not very far from X",
]  # fmt: skip


def denied(text: str) -> bool:
    folded = fold_together([text])
    start = next(match.start() for match in re.finditer("(?<![a-z])x(?![a-z])", folded))
    return is_denied(folded, start, start + 1)


@pytest.mark.parametrize("text", DENIED)
def test_denied(text: str) -> None:
    """A cue denies what stands right behind it in its clause, words that lead to it aside."""
    assert denied(text)


@pytest.mark.parametrize("text", NOT_DENIED)
def test_not_denied(text: str) -> None:
    """What a cue does not reach, what asks, what is denied twice and what only sounds like a denial is not denied."""
    assert not denied(text)


DATA = tomllib.loads(data_file("language/negation.toml").read_text(encoding="utf-8"))
FIRST_WAY = ((r"\(\?:([^|)]*)[^)]*\)", r"\1"), (r"\[\^.*?\]\{.*?\}\??", "这个"), (r"\[(.).*?\]", r"\1"), (r"\?", ""))


def words(language: str, key: str) -> list[str]:
    """The entries of the table, each as the first text that it describes."""
    entries = list(DATA[language][key])
    for pattern, first in FIRST_WAY:
        entries = [re.sub(pattern, first, entry) for entry in entries]
    return entries


def test_every_cue_denies_and_every_word_between_leads_on() -> None:
    """No entry of the table is idle: each cue denies, and each word between hands a denial on to the value."""
    for key in ("cues", "direct"):
        assert [cue for cue in words("zh", key) if not denied(f"我{cue}x")] == []
        assert [cue for cue in words("en", key) if not denied(f"we {cue} x")] == []
    assert [word for word in words("zh", "between") if not denied(f"我不要{word}x")] == []
    assert [word for word in words("en", "between") if not denied(f"we do not {word} x")] == []
    assert [phrase for phrase in words("zh", "behind") if not denied(f"x{phrase}")] == []
    assert [phrase for phrase in words("en", "behind") if not denied(f"the x {phrase}")] == []


def test_every_harmless_phrase_denies_nothing() -> None:
    """Each phrase that only sounds like a denial is none, before a value or before a list."""
    assert [phrase for phrase in words("zh", "harmless") if denied(f"我{phrase}x") or denied(f"{phrase}甲、x")] == []
    assert [
        phrase for phrase in words("en", "harmless") if denied(f"ok {phrase} x") or denied(f"ok {phrase} a or x")
    ] == []


def test_nothing_is_read_across_a_boundary() -> None:
    """The end of one text denies nothing in the next, whatever is folded with it."""
    folded = fold_together(["我不要", "宠物", "不用了"])
    start = folded.index(fold("宠物"))
    assert not is_denied(folded, start, start + 2)


def test_a_cue_far_before_is_not_seen() -> None:
    """However long a clause is, only its near part is read."""
    folded = fold_together(["不要" + "推荐" * 100 + "x"])
    assert not is_denied(folded, len(folded) - 2, len(folded) - 1)
