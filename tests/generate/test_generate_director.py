"""The director: what users come to, and how often."""

from collections import Counter
from datetime import UTC, datetime
from random import Random

import pytest

from ctxmode_cli.generate.director import Director
from ctxmode_cli.generate.grammar import LANGUAGES, load_grammar
from ctxmode_cli.generate.script import Script


def directed(lang: str, seed: int) -> Director:
    """The director of a session that has been written."""
    rng = Random(seed)  # noqa: S311
    grammar = load_grammar(lang)
    director = Director(grammar, Script(grammar, rng, datetime(2026, 3, 1, 9, tzinfo=UTC)), rng)
    director.write()
    return director


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_intent_comes_up(lang: str) -> None:
    """No intent of the grammars is out of reach, and a task comes once a session."""
    begun: Counter[str] = Counter()
    for seed in range(100):
        intents = directed(lang, seed)._begun
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
