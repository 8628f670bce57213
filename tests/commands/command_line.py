"""A run of the command line, as the fixture `ctxmode` makes it."""

from collections.abc import Callable
from typing import NamedTuple


class Result(NamedTuple):
    """What a run printed, and its exit code."""

    code: int | str | None
    out: str
    err: str


Ctxmode = Callable[..., Result]
