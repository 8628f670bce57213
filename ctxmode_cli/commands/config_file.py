"""The configuration file: ctxmode.toml, or [tool.ctxmode] of a pyproject.toml, read whole and checked before anything runs."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from ctxmode_cli.commands.options import FILE_KEYS, SETTINGS
from ctxmode_cli.context.config import ContextConfig, ContextMode
from ctxmode_cli.errors import CtxmodeError, system_errors

OWN_FILE = "ctxmode.toml"
PROJECT_FILE = "pyproject.toml"
TABLES = ("modes", "prices", "cache_rules", "gate")
"""Keys that hold tables by name."""
USE = "use"
"""In a table whose name is an option too, the key that stands for the option: TOML has no room for both."""
MODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,39}")
_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, Decimal)),
    Decimal: ("a number", (int, Decimal)),
    list: ("a list", (list,)),
    dict: ("a table", (dict,)),
}
"""What an option of a type takes, in words and as TOML gives it; any other type takes a text."""


class NamedMode(NamedTuple):
    """A mode's own section of the file."""

    base: str
    """The built-in mode that it is."""
    settings: dict[str, Any]
    """What it sets, by the names of ContextConfig."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a configuration file says; empty where there is none."""

    path: Path | None = None
    where: str = ""
    """The place that an error about one of its keys names."""
    sha256: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the replaying commands, and settings of every mode, by name."""
    modes: Mapping[str, NamedMode] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    """As written, numbers with a point as Decimal; whoever prices requests checks them."""
    cache_rules: Mapping[str, Any] = field(default_factory=dict)
    """Likewise."""
    gate: Mapping[str, Any] = field(default_factory=dict)
    """Likewise: whoever judges results checks it."""


def read_config(folder: Path, name: str | None) -> ConfigFile:
    """The configuration that holds in a folder.

    Args:
        folder: Where ctxmode.toml is looked for, then pyproject.toml.
        name: The file that the user named instead; it has to be there.

    Raises:
        CtxmodeError: The file cannot be read, or says something that no command understands.
    """
    path = _find(folder) if name is None else Path(name)
    if path is None:
        return ConfigFile()
    with system_errors("the configuration cannot be read", where=str(path)):
        data = path.read_bytes()
    table, where = _parse(data, str(path)), str(path)
    if path.name == PROJECT_FILE:
        tool = table.get("tool")
        if not isinstance(tool, dict) or "ctxmode" not in tool:
            if name is None:
                return ConfigFile()
            raise CtxmodeError("there is no [tool.ctxmode]", where=where)
        table, where = tool["ctxmode"], f"{where} [tool.ctxmode]"
    with _told(where):
        return _checked_file(path, where, hashlib.sha256(data).hexdigest(), _checked("it", table, dict))


def _find(folder: Path) -> Path | None:
    for path in (folder / OWN_FILE, folder / PROJECT_FILE):
        with suppress(PermissionError):  # of a folder that may not be searched
            if path.exists():
                return path
    return None


def _parse(data: bytes, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CtxmodeError("it is not UTF-8", where=f"{where}:{line}") from None
    except RecursionError:
        raise CtxmodeError("it is nested too deep", where=where) from None
    except (ValueError, ArithmeticError) as error:  # the second: a number with an exponent that no Decimal has
        text = str(error) if isinstance(error, ValueError) else "a number is too large"
        place = re.search(r" \(at line (\d+), column \d+\)$", text)
        message, where = (text[: place.start()], f"{where}:{place[1]}") if place else (text, where)
        raise CtxmodeError(f"it is not TOML: {message[:1].lower()}{message[1:]}", where=where) from None


@contextmanager
def _told(where: str, prefix: str = "") -> Iterator[None]:
    """Give the errors of a part of the file its place, and the keys that they begin with their table."""
    try:
        yield
    except CtxmodeError as error:
        raise CtxmodeError(prefix + error.message, hint=error.hint, where=where) from error


def _checked_file(path: Path, where: str, sha256: str, table: dict[str, Any]) -> ConfigFile:
    tables = {key: dict(table[key]) for key in TABLES if isinstance(table.get(key), dict)}
    plain = {key: value for key, value in table.items() if key not in tables}
    for key, named in tables.items():
        if key in FILE_KEYS and USE in named:
            plain[key] = named.pop(USE)
    options = {key: _option(key, value) for key, value in plain.items()}
    common = {key: value for key, value in options.items() if key in SETTINGS}
    ContextConfig(**common)
    modes = {name: _mode(name, section, common) for name, section in tables.get("modes", {}).items()}
    raw = (tables.get(key, {}) for key in ("prices", "cache_rules", "gate"))
    return ConfigFile(path, where, sha256, options, modes, *raw)


def _option(key: str, value: Any) -> Any:
    """The value of a key at the top of the file, as its option takes it."""
    if key not in FILE_KEYS:
        if key in TABLES:
            return _checked(key, value, dict)
        raise _unknown("", key, [*FILE_KEYS, *TABLES])
    annotation = FILE_KEYS[key]
    [info] = annotation.__metadata__
    value = _checked(key, value, annotation.__origin__)
    limits = [f"at {word} {limit:,}" for word, limit in (("least", info.min), ("most", info.max)) if limit is not None]
    too_small = info.min is not None and not value >= info.min  # nor NaN
    too_large = info.max is not None and not value <= info.max
    if too_small or too_large:
        raise CtxmodeError(f"{key} is {value}; it is {' and '.join(limits)}")
    return value


def _mode(name: str, section: Any, common: Mapping[str, Any]) -> NamedMode:
    """One section [modes.NAME]; its settings are valid together with those that hold for every mode."""
    prefix = f"modes.{name}."
    if not MODE_NAME.fullmatch(name):
        hint = 'letters, digits, _ and -, at most 40 of them, and no "-" at the beginning'
        raise CtxmodeError(f'"{name}" is no name of a mode', hint=hint)
    settings = _checked(prefix[:-1], section, dict)
    base = _base(name, settings)
    own = {key: value for key, value in settings.items() if key != "base"}
    if "model" in own:
        raise CtxmodeError(
            f"{prefix}model cannot be set: all modes have the same model", hint="set it above all tables"
        )
    for key, value in own.items():
        if key not in SETTINGS:
            raise _unknown(prefix, key, ["base", *SETTINGS])
        own[key] = _checked(prefix + key, value, FILE_KEYS[key].__origin__)
    with _told("", prefix):
        ContextConfig(mode=base, **{**common, **own})
    return NamedMode(base, own)


def _base(name: str, settings: Mapping[str, Any]) -> str:
    built_in = name if name in list(ContextMode) else None
    base = settings.get("base", built_in)
    if base is None:
        raise CtxmodeError(f"modes.{name} has no base", hint=f"base is one of {', '.join(ContextMode)}")
    _checked(f"modes.{name}.base", base, Literal[tuple(ContextMode)])
    if built_in and base != built_in:
        raise CtxmodeError(
            f'modes.{name}.base is "{base}"', hint="a built-in mode is its own base; choose another name"
        )
    return str(base)


def _unknown(prefix: str, key: str, known: Iterable[str]) -> CtxmodeError:
    close = get_close_matches(key, known, n=1)
    hint = (
        f"did you mean {close[0]}?" if close else "keys are the options of compare, replay and forecast, with _ for -"
    )
    return CtxmodeError(f'the key "{prefix}{key}" is unknown', hint=hint)


def _checked(key: str, value: Any, expected: Any) -> Any:
    """A value of the file as an option of the expected type takes it.

    Raises:
        CtxmodeError: It is of another type, or none of the choices.
    """
    if get_origin(expected) in {Union, UnionType}:
        [expected] = [kind for kind in get_args(expected) if kind is not NoneType]
    if get_origin(expected) is Literal:
        if value not in get_args(expected):
            raise CtxmodeError(f"{key} is {_shown(value)}", hint=f"one of {', '.join(get_args(expected))}")
        return value
    words, kinds = _KINDS.get(get_origin(expected) or expected, ("a text", (str,)))
    if type(value) not in kinds:
        raise CtxmodeError(f"{key} is {_shown(value)}, not {words}")
    if isinstance(value, list):
        return [_checked(f"{key}[{index}]", item, *get_args(expected)) for index, item in enumerate(value)]
    return float(value) if expected is float else value


def _shown(value: Any) -> str:
    """A value as it stands in the file, in short."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    return _KINDS[type(value)][0] if isinstance(value, list | dict) else str(value)
