"""`ctxmode generate`: what it writes, where, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode_cli.generate.sessions import generate_sessions


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The finished program, started as a user would start it."""
    command = [sys.executable, "-m", "ctxmode_cli", "generate", *arguments]
    return subprocess.run(command, capture_output=True, check=False, cwd=cwd, env={**os.environ, **environment})


def test_writes_records_to_stdout() -> None:
    """Sessions come out as JSON lines in UTF-8, fields in their natural order, whatever the locale."""
    result = run("--sessions", "3", "--seed", "5", PYTHONIOENCODING="ascii", PYTHONHASHSEED="1")
    records = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert (result.returncode, result.stderr) == (0, b"")
    assert records == list(generate_sessions(3, seed=5))
    assert list(records[0])[:3] == ["id", "lang", "source"]
    assert "您".encode() in result.stdout


def test_writes_a_file(tmp_path: Path) -> None:
    """With -o the same bytes are in the file, nothing on stdout, and nothing is left beside it."""
    output = tmp_path / "sessions.jsonl"
    result = run("--sessions", "2", "--lang", "en", "-o", str(output), PYTHONHASHSEED="2")
    assert (result.returncode, result.stdout) == (0, b"")
    assert output.read_bytes() == run("--sessions", "2", "--lang", "en", PYTHONHASHSEED="3").stdout
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_one_language(lang: str) -> None:
    """--lang keeps to one language."""
    result = run("--sessions", "2", "--lang", lang)
    assert {json.loads(line)["lang"] for line in result.stdout.splitlines()} == {lang}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sessions", "0"], b"error: cannot generate 0 sessions"),
        (["--sessions", "-4"], b"error: cannot generate -4 sessions"),
        (["--lang", "fr"], b"'fr' is not one of"),
        (["-o", "sessions.parquet"], b"error: sessions.parquet: sessions are written as JSONL"),
        (["-o", "no/such/folder/sessions.jsonl"], b"cannot write: No such file or directory"),
    ],
)
def test_refusals(arguments: list[str], message: bytes, tmp_path: Path) -> None:
    """Wrong usage is exit code 2 with one sentence, and nothing on stdout."""
    result = run(*arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == b""


def test_a_failed_run_leaves_the_old_file(tmp_path: Path) -> None:
    """What stands under the name stays as it is when the run cannot write."""
    output = tmp_path / "sessions.jsonl"
    output.write_text("old")
    (tmp_path / ".sessions.jsonl.part").mkdir()
    assert run("--sessions", "1", "-o", str(output)).returncode == 2
    assert output.read_text() == "old"


def test_a_failed_run_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    """What was written until a run failed is removed."""
    output = tmp_path / "sessions.jsonl"
    output.mkdir()
    result = run("--sessions", "1", "-o", str(output))
    assert (result.returncode, b"cannot write: " in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == [output]
