"""What got worse since a snapshot: by more than a tolerance, and by more than chance would explain.

A snapshot stores each figure's 95 % interval and not what it was drawn from, so the interval of a difference is made of
those of the two figures (`difference_of`), as if the two runs were independent. Runs on the same data are not: they go
up and down together, and the interval is wider than it need be. So a regression that is called significant is one, and
a small one may be missed; on the same data the tolerance alone is exact.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import hypot
from typing import Any, NamedTuple

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.statistics import Interval
from ctxmode_cli.replay.verdict import Check
from ctxmode_cli.report.gate_rules import digits, exact, figure, plain
from ctxmode_cli.report.words import listed


class Tolerance(NamedTuple):
    """How much worse a figure may be."""

    amount: Fraction
    relative: bool = False
    """A share of the snapshot's figure; else in the figure's own unit."""

    def of(self, before: float) -> Fraction:
        """In the figure's own unit."""
        return self.amount * abs(exact(before)) if self.relative else self.amount

    def __str__(self) -> str:
        return f"{float(self.amount * 100):g}%" if self.relative else f"{float(self.amount):g}"


class Watched(NamedTuple):
    """A figure that may get worse."""

    tolerance: Tolerance
    """Where no other is set."""
    higher_is_better: bool = False
    has_interval: bool = True
    """Counts have none: on the same data they are exact."""


_EXACT = Watched(Tolerance(Fraction(0)), has_interval=False)
WATCHED: Mapping[str, Watched] = {
    "recall.in_context": Watched(Tolerance(Fraction("0.01")), higher_is_better=True),
    "recall.modelled": Watched(Tolerance(Fraction("0.01")), higher_is_better=True),
    "recall.answered": Watched(Tolerance(Fraction("0.02")), higher_is_better=True),
    "tokens.mean": Watched(Tolerance(Fraction("0.02"), relative=True)),
    "cost_usd.per_session": Watched(Tolerance(Fraction("0.02"), relative=True)),
    "cost_usd.per_session_uncached": Watched(Tolerance(Fraction("0.02"), relative=True)),
    "latency_s.mean": Watched(Tolerance(Fraction("0.05"), relative=True)),
    "unsendable": _EXACT,
    "invalid": _EXACT,
    "harm.stale": _EXACT,
    "harm.contradicted": _EXACT,
}
"""By path."""
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%")


def parse_tolerance(value: Any) -> Tolerance:
    """A tolerance as a configuration file has it: a number in the figure's own unit, or a share such as "5%".

    Raises:
        CtxmodeError: It is neither.
    """
    if isinstance(value, str) and (share := _SHARE.fullmatch(value.strip())):
        return Tolerance(Fraction(share[1]) / 100, relative=True)
    if isinstance(value, str | bool) or not 0 <= value < float("inf"):
        raise CtxmodeError('a tolerance is a number from 0 on, or a share such as "5%"')
    return Tolerance(Fraction(value))


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How much worse each figure may be, in every mode or in one."""

    own: Mapping[tuple[str | None, str], Tolerance]
    """By mode and path; without a mode, for every one that has none of its own."""

    def of(self, mode: str, path: str) -> Tolerance | None:
        """The tolerance that holds; None where none is set, and there is no default."""
        default = WATCHED[path].tolerance if path in WATCHED else None
        return self.own.get((mode, path)) or self.own.get((None, path)) or default


def difference_of(now: Interval, before: Interval) -> Interval:
    """The difference between two figures with its 95 % interval, out of theirs, which may lean to one side.

    It is the method of variance estimates recovery, for independent estimates (Zou and Donner 2008, Construction of
    confidence limits about effect measures, Statistics in Medicine 27:1693-1702).
    """
    value = float(exact(now.value) - exact(before.value))
    return Interval(
        value,
        value - hypot(now.value - now.low, before.high - before.value),
        value + hypot(now.high - now.value, before.value - before.low),
    )


def interval_of(part: Mapping[str, Any], path: str) -> Interval | None:
    """A figure of a mode with its interval; None without one."""
    low, high = (figure(part, f"intervals.{path}.{end}") for end in ("low", "high"))
    value = figure(part, path)
    return None if value is None or low is None or high is None else Interval(value, low, high)


def check_regressions(
    now: Mapping[str, Any], before: Mapping[str, Any], mode: str, tolerances: Tolerances, *, significant: bool
) -> Iterator[Check]:
    """Whether a mode's figures are worse than a snapshot's; those that the snapshot does not have are left out.

    Args:
        now: The mode's part of format 1.
        before: The same of the snapshot.
        mode: Its name.
        tolerances: How much worse each figure may be.
        significant: Whether what is worse has to be significant, too, where a figure has an interval.
    """
    for path, watched in WATCHED.items():
        old, new = figure(before, path), figure(now, path)
        tolerance = tolerances.of(mode, path)
        if old is None or tolerance is None:
            continue
        limit = tolerance.of(old)
        rule = f"{path} no worse than before by more than {tolerance}"
        if new is None:
            yield Check("regression", rule, mode, None, None, plain(limit), f"it was {old}, and now it is not known")
            continue
        worse = (exact(old) - exact(new)) if watched.higher_is_better else (exact(new) - exact(old))
        passed: bool | None = worse <= limit
        why = ""
        if not passed and significant and watched.has_interval:
            passed, why = _insignificant(now, before, path)
        shown = _compared(new, old, worse, limit)
        yield Check("regression", rule, mode, passed, plain(worse), plain(limit), shown + why)


def _insignificant(now: Mapping[str, Any], before: Mapping[str, Any], path: str) -> tuple[bool | None, str]:
    """Whether a difference that is over its tolerance may be chance, None where that is not known; and what tells."""
    new, old = interval_of(now, path), interval_of(before, path)
    if new is None or old is None:
        return None, "; whether that is chance is not known, since no interval is"
    found = difference_of(new, old)
    takes_in = found.low <= 0 <= found.high
    words = "takes in 0, so that may be chance" if takes_in else "does not take in 0"
    return takes_in, f"; the 95 % interval of the difference, {found.low:.4g} to {found.high:.4g}, {words}"


def _compared(new: float, old: float, worse: Fraction, limit: Fraction) -> str:
    if new == old:
        return f"{digits(new, lambda _: True)} as before"
    word = "worse" if worse > 0 else "better"
    amount = digits(abs(worse), lambda shown: (shown > limit) == (abs(worse) > limit))
    now, before = digits(new, lambda shown: shown != exact(old)), digits(old, lambda shown: shown != exact(new))
    return f"{now} against {before}, {word} by {amount}"


def differing_data(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """In what two runs do not have the same data: inputs (whatever they are called), selection, seed."""
    one, other = _data_of(now), _data_of(before)
    return [name for name in one if one[name] != other[name]]


def _data_of(document: Mapping[str, Any]) -> dict[str, Any]:
    sources = document["data"].get("sources") or ()
    selection = document.get("selection") or {}
    return {
        "the digests of the inputs": sorted(str(source.get("sha256")) for source in sources),
        "the records skipped": document["data"].get("skipped"),
        "the seed": document.get("seed"),
        **{f"--{name}": selection.get(name) for name in ("limit", "sample", "probes")},
    }


def require_same_data(now: Mapping[str, Any], before: Mapping[str, Any], *, where: str, allow_different: bool) -> None:
    """Refuse a comparison of runs on different data.

    Args:
        now: A comparison in format 1.
        before: The other one.
        where: The place of the other one.
        allow_different: The user wants it all the same.

    Raises:
        CtxmodeError: The data differs, and that is not wanted.
    """
    different = differing_data(now, before)
    if different and not allow_different:
        what = listed(different)
        hint = "--allow-different-data compares them all the same"
        raise CtxmodeError(f"the two runs have different data: not the same are {what}", where=where, hint=hint)
