"""Records to Parquet and back, and Parquet files that others wrote."""

import datetime as dt
import decimal
import gzip
import hashlib
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.conversation import parquet
from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.parquet import SCHEMA, ParquetWriter, encode_row, read_parquet
from ctxmode_cli.errors import CtxmodeError

DATASETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"


def written(records: list[dict[str, Any]]) -> io.BytesIO:
    file = io.BytesIO()
    writer = ParquetWriter(file)
    for record in records:
        writer.write(Conversation("", (), (), (), record, ""))
    writer.close()
    file.seek(0)
    return file


def there_and_back(records: list[dict[str, Any]]) -> list[Any]:
    return [item[1] for item in read_parquet(written(records), "logs.parquet")]


def exact(value: Any) -> str:
    """A text in which 1, 1.0 and true differ, and the order of fields does not matter."""
    return json.dumps(value, sort_keys=True)


def foreign(table: pa.Table) -> list[Any]:
    """What is read of a table that another program wrote."""
    file = io.BytesIO()
    pq.write_table(table, file)
    file.seek(0)
    return list(read_parquet(file, "logs.parquet"))


# --- nothing is lost ---

any_text = st.text(st.characters(exclude_categories=()), max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(any_text, inner, max_size=2), max_leaves=5
)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of these fields, of the right kind or of another, and with unknown ones."""
    known = st.fixed_dictionaries({}, optional={name: form | json_values for name, form in fields.items()})
    unknown = st.dictionaries(any_text | st.sampled_from(["extra", "parts", "arguments"]), json_values, max_size=2)
    return st.builds(lambda left, right: {**left, **right}, unknown, known)


integers = st.integers(-(1 << 63), (1 << 63) - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
functions = st.fixed_dictionaries({"name": any_text}, optional={"arguments": any_text})
tool_calls = st.fixed_dictionaries({"id": any_text, "function": functions}, optional={"type": st.just("function")})
parts = st.lists(objects(type=any_text, text=any_text), max_size=2)
documents = st.lists(objects(id=any_text, text=any_text, score=floats), max_size=2)
usages = st.fixed_dictionaries({}, optional=dict.fromkeys(["prompt_tokens", "completion_tokens", "more"], integers))
messages = objects(
    role=any_text,
    content=any_text | parts,
    name=any_text,
    tool_calls=st.lists(tool_calls | json_values, max_size=2),
    tool_call_id=any_text,
    ts=any_text,
    documents=documents,
    usage=usages,
    latency_s=floats,
    cost_usd=floats,
)
facts = objects(
    id=any_text,
    kind=any_text,
    value=any_text,
    aliases=st.lists(any_text),
    stated_at=integers,
    probe_at=st.lists(integers),
    polarity=any_text,
)
records = objects(
    id=any_text,
    lang=any_text,
    tags=st.lists(any_text),
    tools=st.lists(json_values, max_size=2),
    messages=st.lists(messages, max_size=2),
    facts=st.lists(facts, max_size=2),
)


@given(st.lists(records, max_size=2))
@settings(max_examples=120, deadline=None)
def test_any_record_comes_back_equal(items: list[dict[str, Any]]) -> None:
    """Whatever JSON stands in whatever field, it is the same after Parquet, types of numbers included."""
    assert [exact(item) for item in there_and_back(items)] == [exact(item) for item in items]


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("usage", {"prompt_tokens": number}) for number in (0, True, 1.0, None, 1 << 63, -(1 << 63) - 1)),
        *(("usage", value) for value in ({}, None, [], {"prompt_tokens": 1, "details": {}})),
        *(("latency_s", number) for number in (0.5, -0.0, 1, True, None, 1 << 1000)),
        *(("content", value) for value in ("", None, [], [{"type": "text"}], {}, 3, "\ud800", "\x00")),
        *(("documents", [value]) for value in ({}, {"score": 1}, {"score": 0.5, "text": "t"}, {"url": "u"}, None, 1)),
        *(("tool_calls", [CALL, value]) for value in (CALL, {}, None, [], CALL | {"index": 0}, CALL | {"name": "g"})),
        *(("tool_calls", [CALL | {"type": "custom"}, {"name": "f", "arguments": "x"}]),),
        *(
            ("tool_calls", [CALL | {"function": function}])
            for function in ({}, None, {"name": "f"}, {"arguments": "x"}, {"name": None}, {"name": "f", "id": "x"})
        ),
        *((name, "mine") for name in ("parts", "extra", "function")),
    ],
)
def test_every_odd_value_of_a_message_comes_back_equal(field: str, value: Any) -> None:
    """At the limits of each column, and beyond them, alone and beside an ordinary message."""
    items = [{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", field: value}]}]
    assert exact(there_and_back(items)) == exact(items)


@pytest.mark.parametrize(
    "record",
    [
        *({"tags": value} for value in ([], [None], [1], ["\ud800"], "x", None)),
        *({"tools": value} for value in ([], "[]", None, {}, [{"x": "\ud800"}])),
        *({"messages": value} for value in ([], [None], [[]], "[]", None)),
        *({"facts": [{"probe_at": value}]} for value in ([], [True], [1.0], [None], [1 << 63], "1")),
        *({"facts": [{"stated_at": value}]} for value in (0, True, 1.0, None, 1 << 70)),
        *({name: "mine"} for name in ("extra", "id", "where")),
    ],
)
def test_every_odd_value_of_a_record_comes_back_equal(record: dict[str, Any]) -> None:
    """Lists with strangers in them, empty ones, nulls, and names that the layout uses itself."""
    assert exact(there_and_back([record, {}])) == exact([record, {}])


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize("name", ["bfcl_memory", "crosswoz", "interleaved_zh", "kdconv", "tau_bench", "tau2_bench"])
def test_every_record_of_a_data_set_comes_back_equal(name: str) -> None:
    """Real conversations, Chinese, English and with tools, are the same after Parquet."""
    with gzip.open(DATASETS / f"{name}.jsonl.gz") as lines:
        items = [json.loads(line) for line in lines]
    assert there_and_back(items) == items


def test_common_values_lie_in_typed_columns() -> None:
    """What analysts query stands in columns of its own, not in JSON."""
    message = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        "usage": {"prompt_tokens": 3},
        "latency_s": 0.5,
    }
    row = encode_row({"id": "a", "tags": ["t"], "tools": [{"type": "function"}], "messages": [message]})
    assert row == {
        "id": "a",
        "tags": ["t"],
        "tools": '[{"type": "function"}]',
        "messages": [
            {
                "role": "assistant",
                "content": "x",
                "tool_calls": [{"id": "c", "type": "function", "name": "f", "arguments": "{}"}],
                "usage": {"prompt_tokens": 3},
                "latency_s": 0.5,
            }
        ],
    }


@pytest.mark.parametrize(
    ("message", "row"),
    [
        ({"content": [{"type": "text"}]}, {"parts": '[{"type": "text"}]'}),
        ({"content": None}, {"extra": '{"content": null}'}),
        ({"content": "\ud800"}, {"extra": '{"content": "\\ud800"}'}),
        ({"latency_s": 1}, {"extra": '{"latency_s": 1}'}),
        ({"usage": {"prompt_tokens": 1, "more": 2}}, {"extra": '{"usage": {"prompt_tokens": 1, "more": 2}}'}),
        ({"thread": 3}, {"extra": '{"thread": 3}'}),
        ({"parts": "mine"}, {"extra": '{"parts": "mine"}'}),
        ({"extra": "mine"}, {"extra": '{"extra": "mine"}'}),
    ],
)
def test_a_value_that_no_column_carries_exactly_lies_in_the_nearest_extra(
    message: dict[str, Any], row: dict[str, Any]
) -> None:
    """Parts, nulls, lone surrogates, numbers of another type and unknown fields each have their place."""
    assert encode_row({"messages": [message]}) == {"messages": [row]}


def test_the_columns_are_the_native_fields() -> None:
    """The layout that others may rely on."""
    names = ["id", "lang", "source", "model", "tags", "tools", "messages", "facts", "extra"]
    assert names == SCHEMA.names
    assert SCHEMA.field("tags").type == pa.list_(pa.string())
    assert str(SCHEMA.field("messages").type.value_type.field("usage").type) == (
        "struct<prompt_tokens: int64, completion_tokens: int64, cached_tokens: int64>"
    )


def test_row_groups_are_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row group is full at so many rows, or at so many bytes."""
    small = {"messages": [{"role": "user", "content": "x"}]}
    assert pq.ParquetFile(written([small] * 2500)).num_row_groups == 3
    monkeypatch.setattr(parquet, "BYTES_PER_GROUP", 1000)
    assert pq.ParquetFile(written([{"messages": [{"role": "user", "content": "x" * 2000}]}] * 3)).num_row_groups == 3


def test_long_records_are_read_a_few_at_a_time() -> None:
    """The longer the records, the fewer are held as Python values."""
    small = pq.ParquetFile(written([{"messages": [{"role": "user", "content": str(i)}]} for i in range(200)]))
    large = pq.ParquetFile(written([{"messages": [{"role": "user", "content": str(i) * 900_000}]} for i in range(20)]))
    assert parquet._batch_rows(small.metadata) == parquet.BATCH_ROWS
    assert 1 <= parquet._batch_rows(large.metadata) <= 5


def test_a_file_without_rows_is_a_file_without_records() -> None:
    """No rows, no batches, no error here."""
    assert there_and_back([]) == []


# --- files that others wrote ---

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None}]
READ = [{"role": "user", "content": "hi"}, {"role": "assistant"}]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([MESSAGES]),
        pa.array([json.dumps(READ)]),
        pa.array([json.dumps(READ)], pa.large_string()),
        pa.array([json.dumps(READ)]).dictionary_encode(),
        pa.array([MESSAGES], pa.large_list(pa.struct([("role", pa.large_string()), ("content", pa.large_string())]))),
    ],
    ids=["structs", "text", "large text", "dictionary", "large structs"],
)
def test_messages_of_others_are_read_as_structs_or_as_json_text(column: pa.Array) -> None:
    """Whatever Arrow type the messages have, the record is the same; a null in a struct is a missing field."""
    table = pa.table({"id": pa.array(["a"]).dictionary_encode(), "messages": column})
    assert foreign(table) == [(1, {"id": "a", "messages": READ})]


def test_nested_calls_parts_tools_and_facts_of_others_are_read() -> None:
    """Calls nested as in JSON, parts in the content, and tools and facts as JSON text or structs all work."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    fact = {"id": "f0", "value": "x", "stated_at": 0.0, "superseded_at": None}
    table = pa.table(
        {
            "messages": [[{"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [call]}]],
            "tools": [[{"type": "function"}]],
            "facts": [[fact]],
        }
    )
    assert foreign(table) == [
        (
            1,
            {
                "messages": [{"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [call]}],
                "tools": [{"type": "function"}],
                "facts": [{"id": "f0", "value": "x", "stated_at": 0}],
            },
        )
    ]
    table = pa.table({"messages": [[{"role": "user"}]], "facts": [json.dumps([fact])], "extra": ["no JSON"]})
    assert foreign(table)[0][1]["facts"] == [fact]
    assert foreign(table)[0][1]["extra"] == "no JSON"


def test_fields_of_others_that_the_layout_uses_itself_stay_what_they_are() -> None:
    """An `extra` that is an object of its own, and a call that has a name beside its function, are left alone."""
    call = {"id": "c", "name": "mine", "function": {"name": "f", "arguments": "{}"}}
    table = pa.table({"messages": [[{"role": "assistant", "tool_calls": [call]}]], "extra": [{"x": 1}]})
    assert foreign(table) == [
        (1, {"messages": [{"role": "assistant", "tool_calls": [call]}], "extra": {"x": 1}}),
    ]


def test_column_types_that_json_does_not_have_become_their_usual_form() -> None:
    """Times are ISO 8601, decimals floats, maps objects; NaN is how data frames say null."""
    time = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    table = pa.table(
        {
            "messages": [[{"role": "user", "ts": time}]],
            "day": [time.date()],
            "price": [decimal.Decimal("1.5")],
            "score": [float("nan")],
            "labels": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        }
    )
    assert foreign(table) == [
        (
            1,
            {
                "messages": [{"role": "user", "ts": "2026-01-02T03:04:05+00:00"}],
                "day": "2026-01-02",
                "price": 1.5,
                "labels": {"a": 1},
            },
        )
    ]


def one_error(items: list[Any]) -> CtxmodeError:
    (error,) = items
    assert isinstance(error, CtxmodeError)
    return error


def test_a_file_without_messages_is_an_error_that_names_its_columns() -> None:
    """Another table than one of conversations."""
    error = one_error(foreign(pa.table({"prompt": ["x"], "reply": ["y"]})))
    assert str(error) == 'logs.parquet: the Parquet file has no column "messages"'
    assert error.hint == "its columns are prompt, reply"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["[{"]), "invalid JSON: expecting property name enclosed in double quotes, column 3"),
        (pa.array([[{"role": b"\xff"}]]), "a value of type bytes has no JSON form"),
    ],
)
def test_a_row_that_has_no_json_form_is_an_error_of_that_row(column: pa.Array, message: str) -> None:
    """The row is named, counted from 1."""
    assert str(one_error(foreign(pa.table({"messages": column})))) == f"logs.parquet:row 1: {message}"


def test_a_damaged_file_is_an_error() -> None:
    """A file that is cut off, and one that only begins like Parquet, are told in one sentence."""
    for data in (written([{"messages": []}]).getvalue()[:-10], b"PAR1junk"):
        error = one_error(list(read_parquet(io.BytesIO(data), "logs.parquet")))
        assert str(error).startswith("logs.parquet: the file cannot be read from its start (")


# --- through Reading ---


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_parquet_is_read_from_stdin(pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that cannot be sought in is put aside in a temporary file."""
    data = pack(written([{"id": "a", "messages": [{"role": "user", "content": "x"}]}]).getvalue())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_bytes(b"a file of that name is another one")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    reading = Reading(["-"])
    assert [item.where for item in reading.conversations()] == ["<stdin>:row 1"]
    assert reading.sources == [("<stdin>", hashlib.sha256(data).hexdigest())]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_parquet_is_read_under_any_name_even_compressed(pack: Any, tmp_path: Path) -> None:
    """The content tells; places are rows, and the digest is of the stored bytes."""
    data = pack(written([{"messages": [{"role": "user", "content": "x"}]}] * 2).getvalue())
    path = tmp_path / "log"
    path.write_bytes(data)
    reading = Reading([str(path)])
    found = list(reading.conversations())
    assert [item.where for item in found] == [f"{path}:row 1", f"{path}:row 2"]
    assert [item.id for item in found] == ["log:1", "log:2"]
    assert reading.sources == [(str(path), hashlib.sha256(data).hexdigest())]


def test_compressed_parquet_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    """Damage that is met while the file is unpacked is told like any other."""
    path = tmp_path / "log"
    data = gzip.compress(written([{"messages": [{"role": "user", "content": "x"}]}] * 200).getvalue())
    path.write_bytes(data[:-30])
    with pytest.raises(CtxmodeError, match="the file cannot be read from its start"):
        list(Reading([str(path)]).conversations())
