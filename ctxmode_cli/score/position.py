"""How likely a model uses a fact, by where in the prompt it stands: named position-and-length profiles."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.profiles import DESCRIPTION, LIST, NUMBER, ProfileFiles, check_table

_KIND = "position profile"
_FILES = ProfileFiles(_KIND, "score/position", DESCRIPTION | {"length": LIST})
_LENGTH_KEYS = {"prompt_tokens": NUMBER, "position": LIST, "use": LIST}


USE_UNITS = 1_000_000


class Place(NamedTuple):
    """Where a fact stands in a prompt."""

    position: float
    """Tokens before the message or note that holds it, over all prompt tokens; 0 for the head."""
    use: float
    """How likely a model uses it there, from 0 to 1."""

    @property
    def units(self) -> int:
        """The same in whole millionths, which are added up: so sums are exact in any order."""
        return round(self.use * USE_UNITS)


class Curve(NamedTuple):
    """Use probability by position, in prompts of one length: linear between the knots, held outside."""

    positions: tuple[float, ...]
    """Knots, rising: shares of the prompt's tokens that come before the fact."""
    use: tuple[float, ...]
    """Probabilities at the knots."""

    def at(self, position: float) -> float:
        """The probability that a fact at `position` is used."""
        positions, use = self
        after = bisect_right(positions, position)
        if after == 0 or after == len(positions):
            return use[after - (after > 0)]
        start, stop = positions[after - 1], positions[after]
        share = (position - start) / (stop - start)
        return use[after - 1] * (1 - share) + use[after] * share


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

    def place(self, before: int, prompt_tokens: int) -> Place:
        """The place behind `before` of the prompt's tokens.

        Between the known lengths use is linear in the length; outside it is that of the nearest one.
        """
        position = before / prompt_tokens
        after = bisect_right(self.lengths, prompt_tokens)
        if after == 0 or after == len(self.lengths):
            return Place(position, self.curves[after - (after > 0)].at(position))
        start, stop = self.lengths[after - 1], self.lengths[after]
        share = (prompt_tokens - start) / (stop - start)
        shorter, longer = self.curves[after - 1].at(position), self.curves[after].at(position)
        return Place(position, shorter * (1 - share) + longer * share)


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
