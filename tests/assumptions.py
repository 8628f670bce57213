"""Prices, a cache rule and a latency profile of round figures, for tests that do not care, or that count by hand."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from ctxmode_cli.simulate.cache_rules import CacheRule
from ctxmode_cli.simulate.charges import Provider, Simulation
from ctxmode_cli.simulate.latency import LatencyProfile
from ctxmode_cli.simulate.prices import Price, PriceTier

PRICE = Price("any", "", (PriceTier(0, Decimal(3), Decimal(15)),), "made up", "2026-01-01", own=True)
"""USD per million tokens."""
RULE = CacheRule("made-up", minimum=10, read=Decimal("0.1"), write=Decimal("1.25"), source="made up")
PROFILE = LatencyProfile("made-up", overhead_s=0.5, per_token_s=0.001, inter_token_s=0.01)
MODELS = ("gpt-4o", "gpt-4o-mini", "gpt-4-turbo")


def simulation(**changed: Any) -> Simulation:
    """Every model at the same price, by the same rule, without noise."""
    provider = Provider.of(PRICE, RULE)
    return replace(Simulation("gpt-4o", dict.fromkeys(MODELS, provider), PROFILE), **changed)
