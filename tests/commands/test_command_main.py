"""The entry point: version, help, and text that cannot play tricks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Ctxmode

from ctxmode_cli import __version__
from ctxmode_cli.commands.console import note, print_errors
from ctxmode_cli.errors import CtxmodeError, ExitCode


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(ctxmode: Ctxmode, flag: str) -> None:
    """The version is one line on stdout."""
    assert ctxmode(flag) == (0, f"ctxmode {__version__}\n", "")


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(ctxmode: Ctxmode, flag: str) -> None:
    """Help lists the commands and the exit codes, for the program and for each command."""
    result = ctxmode(flag)
    assert result.code == 0
    for command in ("compare", "replay", "generate", "convert", "tokenizer-check", "modes", "models", "formats"):
        assert command in result.out
        assert ctxmode(command, flag).code == 0
    assert "Exit codes: 0 passed" in result.out


def test_help_names_every_option(ctxmode: Ctxmode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both replaying commands have the shared options."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERMINAL_WIDTH", "200")
    for command in ("compare", "replay"):
        listed = ctxmode(command, "--help").out
        for option in (
            "--model", "--max-tokens", "--reserved-output", "--system-tokens", "--input-tokens", "--history-tokens",
            "--sliding-turns", "--sliding-low", "--summary-threshold", "--summary-every", "--summary-trigger",
            "--compress-ratio", "--summary-strategy", "--summary-target-tokens", "--summary-role", "--probes",
            "--seed", "--limit", "--sample", "--format", "--output", "--on-error", "--max-errors",
        ):  # fmt: skip
            assert option in listed


@pytest.mark.parametrize(
    "arguments", [["convert", "logs.jsonl", "out.jsonl"], ["tokenizer-check", "logs.jsonl"], ["compare", "logs.jsonl"]]
)
def test_environment_sets_options_of_every_command(
    ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """CTXMODE_ variables reach each command by the names of its options."""
    (here / "logs.jsonl").write_text('{"id": "a", "messages": [{"role": "user", "content": "hi"}]}\nnull\nnull\n')
    assert ctxmode(*arguments).code == 2
    monkeypatch.setenv("CTXMODE_ON_ERROR", "skip")
    assert ctxmode(*arguments).code == 0
    monkeypatch.setenv("CTXMODE_MAX_ERRORS", "1")
    assert ctxmode(*arguments).code == 2
    assert ctxmode(*arguments, "--max-errors", "2").code == 0


def test_environment_names_are_those_of_the_options(
    ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option is called alike in every command, whatever its parameter is called."""
    monkeypatch.setenv("CTXMODE_FORMAT", "json")
    assert ctxmode("models").out.startswith("{")
    for name, value in {"SESSIONS": "3", "LANG": "en", "SEED": "1", "OUTPUT": "s.jsonl"}.items():
        monkeypatch.setenv(f"CTXMODE_{name}", value)
    assert ctxmode("generate").code == 0
    monkeypatch.delenv("CTXMODE_OUTPUT")
    printed = ctxmode("generate", "-n", "3", "--lang", "en", "--seed", "1").out
    assert (here / "s.jsonl").read_text(encoding="utf-8") == printed
    assert len(printed.splitlines()) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "--limit", "1"],
        ["tokenizer-check"],
        ["generate", "-n", "500"],
        ["models"],
        ["formats"],
        ["--version"],
        ["--help"],
        ["compare", "-h"],
    ],
)
def test_stdout_on_a_full_disk(arguments: list[str]) -> None:
    """A result that cannot be written is an error of the user's disk, told once, whoever was writing."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ctxmode_cli", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert re.fullmatch(
        rb"error: <stdout>: the (result|file) cannot be written: No space left on device\n", done.stderr
    )


def test_unknown_command(ctxmode: Ctxmode) -> None:
    """An unknown command is wrong usage."""
    result = ctxmode("compair")
    assert (result.code, result.out) == (2, "")
    assert "compair" in result.err


def test_no_command_is_help(ctxmode: Ctxmode) -> None:
    """Without a command there is help, and the code of wrong usage."""
    result = ctxmode()
    assert result.code == 2
    assert "compare" in result.out + result.err


def test_exit_codes_are_as_promised() -> None:
    """The numbers are part of the public API."""
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0, "FAILED": 1, "USAGE": 2, "NOT_EVALUATED": 3, "INTERNAL": 4, "INTERRUPTED": 130,
    }  # fmt: skip


def test_errors_in_the_house_style(capsys: pytest.CaptureFixture[str]) -> None:
    """Place, message, hint; ten at most, then how many more."""
    errors = [CtxmodeError("is wrong", where=f"a.jsonl:{n}", hint="mend it" if n == 1 else "") for n in range(1, 13)]
    print_errors(errors, 12)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["error: a.jsonl:1: is wrong", "hint: mend it", "error: a.jsonl:2: is wrong"]
    assert lines[-2:] == ["error: a.jsonl:10: is wrong", "… and 2 more errors"]
    print_errors(errors[:10], 11)
    assert capsys.readouterr().err.splitlines()[-1] == "… and 1 more error"


def test_notes_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    """What comes from a log is one visible line."""
    note("a\x1b[31m\nb\u202ec\ud800")
    assert capsys.readouterr().err == "a\\x1b[31m\\nb\\u202ec\\ud800\n"
