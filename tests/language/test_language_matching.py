"""Whether a value is in a text: a table checked by hand, and the matcher against a slow, obvious one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.fold import fold
from ctxmode_cli.language.matching import FactMatcher, is_whole, message_text
from ctxmode_cli.tokens.counter import TokenCounter


def fact(value: str, *aliases: str) -> Fact:
    return Fact("f", "kind", value, aliases, 0, None, None, (), negative=False, question=None)


# Text, value, whether the value is in it.
ENGLISH = [
    ("My name is Alice Chen.", "Alice Chen", True),
    ("alice chen here", "Alice Chen", True),
    ("ALICE CHEN", "alice chen", True),
    ("I am Alice  \n Chen", "Alice Chen", True),
    ("Alice Cheng", "Alice Chen", False),
    ("Malice Chen", "Alice Chen", False),
    ("Alice, Chen", "Alice Chen", False),
    ("a table for four", "four", True),
    ("a table for fourteen", "four", False),
    ("the cat sat", "cat", True),
    ("concatenate", "cat", False),
    ("cats", "cat", False),
    ("bobcat", "cat", False),
    ("(cat)", "cat", True),
    ("cat", "cat", True),
    ("cat.", "cat", True),
    ("the cat's bowl", "cat", True),
    ("cat/dog", "cat", True),
    ('{"pet": "cat"}', "cat", True),
    ("user_cat@example.com", "user_cat@example.com", True),
    ("user_cat@example.commerce", "user_cat@example.com", False),
    ("the order is #W2378156", "#W2378156", True),
    ("the order is #W23781569", "#W2378156", False),
    ("Café au lait", "CAFÉ", True),
    ("Cafe\u0301 au lait", "Café", True),
    ("cafés", "café", False),
    ("Straße 5", "STRASSE", True),
    ("Москва", "москва", True),
    ("Москвариум", "Москва", False),
    ("Bei\u200bjing", "Beijing", True),
    ("", "cat", False),
]
NUMBERS = [
    ("it costs $50", "$50", True),
    ("it costs $500", "$50", False),
    ("it costs $50.", "$50", True),
    ("it costs $50, I think", "$50", True),
    ("it costs $50.5", "$50", False),
    ("it costs $50,000", "$50", False),
    ("it costs $1,500", "500", False),
    ("it costs $1,500", "1,500", True),
    ("it costs $1,500", "$1,500", True),
    ("it costs 1,500,000", "1,500", False),
    ("it costs 21,500", "1,500", False),
    ("rooms 10, 500 and 7", "500", True),
    ("in 2012", "12", False),
    ("in 2012", "2012", True),
    ("in 12012", "2012", False),
    ("on 12/2012", "12", True),
    ("on 12/2012", "2012", True),
    ("at 12:30", "12:30", True),
    ("at 12:305", "12:30", False),
    ("rated 4.7", "4.7", True),
    ("rated 4.7!", "4.7", True),
    ("rated 4.7.", "4.7", True),
    ("rated 14.7", "4.7", False),
    ("rated 4.75", "4.7", False),
    ("version 4.7.2", "4.7", False),
    ("version 2.4.7", "4.7", False),
    ("rated 4.7", "7", False),
    ("rated 4.7", "4", False),
    ("room 4. 7 people", "7", True),
    ("room 7", "7", True),
    ("room 7b", "7", False),
    ("room A7", "7", False),
    ("50% off", "50%", True),
    ("150% off", "50%", False),
    ("call 555-0134", "555-0134", True),
    ("call 1555-0134", "555-0134", False),
    ("call +1 555-0134", "+1 555-0134", True),
]
CHINESE = [
    ("我想去故宫看看", "故宫", True),
    ("我想去北京故宫博物院", "故宫", True),
    ("我想去天坛", "故宫", False),
    ("我住在北京市海淀区中关村大街１号", "海淀区中关村大街1号", True),
    ("评分是４．７分", "4.7分", True),
    ("评分是14.7分", "4.7分", False),
    ("5日出发", "5日", True),
    ("15日出发", "5日", False),
    ("2月15日出发", "15日", True),
    ("12月5日出发", "2月5日", False),
    ("价格500元", "500元", True),
    ("价格1500元", "500元", False),
    ("价格1,500元", "500元", False),
    ("价格是５００元", "500元", True),
    ("票价500", "500", True),
    ("票价5000", "500", False),
    ("我用iPhone手机", "iphone", True),
    ("我用iPhone15手机", "iPhone", False),
    ("我用iPhone15手机", "iphone15", True),
    ("住在WeWork中心", "wework", True),
    ("住在WeWorks中心", "WeWork", False),
    ("订单号A123已发货", "A123", True),
    ("订单号A1234已发货", "A123", False),
    ("北京 大学", "北京 大学", True),
    ("北京\u3000\n大学", "北京 大学", True),
    ("北\u200b京\ufeff大学", "北京大学", True),
    (r'{"city": "\u5317\u4eac"}', "北京", True),
    (r'{"city": "\u5317\u4EAC"}', "北京", True),
    (r'{"price": "1500\u5143"}', "500元", False),
    ("（故宫）", "(故宫)", True),
    ("电话：010-12345678", "电话:010-12345678", True),
    ("😀故宫", "故宫", True),
    (r"\ud83d\ude00 故宫", "故宫", True),
    ("\ud83d 故宫", "故宫", True),
]
JSON_TEXT = [
    (r'{"to": "Hi\nAlice"}', "Alice", True),
    (r'{"to": "Hi\tAlice"}', "Alice", True),
    (r'{"to": "Hi\r\nAlice\nBye"}', "Alice", True),
    (r'{"to": "Hi\\nAlice"}', "Alice", True),
    (r'{"to": "Hi nAlice"}', "Alice", False),
    (r'{"n": "\n500"}', "500", True),
    (r'{"n": "\u0031500"}', "500", False),
    (r"c:\new\table", "table", True),
]
PAIRS = [*ENGLISH, *NUMBERS, *CHINESE, *JSON_TEXT]


@pytest.mark.parametrize(("text", "value", "found"), PAIRS)
def test_value_in_text(text: str, value: str, found: bool) -> None:
    """A value is found where it stands for itself, and not inside a longer number or word."""
    assert FactMatcher([fact(value)]).facts_in(text) == ({0} if found else set())


def test_alias_stands_for_its_fact() -> None:
    """A fact is found by its value or by any alias, and facts that share a form are all found by it."""
    matcher = FactMatcher([fact("March 7th", "2019-03-07", "7 March"), fact("7 March"), fact("8 March")])
    assert matcher.facts_in("on 2019-03-07") == {0}
    assert matcher.facts_in("on 7 March") == {0, 1}


def test_later_place_counts_where_the_first_is_no_whole_value() -> None:
    """A value that first occurs inside a longer number is still found where it stands alone."""
    assert FactMatcher([fact("$50")]).facts_in("not $500 but $50") == {0}


def test_overlapping_values_are_all_found() -> None:
    """A value that overlaps another or lies within it is found as well."""
    assert FactMatcher([fact("New York"), fact("York City"), fact("York")]).facts_in("New York City") == {0, 1, 2}


def test_facts_without_a_form_are_never_found() -> None:
    """A value of which folding leaves nothing matches nothing, and no facts at all are no error."""
    assert FactMatcher([fact("\u200b"), fact("a")]).facts_in("a \u200b b") == {1}
    assert FactMatcher([]).facts_in("a") == set()


def test_message_is_its_text_and_its_calls() -> None:
    """A fact in the name or the arguments of a tool call, or in a text part, is in the message."""
    call = {"id": "c", "type": "function", "function": {"name": "book", "arguments": json.dumps({"city": "北京"})}}
    message = parse_message({"role": "assistant", "content": None, "tool_calls": [call]})
    assert FactMatcher([fact("北京"), fact("book"), fact("c")]).facts_in(message_text(message)) == {0, 1}
    parts = [{"type": "text", "text": "to 北京"}, {"type": "image_url", "image_url": {"url": "data:a"}}]
    assert message_text(parse_message({"role": "user", "content": parts})) == "to 北京"


def test_message_is_the_text_that_is_counted() -> None:
    """A part that no rule counts is not read either, whatever text it carries: it is in context nowhere."""
    thought = {"type": "thinking", "text": "the code is 7731"}
    answers = [{"type": "output_text", "text": "ok"}, {"type": "refusal", "refusal": "no", "text": "yes"}]
    message = parse_message({"role": "assistant", "content": [thought, *answers]})
    assert message_text(message) == "ok\nno"
    counter = TokenCounter.for_model("gpt-4o")
    assert counter.message(message) == 3 + 1 + 1 + 1
    assert counter.uncounted_parts(message) == ("thinking",)


# The slow, obvious matcher: every form at every offset, by the boundary rule alone.

CHARS = st.sampled_from("ab5.,$ 北日\u200b\\n")
FORMS = st.text(CHARS, min_size=1, max_size=4)


def slow_facts_in(facts: list[Fact], text: str) -> set[int]:
    folded = fold(text)
    found = set()
    for index, one in enumerate(facts):
        for form in filter(None, map(fold, one.forms)):
            for start in range(len(folded) - len(form) + 1):
                end = start + len(form)
                if folded[start:end] == form and is_whole(folded, start, end):
                    found.add(index)
    return found


@given(st.lists(st.lists(FORMS, min_size=1, max_size=3), max_size=6), st.text(CHARS, max_size=40))
def test_matcher_equals_the_obvious_one(forms: list[list[str]], text: str) -> None:
    """One pass over an automaton finds the facts that looking for every form at every offset finds."""
    facts = [fact(*members) for members in forms]
    assert FactMatcher(facts).facts_in(text) == slow_facts_in(facts, text)


@given(st.lists(FORMS, min_size=1, max_size=4), st.lists(st.text(CHARS, max_size=12), max_size=6))
def test_locate_agrees_with_search_in_each_message(forms: list[str], texts: list[str]) -> None:
    """A fact's places are the messages in which it is found one by one, in order."""
    matcher = FactMatcher([fact(form) for form in forms])
    messages: list[Message] = [parse_message({"role": "user", "content": text}) for text in texts]
    places = matcher.locate(messages)
    for index in range(len(forms)):
        assert places.get(index, []) == [at for at, text in enumerate(texts) if index in matcher.facts_in(text)]


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_can_be_searched_for_any_value(text: str, value: str) -> None:
    """No text breaks the matcher, and a value alone in a text is found if folding leaves anything of it."""
    matcher = FactMatcher([fact(value)])
    matcher.facts_in(text)
    assert matcher.facts_in(value) == ({0} if fold(value) else set())


@pytest.mark.parametrize(
    ("text", "start", "end", "whole"),
    [("50", 0, 2, True), ("a 50 b", 2, 4, True), ("150", 1, 3, False), (".50", 1, 3, True), ("1.50", 2, 4, False)],
)
def test_boundary_rule(text: str, start: int, end: int, whole: bool) -> None:
    """A point or comma continues a number only between two digits."""
    assert is_whole(text, start, end) is whole
