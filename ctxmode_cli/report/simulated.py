"""What a reader must know of the simulated figures: prices, cache rule and latency profile, with their sources."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import counted, listed, percent
from ctxmode_cli.simulate.charges import Provider
from ctxmode_cli.simulate.rates import Rates, Tier

WARM_SHARE = Fraction(9, 10)
"""From this share of cached prompt tokens on, latency says little of a cold cache."""
_MILLION = 1_000_000


def unknown_price_notes(comparison: Comparison) -> Iterator[str]:
    """Models whose costs nobody can tell."""
    providers = comparison.simulation.providers
    return unknown_price_note(sorted(model for model, provider in providers.items() if provider.rates is None))


def unknown_price_note(models: Sequence[str]) -> Iterator[str]:
    """That no price of these models is known; nothing where there are none."""
    if models:
        yield (
            f"no price of {listed(models)} is known: costs that take it, and shares of them, are null; [prices] in "
            f"ctxmode.toml takes one of your own"
        )


def cost_notes(comparison: Comparison) -> Iterator[str]:
    """The prices that are known, and how the prompt cache is taken to work."""
    yield from price_notes(comparison.simulation.providers)
    yield _cache_note(comparison)


def price_notes(providers: Mapping[str, Provider]) -> Iterator[str]:
    """The prices that are known, by where they come from."""
    sourced: defaultdict[str, list[str]] = defaultdict(list)
    for model, provider in sorted(providers.items()):
        if provider.price is not None and provider.rates is not None:
            sourced[_sourced(provider.price.source, provider.price.date)].append(f"{model} {_rates(provider.rates)}")
    for source, prices in sourced.items():
        yield f"prices in USD per million tokens ({source}): {'; '.join(prices)}"


def _rates(rates: Rates) -> str:
    return ", ".join(
        (f"above {tier.above:,} tokens " if tier.above else "") + ", ".join(_tier(tier)) for tier in rates.tiers
    )


def _tier(tier: Tier) -> Iterator[str]:
    """The prices of one tier; what costs as much as plain input is not named."""
    prices = (("input", tier.input), ("cached", tier.cached), ("written", tier.write), ("output", tier.output))
    for name, price in prices:
        if name in {"input", "output"} or price != tier.input:
            yield f"{name} {(price * _MILLION).normalize():f}"


def _sourced(*parts: str) -> str:
    return ", ".join(part for part in parts if part) or "your own"


def _cache_note(comparison: Comparison) -> str:
    rule = comparison.simulation.providers[comparison.model].rule
    if rule.minimum is None:
        return f"no prompt cache is simulated (rule {rule.name}): cost with and without cache is the same"
    start = "system prompts are always warm" if comparison.simulation.warm_system else "sessions start cold"
    return (
        f"simulated prompt cache: rule {rule.name} ({_sourced(rule.source, rule.date)}); {start}, "
        f"{_expiry(comparison, rule.lifetime_s)}"
    )


def _expiry(comparison: Comparison, lifetime_s: float | None) -> str:
    """What makes an entry expire: the record's times, a given gap, or nothing."""
    if lifetime_s is None:
        return "nothing expires"
    clocks = comparison.data.clocks
    if not clocks["recorded"] and not clocks["think_time"]:
        return "what was sent stays warm for want of times (--think-time sets a gap)"
    text = f"entries expire {lifetime_s:g} s after their last use"
    if clocks["think_time"]:
        text += f", turns being {comparison.simulation.think_time_s:g} s apart where no times are recorded"
    if clocks["none"]:
        text += f", but never in {counted(clocks['none'], 'conversation')} without times (--think-time sets a gap)"
    return text


def latency_notes(comparison: Comparison) -> Iterator[str]:
    """Which profile the latency is simulated with, and where it says little."""
    profile = comparison.simulation.profile
    without = [name for name, totals in comparison.modes.items() if not totals.latency_ms.size]
    if len(without) < len(comparison.modes):
        yield f"simulated latency: profile {profile.name}" + (f", {profile.note}" if profile.note else "")
    if without:
        yield f"latency is null for {listed(without)}: no request that can be sent has a recorded reply"
    warm = [
        f"{name} ({percent(totals.cached_share)})"
        for name, totals in comparison.modes.items()
        if totals.latency_ms.size and totals.cached_share is not None and totals.cached_share >= WARM_SHARE
    ]
    if warm:
        yield f"latency is that of a warm cache, which nearly all prompt tokens are read from, in {listed(warm)}"
