"""What goes into a Reading, and what comes out of it."""

import gzip
import hashlib
import io
import json
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ctxmode_cli.conversation.files import Reading, sample
from ctxmode_cli.errors import CtxmodeError, InputErrors

DATASETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"


def record(conversation_id: str, text: str = "hello", **fields: object) -> dict[str, object]:
    return {"id": conversation_id, "messages": [{"role": "user", "content": text}], **fields}


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in records)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def read_ids(*paths: str, **options: Any) -> list[str]:
    return [conversation.id for conversation in Reading(paths, **options).conversations()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fault_of(data: bytes, here: Path, name: str = "logs.jsonl") -> CtxmodeError:
    """The one error that reading `data` gives."""
    (here / name).write_bytes(data)
    with pytest.raises(CtxmodeError) as raised:
        read_ids(name)
    errors = raised.value.errors if isinstance(raised.value, InputErrors) else [raised.value]
    assert len(errors) == 1
    return errors[0]


# --- where the bytes come from ---


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_compression_is_told_by_content_whatever_the_name(pack: Callable[[bytes], bytes], here: Path) -> None:
    """Plain, gzip and zstd bytes are read under any name."""
    (here / "log.txt").write_bytes(pack(lines(record("a"), record("b"))))
    assert read_ids("log.txt") == ["a", "b"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_all_members_of_a_compressed_file_are_read(pack: Callable[[bytes], bytes], here: Path) -> None:
    """A file put together from several compressed ones is read to its end."""
    (here / "log").write_bytes(pack(lines(record("a"))) + pack(b"") + pack(lines(record("b"))))
    assert read_ids("log") == ["a", "b"]


def test_zstd_may_begin_with_a_skippable_frame(here: Path) -> None:
    """A seekable zstd file, which begins with a frame of other data, is known as zstd."""
    (here / "log").write_bytes(b"\x50\x2a\x4d\x18\x04\x00\x00\x00seek" + zstd(lines(record("a"))))
    assert read_ids("log") == ["a"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_stdin_is_read_as_bytes(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads standard input, compressed or not, and places are in <stdin>."""
    data = pack(lines(record("a")))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    reading = Reading(["-"])
    assert [conversation.where for conversation in reading.conversations()] == ["<stdin>:1"]
    assert reading.sources == [("<stdin>", hashlib.sha256(data).hexdigest())]


def test_a_named_pipe_is_read(here: Path) -> None:
    """A FIFO, as the shell's <(…) makes it, is read like a file."""
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: (here / "pipe").write_bytes(lines(record("a"))))
    writer.start()
    assert read_ids("pipe") == ["a"]
    writer.join()


def test_sources_are_the_digests_of_the_stored_bytes_in_reading_order(here: Path) -> None:
    """After the last conversation, every source has its name as given and the SHA-256 of its stored bytes."""
    packed = gzip.compress(lines(record("b")))
    (here / "b.gz").write_bytes(packed)
    (here / "a.jsonl").write_bytes(lines(record("a")))
    reading = Reading(["./b.gz", "a.jsonl"])
    assert list(reading.conversations())
    assert reading.sources == [
        ("./b.gz", hashlib.sha256(packed).hexdigest()),
        ("a.jsonl", hashlib.sha256(lines(record("a"))).hexdigest()),
    ]


# --- which files a path stands for ---


def test_sources_of_inputs_that_were_left_unread(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that stops early names every file by the digest of all of it, as given, and a stream by what was read."""
    many = lines(*(record(str(number)) for number in range(5000)))
    (here / "a.jsonl").write_bytes(many)
    (here / "b.jsonl").write_bytes(lines(record("b")))
    whole = [
        ("./a.jsonl", hashlib.sha256(many).hexdigest()),
        (".//b.jsonl", hashlib.sha256(lines(record("b"))).hexdigest()),
    ]
    reading = Reading(["./a.jsonl", ".//b.jsonl"])
    conversations = reading.conversations()
    next(conversations)
    assert reading.sources == whole
    conversations.close()
    assert reading.sources == whole
    stdin = io.BytesIO(many)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stdin))
    piped = Reading(["-", "a.jsonl"])
    conversations = piped.conversations()
    next(conversations)
    conversations.close()
    [(name, digest), after] = piped.sources
    read = stdin.tell()
    assert 0 < read < len(many)
    assert (name, digest) == ("<stdin>", hashlib.sha256(many[:read]).hexdigest())
    assert after == ("a.jsonl", whole[0][1])


def test_sources_leave_out_what_cannot_be_read(here: Path) -> None:
    """A file that was passed over is not named, and does not shift the digests of the others."""
    for name in ("a", "b"):
        (here / f"{name}.jsonl").write_bytes(lines(record(name)))
    (here / "gone.jsonl").symlink_to("nowhere")
    digests = [(f"{name}.jsonl", hashlib.sha256(lines(record(name))).hexdigest()) for name in ("a", "b")]
    for stop_early in (False, True):
        reading = Reading(["gone.jsonl", "a.jsonl", "b.jsonl"], on_error="skip")
        conversations = reading.conversations()
        next(conversations)
        if not stop_early:
            assert len(list(conversations)) == 1
        assert reading.sources == digests


def test_a_directory_is_searched_for_known_names_sorted_and_without_hidden_ones(here: Path) -> None:
    """Logs are found in every folder below, sorted; hidden files, hidden folders and other names are left out."""
    for name in ("b.jsonl", "a/z.ndjson", "a/y.jsonl.gz", ".hidden.jsonl", ".git/x.jsonl", "notes.txt", "C.JSONL"):
        path = here / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(record(name)))
    assert read_ids("logs") == ["C.JSONL", "a/y.jsonl.gz", "a/z.ndjson", "b.jsonl"]


def test_a_json_file_in_a_directory_is_read_where_it_holds_records(here: Path) -> None:
    """A .json may be anything: in a directory it is read where its first line is a record."""
    (here / "logs").mkdir()
    (here / "logs" / "records.json").write_bytes(lines(record("a")))
    (here / "logs" / "settings.json").write_text('{"format": 1}\n')
    (here / "logs" / "pretty.json").write_text('{\n  "messages": []\n}\n')
    assert read_ids("logs") == ["a"]


def test_a_json_file_that_cannot_be_opened_is_one_error_in_a_directory(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be looked into is read all the same, so that its error is told at its name."""
    (here / "logs").mkdir()
    (here / "logs" / "a.jsonl").write_bytes(lines(record("a")))
    (here / "logs" / "b.json").write_bytes(lines(record("b")))
    opened = Path.open

    def refuse(path: Path, *args: Any) -> Any:
        if path.name == "b.json":
            raise PermissionError(13, "Permission denied")  # root may open anything
        return opened(path, *args)

    monkeypatch.setattr(Path, "open", refuse)
    reading = Reading(["logs"], on_error="skip")
    assert [item.id for item in reading.conversations()] == ["a"]
    assert [str(error) for error in reading.errors] == ["logs/b.json: the file cannot be read: Permission denied"]
    assert [name for name, _ in reading.sources] == ["logs/a.jsonl"]


def test_a_pipe_in_a_directory_is_left_alone(here: Path) -> None:
    """A FIFO that is not named itself is not waited for."""
    (here / "logs").mkdir()
    os.mkfifo("logs/pipe.jsonl")
    (here / "logs" / "a.jsonl").write_bytes(lines(record("a")))
    assert read_ids("logs") == ["a"]


def test_globs_are_expanded_and_sorted(here: Path) -> None:
    """A glob that the shell left alone is expanded, ** included; a directory it matches is searched."""
    for name in ("day/2.jsonl", "day/1.jsonl", "day/sub/3.jsonl"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(lines(record(name)))
    assert read_ids("day/*.jsonl") == ["day/1.jsonl", "day/2.jsonl"]
    assert read_ids("**/*.jsonl") == ["day/1.jsonl", "day/2.jsonl", "day/sub/3.jsonl"]
    assert read_ids("da*") == ["day/1.jsonl", "day/2.jsonl", "day/sub/3.jsonl"]
    assert sorted(read_ids("**")) == ["day/1.jsonl", "day/2.jsonl", "day/sub/3.jsonl"]


def test_a_path_that_exists_is_no_glob(here: Path) -> None:
    """A file whose name has glob characters is read as it stands."""
    (here / "log[1].jsonl").write_bytes(lines(record("bracket")))
    (here / "log1.jsonl").write_bytes(lines(record("one")))
    assert read_ids("log[1].jsonl") == ["bracket"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("absent.jsonl", "no such file or directory"),
        ("empty", "the directory holds no logs"),
        ("*.parquet", "the glob matches no logs"),
    ],
)
def test_a_path_without_logs_is_an_error_before_anything_is_read(path: str, message: str, here: Path) -> None:
    """A missing path, a directory without logs and a glob without a match each say so, with a hint."""
    (here / "empty").mkdir()
    with pytest.raises(CtxmodeError) as raised:
        Reading([path])
    assert (raised.value.message, raised.value.where) == (message, path)
    assert "globs in quotes" in raised.value.hint


def test_a_directory_without_permission_is_an_error(here: Path) -> None:
    """A folder that may not be listed is told of, not passed over."""
    here.chmod(0o755)
    (here / "locked").mkdir(mode=0o000)
    as_root = os.geteuid() == 0
    try:
        if as_root:
            os.seteuid(65534)
        with pytest.raises(CtxmodeError, match="locked: the directory cannot be read: Permission denied"):
            Reading(["locked"])
    finally:
        if as_root:
            os.seteuid(0)
        (here / "locked").chmod(0o700)


def test_a_broken_link_is_an_error_even_in_a_directory(here: Path) -> None:
    """A link that points nowhere is told of, named itself or found in a directory."""
    (here / "logs").mkdir()
    (here / "logs" / "link.jsonl").symlink_to("nowhere")
    for path in ("logs", "logs/link.jsonl"):
        with pytest.raises(InputErrors, match=r"^logs/link\.jsonl: the file cannot be read: No such file or directory"):
            read_ids(path)


def test_a_file_that_vanishes_is_one_error(here: Path) -> None:
    """A file that is gone when its turn comes is an error of that file; in skip mode the others are read."""
    for name in ("a", "b"):
        (here / f"{name}.jsonl").write_bytes(lines(record(name)))
    reading = Reading(["a.jsonl", "b.jsonl"], on_error="skip")
    (here / "a.jsonl").unlink()
    assert [conversation.id for conversation in reading.conversations()] == ["b"]
    assert [str(error) for error in reading.errors] == ["a.jsonl: the file cannot be read: No such file or directory"]


# --- ids ---


def test_a_record_without_an_id_is_named_after_its_file_and_line(here: Path) -> None:
    """A plain fine-tuning file, a list of messages a line, just works."""
    (here / "logs").mkdir()
    (here / "logs" / "tune.jsonl").write_bytes(b'{"messages": [{"role": "user", "content": "x"}]}\n' * 2)
    assert read_ids("logs/tune.jsonl") == ["tune.jsonl:1", "tune.jsonl:2"]


def test_files_of_one_name_give_different_ids(here: Path) -> None:
    """Where two files share their base name, records without an id are named after the whole path."""
    for folder in ("mon", "tue"):
        (here / folder).mkdir()
        (here / folder / "log.jsonl").write_bytes(b'{"messages": [{"role": "user", "content": "x"}]}\n')
    assert read_ids("mon", "tue") == ["mon/log.jsonl:1", "tue/log.jsonl:1"]


def test_an_id_that_was_seen_before_is_an_error_across_files(here: Path) -> None:
    """The second record of an id is an error at its own place, also in another file."""
    (here / "a.jsonl").write_bytes(lines(record("x"), record("\ud800")))
    (here / "b.jsonl").write_bytes(lines(record("y"), record("x")))
    reading = Reading(["a.jsonl", "b.jsonl"], on_error="skip")
    assert [conversation.id for conversation in reading.conversations()] == ["x", "\ud800", "y"]
    assert [str(error) for error in reading.errors] == ['b.jsonl:2: duplicate id "x"']


# --- lines ---


def test_only_a_line_feed_ends_a_line(here: Path) -> None:
    """Separators that str.splitlines knows may stand inside strings, escaped or not."""
    text = "a\u2028b\u2029c\u0085d\x0b\x0c"
    raw = json.dumps(record("a", text), ensure_ascii=False).replace("\\u000b\\f", "\\u000b\\u000c")
    (here / "log").write_text(raw + "\n", encoding="utf-8")
    (found,) = Reading(["log"]).conversations()
    assert found.messages[0].content == text


def test_a_byte_order_mark_crlf_and_blank_lines_are_borne(here: Path) -> None:
    """A file from Windows is read whole, and lines are counted as an editor counts them."""
    (here / "log").write_bytes(
        b"\xef\xbb\xbf" + b"\r\n".join([*lines(record("a"), record("b")).split(b"\n"), b" \t", b""])
    )
    assert [item.where for item in Reading(["log"]).conversations()] == ["log:1", "log:2"]
    (here / "log").write_bytes(b"\n \r\n" + lines(record("a")))
    assert [item.where for item in Reading(["log"]).conversations()] == ["log:3"]


def test_a_last_line_without_an_end_is_read(here: Path) -> None:
    """The last record needs no line feed behind it."""
    (here / "log").write_bytes(lines(record("a"), record("b"))[:-1])
    assert read_ids("log") == ["a", "b"]


def test_lone_surrogates_and_nul_survive(here: Path) -> None:
    """Text that JSON can say and UTF-8 cannot comes through unharmed."""
    text = "\ud800 \udfff \x00"
    (here / "log").write_bytes(lines(record("a", text)))
    (found,) = Reading(["log"]).conversations()
    assert found.messages[0].content == text


def test_the_last_of_duplicate_keys_wins(here: Path) -> None:
    """As every JSON library has it."""
    (here / "log").write_bytes(b'{"id": "first", "id": "last", "messages": [{"role": "user", "content": "x"}]}')
    assert read_ids("log") == ["last"]


def test_a_line_of_fifty_megabytes_is_read(here: Path) -> None:
    """A long line is only a long line."""
    (here / "log").write_bytes(lines(record("a", "x" * 50_000_000)))
    (found,) = Reading(["log"]).conversations()
    assert len(found.messages[0].content) == 50_000_000


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_memory_does_not_grow_with_the_file(pack: Callable[[bytes], bytes], here: Path) -> None:
    """Eight megabytes are read with less than one at a time."""
    (here / "log").write_bytes(pack(lines(*(record(str(index), "x" * 8000) for index in range(1000)))))
    Reading(["log"])
    tracemalloc.start()
    count = sum(1 for _ in Reading(["log"]).conversations())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1000
    assert peak < 1_000_000


# --- what is wrong, and where ---

GOOD = lines(record("good"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "a",, }', "invalid JSON: expecting property name enclosed in double quotes, column 12"),
        (b'{"id": "a"} {}', "invalid JSON: extra data, column 13"),
        (b'{"id": "a", "messages": [{"role": "us', "invalid JSON: the line ends inside a string, column 38"),
        (b"null", "a record is a JSON object, not null"),
        (b"42", "a record is a JSON object, not a number"),
        (b'"text"', "a record is a JSON object, not a string"),
        (b'{"id": "a"}', 'the record has no "messages"'),
        (b'{"score": NaN}', "invalid JSON: NaN is not JSON"),
        (b'{"score": -Infinity}', "invalid JSON: -Infinity is not JSON"),
        (b'{"score": 1e999}', "invalid JSON: the number 1e999 is too large"),
        (b"1" * 5000, "invalid JSON: an integer of more than 4,300 digits"),
        (b'{"a":' * 200_000, "invalid JSON: nested too deeply"),
        (b"[" * 200_000 + b"]" * 200_000, "invalid JSON: nested too deeply"),
        ('{"id": "é"}'.encode("latin-1"), "invalid UTF-8 at byte 9 of the line (0xe9)"),
        (b"\x00\xff\x1b[2Jjunk", "invalid UTF-8 at byte 2 of the line (0xff)"),
        (b"\x00\x00\x1b[2Jjunk", "invalid JSON: expecting value, column 1"),
    ],
)
def test_a_bad_line_is_one_sentence_at_its_place(line: bytes, message: str, here: Path) -> None:
    """Each way for a line to be wrong is named in one sentence, with file and line."""
    error = fault_of(GOOD + line + b"\n", here)
    assert str(error) == f"logs.jsonl:2: {message}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (json.dumps(record("a"), indent=2).encode(), "the file is pretty-printed JSON"),
        (b"\n\n" + json.dumps([record("a")], indent=2).encode(), "the file is one JSON array"),
        (json.dumps([record("a"), record("b")]).encode(), "the file is one JSON array"),
    ],
)
def test_a_json_file_of_another_form_is_one_error_with_the_way_out(data: bytes, message: str, here: Path) -> None:
    """A pretty-printed file or an array is told once, not line by line, with the command that converts it."""
    error = fault_of(data, here)
    assert error.message == message
    assert "jq -c" in error.hint


@pytest.mark.parametrize("data", [b"", b"\n\n  \r\n", b"\xef\xbb\xbf", gzip.compress(b"")])
def test_an_empty_file_has_no_conversations(data: bytes, here: Path) -> None:
    """An empty file, and one with blank lines only, is an error that says so."""
    assert str(fault_of(data, here)) == "logs.jsonl: no conversations"


def test_an_empty_file_among_others_is_no_error(here: Path) -> None:
    """Only an input without any conversation is an error."""
    (here / "a.jsonl").write_bytes(b"")
    (here / "b.jsonl").write_bytes(GOOD)
    assert read_ids("a.jsonl", "b.jsonl") == ["good"]


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_what_comes_before_a_break_is_delivered_in_skip_mode(pack: Callable[[bytes], bytes], here: Path) -> None:
    """A compressed file that was cut off gives its whole records, and one error with the line after which it broke."""
    data = pack(lines(*(record(str(index), os.urandom(500).hex()) for index in range(1000))))
    (here / "log").write_bytes(data[: len(data) // 2])
    (here / "next").write_bytes(GOOD)
    reading = Reading(["log", "next"], on_error="skip")
    ids = [conversation.id for conversation in reading.conversations()]
    last = len(ids) - 1
    assert ids == [*map(str, range(last)), "good"]
    assert last > 300
    assert reading.skipped == 1
    assert str(reading.errors[0]).startswith(f"log: the file cannot be read beyond line {last} (")
    assert reading.sources[0] == ("log", hashlib.sha256(data[: len(data) // 2]).hexdigest())


def test_a_small_cut_off_gzip_still_gives_its_first_record(here: Path) -> None:
    """What was decompressed before the cut is not lost in a buffer."""
    data = gzip.compress(lines(record("a"), record("b", os.urandom(4000).hex())))
    (here / "log").write_bytes(data[:-20])
    assert read_ids("log", on_error="skip") == ["a"]


def test_whole_zstd_frames_before_a_cut_off_one_are_read(here: Path) -> None:
    """A log that is flushed frame by frame loses only the frame that was cut off."""
    flushed = b"".join(zstd(lines(record(str(index), "x" * 2000))) for index in range(8))
    (here / "log").write_bytes(flushed + zstd(lines(record("last", os.urandom(500).hex())))[:-50])
    assert len(read_ids("log", on_error="skip")) >= 6


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8bjunk", b"\x28\xb5\x2f\xfdjunkjunk"])
def test_a_compressed_file_broken_at_its_start_is_an_error(data: bytes, here: Path) -> None:
    """A broken header is damage too."""
    assert "the file cannot be read from its start" in str(fault_of(data, here))


# --- how errors are borne ---


def test_after_the_first_error_nothing_more_is_delivered_but_all_errors_are_collected(here: Path) -> None:
    """on_error="fail": the first ten errors are kept, all are counted, and they are raised at the end."""
    (here / "log").write_bytes(GOOD + b"null\n" * 12 + lines(record("later")))
    delivered = []
    with pytest.raises(InputErrors) as raised:
        delivered.extend(conversation.id for conversation in Reading(["log"]).conversations())
    assert delivered == ["good"]
    assert (len(raised.value.errors), raised.value.total) == (10, 12)
    assert str(raised.value) == "log:2: a record is a JSON object, not null"


def test_skip_mode_counts_and_goes_on(here: Path) -> None:
    """on_error="skip": bad records are left out and counted."""
    (here / "log").write_bytes(b"null\n" * 12 + GOOD)
    reading = Reading(["log"], on_error="skip")
    assert [conversation.id for conversation in reading.conversations()] == ["good"]
    assert (reading.skipped, reading.error_count, len(reading.errors)) == (12, 12, 10)


def test_skip_mode_with_nothing_left_is_an_error(here: Path) -> None:
    """Where every record was bad, their errors are raised."""
    (here / "log").write_bytes(b"null\nnull\n")
    with pytest.raises(InputErrors) as raised:
        read_ids("log", on_error="skip")
    assert raised.value.total == 2


def test_more_than_max_errors_stops_at_once(here: Path) -> None:
    """max_errors bad records are borne, one more is not."""
    (here / "log").write_bytes(GOOD + b"null\nnull\n")
    assert read_ids("log", on_error="skip", max_errors=2) == ["good"]
    with pytest.raises(InputErrors) as raised:
        read_ids("log", on_error="skip", max_errors=1)
    assert raised.value.total == 2


# --- samples ---


def test_a_sample_does_not_depend_on_the_order_of_arrival(here: Path) -> None:
    """The same conversations are chosen in any order, and come back in the order of the input."""
    records = [record(str(index)) for index in range(50)]
    (here / "forward").write_bytes(lines(*records))
    (here / "backward").write_bytes(lines(*reversed(records)))
    forward = [item.id for item in sample(Reading(["forward"]).conversations(), 7, seed=1)]
    backward = [item.id for item in sample(Reading(["backward"]).conversations(), 7, seed=1)]
    assert forward == sorted(forward, key=int) == backward[::-1]
    assert len(forward) == 7


def test_another_seed_gives_another_sample(here: Path) -> None:
    """The seed chooses; the same seed chooses the same."""
    (here / "log").write_bytes(lines(*(record(str(index)) for index in range(50))))
    first, second, third = (
        [item.id for item in sample(Reading(["log"]).conversations(), 7, seed=seed)] for seed in (1, 1, 2)
    )
    assert first == second != third


def test_a_sample_larger_than_its_input_is_all_of_it(here: Path) -> None:
    """Nothing is drawn twice."""
    (here / "log").write_bytes(lines(record("a"), record("b")))
    assert [item.id for item in sample(Reading(["log"]).conversations(), 9, seed=0)] == ["a", "b"]
    assert sample(Reading(["log"]).conversations(), 0, seed=0) == []


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the shared data sets are not here")
def test_every_labelled_data_set_is_read_without_an_error() -> None:
    """All ten data sets are read, whole."""
    reading = Reading([str(DATASETS)])
    assert sum(1 for _ in reading.conversations()) == 10_136
    assert len(reading.sources) == 10
