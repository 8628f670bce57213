"""How many tokens tool schemas are: the function rule of the OpenAI cookbook."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    return (
        rule.func_init
        + count(line)
        + sum(
            _properties_tokens(_mapping(schema.get("properties")), rule, count)
            for schema in _schemas(function.get("parameters"))
        )
    )


def _schemas(root: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas within it."""
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, Mapping):
            yield schema
            waiting += [schema.get("items"), *_mapping(schema.get("properties")).values()]
            for word in ("anyOf", "oneOf", "allOf"):
                waiting += _list(schema.get(word))


def _properties_tokens(properties: Mapping[str, Any], rule: ToolRule, count: Callable[[str], int]) -> int:
    if not properties:
        return 0
    return rule.prop_init + sum(
        rule.prop_key + count(_property_line(name, schema)) + _enum_tokens(schema.get("enum"), rule, count)
        for name, schema in ((name, _mapping(schema)) for name, schema in properties.items())
    )


def _property_line(name: str, schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    kinds = "|".join(map(_text, kind)) if isinstance(kind, list) else _text(kind)
    return f"{name}:{kinds}:{_description(schema)}"


def _enum_tokens(values: Any, rule: ToolRule, count: Callable[[str], int]) -> int:
    if not isinstance(values, list):
        return 0
    return rule.enum_init + sum(rule.enum_item + count(_text(value)) for value in values)


def _description(schema: Mapping[str, Any]) -> str:
    return _text(schema.get("description")).removesuffix(".")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
