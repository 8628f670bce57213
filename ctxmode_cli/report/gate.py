"""The gate: rules, and regressions against a snapshot, that a comparison passes or does not."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.by_conversation import ConversationScore
from ctxmode_cli.replay.verdict import Check, LostFacts, Verdict
from ctxmode_cli.report.gate_rules import Known, Rule, check_rule, parse_rule, parse_subject, plain
from ctxmode_cli.report.regressions import (
    WATCHED,
    Tolerances,
    check_regressions,
    parse_tolerance,
)
from ctxmode_cli.report.snapshots import Snapshot, common_modes, differing_data, is_paired
from ctxmode_cli.report.words import counted, listed
from ctxmode_cli.simulate.own_table import OwnTable

CONVERSATIONS = "conversations"
"""The name under which a tolerance for conversations that lost facts is set."""
PAIRED = "the two runs have the same data and seed: intervals of differences are paired, conversation by conversation"
INDEPENDENT = (
    "results store the interval of each figure, not what it was drawn from: that of a difference is made as if the two runs "
    "were independent"
)
SAME_DATA = (
    "the data and the seed are the same, so the interval of a difference is wider than it need be: "
    "compare run folders, or set significance = false, so that the tolerance alone decides"
)
DIFFERENT_DATA = "the data is not the same, so differences tell of the data, too"
TOLERATED = Known((*WATCHED, CONVERSATIONS), (*WATCHED, CONVERSATIONS))
"""What a tolerance can be set for."""
_ASSUMED = ("model", "encoding", "prices", "prompt_cache", "latency_profile", "position_profile")
"""Parts of format 1 whose change moves figures without any setting of a mode having changed."""


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What is to be checked."""

    rules: Sequence[Rule] = ()
    tolerances: Tolerances = field(default_factory=partial(Tolerances, {}))
    significant: bool = True
    """Whether a regression has to be more than chance, too, where an interval tells."""

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str, rules: Sequence[str] = ()) -> Self:
        """What a configuration file and the command line ask for, together.

        Args:
            table: `[gate]`: `rules`, a list; `significance`, true or false; `tolerance`, a table by path or mode and path.
            where: The file, for errors.
            rules: Of the command line, behind those of the file.

        Raises:
            CtxmodeError: Something of it is no rule, or no tolerance.
        """
        own = OwnTable(table, f"{where}: gate", keys=("rules", "significance", "tolerance"))
        filed = table.get("rules", [])
        if not isinstance(filed, list) or not all(isinstance(rule, str) for rule in filed):
            raise own.error('"rules" is a list of texts')
        tolerances = OwnTable(table.get("tolerance", {}), f"{own.where}.tolerance")
        significant = own.flag("significance")
        with _told(own.where):
            read = [parse_rule(rule) for rule in filed]
        with _told(tolerances.where):
            tolerance = Tolerances(dict(_tolerances(tolerances.values)))
        every = dict.fromkeys([*read, *(parse_rule(rule) for rule in rules)])
        return cls(list(every), tolerance, significant is not False)


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Give errors their place."""
    try:
        yield
    except CtxmodeError as error:
        raise CtxmodeError(error.message, hint=error.hint, where=where) from error


def _tolerances(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[tuple[str | None, str], Any]]:
    """By mode and path; `recall.in_context = 1` and `"recall.in_context" = 1` say the same."""
    for key, value in table.items():
        subject = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _tolerances(value, f"{subject}.")
        else:
            yield parse_subject(subject, TOLERATED, where="a tolerance"), parse_tolerance(value)


def judge(now: Snapshot, settings: GateSettings, before: Snapshot | None = None) -> Verdict:
    """What the gate says of a run: each rule, and each figure that may not get worse.

    Args:
        now: The run.
        settings: What is to be checked.
        before: The run that it is to be no worse than.
    """
    # Each once: a rule for every mode and one for a single mode may say the same.
    checks = list(dict.fromkeys(check for rule in settings.rules for check in check_rule(rule, now.document)))
    if before is None:
        return Verdict(checks)
    modes = common_modes(now, before)
    if not modes:
        why = "the two runs have no mode in common"
        checks.append(Check("regression", "no worse than before", "", None, None, 0, why))
    lost: list[LostFacts] = []
    for mode in modes:
        checks += check_regressions(now, before, mode, settings.tolerances, significant=settings.significant)
        if now.conversations and before.conversations:
            scores, before_scores = (run.modes.get(mode, {}) for run in (now.conversations, before.conversations))
            lost_here = [LostFacts(mode, *found) for found in lost_facts(scores, before_scores)]
            checks += _check_conversations(mode, len(before_scores), lost_here, settings.tolerances)
            lost += lost_here
    return Verdict(checks, lost, list(_notes(now, before, modes, settings)))


def lost_facts(
    now: Mapping[str, ConversationScore], before: Mapping[str, ConversationScore]
) -> list[tuple[str, tuple[str, ...]]]:
    """The conversations of both runs that lost facts, most facts first: their ids, and those of the facts."""
    both = ((name, now[name].lost_since(before[name])) for name in now.keys() & before.keys())
    return sorted(((name, lost) for name, lost in both if lost), key=lambda case: (-len(case[1]), case[0]))


def _check_conversations(
    mode: str, labelled: int, lost: Sequence[LostFacts], tolerances: Tolerances
) -> Iterator[Check]:
    """Whether too many conversations lost facts; nothing where no tolerance for them is set."""
    tolerance = tolerances.of(mode, CONVERSATIONS)
    if tolerance is None:
        return
    limit = tolerance.of(labelled)
    rule = (
        f"no more than {tolerance} of the {CONVERSATIONS} lost facts"
        if tolerance.relative
        else f"no more than {counted(int(limit), 'conversation')} lost facts"
    )
    shown = f"{len(lost)} of {counted(labelled, 'labelled conversation')}"
    yield Check(CONVERSATIONS, rule, mode, len(lost) <= limit, len(lost), plain(limit), shown)


def _notes(now: Snapshot, before: Snapshot, modes: Sequence[str], settings: GateSettings) -> Iterator[str]:
    one, other = now.document, before.document
    left_out = sorted((one["modes"].keys() | other["modes"].keys()) - set(modes))
    if left_out:
        yield f"not compared with the snapshot, since only one of the two has it: {listed(left_out)}"
    changed = [name for name in _ASSUMED if one.get(name) != other.get(name)]
    if changed:
        yield f"not the same as in the snapshot, and moving figures by itself: {listed(changed)}"
    same = not differing_data(one, other)
    if not same:
        yield DIFFERENT_DATA
    if settings.significant:
        yield PAIRED if is_paired(now, before) else INDEPENDENT
        if same and not is_paired(now, before):
            yield SAME_DATA
