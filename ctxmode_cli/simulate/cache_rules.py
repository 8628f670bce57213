"""Providers' rules for their prompt caches: the built-in ones are data, with sources; others come from ctxmode.toml."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.own_table import OwnTable

AUTO = "auto"
"""The name that means the rule of the model."""
NONE = "none"
"""The name of the rule of a model without a prompt cache."""
MATCHES = ("prefix", "breakpoint")

_LARGEST_FACTOR = 1_000
_LARGEST_LIFETIME = 1_000_000_000
_KEYS = ("minimum", "unit", "read", "write", "lifetime_s", "match", "reply_cached", "source", "date", "note")


@dataclass(frozen=True, slots=True)
class CacheRule:
    """When a prompt's beginning is read from the provider's cache, and at what share of the input price."""

    name: str
    minimum: int | None
    """Tokens; a shorter hit counts as none, and a shorter prompt is not written. None: there is no cache."""
    unit: int = 1
    """Hits are rounded down to a multiple of so many tokens."""
    read: Decimal | None = None
    """Price of a token read, as a factor of the input price; None: what the price table says."""
    write: Decimal | None = None
    """Price of a token written, likewise."""
    lifetime_s: float | None = None
    """Seconds that an entry lives after its last use; None: no end."""
    match: str = "prefix"
    """`prefix`: any common beginning is read. `breakpoint`: only up to where an earlier request, its system messages or
    its cached reply ended."""
    reply_cached: bool = False
    """Whether the reply is in the cache for the next request."""
    source: str = ""
    date: str = ""
    """The day on which the rule was last compared with its source (ISO 8601)."""
    note: str = ""
    """What a reader of the figures must know, such as sources that disagree."""
    models: tuple[str, ...] = ()
    """Shell patterns of the models that `auto` takes the rule for."""

    def hit(self, common: int) -> int:
        """Tokens read, of a common beginning of `common` tokens."""
        if self.minimum is None:
            return 0
        read = common - common % self.unit
        return read if read >= self.minimum else 0

    def writes(self, prompt_tokens: int) -> bool:
        """Whether what a prompt of so many tokens does not read is written, at the write price."""
        return self.minimum is not None and prompt_tokens >= self.minimum

    def matches(self, model: str) -> bool:
        """Whether it is the rule of a model of that name."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)


def find_cache_rule(name: str, model: str, own: Mapping[str, CacheRule] | None = None) -> CacheRule:
    """The rule of that name.

    Args:
        name: A rule's own name ("openai-gpt-5"); a provider's ("openai"), which means its rule for the model; or
            `auto`, the rule that is documented for the model, `none` where there is none.
        model: As it is named in a request.
        own: What `own_cache_rules` read; such a rule stands in for a built-in rule or provider of its name.

    Raises:
        CtxmodeError: There is no such rule; the hint names similar ones.
    """
    own = own or {}
    if name == AUTO:
        provider, rule = _documented(model)
        return own.get(rule.name) or own.get(provider) or rule
    if name in own:
        return own[name]
    providers = _providers()
    if name in providers:
        rules = providers[name]
        rule = next((rule for rule in rules if rule.matches(model)), rules[0])
        return own.get(rule.name, rule)
    for rule in chain.from_iterable(providers.values()):
        if rule.name == name:
            return rule
    raise CtxmodeError(f'the cache rule "{name}" is unknown', hint=_suggestion(name, (AUTO, *own, *rule_names())))


def rule_names() -> tuple[str, ...]:
    """The built-in names: every provider's, each followed by those of its rules."""
    names = ((provider, *(rule.name for rule in rules)) for provider, rules in _providers().items())
    return tuple(dict.fromkeys(chain.from_iterable(names)))


def own_cache_rules(table: Mapping[str, Any], where: str) -> dict[str, CacheRule]:
    """Cache rules of one's own, by name.

    Args:
        table: `[cache_rules]`, parsed with `parse_float=Decimal`: by name a table of `CacheRule`'s fields, of which
            `minimum` and `read` are required.
        where: The file, for errors.

    Raises:
        CtxmodeError: Something of it is no rule; the place names file, table and rule.
    """
    whole = OwnTable(table, f"{where}: cache_rules")
    return {name: _own_rule(name, entry, f"{whole.where}.{name}") for name, entry in whole.values.items()}


def _own_rule(name: str, entry: Any, where: str) -> CacheRule:
    table = OwnTable(entry, where, _KEYS, required=("minimum", "read"))
    if name in {AUTO, NONE}:
        raise table.error(f'"{name}" has a meaning of its own', hint="give the rule another name")
    lifetime = table.number("lifetime_s", _LARGEST_LIFETIME)
    return CacheRule(
        name=name,
        minimum=table.whole("minimum", least=0),
        unit=table.whole("unit", least=1) or 1,
        read=table.number("read", _LARGEST_FACTOR),
        write=table.number("write", _LARGEST_FACTOR),
        lifetime_s=None if lifetime is None else float(lifetime),
        match=table.text("match", MATCHES) or "prefix",
        reply_cached=table.flag("reply_cached") or False,
        source=table.text("source") or "",
        date=table.day("date") or "",
        note=table.text("note") or "",
    )


def _suggestion(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"


def _documented(model: str) -> tuple[str, CacheRule]:
    """A model's provider and rule."""
    for provider, rules in _providers().items():
        for rule in rules:
            if rule.matches(model):
                return provider, rule
    return NONE, _providers()[NONE][0]


@cache
def _providers() -> Mapping[str, tuple[CacheRule, ...]]:
    """The built-in rules by provider, in the order in which `auto` tries them."""
    text = data_file("simulate/cache_rules.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text, parse_float=Decimal)
    return {provider: tuple(_rules(provider, table, tables)) for provider, table in tables.items()}


def _rules(provider: str, table: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[CacheRule]:
    """The rules of one provider's table: what it says, with what each family adds."""
    fields = {key: _field(key, value) for key, value in table.items() if key not in {"like", "families"}}
    if "like" in table:
        like = table["like"]
        for rule in _rules(like, tables[like], tables):
            yield replace(rule, name=provider + rule.name.removeprefix(like), **fields)
        return
    for family in table.get("families", [{}]):
        added = {key: _field(key, value) for key, value in family.items() if key != "name"}
        name = f"{provider}-{family['name']}" if family else provider
        yield CacheRule(name=name, **{"minimum": None} | fields | added)


def _field(key: str, value: Any) -> Any:
    """A value of the file as a field of a rule."""
    if key in {"read", "write"}:
        return Decimal(value)
    return tuple(value) if key == "models" else value
