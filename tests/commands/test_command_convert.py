"""`ctxmode convert` and `ctxmode formats` as the user calls them: streams, files and exit codes."""

import gzip
import hashlib
import io
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from ctxmode_cli.commands.main import main
from ctxmode_cli.conversation.files import FORMATS
from ctxmode_cli.conversation.streams import COMPRESSIONS

DATASETS = Path(__file__).resolve().parents[2] / ".." / "shared" / "datasets"
RECORD = b'{"id": "a", "messages": [{"role": "user", "content": "hi"}]}\n'
OTHER = RECORD.replace(b'"a"', b'"b"')


class Outcome(NamedTuple):
    code: int
    out: str
    err: list[str]


Run = Callable[..., Outcome]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def run_main(*args: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["ctxmode", *args])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capfd.readouterr()
        return Outcome(int(stopped.value.code or 0), captured.out, captured.err.splitlines())

    return run_main


def test_convert_says_how_much_it_wrote_and_keeps_stdout_clean(run: Run, here: Path) -> None:
    """The count goes to stderr; stdout is for results."""
    (here / "logs.jsonl").write_bytes(RECORD + OTHER)
    assert run("convert", "logs.jsonl", "out.parquet") == (0, "", ["2 conversations written to out.parquet"])


def test_convert_takes_many_inputs_and_the_output_last(run: Run, here: Path) -> None:
    """Files, directories and globs, in the order given."""
    (here / "day").mkdir()
    (here / "day" / "b.jsonl.gz").write_bytes(gzip.compress(OTHER))
    (here / "a.jsonl").write_bytes(RECORD)
    assert run("convert", "day", "a.json*", "out.jsonl").code == 0
    assert (here / "out.jsonl").read_bytes() == OTHER + RECORD


def test_convert_reads_stdin_and_writes_stdout(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` twice makes it a filter."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(RECORD))))
    assert run("convert", "-", "-") == (0, RECORD.decode(), ["1 conversation written to -"])


@pytest.mark.skipif(not DATASETS.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize("name", ["multiwoz21", "taskmaster4", "interleaved_en", "sgd"])
def test_jsonl_to_parquet_and_back_is_the_same_to_the_value(name: str, run: Run, here: Path) -> None:
    """Real data sets come back equal, record by record, through the command itself."""
    with gzip.open(DATASETS / f"{name}.jsonl.gz") as stream:
        before = list(itertools.islice(stream, 1000))
    (here / "logs.jsonl").write_bytes(b"".join(before))
    assert run("convert", "logs.jsonl", "there.parquet").code == 0
    assert run("convert", "there.parquet", "back.jsonl").code == 0
    with (here / "back.jsonl").open("rb") as after:
        assert all(json.loads(left) == json.loads(right) for left, right in zip(before, after, strict=True))


def test_convert_refuses_to_write_over_its_own_input(run: Run, here: Path) -> None:
    """Under its name, another spelling, a link, or found in a directory."""
    (here / "logs").mkdir()
    (here / "logs" / "a.jsonl").write_bytes(RECORD)
    (here / "link.jsonl").symlink_to("logs/a.jsonl")
    for args in (["logs/a.jsonl", "./logs/a.jsonl"], ["logs", "logs/a.jsonl"], ["logs/a.jsonl", "link.jsonl"]):
        outcome = run("convert", *args)
        assert outcome.code == 2
        assert outcome.err == [f"error: {args[1]}: the output is one of the inputs", "hint: write to another file"]
    assert (here / "logs" / "a.jsonl").read_bytes() == RECORD


def test_convert_needs_an_input_and_an_output(run: Run) -> None:
    """One path is not enough."""
    outcome = run("convert", "logs.jsonl")
    assert (outcome.code, outcome.err[0]) == (2, "error: an input and an output are needed")


def test_skipped_records_are_counted_in_the_last_line(run: Run, here: Path) -> None:
    """What was left out is named, and counted."""
    (here / "logs.jsonl").write_bytes(RECORD + b"null\n" + OTHER)
    outcome = run("convert", "logs.jsonl", "out.jsonl", "--on-error", "skip")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err[0].startswith("skipped: logs.jsonl:2: ")
    assert outcome.err[-1] == "2 conversations written to out.jsonl, 1 bad skipped"


def test_more_than_max_errors_is_exit_2_and_no_output(run: Run, here: Path) -> None:
    """Errors that are skipped have a limit where one is given."""
    (here / "logs.jsonl").write_bytes(RECORD + b"null\nnull\n" + OTHER)
    assert run("convert", "logs.jsonl", "out.jsonl", "--on-error", "skip", "--max-errors", "1").code == 2
    assert not (here / "out.jsonl").exists()


def test_a_log_with_many_errors_shows_ten_and_a_count(run: Run, here: Path) -> None:
    """At most ten errors, then how many more there were; no output is left behind."""
    (here / "logs.jsonl").write_bytes(b"null\n" * 13)
    outcome = run("convert", "logs.jsonl", "out.jsonl")
    assert outcome.code == 2
    assert outcome.err == [
        *(f"error: logs.jsonl:{line}: a record is a JSON object, not null" for line in range(1, 11)),
        "… and 3 more errors",
    ]
    assert not (here / "out.jsonl").exists()


CUT_OFF = gzip.compress(RECORD + OTHER.replace(b"hi", hashlib.shake_256(b"").hexdigest(4000).encode()), mtime=0)[:-20]


@pytest.mark.parametrize(
    ("data", "error", "hint"),
    [
        (b"", "logs.jsonl: no conversations", "one conversation a line"),
        (b'{"id": }\n', "logs.jsonl:1: invalid JSON: expecting value, column 8", ""),
        (b"null\n", "logs.jsonl:1: a record is a JSON object, not null", ""),
        (b"17\n", "logs.jsonl:1: a record is a JSON object, not a number", ""),
        (b'{"a":' * 200_000, "logs.jsonl:1: invalid JSON: nested too deeply", ""),
        (b'{"x": "\xe9"}\n', "logs.jsonl:1: invalid UTF-8 at byte 8 of the line (0xe9)", "iconv"),
        (b'{"x": NaN}\n', "logs.jsonl:1: invalid JSON: NaN is not JSON", ""),
        (b'{"x": 1' + b"0" * 5000 + b"}", "logs.jsonl:1: invalid JSON: an integer of more than 4,300 digits", ""),
        (b'{\n "id": "a"\n}\n', "logs.jsonl:1: the file is pretty-printed JSON", "jq -c . FILE"),
        (b'[{"id": "a"}]\n', "logs.jsonl:1: the file is one JSON array", "jq -c '.[]' FILE"),
        (b"\x7fELF\x02\x01\x00\xff\n", "logs.jsonl:1: invalid UTF-8 at byte 8 of the line (0xff)", "iconv"),
        (CUT_OFF, "logs.jsonl: the file cannot be read beyond line 1 (Compressed file ended", "cut off"),
        (RECORD + RECORD, 'logs.jsonl:2: duplicate id "a"', ""),
        (
            RECORD.replace(b'"a"', b'"\\u001b[2J"') * 2,
            'logs.jsonl:2: duplicate id "\\x1b[2J"',
            "",
        ),
    ],
)
def test_bad_input_is_exit_2_with_its_place_and_no_traceback(
    data: bytes, error: str, hint: str, run: Run, here: Path
) -> None:
    """Each bad input gives its one sentence, its place and, where there is a way out, a hint."""
    (here / "logs.jsonl").write_bytes(data)
    outcome = run("convert", "logs.jsonl", "out.jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err[0].startswith(f"error: {error}")
    assert len(outcome.err) == (2 if hint else 1)
    assert hint in outcome.err[-1]


def test_the_installed_program_says_the_same(here: Path) -> None:
    """Through a process of its own: exit code 2, the error on stderr, nothing on stdout."""
    (here / "logs.jsonl").write_bytes(b"null\n")
    done = subprocess.run(
        [sys.executable, "-m", "ctxmode_cli", "convert", "logs.jsonl", "out.jsonl"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: logs.jsonl:1: a record is a JSON object, not null\n"


def test_a_reader_that_goes_away_is_no_failed_gate(here: Path) -> None:
    """`ctxmode convert … - | head -1` ends as interrupted, without a traceback."""
    (here / "logs.jsonl").write_bytes(b"".join(RECORD.replace(b'"a"', b'"%d"' % number) for number in range(5000)))
    command = [sys.executable, "-m", "ctxmode_cli", "convert", "logs.jsonl", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_formats_lists_what_the_reader_knows(run: Run) -> None:
    """One line for each format and compression of the reader's own tables."""
    outcome = run("formats")
    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert len(lines) == len(FORMATS) + len(COMPRESSIONS)
    assert [line.split()[0] for line in lines] == [known.name for known in (*FORMATS, *COMPRESSIONS)]
    assert all(ending in outcome.out for known in FORMATS for ending in known.extensions)
