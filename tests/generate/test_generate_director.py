"""The director: what users come to, and how often."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest

from ctxmode_cli.generate.director import Director
from ctxmode_cli.generate.grammar import LANGUAGES, Manner, Remark, load_grammar
from ctxmode_cli.generate.script import Script
from ctxmode_cli.generate.template import Literal


def directed(lang: str, seed: int, **plan: object) -> Director:
    """The director of a session that has been written, with some settings of the plan changed."""
    rng = Random(seed)  # noqa: S311
    grammar = load_grammar(lang)
    grammar = replace(grammar, plan={**grammar.plan, **plan})
    director = Director(grammar, Script(grammar, rng, datetime(2026, 3, 1, 9, tzinfo=UTC)), rng)
    director.write()
    return director


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_intent_comes_up(lang: str) -> None:
    """No intent of the grammars is out of reach, and a task comes once a session."""
    begun: Counter[str] = Counter()
    for seed in range(90):
        intents = directed(lang, seed, lengths=[[60, 120, 1]])._begun
        begun.update(intent.name for intent in intents)
        tasks = [intent.name for intent in intents if intent.role == "task"]
        assert len(tasks) == len(set(tasks))
        assert [intent.role for intent in intents].count("closing") == 1
        assert intents[-1].role == "closing"
    assert set(begun) == {intent.name for intent in load_grammar(lang).intents}


def test_scenarios_in_order() -> None:
    """Scenarios are named once each, in the order in which they came up."""
    director = directed("en", 3)
    scenarios = director.scenarios
    assert len(scenarios) == len(set(scenarios))
    assert scenarios[0] == director._begun[0].scenario
    assert {intent.scenario for intent in director._begun} == set(scenarios)


def test_changes_are_limited() -> None:
    """Users change their minds as often as the plan allows, and not at all where it does not."""
    for limit in (0, 1):
        directors = [directed("zh", seed, change=0.5, max_changes=limit) for seed in range(15)]
        changes = [sum(fact.supersedes is not None for fact in each._script.facts) for each in directors]
        assert max(changes) == limit


def test_no_new_facts_late() -> None:
    """After the share of turns that the plan names nobody begins to tell new facts."""
    for seed in range(15):
        telling = [intent for intent in directed("en", seed, facts_within=0.0)._begun if intent.needs.fresh]
        assert len(telling) == 1


def test_only_known_subjects_are_come_back_to() -> None:
    """A user comes back to a subject that was left for another one, not to a new one or the one they are at."""
    director = directed("en", 1, coming_back=1.0)
    tasks = [intent for intent in load_grammar("en").intents if intent.role == "task"]
    of = {intent.scenario: intent for intent in tasks}
    orders, returns, invoices = of["orders"], of["returns"], of["invoices"]
    for begun, expected in [
        ([orders, returns, orders], True),
        ([orders, returns, invoices], False),
        ([orders, returns, returns], False),
        ([orders, orders], False),
    ]:
        director._begun = begun
        assert director._comes_back(begun[-1]) is expected


@pytest.mark.parametrize(("length", "facts"), [(15, 5), (60, 8)])
def test_short_sessions_seek_fewer_facts(length: int, facts: int) -> None:
    """The number of facts that a session seeks follows from its length."""
    director = directed("zh", 1, lengths=[[length, length, 1]], facts=[8, 8])
    assert director._facts_wanted == facts
    assert director._script.turns == length


def remark(chance: float, text: str) -> Remark:
    return Remark(chance, Literal(text))


def said_by(manner: Manner, seed: int) -> list[str]:
    """The user messages of a session whose user has that manner."""
    grammar = replace(load_grammar("en"), manners=(manner,))
    rng = Random(seed)  # noqa: S311
    script = Script(grammar, rng, datetime(2026, 3, 1, 9, tzinfo=UTC))
    Director(grammar, script, rng).write()
    return [str(each["content"]) for each in script.messages if each["role"] == "user"]


def test_a_manner_adds_to_messages() -> None:
    """Its opener stands where nothing else opens a message, aside and closer at the end; a good-bye is left alone."""
    hello, *said, bye = said_by(Manner("m", 1, remark(1, "First. "), remark(1, " Aside."), remark(1, " Last.")), 1)
    assert all(text.endswith(" Aside. Last.") for text in [hello, *said])
    assert sum(text.startswith("First. ") for text in said) > len(said) / 2
    assert not hello.startswith("First. ")
    assert "Last" not in bye


def test_remarks_come_by_chance() -> None:
    """A remark of chance 0 is never made, one of 0.5 in about half of the messages."""
    manner = Manner("m", 1, remark(0, "First. "), remark(0, " Aside."), remark(0.5, " Last."))
    said = [text for seed in range(10) for text in said_by(manner, seed)]
    assert not any(text.startswith("First. ") or "Aside" in text for text in said)
    assert 0.4 < sum(text.endswith(" Last.") for text in said) / len(said) < 0.6


def test_common_intents_come_up_more_often() -> None:
    """An intent of weight 4 begins four times as often as one of weight 1 where both could."""
    director = directed("en", 1)
    rare, common = (replace(intent, weight=weight) for intent, weight in zip(director._begun[:2], (1, 4), strict=True))
    begun = Counter(director._begin([rare, common]).intent.weight for _ in range(2000))
    assert 3.4 < begun[4] / begun[1] < 4.6
