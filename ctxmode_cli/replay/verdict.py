"""What a gate says of a comparison: which of its checks passed, failed, or could not be made."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxmode_cli.errors import ExitCode


class Check(NamedTuple):
    """One thing that was looked at, in one mode."""

    kind: str
    """`rule`, `regression` (a figure against a snapshot's) or `conversations` (those that lost facts since)."""
    rule: str
    """What has to hold, without the mode."""
    mode: str
    """Empty where there is no mode at all."""
    passed: bool | None
    """None where it could not be evaluated."""
    value: float | None
    """Of the figure; of a regression, how much worse it is than the snapshot's."""
    limit: float
    """What the value is compared with."""
    shown: str
    """What was found, with as many digits as it takes to see that the verdict is right; else why nothing was."""

    @property
    def is_unmoved(self) -> bool:
        """Whether it says only that a figure is what it was."""
        return self.kind == "regression" and self.value == 0

    @property
    def may_be_chance(self) -> bool:
        """Whether it passed although a figure is worse than its tolerance, since that may be chance."""
        return self.kind == "regression" and self.passed is True and self.value is not None and self.value > self.limit


class LostFacts(NamedTuple):
    """A conversation that lost facts since a snapshot."""

    mode: str
    conversation: str
    """Its id."""
    facts: tuple[str, ...]
    """Ids of those that fewer of their probes have in context."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks of a gate."""

    checks: Sequence[Check]
    lost: Sequence[LostFacts] = ()
    """Against a snapshot's run folder: the conversations that lost facts, most facts first, mode by mode."""
    notes: Sequence[str] = ()
    """What the checks assume."""

    @property
    def passed(self) -> bool:
        """Whether every check passed; one that could not be made is no pass."""
        return all(check.passed for check in self.checks)

    @property
    def code(self) -> ExitCode:
        """1 where a check failed, else 3 where one could not be made, else 0."""
        if any(check.passed is False for check in self.checks):
            return ExitCode.FAILED
        return ExitCode.OK if self.passed else ExitCode.NOT_EVALUATED

    def of_mode(self, mode: str) -> Iterable[Check]:
        """The checks of one mode."""
        return (check for check in self.checks if check.mode == mode)
