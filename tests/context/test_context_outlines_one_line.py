"""What stands for a tool output of an earlier turn: one line."""

import json
from typing import Any

import pytest
from dialogues import unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.outlines.one_line import one_line

FILLER = "x" * 150


def line(value: Any, name: str = "get") -> str:
    return one_line(name, "{}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def test_a_short_line_stays_as_it_is() -> None:
    """An output of one line of at most 120 characters is not touched, JSON or not."""
    for text in ("landed", '{"city": "北京", "temp_c": 20}', "Error: no such order", "", "x" * 120):
        assert line(text) == text


def test_of_json_the_shallow_scalars_stay() -> None:
    """Name, then scalars in their order, lists with their length, what is deeper, as far as there is room."""
    value = {
        "city": "Beijing",
        "days": [{"max": 21}, {"max": 25}],
        "condition": "多云",
        "temp_c": 20,
        "note": None,
        "wind": {"speed": 3.5, "gusts": False},
        "text": FILLER,
    }
    said = line(value, "get_weather")
    assert said == (
        "get_weather: city=Beijing, condition=多云, temp_c=20, days=list of 2 objects, "
        f"text={'x' * 59}…, wind.speed=3.5, wind.gusts=false, days[].max=21, 25"
    )


def test_what_has_no_room_is_passed_over() -> None:
    """The line ends with what still fits, and says that something is missing."""
    said = line({f"key_{n}": "v" * 50 for n in range(6)} | {"deep": {"total": 5}})
    assert said.count("key_") == 3
    assert said.endswith(", …, deep.total=5")


def test_a_list_is_told_by_its_length_and_fields() -> None:
    """A list at the top says how many there are, and what its fields hold."""
    said = line([{"id": f"B{n}", "amount": n, "text": "t"} for n in range(10)], "get_bills")
    assert said.startswith(
        'get_bills: list of 10 objects, [].id=10 strings, 10 different: "B0", "B1", "B2", …, [].amount=10 numbers 0–9'
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"id": 7, "text": FILLER, "error": "user not found"}, "get: error: user not found, id=7, "),
        ({"id": 7, "text": FILLER, "error": {"code": 404}}, "get: error.code: 404, id=7, "),
        ({"id": 7, "text": FILLER, "error": None}, "get: id=7, "),
        (
            "Traceback (most recent call last):\n  File 'a.py'\nValueError: no such city",
            "get: ValueError: no such city",
        ),
        ("正在处理\n失败：余额不足\n", "get: 失败：余额不足"),
        ("ran 20 tests\n0 failed\nerror.py is fine\n", "get: ran 20 tests (first of 3 lines)"),
    ],
)
def test_errors_are_kept(value: Any, said: str) -> None:
    """An error comes before all else: at a key, also a nested one, or as a line that begins with its word."""
    assert line(value).startswith(said)


def test_of_text_the_first_sentence_stays() -> None:
    """Chinese and English; and how many lines there were."""
    assert line(f"The museum is closed. {FILLER}") == "get: The museum is closed."
    assert line(f"博物馆今天闭馆。{FILLER}") == "get: 博物馆今天闭馆。"
    assert line(f"All done\n{FILLER}") == "get: All done (first of 2 lines)"


def test_other_kinds_are_named() -> None:
    """A table by its columns, JSON Lines as a list, broken JSON as such, a blob by its size."""
    assert line("name,price\n" + "a,1\n" * 40) == "get: table (CSV), 2 columns, 40 rows: name, price"
    assert line('{"id": 1}\n' * 20).startswith("get: list of 20 objects, [].id=20 numbers 1")
    assert line('{"id": 1, "text": "' + FILLER).startswith('get: broken JSON, 169 characters: {"id": 1')
    assert line("data:image/png;base64," + "iVB0" * 100) == "[image/png, base64, 422 characters]"


def test_a_file_is_referred_to() -> None:
    """What a call has read of a file is told by its reference."""
    said = one_line("Read", '{"file_path": "src/app.py"}', "import os\n\ndef run():\n    pass\n")
    assert said == "src/app.py, lines 1-4 of this file were sent before: imports os; def run"


def test_control_characters_are_shown() -> None:
    """What JSON hides in escapes does not get out of them."""
    assert r"id=\"a\u001b[31m\"".replace('\\"', '"') in line({"id": "a\x1b[31m", "text": FILLER})
    assert r"\ud800" in one_line("get", "{}", '{"id": "\\ud800", "text": "' + FILLER + '"}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)
ARGUMENTS = st.text() | st.dictionaries(
    st.sampled_from(["path", "file", "command", "offset", "view_range"]), JSON | st.text("cat sed|;'\"-n1,p./")
).map(json.dumps)
NAMES = st.text() | st.sampled_from(["read_file", "bash", "view"])


@unhurried
@given(NAMES, ARGUMENTS, st.text() | JSON.map(json.dumps) | st.text('1:\t→\n{}[]",a'), st.integers(1, 30))
def test_one_line_is_one_line(name: str, arguments: str, text: str, times: int) -> None:
    """Whatever was called and came back: one line, of at most 200 characters."""
    said = one_line(name, arguments, text * times)
    assert len(said.splitlines()) <= 1
    assert len(said) <= 200
