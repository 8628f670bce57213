"""The data files: every template of both languages can be said."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.generate.grammar import CALENDAR_PARTS, LANGUAGES, Grammar, Repeat, load_grammar
from ctxmode_cli.generate.template import Choice, Literal, Node, Number, Series, Slot


@pytest.fixture(params=LANGUAGES)
def grammar(request: pytest.FixtureRequest) -> Grammar:
    return load_grammar(request.param)


def nodes_in(value: Any) -> Iterator[Node]:
    """All templates in a JSON value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Repeat):
        value = [value.each]
    if isinstance(value, list):
        for item in value:
            yield from nodes_in(item)
    elif not isinstance(value, int | float):
        yield value


def templates(grammar: Grammar) -> Iterator[tuple[str, Node]]:
    """Every template of a session, with the place where it stands."""
    for name in ("hello", "aside"):
        yield name, getattr(grammar, name)
    for manner in grammar.manners:
        yield from ((manner.name, remark.text) for remark in (manner.opener, manner.aside, manner.closer))
    yield from (("persona", node) for node in grammar.personas)
    yield from (("rule", node) for node in grammar.rules)
    for intent in grammar.intents:
        yield intent.name, intent.coming_back
        for turn in intent.turns:
            yield from ((intent.name, node) for node in (turn.user, turn.reply))
            for call in itertools.chain.from_iterable(turn.call_groups):
                yield from ((intent.name, node) for node in nodes_in(call.arguments))
                yield from ((call.tool.name, node) for node in nodes_in(call.tool.result))


def pieces(node: Node) -> Iterator[Node]:
    """The template and all its parts."""
    yield node
    parts = node.parts if isinstance(node, Series) else node.options if isinstance(node, Choice) else ()
    for part in parts:
        yield from pieces(part)


def covering_texts(node: Node) -> list[str]:
    """Texts in which every alternative of the template occurs at least once; slots stand as their names."""
    match node:
        case Literal():
            return [node.text]
        case Number():
            return [str(node.low), str(node.high)]
        case Slot():
            return [node.name]
        case Choice():
            return [text for option in node.options for text in covering_texts(option)]
        case Series():
            columns = [covering_texts(part) for part in node.parts]
            longest = max(map(len, columns), default=0)
            return ["".join(column[row % len(column)] for column in columns) for row in range(longest)]


def pattern(node: Node, parts: Mapping[str, Node]) -> str:
    """A regular expression for all texts of a written form; parts of the calendar are numbers or words."""
    match node:
        case Literal():
            return re.escape(node.text.lower())
        case Number():
            return rf"\d{{{node.width},{max(node.width, len(str(node.high)))}}}"
        case Slot():
            return pattern(parts[node.name], parts) if node.name in parts else r"\w+"
        case Choice():
            return f"(?:{'|'.join(pattern(option, parts) for option in node.options)})"
        case Series():
            return "".join(pattern(part, parts) for part in node.parts)


def test_unknown_language() -> None:
    """A language without grammars is the user's error, and the message names those there are."""
    with pytest.raises(CtxmodeError, match='"fr"') as caught:
        load_grammar("fr")
    assert "zh, en" in caught.value.hint


def test_every_slot_has_the_forms_that_templates_use(grammar: Grammar) -> None:
    """No template asks for a form that its slot does not have."""
    for place, node in templates(grammar):
        for slot in (piece for piece in pieces(node) if isinstance(piece, Slot)):
            assert slot.form in grammar.slots[slot.name].forms, place


def test_every_value_is_made_of_its_parts(grammar: Grammar) -> None:
    """The forms of a value use parts that are drawn for it, and every part is used."""
    for name, spec in grammar.slots.items():
        used = {piece.name for node in spec.forms.values() for piece in pieces(node) if isinstance(piece, Slot)}
        assert used <= set(spec.parts) | (set(CALENDAR_PARTS) if spec.calendar else set()), name
        assert set(spec.parts) <= used, name


def test_every_alternative_can_be_chosen(grammar: Grammar) -> None:
    """No alternative asks for a slot to be known and unknown at once."""
    for place, node in templates(grammar):
        for piece in pieces(node):
            assert not piece.needs.required & piece.needs.fresh, place


def test_no_text_is_broken(grammar: Grammar) -> None:
    """Expanding every alternative leaves no marks of the language, and no message empty or of white space only."""
    for place, node in templates(grammar):
        for text in covering_texts(node):
            assert not set("{}|") & set(text), (place, text)
            assert "，。" not in text, (place, text)
            assert "  " not in text.strip(), (place, text)


def test_no_text_says_the_value_of_a_slot(grammar: Grammar) -> None:
    """What can be a fact is said by its slot alone: no other text has a value or an alias by chance."""
    texts = [(place, text.lower()) for place, node in templates(grammar) for text in covering_texts(node)]
    for name, spec in grammar.slots.items():
        if spec.is_fact and not spec.calendar:
            forms = "|".join(pattern(spec.forms[form], spec.parts) for form in sorted(spec.aliases & spec.forms.keys()))
            value = re.compile(rf"(?<![0-9a-z])(?:{forms})(?![0-9a-z])")
            for place, text in texts:
                # A bare number is a field of a tool's result, under a name of its own.
                assert text.isdigit() or not value.search(text), (name, place, text)


def test_every_slot_is_stated_and_needed(grammar: Grammar) -> None:
    """Each kind of fact is stated by some intent, and some later turn is answered with it."""
    stated = {name for intent in grammar.intents for name in intent.needs.may_state}
    needed = {name for intent in grammar.intents for name in intent.turns[0].answered_with}
    facts = {name for name, spec in grammar.slots.items() if spec.is_fact}
    assert facts <= stated
    assert facts <= needed


def test_names_of_intents_are_unique(grammar: Grammar) -> None:
    """No two intents share a name."""
    names = [intent.name for intent in grammar.intents]
    assert len(names) == len(set(names))


def test_tools_are_openai_schemas(grammar: Grammar) -> None:
    """Calls have exactly the arguments that the schema of their tool declares."""
    for intent in grammar.intents:
        for turn in intent.turns:
            for call in itertools.chain.from_iterable(turn.call_groups):
                function = call.tool.schema["function"]
                assert function["name"] == call.tool.name
                assert isinstance(function["description"], str)
                assert set(call.arguments) == set(function["parameters"]["properties"]), intent.name
