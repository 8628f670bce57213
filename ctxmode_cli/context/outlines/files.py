"""A file that a tool has read: sent once in full, afterwards by its path, its lines and what is in it."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from ctxmode_cli.context.outlines.definitions import NUMBERED, definitions, imports
from ctxmode_cli.context.outlines.error_lines import error_lines
from ctxmode_cli.context.outlines.strings import cut, in_one_line, json_in, without_blobs
from ctxmode_cli.data import data_file

LONGEST = 300
"""Characters of a reference."""
LONGEST_PATH = 120
LONGEST_COMMAND = 2_000
"""Characters of a shell command that is looked at: what only shows a file is shorter."""
FIRST_LINE = 80
NAMES = 8
"""Names of one sort that are told of."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NUMBER = re.compile(rf"^{NUMBERED} ?", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]++(?P<title>\S[^\n]*)", re.MULTILINE)
_SED_LINES = re.compile(r"(?P<first>\d{1,9})(?:,(?:\d+|\$))?p?")


class _Reading(NamedTuple):
    path: str
    start: int
    """The line with which the output begins, from 1, as far as the call says."""


def file_reference(name: str, arguments: str, text: str) -> str | None:
    """What stands for a file that was sent before: path, lines and what is in it; None where the call read no file.

    Args:
        name: The tool's name.
        arguments: The call's arguments, as JSON text.
        text: The tool's output.
    """
    reading = _reading(name, json_in(arguments))
    if reading is None or not text.strip() or error_lines(text.strip().split("\n", 1)[:1]):
        return None
    first, last = _lines(text, reading.start)
    which = f"lines {first}-{last} of this file were" if last > first else f"line {first} of this file was"
    summary = "; ".join(_summary(reading.path, _NUMBER.sub("", text)))
    return cut(in_one_line(f"{cut(reading.path, LONGEST_PATH)}, {which} sent before: {summary}"), LONGEST)


def _reading(name: str, arguments: Any) -> _Reading | None:
    if not isinstance(arguments, dict):
        return None
    rules = _rules()
    named = _first_text(arguments, rules["path"])
    command = next((arguments[key] for key in rules["command"] if arguments.get(key)), None)
    if named is None:
        return _shown_by_shell(command)
    words = _words(name) | (_words(command) if isinstance(command, str) else set())
    if words & set(rules["other"]) and not (isinstance(command, str) and command in rules["tool"]):
        return None
    reads = words & set(rules["tool"]) and "://" not in named and not named.endswith("/")
    return _Reading(named, _start(arguments)) if reads else None


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name[:LONGEST_COMMAND])}


def _first_text(arguments: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str) and arguments[key]), None)


def _start(arguments: Mapping[str, Any]) -> int:
    for key in _rules()["start"]:
        value = arguments.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, int) and value > 0:
            return int(value)
    return 1


def _shown_by_shell(command: Any) -> _Reading | None:
    """The one file that a command writes out and does nothing else with, but for a `cd` before it."""
    *before, last = _statements(command) or [[]]
    if not last or last[0] not in _rules()["shell"] or any(words[:1] != ["cd"] for words in before):
        return None
    operands = [word for word in last[1:] if not word.startswith("-")]
    ranges = [match for word in operands if (match := _SED_LINES.fullmatch(word))]
    paths = [word for word in operands if not _SED_LINES.fullmatch(word)]
    if len(paths) != 1:
        return None
    by_range = ranges and last[0] == "sed"
    return _Reading(paths[0], max(1, int(ranges[0]["first"])) if by_range else 1)


def _statements(command: Any) -> list[list[str]]:
    """The words of each statement; none where a pipe, a redirection or a quote that does not end is in the way."""
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        wrapped = len(command) == 3 and command[1].startswith("-") and command[1].endswith("c")  # noqa: PLR2004 - sh -c x
        command = command[2] if wrapped else shlex.join(command)
    if not isinstance(command, str) or len(command) > LONGEST_COMMAND:
        return []
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    statements: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in {"&&", ";"}:
                statements.append([])
            elif set(word) <= set("();<>|&"):
                return []
            else:
                statements[-1].append(word)
    except ValueError:
        return []
    return statements


def _lines(text: str, start: int) -> tuple[int, int]:
    """The first and the last line, as the text numbers them, or else counted from `start`."""
    lines = len(text.splitlines())
    numbers = [int(match["shown"]) for match in _NUMBER.finditer(text)]
    if len(numbers) * 2 >= lines and numbers and numbers[-1] - numbers[0] + 1 == len(numbers):
        return numbers[0], numbers[-1]
    return start, start + lines - 1


def _summary(path: str, text: str) -> Iterator[str]:
    """What is in a file, by what it is: keys of JSON, headings, definitions, or else its first line."""
    told = [*_keys(text), *_headings(path, text)] or list(_defined(text))
    if told:
        yield from told
    else:
        lines = (line for line in without_blobs(text).split("\n") if line.strip())
        yield cut(in_one_line(next(lines, "")), FIRST_LINE)


def _keys(text: str) -> Iterator[str]:
    value = json_in(text)
    if isinstance(value, dict):
        yield f"keys {_several(list(value))}"
    elif isinstance(value, list):
        yield f"list of {len(value):,} items"


def _headings(path: str, text: str) -> Iterator[str]:
    if path.lower().endswith((".md", ".markdown", ".mdx")):
        titles = [match["title"].strip() for match in _HEADING.finditer(text)]
        if titles:
            yield f"sections {_several(titles)}"


def _defined(text: str) -> Iterator[str]:
    if imported := imports(text):
        yield f"imports {_several(imported)}"
    by_kind: dict[str, list[str]] = {}
    for found in definitions(text):
        by_kind.setdefault(found.kind, []).append(found.name)
    for kind, names in by_kind.items():
        yield f"{kind} {_several(list(dict.fromkeys(names)))}"


def _several(names: Sequence[str]) -> str:
    shown = [cut(in_one_line(name), FIRST_LINE) for name in islice(names, NAMES)]
    return ", ".join([*shown, f"… {len(names) - NAMES:,} more"] if len(names) > NAMES else shown)


@cache
def _rules() -> dict[str, list[str]]:
    return tomllib.loads(data_file("context/file_reading.toml").read_text(encoding="utf-8"))
