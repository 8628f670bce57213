"""Figures as people read them, alike in every report."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

_LEADING = 3
"""Leading digits of a small amount of money that are shown."""


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural where it is one: `1 request`, `2 requests`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(words: Sequence[str]) -> str:
    """Words as one reads them out: `a`, `a and b`, `a, b and c`."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def percent(share: float | Fraction | Decimal) -> str:
    """A share in per cent with one decimal; never 100 % for less than all, never 0 % for more than none."""
    text = f"{float(share):.1%}"
    if text == "100.0%" and share < 1:
        return "99.9%"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return text


def usd(amount: Decimal | Fraction | float, decimals: int | None = None) -> str:
    """Money in dollars, with the decimals that it takes by itself, or with those that its neighbours have."""
    return f"${float(amount):,.{usd_decimals(amount) if decimals is None else decimals}f}"


def usd_decimals(amount: Decimal | Fraction | float) -> int:
    """Decimals of an amount: cents from one dollar on, below that three leading digits, so that only 0 looks like 0."""
    value = float(amount)
    if not value or value >= 1:
        return 2
    return max(2, _LEADING - 1 - Decimal(value).adjusted())


def seconds(value: float) -> str:
    """A latency: two decimals, as the profiles are no finer."""
    return f"{value:.2f} s"
