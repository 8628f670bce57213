"""The explanation of a match: positions in the text as written, and the same verdict as the fast way."""

from hypothesis import example, given
from hypothesis import strategies as st

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.language.explain import Mention, Rejection, explain
from ctxmode_cli.language.matching import FactMatcher


def fact(value: str, kind: str = "kind", *, negative: bool = False) -> Fact:
    return Fact("f", kind, value, (), 0, None, None, (), negative=negative, question=None)


def test_mention_stands_where_it_was_written() -> None:
    """A value is shown at its place in the text as it was written, whatever folding did before it."""
    text = "ＯＫ，共１,０００元，　我不需要\u200b寵 物推薦。"
    assert explain(fact("1000元"), text).mentions == (Mention(4, 10, "１,０００元", "text", denied=False),)
    assert explain(fact("宠物推荐"), text).mentions == (Mention(17, 22, "寵 物推薦", "text", denied=True),)


def test_reading_is_named() -> None:
    """A mention says as what it was read, and where the words stand that were read."""
    assert explain(fact("810", "amount"), "for eight hundred and ten dollars").mentions == (
        Mention(4, 33, "eight hundred and ten dollars", "number", denied=False)._replace(
            end=25, written="eight hundred and ten"
        ),
    )
    assert explain(fact("2024-03-05", "date"), "ok, on March 5th we go").mentions == (
        Mention(7, 16, "March 5th", "date", denied=False),
    )
    assert explain(fact("15:00", "time"), "约在下午三点吧").mentions == (
        Mention(2, 6, "下午三点", "time", denied=False),
    )


def test_what_spoke_against_it_is_said() -> None:
    """Parts of longer numbers and words, and mentions of the other polarity, are listed with the reason."""
    found = explain(fact("$50"), "it is $500, not $50; $ 50.00 then")
    assert found.found
    assert [mention.written for mention in found.mentions] == ["$50", "$ 50"]
    assert found.rejected == (Rejection(6, 9, "part of a longer number"), Rejection(16, 19, "denied"))
    assert explain(fact("cat"), "cats").rejected == (Rejection(0, 3, "part of a longer word"),)
    asserted = explain(fact("宠物推荐", negative=True), "用户关注宠物推荐")
    assert not asserted.found
    assert asserted.rejected == (Rejection(4, 8, "asserted, and the fact is a denial"),)
    assert explain(fact("cat"), "a dog") == (False, (), ())


PARTS = st.one_of(
    st.sampled_from("不没别无宠寵物吗5万千一点年元、0.,:-/ '\n\0$éeﬁİ\u0301\u200b\\"),
    st.sampled_from(
        ["不要", "没有", "not ", "no ", "or ", "50", "3月", "5日", "one ", "hundred ", "march ", "pm", r"\u5317"]
    ),
)
TEXTS = st.lists(PARTS, max_size=12).map("".join)


@example(fact("宠物"), "\0宠物")
@given(
    st.builds(
        fact,
        st.one_of(TEXTS, st.text(max_size=3)),
        st.sampled_from(["kind", "amount", "date", "dob", "time"]),
        negative=st.booleans(),
    ),
    st.one_of(TEXTS, st.text(st.characters(codec=None))),
)
def test_explanation_agrees_with_the_matcher(one: Fact, text: str) -> None:
    """The slow way that keeps positions and the fast way without them come to the same, on any text."""
    matcher = FactMatcher([one])
    found = explain(one, text)
    assert found.found == (0 in matcher.facts_in(text))
    assert any(mention.denied != one.negative for mention in found.mentions) == (
        0 in matcher.stances_in(text).contradicted
    )
    assert all(text[mention.start : mention.end] == mention.written for mention in found.mentions)
    assert all(0 <= rejection.start <= rejection.end <= len(text) for rejection in found.rejected)
