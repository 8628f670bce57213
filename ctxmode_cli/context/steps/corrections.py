"""A person's corrections of the summary, which each later summary is given again.

What counts is the statement: headings, and a line that stands in square brackets as a whole, such as a summary's title,
belong to whoever writes the summary, and are neither kept nor removed.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from ctxmode_cli.context.plan import CONSTRAINTS_HEADINGS, Corrections
from ctxmode_cli.language.fold import fold
from ctxmode_cli.language.sentences import is_chinese

_HEADING = "## Corrected by a person"
_CHINESE_HEADING = "## 经人工更正"
_BULLET = re.compile(r"^(?:[-*•–]\s+|\d+[.)]\s+|\d+、\s*)")


def correct(corrections: Corrections, old: str, new: str) -> Corrections:
    """The corrections after a person has made `new` of the summary `old`.

    A line that differs in anything is another line: the one before is removed, and the new one is kept.
    """
    before, after = _statements(old), _statements(new)
    added = [line for line in after if line not in before]
    kept = [line for line in corrections.kept if line in after]
    kept += [line for line in added if line not in kept]
    removed = [*corrections.removed, *(line for line in before if line not in after)]
    stated = _keys(after)
    return Corrections(tuple(kept), tuple(line for line in dict.fromkeys(removed) if _key(line) not in stated))


def corrected(text: str, corrections: Corrections) -> str:
    """A new summary with the kept lines under a heading of their own, and without the removed ones.

    Lines are alike where they differ in nothing that carries meaning: bullet, case, width, script, punctuation at the
    end. The section of hard constraints stays the last one.
    """
    gone = _keys([*corrections.kept, *corrections.removed])
    lines = [line for line in _without_heading(text) if _key(line) not in gone]
    end = next((index for index, line in enumerate(lines) if line.strip() in CONSTRAINTS_HEADINGS), len(lines))
    lines[end:end] = _section(corrections)
    return _written(lines)


def without_kept(text: str, corrections: Corrections) -> str | None:
    """A summary without the kept lines, since these need no retelling; None where nothing else is in it."""
    if not corrections.kept:
        return text
    kept = _keys(corrections.kept)
    return _written([line for line in _without_heading(text) if _key(line) not in kept]) or None


def kept_tokens(corrections: Corrections, count: Callable[[str], int]) -> int:
    """Tokens that `corrected` adds to a text.

    Args:
        corrections: The corrections.
        count: Tokens of a text. The section begins and ends at line breaks that no encoding joins with what follows, so
            it adds its own tokens, and one for the line break that the text before it may lack.
    """
    return count(_written(_section(corrections))) + 1 if corrections.kept else 0


def _section(corrections: Corrections) -> list[str]:
    if not corrections.kept:
        return []
    return [_CHINESE_HEADING if is_chinese(" ".join(corrections.kept)) else _HEADING, *corrections.kept]


def _written(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _without_heading(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() not in {_HEADING, _CHINESE_HEADING}]


def _statements(text: str) -> Sequence[str]:
    """The lines that state something, each once."""
    return list(dict.fromkeys(line.rstrip() for line in text.splitlines() if _key(line)))


def _keys(lines: Iterable[str]) -> set[str]:
    return {_key(line) for line in lines}


def _key(line: str) -> str:
    """What makes two lines alike; empty for a line that states nothing."""
    line = line.strip()
    if line.startswith("#") or (line.startswith("[") and line.endswith("]")):
        return ""
    return fold(_BULLET.sub("", line))
