"""Which facts a text states: rules for names, numbers, dates, money and wishes, Chinese and English, kept as data.

Regular expressions are all that is needed here. A library such as phonenumbers knows which numbers can exist, but it
wants to know the country of each, and takes no invented ones, of which test logs are full.
"""

import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ctxmode_cli.conversation.message import Message, content_text
from ctxmode_cli.data import data_file

_EDGES = " \t\r\n,.;:!?'\"，。；：！？、"
"""Stripped from both ends of a value."""
_REACH = 100
"""How many characters around a value are read for words of change."""
_DEPTH = 5
"""Parts within parts."""
_SCRIPTS = {"any": re.compile(""), "zh": re.compile(r"[\u3007-\u9fff]"), "en": re.compile("[A-Za-z]")}
_DIGIT = re.compile(r"\d")


class Extracted(NamedTuple):
    """One fact that a text states; `value` is `text[start:end]`."""

    kind: str
    value: str
    start: int
    end: int
    rule: str
    """The rule that found it."""
    negative: bool
    """Whether the value is what was denied ("no pet recommendations")."""


class Stated(NamedTuple):
    """A fact that a message states."""

    found: Extracted
    changes: bool
    """Whether the user says there that it takes the place of another value."""


class _Rule(NamedTuple):
    name: str
    kind: str
    negative: bool
    digits: bool
    """Whether every value has a digit."""
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    """By the script that a text must have: "zh", "en", or "any"."""


class _Rules(NamedTuple):
    rules: tuple[_Rule, ...]
    several: frozenset[str]
    by_user: frozenset[str]
    before: tuple[re.Pattern[str], ...]
    after: tuple[re.Pattern[str], ...]
    given_up: tuple[re.Pattern[str], ...]


def extract(text: str) -> list[Extracted]:
    """The facts that `text` states, in the order of the text, none overlapping.

    The rules are those of `datasets/language/extraction.toml`; where two claim the same characters, the one that
    stands first in the file has them.
    """
    taken = bytearray(len(text))
    scripts = [script for script, sign in _SCRIPTS.items() if sign.search(text)]
    digits = _DIGIT.search(text) is not None
    found = []
    for rule in _rules().rules:
        if rule.digits and not digits:
            continue
        for pattern in itertools.chain.from_iterable(rule.patterns.get(script, ()) for script in scripts):
            for start, end in _spans(pattern, text):
                if start < end and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    found.append(Extracted(rule.kind, text[start:end], start, end, rule.name, rule.negative))
    return sorted(found, key=lambda one: one.start)


def stated_in(message: Message) -> list[Stated]:
    """The facts that a message states, in the order of its text; those about the user only where the user says them."""
    by_user = message.role == "user"
    text = content_text(message.content)
    return [
        Stated(found, changes=by_user and states_change(text, found.start, found.end))
        for found in extract(text)
        if by_user or not only_user_states(found.kind)
    ]


def states_change(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` takes the place of an earlier value ("change it to Friday", 改成周五).

    Only its own sentence is looked at; the value that is given up there ("from Monday") is no new one.
    """
    rules = _rules()
    before, after = text[max(0, start - _REACH) : start], text[end : end + _REACH]
    if _any(rules.given_up, before):
        return False
    return _any(rules.before, before) or _any(rules.after, after)


def holds_several(kind: str) -> bool:
    """Whether a conversation can hold several facts of this kind, so that a new one does not replace the one before."""
    return kind in _rules().several


def only_user_states(kind: str) -> bool:
    """Whether facts of this kind are about the user alone, and so are facts only where the user says them."""
    return kind in _rules().by_user


def _spans(pattern: re.Pattern[str], text: str) -> Iterable[tuple[int, int]]:
    group = "value" if "value" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        start, end = match.span(group)
        value = match[group]
        yield start + len(value) - len(value.lstrip(_EDGES)), end - len(value) + len(value.rstrip(_EDGES))


def _any(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


@cache
def _rules() -> _Rules:
    data = tomllib.loads(data_file("language/extraction.toml").read_text(encoding="utf-8"))
    parts = data["parts"]
    change = {name: _compiled(patterns, parts) for name, patterns in data["change"].items()}
    return _Rules(
        rules=tuple(_rule(rule, parts) for rule in data["rules"]),
        several=frozenset(data["several"]),
        by_user=frozenset(data["by_user"]),
        **change,
    )


def _rule(rule: Mapping[str, Any], parts: Mapping[str, str]) -> _Rule:
    patterns = {script: _compiled(rule[script], parts) for script in _SCRIPTS if script in rule}
    return _Rule(rule["name"], rule["kind"], rule.get("negative", False), rule.get("digits", False), patterns)


def _compiled(patterns: Iterable[str], parts: Mapping[str, str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(_with_parts(pattern, parts)) for pattern in patterns)


def _with_parts(pattern: str, parts: Mapping[str, str]) -> str:
    for _ in range(_DEPTH):
        pattern = re.sub(r"\{([A-Z_]+)\}", lambda name: parts[name[1]], pattern)
    return pattern
