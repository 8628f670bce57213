"""What stands for a tool output over its limit: key paths, columns or lines, within the limit."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from dialogues import counter, unhurried
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.context.outlines.outline import outline

BLOB = "iVBORw0KGgoAAAANSUhEUg" * 20  # 440 characters


def lines(text: str, limit: int = 1000) -> list[str]:
    return outline(text, limit, counter().text).split("\n")


def of_json(value: Any, limit: int = 1000) -> list[str]:
    return lines(json.dumps(value, ensure_ascii=False), limit)


ORDER = {
    "order_id": "#W7553978",
    "items": [
        {"name": "Skateboard", "price": 186.06, "gift": True, "note": None},
        {"name": "滑板", "price": 20, "gift": False},
    ],
    "address": {"city": "Austin", "zip": "78705"},
    "total": 206.06,
}


def test_an_outline_begins_with_what_it_is() -> None:
    """The first line says that the output was shortened, of what kind it is and how long it was."""
    text = json.dumps(ORDER)
    assert lines(text)[0] == f"[tool output shortened by ctxmode: JSON, {len(text)} characters]"


def test_json_is_told_by_key_path() -> None:
    """Scalars stand verbatim, the shallow ones first; few values of one path stand side by side in their order."""
    assert of_json(ORDER)[1:] == [
        'order_id: "#W7553978"',
        "total: 206.06",
        "items: list of 2 objects",
        'address.city: "Austin"',
        'address.zip: "78705"',
        'items[].name: "Skateboard", "滑板"',
        "items[].price: 186.06, 20",
        "items[].gift: true, false",
        "items[].note: null; in 1 of 2",
        'items[0]: {"name": "Skateboard", "price": 186.06, "gift": true, "note": null}',
        'items[1]: {"name": "滑板", "price": 20, "gift": false}',
    ]


def test_a_long_list_of_objects_is_told_by_field() -> None:
    """Numbers by range, strings by how many differ, truth values and nulls by number, absent ones by the rest."""
    rows = [
        {"id": i, "kind": "ab"[i % 2], "same": "x", "on": i < 3, "note": None if i else "n", "tags": ["t"] * (i % 4)}
        for i in range(12)
    ]
    rows[0]["rare"] = 1
    shown = of_json(rows)
    assert shown[1:9] == [
        "list of 12 objects",
        "[].id: 12 numbers 0–11",
        '[].kind: 12 strings, 2 different: "a", "b"',
        '[].same: 12 strings: "x"',
        "[].on: 3 true; 9 false",
        '[].note: 1 string: "n"; 11 null',
        "[].tags: 12 lists of 0–3 items",
        "[].rare: 1; in 1 of 12",
    ]
    assert shown[9] == '[][].tags: 18 strings: "t"'.replace("[][].tags", "[].tags[]")
    assert shown[10].startswith('[0]: {"id": 0, "kind": "a"')


def test_objects_by_id_are_told_as_records() -> None:
    """An object whose members are alike is a list in disguise: its fields are told once, and its keys named."""
    variants = {str(n): {"item_id": str(n), "price": n} for n in range(100, 112)}
    shown = of_json({"variants": variants})
    assert shown[1] == "variants: 12 objects by key: 100, 101, 102, 103, 104, 105, …"
    assert shown[3] == "variants.*.price: 12 numbers 100–111"
    assert shown[4] == 'variants.100: {"item_id": "100", "price": 100}'


def test_long_strings_are_cut_with_their_length() -> None:
    """A long string shows its beginning and how long it was."""
    [_, said] = of_json({"text": "word " * 200})
    assert said.startswith('text: "word word')
    assert said.endswith('…" (1,000 characters)')


def test_json_within_a_string_is_read() -> None:
    """A result that a tool wrapped as a text is told by its own key paths."""
    inner = json.dumps({"price": 5, "text": "x" * 300})
    shown = of_json({"content": [{"type": "text", "text": inner}]})
    assert "content[].text.price: 5" in shown


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,"])
def test_base64_is_never_text(prefix: str) -> None:
    """A blob is told by its size: as a JSON value, in running text, and where it is all there is."""
    for text in (json.dumps({"image": prefix + BLOB}), f"The chart: {prefix}{BLOB} and so on.", prefix + BLOB):
        said = outline(text, 1000, counter().text)
        assert BLOB[:20] not in said
        assert f"base64, {len(prefix + BLOB)} characters]" in said


def test_base64_in_rows_is_one_blob() -> None:
    """Rows of 76 characters, as in a mail, are one blob; the words after it stay."""
    rows = "\n".join(BLOB[start : start + 76] for start in range(0, 380, 76)) + "\nAbCd==\n"
    assert "\n[base64, 391 characters]\nthe end" in outline(f"{rows}the end", 1000, counter().text)


def test_paths_and_words_are_no_base64() -> None:
    """What has no capitals, digits and small letters together, or is short, stays."""
    for text in ("a" * 500, "src/" + "Module1/" * 20, "=" * 300):
        assert "base64" not in outline(text, 1000, counter().text)


def test_depth_goes_before_breadth() -> None:
    """Under a small limit items go first, then examples, then deep paths; the scalars at the top stay."""
    value = {"items": [{"name": f"thing {n}", "price": n} for n in range(50)], "order_id": "A1", "total": 1225}
    small = of_json(value, 60)
    assert small[1:4] == ['order_id: "A1"', "total: 1225", "items: list of 50 objects"]
    assert small[-1].startswith("… ")
    middle = of_json(value, 85)
    assert 'items[].name: 50 strings, 50 different: "thing 0", "thing 1", "thing 2", …' in middle
    assert "items[].price: 50 numbers 0–49" in middle


def test_json_lines_are_one_list() -> None:
    """Values a line each are told as a list of them; a line that is cut off is left out."""
    text = "\n".join(json.dumps({"id": n, "level": "info"}) for n in range(20)) + '\n{"id": 20, "lev'
    shown = lines(text)
    assert shown[0] == f"[tool output shortened by ctxmode: JSON lines, 20 values, {len(text)} characters]"
    assert shown[2] == "[].id: 20 numbers 0–19"


def test_broken_json_is_said_to_be_broken() -> None:
    """Of JSON that was cut off its beginning and its end are kept."""
    text = json.dumps([{"id": n, "text": "word " * 30} for n in range(200)])[:20_000]
    shown = lines(text, 300)
    assert shown[0] == "[tool output shortened by ctxmode: broken JSON, 20,000 characters]"
    assert shown[2].startswith('[{"id": 0, "text": "word word')
    assert "characters left out" in "".join(shown)
    assert shown[-1].endswith(text[-30:].rstrip())


@pytest.mark.parametrize(
    "text", ["[INFO] started", "[File: a.py (1 lines total)]", "{braces} are no JSON", "[2026-01-01] x"]
)
def test_brackets_are_not_yet_json(text: str) -> None:
    """A log's bracket or a placeholder's brace makes no broken JSON."""
    assert "shortened by ctxmode: text, " in lines(text)[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("name,price,city\n" + "".join(f"n{i},{i}.5,\n" for i in range(30)), "table (CSV)"),
        ("name\tprice\tcity\n" + "".join(f"n{i}\t{i}.5\t\n" for i in range(30)), "table (TSV)"),
        (
            "| name | price | city |\n|---|--:|---|\n" + "".join(f"| n{i} | {i}.5 | |\n" for i in range(30)),
            "Markdown table",
        ),
    ],
)
def test_a_table_is_told_by_column(text: str, kind: str) -> None:
    """Columns, number of rows, ranges of numbers, empty cells, and the first rows."""
    shown = lines(text)
    assert shown[0] == f"[tool output shortened by ctxmode: {kind}, 3 columns, 30 rows, {len(text):,} characters]"
    assert shown[1:4] == [
        'name: 30 strings, 30 different: "n0", "n1", "n2", "n3", "n4", "n5", …',
        "price: 30 numbers 0.5–29.5",
        "city: 30 null",
    ]
    assert "n0" in shown[4]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01 12:00:00,123 INFO a\n" * 9,
        "First, this.\nThen, that.\nAt last, it ended, really.\n",
        "a,a\n1,2\n3,4\n",
        "one\ntwo\nthree\n",
    ],
)
def test_commas_make_no_table(text: str) -> None:
    """Log lines with a comma in the time, prose, and columns without names of their own are no tables."""
    assert "table" not in lines(text)[0]


def test_of_text_the_beginning_and_the_end_stay() -> None:
    """The middle goes, with its lines and characters counted."""
    text = "\n".join(f"word {n} says {'abcdefghij'[n % 10] * (n % 7)}" for n in range(1000))
    shown = lines(text, 200)
    assert shown[1] == "1,000 lines"
    assert "word 0 says " in shown
    assert shown[-1].startswith("word 999 says")
    [gap] = [line for line in shown if line.endswith("left out]")]
    assert gap.startswith("[… 9")


def test_repeated_lines_are_counted() -> None:
    """Lines that are alike but for their numbers are told once, with their number; equal ones stand there once."""
    retries = "".join(f"12:00:{n:02} retry {n}\n" for n in range(40))
    shown = lines(f"start\n{retries}" + "waiting\n" * 30 + "\n\n\nend\n")
    assert shown[1:7] == [
        "75 lines",
        "40 lines like: 12:00:00 retry 0",
        "30 lines like: waiting",
        "start",
        "12:00:00 retry 0",
        "12:00:01 retry 1",
    ]
    assert shown[-4:] == ["12:00:39 retry 39", "waiting", "[… 29 more like this]", "end"]


def test_errors_in_the_middle_of_a_log_are_told() -> None:
    """A line that begins with a word of error, after its time, is shown with its number; Chinese ones too."""
    log = [f"12:00:00 step {'x' * (n % 9)}" for n in range(300)]
    log[150], log[200] = "2026-01-01T12:00:00Z [ERROR] disk full", "错误：余额不足"
    shown = lines("\n".join(log), 150)
    assert shown[2:4] == ["line 151: 2026-01-01T12:00:00Z [ERROR] disk full", "line 201: 错误：余额不足"]


def test_source_code_is_told_by_its_definitions() -> None:
    """Definitions stand with the line that the text itself numbers them with."""
    code = ["import os", "class App:", "    def run(self):", "        return 1", *["    # more"] * 400, "def main():"]
    numbered = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(code, 11))
    for text, first in (("\n".join(code), 2), (numbered, 12)):
        assert lines(text, 200)[0].startswith("[tool output shortened by ctxmode: source code, ")
        assert lines(text, 200)[2:6] == [
            "defines:",
            f"line {first}: class App",
            f"line {first + 1}: def run",
            f"line {first + 403}: def main",
        ]


# --- any text ---

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=40,
)
TEXTS = st.one_of(
    st.text(),
    JSON.map(json.dumps),
    st.lists(JSON.map(json.dumps)).map("\n".join),
    st.text('[]{}",:0a\\ \n|-\t=;Z'),
    st.text("aZ0+/=\n", min_size=150, max_size=900),
)


@unhurried
@given(TEXTS, st.integers(1, 20), st.integers(1, 120))
def test_an_outline_is_within_its_limit(text: str, times: int, limit: int) -> None:
    """Whatever the text, the outline is made, and is at most as long as it may be."""
    said = outline(text * times, limit, counter().text)
    assert counter().text(said) <= limit
    assert "[tool output shortened by ctxmode: ".startswith(said[:10])


def test_no_depth_is_too_deep() -> None:
    """What is nested as deeply as can just be read is told as well."""
    for depth in range(700, 1000, 3):
        text = '[{"a":' * (depth // 2) + "1" + "}]" * (depth // 2)
        assert outline(text, 100, len).startswith("[tool output shortened by ctxmode: ")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[" * 900 + "]" * 900,
        '{"a":' * 900 + "1" + "}" * 900,
        " " * 200_000,
        "a," * 100_000,
        "A1b" * 100_000,
        ("A1b" * 20 + "\n") * 4_000,
        "\n" * 200_000,
        "public " * 40_000,
        json.dumps({"k" * 5_000: {str(n): n for n in range(20_000)}}),
        json.dumps("\\" * 20_000),
    ],
)
def test_hostile_texts_take_no_time(text: str) -> None:
    """Deep nesting, endless runs and many keys are told in linear time, with few counts."""
    counted = []

    def count(part: str) -> int:
        counted.append(len(part))
        return len(part.encode()) // 3 + 1

    said: Callable[[str], int] = count
    assert len(outline(text, 100, said)) <= 1200
    assert len(counted) <= 12
