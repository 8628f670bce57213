"""Records as Parquet: the native fields as typed columns, and all else as JSON beside them, so that nothing is lost.

One rule makes the way there and back lossless: a value goes into its column only where the column carries it exactly;
every other value (an unknown field, an explicit null, an integer where the column is a float, text that UTF-8 cannot
carry) goes into the nearest `extra` as JSON. Reading merges both, and takes files of others with the same field names.
"""

import datetime as dt
import decimal
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.jsonl import damage, decode_json, encode_json, is_utf8
from ctxmode_cli.conversation.streams import DAMAGE
from ctxmode_cli.errors import CtxmodeError

ROWS_PER_GROUP = 1000
BYTES_PER_GROUP = 4 << 20
"""A row group is written when it has so many rows, or so many bytes of JSON."""

BATCH_ROWS = 64
BATCH_BYTES = 4 << 20
"""So much is held as Python values at once while reading."""

_MISFIT = object()
"""What an encoder gives for a value that its column does not carry exactly."""


class _Column(NamedTuple):
    """A column's type, and how a recorded value becomes its value (or `_MISFIT`) and is got back from it."""

    type: pa.DataType
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


class _Field(NamedTuple):
    """A field of a recorded object, and a column for values of one kind; null in the column: the field is not there."""

    column: str
    recorded: str
    form: _Column


def _plain(value: Any) -> Any:
    """A value of any column as JSON has it: no nulls inside of structs, times as ISO 8601, decimals as floats."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not _is_missing(item)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise CtxmodeError(f"a value of type {type(value).__name__} has no JSON form")


def _is_missing(value: Any) -> bool:
    """Null, and the NaN by which data frames say it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _json(value: Any) -> Any:
    """The value of a column that holds JSON text, or the column's own value where others typed it."""
    return decode_json(value) if isinstance(value, str) else _plain(value)


# --- how single values fit ---


def _encode_text(value: Any) -> Any:
    return value if type(value) is str and is_utf8(value) else _MISFIT


def _encode_integer(value: Any) -> Any:
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else _MISFIT


def _decode_integer(value: Any) -> Any:
    """Data frames make floats of a column of integers with gaps."""
    return int(value) if isinstance(value, float) and value.is_integer() else _plain(value)


def _encode_float(value: Any) -> Any:
    return value if type(value) is float else _MISFIT


def _encode_json_list(value: Any) -> Any:
    return encode_json(value) if type(value) is list else _MISFIT


_TEXT = _Column(pa.string(), _encode_text, _plain)
_INTEGER = _Column(pa.int64(), _encode_integer, _decode_integer)
_FLOAT = _Column(pa.float64(), _encode_float, _plain)
_JSON_LIST = _Column(pa.string(), _encode_json_list, _json)


# --- how lists and objects fit ---


def _list_of(item: _Column) -> _Column:
    """A list, carried where all its items are."""

    def encode(values: Any) -> Any:
        if type(values) is not list:
            return _MISFIT
        encoded = [item.encode(value) for value in values]
        return _MISFIT if any(value is _MISFIT for value in encoded) else encoded

    def decode(values: Any) -> Any:
        if isinstance(values, str):
            return decode_json(values)
        return [None if value is None else item.decode(value) for value in values]

    return _Column(pa.list_(item.type), encode, decode)


def _exact(*fields: _Field) -> _Column:
    """An object that is carried whole or not at all."""
    columns = {field.recorded: field for field in fields}

    def encode(recorded: Any) -> Any:
        if type(recorded) is not dict or not recorded.keys() <= columns.keys():
            return _MISFIT
        encoded = {key: columns[key].form.encode(value) for key, value in recorded.items()}
        return _MISFIT if any(value is _MISFIT for value in encoded.values()) else encoded

    return _Column(_struct(fields), encode, _plain)


def _open(*fields: _Field) -> _Column:
    """An object whose misfits go into its `extra`, so that it always fits."""
    columns: dict[str, list[_Field]] = {}
    for field in fields:
        columns.setdefault(field.recorded, []).append(field)

    def encode(recorded: Any) -> Any:
        if type(recorded) is not dict:
            return _MISFIT
        row: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in recorded.items():
            fitting = ((field.column, field.form.encode(value)) for field in columns.get(key, ()))
            column, encoded = next((found for found in fitting if found[1] is not _MISFIT), (key, _MISFIT))
            if encoded is _MISFIT:
                extra[key] = value
            else:
                row[column] = encoded
        return {**row, "extra": encode_json(extra)} if extra else row

    by_column = {field.column: field for field in fields}
    decode: Callable[[Any], Any] = lambda row: _decode_open(row, by_column) if isinstance(row, dict) else _json(row)  # noqa: E731
    return _Column(_struct([*fields, _Field("extra", "", _TEXT)]), encode, decode)


def _decode_open(row: Mapping[str, Any], by_column: Mapping[str, _Field]) -> dict[str, Any]:
    recorded: dict[str, Any] = {}
    for column, value in row.items():
        if _is_missing(value):
            continue
        if column == "extra":
            recorded.update(_extra(value))
        elif column in by_column:
            recorded[by_column[column].recorded] = by_column[column].form.decode(value)
        else:
            recorded[column] = _plain(value)
    return recorded


def _struct(fields: Iterable[_Field]) -> pa.DataType:
    return pa.struct([(field.column, field.form.type) for field in fields])


def _extra(value: Any) -> Mapping[str, Any]:
    """What our `extra` holds; an `extra` of others that is no JSON object stays a field of that name."""
    try:
        fields = _json(value)
    except CtxmodeError:
        fields = None
    return fields if isinstance(value, str) and isinstance(fields, dict) else {"extra": _plain(value)}


def _tool_call() -> _Column:
    """A call lies flat in its column: id, type, name, arguments."""
    flat = _exact(*(_Field(name, name, _TEXT) for name in ("id", "type", "name", "arguments")))

    def encode(call: Any) -> Any:
        function = call.get("function") if type(call) is dict else None
        if type(function) is not dict or "name" not in function or not {"id", "type", "function"} >= call.keys():
            return _MISFIT
        if not {"name", "arguments"} >= function.keys():
            return _MISFIT
        return flat.encode({key: value for key, value in call.items() if key != "function"} | function)

    def decode(row: Any) -> Any:
        call = _plain(row)
        if not isinstance(call, dict) or "function" in call or "name" not in call:
            return call
        function = {key: call.pop(key) for key in ("name", "arguments") if key in call}
        return {**call, "function": function}

    return _Column(flat.type, encode, decode)


# --- the layout ---


def _same(form: _Column, *names: str) -> list[_Field]:
    return [_Field(name, name, form) for name in names]


_MESSAGE = _open(
    *_same(_TEXT, "role", "content"),
    _Field("parts", "content", _JSON_LIST),
    *_same(_TEXT, "name"),
    *_same(_list_of(_tool_call()), "tool_calls"),
    *_same(_TEXT, "tool_call_id", "ts"),
    *_same(_list_of(_exact(*_same(_TEXT, "id", "text"), *_same(_FLOAT, "score"))), "documents"),
    *_same(_exact(*_same(_INTEGER, "prompt_tokens", "completion_tokens", "cached_tokens")), "usage"),
    *_same(_FLOAT, "latency_s", "cost_usd"),
)
_FACT = _open(
    *_same(_TEXT, "id", "kind", "value"),
    *_same(_list_of(_TEXT), "aliases"),
    *_same(_INTEGER, "stated_at", "superseded_at"),
    *_same(_TEXT, "supersedes"),
    *_same(_list_of(_INTEGER), "probe_at"),
    *_same(_TEXT, "polarity", "question"),
)
_RECORD = _open(
    *_same(_TEXT, "id", "lang", "source", "model"),
    *_same(_list_of(_TEXT), "tags"),
    *_same(_JSON_LIST, "tools"),
    *_same(_list_of(_MESSAGE), "messages"),
    *_same(_list_of(_FACT), "facts"),
)
SCHEMA = pa.schema(_RECORD.type)


def encode_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """The row of columns that carries `record` exactly."""
    row: dict[str, Any] = _RECORD.encode(record)
    return row


def decode_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a row carries.

    Raises:
        CtxmodeError: A column holds JSON text that is none, or values that JSON does not have.
    """
    record: dict[str, Any] = _RECORD.decode(row)
    return record


# --- files ---


def read_parquet(file: BinaryIO, name: str) -> Iterator[tuple[int, Any] | CtxmodeError]:
    """Each row's number, from 1, and record, a few rows at a time; an error in the place of one that has no JSON form.

    Args:
        file: A file that can be sought in.
        name: The file's name, for errors.
    """
    number = 0
    try:
        # Column chunks are read page by page, not whole: files of others may be one single row group.
        parquet = pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        columns = parquet.schema_arrow.names
        if "messages" not in columns:
            hint = f"its columns are {', '.join(columns)}"
            yield CtxmodeError('the Parquet file has no column "messages"', hint=hint, where=name)
            return
        for batch in parquet.iter_batches(batch_size=_batch_rows(parquet.metadata)):
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                number += 1
                try:
                    yield number, decode_row(row)
                except CtxmodeError as error:
                    error.where = f"{name}:row {number}"
                    yield error
    except (*DAMAGE, pa.ArrowException, ValueError) as error:
        yield damage(error, name, f"row {number}" if number else "")


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """How many rows of average size are held at once."""
    stored = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES * metadata.num_rows // max(1, stored))))


class ParquetWriter:
    """Writes records in row groups of bounded size.

    Args:
        file: Where the bytes go.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._writer = pq.ParquetWriter(file, SCHEMA, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def write(self, conversation: Conversation) -> None:
        """Add one conversation as it was recorded."""
        record = conversation.recorded
        self._rows.append(encode_row(record))
        self._bytes += len(encode_json(record))
        if len(self._rows) >= ROWS_PER_GROUP or self._bytes >= BYTES_PER_GROUP:
            self._flush()

    def close(self) -> None:
        """Write what is left, and the file's end."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=SCHEMA))
        self._rows, self._bytes = [], 0
