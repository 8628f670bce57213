"""`ctxmode generate`: what it writes, where, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.parse import parse_conversation
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
        (["-o", "sessions.doc"], b"error: sessions.doc: "),
        (["-o", "no/such/folder/sessions.jsonl"], b"error: no/such/folder/sessions.jsonl: "),
    ],
)
def test_refusals(arguments: list[str], message: bytes, tmp_path: Path) -> None:
    """Wrong usage is exit code 2 with one sentence, and nothing on stdout."""
    result = run(*arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == b""


def test_the_extension_decides(tmp_path: Path) -> None:
    """A Parquet file holds the same sessions."""
    output = tmp_path / "sessions.parquet"
    assert run("--sessions", "4", "--seed", "5", "-o", str(output)).returncode == 0
    read = Reading([str(output)]).conversations()
    expected = [parse_conversation(record, where="", default_id="") for record in generate_sessions(4, seed=5)]
    assert [(each.id, each.facts) for each in read] == [(each.id, each.facts) for each in expected]


def test_a_failed_run_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    """What cannot take its name is removed, and what stood under the name stays."""
    output = tmp_path / "sessions.jsonl"
    output.mkdir()
    result = run("--sessions", "1", "-o", str(output))
    assert (result.returncode, b"error: " in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == [output]
