"""What a model's tokens cost: the dated prices of a library, or one's own."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.cache_rules import CacheRule
from ctxmode_cli.simulate.own_table import OwnTable
from ctxmode_cli.simulate.rates import Rates, Tier
from ctxmode_cli.tokens.models import find_model

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelPrice, TieredPrices

LARGEST = 1_000_000
"""USD per million tokens; no price of one's own is higher, so that every sum stays exact."""

_MILLION = Decimal(1_000_000)
_STEP = Decimal("1E-12")
"""USD; every rate per token is a whole number of these."""
_DECIMALS = 6
"""Of a price per million tokens, which makes a rate per token a whole number of steps."""
_LIBRARY = "genai-prices"
_TIER_KEYS = ("input", "output", "cached_input", "cache_write")


class PriceTier(NamedTuple):
    """Prices of requests of one size, in USD per million tokens."""

    above: int
    """Holds for requests with more prompt tokens than this, up to the next tier's."""
    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    """A token read from the provider's cache; None: no such price is known."""
    write: Decimal | None = None
    """A token written to it, likewise."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one model's tokens cost; fees for a request, a search or another tool are not in it."""

    model: str
    provider: str
    """Whose price it is, as the library calls it; "" for one's own."""
    tiers: tuple[PriceTier, ...]
    """In rising order; the first is above 0."""
    source: str
    date: str
    """The day for which it holds (ISO 8601); "" where one's own has none."""
    own: bool = False
    """Whether the user stated it."""

    def rates(self, rule: CacheRule) -> Rates:
        """USD per token with a provider's cache rule, rounded half to even to 10^-12 USD.

        What reading and writing cost is, in this order: a figure of one's own price, the rule's factor of the input
        price, the library's figure, the input price. Without a cache both cost the input price.
        """
        return Rates(tuple(self._rates_of(tier, rule) for tier in self.tiers))

    def _rates_of(self, tier: PriceTier, rule: CacheRule) -> Tier:
        return Tier(
            above=tier.above,
            input=_per_token(tier.input),
            cached=_per_token(self._cache_price(tier.input, tier.cached, rule.read, rule)),
            write=_per_token(self._cache_price(tier.input, tier.write, rule.write, rule)),
            output=_per_token(tier.output),
        )

    def _cache_price(self, plain: Decimal, figure: Decimal | None, factor: Decimal | None, rule: CacheRule) -> Decimal:
        if rule.minimum is None:
            return plain
        if factor is None or (self.own and figure is not None):
            return plain if figure is None else figure
        return plain * factor


def _per_token(price: Decimal) -> Decimal:
    return (price / _MILLION).quantize(_STEP, ROUND_HALF_EVEN)


def find_price(model: str, when: date | None = None, own: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model, one's own before the library's; None where it is unknown, which is never a price of 0.

    The library's data are those in the installed package; nothing is fetched. A name of the model table is looked up
    at OpenAI, any other one where the library finds it; a fine-tuned model ("ft:gpt-4o:…") is known only where the
    library, or an own price of exactly that name, has it. Where a price changes with the hour, that of noon UTC is
    taken.

    Args:
        model: As it is named in a request.
        when: Day of the request; None is `price_table_date()`.
        own: What `own_prices` read.
    """
    if own and model in own:
        return own[model]
    when = when or price_table_date()
    try:
        provider, entry = _library().find_provider_model(model, None, _provider(model), None)
    except LookupError:
        return None
    tiers = _library_tiers(entry.get_prices(datetime.combine(when, time(12), UTC)))
    if tiers is None:
        return None
    return Price(model, provider.id, tiers, price_source(), when.isoformat())


def _provider(model: str) -> str | None:
    try:
        find_model(model)
    except CtxmodeError:
        return None
    return "openai"


@cache
def _library() -> "DataSnapshot":
    # Not `get_snapshot()`: that may be one which another part of the process has fetched.
    from genai_prices.data import providers  # noqa: PLC0415 - a third of a second, for who asks for a price
    from genai_prices.data_snapshot import DataSnapshot  # noqa: PLC0415 - likewise

    return DataSnapshot(providers, from_auto_update=False)


def _library_tiers(price: "ModelPrice") -> tuple[PriceTier, ...] | None:
    """None where input or output is not charged by the token, as for images or speech."""
    base, output = price.input_mtok, price.output_mtok
    if base is None or output is None:
        return None
    cached, write = price.cache_read_mtok, price.cache_write_mtok
    tiered = [unit for unit in (base, output, cached, write) if unit is not None and not isinstance(unit, Decimal)]
    starts = {0, *(tier.start for unit in tiered for tier in unit.tiers)}
    return tuple(
        PriceTier(
            start,
            _price_above(base, start),
            _price_above(output, start),
            None if cached is None else _price_above(cached, start),
            None if write is None else _price_above(write, start),
        )
        for start in sorted(starts)
    )


def _price_above(unit: "Decimal | TieredPrices", start: int) -> Decimal:
    """What a unit costs in requests of more than `start` prompt tokens; one without tiers keeps its price."""
    if isinstance(unit, Decimal):
        return unit
    return next((tier.price for tier in reversed(unit.tiers) if tier.start <= start), unit.base)


def price_source() -> str:
    """Where prices come from that are not one's own, such as "genai-prices 0.2.3"."""
    return f"{_LIBRARY} {version(_LIBRARY)}"


@cache
def price_table_date() -> date:
    """The day whose prices are meant where no other is named.

    The library dates the changes of a price, some of them still to come, but not its table; so this is the day on
    which its release was taken up here.
    """
    table = tomllib.loads(data_file("simulate/prices.toml").read_text(encoding="utf-8"))
    return date.fromisoformat(table["date"])


def own_prices(table: Mapping[str, Any], where: str) -> dict[str, Price]:
    """Prices of one's own, by model.

    Args:
        table: `[prices]`, parsed with `parse_float=Decimal`: by model `input` and `output`, maybe `cached_input` and
            `cache_write`, in USD per million tokens; `source`, `date`; `tiers`, each with `above` (prompt tokens) and
            prices of its own for longer requests.
        where: The file, for errors.

    Raises:
        CtxmodeError: Something of it is no price; the place names file, table and model.
    """
    whole = OwnTable(table, f"{where}: prices")
    return {model: _own_price(model, entry, f"{whole.where}.{model}") for model, entry in whole.values.items()}


def _own_price(model: str, entry: Any, where: str) -> Price:
    table = OwnTable(entry, where, keys=(*_TIER_KEYS, "source", "date", "tiers"), required=("input", "output"))
    entries = table.values.get("tiers", [])
    if not isinstance(entries, list):
        raise table.error(f'"tiers" is a list of tables, not {entries}')
    tiers = [_own_tier(table, 0)]
    for number, tier in enumerate(entries, start=1):
        place = OwnTable(tier, f"{where}.tiers[{number}]", ("above", *_TIER_KEYS), ("above", "input", "output"))
        above = place.whole("above", least=1) or 0
        if above <= tiers[-1].above:
            raise place.error(f'"above" is {above:,}, not more than the {tiers[-1].above:,} of the tier before it')
        tiers.append(_own_tier(place, above))
    source = table.text("source") or f"own price ({where})"
    return Price(model, "", tuple(tiers), source, table.day("date") or "", own=True)


def _own_tier(table: OwnTable, above: int) -> PriceTier:
    plain, output, cached, write = (table.number(key, LARGEST, _DECIMALS) for key in _TIER_KEYS)
    # Neither of the two required ones is missing: what is falsy is 0.
    return PriceTier(above, plain or Decimal(0), output or Decimal(0), cached, write)
