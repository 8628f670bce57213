"""What got worse since a snapshot: by more than a tolerance, and by more than chance would explain."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.statistics import Interval
from ctxmode_cli.replay.verdict import Check
from ctxmode_cli.report.gate_rules import EMPTY, digits, exact, figure, is_empty, plain
from ctxmode_cli.report.snapshots import Snapshot, difference


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
_LARGEST = 10**9
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%")


def parse_tolerance(value: Any) -> Tolerance:
    """A tolerance as a configuration file has it: a number in the figure's own unit, or a share such as "5%".

    Raises:
        CtxmodeError: It is neither.
    """
    if isinstance(value, str) and (share := _SHARE.fullmatch(value.strip())):
        return Tolerance(Fraction(share[1]) / 100, relative=True)
    is_number = type(value) in {int, float, Decimal} and isfinite(value)
    if not is_number or not 0 <= value <= _LARGEST:
        raise CtxmodeError('a tolerance is a number from 0 to a billion, or a share such as "5%"')
    return Tolerance(exact(float(value)))


@dataclass(frozen=True, slots=True)
class Tolerances:
    """How much worse each figure may be, in every mode or in one."""

    own: Mapping[tuple[str | None, str], Tolerance]
    """By mode and path; without a mode, for every one that has none of its own."""

    def of(self, mode: str, path: str) -> Tolerance | None:
        """The tolerance that is set; None where none is."""
        return self.own.get((mode, path)) or self.own.get((None, path))


def check_regressions(
    now: Snapshot, before: Snapshot, mode: str, tolerances: Tolerances, *, significant: bool
) -> Iterator[Check]:
    """Whether a mode's figures are worse than a snapshot's; those that the snapshot does not have are left out.

    Args:
        now: The run.
        before: The snapshot.
        mode: A mode that both have.
        tolerances: How much worse each figure may be.
        significant: Whether what is worse has to be significant, too, where a figure has an interval.
    """
    if is_empty(now.document, mode):
        yield Check("regression", "no worse than before", mode, None, None, 0, EMPTY)
        return
    for path, watched in WATCHED.items():
        old, new = figure(before.mode(mode), path), figure(now.mode(mode), path)
        tolerance = tolerances.of(mode, path) or watched.tolerance
        if old is None:
            continue
        limit = tolerance.of(old)
        rule = f"{path} no worse than before by more than {tolerance}"
        if new is None:
            why = f"it was {digits(old, lambda _: True)}, and now it is not known"
            yield Check("regression", rule, mode, None, None, plain(limit), why)
            continue
        worse = (exact(old) - exact(new)) if watched.higher_is_better else (exact(new) - exact(old))
        passed: bool | None = worse <= limit
        why = ""
        if not passed and significant and watched.has_interval:
            passed, why = _may_be_chance(difference(now, before, mode, path))
        yield Check(
            "regression", rule, mode, passed, plain(worse), plain(limit), _compared(new, old, worse, limit) + why
        )


def _may_be_chance(found: Interval | None) -> tuple[bool | None, str]:
    """Whether a difference that is over its tolerance may be chance, None where that is not known; and what tells."""
    if found is None:
        return None, "; whether that is chance is not known, since no interval is"
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
