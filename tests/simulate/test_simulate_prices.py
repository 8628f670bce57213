"""Prices: figures worked out by hand, the library's own arithmetic, and the errors of one's own prices."""

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.simulate.cache_rules import CacheRule, find_cache_rule
from ctxmode_cli.simulate.prices import PriceTier, _library, find_price, own_prices, price_source, price_table_date
from ctxmode_cli.simulate.rates import Usage
from ctxmode_cli.tokens.models import model_names

OWN = """
[golden]
input = 3.0
output = 15.0
[private]
input = 1
output = 2
tiers = [{ above = 1000, input = 3, output = 4 }]
[negotiated]
input = 2
output = 8
cached_input = 0.3
cache_write = 2.2
[gpt-4o]
input = 2
output = 8
"""
GOLDEN_RULE = CacheRule("golden", 1024, read=Decimal("0.1"), write=Decimal("1.25"), match="breakpoint")
NO_CACHE = find_cache_rule("none", "")


def read(text: str) -> Mapping[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def cost(
    model: str, tokens: tuple[int, int, int], rule: str | CacheRule = "auto", when: date | None = None, *, own: str = ""
) -> Decimal:
    """USD of a request with so many prompt, cached and completion tokens."""
    price = find_price(model, when, own_prices(read(own), "ctxmode.toml"))
    assert price is not None
    found = find_cache_rule(rule, model) if isinstance(rule, str) else rule
    rates = price.rates(found)
    prompt, cached, completion = tokens
    usage = Usage.of_call(prompt, cached, completion, writes=found.writes(prompt))
    return rates.cost(usage, rates.tier(prompt))


@pytest.mark.parametrize(
    ("model", "tokens", "usd"),
    [
        # 10,000 x 2.50 + 500 x 10
        ("gpt-4o", (10_000, 0, 500), "0.030000"),
        # 1,936 x 2.50 + 8,064 x 1.25 + 500 x 10 = 4,840 + 10,080 + 5,000
        ("gpt-4o", (10_000, 8_064, 500), "0.019920"),
        # a snapshot is priced as its model: the same again
        ("gpt-4o-2024-08-06", (10_000, 8_064, 500), "0.019920"),
        # 128 x 0.15 + 1,920 x 0.075 + 100 x 0.60 = 19.2 + 144 + 60
        ("gpt-4o-mini", (2_048, 1_920, 100), "0.0002232"),
        # 48,800 x 2 + 51,200 x 0.50 + 1,000 x 8 = 97,600 + 25,600 + 8,000
        ("gpt-4.1", (100_000, 51_200, 1_000), "0.131200"),
        # 1 x 0.10 + 1 x 0.40
        ("gpt-4.1-nano", (1, 0, 1), "0.0000005"),
        # 32 x 1.25 + 19,968 x 0.125 + 1,000 x 10 = 40 + 2,496 + 10,000
        ("gpt-5", (20_000, 19_968, 1_000), "0.012536"),
        # exactly at the limit: 272,000 x 2.50 + 1,000 x 15 = 680,000 + 15,000
        ("gpt-5.4", (272_000, 0, 1_000), "0.695000"),
        # one above, and all of it is dearer: 272,001 x 5 + 1,000 x 22.50 = 1,360,005 + 22,500
        ("gpt-5.4", (272_001, 0, 1_000), "1.382505"),
        # 99,936 x 5 + 200,064 x 0.50 + 2,000 x 22.50 = 499,680 + 100,032 + 45,000
        ("gpt-5.4", (300_000, 200_064, 2_000), "0.644712"),
        # what is not read is written: 10,000 x 5 + 100 x 20
        ("gpt-5.6", (10_000, 0, 100), "0.052000"),
        # 1,000 x 5 + 9,000 x 0.40 + 100 x 20 = 5,000 + 3,600 + 2,000
        ("gpt-5.6", (10_000, 9_000, 100), "0.010600"),
        # too short to be written: 1,023 x 4 + 10 x 20 = 4,092 + 200
        ("gpt-5.6", (1_023, 0, 10), "0.004292"),
        # written above the limit: 272,001 x 0.50 + 10 x 1.80 = 136,000.5 + 18
        ("gpt-5.6-luna", (272_001, 0, 10), "0.1360185"),
        # no cache: 1,000 x 30 + 100 x 60
        ("gpt-4", (1_000, 0, 100), "0.036000"),
        # 1,000 x 15 + 1,000 x 120
        ("gpt-5-pro", (1_000, 0, 1_000), "0.135000"),
        # 4,000 x 3.75 + 6,000 x 0.30 + 100 x 15 = 15,000 + 1,800 + 1,500
        ("claude-sonnet-4-6", (10_000, 6_000, 100), "0.018300"),
        # read at a twentieth: 4,000 x 2.50 + 6,000 x 0.10 + 100 x 10 = 10,000 + 600 + 1,000
        ("claude-sonnet-5-5", (10_000, 6_000, 100), "0.011600"),
        # off-peak at noon UTC, read as the price table says: 360 x 0.15 + 640 x 0.003 = 54 + 1.92
        ("deepseek-v4-flash", (1_000, 640, 0), "0.00005592"),
        # 200,000 x 1.25, and one more: 200,001 x 2.50
        ("gemini-2.5-pro", (200_000, 0, 0), "0.250000"),
        ("gemini-2.5-pro", (200_001, 0, 0), "0.5000025"),
    ],
)
def test_requests(model: str, tokens: tuple[int, int, int], usd: str) -> None:
    """A request costs what the provider's price list says, under the rule of its model."""
    assert cost(model, tokens) == Decimal(usd)


@pytest.mark.parametrize(
    ("model", "when", "tokens", "usd"),
    [
        # 1,000 x 10 + 100 x 40, and from the day of the cut on 1,000 x 2 + 100 x 8
        ("o3", date(2025, 6, 9), (1_000, 0, 100), "0.014000"),
        ("o3", date(2025, 6, 10), (1_000, 0, 100), "0.002800"),
        # 10,000 x 6.25 + 100 x 30 = 62,500 + 3,000
        ("gpt-5.6", date(2026, 8, 20), (10_000, 0, 100), "0.065500"),
        # the tier that was given up: 4,000 x 7.50 + 246,000 x 0.60 = 30,000 + 147,600; then 4,000 x 3.75 + 246,000 x 0.30
        ("claude-sonnet-4-6", date(2026, 3, 12), (250_000, 246_000, 0), "0.177600"),
        ("claude-sonnet-4-6", date(2026, 3, 13), (250_000, 246_000, 0), "0.088800"),
    ],
)
def test_older_requests(model: str, when: date, tokens: tuple[int, int, int], usd: str) -> None:
    """A request costs what it cost on its day."""
    assert cost(model, tokens, when=when) == Decimal(usd)


@pytest.mark.parametrize(
    ("model", "rule", "tokens", "usd"),
    [
        # 1,000 x 3 x 1.25 + 4,000 x 3 x 0.1 + 396 x 15 = 3,750 + 1,200 + 5,940
        ("golden", GOLDEN_RULE, (5_000, 4_000, 396), "0.010890"),
        # exactly at the limit: 1,000 x 1 + 10 x 2; one above: 1,001 x 3 + 10 x 4
        ("private", "none", (1_000, 0, 10), "0.001020"),
        ("private", "none", (1_001, 0, 10), "0.003043"),
        # a factor is of the tier's own input price: 1,000 x 3 x 1.25 + 4,000 x 3 x 0.1 = 3,750 + 1,200
        ("private", GOLDEN_RULE, (5_000, 4_000, 0), "0.004950"),
        # one's own figures are before the rule's factors: 1,000 x 2.20 + 4,000 x 0.30 (not 2,500 + 800)
        ("negotiated", GOLDEN_RULE, (5_000, 4_000, 0), "0.003400"),
        # without a cache all of it is input: 5,000 x 2
        ("negotiated", "none", (5_000, 4_000, 0), "0.010000"),
        # one's own price is before the library's, which would read at 1.25: 1,936 x 2 + 8,064 x 2 x 0.5
        ("gpt-4o", "auto", (10_000, 8_064, 0), "0.011936"),
        # a rule that leaves reading to the price, which has no figure: all of it is input
        ("golden", CacheRule("bare", 0), (5_000, 4_000, 0), "0.015000"),
    ],
)
def test_own_prices(model: str, rule: str | CacheRule, tokens: tuple[int, int, int], usd: str) -> None:
    """One's own prices have the same tiers and cache as the library's; their own figures come first."""
    assert cost(model, tokens, rule, own=OWN) == Decimal(usd)


def test_lifetime_of_an_hour_is_written_at_twice_the_price() -> None:
    """The rule's factor is before the library's figure: 4,000 x 6 + 6,000 x 0.30 + 100 x 15."""
    assert cost("claude-sonnet-4-6", (10_000, 6_000, 100), "anthropic-1h") == Decimal("0.0273")


def test_many_small_requests() -> None:
    """A thousand requests of 100 x 0.15 + 10 x 0.60 = 21 millionths add up to the digit."""
    assert sum(cost("gpt-4o-mini", (100, 0, 10)) for _ in range(1_000)) == Decimal("0.021")


@pytest.mark.parametrize(
    ("price", "rate"), [("0.000001", 0), ("0.000003", 2), ("0.000005", 2), ("0.000007", 4), ("0.000004", 2)]
)
def test_rates_are_rounded_to_even(price: str, rate: int) -> None:
    """Half of a price is rounded to whole 10^-12 USD a token: 0.5 to 0, 1.5 and 2.5 to 2, 3.5 to 4."""
    [own] = own_prices(read(f"[m]\ninput = {price}\noutput = 1"), "f").values()
    [tier] = own.rates(CacheRule("half", 0, read=Decimal("0.5"), write=Decimal("0.5"))).tiers
    assert (tier.cached, tier.write) == (Decimal(rate).scaleb(-12), Decimal(rate).scaleb(-12))


amounts = st.integers(0, 1_000_000)


@given(
    st.sampled_from(["gpt-4o", "gpt-4.1-mini", "gpt-5-nano", "gpt-5.4", "gpt-5.6-terra", "o3", "gpt-4", "gpt-5.5-pro"]),
    amounts,
    st.floats(0, 1),
    amounts,
    st.dates(date(2025, 7, 1), date(2026, 11, 30)),
)
def test_cost_is_the_librarys(model: str, prompt: int, share: float, completion: int, when: date) -> None:
    """The library's own arithmetic gives the same cost, whose input tokens include the cached and the written ones."""
    rule = find_cache_rule("auto", model)
    cached = int(prompt * share) if rule.writes(prompt) else 0
    written = prompt - cached if rule.writes(prompt) else 0
    usage = LibraryUsage(
        input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=completion
    )
    noon = datetime(when.year, when.month, when.day, 12, tzinfo=UTC)
    expected = calc_price(usage, model, provider_id="openai", genai_request_timestamp=noon).total_price
    assert cost(model, (prompt, cached, completion), when=when) == expected


def test_price_names_its_origin() -> None:
    """A price says whose it is, from where and of which day; without a day it is the table's."""
    price = find_price("gpt-5.4")
    assert price is not None
    assert (price.provider, price.source, price.date, price.own) == (
        "openai",
        "genai-prices 0.2.3",
        "2026-11-30",
        False,
    )
    assert price.tiers == (
        PriceTier(0, Decimal("2.5"), Decimal(15), Decimal("0.25")),
        PriceTier(272_000, Decimal(5), Decimal("22.5"), Decimal("0.5")),
    )
    earlier = find_price("gpt-5.4", date(2026, 6, 1))
    assert earlier is not None
    assert earlier.date == "2026-06-01"


def test_table_date_is_that_of_the_installed_release() -> None:
    """The day stands beside the release that was taken up on it: an update of the library needs a new day."""
    table = tomllib.loads(data_file("simulate/prices.toml").read_text(encoding="utf-8"))
    assert price_source() == f"genai-prices {table['release']}"
    assert price_table_date() == date(2026, 11, 30)


@pytest.mark.parametrize("model", model_names())
def test_every_countable_model_has_a_price(model: str) -> None:
    """Each model of the table is found at OpenAI, with a price for input and for output."""
    price = find_price(model)
    assert price is not None
    assert price.provider == "openai"
    assert all(tier.input > 0 and tier.output > 0 for tier in price.tiers)


@pytest.mark.parametrize(
    "model", ["my-model", "gpt-4o-foo", "ft:gpt-4o:org::id", "whisper-1", "", "text-embedding-3-small"]
)
def test_unknown_price_is_none(model: str) -> None:
    """What is unknown, or not charged by the token of input and output, has no price, not a price of 0."""
    assert find_price(model) is None


def test_fine_tuned_model_of_ones_own() -> None:
    """A price of one's own is found by exactly its name."""
    own = own_prices(read('["ft:gpt-4o:org::id"]\ninput = 3.75\noutput = 15'), "f")
    assert find_price("ft:gpt-4o:org::id", None, own) is own["ft:gpt-4o:org::id"]
    assert find_price("ft:gpt-4o:org::other", None, own) is None


def test_own_price_keeps_source_and_day() -> None:
    """Source and day are handed on; without a source the price says where it stands."""
    text = "input = 0\noutput = 0.000001\n"
    dated = own_prices(read(f'[m]\n{text}source = "contract"\ndate = "2026-05-01"'), "f")["m"]
    bare = own_prices(read(f"[m]\n{text}date = 2026-05-01"), "f")["m"]
    assert (dated.source, dated.date, dated.own, dated.provider) == ("contract", "2026-05-01", True, "")
    assert (bare.source, bare.date) == ("own price (f: prices.m)", "2026-05-01")
    assert dated.tiers == (PriceTier(0, Decimal(0), Decimal("0.000001")),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m = 3", "f: prices.m: this is a table, not 3"),
        ("[m]\noutput = 1", 'f: prices.m: "input" is missing'),
        ("[m]\ninput = 1", 'f: prices.m: "output" is missing'),
        ("[m]\ninput = 1\noutput = 1\ncache_input = 1", 'f: prices.m: "cache_input" is unknown'),
        ("[m]\ninput = -0.1\noutput = 1", 'f: prices.m: "input" is a number from 0 to 1,000,000, not -0.1'),
        ("[m]\ninput = 1\noutput = 1000001", 'f: prices.m: "output" is a number from 0 to 1,000,000, not 1000001'),
        ("[m]\ninput = nan\noutput = 1", 'f: prices.m: "input" is a number from 0 to 1,000,000, not NaN'),
        ("[m]\ninput = 1\noutput = inf", 'f: prices.m: "output" is a number from 0 to 1,000,000, not Infinity'),
        ("[m]\ninput = 1e999999\noutput = 1", 'f: prices.m: "input" is a number from 0 to 1,000,000, not 1e+999999'),
        ('[m]\ninput = "1"\noutput = 1', 'f: prices.m: "input" is a number, not "1"'),
        ("[m]\ninput = true\noutput = 1", 'f: prices.m: "input" is a number, not true'),
        ("[m]\ninput = 0.0000001\noutput = 1", 'f: prices.m: "input" has more than 6 decimals: 1e-7'),
        (
            "[m]\ninput = 1\noutput = 1\ncache_write = 1e-999999",
            'f: prices.m: "cache_write" has more than 6 decimals: 1e-999999',
        ),
        ("[m]\ninput = 1\noutput = 1\nsource = 1", 'f: prices.m: "source" is text in quotes, not 1'),
        ('[m]\ninput = 1\noutput = 1\ndate = "May"', 'f: prices.m: "date" is a day such as "2026-11-30", not "May"'),
        (
            "[m]\ninput = 1\noutput = 1\ndate = 20260501",
            'f: prices.m: "date" is a day such as "2026-11-30", not 20260501',
        ),
        ("[m]\ninput = 1\noutput = 1\ntiers = 1", 'f: prices.m: "tiers" is a list of tables, not 1'),
        ("[m]\ninput = 1\noutput = 1\ntiers = [1]", "f: prices.m.tiers[1]: this is a table, not 1"),
        ("[m]\ninput = 1\noutput = 1\ntiers = [{ input = 1, output = 1 }]", 'f: prices.m.tiers[1]: "above" is missing'),
        (
            "[m]\ninput = 1\noutput = 1\ntiers = [{ above = 0, input = 1, output = 1 }]",
            'f: prices.m.tiers[1]: "above" is a whole number of at least 1, not 0',
        ),
        (
            "[m]\ninput = 1\noutput = 1\ntiers = [{ above = 9, input = 1, output = 1 }, { above = 9, input = 1, output = 1 }]",
            'f: prices.m.tiers[2]: "above" is 9, not more than the 9 of the tier before it',
        ),
        (
            "[m]\ninput = 1\noutput = 1\ntiers = [{ above = 9, input = 1, output = 1, tiers = [] }]",
            'f: prices.m.tiers[1]: "tiers" is unknown',
        ),
    ],
)
def test_what_is_no_price_is_an_error(text: str, message: str) -> None:
    """An error names file, table and key, and says what is expected there."""
    with pytest.raises(CtxmodeError) as caught:
        own_prices(read(text), "f")
    assert str(caught.value) == message


def test_prices_that_are_no_table_are_an_error() -> None:
    """`prices = 3` is told as well."""
    with pytest.raises(CtxmodeError, match=r"^f: prices: this is a table, not 3$"):
        own_prices(read("prices = 3")["prices"], "f")


def test_similar_key_is_suggested() -> None:
    """The hint names the key that was probably meant, or else all of them."""
    with pytest.raises(CtxmodeError) as caught:
        own_prices(read("[m]\ninput = 1\noutput = 1\ncache_input = 1"), "f")
    assert caught.value.hint == "did you mean cached_input?"
    with pytest.raises(CtxmodeError) as caught:
        own_prices(read("[m]\nzzz = 1"), "f")
    assert caught.value.hint == "the keys are input, output, cached_input, cache_write, source, date, tiers"


def test_prices_need_no_network_and_are_loaded_when_asked_for() -> None:
    """With every socket blocked a price is found; the library is imported no sooner."""
    program = """
import socket, sys
def refuse(*arguments, **options):
    raise AssertionError("a socket was opened")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from ctxmode_cli.simulate.prices import find_price, price_source
assert price_source() and "genai_prices" not in sys.modules
print(find_price("gpt-4o").tiers[0].input, find_price("no-such-model"))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("2.5 None\n", "")


def test_prices_that_a_process_has_fetched_are_not_taken() -> None:
    """What another part of the process set as the library's data changes nothing: a replay is reproducible."""
    set_custom_snapshot(DataSnapshot([], from_auto_update=True))
    _library.cache_clear()
    try:
        assert find_price("gpt-4o") is not None
    finally:
        set_custom_snapshot(None)


def test_rates_without_a_cache() -> None:
    """Without a cache reading and writing cost what input costs, in every tier."""
    price = find_price("gpt-5.6")
    assert price is not None
    assert [(tier.cached, tier.write) for tier in price.rates(NO_CACHE).tiers] == [
        (Decimal("0.000004"), Decimal("0.000004")),
        (Decimal("0.000008"), Decimal("0.000008")),
    ]
