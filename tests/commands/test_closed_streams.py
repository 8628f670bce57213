"""A process that is started without one of its standard streams."""

import subprocess
import sys
from pathlib import Path

import pytest

from ctxmode_cli.commands.console import print_errors
from ctxmode_cli.errors import CtxmodeError

LOG = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}\n'


def run(closed: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = f'"{sys.executable}" -m ctxmode_cli {" ".join(arguments)} {closed}'
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.jsonl").write_text(LOG)
    return tmp_path


def test_without_stdin_there_are_no_conversations(folder: Path) -> None:
    """Reading from a closed standard input finds nothing, and says so."""
    done = run("<&-", "compare", "-", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no conversations" in done.stderr


def test_without_stdout_nothing_is_run(folder: Path) -> None:
    """There is nowhere to write the result: an error of the user's, never a 1."""
    done = run(">&-", "compare", "log.jsonl", folder=folder)
    assert (done.returncode, done.stderr) == (2, "error: <stdout>: there is nowhere to write the result\n")


def test_without_stderr_the_exit_code_still_speaks(folder: Path) -> None:
    """Results and exit codes are as ever."""
    done = run("2>&-", "compare", "log.jsonl", "--format", "json", folder=folder)
    assert (done.returncode, done.stdout[0]) == (0, "{")
    assert run("2>&-", "compare", "nofile", folder=folder).returncode == 2


def test_errors_are_bounded_and_hints_come_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A log may hold a document as an id, and the same fault in every line."""
    print_errors([CtxmodeError("x" * 10_000, hint="mend it", where=f"log:{line}") for line in (1, 2)], 2)
    first, hint, second = capsys.readouterr().err.splitlines()
    assert len(first) < 600
    assert hint == "hint: mend it"
    assert second.startswith("error: log:2: x")
