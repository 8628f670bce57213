"""`ctxmode models`: the models whose tokens can be counted."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ctxmode_cli.tokens.images import ImageRule
    from ctxmode_cli.tokens.models import Model


class OutputFormat(StrEnum):
    """The forms of the list."""

    TABLE = "table"
    JSON = "json"


def models(
    output_format: Annotated[OutputFormat, typer.Option("--format", help="Form of the list.")] = OutputFormat.TABLE,
) -> None:
    """List the models: encoding, context window, image rule. Dated snapshots of each are known as well."""
    from ctxmode_cli.tokens.models import find_model, model_names, table_date

    found = [find_model(name) for name in model_names()]
    if output_format is OutputFormat.JSON:
        entries = {model.name: _entry(model) for model in found}
        result = {"format": 1, "date": table_date(), "models": entries}
        sys.stdout.write(json.dumps(result, indent=2, sort_keys=True) + "\n")
    else:
        _print_table(found, table_date())


def _entry(model: "Model") -> dict[str, object]:
    return {"encoding": model.encoding, "window": model.window, "images": _rule_text(model.image_rule)}


def _print_table(found: "list[Model]", date: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "encoding", title=f"Models, as of {date}", title_justify="left")
    table.add_column("window (tokens)", justify="right")
    table.add_column("an image is")
    for model in found:
        table.add_row(model.name, model.encoding, f"{model.window:,}", _rule_text(model.image_rule) or "unknown")
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200, markup=False, highlight=False).print(table)


def _rule_text(rule: "ImageRule | None") -> str | None:
    return None if rule is None else str(rule)
