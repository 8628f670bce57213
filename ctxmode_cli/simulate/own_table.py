"""Reading a table of the user's own, such as `[prices."my-model"]`, with errors that name file and key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from ctxmode_cli.errors import CtxmodeError


@dataclass(frozen=True, slots=True)
class OwnTable:
    """One table of a TOML file that was parsed with `parse_float=Decimal`; every reader gives None for an absent key.

    Raises:
        CtxmodeError: It is no table, has a key that is unknown, or lacks one that is required.
    """

    values: Mapping[str, Any]
    where: str
    """File and key, such as "ctxmode.toml: prices.my-model"."""
    keys: Sequence[str] | None = None
    """All that may stand in it; None: anything."""
    required: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise self.error(f"this is a table, not {_shown(self.values)}")
        for key in self.values:
            if self.keys is not None and key not in self.keys:
                close = get_close_matches(key, self.keys, n=1)
                hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(self.keys)}"
                raise self.error(f'"{key}" is unknown', hint=hint)
        missing = [key for key in self.required if key not in self.values]
        if missing:
            raise self.error(f'"{missing[0]}" is missing')

    def error(self, message: str, *, hint: str = "") -> CtxmodeError:
        """An error that names this table."""
        return CtxmodeError(message, hint=hint, where=self.where)

    def number(self, key: str, largest: int, decimals: int | None = None) -> Decimal | None:
        """A number from 0 to `largest`, with at most so many decimals."""
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) not in {int, Decimal}:
            raise self.error(f'"{key}" is a number, not {_shown(value)}')
        number = Decimal(value)
        if not (number.is_finite() and 0 <= number <= largest):
            raise self.error(f'"{key}" is a number from 0 to {largest:,}, not {_shown(number)}')
        if decimals is not None and number != round(number, decimals):
            raise self.error(f'"{key}" has more than {decimals} decimals: {_shown(number)}')
        return number

    def whole(self, key: str, least: int) -> int | None:
        """A whole number of at least `least`."""
        value = self.values.get(key)
        if value is None:
            return None
        if type(value) is not int or value < least:
            raise self.error(f'"{key}" is a whole number of at least {least}, not {_shown(value)}')
        return value

    def text(self, key: str, choices: Sequence[str] = ()) -> str | None:
        """A text; one of the choices where there are any."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(f'"{key}" is text in quotes, not {_shown(value)}')
        if choices and value not in choices:
            raise self.error(f'"{key}" is {" or ".join(choices)}, not {_shown(value)}')
        return value

    def flag(self, key: str) -> bool | None:
        """`true` or `false`."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        raise self.error(f'"{key}" is true or false, not {_shown(value)}')

    def day(self, key: str) -> str | None:
        """A day, in ISO 8601; in the file it may stand in quotes or not."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, str | date):
            try:
                return date.fromisoformat(str(value)).isoformat()
            except ValueError:
                pass
        raise self.error(f'"{key}" is a day such as "2026-11-30", not {_shown(value)}')


def _shown(value: object) -> str:
    """A value much as TOML writes it, and not in the words of Python."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal):
        return f"{Decimal(value):.12g}"
    return f'"{value}"' if isinstance(value, str) else str(value)
