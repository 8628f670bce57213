"""`ctxmode models`: the models whose tokens can be counted."""

from typing import Annotated, Literal

import typer

from ctxmode_cli.commands.console import write_result
from ctxmode_cli.commands.tables import write_table


def models(
    output_format: Annotated[
        Literal["table", "json"], typer.Option("--format", help="Form of the result on stdout.")
    ] = "table",
) -> None:
    """List the models: encoding, context window, image rule. Dated snapshots of them are known as well."""
    from ctxmode_cli.report.formats import to_json
    from ctxmode_cli.tokens.models import find_model, model_names, table_date

    found = [find_model(name) for name in model_names()]
    if output_format == "json":
        entries = {
            model.name: {
                "encoding": model.encoding,
                "window": model.window,
                "images": str(model.image_rule) if model.image_rule else None,
            }
            for model in found
        }
        write_result(to_json({"format": 1, "date": table_date(), "models": entries}) + "\n")
        return
    rows = ((model.name, model.encoding, str(model.image_rule or "unknown"), f"{model.window:,}") for model in found)
    columns = ("model", "encoding", "tokens of an image", "window (tokens)")
    write_table(f"Models as of {table_date()}", columns, rows, left=3)
