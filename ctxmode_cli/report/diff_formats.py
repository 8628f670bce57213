"""The difference of two runs in the formats that a user can name."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ctxmode_cli.replay.breakdown import MAX_WORST, short
from ctxmode_cli.report.diff import Change, ConversationChange, Diff, TotalChange
from ctxmode_cli.report.formats import escaped, markdown_table, to_json
from ctxmode_cli.report.gate_rules import digits
from ctxmode_cli.report.rows import Column, Row
from ctxmode_cli.report.table import fitted_table, plain_console, wrapped
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted, listed

COLUMNS = (
    Column("mode", "mode", str),
    Column("figure", "figure", str),
    Column("before", "before", str),
    Column("after", "after", str),
    Column("difference", "difference", str),
    Column("interval", "95% interval", str, dropped=1),
    Column("verdict", "", str),
)
"""Of the table of totals."""
_UNKNOWN = "–"


def diff_document(found: Diff) -> dict[str, Any]:
    """The whole as JSON has it."""
    return {
        "format": 1,
        "settings": [change._asdict() for change in found.changes],
        "different_data": found.different_data,
        "modes": {"only_before": found.modes_before, "only_after": found.modes_after},
        "figures": found.compared,
        "totals": [change._asdict() for change in found.totals],
        "conversations": None if found.conversations is None else [change._asdict() for change in found.conversations],
        "answer": diff_answer(found),
    }


def diff_json(found: Diff) -> str:
    """Everything, unrounded; all conversations."""
    return to_json(diff_document(found)) + "\n"


def diff_table(found: Diff, *, width: int | None = None, colour: bool = False) -> str:
    """Settings, totals, conversations and, last, a sentence.

    Args:
        found: What to show.
        width: Columns of the terminal; None for a pipe.
        colour: Whether to send terminal styles.
    """
    console = plain_console(colour=colour)
    lines = partial(wrapped, console=console, width=width)
    parts = [
        [lines(visible(line)) for line in _setting_lines(found)],
        fitted_table(_rows(found.totals), COLUMNS, console, width, "a pipe has them") if found.totals else [],
        [lines(visible(line)) for line in _conversation_lines(found)],
        [lines(visible(diff_answer(found)))],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def diff_markdown(found: Diff) -> str:
    """The same as Markdown, the sentence first."""
    parts = [
        [f"**{escaped(diff_answer(found))}**"],
        [f"- {escaped(line)}" for line in _setting_lines(found)],
        list(markdown_table(_rows(found.totals), COLUMNS)) if found.totals else [],
        [f"- {escaped(line)}" for line in _conversation_lines(found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


DIFF_FORMATS: dict[str, Callable[[Diff], str]] = {"table": diff_table, "json": diff_json, "markdown": diff_markdown}


def diff_answer(found: Diff) -> str:
    """What changed in one sentence."""
    better = sum(change.better is True for change in found.totals)
    worse = sum(change.better is False for change in found.totals)
    surely = sum(change.better is False and change.significant is True for change in found.totals)
    parts = [
        f"settings, assumptions and data: {counted(len(found.changes), 'difference')}",
        f"{len(found.totals)} of {counted(found.compared, 'figure')} changed, {better} for the better and {worse} for the worse"
        + (f" ({surely} significantly)" if surely else ""),
    ]
    if found.conversations is not None:
        lost = sum(bool(change.lost) for change in found.conversations)
        parts.append(f"{counted(lost, 'conversation')} lost facts")
    return "; ".join(parts)


def _setting_lines(found: Diff) -> Iterator[str]:
    if found.different_data:
        yield f"not the same data: {listed(found.different_data)}"
    for modes, which in ((found.modes_before, "first"), (found.modes_after, "second")):
        if modes:
            yield f"only in the {which} run: {listed(modes)}"
    for (name, before, after), names in _grouped(found.changes).items():
        yield f"{f'{listed(names)}: ' if names else ''}{name}: {short(before)} → {short(after)}"


def _grouped(changes: Sequence[Change]) -> Mapping[tuple[str, str, str], Sequence[str]]:
    """Changes as name, before and after; a setting that changes alike in several modes once, with their names."""
    modes: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for change in changes:
        part, _, rest = change.path.partition(".")
        mode, _, setting = rest.partition(".")
        before, after = (to_json(value, indent=None) for value in (change.before, change.after))
        is_setting = part == "settings" and setting
        modes[setting if is_setting else change.path, before, after] += [mode] if is_setting else []
    return modes


def _rows(totals: Sequence[TotalChange]) -> list[Row]:
    return [
        {
            "mode": change.mode,
            "figure": change.figure,
            "before": _shown(change.before),
            "after": _shown(change.after),
            "difference": _shown(change.difference, sign="+"),
            "interval": _UNKNOWN if change.low is None else f"{_shown(change.low)} to {_shown(change.high)}",
            "verdict": _verdict(change),
        }
        for change in totals
    ]


def _shown(value: float | None, sign: str = "") -> str:
    if value is None:
        return _UNKNOWN
    return f"{sign if value > 0 else ''}{digits(value, lambda _: True)}"


def _verdict(change: TotalChange) -> str:
    word = {True: "better", False: "worse", None: ""}[change.better]
    if change.significant is False:
        return f"{word}, may be chance".removeprefix(", ")
    return word


def _conversation_lines(found: Diff) -> Iterator[str]:
    changes = found.conversations or ()
    for change in changes[:MAX_WORST]:
        yield f"{change.mode}: {short(change.conversation)}: {'; '.join(_fates(change))}"
    if len(changes) > MAX_WORST:
        yield f"and {counted(len(changes) - MAX_WORST, 'more conversation')} changed (--format json lists them)"


def _fates(change: ConversationChange) -> Iterator[str]:
    for word, facts in (("lost", change.lost), ("gained", change.gained)):
        if facts:
            more = f" and {len(facts) - MAX_WORST} more" if len(facts) > MAX_WORST else ""
            yield f"{word} {', '.join(map(short, facts[:MAX_WORST]))}{more}"
    if change.harm:
        yield f"{abs(change.harm)} {'more' if change.harm > 0 else 'fewer'} stale or contradicted"
