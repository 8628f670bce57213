"""Figures as people read them, alike in every report."""

from fractions import Fraction


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural where it is one: `1 request`, `2 requests`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float | Fraction, digits: int = 1) -> str:
    """A share in per cent with so many decimals; never 100 % for less than all, never 0 % for more than none."""
    text = f"{float(share):.{digits}%}"
    least = 10**-digits
    if text == f"{1:.{digits}%}" and share < 1:
        return f"{100 - least:.{digits}f}%"
    if text == f"{0:.{digits}%}" and share > 0:
        return f"<{least:g}%"
    return text
