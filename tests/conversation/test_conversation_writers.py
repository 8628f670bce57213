"""Writing conversations: the extension decides, and a file is whole or not there."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.conversation.files import Reading, open_writer
from ctxmode_cli.conversation.jsonl import decode_json, encode_json, sorted_json
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError

RECORDS = [
    {"id": "a", "messages": [{"role": "user", "content": "你好 \u2028 \x00"}], "mine": [1, 1.5, None]},
    {"id": "\udc80", "messages": [{"role": "user", "content": "\ud800"}]},
]


def write(path: str, records: list[dict[str, Any]] = RECORDS) -> None:
    with open_writer(path) as writer:
        for record in records:
            writer.write(parse_conversation(record, where="", default_id=""))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "magic"),
    [
        ("out.jsonl", b'{"id"'),
        ("out.ndjson", b'{"id"'),
        ("out.JSONL.GZ", b"\x1f\x8b"),
        ("out.jsonl.zst", b"\x28\xb5\x2f\xfd"),
        ("out.parquet", b"PAR1"),
    ],
)
def test_the_extension_chooses_format_and_compression(name: str, magic: bytes, here: Path) -> None:
    """What is written under a name is what the name says, and reads back equal, lone surrogates and NUL included."""
    write(name)
    assert (here / name).read_bytes().startswith(magic)
    assert [dict(item.recorded) for item in Reading([name]).conversations()] == RECORDS


def test_text_is_written_as_it_is_and_escaped_only_where_utf8_cannot_carry_it(here: Path) -> None:
    """A person can read the Chinese; only the record with the lone surrogate is escaped."""
    write("out.jsonl")
    first, second = (here / "out.jsonl").read_bytes().split(b"\n")[:2]
    assert "你好".encode() in first
    assert second.isascii()


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())), st.lists)
)
@settings(max_examples=100, deadline=None)
def test_any_text_survives_as_one_line_of_json(value: Any) -> None:
    """Whatever stands in a string, its JSON is one line of UTF-8 that means the same."""
    line = encode_json(value).encode()
    assert b"\n" not in line
    assert decode_json(line.decode()) == value


def test_a_number_that_is_not_finite_is_never_written() -> None:
    """NaN is not JSON."""
    for encode in (encode_json, sorted_json):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode(float("nan"))


def test_sorted_json_is_the_same_bytes_for_equal_values() -> None:
    """Whatever the order of the keys, in ASCII, so that a digest of it holds anywhere."""
    assert sorted_json({"b": "你\ud800", "a": 1}) == sorted_json({"a": 1, "b": "你\ud800"})
    assert sorted_json({"b": "你\ud800", "a": 1}) == '{"a": 1, "b": "\\u4f60\\ud800"}'


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_equal_records_give_equal_bytes(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock and no name is in the file."""
    write(name)
    first = (here / name).read_bytes()
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write(f"other-{name}")
    assert (here / f"other-{name}").read_bytes() == first


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst", "out.parquet"])
def test_a_failure_leaves_what_was_there(name: str, here: Path) -> None:
    """The file is put in place only at the end; after an error the old one stands, and nothing lies beside it."""
    (here / name).write_bytes(b"before")
    with pytest.raises(CtxmodeError, match="no messages"):
        write(name, [*RECORDS, {"messages": []}])
    assert os.listdir(here) == [name]  # noqa: PTH208 - hidden files too
    assert (here / name).read_bytes() == b"before"


def test_a_link_is_written_through(here: Path) -> None:
    """The link stays, and the file that it points to is replaced."""
    (here / "real").mkdir()
    (here / "out.jsonl").symlink_to("real/file.jsonl")
    write("out.jsonl")
    assert (here / "out.jsonl").is_symlink()
    assert json.loads((here / "real" / "file.jsonl").read_bytes().splitlines()[0])["id"] == "a"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "the name tells no format"),
        ("out", "the name tells no format"),
        ("out.gz", "the name tells no format"),
        ("absent/out.jsonl", "the file cannot be written: No such file or directory"),
        ("folder.jsonl", "the file cannot be written: Is a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_an_error_at_once(name: str, message: str, here: Path) -> None:
    """Before anything is read, with the place."""
    (here / "folder.jsonl").mkdir()
    with pytest.raises(CtxmodeError) as raised, open_writer(name):
        pytest.fail("nothing is opened")
    assert (raised.value.message, raised.value.where) == (message, name)


@pytest.mark.usefixtures("here")
def test_a_full_disk_is_an_error_of_the_output() -> None:
    """What the system says while writing is told with the output's name."""
    with (
        pytest.raises(CtxmodeError, match=r"out\.jsonl: the file cannot be written: No space left"),
        open_writer("out.jsonl"),
    ):
        raise OSError(28, "No space left on device")


def test_gzip_that_was_written_is_read_by_gzip(here: Path) -> None:
    """Other programs read it too."""
    write("out.jsonl.gz")
    assert len(gzip.decompress((here / "out.jsonl.gz").read_bytes()).splitlines()) >= 2
