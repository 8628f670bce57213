"""How long a request takes: a named latency profile, and the noise around it."""

import json
from dataclasses import MISSING, dataclass, fields
from math import exp
from random import Random
from statistics import NormalDist

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.profiles import DESCRIPTION, NUMBER, NUMBER_OR_NONE, ProfileFiles

LARGEST = 1000.0
"""No parameter is larger: seconds given in milliseconds are told, and every latency stays finite."""

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
_REQUIRED = {field.name for field in fields(LatencyProfile) if field.default is MISSING}
_FILES = ProfileFiles(
    "latency profile",
    "simulate/latency",
    {key: NUMBER if key in _REQUIRED else NUMBER_OR_NONE for key in PARAMETERS} | DESCRIPTION,
)


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
    return _FILES.names()


def find_profile(name: str) -> LatencyProfile:
    """The built-in profile of that name, or the one in a file.

    Args:
        name: A name, or a path that ends in `.toml`.

    Raises:
        CtxmodeError: There is no such profile, or what the file says is none; the message names file and key.
    """
    table, _ = _FILES.read(name)
    return LatencyProfile(name=name, **table)


def as_toml(profile: LatencyProfile) -> str:
    """The file that `find_profile` reads the profile from."""
    values = {field.name: getattr(profile, field.name) for field in fields(profile) if field.name != "name"}
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: float | str) -> str:
    """A value in TOML, whose text in quotes is that of JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
