"""`ctxmode forecast`: from given numbers and from logs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Ctxmode

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
TOOL_LOOPS = SHARED / "datasets" / "tau_bench.jsonl.gz"
SMALL = ("--turns", "14", "--sessions", "2", "-q")
PRICES = "[prices.gpt-4o]\ninput = 3\noutput = 15\n[prices.gpt-4o-mini]\ninput = 3\noutput = 15\n"


pytestmark = pytest.mark.usefixtures("here")


def document(result: Any) -> dict[str, Any]:
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def test_given_numbers(ctxmode: Ctxmode, here: Path) -> None:
    """Tokens of the texts, to which the framing comes: 4 a message and 3 for the reply; 100 turns cost what they cost."""
    (here / "ctxmode.toml").write_text(PRICES, encoding="utf-8")
    numbers = (
        "--system-prompt-tokens",
        "46",
        "--user-tokens",
        "16",
        "--reply-tokens",
        "26",
        "--sessions-per-day",
        "10",
    )
    arguments = (*SMALL, *numbers, "--cache-rules", "none", "--format", "json")
    found = document(ctxmode("forecast", *arguments))
    first, second = found["modes"]["full"]["points"][:2]
    assert (first["tokens_total"], second["tokens_total"]) == (73, 73 + 123)
    assert first["cost_usd"] == first["cost_uncached_usd"] == pytest.approx((73 * 3 + 26 * 15) / 1e6)
    assert first["cost_per_day_usd"] == pytest.approx(10 * first["cost_usd"])
    assert [len(mode["points"]) for mode in found["modes"].values()] == [14, 14, 14]
    assert found["sessions"]["count"] == 2


def test_a_day_of_compare_is_a_day_of_forecast(ctxmode: Ctxmode) -> None:
    """The forecast is a replay: `compare` on the same sessions has the same figures, summary calls apart."""
    from ctxmode_cli.conversation.files import open_writer
    from ctxmode_cli.conversation.parse import parse_conversation
    from ctxmode_cli.generate.filler import TurnSize, filler_session

    session = filler_session("session 1", 14, TurnSize(500, 60, 200))
    record = {"id": session.id, "messages": [message.recorded for message in session.messages]}
    with open_writer("log.jsonl") as writer:
        writer.write(parse_conversation(record, where="here", default_id="1"))
    shared = ("--modes", "full,sliding", "--sessions-per-day", "7", "--format", "json", "-q")
    compared = document(ctxmode("compare", "log.jsonl", *shared))
    found = document(ctxmode("forecast", "--turns", "14", "--sessions", "1", *shared))
    for mode, totals in compared["modes"].items():
        last = found["modes"][mode]["points"][-1]
        assert last["tokens_total"] == totals["tokens"]["total"]
        assert last["cost_usd"] == totals["cost_usd"]["per_session"]
        assert last["cost_per_day_usd"] == totals["cost_usd"]["per_day"]
        assert last["cost_uncached_usd"] == totals["cost_usd"]["total_uncached"]
        assert last["latency_p95_s"] == totals["latency_s"]["p95"]


def test_the_table_ends_with_the_answer(ctxmode: Ctxmode) -> None:
    """Heading, table, two charts, notes, break-even turns, the answer; nothing but text in a pipe."""
    result = ctxmode("forecast", *SMALL)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith("2 sessions of 14 turns, made of numbers: 500 tokens of system prompt, 60 of each user")
    assert result.out.count("┌─") >= 2
    assert any(line.startswith("note: simulated prompt cache: rule openai-gpt-4o") for line in lines)
    assert any(line.startswith("summary beats full on cost from turn ") for line in lines)
    assert lines[-1].startswith("At 14 turns ")
    assert "\x1b" not in result.out


def test_turns_of_a_log(ctxmode: Ctxmode, talk: str) -> None:
    """Sessions are made of the turns that are recorded, with their tokens; the seed decides which."""
    arguments = ("forecast", talk, *SMALL, "--format", "json")
    first, again, other = (document(ctxmode(*arguments, "--seed", seed)) for seed in ("0", "0", "1"))
    assert first == again
    assert first["modes"] != other["modes"]
    assert first["sessions"]["sources"][0]["name"] == talk
    assert first["sessions"]["made"].startswith("drawn turn by turn from ")


def test_json_is_the_same_in_any_process(talk: str) -> None:
    """Equal input and seed give equal bytes, whatever the order of sets and dicts."""
    command = [sys.executable, "-m", "ctxmode_cli", "forecast", talk, *SMALL, "--format", "json"]
    first, second = (
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True).stdout
        for seed in ("1", "2")
    )
    assert first == second


@pytest.mark.skipif(not TOOL_LOOPS.is_file(), reason="the recorded tool loops are not beside this repository")
def test_real_tool_loops(ctxmode: Ctxmode) -> None:
    """Drawn turns keep their calls with their results: no request is one that an API would refuse."""
    found = document(ctxmode("forecast", str(TOOL_LOOPS), "--limit", "50", *SMALL, "--format", "json"))
    assert not any("an API would refuse" in line for line in found["notes"])
    assert all(mode["points"][-1]["cost_usd"] > 0 for mode in found["modes"].values())


def test_output_files(ctxmode: Ctxmode, here: Path) -> None:
    """Each extension has its format, and what is on stdout is what is in the file."""
    files = ("f.json", "f.jsonl", "f.csv", "f.md")
    result = ctxmode("forecast", *SMALL, "--format", "json", *(part for name in files for part in ("-o", name)))
    assert (result.code, result.err) == (0, "")
    assert (here / "f.json").read_text(encoding="utf-8") == result.out
    assert len((here / "f.jsonl").read_text(encoding="utf-8").splitlines()) == 14 * 3
    assert len((here / "f.csv").read_text(encoding="utf-8").splitlines()) == 14 * 3 + 1
    assert "| turns | mode |" in (here / "f.md").read_text(encoding="utf-8")


def test_named_modes_and_numbers_from_the_file(ctxmode: Ctxmode, here: Path) -> None:
    """The configuration file sets modes and numbers here too."""
    text = 'user_tokens = 30\nturns = 12\n[modes.short]\nbase = "sliding"\nsliding_turns = 2\n'
    (here / "ctxmode.toml").write_text(text, encoding="utf-8")
    found = document(ctxmode("forecast", "-q", "--modes", "full,short", "--format", "json"))
    assert list(found["modes"]) == ["full", "short"]
    assert len(found["modes"]["short"]["points"]) == 12
    assert "30 of each user message" in found["sessions"]["made"]


def test_an_unknown_price(ctxmode: Ctxmode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens and latency all the same; the cost is null, and 3 is the exit code where a day's was asked for."""
    monkeypatch.setattr("ctxmode_cli.commands.simulation.find_price", lambda *_: None)
    found = document(ctxmode("forecast", *SMALL, "--format", "json"))
    last = found["modes"]["full"]["points"][-1]
    assert (last["cost_usd"], last["cost_per_day_usd"]) == (None, None)
    assert last["tokens_total"] > 0 < last["latency_p95_s"]
    assert (found["prices"], found["break_even"]) == (None, [])
    assert any(line.startswith("no price of gpt-4o and gpt-4o-mini is known") for line in found["notes"])
    result = ctxmode("forecast", *SMALL, "--sessions-per-day", "5")
    assert result.code == 3
    assert (
        result.err
        == "error: cost was asked for and could not be evaluated: no price of gpt-4o and gpt-4o-mini is known\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "run/"), 'error: run/: no format is written to "run"'),
        (("-o", "-"), "error: -: -o takes a file, and not stdout"),
        (("log.jsonl", "--user-tokens", "3"), "error: --user-tokens is given beside logs"),
        (("--limit", "3"), "error: --limit chooses conversations, and no logs are given"),
        (("--sample", "3"), "error: --sample chooses conversations, and no logs are given"),
        (("--baseline", "zero"), 'error: baseline is "zero", which is not among the modes'),
        (("nowhere.jsonl",), "error: nowhere.jsonl"),
    ],
)
def test_what_makes_no_sense_is_refused(ctxmode: Ctxmode, arguments: tuple[str, ...], message: str) -> None:
    """Numbers beside logs, a choice of logs without any, a run folder."""
    result = ctxmode("forecast", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(message)


def test_probes_are_no_option(ctxmode: Ctxmode) -> None:
    """A forecast has no facts to ask for."""
    assert ctxmode("forecast", "--probes", "all").code == 2


def test_logs_without_an_answered_turn(ctxmode: Ctxmode, here: Path) -> None:
    """There is nothing to draw."""
    (here / "log.jsonl").write_text('{"messages": [{"role": "user", "content": "hello?"}]}\n', encoding="utf-8")
    result = ctxmode("forecast", "log.jsonl")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: log.jsonl: no turn of these logs can be drawn\nhint: ")


def test_nothing_is_written_over_a_log(ctxmode: Ctxmode, here: Path, talk: str) -> None:
    """The log that is read is no output, under whatever name."""
    log = here / "log.jsonl"
    log.write_bytes(Path(talk).read_bytes())
    result = ctxmode("forecast", "log.jsonl", "-o", str(log))
    assert (result.code, result.err.splitlines()[0]) == (2, f"error: {log}: the output is one of the inputs")
    assert log.read_bytes() == Path(talk).read_bytes()


@pytest.mark.parametrize("option", ["--turns", "--system-prompt-tokens", "--user-tokens", "--reply-tokens"])
def test_no_session_is_larger_than_any_memory(ctxmode: Ctxmode, option: str) -> None:
    """Sessions of numbers are written out before they are replayed: what could never end is refused at once."""
    result = ctxmode("forecast", option, "1000000000000")
    assert (result.code, result.out) == (2, "")
    assert option in result.err
