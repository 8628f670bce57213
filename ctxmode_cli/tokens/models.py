"""The models whose tokens can be counted: encoding, context window, image rule and tool rule of each."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from typing import Any

import tiktoken

from ctxmode_cli.data import data_file
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.images import ImageRule, PatchRule, TileRule
from ctxmode_cli.tokens.tools import ToolRule

# What a provider appends to a model's name for a snapshot: gpt-4o-2024-08-06, gpt-4-0613.
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{4})$")


@dataclass(frozen=True, slots=True)
class Model:
    """What has to be known of a model to count a request."""

    name: str
    encoding: str
    """Name of the tiktoken encoding."""
    window: int
    """Context window: prompt and reply together, in tokens."""
    image_rule: ImageRule | None
    """None where the provider published none; then an image in a request is an error."""
    tool_rule: ToolRule


@cache
def find_model(name: str) -> Model:
    """The model of that name, a dated snapshot of a known model, or a fine-tuned one ("ft:gpt-4o:…").

    The encoding is what tiktoken's table says of the model. tiktoken's own prefixes accept names that do not exist;
    here a name is known only where its window is.

    Raises:
        CtxmodeError: No such model; the hint names similar ones.
    """
    # A fine-tuned model counts as its base does: tiktoken's prefix "ft:gpt-4" would catch ft:gpt-4.1 as well.
    base = name.split(":")[1] if name.startswith("ft:") else name
    entries = _table()["models"]
    entry = entries.get(base) or entries.get(_SNAPSHOT.sub("", base))
    if not entry:
        raise CtxmodeError(f'the model "{name}" is unknown', hint=_suggestion(base, list(entries)))
    encoding = _encoding_name(base)
    return Model(
        name=name,
        encoding=encoding,
        window=entry["window"],
        image_rule=_image_rule(entry.get("images")),
        tool_rule=ToolRule(**_table()["tools"][encoding]),
    )


def _encoding_name(model: str) -> str:
    try:
        return tiktoken.encoding_name_for_model(model)
    except KeyError:
        hint = "`ctxmode tokenizer-check` compares the two tables"
        raise CtxmodeError(f"the installed tiktoken knows no encoding for {model}", hint=hint) from None


def model_names() -> Sequence[str]:
    """The names in the table, in its order; snapshots and fine-tuned models are known beside them."""
    return tuple(_table()["models"])


def table_date() -> str:
    """The day on which the table was last compared with its sources (ISO 8601)."""
    return str(_table()["date"])


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(data_file("tokens/models.json").read_text(encoding="utf-8"))
    return table


def _image_rule(entry: Mapping[str, Any] | None) -> ImageRule | None:
    if entry is None:
        return None
    if "multiplier" in entry:
        return PatchRule(multiplier=Fraction(entry["multiplier"]), limit=entry["limit"])
    return TileRule(base=entry["base"], tile=entry["tile"])


def _suggestion(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name.rpartition("/")[2].lower(), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "`ctxmode models` lists the known ones"
