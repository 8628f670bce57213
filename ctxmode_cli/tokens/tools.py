"""How many tokens tool schemas are: the function rule of the OpenAI cookbook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolRule:
    """What the provider adds to the texts of a function's schema; all in tokens."""

    func_init: int
    """For each function."""
    prop_init: int
    """For each object that has properties."""
    prop_key: int
    """For each property."""
    enum_init: int
    """For each list of allowed values."""
    enum_item: int
    """For each allowed value."""
    func_end: int
    """For all functions together."""


def tool_tokens(tools: Sequence[Mapping[str, Any]], rule: ToolRule, count: Callable[[str], int]) -> int:
    """Tokens of all schemas, by `num_tokens_for_tools` of the cookbook's "How to count tokens with tiktoken".

    The cookbook's rule knows flat properties that have a type and a description. Here the property rule is applied
    again to the properties of nested objects, of the objects in arrays and of the alternatives of `anyOf`, `oneOf`
    and `allOf`; a missing text counts as an empty one, and several types are joined by "|".

    Args:
        tools: OpenAI tool schemas, with the function nested ("function") or flat (the Responses form).
        rule: The constants of the model's family.
        count: Tokens of a text.
    """
    if not tools:
        return 0
    return rule.func_end + sum(_function_tokens(tool, rule, count) for tool in tools)


def _function_tokens(tool: Mapping[str, Any], rule: ToolRule, count: Callable[[str], int]) -> int:
    function = _mapping(tool.get("function")) or tool
    line = f"{_text(function.get('name'))}:{_description(function)}"
    return rule.func_init + count(line) + _object_tokens(function.get("parameters"), rule, count)


def _object_tokens(schema: Any, rule: ToolRule, count: Callable[[str], int]) -> int:
    """The properties of an object, of an array's items, or of each alternative."""
    schema = _mapping(schema)
    properties = _mapping(schema.get("properties"))
    total = rule.prop_init if properties else 0
    for name, value in properties.items():
        total += rule.prop_key + _property_tokens(name, _mapping(value), rule, count)
    alternatives = (schema.get(word) for word in ("anyOf", "oneOf", "allOf"))
    nested = [schema.get("items"), *(branch for each in alternatives if isinstance(each, list) for branch in each)]
    return total + sum(_object_tokens(inner, rule, count) for inner in nested)


def _property_tokens(name: str, schema: Mapping[str, Any], rule: ToolRule, count: Callable[[str], int]) -> int:
    kind = schema.get("type")
    kinds = "|".join(map(_text, kind)) if isinstance(kind, list) else _text(kind)
    total = count(f"{name}:{kinds}:{_description(schema)}")
    allowed = schema.get("enum")
    if isinstance(allowed, list):
        total += rule.enum_init + sum(rule.enum_item + count(_text(item)) for item in allowed)
    return total + _object_tokens(schema, rule, count)


def _description(schema: Mapping[str, Any]) -> str:
    return _text(schema.get("description")).removesuffix(".")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
