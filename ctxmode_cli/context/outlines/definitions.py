"""What source code defines and imports, found by its lines' first words; the grammars are data."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ctxmode_cli.data import data_file

# Tools show a file with its line numbers: `12:`, `12|`, `12→`, or `12` and a tab.
NUMBERED = r"[ \t]*+(?P<shown>\d{1,9})(?::|\||→|\t)"


class Definition(NamedTuple):
    """One definition: its line from 1 (as the text numbers it, or counted), what it is (`def`, `class`) and its name."""

    line: int
    kind: str
    name: str


def definitions(text: str) -> list[Definition]:
    """What `text` defines, in its order."""
    return sorted(_found(text))


def _found(text: str) -> Iterator[Definition]:
    for pattern in _grammar()["definitions"]:
        line, seen = 1, 0
        for match in pattern.finditer(text):
            line, seen = line + text.count("\n", seen, match.start("name")), match.start("name")
            yield Definition(int(match["shown"] or line), " ".join(match["kind"].split()), match["name"])


def imports(text: str) -> list[str]:
    """What `text` imports, each once, in its order."""
    matches = (match for pattern in _grammar()["imports"] for match in pattern.finditer(text))
    found = sorted((match.start(), match["name"]) for match in matches)
    names = (name.strip() for _, several in found for name in several.split(","))
    return list(dict.fromkeys(name for name in names if name))


@cache
def _grammar() -> dict[str, list[re.Pattern[str]]]:
    data = tomllib.loads(data_file("context/definitions.toml").read_text(encoding="utf-8"))
    return {
        part: [re.compile(rf"^(?:{NUMBERED})?[ \t]*+{pattern}", re.MULTILINE) for pattern in data[part]]
        for part in ("definitions", "imports")
    }
