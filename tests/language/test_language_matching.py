"""Whether a value is in a text: a table checked by hand, and the matcher against a slow, obvious one."""

import json
import re
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.conversation.conversation import Fact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.language.boundaries import part_of
from ctxmode_cli.language.explain import explain
from ctxmode_cli.language.fold import BOUNDARY, MARKS, fold, fold_together, plain
from ctxmode_cli.language.matching import FactMatcher, message_text
from ctxmode_cli.tokens.counter import TokenCounter


def fact(value: str, *aliases: str) -> Fact:
    return Fact("f", "kind", value, aliases, 0, None, None, (), negative=False, question=None)


PAIRS = [json.loads(line) for line in Path(__file__).with_name("pairs.jsonl").read_text(encoding="utf-8").splitlines()]
"""A text, a fact, whether the text carries the fact, and the rule that says so: each checked by hand."""


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['value']} in {pair['text']}")
def test_pair(pair: dict[str, Any]) -> None:
    """A text carries a fact, or does not, as people who read both say; the explanation says the same."""
    one = Fact(
        "f", pair["kind"], pair["value"], tuple(pair["aliases"]), 0, None, None, (),
        negative=pair["polarity"] == "negative", question=None,
    )  # fmt: skip
    assert (0 in FactMatcher([one]).facts_in(pair["text"])) is pair["carried"], pair["why"]
    assert explain(one, pair["text"]).found is pair["carried"], pair["why"]


def test_pairs_are_many_and_many_are_traps() -> None:
    """The table holds at least 200 different pairs, Chinese and English, and a third of them are not carried."""
    assert len({tuple(map(str, pair.values())) for pair in PAIRS}) == len(PAIRS) >= 200
    assert sum(not pair["carried"] for pair in PAIRS) >= len(PAIRS) / 3
    assert 80 < sum(pair["text"].isascii() for pair in PAIRS) < len(PAIRS) - 80


def test_contradiction_is_the_other_polarity() -> None:
    """A text contradicts a fact where it denies the value, or has the value that the fact denies."""
    facts = [fact("川菜"), fact("宠物推荐")._replace(negative=True), fact("颐和园")]
    matcher = FactMatcher(facts)
    assert matcher.stances_in("用户不要川菜，关注宠物推荐，去颐和园").contradicted == {0, 1}
    assert matcher.stances_in("用户要川菜，不要宠物推荐").contradicted == set()
    assert matcher.stances_in("用户关注宠物相关推荐").contradicted == {1}
    both = "不要川菜。要川菜"
    assert matcher.facts_in(both) == matcher.stances_in(both).contradicted == {0}


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
TEXT = st.one_of(st.text(st.sampled_from("ab5.,$ 北日\u200b\\n-\0、u")), st.text(st.characters(codec=None)))
FORMS = st.text(CHARS, min_size=1, max_size=4)


def slow_facts_in(facts: list[Fact], text: str) -> set[int]:
    folded = fold_together([text])
    found = set()
    for index, one in enumerate(facts):
        for form in filter(None, (plain(fold(form)) for form in one.forms)):
            for variant in {form, re.sub(" (?=[北日])|(?<=[北日]) ", "", form)}:
                for start in range(1, len(folded) - len(variant)):
                    end = start + len(variant)
                    if plain(folded)[start:end] == variant and part_of(plain(folded), start, end) is None:
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


def test_no_character_ends_a_text() -> None:
    """A NUL, as such or as JSON writes it, is white space in a value, an alias and a text, alone or among others."""
    written = ["a\0b", "a\\u0000b", "\0a \0\0 b", "a b"]
    for value in written:
        matcher = FactMatcher([fact("c"), fact(value), fact("d", value)])
        assert matcher.facts_in_each([*written, "c\0"]) == [{1, 2}] * len(written) + [{0}]
        assert all(explain(fact(value), text).found for text in written)
    mention = explain(fact("a b"), "to \0a\0b.").mentions[0]
    assert (mention.start, mention.end, mention.written) == (4, 7, "a\0b")


HOSTILE = [
    "1" * 50_000, "0." + "0" * 50_000 + "1", "一" * 50_000, "千" * 50_000, "5" + "万" * 50_000, "hundred " * 20_000, "one " * 20_000, "-" * 50_000,
    " -" * 30_000, "1,000" * 20_000, "不要" + "收到" * 30_000, "不要" + "或" * 50_000, "不" * 50_000, "not or " * 20_000, "not " * 20_000, "1." * 30_000,
    "1-1/" * 20_000, "march " * 20_000, "\\u5317" * 20_000, "half past " * 20_000, "宠物" * 5_000, "我们就" * 20_000, "'" * 50_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:10])
def test_repetition_takes_no_time(text: str) -> None:
    """Whatever a log repeats fifty thousand characters long, it is read in a moment, and nothing overflows."""
    kinds = ("amount", "date", "time", "kind")
    facts = [fact("宠物")._replace(kind=kind, negative=kind == "kind") for kind in kinds]
    started = process_time()
    FactMatcher(facts).facts_in_each([text, f"不要{text}宠物", f"not {text} 宠物"])
    assert process_time() - started < 3


@given(st.lists(TEXT, max_size=4))
def test_texts_are_read_together_as_each_by_itself(texts: list[str]) -> None:
    """Folding many texts in one pass gives what folding one after the other gives, marks at their ends aside."""
    parts = fold_together(texts)[1:-1].split(BOUNDARY)
    assert [part.strip(MARKS) for part in parts] == [fold(text).strip(MARKS) for text in texts or [""]]


@pytest.mark.parametrize(
    ("text", "start", "end", "longer"),
    [
        ("50", 0, 2, None),
        ("a 50 b", 2, 4, None),
        ("150", 1, 3, "a longer number"),
        (".50", 1, 3, None),
        ("1.50", 2, 4, "a longer number"),
        ("-50", 1, 3, "a longer number"),
        ("1-50", 2, 4, None),
        ("a50", 1, 3, "a longer word"),
    ],
)
def test_boundary_rule(text: str, start: int, end: int, longer: str | None) -> None:
    """A point continues a number only between two digits, and a hyphen only as its sign."""
    assert part_of(f"\0{text}\0", start + 1, end + 1) == longer
