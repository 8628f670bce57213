"""How likely a model uses a fact, by where in the prompt it stands: named position-and-length profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.profiles import DESCRIPTION, LIST, NUMBER, ProfileFiles, check_table

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

_KIND = "position profile"
_FILES = ProfileFiles(_KIND, "score/position", DESCRIPTION | {"length": LIST})
_LENGTH_KEYS = {"prompt_tokens": NUMBER, "position": LIST, "use": LIST}


USE_UNITS = 1_000_000
"""Use probabilities are added up as whole numbers of these, so that sums are exact in any order."""


class Place(NamedTuple):
    """Where a fact stands in a prompt."""

    position: float
    """Tokens before the message or note that holds it, over all prompt tokens; 0 for the head."""
    use: float
    """How likely a model uses it there, from 0 to 1."""


class Curve(NamedTuple):
    """Use probability by position, in prompts of one length: linear between the knots, held outside."""

    positions: tuple[float, ...]
    """Knots, rising: shares of the prompt's tokens that come before the fact."""
    use: tuple[float, ...]
    """Probabilities at the knots."""


@dataclass(frozen=True, slots=True)
class PositionProfile:
    """Use probability by position and length of the prompt."""

    name: str
    """What `find_position_profile` finds it by: the name of a built-in one, or a file."""
    lengths: tuple[float, ...]
    """Prompt tokens that a curve is known for, rising."""
    curves: tuple[Curve, ...]
    """One for each length."""
    source: str = ""
    date: str = ""
    """The day on which the figures were measured, or published (ISO 8601)."""
    note: str = ""
    """What a reader of the figures must know, such as what they were fitted to."""

    def use(self, positions: Floats, prompt_tokens: Ints) -> Floats:
        """How likely a fact is used at each of some positions, in prompts of so many tokens.

        Between the known lengths use is linear in the length; outside it is that of the nearest one.
        """
        lengths, last = np.array(self.lengths), len(self.lengths) - 1
        longer = np.searchsorted(lengths, prompt_tokens, side="right")
        shorter, longer = np.maximum(longer - 1, 0), np.minimum(longer, last)
        gap = np.maximum(lengths[longer] - lengths[shorter], 1)
        share = np.clip((prompt_tokens - lengths[shorter]) / gap, 0, 1)
        use = np.zeros(len(positions))
        for index, curve in enumerate(self.curves):
            weight = np.where(shorter == index, 1 - share, 0) + np.where(longer == index, share, 0)
            [met] = np.nonzero(weight)
            use[met] += weight[met] * np.interp(positions[met], curve.positions, curve.use)
        return use


def position_profile_names() -> list[str]:
    """The names of the built-in profiles, sorted."""
    return _FILES.names()


def find_position_profile(name: str) -> PositionProfile:
    """The built-in profile of that name, or the one in a file.

    A file has a table `[[length]]` for each known length: `prompt_tokens`; `position`, a rising list of shares of the
    prompt from 0 to 1; and `use`, a probability for each of these.

    Args:
        name: A name, or a path that ends in `.toml`.

    Raises:
        CtxmodeError: There is no such profile, or what the file says is none; the message names file and key.
    """
    table, where = _FILES.read(name)
    tables = table.pop("length")
    measured = [_length(entry, f"{where}: length {number}") for number, entry in enumerate(tables, 1)]
    lengths = tuple(tokens for tokens, _ in measured)
    if not _rising(lengths):
        raise CtxmodeError(
            f'the lengths\' "prompt_tokens" do not rise, or there are none: {list(lengths)}', where=where
        )
    return PositionProfile(name, lengths, tuple(curve for _, curve in measured), **table)


def _length(entry: Any, where: str) -> tuple[float, Curve]:
    if not isinstance(entry, Mapping):
        raise CtxmodeError("this is a table, [[length]]", where=where)
    check_table(entry, _LENGTH_KEYS, f"length of a {_KIND}", where)
    tokens, positions, use = entry["prompt_tokens"], entry["position"], entry["use"]
    if not 0 < tokens < float("inf"):  # nor NaN
        raise CtxmodeError(f'"prompt_tokens" is a number above 0, not {tokens}', where=where)
    for key in ("position", "use"):
        for value in entry[key]:
            if type(value) not in NUMBER.types or not 0 <= value <= 1:
                raise CtxmodeError(f'"{key}" holds numbers from 0 to 1, not {value!r}', where=where)
    if not _rising(positions):
        raise CtxmodeError(f'"position" does not rise, or is empty: {positions}', where=where)
    if len(use) != len(positions):
        message = f'"use" has {len(use)} numbers for {len(positions)} positions'
        raise CtxmodeError(message, where=where, hint="each position has its probability")
    return tokens, Curve(tuple(positions), tuple(use))


def _rising(values: Sequence[float]) -> bool:
    """Whether there are any, each above the one before."""
    return bool(values) and all(one < other for one, other in pairwise(values))
