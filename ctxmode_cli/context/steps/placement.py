"""Where the fact card and the summary's hard constraints stand: at the head, or right before the current input."""

from ctxmode_cli.context.history import Note
from ctxmode_cli.context.plan import CONSTRAINTS_HEADINGS, Plan
from ctxmode_cli.tokens.counter import TokenCounter

_Notes = tuple[Note, ...]


def place(plan: Plan, counter: TokenCounter, placement: str) -> Plan:
    """The plan with the summary's section of hard constraints as a note of its own, for `tail`.

    It is the summary's last section, where there is one, and not all of it.
    """
    summary = plan.summary
    if placement == "head" or summary is None:
        return plan
    lines = summary.text.splitlines(keepends=True)
    start = next((index for index, line in enumerate(lines) if line.strip() in CONSTRAINTS_HEADINGS), None)
    if not start:
        return plan
    told = _note(summary, "summary", "".join(lines[:start]), counter)
    constraints = _note(summary, "constraints", "".join(lines[start:]), counter)
    return plan._replace(summary=told, constraints=constraints)


def head_and_tail(plan: Plan, placement: str) -> tuple[_Notes, _Notes]:
    """Card and hard constraints: what of them follows the system prompt, and what goes right before the current input."""
    notes = tuple(note for note in (plan.constraints, plan.card) if note is not None)
    return (notes, ()) if placement == "head" else ((), notes)


def _note(summary: Note, purpose: str, text: str, counter: TokenCounter) -> Note:
    return Note(purpose, summary.role, text, counter.generated(summary.role, counter.text(text)))
