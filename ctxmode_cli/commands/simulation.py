"""What a replaying command assumes of provider and service, put together from its options and the config file."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from typing import Any

from ctxmode_cli.commands.config_file import ConfigFile
from ctxmode_cli.commands.live import card_models, summarising_models
from ctxmode_cli.commands.options import ReplayOptions
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.cache_rules import find_cache_rule, own_cache_rules
from ctxmode_cli.simulate.charges import Provider, Simulation
from ctxmode_cli.simulate.latency import find_profile
from ctxmode_cli.simulate.prices import find_price, own_prices


def simulation_of(
    model: str, configs: Collection[ContextConfig], options: ReplayOptions, file: ConfigFile
) -> Simulation:
    """The simulation of requests to `model` and of the calls that the modes make beside them.

    Raises:
        CtxmodeError: A rule, a profile or a date is unknown, a card is asked for that no mode keeps, or the config file has a faulty price or rule.
    """
    return Simulation(
        model=model,
        providers=providers_of({model, *summarising_models(configs), *card_models(configs, options)}, options, file),
        profile=find_profile(options.latency_profile),
        seed=options.seed,
        warm_system=options.cache_scope == "shared",
        think_time_s=options.think_time,
    )


def providers_of(models: Iterable[str], options: ReplayOptions, file: ConfigFile) -> dict[str, Provider]:
    """What calls to these models are charged by.

    Raises:
        CtxmodeError: A rule or a date is unknown, or the config file has a faulty price or rule.
    """
    rules, prices = own_cache_rules(file.cache_rules, file.where), own_prices(file.prices, file.where)
    when = _date(options.price_date)
    return {
        name: Provider.of(find_price(name, when, prices), find_cache_rule(options.cache_rules, name, rules))
        for name in models
    }


def described(simulation: Simulation) -> dict[str, Any]:
    """All that costs and latencies rest on, as JSON: figures of one's own cannot be looked up anywhere else."""
    return {
        "providers": {model: _described(provider) for model, provider in simulation.providers.items()},
        "latency_profile": asdict(simulation.profile),
        "cache_scope": "shared" if simulation.warm_system else "session",
        "think_time_s": simulation.think_time_s,
    }


def _described(provider: Provider) -> dict[str, Any]:
    tiers = [] if provider.rates is None else [_plain(asdict(tier)) for tier in provider.rates.tiers]
    return {"usd_per_token": tiers, "cache_rule": _plain(asdict(provider.rule))}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Money and factors as text, to the last digit."""
    return {key: f"{value:f}" if isinstance(value, Decimal) else value for key, value in values.items()}


def _date(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CtxmodeError(f'--price-date is "{text}"', hint="a day is written as 2026-11-30") from None
