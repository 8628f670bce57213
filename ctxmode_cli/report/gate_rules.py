"""A gate's rules: `MODE.PATH OP NUMBER` and `PATH OP NUMBER`, read and checked on the document of a comparison.

A path is one of format 1's, within a mode. An object with a `value` means its value, a dict of counts its sum.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

from ctxmode_cli.context.config import ContextMode
from ctxmode_cli.context.steps.budget import REASONS
from ctxmode_cli.context.validity import CHECKS
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.breakdown import AXES
from ctxmode_cli.replay.statistics import MEASURES
from ctxmode_cli.replay.verdict import Check
from ctxmode_cli.score.harm import HARMS
from ctxmode_cli.score.scores import WENT

OPERATORS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "unsendable": REASONS,
    "invalid": CHECKS,
    "stepped_down": tuple(ContextMode),
    "recall.lost": WENT,
}
"""Dicts of counts, and what they can count: a count that is not there is 0."""
_FIGURES = ("recall.in_context", "recall.modelled", "recall.answered", *(f"intervals.{name}" for name in MEASURES))
_FIELDS = {
    "tokens": ("mean", "p50", "p95", "total"),
    "cached_tokens": ("mean", "total", "share"),
    "latency_s": ("mean", "p50", "p95", "p99"),
    "cost_usd": (
        "total",
        "total_uncached",
        "summary_calls",
        "card_calls",
        "per_request",
        "per_session",
        "per_session_uncached",
        "per_day",
        "relative",
        "relative_uncached",
    ),
    "recall": ("normalised",),
    "recall.answered": ("probes", "unanswered"),
    "harm": HARMS,
    **dict.fromkeys(
        ("summary_calls", "card_calls"), ("count", "failed", "prompt_tokens", "completion_tokens", "unseen_tokens")
    ),
    **dict.fromkeys(_FIGURES, ()),
    **COUNTS,
}
PATHS = (
    "requests",
    "trimmed",
    *COUNTS,
    *chain.from_iterable((name, f"{name}.value", f"{name}.low", f"{name}.high") for name in _FIGURES),
    *(f"{name}.{field}" for name, fields in _FIELDS.items() for field in fields),
)
"""Every path of a mode's figures, those of `recall.by` apart, whose values come from the data."""
USUAL = (
    *MEASURES,
    "tokens.p95",
    "cost_usd.relative",
    "latency_s.p95",
    "invalid",
    "unsendable",
    *(f"harm.{name}" for name in HARMS),
)
"""The paths that one asks for most."""
_BY = re.compile(rf"recall\.by\.(?:{'|'.join(AXES)})\..+\.(?:probes|in_context|modelled)", re.DOTALL)
_RULE = re.compile(r"\s*(?P<subject>.+?)\s*(?P<operator>>=|<=|==|!=|>|<)\s*(?P<number>[^<>=!]*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_MODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_LEADING = 4
"""Leading digits of a figure that are shown at least."""
_MOST_MORE = 14
"""Decimals that are added to them: a binary fraction has no more to tell."""


class Known(NamedTuple):
    """The paths that can stand in a place."""

    paths: tuple[str, ...]
    usual: tuple[str, ...]
    """Those that a hint lists."""
    pattern: re.Pattern[str] | None = None
    """Of those that depend on the data."""

    def has(self, path: str) -> bool:
        """Whether a path is one of them."""
        return path in self.paths or (self.pattern is not None and self.pattern.fullmatch(path) is not None)


FIGURES = Known(PATHS, USUAL, _BY)
"""Every figure of a mode."""


class Rule(NamedTuple):
    """One rule."""

    mode: str | None
    """None: every mode."""
    path: str
    operator: str
    number: str
    """As written."""

    @property
    def text(self) -> str:
        """The rule without its mode."""
        return f"{self.path} {self.operator} {self.number}"

    @property
    def limit(self) -> Fraction:
        """Exactly what is written."""
        return Fraction(self.number)

    def holds(self, value: float | Fraction) -> bool:
        """Whether a figure keeps to the rule."""
        return OPERATORS[self.operator](exact(value), self.limit)


def parse_rule(text: str) -> Rule:
    """The rule that a text states.

    Raises:
        CtxmodeError: It is no rule, or names a path that format 1 does not have.
    """
    found = _RULE.fullmatch(text)
    if found is None:
        hint = "MODE.PATH OP NUMBER, such as summary.recall.in_context >= 0.85; without a mode it holds for every one"
        raise CtxmodeError(f'"{text}" is no gate rule', hint=hint)
    subject, sign, number = found["subject"], found["operator"], found["number"]
    if not _NUMBER.fullmatch(number) or not isfinite(float(number)):
        raise CtxmodeError(f'the gate rule "{text}" ends with no number', hint="shares are written as 0.85")
    return Rule(*parse_subject(subject, FIGURES, where=f'the gate rule "{text}"'), sign, number)


def parse_subject(subject: str, known: Known, *, where: str) -> tuple[str | None, str]:
    """Mode and path of `MODE.PATH` or `PATH`; what is a path as a whole is one, whatever modes are called.

    Args:
        subject: What to read.
        known: The paths that can stand there.
        where: What the subject is a part of, for errors.

    Raises:
        CtxmodeError: It ends with no known path.
    """
    if known.has(subject):
        return None, subject
    mode, _, path = subject.partition(".")
    if _MODE.fullmatch(mode) and known.has(path):
        return mode, path
    close = [f"{mode}.{near}" for near in get_close_matches(path, known.paths, n=1, cutoff=0.7)]
    close += get_close_matches(subject, known.paths, n=1)
    hint = f"did you mean {close[0]}?" if close else f"figures are {', '.join(known.usual)}"
    raise CtxmodeError(f'{where} names "{subject}", which is no figure of the results', hint=hint)


def check_rule(rule: Rule, document: Mapping[str, Any]) -> Iterator[Check]:
    """What comes of a rule in each mode that it is about.

    Args:
        rule: The rule.
        document: A comparison in format 1.
    """
    modes = document["modes"]
    names = sorted(modes) if rule.mode is None else [rule.mode]
    if not names:
        yield _unknown(rule, "", "no mode was replayed")
    for name in names:
        if name not in modes:
            close = get_close_matches(name, modes, n=1)
            near = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(modes)) or 'none'}"
            yield _unknown(rule, name, f"no such mode was replayed{near}")
        elif is_empty(document, name):
            yield _unknown(rule, name, EMPTY)
        else:
            value = figure(modes[name], rule.path)
            yield _unknown(rule, name, WHY_NULL) if value is None else _judged(rule, name, value)


WHY_NULL = "the results have no such figure, or it is null; their notes say why"
EMPTY = "nothing was replayed"


def is_empty(document: Mapping[str, Any], mode: str) -> bool:
    """Whether a mode has no request at all: what was not replayed has no fault."""
    return not (document["data"].get("conversations") and document["modes"][mode].get("requests"))


def figure(part: Mapping[str, Any], path: str) -> float | None:
    """A figure of a mode's part of format 1; None where it is missing, null or no finite number."""
    found = _at(part, path)
    if found is None and (counts := path.rpartition(".")[0]) in COUNTS and isinstance(_at(part, counts), Mapping):
        return 0
    if isinstance(found, Mapping) and path in COUNTS:
        numbers = [_number(count) for count in found.values()]
        return sum(number for number in numbers if number is not None) if None not in numbers else None
    return _number(found.get("value") if isinstance(found, Mapping) else found)


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return value if is_number else None


def _at(part: Any, path: str) -> Any:
    """What stands at a path; its keys may have points themselves."""
    if not isinstance(part, Mapping):
        return None
    if path in part:
        return part[path]
    heads = (path[: point.start()] for point in re.finditer(r"\.", path))
    found = (_at(part[head], path[len(head) + 1 :]) for head in heads if head in part)
    return next((value for value in found if value is not None), None)


def exact(value: float | Fraction) -> Fraction:
    """A figure exactly as JSON writes it, so that 0.86 is 0.01 more than 0.85."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def plain(value: Fraction) -> float:
    """An exact number as JSON has it: whole where it is."""
    return value.numerator if value.denominator == 1 else float(value)


def digits(value: float | Fraction, is_right: Callable[[Fraction], bool]) -> str:
    """A figure in short, with as many digits as it takes for the verdict to be right for what is shown, too."""
    if value == int(value):
        return str(int(value))
    leading = Decimal(float(value)).adjusted()
    fewest = max(0, _LEADING - 1 - leading)
    for decimals in range(fewest, fewest + _MOST_MORE):
        text = f"{float(value):.{decimals}f}"
        if is_right(Fraction(text)):
            return text.rstrip("0").rstrip(".") if decimals else text
    return repr(float(value))


def _judged(rule: Rule, mode: str, value: float) -> Check:
    holds = rule.holds(value)
    shown = digits(value, lambda figure: rule.holds(figure) == holds)
    return Check("rule", rule.text, mode, holds, value, plain(rule.limit), shown)


def _unknown(rule: Rule, mode: str, why: str) -> Check:
    return Check("rule", rule.text, mode, None, None, plain(rule.limit), why)
