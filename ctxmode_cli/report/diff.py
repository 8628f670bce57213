"""What changed between two runs: settings and assumptions, data, totals, and conversations by the harm done to them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ctxmode_cli.replay.by_conversation import ByConversation, ConversationScore
from ctxmode_cli.report.gate_rules import exact, figure, plain
from ctxmode_cli.report.regressions import WATCHED
from ctxmode_cli.report.snapshots import Snapshot, common_modes, difference, differing_data

_FIGURES = ("modes", "differences", "break_even", "notes", "gate", "answer")
"""Parts of format 1 that are no settings."""
TOTALS = (
    *WATCHED,
    "recall.normalised",
    "tokens.p50",
    "tokens.p95",
    "latency_s.p95",
    "cost_usd.relative",
    "cost_usd.relative_uncached",
    "cached_tokens.share",
    "trimmed",
    "summary_calls.count",
)
"""Paths of the figures that are compared."""


class Change(NamedTuple):
    """Something that two runs set differently."""

    path: str
    """In format 1."""
    before: Any
    after: Any


class TotalChange(NamedTuple):
    """A figure that differs."""

    mode: str
    figure: str
    """Its path."""
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    """Of the difference's 95 % interval (`snapshots.difference`); None where a figure has none."""
    high: float | None
    significant: bool | None
    """Whether that interval leaves out 0; None without one."""
    better: bool | None
    """None for a figure that is neither good nor bad by itself."""


class ConversationChange(NamedTuple):
    """A conversation that fared otherwise."""

    mode: str
    conversation: str
    """Its id."""
    lost: tuple[str, ...]
    """Ids of facts of which fewer probes have them in context."""
    gained: tuple[str, ...]
    """And of those of which more have."""
    harm: int
    """Stale values and contradicted facts more than before, or fewer."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from one run to another."""

    changes: list[Change]
    """Settings, assumptions and data."""
    different_data: list[str]
    """In what the data is not the same."""
    modes_before: list[str]
    """Those that only the first run has."""
    modes_after: list[str]
    """Those that only the second run has."""
    compared: int
    """Figures that both have."""
    totals: list[TotalChange]
    conversations: list[ConversationChange] | None
    """Those that lost most first; None unless both are run folders."""


def diff(before: Snapshot, after: Snapshot) -> Diff:
    """What changed between two runs."""
    first, second = before.document["modes"], after.document["modes"]
    common = common_modes(before, after)
    totals = [change for mode in common for change in _totals(mode, before, after)]
    conversations = None
    if before.conversations and after.conversations:
        conversations = _conversations(before.conversations, after.conversations, common)
    return Diff(
        changes=list(_changes(_settings(before.document), _settings(after.document))),
        different_data=differing_data(after.document, before.document),
        modes_before=sorted(first.keys() - second.keys()),
        modes_after=sorted(second.keys() - first.keys()),
        compared=len(totals),
        totals=[change for change in totals if change.before != change.after],
        conversations=conversations,
    )


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _FIGURES}


def _changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """What differs, leaf by leaf; a leaf that one of them does not have is None there."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif before != after:
        yield Change(path, before, after)


def _totals(mode: str, before: Snapshot, after: Snapshot) -> Iterator[TotalChange]:
    """All figures that either run has."""
    for path in TOTALS:
        old, new = figure(before.mode(mode), path), figure(after.mode(mode), path)
        if old is None and new is None:
            continue
        apart = None if old is None or new is None else plain(exact(new) - exact(old))
        found = difference(after, before, mode, path)
        yield TotalChange(
            mode=mode,
            figure=path,
            before=old,
            after=new,
            difference=apart,
            low=None if found is None else found.low,
            high=None if found is None else found.high,
            significant=None if found is None else not found.low <= 0 <= found.high,
            better=(apart > 0) == WATCHED[path].higher_is_better if path in WATCHED and apart else None,
        )


def _conversations(before: ByConversation, after: ByConversation, modes: list[str]) -> list[ConversationChange]:
    """Those that lost facts first, then those to which harm was done, then those that only gained."""
    changes = []
    for mode in modes:
        old, new = (run.modes.get(mode, {}) for run in (before, after))
        for conversation in old.keys() & new.keys():
            change = _conversation(mode, conversation, old[conversation], new[conversation])
            if change.lost or change.gained or change.harm:
                changes.append(change)
    return sorted(changes, key=_rank)


def _conversation(mode: str, name: str, before: ConversationScore, after: ConversationScore) -> ConversationChange:
    lost, gained = after.lost_since(before), before.lost_since(after)
    return ConversationChange(mode, name, lost, gained, after.harm - before.harm)


def _rank(change: ConversationChange) -> tuple[int, int, int, str, str]:
    return -len(change.lost), -change.harm, -len(change.gained), change.conversation, change.mode
