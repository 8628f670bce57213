"""The last line of a comparison: which mode is cheapest among those that keep the facts."""

from fractions import Fraction

from ctxmode_cli.replay.results import Comparison

KEEPS_FACTS = Fraction(95, 100)
"""A mode keeps the facts where its recall in context is at least this share of the best mode's."""


def answer(comparison: Comparison) -> str:
    """One sentence to decide by; a mode with unsendable requests is never named without their number."""
    modes = comparison.modes
    sendable = [name for name, totals in modes.items() if totals.prompt_tokens.size]
    if not sendable:
        return "No mode can send any of these requests within its budget."
    cheapest = min(sendable, key=lambda name: _mean(comparison, name))
    if len(sendable) == 1:
        return f"{_named(comparison, cheapest)} sends {_mean(comparison, cheapest):,.0f} tokens a request{_kept(comparison, cheapest)}."
    recalls = {name: value for name in sendable if (value := modes[name].recall.value) is not None}
    if not recalls:
        return (
            f"{_named(comparison, cheapest)} sends the fewest tokens{_against(comparison, cheapest)}; without labelled "
            f"facts nothing says what it loses."
        )
    best = max(recalls.values())
    keepers = [name for name, value in recalls.items() if value and value >= KEEPS_FACTS * best]
    if not keepers:
        return "No mode has any of the facts in context."
    chosen = min(keepers, key=lambda name: _mean(comparison, name))
    among = f"of the modes that keep the facts (at least {float(KEEPS_FACTS):.0%} of the best recall in context)"
    text = f"{_named(comparison, chosen)} sends the fewest tokens {among}{_against(comparison, chosen)}"
    return f"{text}{_kept(comparison, chosen)}{_next(comparison, chosen, recalls)}."


def _mean(comparison: Comparison, name: str) -> float:
    return float(comparison.modes[name].prompt_tokens.mean or 0)


def _named(comparison: Comparison, name: str) -> str:
    unsendable = comparison.modes[name].unsendable.total()
    return f"{name} ({unsendable} requests unsendable)" if unsendable else name


def _against(comparison: Comparison, name: str) -> str:
    mean = _mean(comparison, name)
    baseline = _mean(comparison, comparison.baseline)
    if name == comparison.baseline or not baseline:
        return f": {mean:,.0f} a request"
    return f": {mean:,.0f} a request, {mean / baseline:.0%} of {comparison.baseline}'s {baseline:,.0f}"


def _kept(comparison: Comparison, name: str) -> str:
    value = comparison.modes[name].recall.value
    return "" if value is None else f", with {float(value):.1%} of the facts in context"


def _next(comparison: Comparison, chosen: str, recalls: dict[str, Fraction]) -> str:
    """What the next cheaper mode would lose, where there is one."""
    cheaper = [name for name in recalls if _mean(comparison, name) < _mean(comparison, chosen)]
    if not cheaper:
        return ""
    name = max(cheaper, key=recalls.__getitem__)
    return (
        f"; {_named(comparison, name)} sends {_mean(comparison, name):,.0f} but keeps only {float(recalls[name]):.1%}"
    )
