"""`ctxmode models`: the models whose tokens can be counted."""

from typing import TYPE_CHECKING, Any

from ctxmode_cli.commands.console import write_result
from ctxmode_cli.commands.options import TABLE_OR_JSON
from ctxmode_cli.commands.tables import write_table

if TYPE_CHECKING:
    from ctxmode_cli.simulate.prices import Price, PriceTier


def models(
    output_format: TABLE_OR_JSON = "table",
) -> None:
    """List the models: encoding, image rule, window, prices, cache rule. Dated snapshots of them are known as well."""
    from ctxmode_cli.report.formats import to_json
    from ctxmode_cli.simulate.cache_rules import AUTO, find_cache_rule
    from ctxmode_cli.simulate.prices import find_price, price_source, price_table_date
    from ctxmode_cli.tokens.models import find_model, model_names, table_date

    found = [(find_model(name), find_price(name), find_cache_rule(AUTO, name)) for name in model_names()]
    if output_format == "json":
        entries = {
            model.name: {
                "encoding": model.encoding,
                "window": model.window,
                "images": str(model.image_rule) if model.image_rule else None,
                "prices": [_price_entry(tier) for tier in price.tiers] if price else None,
                "cache_rule": rule.name,
            }
            for model, price, rule in found
        }
        prices = {"source": price_source(), "date": str(price_table_date()), "unit": "USD per million tokens"}
        write_result(to_json({"format": 1, "date": table_date(), "prices": prices, "models": entries}) + "\n")
        return
    rows = (
        (
            model.name,
            model.encoding,
            str(model.image_rule or "unknown"),
            rule.name,
            f"{model.window:,}",
            *_price_cells(price),
        )
        for model, price, rule in found
    )
    columns = ("model", "encoding", "tokens of an image", "cache rule", "window (tokens)", "input", "cached", "output")
    title = (
        f"Models as of {table_date()}; USD per million tokens of short requests: {price_source()}, {price_table_date()}"
    )
    write_table(title, columns, rows, left=4)


def _price_entry(tier: "PriceTier") -> dict[str, Any]:
    prices = {"input": tier.input, "output": tier.output, "cached_input": tier.cached, "cache_write": tier.write}
    return {"above": tier.above} | {key: None if price is None else float(price) for key, price in prices.items()}


def _price_cells(price: "Price | None") -> tuple[str, str, str]:
    """Input, cached input and output, in the tier of short requests."""
    if price is None:
        return ("unknown",) * 3
    tier = price.tiers[0]
    return f"{tier.input:f}", "none" if tier.cached is None else f"{tier.cached:f}", f"{tier.output:f}"
