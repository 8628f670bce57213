"""Tool schemas."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter
from ctxmode_cli.tokens.tools import ToolRule, tool_tokens

# Powers of ten, so that every sum shows how often each constant went in.
RULE = ToolRule(
    func_init=1_000, prop_init=10_000, prop_key=100_000, enum_init=1_000_000, enum_item=10_000_000, func_end=100_000_000
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["properties", "items", "anyOf", "type", "enum", "description", "name", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


def characters(text: str) -> int:
    """A count that a reader can check: one for each character."""
    return len(text)


def function(parameters: Any = None, **fields: Any) -> dict[str, Any]:
    """A tool whose own line ("f:") is two characters."""
    return {"type": "function", "function": {"name": "f", "parameters": parameters, **fields}}


def properties(**schemas: Any) -> dict[str, Any]:
    """An object's schema."""
    return {"type": "object", "properties": schemas}


@pytest.mark.parametrize(("model", "published"), [("gpt-4o", 101), ("gpt-4o-mini", 101), ("gpt-4", 105)])
def test_cookbook_request(model: str, published: int) -> None:
    """The example request of the cookbook's section 7 (MIT) has the count that the cookbook publishes for it."""
    tool = function(
        properties(
            location={"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
            unit={
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        ),
        name="get_current_weather",
        description="Get the current weather in a given location",
    )
    messages = [
        {"role": "system", "content": "You are a helpful assistant that can answer to questions about the weather."},
        {"role": "user", "content": "What's the weather like in San Francisco?"},
    ]
    counter = TokenCounter.for_model(model)
    counted = sum(counter.message(parse_message(message)) for message in messages)
    assert counter.tools([tool]) + counted + counter.REPLY_TOKENS == published


def test_no_tools_cost_nothing() -> None:
    """Without tools there is no constant either."""
    assert tool_tokens([], RULE, characters) == 0


def test_functions_cost_one_end_together() -> None:
    """Each function has its constant and its line; the closing constant comes once."""
    assert tool_tokens([function()], RULE, characters) == 100_000_000 + 1_000 + 2
    assert tool_tokens([function(), function()], RULE, characters) == 100_000_000 + 2 * (1_000 + 2)


def test_trailing_full_stop_is_not_sent() -> None:
    """One full stop at the end of a description is left out."""
    assert tool_tokens([function(description="Go..")], RULE, characters) == 100_000_000 + 1_000 + len("f:Go.")


def test_property_costs_its_line() -> None:
    """Properties cost a constant together, one each, and the line "name:type:description"."""
    tool = function(properties(city={"type": "string", "description": "Where."}, day={"type": "integer"}))
    lines = len("city:string:Where") + len("day:integer:")
    assert tool_tokens([tool], RULE, characters) == 100_000_000 + 1_000 + 2 + 10_000 + 2 * 100_000 + lines


def test_enum_costs_each_value() -> None:
    """Allowed values cost a constant together, one each, and their text."""
    tool = function(properties(unit={"type": "string", "enum": ["C", "F"]}))
    expected = 100_000_000 + 1_000 + 2 + 10_000 + 100_000 + len("unit:string:") + 1_000_000 + 2 * (10_000_000 + 1)
    assert tool_tokens([tool], RULE, characters) == expected


@pytest.mark.parametrize(
    ("nested", "kind"),
    [
        (properties(b={"type": "string"}), "object"),
        ({"type": "array", "items": properties(b={"type": "string"})}, "array"),
        ({"anyOf": [properties(b={"type": "string"}), {"type": "null"}]}, ""),
        ({"oneOf": [properties(b={"type": "string"}), {"type": "null"}]}, ""),
        ({"allOf": [properties(b={"type": "string"})]}, ""),
    ],
)
def test_nested_properties_cost_like_outer_ones(nested: dict[str, Any], kind: str) -> None:
    """The rule is applied again to the properties of objects, of objects in arrays and of alternatives."""
    outer = 100_000_000 + 1_000 + 2 + 10_000 + 100_000 + len(f"a:{kind}:")
    inner = 10_000 + 100_000 + len("b:string:")
    assert tool_tokens([function(properties(a=nested))], RULE, characters) == outer + inner


def test_several_types_are_joined() -> None:
    """A list of types counts as its members joined by a bar."""
    tool = function(properties(a={"type": ["string", "null"]}))
    assert tool_tokens([tool], RULE, characters) == 100_000_000 + 1_000 + 2 + 10_000 + 100_000 + len("a:string|null:")


def test_flat_form_counts_as_the_nested_one() -> None:
    """A tool of the Responses form, without "function", counts the same."""
    nested = function(properties(a={"type": "string"}), description="Does it")
    assert tool_tokens([{"type": "function", **nested["function"]}], RULE, characters) == tool_tokens(
        [nested], RULE, characters
    )


@given(schema=JSON)
def test_no_schema_breaks_the_count(schema: Any) -> None:
    """Whatever JSON stands where a schema should, there is a count."""
    for tool in (function(schema), function(properties(a=schema)), {"function": schema}, {"name": schema}):
        assert tool_tokens([tool], RULE, characters) > 0


def test_deeply_nested_schema_is_counted() -> None:
    """A schema nested thousands deep does not exhaust the stack."""
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"items": schema}
    assert tool_tokens([function(schema)], RULE, characters) == 100_000_000 + 1_000 + 2
