"""The script of a session: what follows for the labels from what is said where."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

import pytest

from ctxmode_cli.generate.grammar import Call, Grammar, Repeat, SlotSpec, Tool, Turn
from ctxmode_cli.generate.script import Script
from ctxmode_cli.generate.template import NOTHING, Literal, Node, parse


def slot(*forms: str, kind: str = "city", **others: str) -> SlotSpec:
    """A slot with one value, or a choice of them, and other forms that are aliases."""
    written = {"value": parse(f"({'|'.join(forms)})", {}, ())}
    written |= {name: parse(text, {}, ()) for name, text in others.items()}
    return SlotSpec(kind, False, None, {}, written, frozenset(written), Literal("Which?"))


SLOTS = {
    "city": slot("Rome", "Oslo"),
    "amount": slot("$12.50", number="12.50"),
    "mood": slot("calm", "glad", "tired", kind=""),
}
TOOL = Tool("look_up", {}, {"paid": parse("{=amount.number}", {}, SLOTS), "legs": Repeat(Literal("leg"), 2, 2)})


def template(text: str) -> Node:
    return parse(text, {}, SLOTS)


def turn(user: str, reply: str, *arguments: str) -> Turn:
    """A turn whose agent calls the tool once for each of the arguments, one after the other."""
    groups = tuple((Call(TOOL, {"about": template(each)}),) for each in arguments)
    return Turn(template(user), groups, template(reply), NOTHING, frozenset())


def script(turns: Sequence[Turn]) -> Script:
    """The script of a session of these turns, without a system prompt."""
    grammar = Grammar("en", SLOTS, (), Literal(""), Literal(""), (), (), (), (), {})
    written = Script(grammar, Random(3), datetime(2026, 3, 1, 9, tzinfo=UTC))  # noqa: S311
    for each in turns:
        written.write_turn(each)
    return written


def test_a_statement_is_a_fact() -> None:
    """A stated slot is a fact of that message, with its other forms as aliases."""
    (fact,) = script([turn("I paid {+amount}.", "Thanks.")]).facts
    assert (fact.value, fact.aliases, fact.stated_at, fact.probe_at) == ("$12.50", ["12.50"], 0, [])


def test_the_form_that_was_said_is_the_value() -> None:
    """A fact that a tool states has the tool's form as its value, and the usual one as its alias."""
    (fact,) = script([turn("How much?", "It was {amount}.", "money")]).facts
    assert (fact.value, fact.aliases, fact.stated_at) == ("12.50", ["$12.50"], 2)


def test_a_silent_turn_that_is_answered_with_the_fact_is_a_probe() -> None:
    """A reply that uses what the user does not say needs the fact."""
    (fact,) = script([turn("Off to {+city}.", "Nice."), turn("Where to?", "To {city}.")]).facts
    assert fact.probe_at == [2]


def test_arguments_of_the_first_call_need_the_fact() -> None:
    """Of several requests in a turn only the first one counts."""
    city, amount = script(
        [
            turn("Off to {+city}, I paid {+amount}.", "Nice."),
            turn("Look it up.", "{amount} for {city}.", "{city}", "{amount}"),
        ]
    ).facts
    assert (city.probe_at, amount.probe_at) == ([2], [])


def test_what_the_user_says_again_is_not_needed() -> None:
    """A user message that says the value, or an alias, is no probe of it."""
    facts = script(
        [turn("Off to {+city}, {+amount}.", "Nice."), turn("{city}, {amount.number}!", "{city}, {amount}!")]
    ).facts
    assert [fact.probe_at for fact in facts] == [[], []]


def test_what_the_agent_states_itself_is_not_needed() -> None:
    """A reply that states a fact is no probe of it."""
    (fact,) = script([turn("Where to?", "I suggest {=city}.")]).facts
    assert (fact.stated_at, fact.probe_at) == (1, [])


def test_what_was_stated_is_repeated() -> None:
    """A slot that is stated where it is unknown keeps its value afterwards, and makes no second fact."""
    written = script([turn("Where to?", "I suggest {=city}."), turn("Sorry?", "{=city}.")])
    assert len(written.facts) == 1
    assert written.facts[0].value in written.messages[3]["content"]


def test_a_change_supersedes() -> None:
    """A change is a new fact, linked to the old one, and later probes are of the new one alone."""
    old, new = script(
        [turn("Off to {+city}.", "Ok."), turn("No, to {~city}.", "Ok."), turn("Where?", "To {city}.")]
    ).facts
    assert (old.superseded_at, old.probe_at) == (2, [])
    assert (new.supersedes, new.stated_at, new.probe_at) == (old.id, 2, [4])
    assert old.value != new.value


def test_a_value_that_was_said_is_not_drawn() -> None:
    """A fact takes a value that no earlier message has, in whatever case."""
    for said, left in (("ROME", "Oslo"), ("oslo", "Rome")):
        (fact,) = script([turn(f"{said} is far.", "Yes."), turn("Off to {+city}.", "Ok.")]).facts
        assert fact.value == left


def test_no_value_left_is_an_error_that_names_the_slot() -> None:
    """A grammar that has said all values of a slot is at fault."""
    with pytest.raises(ValueError, match='"city"'):
        script([turn("Rome or Oslo.", "Yes."), turn("Off to {+city}.", "Ok.")])


def test_background_is_no_fact() -> None:
    """A slot without a kind keeps its value through the session and has no label."""
    written = script([turn("I am {=mood}.", "Good."), turn("Still {=mood}.", "Still {mood}.")])
    moods = [message["content"].rstrip(".").split()[-1] for message in written.messages]
    assert written.facts == []
    assert moods[0] == moods[2] == moods[3]


def test_results_are_json() -> None:
    """A lone number of a result stays a number, and a repeated item makes a list."""
    written = script([turn("How much?", "Here.", "money")])
    assert json.loads(written.messages[2]["content"]) == {"paid": 12.5, "legs": ["leg", "leg"]}
