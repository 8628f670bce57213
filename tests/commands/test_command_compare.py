"""`ctxmode compare`: options, outputs, exit codes."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from assumptions import simulation
from command_line import Ctxmode

from ctxmode_cli.commands import outputs, progress, replaying
from ctxmode_cli.errors import CtxmodeError

PROGRAM = [sys.executable, "-m", "ctxmode_cli"]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SETTINGS = ("--config", str(GOLDEN / "ctxmode.toml"))


def report(result: Any) -> dict[str, Any]:
    """The JSON that a run printed."""
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without what would change colours and columns."""
    kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return {**kept, "TERM": "xterm", **variables}


# --- forms ---


@pytest.mark.parametrize(
    ("form", "golden"),
    [("table", "piped.txt"), ("markdown", "md"), ("csv", "csv"), ("jsonl", "jsonl"), ("json", "json")],
)
def test_form_on_stdout(ctxmode: Ctxmode, monkeypatch: pytest.MonkeyPatch, form: str, golden: str) -> None:
    """Each form goes to stdout, where nothing else goes."""
    monkeypatch.chdir(GOLDEN)  # where ctxmode.toml is
    result = ctxmode("compare", "talk.jsonl", "--format", form)
    assert (result.code, result.err) == (0, "")
    assert result.out == (GOLDEN / f"compare.{golden}").read_text(encoding="utf-8")


def test_json_is_the_same_in_any_process(talk: str) -> None:
    """Equal input and seed give equal bytes, whatever the order of sets and dicts."""
    first, second = (
        subprocess.run(
            [*PROGRAM, "compare", talk, *SETTINGS, "--format", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert json.loads(first)["data"]["sources"][0]["name"] == talk


def test_built_in_sessions(ctxmode: Ctxmode) -> None:
    """Without data the built-in sessions are compared, and every mode replays the same requests."""
    compared = report(ctxmode("compare", "--limit", "2", "--format", "json"))
    assert compared["data"]["conversations"] == 2
    assert [source["name"] for source in compared["data"]["sources"]] == ["200 built-in sessions"]
    assert {part["requests"] for part in compared["modes"].values()} == {compared["data"]["requests"]}


# --- the terminal ---


def on_terminal(columns: int, *arguments: str, **variables: str) -> str:
    """What the program sends to a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([*PROGRAM, *arguments], stdout=follower, env=environment(**variables)) as process:
        os.close(follower)
        chunks = []
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # how Linux tells that the other end has gone
                break
            if not chunk:
                break
            chunks.append(chunk)
        os.close(leader)
    assert process.returncode == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 140])
def test_table_on_a_terminal(talk: str, columns: int) -> None:
    """On a terminal the table keeps to its columns, with styles unless NO_COLOR asks for none."""
    arguments = ("compare", talk, *SETTINGS, "-q")
    plain = on_terminal(columns, *arguments, NO_COLOR="1")
    assert plain == (GOLDEN / f"compare.{columns}.txt").read_text(encoding="utf-8")
    if columns == 140:
        assert on_terminal(columns, *arguments) == (GOLDEN / "compare.colour.txt").read_text(encoding="utf-8")
        assert on_terminal(columns, *arguments, TERM="dumb") == plain


def test_colours_in_a_pipe_only_where_forced(ctxmode: Ctxmode, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets styles with FORCE_COLOR alone, and NO_COLOR wins over it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1m" in ctxmode("compare", talk).out
    assert "\x1b" not in ctxmode("compare", talk, "--format", "markdown").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in ctxmode("compare", talk).out


def test_stdout_that_is_not_utf8(talk: str) -> None:
    """Where the output's encoding has no Chinese, escapes are written instead of an error."""
    finished = subprocess.run(
        [*PROGRAM, "compare", talk], env=environment(PYTHONIOENCODING="ascii"), capture_output=True, check=True
    )
    assert rb'dinner: room "500\u5143"' in finished.stdout


# --- which modes ---


def test_modes_and_baseline(ctxmode: Ctxmode, talk: str) -> None:
    """The modes asked for are compared with full, else with the first, else with the one asked for."""
    compared = report(ctxmode("compare", talk, "--modes", "zero, full", "--format", "json"))
    assert (set(compared["modes"]), compared["baseline"]) == ({"zero", "full"}, "full")
    assert report(ctxmode("compare", talk, "--modes", "zero,sliding", "--format", "json"))["baseline"] == "zero"
    rows = ctxmode("compare", talk, "--modes", "full,zero,sliding", "--baseline", "sliding", "--format", "csv").out
    assert [(row["mode"], row["tokens_relative"] == "1.0") for row in csv.DictReader(io.StringIO(rows))] == [
        ("sliding", True),
        ("full", False),
        ("zero", False),
    ]


USAGE = [
    (["--modes", "full,fast"], 'error: mode is "fast"', "hint: one of zero, full, sliding, summary"),
    (["--modes", "full,full"], 'error: modes is "full,full"', "each once"),
    (["--modes", ","], 'error: modes is ","', "each once"),
    (["--modes", "zero", "--baseline", "full"], 'error: baseline is "full", which is not among the modes', "zero"),
    (["--model", "gpt-4oo"], 'error: the model "gpt-4oo" is unknown', "did you mean gpt-4o"),
    (["--reserved-output", "200000"], "error: reserved_output is 200000, the whole window of 128000 tokens", ""),
    (["--sliding-turns", "-1"], "error: sliding_turns is -1, less than 0", ""),
    (["--summary-role", "user"], 'error: summary_role is "user"', "one of system, assistant"),
    (
        ["-o", "x.pdf"],
        'error: x.pdf: no format is written to ".pdf"',
        "hint: .json .jsonl .csv .md .html .xml .parquet, or no extension",
    ),
    (["-o", "none/x.json"], "error: none/x.json: the file cannot be written: No such file or directory", ""),
    (["-o", "."], "error: .: the run folder exists already", "name another"),
]


@pytest.mark.parametrize("arguments", [("--think-time", "inf"), ("--think-time", "1e400"), ("--think-time", "nan")])
def test_a_number_without_end_is_refused(ctxmode: Ctxmode, talk: str, arguments: tuple[str, str]) -> None:
    """No option lets a number into the results that JSON does not have."""
    result = ctxmode("compare", talk, *arguments, "--format", "json")
    assert (result.code, result.out) == (2, "")
    assert arguments[0] in result.err


def test_the_most_sessions_a_day_have_a_cost(ctxmode: Ctxmode, talk: str) -> None:
    """A daily cost is finite up to the largest number of sessions, and beyond it there is none."""
    prices = report(ctxmode("compare", talk, "--modes", "full", "--sessions-per-day", "1000000000", "--format", "json"))
    cost = prices["modes"]["full"]["cost_usd"]
    assert cost["per_day"] == pytest.approx(cost["per_session"] * 1e9)
    assert ctxmode("compare", talk, "--sessions-per-day", "1" + "0" * 400).code == 2


@pytest.mark.parametrize(("arguments", "error", "hint"), USAGE)
def test_wrong_usage_is_told_before_anything_is_read(
    ctxmode: Ctxmode, here: Path, arguments: list[str], error: str, hint: str
) -> None:
    """A wrong option exits with 2, says what is wrong and what to do, and reads and leaves nothing."""
    (here / "broken.jsonl").write_text("not JSON")
    result = ctxmode("compare", "broken.jsonl", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(error)
    assert hint in result.err
    assert "broken.jsonl:1" not in result.err
    assert [path.name for path in here.iterdir()] == ["broken.jsonl"]


@pytest.mark.parametrize(
    "arguments", [["--fast"], ["--limit", "0"], ["--limit", "x"], ["--format", "yaml"], ["--probes", "x"]]
)
def test_wrong_option_exits_with_2(ctxmode: Ctxmode, arguments: list[str]) -> None:
    """Options that the parser refuses exit with 2 as well, and stdout stays empty."""
    result = ctxmode("compare", *arguments)
    assert (result.code, result.out) == (2, "")


def test_no_such_data(ctxmode: Ctxmode, here: Path) -> None:
    """A path that does not exist is wrong usage."""
    result = ctxmode("compare", "none.jsonl")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: none.jsonl: no such file or directory\nhint: ")
    assert not list(here.iterdir())


# --- exit codes ---

UNLABELLED = '{"id": "a", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}\n'


def test_recall_that_was_asked_for_and_cannot_be_had(ctxmode: Ctxmode, here: Path) -> None:
    """Probes asked for without any label exit with 3, after the result; not asked for, they exit with 0."""
    (here / "a.jsonl").write_text(UNLABELLED)
    result = ctxmode("compare", "a.jsonl", "--probes", "all")
    assert result.code == 3
    assert result.out.endswith("nothing says what is lost.\n")
    assert result.err == "error: recall was asked for and could not be evaluated: no labelled fact can be probed\n"
    assert ctxmode("compare", "a.jsonl", "--probes", "labelled").code == 3
    assert ctxmode("compare", "a.jsonl").code == 0


@pytest.mark.parametrize("asked", [("--sessions-per-day", "10"), ("--price-date", "2026-11-30")])
def test_cost_that_was_asked_for_and_cannot_be_had(ctxmode: Ctxmode, here: Path, asked: tuple[str, str]) -> None:
    """Without a price, an option about costs exits with 3, after the result; not asked for, a null with a note does not."""
    (here / "a.jsonl").write_text(UNLABELLED)
    arguments = ("compare", "a.jsonl", "--modes", "full,zero", "--format", "json")
    unpriced = ("--model", "ft:gpt-4o:acme")
    result = ctxmode(*arguments, *unpriced, *asked)
    assert result.code == 3
    assert [part["cost_usd"] for part in json.loads(result.out)["modes"].values()] == [None, None]
    assert result.err == "error: cost was asked for and could not be evaluated: no price of ft:gpt-4o:acme is known\n"
    silent = report(ctxmode(*arguments, *unpriced))
    assert silent["prices"] is None
    assert any(note.startswith("no price of ft:gpt-4o:acme is known") for note in silent["notes"])
    assert ctxmode(*arguments, *asked).code == 0


def test_price_that_nothing_needs(ctxmode: Ctxmode, here: Path) -> None:
    """Where no summary call was made, a cost that was asked for does not want the summarizer's price."""
    (here / "a.jsonl").write_text(UNLABELLED)
    arguments = ("compare", "a.jsonl", "--modes", "full,summary", "--sessions-per-day", "10", "--format", "json")
    summarizer = ("--summary-model", "ft:gpt-4o:acme")
    assert report(ctxmode(*arguments, *summarizer))["modes"]["summary"]["cost_usd"]["per_day"] > 0


def test_recall_and_cost_that_cannot_be_had(ctxmode: Ctxmode, here: Path) -> None:
    """All that was asked for in vain is told, each in a line."""
    (here / "a.jsonl").write_text(UNLABELLED)
    result = ctxmode("compare", "a.jsonl", "--probes", "all", "--model", "ft:gpt-4o:acme", "--sessions-per-day", "1")
    assert result.code == 3
    assert [line.split(" was ")[0] for line in result.err.splitlines()] == ["error: recall", "error: cost"]


def test_every_conversation_skipped(ctxmode: Ctxmode, here: Path) -> None:
    """Where no conversation can be replayed there is no result but an error."""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}
    (here / "a.jsonl").write_text(json.dumps({"id": "a", "messages": [image]}))
    result = ctxmode("compare", "a.jsonl", "--model", "gpt-3.5-turbo", "--on-error", "skip", "-o", "x.json")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: a.jsonl:1: there is an image")
    assert [path.name for path in here.iterdir()] == ["a.jsonl"]


def test_internal_error(ctxmode: Ctxmode, talk: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the program exits with 4 and asks for a report; a text in it cannot play tricks."""

    def fail(*_: object, **__: object) -> None:
        raise ValueError("\x1b[31mno")

    monkeypatch.setattr(replaying, "run", fail)
    result = ctxmode("compare", talk, "-o", "x.json", "-o", "run")
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("internal error: ValueError: \\x1b[31mno\n")
    assert "please report" in result.err
    assert not list(here.iterdir())


class PanicException(BaseException):
    """What a library in Rust raises where it panics."""


@pytest.mark.parametrize("crash", [EOFError, PanicException, GeneratorExit, OSError])
def test_crash_is_never_a_failed_gate(
    ctxmode: Ctxmode, talk: str, monkeypatch: pytest.MonkeyPatch, crash: type[BaseException]
) -> None:
    """Whatever a fault of the program is called, it exits with 4 and asks for a report."""

    def fail(*_: object, **__: object) -> None:
        raise crash("no")

    monkeypatch.setattr(replaying, "run", fail)
    result = ctxmode("compare", talk)
    assert (result.code, result.out) == (4, "")
    assert f"internal error: {crash.__name__}: no\n" in result.err
    assert result.err.endswith("please report it with the lines above\n")


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a run exits with 130, quietly, and leaves no half output."""
    arguments = ["compare", "-", "-q", "-o", str(tmp_path / "x.json"), "-o", str(tmp_path / "run")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A shell in the background has it ignored, which a child would take over.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([*PROGRAM, *arguments], **pipes) as process:
        signal.signal(signal.SIGINT, before)
        process.stdin.write(UNLABELLED.encode())  # and no end: the run waits for more
        process.stdin.flush()
        until = time.monotonic() + 30
        while not list(tmp_path.glob(".ctxmode-*/run/summaries.parquet")) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not list(tmp_path.iterdir())


def test_reader_that_has_gone(talk: str) -> None:
    """Where whoever read stdout has gone, nothing is said, and it is not the exit code of a failed gate."""
    reader, writer = os.pipe()
    os.close(reader)
    finished = subprocess.run([*PROGRAM, "compare", talk], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (finished.returncode, finished.stderr) == (130, b"")


# --- where settings come from ---


def test_environment_sets_options_and_flags_win(ctxmode: Ctxmode, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTXMODE_ variables stand for options; a flag on the command line is stronger."""
    monkeypatch.setenv("CTXMODE_SLIDING_TURNS", "3")
    monkeypatch.setenv("CTXMODE_FORMAT", "json")
    monkeypatch.setenv("CTXMODE_MODES", "sliding,zero")
    compared = report(ctxmode("compare", talk))
    assert set(compared["modes"]) == {"sliding", "zero"}
    assert compared["settings"]["sliding"]["sliding_turns"] == 3
    compared = report(ctxmode("compare", talk, "--sliding-turns", "4"))
    assert compared["settings"]["sliding"]["sliding_turns"] == 4
    monkeypatch.setenv("CTXMODE_SLIDING_TURNS", "many")
    assert ctxmode("compare", talk).code == 2


def test_settings_reach_their_mode(ctxmode: Ctxmode, talk: str) -> None:
    """A setting changes what its mode sends, and no other mode."""
    usual = report(ctxmode("compare", talk, "--format", "json"))["modes"]
    narrow = report(ctxmode("compare", talk, "--sliding-turns", "2", "--format", "json"))["modes"]
    assert narrow["sliding"]["tokens"]["total"] < usual["sliding"]["tokens"]["total"]
    assert {**narrow, "sliding": 0} == {**usual, "sliding": 0}


# --- which conversations ---


@pytest.fixture
def ten(here: Path) -> str:
    """A file of ten conversations, of which the last is the longest."""
    lines = [
        json.dumps(
            {
                "id": str(n),
                "messages": [{"role": "user", "content": "word " * n}, {"role": "assistant", "content": "ok"}],
            }
        )
        for n in range(1, 11)
    ]
    (here / "ten.jsonl").write_text("\n".join(lines))
    return "ten.jsonl"


def tokens(compared: dict[str, Any]) -> int:
    return compared["modes"]["zero"]["tokens"]["total"]


def test_limit_takes_the_first(ctxmode: Ctxmode, ten: str) -> None:
    """`--limit` replays the first conversations, and all where there are fewer."""
    options = ("--modes", "zero", "--format", "json")
    first = report(ctxmode("compare", ten, "--limit", "2", *options))
    assert (first["data"]["conversations"], tokens(first)) == (2, 2 * (3 + 1 + 3) + 1 + 2 + 2)
    assert report(ctxmode("compare", ten, "--limit", "99", *options))["data"]["conversations"] == 10


def test_limit_names_its_source(ctxmode: Ctxmode, ten: str) -> None:
    """A file that `--limit` does not read to its end is named with the digest of all of it."""
    options = ("--modes", "zero", "--format", "json")
    whole, first = (report(ctxmode("compare", ten, *limit, *options))["data"] for limit in ((), ("--limit", "2")))
    assert whole["sources"] == first["sources"] != []


def test_what_was_selected_is_in_every_output(ctxmode: Ctxmode, ten: str, here: Path) -> None:
    """JSON and run folder say how the data was chosen; table and Markdown say where it is not all of it."""
    options = ("--modes", "zero", "--format", "json")
    usual = {"limit": None, "sample": None, "probes": "labelled", "on_error": "fail", "max_errors": None}
    assert report(ctxmode("compare", ten, *options))["selection"] == usual
    chosen = ("--limit", "1", "--sample", "3", "--on-error", "skip", "--max-errors", "5")
    printed = report(ctxmode("compare", ten, *chosen, *options, "-o", "run", "-o", "x.md"))
    said = {"limit": 1, "sample": 3, "probes": "labelled", "on_error": "skip", "max_errors": 5}
    assert printed["selection"] == json.loads((here / "run" / "run.json").read_text())["selection"] == said
    for note in ("a sample of at most 3 conversations (--sample)", "at most the first 1 conversation (--limit)"):
        assert f"not all of the data: {note}" in printed["notes"]
        assert f"- not all of the data: {note}" in (here / "x.md").read_text()
    assert not [note for note in report(ctxmode("compare", ten, *options))["notes"] if note.startswith("not all")]


def test_all_probes_are_told(ctxmode: Ctxmode, talk: str) -> None:
    """Which probes were asked for is told with the results."""
    asked = report(ctxmode("compare", talk, "--probes", "all", "--format", "json"))
    assert asked["selection"]["probes"] == "all"


def test_sample_goes_by_the_seed(ctxmode: Ctxmode, ten: str) -> None:
    """`--sample` takes as many as asked for; the same seed takes the same, another seed others."""
    options = ("--sample", "4", "--modes", "zero", "--format", "json")
    samples = [report(ctxmode("compare", ten, *options, "--seed", str(seed))) for seed in (0, 0, 1, 2)]
    assert [sample["data"]["conversations"] for sample in samples] == [4] * 4
    assert [sample["seed"] for sample in samples] == [0, 0, 1, 2]
    assert tokens(samples[0]) == tokens(samples[1])
    assert len({tokens(sample) for sample in samples}) > 1


def test_stdin(talk: str) -> None:
    """`-` reads what is piped in, and calls it <stdin>."""
    finished = subprocess.run(
        [*PROGRAM, "compare", "-", "--format", "json"], input=Path(talk).read_bytes(), capture_output=True, check=True
    )
    data = json.loads(finished.stdout)["data"]
    assert (data["conversations"], data["sources"][0]["name"]) == (3, "<stdin>")


# --- what is said meanwhile ---


def test_progress_and_how_much_is_said(ctxmode: Ctxmode, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on a terminal progress is a line now and then; -q says nothing, -v says more."""
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    usual = ctxmode("compare", talk).err.splitlines()
    assert [line.split(",")[0] for line in usual] == ["1 conversation", "2 conversations", "3 conversations"]
    assert usual[0].endswith(" a second")
    assert ctxmode("compare", talk, "-q").err == ""
    said = ctxmode("compare", talk, "-v").err.splitlines()
    assert said[0] == f"replaying {talk} through full, zero, sliding, summary"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal progress is one line that is written over, and gone at the end."""
    terminal = Terminal()
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    assert list(progress.progress("ab", quiet=False)) == ["a", "b"]
    first, second, last = terminal.getvalue().split("\r\033[K")[1:]
    assert first.startswith("1 conversation, ")
    assert second.startswith("2 conversations, ")
    assert last == ""


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ("not JSON", "error: a.jsonl:2: invalid JSON"),
        ('{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}', "error: a.jsonl:2: "),
    ],
    ids=["while reading", "while replaying"],
)
def test_no_progress_beside_an_error(
    ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch, last: str, error: str
) -> None:
    """Where an error ends the run, the live line is gone before it is told."""
    (here / "a.jsonl").write_text(UNLABELLED + last)
    terminal = Terminal()
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr", terminal)
    assert ctxmode("compare", "a.jsonl", "--model", "gpt-3.5-turbo").code == 2
    shown, told = terminal.getvalue().split("\r\033[K")[-2:]
    assert shown.startswith("1 conversation, ")
    assert told.startswith(error)


# --- -o ---


def test_output_files(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """Each `-o FILE` holds what its extension says, whatever stdout gets."""
    names = ["x.json", "x.jsonl", "x.csv", "X.MD"]
    result = ctxmode("compare", talk, *SETTINGS, *(part for name in names for part in ("-o", name)))
    assert result.out == (GOLDEN / "compare.piped.txt").read_text(encoding="utf-8")
    for name, golden in zip(names[1:], ("jsonl", "csv", "md"), strict=True):
        assert (here / name).read_bytes() == (GOLDEN / f"compare.{golden}").read_bytes()
    assert (here / "x.json").read_text(encoding="utf-8") == ctxmode("compare", talk, *SETTINGS, "--format", "json").out
    assert sorted(path.name for path in here.iterdir()) == sorted(names)


def test_output_replaces_only_when_all_is_well(ctxmode: Ctxmode, here: Path) -> None:
    """A run that fails leaves an older result as it was."""
    (here / "x.json").write_text("old")
    (here / "bad.jsonl").write_text(UNLABELLED + "not JSON\n")
    assert ctxmode("compare", "bad.jsonl", "-o", "x.json", "-o", "run").code == 2
    assert (here / "x.json").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == ["bad.jsonl", "x.json"]
    assert ctxmode("compare", "bad.jsonl", "-o", "x.json", "--on-error", "skip").code == 0
    assert json.loads((here / "x.json").read_text())["data"]["skipped"] == 1


@pytest.mark.parametrize("command", ["compare", "replay"])
def test_output_that_is_an_input(ctxmode: Ctxmode, here: Path, command: str) -> None:
    """What is read is never written over: under its name, another spelling, a link, or found in a directory."""
    (here / "logs").mkdir()
    (here / "logs" / "a.jsonl").write_text(UNLABELLED)
    (here / "link.jsonl").symlink_to("logs/a.jsonl")
    for data, output in (
        ("logs/a.jsonl", "logs/a.jsonl"), ("logs", "./logs/a.jsonl"), ("logs/*", "link.jsonl"), ("link.jsonl", "logs/a.jsonl"),
    ):  # fmt: skip
        result = ctxmode(command, data, "-o", "other.json", "-o", output)
        assert (result.code, result.out) == (2, "")
        assert result.err == f"error: {output}: the output is one of the inputs\nhint: write to another file\n"
    assert (here / "logs" / "a.jsonl").read_text() == UNLABELLED
    assert sorted(path.name for path in here.iterdir()) == ["link.jsonl", "logs"]


@pytest.mark.parametrize("place", ["folder.json", "file/x.json", "file/run"])
def test_place_that_cannot_be_written(ctxmode: Ctxmode, talk: str, here: Path, place: str) -> None:
    """A place that cannot be written is told before the run, and nothing is left behind."""
    (here / "folder.json").mkdir()
    (here / "file").write_text("")
    result = ctxmode("compare", talk, "-o", "y.csv", "-o", place, "-v")
    assert (result.code, result.out) == (2, "")
    assert re.match(f"error: {place}: the (file|run folder) cannot be written: ", result.err)
    assert "replaying" not in result.err
    assert sorted(path.name for path in here.iterdir()) == ["file", "folder.json"]


def test_disk_that_is_full(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that can no longer be written is an error of the user's disk, not of the program."""
    (here / "x.json").write_text("old")

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CtxmodeError, match="the file cannot be written: No space left"), ExitStack() as stack:
        outputs.open_outputs(["x.json"], stack, {".json": "json"}, simulation()).files[0].write("new")
    assert [path.name for path in here.iterdir()] == ["x.json"]
    assert (here / "x.json").read_text() == "old"


def test_two_runs_to_one_file(here: Path) -> None:
    """Runs that write to one file at the same time do not meet; the last to end wins, with the usual rights."""
    with outputs.OutputFile(here / "x.json", "json") as first:
        with outputs.OutputFile(here / "x.json", "json") as second:
            first.write("first")
            second.write("second")
        assert (here / "x.json").read_text() == "second"
    assert (here / "x.json").read_text() == "first"
    (here / "usual").touch()
    assert (here / "x.json").stat().st_mode == (here / "usual").stat().st_mode
    assert sorted(path.name for path in here.iterdir()) == ["usual", "x.json"]


def test_output_to_stdout(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """`-o -` is no folder of that name but an error that says where the result is."""
    result = ctxmode("compare", talk, "-o", "-")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: -: -o takes a file or a run folder, and not stdout\nhint: stdout has the")
    assert not list(here.iterdir())


def test_run_folder_with_a_dot_in_its_name(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """A slash at its end makes any name a run folder's; without it, the extension decides."""
    assert ctxmode("compare", talk, "-o", "v1.2/", "-o", "x.json/").code == 0
    assert (here / "v1.2" / "run.json").exists()
    assert (here / "x.json" / "run.json").exists()
    assert ctxmode("compare", talk, "-o", "v1.3").code == 2


def test_same_output_twice(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """An output that is named twice is written once."""
    assert ctxmode("compare", talk, "-o", "run", "-o", "run", "-o", "x.csv", "-o", "x.csv").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["run", "x.csv"]
