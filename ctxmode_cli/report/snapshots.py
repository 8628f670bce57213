"""Two runs side by side: whether their data is the same, and how far apart their figures are.

Where both are run folders of the same data and seed, the bootstrap is drawn again from their rows, and the interval of a
difference is paired. A results file stores each figure's 95 % interval and not what it was drawn from: the interval of a
difference is then made of those of the two figures, as if the two runs were independent. Runs on the same data are not:
they go up and down together, and that interval is wider than it need be. So a difference that is called significant is,
and a small one may be missed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.by_conversation import ByConversation
from ctxmode_cli.replay.statistics import MEASURES, Interval, Replicates
from ctxmode_cli.report.gate_rules import exact, figure
from ctxmode_cli.report.words import listed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a run came to."""

    document: Mapping[str, Any]
    """Its comparison in format 1."""
    conversations: ByConversation | None = None
    """None where only its results are there, and no run folder; so are the replicates."""
    replicates: Replicates | None = None

    def mode(self, name: str) -> Mapping[str, Any]:
        """A mode's part of the document."""
        part: Mapping[str, Any] = self.document["modes"][name]
        return part


def common_modes(now: Snapshot, before: Snapshot) -> list[str]:
    """The modes that both runs have."""
    return sorted(now.document["modes"].keys() & before.document["modes"].keys())


def is_paired(now: Snapshot, before: Snapshot) -> bool:
    """Whether differences can be told conversation by conversation."""
    has_rows = now.replicates is not None and before.replicates is not None
    return has_rows and not differing_data(now.document, before.document)


def difference(now: Snapshot, before: Snapshot, mode: str, path: str) -> Interval | None:
    """How far a figure of a mode is from what it was, with a 95 % interval; None where none is known.

    Args:
        now: The run.
        before: The other one.
        mode: A mode that both have.
        path: Of the figure.
    """
    new, old = figure(now.mode(mode), path), figure(before.mode(mode), path)
    if path not in MEASURES or new is None or old is None:
        return None
    if now.replicates and before.replicates and is_paired(now, before):
        return now.replicates.change(before.replicates, mode, path, exact(new) - exact(old))
    ours, theirs = interval_of(now.mode(mode), path), interval_of(before.mode(mode), path)
    return None if ours is None or theirs is None else difference_of(ours, theirs)


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


def differing_data(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """In what two runs do not have the same data: inputs (whatever they are called), selection, seed."""
    one, other = _data_of(now), _data_of(before)
    return [name for name in one if one[name] != other[name]]


def _data_of(document: Mapping[str, Any]) -> dict[str, Any]:
    sources, selection = document["data"].get("sources"), document.get("selection")
    listed_sources = sources if isinstance(sources, list) else []
    chosen = selection if isinstance(selection, Mapping) else {}
    return {
        "the digests of the inputs": sorted(
            str(source.get("sha256")) for source in listed_sources if isinstance(source, Mapping)
        ),
        "the records skipped": document["data"].get("skipped"),
        "the seed": document.get("seed"),
        **{f"--{name}": chosen.get(name) for name in ("limit", "sample", "probes")},
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
