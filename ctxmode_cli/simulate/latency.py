"""How long a request takes: a named latency profile, and the noise around it."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from math import exp
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError, system_errors

EXTENSION = ".toml"
LARGEST = 1000.0
"""No parameter is larger: seconds given in milliseconds are told, and every latency stays finite."""

_FOLDER = "simulate/latency"
_INV_CDF = NormalDist().inv_cdf
_LEAST = 2.0**-54
"""Stands for a draw of exactly 0, whose normal value would be infinite: half of the least other one."""


@dataclass(frozen=True, slots=True)
class LatencyProfile:
    """What decides how long a request takes; the parameters are at least 0.

    Raises:
        CtxmodeError: A parameter is no such number.
    """

    name: str
    """What `find_profile` finds it by: the name of a built-in one, or a file."""
    overhead_s: float
    """Seconds before anything else: network, queue, scheduling."""
    per_token_s: float
    """Seconds a prompt token that is not read from the cache."""
    inter_token_s: float
    """Seconds between two tokens of the reply (ITL)."""
    quadratic_s: float = 0.0
    """Seconds a squared prompt token, for attention over long prompts."""
    noise_sigma: float = 0.0
    """Standard deviation of the noise's logarithm."""
    source: str = ""
    date: str = ""
    """The day on which the figures were measured, or last compared with their source (ISO 8601)."""
    note: str = ""
    """What a reader of the figures must know, such as what they were fitted to."""

    def __post_init__(self) -> None:
        for key in PARAMETERS:
            value = getattr(self, key)
            if not 0 <= value <= LARGEST:  # nor NaN
                hint = "parameters are seconds, noise_sigma the standard deviation of a logarithm"
                message = f"{key} is a number from 0 to {LARGEST:g}, not {value}"
                raise CtxmodeError(message, where=self.name, hint=hint)

    def seconds(self, prompt: int, cached: int, completion: int) -> float:
        """Time of a request without noise, in seconds: until the first token, and from the first to the last.

        Args:
            prompt: All prompt tokens.
            cached: Those of them that are read from the cache, which take no time of their own.
            completion: Tokens of the reply.
        """
        first_token = (
            self.overhead_s
            + self.per_token_s * (prompt - cached)
            + self.quadratic_s * (prompt * prompt - cached * cached)
        )
        return first_token + self.inter_token_s * max(0, completion - 1)


PARAMETERS = ("overhead_s", "per_token_s", "quadratic_s", "inter_token_s", "noise_sigma")


def noise_factors(profile: LatencyProfile, seed: int, conversation_id: str, count: int) -> list[float]:
    """What the seconds of a conversation's first `count` requests are multiplied by: log-normal, with mean 1.

    They depend on seed, conversation and request alone, so that modes are compared under the same noise and neither
    the order of the conversations nor the number of modes matters. Python promises the sequence of `Random.random`.
    """
    sigma = profile.noise_sigma
    if not sigma:
        return [1.0] * count
    # surrogatepass: an id may be any JSON string.
    draw = Random(f"latency\0{seed}\0{conversation_id}".encode("utf-8", "surrogatepass")).random  # noqa: S311 - to be drawn again, not secret
    shift = sigma * sigma / 2
    return [exp(sigma * _INV_CDF(draw() or _LEAST) - shift) for _ in range(count)]


def profile_names() -> list[str]:
    """The names of the built-in profiles, sorted."""
    files = (file.name for file in data_file(_FOLDER).iterdir())
    return sorted(name.removesuffix(EXTENSION) for name in files if name.endswith(EXTENSION))


def find_profile(name: str) -> LatencyProfile:
    """The built-in profile of that name, or the one in a file.

    Args:
        name: A name, or a path that ends in `.toml`.

    Raises:
        CtxmodeError: There is no such profile, or what the file says is none; the message names file and key.
    """
    if name.lower().endswith(EXTENSION):
        with system_errors("the latency profile cannot be read", where=name):
            return _parse(Path(name).read_bytes(), name, name)
    known = profile_names()
    if name not in known:
        close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        suggestion = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        hint = f"{suggestion}; a profile of your own is a file that ends in {EXTENSION}"
        raise CtxmodeError(f'the latency profile "{name}" is unknown', hint=hint)
    return _parse(data_file(f"{_FOLDER}/{name}{EXTENSION}").read_bytes(), name, f"{name}{EXTENSION}")


def as_toml(profile: LatencyProfile) -> str:
    """The file that `find_profile` reads the profile from."""
    values = {field.name: getattr(profile, field.name) for field in fields(profile) if field.name != "name"}
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: float | str) -> str:
    """A value in TOML, whose text in quotes is that of JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse(content: bytes, name: str, where: str) -> LatencyProfile:
    try:
        table = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or nested without end
        raise CtxmodeError(f"the latency profile is not TOML: {error}", where=where) from None
    _check(table, where)
    return LatencyProfile(name=name, **table)


def _check(table: Mapping[str, Any], where: str) -> None:
    """Refuse what is missing, unknown, or of another type than its field."""
    known = {field.name: field for field in fields(LatencyProfile) if field.name != "name"}
    for key, value in table.items():
        if key not in known:
            raise CtxmodeError(
                f'a latency profile has no "{key}"', where=where, hint=f"its keys are {', '.join(known)}"
            )
        numeric = key in PARAMETERS
        if type(value) not in ((int, float) if numeric else (str,)):
            expected = "a number" if numeric else "text in quotes"
            raise CtxmodeError(f'"{key}" is {expected}, not {value!r}', where=where)
    missing = [key for key, field in known.items() if field.default is MISSING and key not in table]
    if missing:
        raise CtxmodeError(f"the latency profile has no {' and no '.join(missing)}", where=where)
