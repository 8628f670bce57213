"""What a reader must know of the simulated figures: prices, cache rule and latency profile, with their sources."""

from collections.abc import Iterator
from fractions import Fraction

from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.report.words import counted, percent
from ctxmode_cli.simulate.cache_rules import CacheRule
from ctxmode_cli.simulate.rates import Rates

WARM_SHARE = Fraction(9, 10)
"""From this share of cached prompt tokens on, latency says little of a cold cache."""


def cost_notes(comparison: Comparison) -> Iterator[str]:
    """Each model's price, and how the prompt cache is taken to work."""
    simulation = comparison.simulation
    for model, provider in sorted(simulation.providers.items()):
        if provider.price is None or provider.rates is None:
            yield f"no price of {model} is known, so what it costs is null; [prices] in ctxmode.toml takes one of your own"
            continue
        day = f" of {provider.price.date}" if provider.price.date else ""
        yield f"prices of {model}{day} ({provider.price.source}), USD per million tokens: {_rates(provider.rates)}"
    rule = simulation.providers[comparison.model].rule
    if rule.minimum is None:
        yield f"no prompt cache ({rule.name}{_because(rule.note)}): costs with and without cache are the same"
        return
    start = "the system prompt is always warm" if simulation.warm_system else "each session starts cold"
    yield f"prompt cache by the rule {rule.name} ({_sourced(rule)}), {start}; {_expiry(comparison)}{_because(rule.note)}"


def _rates(rates: Rates) -> str:
    tiers = []
    for tier in rates.tiers:
        figures = (("input", tier.input), ("cached", tier.cached), ("written", tier.write), ("output", tier.output))
        above = f"above {tier.above:,} tokens " if tier.above else ""
        tiers.append(above + ", ".join(f"{name} {(rate * 1_000_000).normalize():f}" for name, rate in figures))
    return "; ".join(tiers)


def _sourced(rule: CacheRule) -> str:
    return ", ".join(part for part in (rule.source, rule.date) if part) or "of your own"


def _because(note: str) -> str:
    return f"; {note}" if note else ""


def _expiry(comparison: Comparison) -> str:
    """What makes an entry expire: the record's times, a given gap, or nothing."""
    lifetime = comparison.simulation.providers[comparison.model].rule.lifetime_s
    if lifetime is None:
        return "nothing expires"
    clocks = comparison.data.clocks
    parts = []
    if clocks["recorded"]:
        parts.append(f"by the times of {counted(clocks['recorded'], 'conversation')}")
    if clocks["think_time"]:
        gap = comparison.simulation.think_time_s
        parts.append(f"by turns {gap:g} s apart in {counted(clocks['think_time'], 'conversation')}")
    warm = f"always warm in {counted(clocks['none'], 'conversation')} without times (--think-time sets a gap)"
    if not parts:
        return warm
    expired = f"entries expire {lifetime:g} s after their last use, {' and '.join(parts)}"
    return f"{expired}; {warm}" if clocks["none"] else expired


def latency_notes(comparison: Comparison) -> Iterator[str]:
    """Which profile the latency is simulated with, and where it says little."""
    profile = comparison.simulation.profile
    if not any(totals.latency_ms.size for totals in comparison.modes.values()):
        yield "latency is null: no request that can be sent has a recorded reply"
        return
    yield f"latency is simulated with the profile {profile.name}{_because(profile.note)}"
    for name, totals in comparison.modes.items():
        share = totals.cached_share
        if share is not None and share >= WARM_SHARE:
            yield f"{name}: {percent(share)} of the prompt tokens are read from the cache, so its latency is that of a warm one"
