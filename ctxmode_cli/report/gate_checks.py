"""What a gate says, as the reports show it: one line or row a check, and the conversations that lost facts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ctxmode_cli.replay.breakdown import MAX_WORST, short
from ctxmode_cli.replay.verdict import Check, LostFacts, Verdict
from ctxmode_cli.report.rows import Column
from ctxmode_cli.report.words import counted

WORDS = {True: "passed", False: "FAILED", None: "NOT EVALUATED"}
"""What becomes of a check."""
COLUMNS = (
    Column("verdict", "verdict", str),
    Column("mode", "mode", str),
    Column("rule", "rule", str),
    Column("shown", "found", str),
)
"""Of the table of checks in Markdown."""


def gate_document(verdict: Verdict) -> dict[str, Any]:
    """The part `gate` of format 1; the conversations that lost facts are counted, and the first of each mode listed."""
    return {
        "passed": verdict.passed,
        "rules": [check._asdict() for check in verdict.checks],
        "lost_facts": dict(sorted(Counter(lost.mode for lost in verdict.lost).items())),
        "conversations": [
            {"mode": lost.mode, "conversation": lost.conversation, "facts": list(lost.facts)}
            for lost in listed_lost(verdict)
        ],
        "notes": list(verdict.notes),
    }


def check_rows(verdict: Verdict) -> list[dict[str, Any]]:
    """One row a check, with its verdict in words."""
    return [{"verdict": WORDS[check.passed], **check._asdict()} for check in verdict.checks]


def listed_lost(verdict: Verdict) -> list[LostFacts]:
    """Of the conversations that lost facts, those of each mode that lost most."""
    counts: Counter[str] = Counter()
    listed = []
    for lost in verdict.lost:
        counts[lost.mode] += 1
        if counts[lost.mode] <= MAX_WORST:
            listed.append(lost)
    return listed


def check_line(check: Check) -> str:
    """A check in one line."""
    return f"{WORDS[check.passed]}: {named(check)}: {check.shown}"


def named(check: Check) -> str:
    """A check by mode and rule."""
    return f"{check.mode}: {check.rule}" if check.mode else check.rule


def unmoved_lines(verdict: Verdict) -> Iterator[str]:
    """How many figures are what they were, in one line, if there are any."""
    count = sum(check.is_unmoved for check in verdict.checks)
    if count:
        yield f"passed: {counted(count, 'figure')} as before (--format csv lists them)"


def lost_lines(verdict: Verdict) -> Iterator[str]:
    """The conversations that lost facts, and how many more there are."""
    shown = listed_lost(verdict)
    for lost in shown:
        facts = ", ".join(map(short, lost.facts[:MAX_WORST]))
        more = f" and {len(lost.facts) - MAX_WORST} more" if len(lost.facts) > MAX_WORST else ""
        yield f"{lost.mode}: {short(lost.conversation)} lost {counted(len(lost.facts), 'fact')}: {facts}{more}"
    if len(verdict.lost) > len(shown):
        yield f"and {counted(len(verdict.lost) - len(shown), 'more conversation')} lost facts"


def gate_answer(verdict: Verdict) -> str:
    """The gate in one sentence."""
    count = Counter(check.passed for check in verdict.checks)
    parts = [f"{counted(len(verdict.checks), 'check')}: {count[True]} passed"]
    if count[False]:
        parts.append(f"{count[False]} failed")
    if count[None]:
        parts.append(f"{count[None]} could not be evaluated")
    chance = sum(check.may_be_chance for check in verdict.checks)
    if chance:
        parts[0] += f" ({counted(chance, 'figure')} worse than the tolerance, which may be chance)"
    word = "passed" if verdict.passed else "FAILED" if count[False] else "NOT EVALUATED"
    return f"gate {word}: {', '.join(parts)}"


def gate_summary(verdict: Verdict) -> list[str]:
    """What a report of something else says of the gate: what did not pass, or only by chance; then all in one sentence."""
    return [
        *(check_line(check) for check in verdict.checks if not check.passed or check.may_be_chance),
        *lost_lines(verdict),
        *(f"gate: {note}" for note in verdict.notes),
        gate_answer(verdict),
    ]
