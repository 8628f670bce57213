"""The expansion language of the grammars."""

from collections import Counter
from collections.abc import Collection
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.generate.template import Literal, Needs, Node, Slot, expand, in_turn, one_of, parse

SLOTS = ("city", "day")


class Values:
    """Values of a session: slots are stated as their own names in capitals."""

    def __init__(self, known: Collection[str] = ()) -> None:
        self.known = set(known)

    def say(self, slot: Slot) -> str:
        if slot.name not in self.known:
            self.known.add(slot.name)
        return f"{slot.name.upper()}{slot.sign}" + ("" if slot.form == "value" else f".{slot.form}")


def texts(template: str | Node, known: Collection[str] = (), draws: int = 400) -> set[str]:
    """All texts that a number of expansions give."""
    node = parse(template, {}, SLOTS) if isinstance(template, str) else template
    return {expand(node, Random(seed), Values(known)) for seed in range(draws)}  # noqa: S311


@given(st.text(alphabet=st.characters(exclude_characters="{}()[]|"), min_size=1))
def test_text_stands_for_itself(text: str) -> None:
    """Text without marks expands to itself, whatever characters it has."""
    assert texts(text, draws=1) == {text}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("(a|b|c)", {"a", "b", "c"}),
        ("a[b]c", {"abc", "ac"}),
        ("[a|b]", {"", "a", "b"}),
        ("(a|)x", {"ax", "x"}),
        ("(a(1|2)|b)", {"a1", "a2", "b"}),
        ("", {""}),
        ("{#8-11}", {"8", "9", "10", "11"}),
        ("{#08-11}", {"08", "09", "10", "11"}),
    ],
)
def test_alternatives_options_and_numbers(template: str, expected: set[str]) -> None:
    """Every text that a template stands for comes up, and no other."""
    assert texts(template) == expected


def test_the_first_of_many_alternatives_are_favoured() -> None:
    """Of three or more the lowest of three draws is said: 19, 7 and 1 of 27 times; of two each as often as the other."""
    rng = Random(1)  # noqa: S311
    many = Counter(expand(parse("(a|b|c)", {}, ()), rng, Values()) for _ in range(2700))
    two = Counter(expand(parse("[a]", {}, ()), rng, Values()) for _ in range(2000))
    assert 1800 < many["a"] < 2000
    assert 600 < many["b"] < 800
    assert 900 < two["a"] < 1100


def test_texts_of_a_list_come_equally_often() -> None:
    """Templates that stand next to each other are no alternatives of one line."""
    rng = Random(1)  # noqa: S311
    drawn = Counter(expand(one_of([Literal(text) for text in "abc"]), rng, Values()) for _ in range(3000))
    assert all(900 < drawn[text] < 1100 for text in "abc")


def test_phrases_are_built_in() -> None:
    """A name of the grammar stands for its phrase."""
    hello = parse("(hi|hello)", {}, ())
    assert texts(parse("{hello} you", {"hello": hello}, ())) == {"hi you", "hello you"}


def test_slots_carry_sign_and_form() -> None:
    """A slot says whether it is stated, changed or used, and in which form."""
    assert texts("{+city} {city.short} {~city} {=day}") == {"CITY+ CITY.short CITY~ DAY="}


def test_optional_parts_wait_for_what_they_need() -> None:
    """A part that needs an unknown slot is left out, and comes in once the slot is known."""
    assert texts("to town[ of {city}]") == {"to town"}
    assert texts("to town[ of {city}]", known=["city"]) == {"to town", "to town of CITY"}


def test_what_is_known_is_not_stated_again() -> None:
    """A part that states a slot is left out where the slot is known."""
    assert texts("go[ to {+city}]", known=["city"]) == {"go"}


def test_stating_serves_what_follows() -> None:
    """A slot stated earlier in a text is known in the rest of it."""
    node = parse("{+city}, yes, {city}", {}, SLOTS)
    assert node.needs == Needs(fresh=frozenset({"city"}), states=frozenset({"city"}), may_state=frozenset({"city"}))
    assert parse("{city}, {+city}", {}, SLOTS).needs.required == {"city"}


def test_needs_of_alternatives() -> None:
    """A choice requires what all of its options require, and surely states only what all of them state."""
    needs = parse("({city} {=day}|{city})", {}, SLOTS).needs
    assert needs == Needs(required=frozenset({"city"}), may_state=frozenset({"day"}))


def test_changing_requires_a_value_and_makes_a_fact() -> None:
    """A change needs a slot that is known, and is a possible new fact."""
    assert parse("{~city}", {}, SLOTS).needs == Needs(required=frozenset({"city"}), may_state=frozenset({"city"}))


def test_needs_in_turn() -> None:
    """What one text states, a later one need not find."""
    told, used = parse("{=city}", {}, SLOTS).needs, parse("{city} {day}", {}, SLOTS).needs
    assert in_turn([told, used]).required == {"day"}
    assert in_turn([told, used]).met_by({"day"})
    assert not in_turn([used, told]).met_by({"day"})


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("(a|b", '"(" without its end'),
        ("[a)", '"[" without its end'),
        ("a|b", '"|" without its beginning'),
        ("a]", '"]" without its beginning'),
        ("{nobody}", "the unknown name {nobody}"),
        ("{~hello}", "the unknown name {~hello}"),
        ("{City}", "no name and no range"),
        ("{city", "a stray '{'"),
        ("({city}|{day})", "every alternative asks for something of its own"),
        ("({+city}|{+day})", "every alternative asks for something of its own"),
    ],
)
def test_faults_are_told_with_their_template(template: str, fault: str) -> None:
    """A template that is not in the language is refused, with what is wrong and where."""
    with pytest.raises(ValueError, match="template") as caught:
        parse(template, {"hello": parse("hi", {}, ())}, SLOTS)
    assert fault in str(caught.value)
    assert repr(template) in str(caught.value)


def test_one_option_is_no_choice() -> None:
    """A single template is itself."""
    node = parse("{city}", {}, SLOTS)
    assert one_of([node]) is node
