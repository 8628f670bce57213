"""Cache rules: what they do, the built-in ones against the price table, and the errors of one's own."""

import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.data import providers
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.cache_rules import CacheRule, find_cache_rule, own_cache_rules, rule_names
from ctxmode_cli.simulate.prices import find_price
from ctxmode_cli.tokens.models import model_names

BLOCKS = CacheRule("blocks", 1024, unit=128)
RULES = [find_cache_rule(name, "") for name in rule_names()]
# Models of the price table that are charged by the token and have a price for what is read from the cache.
CACHED = [
    model.id
    for provider in providers
    if provider.id in {"openai", "anthropic", "google"}
    for model in provider.models
    if (price := find_price(model.id)) and price.tiers[0].cached is not None and "image" not in model.id
]


def read(text: str) -> Mapping[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


@pytest.mark.parametrize(
    ("common", "hit"), [(0, 0), (1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (10_000, 9_984)]
)
def test_hits_are_whole_blocks_from_the_minimum_on(common: int, hit: int) -> None:
    """A hit is rounded down to the block; below the minimum there is none."""
    assert BLOCKS.hit(common) == hit


def test_minimum_counts_after_rounding() -> None:
    """A hit that is rounded to less than the minimum counts as none."""
    assert CacheRule("odd", 1_000, unit=128).hit(1_023) == 0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@given(common=st.integers(0, 10**7))
def test_hit_never_exceeds_what_is_common(rule: CacheRule, common: int) -> None:
    """No rule reads more than the common beginning, nor less of a longer one."""
    assert 0 <= rule.hit(common) <= common
    assert rule.hit(common) <= rule.hit(common + 1)


def test_prompt_is_written_from_the_minimum_on() -> None:
    """A prompt of at least the minimum is written; without a cache none is read or written."""
    none = find_cache_rule("none", "gpt-4o")
    assert [BLOCKS.writes(prompt) for prompt in (1_023, 1_024)] == [False, True]
    assert (none.minimum, none.writes(10**9), none.hit(10**9)) == (None, False, 0)


@pytest.mark.parametrize(
    ("model", "name", "minimum", "unit", "match"),
    [
        ("gpt-4o", "openai-gpt-4o", 1_024, 128, "prefix"),
        ("gpt-4o-mini-2024-07-18", "openai-gpt-4o", 1_024, 128, "prefix"),
        ("ft:gpt-4o-mini-2024-07-18:org::id", "openai-gpt-4o", 1_024, 128, "prefix"),
        ("o3-mini", "openai-gpt-4o", 1_024, 128, "prefix"),
        ("gpt-4.1-nano", "openai-gpt-4.1", 1_024, 128, "prefix"),
        ("o3", "openai-gpt-4.1", 1_024, 128, "prefix"),
        ("gpt-5", "openai-gpt-5", 1_024, 128, "prefix"),
        ("gpt-5.5", "openai-gpt-5", 1_024, 128, "prefix"),
        ("gpt-5.6", "openai-gpt-5.6", 1_024, 1, "breakpoint"),
        ("gpt-5.6-luna", "openai-gpt-5.6", 1_024, 1, "breakpoint"),
        ("gpt-6.1-sol", "openai-gpt-6.1", 1_024, 1, "breakpoint"),
        ("claude-opus-5", "anthropic-512", 512, 1, "breakpoint"),
        ("claude-sonnet-5-5", "anthropic-5.5", 512, 1, "breakpoint"),
        ("claude-sonnet-5", "anthropic-1024", 1_024, 1, "breakpoint"),
        ("claude-opus-4-8", "anthropic-1024", 1_024, 1, "breakpoint"),
        ("claude-opus-4-7", "anthropic-2048", 2_048, 1, "breakpoint"),
        ("claude-opus-4-6", "anthropic-4096", 4_096, 1, "breakpoint"),
        ("claude-haiku-4-5-20251001", "anthropic-4096", 4_096, 1, "breakpoint"),
        ("gemini-2.5-pro", "gemini-2.5", 2_048, 1, "prefix"),
        ("gemini-3.1-pro-preview", "gemini-3", 4_096, 1, "prefix"),
        ("deepseek-chat", "deepseek", 64, 64, "breakpoint"),
        ("grok-4.6", "xai", 128, 128, "prefix"),
        ("gpt-4", "none", None, 1, "prefix"),
        ("gpt-4-turbo", "none", None, 1, "prefix"),
        ("gpt-3.5-turbo-0125", "none", None, 1, "prefix"),
        ("gpt-5-pro", "none", None, 1, "prefix"),
        ("gpt-5.4-pro-2026-03-05", "none", None, 1, "prefix"),
        ("gpt-4o-2024-05-13", "none", None, 1, "prefix"),
        ("my-model", "none", None, 1, "prefix"),
    ],
)
def test_rule_of_a_model(model: str, name: str, minimum: int | None, unit: int, match: str) -> None:
    """`auto` takes the rule that is documented for the model, and none where there is none."""
    rule = find_cache_rule("auto", model)
    assert (rule.name, rule.minimum, rule.unit, rule.match) == (name, minimum, unit, match)


def test_prices_of_writing_and_lifetimes() -> None:
    """An entry of an hour is written at twice the input price, one of five minutes at 1.25 times, OpenAI's as input."""
    found = [find_cache_rule(name, "claude-opus-5") for name in ("anthropic", "anthropic-1h", "openai-gpt-5")]
    assert [(rule.write, rule.lifetime_s) for rule in found] == [(Decimal("1.25"), 300), (2, 3600), (1, 300)]
    assert find_cache_rule("deepseek", "deepseek-chat").reply_cached


def test_provider_means_its_rule_for_the_model() -> None:
    """A provider's name is its rule for the model, its first one for a model that is not its own."""
    assert find_cache_rule("openai", "gpt-4.1").name == "openai-gpt-4.1"
    assert find_cache_rule("openai", "my-model").name == "openai-gpt-5.6"
    assert find_cache_rule("anthropic-1h", "claude-opus-4-5").name == "anthropic-1h-4096"
    assert find_cache_rule("anthropic", "gpt-4o").name == "anthropic-512"
    assert find_cache_rule("anthropic-2048", "gpt-4o").name == "anthropic-2048"
    assert find_cache_rule("none", "gpt-4o").name == "none"


@pytest.mark.parametrize("model", sorted({*CACHED, *model_names()}))
def test_factors_agree_with_the_price_table(model: str) -> None:
    """What a rule says that reading and writing cost is what the price table says of the rule's models."""
    rule, price = find_cache_rule("auto", model), find_price(model)
    assert price is not None
    for tier in price.tiers:
        if rule.read is not None:
            assert tier.cached == tier.input * rule.read
        if tier.write is not None and rule.name != "none":
            assert rule.write is not None
            assert tier.write == tier.input * rule.write


def test_price_table_was_compared() -> None:
    """The comparison above meets each rule that has a factor and is for the models of `auto`."""
    met = {find_cache_rule("auto", model).name for model in CACHED}
    factors = {rule.name for rule in RULES if rule.read is not None and "-1h" not in rule.name}
    assert factors - met == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_source(rule: CacheRule) -> None:
    """A built-in rule names its source and the day on which it was compared with it."""
    assert rule.source
    assert date.fromisoformat(rule.date) <= date(2026, 11, 30)


def test_disagreement_of_sources_reaches_the_reader() -> None:
    """Where sources disagree the rule's note says so."""
    assert "disagree" in find_cache_rule("gemini-2.5", "").note
    assert "disagree" in find_cache_rule("deepseek", "").note
    assert "disagree" in find_cache_rule("anthropic-1h-1024", "").note


def test_every_model_is_meant_by_one_rule_of_the_table() -> None:
    """No pattern of a later rule is hidden by one before it: each has a model in the price table or the model table."""
    models = {*model_names(), *(model.id for provider in providers for model in provider.models)}
    for name in ("openai", "gemini", "deepseek", "xai"):
        for rule in RULES:
            if rule.name.startswith(name):
                assert any(find_cache_rule("auto", model) == rule for model in models)


def test_unknown_rule_is_an_error() -> None:
    """A name that is no rule is an error, which names similar ones, one's own too."""
    with pytest.raises(CtxmodeError, match='the cache rule "antropic" is unknown') as caught:
        find_cache_rule("antropic", "gpt-4o")
    assert caught.value.hint.startswith("did you mean anthropic")
    with pytest.raises(CtxmodeError) as caught:
        find_cache_rule("my-hous", "gpt-4o", {"my-house": BLOCKS})
    assert caught.value.hint == "did you mean my-house?"
    with pytest.raises(CtxmodeError) as caught:
        find_cache_rule("?", "gpt-4o")
    assert caught.value.hint.startswith("there are auto, none, openai, openai-gpt-5.6, ")


def test_own_rule_stands_in_for_a_built_in_one() -> None:
    """A rule of one's own named like a built-in rule or provider is taken instead, by `auto` as well."""
    assert find_cache_rule("house", "gpt-4o", {"house": BLOCKS}) is BLOCKS
    for name in ("openai", "openai-gpt-4o"):
        assert find_cache_rule("auto", "gpt-4o", {name: BLOCKS}) is BLOCKS
        assert find_cache_rule("openai", "gpt-4o", {name: BLOCKS}) is BLOCKS
    assert find_cache_rule("auto", "gpt-5", {"openai-gpt-4o": BLOCKS}).name == "openai-gpt-5"
    assert find_cache_rule("anthropic", "gpt-4o", {"openai": BLOCKS}).name == "anthropic-512"


def test_own_rule_is_read() -> None:
    """Every field of a rule can be stated; what is not has its default."""
    text = """
[full]
minimum = 1024
unit = 128
read = 0.1
write = 1.25
lifetime_s = 300
match = "breakpoint"
reply_cached = true
source = "contract"
date = "2026-05-01"
note = "estimated"
[least]
minimum = 0
read = 0
"""
    rules = own_cache_rules(read(text), "ctxmode.toml")
    read_price, write_price = Decimal("0.1"), Decimal("1.25")
    assert rules == {
        "full": CacheRule(
            "full", 1024, 128, read_price, write_price, 300.0, "breakpoint",
            reply_cached=True, source="contract", date="2026-05-01", note="estimated",
        ),
        "least": CacheRule("least", 0, read=Decimal(0)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r = 3", "f: cache_rules.r: this is a table, not 3"),
        ("[r]\nread = 0.1", 'f: cache_rules.r: "minimum" is missing'),
        ("[r]\nminimum = 1", 'f: cache_rules.r: "read" is missing'),
        ("[r]\nminimum = 1\nread = 0\nwirte = 1", 'f: cache_rules.r: "wirte" is unknown'),
        ("[r]\nminimum = 1\nread = 0\nname = 'x'", 'f: cache_rules.r: "name" is unknown'),
        ("[r]\nminimum = -1\nread = 0", 'f: cache_rules.r: "minimum" is a whole number of at least 0, not -1'),
        ("[r]\nminimum = true\nread = 0", 'f: cache_rules.r: "minimum" is a whole number of at least 0, not true'),
        (
            "[r]\nminimum = 1.5\nread = 0",
            'f: cache_rules.r: "minimum" is a whole number of at least 0, not 1.5',
        ),
        ("[r]\nminimum = 1\nread = 0\nunit = 0", 'f: cache_rules.r: "unit" is a whole number of at least 1, not 0'),
        ("[r]\nminimum = 1\nread = -0.1", 'f: cache_rules.r: "read" is a number from 0 to 1,000, not -0.1'),
        ("[r]\nminimum = 1\nread = nan", 'f: cache_rules.r: "read" is a number from 0 to 1,000, not NaN'),
        (
            "[r]\nminimum = 1\nread = 0\nwrite = inf",
            'f: cache_rules.r: "write" is a number from 0 to 1,000, not Infinity',
        ),
        ("[r]\nminimum = 1\nread = 0\nwrite = false", 'f: cache_rules.r: "write" is a number, not false'),
        (
            "[r]\nminimum = 1\nread = 0\nlifetime_s = -1",
            'f: cache_rules.r: "lifetime_s" is a number from 0 to 1,000,000,000, not -1',
        ),
        (
            "[r]\nminimum = 1\nread = 0\nmatch = 'block'",
            'f: cache_rules.r: "match" is prefix or breakpoint, not "block"',
        ),
        ("[r]\nminimum = 1\nread = 0\nmatch = 1", 'f: cache_rules.r: "match" is text in quotes, not 1'),
        ("[r]\nminimum = 1\nread = 0\nreply_cached = 1", 'f: cache_rules.r: "reply_cached" is true or false, not 1'),
        ("[r]\nminimum = 1\nread = 0\nnote = 1", 'f: cache_rules.r: "note" is text in quotes, not 1'),
        ("[r]\nminimum = 1\nread = 0\ndate = ''", 'f: cache_rules.r: "date" is a day such as "2026-11-30", not ""'),
        ("[none]\nminimum = 1\nread = 0", 'f: cache_rules.none: "none" has a meaning of its own'),
        ("[auto]\nminimum = 1\nread = 0", 'f: cache_rules.auto: "auto" has a meaning of its own'),
    ],
)
def test_what_is_no_rule_is_an_error(text: str, message: str) -> None:
    """An error names file, table and key, and says what is expected there."""
    with pytest.raises(CtxmodeError) as caught:
        own_cache_rules(read(text), "f")
    assert str(caught.value) == message


def test_names_are_listed_once() -> None:
    """Each provider is listed with its rules behind it; a provider of one rule is listed once."""
    names = rule_names()
    assert len(names) == len(set(names))
    assert names[:3] == ("none", "openai", "openai-gpt-5.6")
    assert {"openai", "anthropic", "anthropic-1h", "gemini", "deepseek", "xai", "none"} <= set(names)
