"""What of a message belongs on the fact card; worked out by hand."""

import pytest
from card_messages import fact, spoken

from ctxmode_cli.context.card import CardFact
from ctxmode_cli.context.card_facts import extract_card_facts
from ctxmode_cli.conversation.message import Message


def facts_of(message: Message, position: int) -> list[CardFact]:
    """What the rules read; they never take a call."""
    facts, call = extract_card_facts(message, position)
    assert call is None
    return list(facts)


def test_a_fact_is_taken_the_moment_it_is_said() -> None:
    """Kind, value, polarity and position, in the order of the text."""
    message = spoken("user", "I am a Gold member, order SO-10023, and I don't want any pet recommendations.")
    assert facts_of(message, 7) == [
        fact("membership_level", "Gold", 7),
        fact("order_number", "SO-10023", 7),
        fact("preference", "pet recommendations", 7, negative=True),
    ]


def test_chinese_facts_are_taken_alike() -> None:
    """A level, an order number and a denial."""
    message = spoken("user", "我是白金会员，订单号QM2026010001，不需要宠物推荐。")
    assert facts_of(message, 0) == [
        fact("membership_level", "白金会员"),
        fact("order_number", "QM2026010001"),
        fact("preference", "宠物推荐", negative=True),
    ]


def test_the_assistant_is_believed_where_it_names_a_number() -> None:
    """Under a booking number things are found again; a price on offer or a "must" of a policy is no fact of the user's."""
    text = "It costs $250 and your luggage must be checked in. Your booking number is QWE123."
    assert facts_of(spoken("assistant", text), 3) == [fact("booking_number", "QWE123", 3, by_user=False)]


@pytest.mark.parametrize("role", ["system", "tool"])
def test_nothing_is_taken_from_the_system_prompt_and_tools(role: str) -> None:
    """The one is sent anyway, and of the other most is never needed again."""
    assert facts_of(spoken(role, "order number SO-10023"), 0) == []


@pytest.mark.parametrize("text", ["Not on 2026-03-05, please.", "不要2026-03-05。"])
def test_a_value_that_the_user_only_denies_is_a_denial(text: str) -> None:
    """It would stand on the card as one that was asked for."""
    assert [one[:3] for one in facts_of(spoken("user", text), 0)] == [("date", "2026-03-05", True)]


def test_a_value_that_is_denied_and_asserted_is_asserted() -> None:
    """The denial may be of something else, and the value must not be lost."""
    facts = facts_of(spoken("user", "Not 2026-03-05. Or well, 2026-03-05 it is."), 0)
    assert {one.negative for one in facts} == {False}


def test_a_value_that_the_assistant_only_denies_is_none() -> None:
    """What is not so by its word says nothing of the user that must be kept."""
    assert facts_of(spoken("assistant", "Your order number is not SO-10023."), 0) == []


def test_what_is_given_up_comes_before_what_takes_its_place() -> None:
    """So that the new value replaces the one that the same message gives up, wherever that stands."""
    message = spoken("user", "Please change it to 2026-03-06 instead of 2026-03-05")
    assert [(one.value, one.changes) for one in facts_of(message, 0)] == [
        ("2026-03-05", False),
        ("2026-03-06", True),
    ]
