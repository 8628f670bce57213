"""Reading profiles, such as how long a model takes: the built-in ones are data with sources, others the user's files."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError, system_errors

EXTENSION = ".toml"


class Kind(NamedTuple):
    """What a key of a profile holds."""

    told: str
    """In words, as an error tells it."""
    types: tuple[type, ...]
    required: bool = True


NUMBER = Kind("a number", (int, float))
NUMBER_OR_NONE = NUMBER._replace(required=False)
TEXT = Kind("text in quotes", (str,), required=False)
LIST = Kind("a list in brackets", (list,))
DESCRIPTION = {"source": TEXT, "date": TEXT, "note": TEXT}
"""Keys of every profile: where its figures come from, when they were measured, and what a reader must know of them."""


@dataclass(frozen=True, slots=True)
class ProfileFiles:
    """The profiles of one kind: files in one of the package's data folders, or the user's own."""

    kind: str
    """As errors name it, such as "latency profile"."""
    folder: str
    """Below the package's data."""
    keys: Mapping[str, Kind]

    def names(self) -> list[str]:
        """The names of the built-in profiles, sorted."""
        files = (file.name for file in data_file(self.folder).iterdir())
        return sorted(name.removesuffix(EXTENSION) for name in files if name.endswith(EXTENSION))

    def read(self, name: str) -> tuple[dict[str, Any], str]:
        """What a profile says, and where it stands; keys and the types of their values are checked.

        Args:
            name: Of a built-in one, or a path that ends in `.toml`.

        Raises:
            CtxmodeError: There is no such profile, or what the file says is none; the message names file and key.
        """
        if name.lower().endswith(EXTENSION):
            with system_errors(f"the {self.kind} cannot be read", where=name):
                return self._parse(Path(name).read_bytes(), name)
        known = self.names()
        if name not in known:
            close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
            suggestion = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
            hint = f"{suggestion}; a profile of your own is a file that ends in {EXTENSION}"
            raise CtxmodeError(f'the {self.kind} "{name}" is unknown', hint=hint)
        return self._parse(data_file(f"{self.folder}/{name}{EXTENSION}").read_bytes(), f"{name}{EXTENSION}")

    def _parse(self, content: bytes, where: str) -> tuple[dict[str, Any], str]:
        try:
            table = tomllib.loads(content.decode())
        except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested without end
            raise CtxmodeError(f"the {self.kind} is not TOML: {error}", where=where) from None
        check_table(table, self.keys, self.kind, where)
        return table, where


def check_table(table: Mapping[str, Any], keys: Mapping[str, Kind], what: str, where: str) -> None:
    """Refuse what is unknown, missing, or of another type than its key says.

    Args:
        table: As it was parsed.
        keys: All that may stand in it.
        what: What it is, such as "latency profile".
        where: The file, and the place in it.

    Raises:
        CtxmodeError: Something of it is wrong.
    """
    for key, value in table.items():
        if key not in keys:
            raise CtxmodeError(f'a {what} has no "{key}"', where=where, hint=f"its keys are {', '.join(keys)}")
        if type(value) not in keys[key].types:
            raise CtxmodeError(f'"{key}" is {keys[key].told}, not {value!r}', where=where)
    missing = [key for key, kind in keys.items() if kind.required and key not in table]
    if missing:
        raise CtxmodeError(f"the {what} has no {' and no '.join(missing)}", where=where)
