"""Figures as people read them, alike in every report."""

from fractions import Fraction


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural where it is one: `1 request`, `2 requests`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float | Fraction) -> str:
    """A share in per cent with one decimal; never 100 % for less than all, never 0 % for more than none."""
    text = f"{float(share):.1%}"
    if text == "100.0%" and share < 1:
        return "99.9%"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return text
