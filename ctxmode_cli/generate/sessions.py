"""Labelled customer-service sessions: each a native record that depends on the seed and its number alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from ctxmode_cli.generate.director import Director
from ctxmode_cli.generate.grammar import LANGUAGES, Grammar, load_grammar
from ctxmode_cli.generate.script import Script, StatedFact
from ctxmode_cli.generate.weighted import weighted_range

FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)


def generate_sessions(
    count: int, seed: int, langs: Sequence[str] = LANGUAGES, plan: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield `count` native records; languages take turns.

    Session i is the same whatever the count, on every platform.

    Args:
        count: Number of sessions.
        seed: Another seed gives other sessions.
        langs: Of "zh" and "en".
        plan: The shape of the sessions, as in `plan.toml`; None for that one.

    Raises:
        CtxmodeError: There are no grammars in one of the languages.
    """
    grammars = [load_grammar(lang) for lang in langs]
    if plan is not None:
        grammars = [replace(grammar, plan=plan) for grammar in grammars]
    for index in range(count):
        yield _session(grammars[index % len(grammars)], seed, index)


def _session(grammar: Grammar, seed: int, index: int) -> dict[str, Any]:
    rng = Random(f"{seed}:{index}:{grammar.lang}")  # noqa: S311 - sessions are to be the same again, not secret
    hour = weighted_range(rng, grammar.plan["hours"])
    start = FIRST_DAY + timedelta(days=rng.randrange(360), hours=hour, seconds=rng.randrange(3600))
    script = Script(grammar, rng, start)
    script.add("system", _system_prompt(grammar, script, rng), wait=(0, 0))
    director = Director(grammar, script, rng)
    director.write()
    return {
        "id": f"cs-{grammar.lang}-{seed}-{index:05}",
        "lang": grammar.lang,
        "source": "generated",
        "tags": director.scenarios,
        "tools": list(grammar.tools),
        "messages": script.messages,
        "facts": [_fact_record(fact, grammar, script) for fact in script.facts],
    }


def _system_prompt(grammar: Grammar, script: Script, rng: Random) -> str:
    """A persona and a numbered choice of the policy rules."""
    persona = script.expand(rng.choice(grammar.personas))
    rules = rng.sample(grammar.rules, rng.randint(*grammar.plan["rules"]))
    return "\n".join([persona, *(f"{number}. {script.expand(rule)}" for number, rule in enumerate(rules, 1))])


def _fact_record(fact: StatedFact, grammar: Grammar, script: Script) -> Mapping[str, Any]:
    """The fact as it stands in a record; optional fields only where they say something."""
    spec = grammar.slots[fact.slot]
    record: dict[str, Any] = {
        "id": fact.id,
        "kind": spec.kind,
        "value": fact.value,
        "aliases": fact.aliases,
        "stated_at": fact.stated_at,
    }
    if fact.superseded_at is not None:
        record["superseded_at"] = fact.superseded_at
    if fact.supersedes is not None:
        record["supersedes"] = fact.supersedes
    if fact.probe_at:
        record |= {"probe_at": fact.probe_at, "question": script.expand(spec.question)}
    if spec.negative:
        record["polarity"] = "negative"
    return record
