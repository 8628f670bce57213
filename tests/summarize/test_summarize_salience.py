"""What a sentence carries."""

import pytest

from ctxmode_cli.summarize.salience import weigh


@pytest.mark.parametrize(
    ("sentence", "constrains"),
    [
        ("I must have a quiet room.", True),
        ("Please, no calls without asking, never.", True),
        ("I can't wait to get it!", False),
        ("You must be joking.", False),
        ("I can't wait, but it must be blue.", True),
        ("我不能吃花生。", True),
        ("能不能帮我查一下订单？", False),
        ("能不能不要香菜？", True),
        ("The parcel is here.", False),
    ],
)
def test_constraints(sentence: str, constrains: bool) -> None:
    """What must or must not be is a constraint; a question whether one can, or a figure of speech, is none."""
    assert weigh(sentence).constrains is constrains


@pytest.mark.parametrize(
    ("sentence", "opens"),
    [
        ("I have not decided yet.", True),
        ("The colour is still pending, sorry", True),
        ("颜色还没想好。", True),
        ("尺寸待定，下周告诉你。", True),
        ("The colour is blue.", False),
        ("颜色定了，蓝的。", False),
    ],
)
def test_what_is_left_open(sentence: str, opens: bool) -> None:
    """What is said to be undecided is open, without a question mark."""
    assert weigh(sentence).opens is opens


@pytest.mark.parametrize(
    ("sentence", "units"),
    [
        ("Alice lives in Lisbon.", {"alice": 30, "lives": 30, "lisbon": 200}),
        ("The Grand Hotel takes 45 guests.", {"grand": 200, "hotel": 200, "takes": 30, "45": 50, "guests": 30}),
        ("The code is 7-5-4704.", {"code": 30, "7-5-4704": 300}),
        ("My code is 7-5-4704!", {"code": 30, "7-5-4704": 750}),
        ("Mail ann@example.org", {"mail": 30, "ann@example.org": 750}),
        ("It is what it is, thank you very much.", {}),
        ("推荐您去故宫餐厅。", {"去故": 100, "故宫": 100, "宫餐": 100, "餐厅": 100}),
        ("知道《海豚湾》吗？", {"海豚": 100, "豚湾": 100, "《海豚湾》": 300}),
        ("单号是QM2026718675，谢谢您", {"单号": 100, "号是": 100, "qm2026718675": 750}),
        ("什么时候？", {}),
    ],
)
def test_units_of_a_sentence(sentence: str, units: dict[str, int]) -> None:
    """Names, titles and identifiers weigh most, one's own identifiers most of all; common words weigh nothing."""
    assert weigh(sentence).units == units


def test_cues_come_on_top() -> None:
    """A constraint outweighs a decision, and a decision a plain statement."""
    plain, decided, bound = "Tea is in cups.", "Tea is confirmed.", "Tea must be hot."
    assert [weigh(sentence).total for sentence in (plain, decided, bound)] == [60, 60 + 100, 60 + 400]


def test_long_chinese_prose_weighs_no_more_than_a_name() -> None:
    """All pairs of characters of a sentence together weigh as much as five."""
    name, prose = weigh("故宫角楼餐馆"), weigh("室内空气应保持流通并且每日打开所有抽屉柜门")
    assert name.total == 500
    assert 480 <= prose.total <= 500


def test_what_is_told_counts_no_more() -> None:
    """Only units that are new count; cues always do."""
    weight = weigh("Alice must see Lisbon.")
    assert weight.total == 30 + 200 + 400
    assert weight.beyond({"lisbon", "porto"}) == 30 + 400
    assert weight.beyond({"alice", "lisbon"}) == 400


def test_a_capital_makes_no_name_of_the_first_word() -> None:
    """A sentence begins with a capital whatever its first word is."""
    assert weigh("Trains leave at noon.").units["trains"] == weigh("All trains leave at noon.").units["trains"]


def test_what_a_word_is_depends_on_the_order_of_words_alone() -> None:
    """Of a word that stands in a sentence in two ways the later one counts, whatever order a set would have."""
    assert weigh("See the hotel, the Hotel!").units == {"hotel": 200}
    assert weigh("See the Hotel, the hotel!").units == {"hotel": 30}
