"""The fact card: what takes whose place, what fits; worked out by hand."""

import json
import tomllib
from collections.abc import Sequence
from functools import cache

import pytest
from card_messages import fact, spoken
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.context.card import Card, CardFact, correct, update, write
from ctxmode_cli.context.card_facts import extract_card_facts
from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.data import data_file
from ctxmode_cli.language.fold import fold
from ctxmode_cli.language.matching import FactMatcher
from ctxmode_cli.tokens.counter import TokenCounter

DATA = tomllib.loads(data_file("context/card.toml").read_text(encoding="utf-8"))
RULES = tomllib.loads(data_file("language/extraction.toml").read_text(encoding="utf-8"))["rules"]
HEADING_EN = "[Fact card: taken from the conversation automatically, not a message from the user]\n"
HEADING_ZH = "[事实卡：由对话自动提取，不是用户的消息]\n"
UNLIMITED = 10**6


def of(*messages: tuple[str, str], card: Card = Card()) -> Card:  # noqa: B008, a card is a value
    """The card after these messages, of role and text."""
    latest = max((fact.position for fact in (*card.pinned, *card.facts)), default=-1)
    for position, (role, text) in enumerate(messages, start=latest + 1):
        card = update(card, extract_card_facts(spoken(role, text), position).facts)
    return card


def user(*texts: str) -> Card:
    """The card after these messages of the user."""
    return of(*(("user", text) for text in texts))


def values(card: Card) -> list[str]:
    return [fact.value for fact in (*card.pinned, *card.facts)]


def lines(card: Card, lang: str = "en", limit: int = UNLIMITED) -> list[str]:
    """The lines of a card as it is written, without the heading; a character is a token."""
    return write(card, lang=lang, limit=limit, count=len)[0].splitlines()[1:]


@cache
def tokens(text: str) -> int:
    return TokenCounter.for_model("gpt-4o").text(text)


# What takes whose place.


def test_facts_stand_in_the_order_in_which_they_were_said() -> None:
    """A fact that comes later stands behind."""
    assert values(user("订单号是QM2026010001", "我不吃牛肉", "电话19930593669")) == [
        "QM2026010001",
        "牛肉",
        "19930593669",
    ]


def test_a_changed_address_replaces_the_old_one() -> None:
    """With words of change."""
    card = user("Ship to 12 Oak Street.", "Please change the address to 5 Elm Road.")
    assert values(card) == ["5 Elm Road"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ship to 12 Oak Street.", "I live at 5 Elm Road."),
        ("My name is John Smith.", "My name is John Smythe."),
        ("I am a Gold member.", "I am a Platinum member."),
        ("我是金卡会员。", "我是白金会员。"),
        ("会员号VM7353073", "会员号VM1111111"),
    ],
)
def test_of_a_kind_with_one_value_the_last_statement_holds(first: str, second: str) -> None:
    """Even without a word of change."""
    assert len(values(user(first))) == 1
    assert values(user(first, second)) == values(user(second))


def test_level_and_number_of_a_membership_do_not_replace_each_other() -> None:
    """They are two kinds."""
    assert len(values(user("会员号VM7353073", "我是白金会员"))) == 2


def test_two_addresses_of_one_message_both_hold() -> None:
    """Nothing says that the second replaces the first."""
    assert values(user("Send one to 12 Oak Street and one to 5 Elm Road.")) == ["12 Oak Street", "5 Elm Road"]


def test_a_second_date_stands_beside_the_first() -> None:
    """There can be two bookings; only a word of change replaces."""
    assert values(user("Check in on 2026-03-05.", "Check out on 2026-03-08.")) == ["2026-03-05", "2026-03-08"]


def test_a_changed_date_replaces_the_one_mentioned_last() -> None:
    """Not the one before; the user's naming an old one again makes that the last mentioned."""
    dates = ("Check in on 2026-03-05.", "Check out on 2026-03-08.")
    assert values(user(*dates, "Change it to 2026-03-09.")) == ["2026-03-05", "2026-03-09"]
    assert values(user(*dates, "Change it from 2026-03-05 to 2026-03-04.")) == ["2026-03-08", "2026-03-04"]
    assert values(user(*dates, "Change it to 2026-03-04 instead of 2026-03-05.")) == ["2026-03-08", "2026-03-04"]
    assert values(user("Change it to 2026-03-04 instead of 2026-03-05, I land on 2026-03-08.")) == [
        "2026-03-08",
        "2026-03-04",
    ]


def test_a_value_that_was_a_change_itself_can_be_given_up() -> None:
    """The message that gives it up is the last that mentions it."""
    assert values(user("周五送", "改成周六吧", "把周六改成周日吧")) == ["周日"]


def test_of_values_that_were_said_together_a_change_replaces_the_last() -> None:
    """Which is nearest to it."""
    card = Card((fact("date", "d1"), fact("date", "d2")))
    assert values(update(card, [fact("date", "d3", 1, changes=True)])) == ["d1", "d3"]


def test_a_change_to_a_known_value_drops_another() -> None:
    """Not that value itself, which stays in its place."""
    card = Card((fact("date", "d1"), fact("date", "d2", 1), fact("amount", "$1", 2)))
    assert values(update(card, [fact("date", "d2", 3, changes=True)])) == ["d2", "$1"]


def test_a_change_replaces_what_the_user_said_before_what_the_assistant_named() -> None:
    """The times on offer are mentioned last, and the one that is given up is the user's."""
    card = of(
        ("user", "A table at 9:00, please."),
        ("assistant", "There are 10:00 and 11:00."),
        ("user", "Make it 10:00."),
    )
    assert values(card) == ["10:00", "11:00"]


def test_a_word_of_change_near_a_number_changes_no_number() -> None:
    """What is changed is something of that order."""
    assert values(user("Order SO-10023 and order SO-10024.", "Change it to blue in order SO-10024.")) == [
        "SO-10023",
        "SO-10024",
    ]


def test_the_assistant_replaces_nothing() -> None:
    """Neither an address, nor a denial of the user's."""
    said = (fact("address", "12 Oak Street"), fact("date", "Monday", negative=True))
    heard = [fact("address", "5 Elm Road", 1, by_user=False), fact("date", "Monday", 1, by_user=False)]
    assert update(Card(), [*said, *heard]).facts == (*said, heard[0])


def test_what_the_user_has_said_stays_the_users() -> None:
    """The assistant's repetition only counts as the last mention; the user's own word makes it theirs."""
    said, heard = fact("date", "Monday", 0), fact("date", "Monday", 1, by_user=False)
    assert update(Card(), [said, heard]).facts == (fact("date", "Monday", 1),)
    assert update(Card(), [heard, said._replace(position=2)]).facts == (fact("date", "Monday", 2),)


def test_two_changes_of_one_message_do_not_replace_each_other() -> None:
    """Both are new; each replaces an old one."""
    card = Card(facts=(fact("date", "d1", 0), fact("date", "d2", 1)))
    new = [fact("date", "d3", 2, changes=True), fact("date", "d4", 2, changes=True)]
    assert values(update(card, new)) == ["d3", "d4"]


def test_a_change_back_drops_the_value_between() -> None:
    """The old value holds again, and the one that had replaced it does not."""
    assert values(user("周五送", "改成周六吧", "还是改成周五")) == ["周五"]


def test_a_kind_of_which_many_hold_is_never_replaced() -> None:
    """A preference stays beside another, even where the user speaks of a change."""
    assert values(update(user("I prefer a window seat."), [fact("preference", "aisle", 5, changes=True)])) == [
        "window seat",
        "aisle",
    ]


def test_a_denial_takes_the_place_of_the_assertion_and_the_other_way_round() -> None:
    """Polarity is what was said last."""
    wanted, unwanted = fact("preference", "宠物推荐", 0), fact("preference", "宠物推荐", 1, negative=True)
    assert update(Card(), [wanted, unwanted]).facts == (unwanted,)
    assert update(Card(), [unwanted, wanted._replace(position=2)]).facts == (wanted._replace(position=2),)


def test_a_denied_value_does_not_replace_another_of_its_kind() -> None:
    """To want no Monday leaves the Friday, and a new date leaves the denial."""
    friday, monday = fact("date", "Friday", 0), fact("date", "Monday", 1, negative=True, changes=True)
    assert update(Card(), [friday, monday]).facts == (friday, monday)
    saturday = fact("date", "Saturday", 2, changes=True)
    assert update(Card(), [friday, monday, saturday]).facts == (monday, saturday)


def test_a_repetition_stays_in_its_place_and_counts_as_new() -> None:
    """However it is written: case, width and script make no other value of it."""
    card = update(Card(), [fact("product", "Ａbc 數碼", 0), fact("product", "other", 1), fact("product", "abc数码", 2)])
    assert card.facts == (fact("product", "Ａbc 數碼", 2), fact("product", "other", 1))


# A person's corrections.

WRONG, RIGHT = fact("address", "12 Oak Street", 0), fact("address", "5 Elm Road", 0)


def test_a_correction_replaces_and_stays() -> None:
    """The old value is gone, though said again, and a statement without a word of change leaves the new one."""
    card = correct(Card(facts=(WRONG,)), set_=[RIGHT])
    assert values(card) == ["5 Elm Road"]
    assert values(of(("user", "It is 12 Oak Street."), ("user", "Or 7 Ash Lane."), card=card)) == ["5 Elm Road"]


def test_an_explicit_change_of_the_user_replaces_a_correction() -> None:
    """And from then on what was said holds."""
    card = of(("user", "Change the address to 7 Ash Lane."), card=correct(Card(), set_=[RIGHT]))
    assert card.pinned == ()
    assert values(card) == ["7 Ash Lane"]


def test_a_correction_is_not_denied_but_by_a_change() -> None:
    """A pinned denial stands against an assertion."""
    unwanted, wanted = fact("preference", "pets", 0, negative=True), fact("preference", "pets", 1)
    card = correct(Card(), set_=[unwanted])
    assert update(card, [wanted]).pinned == (unwanted,)
    assert values(update(card, [wanted])) == ["pets"]
    assert update(card, [wanted._replace(changes=True)]).facts == (wanted._replace(changes=True),)


def test_a_corrected_value_that_is_said_again_stands_once() -> None:
    """As a correction."""
    assert values(of(("user", "5 Elm Road"), card=correct(Card(), set_=[RIGHT]))) == ["5 Elm Road"]


def test_a_correction_stands_once_and_not_beside_its_opposite() -> None:
    """Whatever the card said before."""
    assert values(correct(Card((RIGHT,)), set_=[RIGHT, RIGHT])) == ["5 Elm Road"]
    unwanted = fact("preference", "pets", negative=True)
    assert correct(Card((fact("preference", "pets"),)), set_=[unwanted]) == Card(pinned=(unwanted,))


def test_what_a_person_removes_twice_is_remembered_once() -> None:
    """A card stays small."""
    assert correct(Card(), remove=[RIGHT, RIGHT]).removed == (RIGHT,)


def test_what_a_person_removes_does_not_come_back() -> None:
    """Neither said again nor as a change; its denial is another statement."""
    card = correct(Card(facts=(fact("preference", "pets"),)), remove=[fact("preference", "Pets")])
    assert values(card) == []
    assert values(update(card, [fact("preference", "pets", 4, changes=True)])) == []
    assert values(update(card, [fact("preference", "pets", 4, negative=True)])) == ["pets"]


def test_what_a_person_removes_a_person_can_set() -> None:
    """The last correction holds, either way."""
    card = correct(correct(Card(), remove=[RIGHT]), set_=[RIGHT])
    assert (card.pinned, card.removed) == ((RIGHT,), ())
    card = correct(card, remove=[RIGHT])
    assert (card.pinned, card.removed) == ((), (RIGHT,))


def test_a_person_replaces_one_value_by_another() -> None:
    """Of a kind with several values the wrong one is removed and the right one set."""
    card = Card(facts=(fact("date", "d1"), fact("date", "d2", 1)))
    assert values(correct(card, remove=[fact("date", "d1")], set_=[fact("date", "d3", 1)])) == ["d3", "d2"]


def test_a_card_can_be_stored() -> None:
    """As JSON, and comes back the same."""
    card = correct(Card((fact("name", "王芳", 1), fact("date", "d", 2, negative=True))), set_=[RIGHT], remove=[WRONG])
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card


# What is written.


def test_a_card_is_a_heading_and_a_line_for_each_fact() -> None:
    """In English; the heading says that it is generated."""
    card = user("Order SO-10023 goes to 12 Oak Street.", "I don't want any pet recommendations.")
    text, left_out = write(card, lang="en", limit=UNLIMITED, count=len)
    assert (
        text
        == HEADING_EN + "- order number: SO-10023\n- address: 12 Oak Street\n- preference: no pet recommendations\n"
    )
    assert left_out == ()


def test_a_chinese_card() -> None:
    """The names of kinds are Chinese too."""
    card = user("订单号QM2026010001", "我对羊毛过敏，不需要宠物推荐。")
    text, _ = write(card, lang="zh", limit=UNLIMITED, count=len)
    assert text == HEADING_ZH + "- 订单号：QM2026010001\n- 硬性要求：对羊毛过敏\n- 偏好：不要宠物推荐\n"


@pytest.mark.parametrize(("lang", "value"), [("zh", "宠物推荐"), ("zh", "放物业前台"), ("en", "pet recommendations")])
@pytest.mark.parametrize("kind", ["preference", "constraint", "date"])
def test_a_denied_value_is_read_as_a_denial(lang: str, value: str, kind: str) -> None:
    """By the matcher that scores the card as by a model."""
    text, _ = write(Card((fact(kind, value, negative=True),)), lang=lang, limit=UNLIMITED, count=len)
    matcher = FactMatcher([Fact("f", kind, value, (), 0, None, None, (), True, None)])
    assert matcher.stances_in(text) == ({0}, set())


def test_a_further_fact_only_adds_a_line() -> None:
    """So that a provider's cache keeps the card up to there."""
    card = user("I prefer a window seat.", "It is for 2026-03-05.")
    before, after = (
        write(one, lang="en", limit=UNLIMITED, count=len)[0]
        for one in (card, of(("user", "I am allergic to nuts."), card=card))
    )
    assert after == before + "- constraint: allergic to nuts\n"


def test_the_oldest_least_important_fact_is_left_out_first() -> None:
    """Amounts before an address, of two amounts the older, and what was corrected last of all; the order stays."""
    amounts = fact("amount", "$1", 0), fact("amount", "$2", 2), fact("amount", "$3", 3)
    card = Card((amounts[0], fact("address", "a", 1), amounts[1]), pinned=(amounts[2],))
    full = len(HEADING_EN) + 3 * len("- amount: $1\n") + len("- address: a\n")
    assert lines(card, limit=full) == ["- amount: $3", "- amount: $1", "- address: a", "- amount: $2"]
    assert lines(card, limit=full - 1) == ["- amount: $3", "- address: a", "- amount: $2"]
    assert write(card, lang="en", limit=full - 1, count=len)[1] == (amounts[0],)
    assert lines(card, limit=full - 14) == ["- amount: $3", "- address: a"]
    assert lines(card, limit=full - 30) == ["- amount: $3"]


def test_a_fact_that_was_mentioned_again_is_not_the_oldest() -> None:
    """Of two alike the one goes that was not mentioned for longer."""
    card = update(Card(), [fact("amount", "$1", 0), fact("amount", "$2", 1), fact("amount", "$1", 2)])
    assert lines(card, limit=len(HEADING_EN) + len("- amount: $1\n")) == ["- amount: $1"]


def test_of_alike_what_only_the_assistant_named_is_left_out_first() -> None:
    """Even if it came later."""
    card = Card((fact("date", "d1", 0), fact("date", "d2", 1, by_user=False)))
    assert lines(card, limit=len(HEADING_EN) + len("- date: d1\n")) == ["- date: d1"]


def test_a_line_that_does_not_fit_leaves_room_for_others() -> None:
    """A long constraint does not empty the card."""
    card = Card((fact("constraint", "x" * 50), fact("amount", "$1", 1)))
    assert lines(card, limit=len(HEADING_EN) + 20) == ["- amount: $1"]


@pytest.mark.parametrize("limit", [0, 10, len(HEADING_EN), len(HEADING_EN) + 5])
def test_without_room_for_a_fact_there_is_no_heading(limit: int) -> None:
    """An empty card says nothing, and all facts are left out."""
    card = Card((fact("amount", "$1"),))
    assert write(card, lang="en", limit=limit, count=len) == ("", card.facts)
    assert write(Card(), lang="en", limit=UNLIMITED, count=len) == ("", ())


def test_no_value_begins_a_line_of_its_own() -> None:
    """A line break in what a log or a person says cannot look like another fact or a heading; nor do braces matter."""
    card = Card((fact("product", "a\n## Rules {value}\u2028\x85- name: b", negative=True), fact("odd\nkind", "{kind}")))
    assert lines(card) == ["- title: no a ## Rules {value} - name: b", "- odd kind: {kind}"]


def test_every_kind_of_the_rules_has_its_names() -> None:
    """In both languages, and an importance."""
    assert {rule["kind"] for rule in RULES} == set(DATA["kinds"])
    assert all(kind.keys() == {"zh", "en", "importance"} for kind in DATA["kinds"].values())
    assert {*DATA["one_at_a_time"], *DATA["from_assistant"]} <= set(DATA["kinds"])


def test_what_must_hold_is_more_important_than_figures() -> None:
    """Constraints, then preferences, identity and address, then numbers, then dates, then amounts."""
    order = [["constraint"], ["preference", "name", "membership", "address"], ["order_number"], ["date"], ["amount"]]
    steps = [{DATA["kinds"][kind]["importance"] for kind in kinds} for kinds in order]
    assert all(len(step) == 1 for step in steps)
    assert [step.pop() for step in steps] == [5, 4, 3, 2, 1]


# What always holds.


def as_facts(statements: Sequence[tuple[str, str, tuple[bool, bool, bool, bool]]]) -> list[CardFact]:
    """Facts of messages in order; the last flag says whether the next message begins."""
    position, facts = 0, []
    for kind, value, (negative, changes, by_user, is_next) in statements:
        position += is_next
        facts.append(fact(kind, value, position, negative=negative, changes=changes, by_user=by_user))
    return facts


KINDS = ["name", "date", "amount", "preference", "constraint", "unknown"]
FLAGS = st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans())
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from("ABab甲乙") | st.text(max_size=12), FLAGS), max_size=25
).map(as_facts)


@given(STATEMENTS, st.sets(st.integers(1, 24)))
def test_how_messages_are_batched_does_not_matter(facts: list[CardFact], cuts: set[int]) -> None:
    """Message by message, in batches or all at once."""
    card = Card()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 25], strict=True):
        card = update(card, [one for one in facts if start <= one.position < end])
    assert card == update(Card(), facts)


@given(STATEMENTS)
def test_each_value_stands_once_and_is_not_also_denied(facts: list[CardFact]) -> None:
    """Whatever was said."""
    folded = [fold(value) for value in values(update(Card(), facts))]
    assert len(folded) == len(set(folded))


@settings(deadline=None)  # the first example waits for the vocabulary
@given(
    STATEMENTS, st.lists(st.sampled_from("ABab甲乙"), max_size=3), st.integers(0, 120), st.sampled_from(["zh", "en"])
)
def test_a_card_keeps_its_limit(facts: list[CardFact], pinned: list[str], limit: int, lang: str) -> None:
    """In real tokens of the whole text; what is left out and what is written make up the card."""
    card = correct(update(Card(), facts), set_=[fact("amount", value) for value in pinned])
    text, left_out = write(card, lang=lang, limit=limit, count=tokens)
    assert tokens(text) <= limit
    assert len(left_out) + max(0, text.count("\n") - 1) == len(values(card))
