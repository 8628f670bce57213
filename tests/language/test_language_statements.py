"""Which facts a generated statement contradicts; every case judged by hand."""

import pytest

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.statements import StatementReader


def fact(value: str, *, negative: bool, aliases: tuple[str, ...] = ()) -> Fact:
    return Fact("f", "preference", value, aliases, 0, None, None, (), negative=negative, question=None)


ASSERTED = [
    ("宠物推荐", "用户关注宠物相关推荐"),
    ("宠物推荐", "用户关注宠物推荐"),
    ("宠物推荐", "特别关注宠物類的推薦。"),
    ("宠物推荐", "用户喜欢“宠物”方面的推荐"),
    ("宠物推荐", "不吃辣，关注宠物推荐"),
    ("pet recommendations", "The user is interested in pet-related recommendations."),
    ("peanuts", "No milk, but peanuts are fine"),
    ("smoking room", "Smoking room preferred"),
]
NOT_ASSERTED = [
    ("宠物推荐", "用户不再关注宠物相关推荐"),
    ("宠物推荐", "用户不需要宠物推荐"),
    ("宠物推荐", "用户对宠物相关推荐不感兴趣"),
    ("宠物推荐", "宠物医院推荐了一款药"),
    ("宠物推荐", "推荐宠物医院"),
    ("宠物推荐", "是否需要宠物推荐？"),
    ("宠物推荐", "用户取消了宠物类推荐"),
    ("宠物推荐", "关注宠物，要推荐餐厅"),
    ("香菜", "对香菜过敏"),
    ("peanuts", "The user is allergic to peanuts."),
    ("peanuts", "A peanut-free cake"),
    ("peanuts", "Are peanuts fine?"),
    ("pet recommendations", "Never sends pet-related recommendations"),
    ("pet recommendations", "Carpet recommendations"),
    ("pet recommendations", "recommended pets"),
]


@pytest.mark.parametrize(("value", "statement"), ASSERTED)
def test_a_denied_value_is_asserted(value: str, statement: str) -> None:
    """The value stands there as it is, or with words between that only link, in a clause that denies nothing."""
    assert StatementReader([fact(value, negative=True)], ()).contradicted_in(statement) == {0}


@pytest.mark.parametrize(("value", "statement"), NOT_ASSERTED)
def test_a_denied_value_is_not_asserted(value: str, statement: str) -> None:
    """A clause with a denial or a word of aversion asserts nothing, nor does a question, nor are other words the value."""
    assert StatementReader([fact(value, negative=True)], ()).contradicted_in(statement) == set()


def test_a_value_is_denied() -> None:
    """A statement that denies a value contradicts the fact, and one that asserts it, or also asserts it, does not."""
    reader = StatementReader([fact("川菜", negative=False), fact("window seat", negative=False)], ())
    assert reader.contradicted_in("用户不要川菜") == {0}
    assert reader.contradicted_in("用户要川菜") == set()
    assert reader.contradicted_in("中午不要川菜，晚上要川菜") == set()
    assert reader.contradicted_in("He does not want a window seat.") == {1}
    assert reader.contradicted_in("He wants a window-related seat") == set()


def test_a_statement_is_a_sentence() -> None:
    """Each sentence of each line is judged by itself, so that one which carries the fact saves no other."""
    reader = StatementReader([fact("宠物推荐", negative=True, aliases=("宠物广告",))], ())
    text = "## 偏好\n- 用户不需要宠物推荐。用户关注宠物相关推荐。\n- 关注宠物广告"
    assert list(reader.contradictions(text)) == [(0, "用户关注宠物相关推荐。"), (0, "- 关注宠物广告")]
    assert list(reader.contradictions(text)) == list(reader.contradictions(text))


def test_titles_and_headings_state_nothing() -> None:
    """What a summary says of itself is about no fact."""
    reader = StatementReader([fact("message", negative=False)], ())
    assert list(reader.contradictions("[Summary, not a message]\n## No message\n- No message")) == [(0, "- No message")]


def test_what_was_said_word_for_word_contradicts_nothing() -> None:
    """A sentence of the record is no generated statement, with a bullet before it or without; a paraphrase is one."""
    said = parse_message({"role": "assistant", "content": "Sorry.  There is\nno window seat. Anything else?"})
    reader = StatementReader([fact("window seat", negative=False)], [said])
    assert list(reader.contradictions("- There is no window seat.")) == []
    assert list(reader.contradictions("- No window seat.")) == [(0, "- No window seat.")]
