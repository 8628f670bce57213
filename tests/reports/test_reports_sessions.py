"""The data card of the generated sessions: what it counts, worked out by hand."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.tokens.counter import TokenCounter

MAKE = Path(__file__).resolve().parents[2] / "reports" / "sessions" / "make.py"


@pytest.fixture(scope="module")
def card() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_card", MAKE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up the module of their annotations
    spec.loader.exec_module(module)
    return module


RECORD = {
    "lang": "en",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "My order is A17, please look"},
        {"role": "assistant", "content": "Sure."},
        {"role": "user", "content": "Thanks"},
        {"role": "user", "content": "And where is it now?"},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "Which one is on its way?"},
        {"role": "assistant", "content": "A17."},
    ],
    "facts": [
        {"id": "f0", "kind": "order", "value": "A17", "aliases": [], "stated_at": 1, "probe_at": [6]},
        {"id": "f1", "kind": "other", "value": "look", "aliases": [], "stated_at": 1},
    ],
}


def test_what_is_counted(card: ModuleType) -> None:
    """Bursts are one turn; a need is so many turns after its fact; short messages are not held to be formulas."""
    record = parse_conversation(RECORD, where="log:1", default_id="1")
    made = card.read([record], "en", TokenCounter.for_model("gpt-4o"))
    assert made.values["turns"] == [3]
    assert made.values["facts"] == [2]
    assert made.values["age"] == [2]
    assert (made.needed, made.user_messages, made.messages["Thanks"]) == (1, 4, 0)
    assert made.values["tool"] == []
    assert made.words[:5] == ["my", "order", "is", "a", "please"]
    assert card.type_token_ratio(["a", "b", "a", "c"], 4) == "0.7500"
    assert card.type_token_ratio(["a", "b", "a", "c"], 5) == ""
    assert [card.quantile([3, 1, 2, 4], percent) for percent in (1, 50, 95, 100)] == [1, 2, 4, 4]


def test_card_is_made(card: ModuleType, tmp_path: Path) -> None:
    """Table and figure have a column, or a line, for each set."""
    card.main(4, tmp_path, [])
    rows = (tmp_path / "distributions.md").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "|  | generated_zh | generated_en |"
    assert rows[2] == "| conversations | 4 | 4 |"
    assert all(row.count("|") == 4 for row in rows)
    text = "".join(ET.parse(tmp_path / "distributions.svg").getroot().itertext())  # noqa: S314, our own file
    assert "generated_zh" in text
    assert "turns from a fact to its need" in text
