"""`ctxmode calibrate latency`."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import Ctxmode

from ctxmode_cli.simulate.latency import LatencyProfile, find_profile, noise_factors

SERVICE = LatencyProfile("service", overhead_s=0.3, per_token_s=2e-4, inter_token_s=0.02, noise_sigma=0.1)


def record(number: int, replies: int) -> dict[str, Any]:
    """A conversation whose replies took what the service takes, and a last one without a time."""
    rng = Random(number)  # noqa: S311 - the same log each time
    messages: list[dict[str, Any]] = []
    for factor in noise_factors(SERVICE, 0, str(number), replies):
        prompt, completion = rng.randint(10, 20_000), rng.randint(1, 400)
        messages += [
            {"role": "user", "content": "q", "ts": f"2026-03-{1 + number % 9:02}T10:00:00Z"},
            {
                "role": "assistant",
                "content": "a",
                "latency_s": SERVICE.seconds(prompt, 0, completion) * factor,
                "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": 0},
            },
        ]
    messages += [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    return {"id": str(number), "messages": messages}


@pytest.fixture
def logs(here: Path) -> str:
    """A log of 40 conversations with 20 timed replies each."""
    lines = [json.dumps(record(number, 20)) for number in range(40)]
    (here / "logs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "logs.jsonl"


def test_table(ctxmode: Ctxmode, logs: str) -> None:
    """Parameters with their errors, the error on both parts, what was left out, and the answer in one sentence."""
    result = ctxmode("calibrate", "latency", logs)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "Latency profile"
    assert [line.split()[0] for line in lines[2:6]] == ["overhead_s", "per_token_s", "inter_token_s", "noise_sigma"]
    assert next(line.split()[:3] for line in lines if "640" in line) == ["fitted", "640", "0"]
    assert next(line.split()[:4] for line in lines if line.startswith("held out")) == ["held", "out", "160", "0"]
    assert "note: 40 replies were left out: without latency_s" in lines
    assert lines[-1].startswith("Fitted to 640 replies; on held-out conversations the median error is ")


def test_the_profile_is_written_and_read_again(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """-o writes what --latency-profile reads: the service's parameters, and where they come from."""
    result = ctxmode("calibrate", "latency", logs, "-o", "mine.toml")
    assert (result.code, result.err) == (0, "profile written to mine.toml\n")
    profile = find_profile("mine.toml")
    for parameter in ("overhead_s", "per_token_s", "inter_token_s", "noise_sigma"):
        assert getattr(profile, parameter) == pytest.approx(getattr(SERVICE, parameter), rel=0.1)
    digest = hashlib.sha256((here / logs).read_bytes()).hexdigest()
    assert profile.source == f"logs.jsonl (sha256 {digest})"
    assert profile.date == "2026-03-09"
    assert profile.note.startswith("fitted to 640 replies of ")


def test_json(ctxmode: Ctxmode, logs: str) -> None:
    """Format 1 has the profile and its errors; equal input gives equal bytes, another seed another part held out."""
    arguments = ("calibrate", "latency", logs, "--format", "json")
    result = ctxmode(*arguments)
    document = json.loads(result.out)
    assert document["format"] == 1
    assert document["seed"] == document["skipped"] == 0
    assert document["profile"]["overhead_s"] == pytest.approx(0.3, rel=0.1)
    assert set(document["standard_errors"]) == {"overhead_s", "per_token_s", "inter_token_s"}
    assert document["fitted"]["replies"] == 640
    assert document["held_out"]["replies"] == 160
    assert document["left_out"] == {"without latency_s": 40}
    assert ctxmode(*arguments).out == result.out
    assert json.loads(ctxmode(*arguments, "--seed", "1").out)["held_out"] != document["held_out"]
    assert json.loads(ctxmode(*arguments, "--holdout", "0").out)["held_out"] is None


def test_the_same_bytes_in_another_process(logs: str, here: Path) -> None:
    """The profile does not depend on the process, its hash seed, or the order of the conversations."""
    lines = (here / logs).read_text(encoding="utf-8").splitlines()
    (here / "turned").mkdir()
    (here / "turned" / logs).write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    written = []
    for path, hash_seed in ((logs, "1"), (logs, "2"), (f"turned/{logs}", "1")):
        command = [sys.executable, "-m", "ctxmode_cli", "calibrate", "latency", path, "-q", "-o", "p.toml"]
        subprocess.run(command, check=True, capture_output=True, env={"PYTHONHASHSEED": hash_seed})
        written.append((here / "p.toml").read_text(encoding="utf-8").splitlines())
    assert written[0] == written[1]
    without_digest = [[line for line in lines if not line.startswith("source")] for lines in written]
    assert without_digest[0] == without_digest[2]


def test_logs_without_times_are_refused(ctxmode: Ctxmode, talk: str, here: Path) -> None:
    """What is missing is told, and no file is left behind."""
    result = ctxmode("calibrate", "latency", talk, "-o", "p.toml")
    assert (result.code, result.out) == (2, "")
    assert "a fit needs 50 replies with latency_s and usage, and the log has 0" in result.err
    assert "without latency_s" in result.err
    assert list(here.iterdir()) == []


def test_outputs_that_are_refused(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A profile ends in .toml, is not the log, and its place is tried before anything is read."""
    for name in ("profile", "profile.json", "-"):
        result = ctxmode("calibrate", "latency", logs, "-o", name)
        assert result.code == 2
        assert f"{name}: a profile is a file that ends in .toml" in result.err
    (here / "link.toml").symlink_to(logs)
    assert "the output is one of the inputs" in ctxmode("calibrate", "latency", logs, "-o", "link.toml").err
    (here / "bad.jsonl").write_text("not JSON\n", encoding="utf-8")
    unwritable = ctxmode("calibrate", "latency", "bad.jsonl", "-o", "none/p.toml")
    assert (unwritable.code, "none/p.toml: the file cannot be written" in unwritable.err) == (2, True)


def test_bad_records(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A bad record exits with 2; skipped, it is named and counted."""
    with (here / logs).open("a", encoding="utf-8") as file:
        file.write("null\n")
    assert ctxmode("calibrate", "latency", logs).code == 2
    skipped = ctxmode("calibrate", "latency", logs, "--on-error", "skip", "--format", "json")
    assert skipped.code == 0
    assert json.loads(skipped.out)["skipped"] == 1
    assert skipped.err.startswith("skipped: logs.jsonl:41: ")
    assert ctxmode("calibrate", "latency", logs, "--on-error", "skip", "--max-errors", "0").code == 2


def test_the_name_of_a_log_stays_text(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A file's name reaches the profile without its control characters."""
    (here / logs).rename(here / 'a\x1b[31m"\udcff.jsonl')
    assert ctxmode("calibrate", "latency", ".", "-q", "-o", "p.toml")[::2] == (0, "")
    assert find_profile("p.toml").source.startswith('a\\x1b[31m"\\udcff.jsonl (sha256 ')


def test_without_scipy(ctxmode: Ctxmode, logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is not installed, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    monkeypatch.delitem(sys.modules, "ctxmode_cli.simulate.calibration", raising=False)
    result = ctxmode("calibrate", "latency", logs)
    assert result.code == 2
    assert "error: a fit needs scipy, which is not installed" in result.err
    assert 'hint: pip install "ctxmode[calibrate]"' in result.err


def test_help(ctxmode: Ctxmode) -> None:
    """The group lists what can be calibrated, and is listed itself."""
    assert "calibrate" in ctxmode("--help").out
    assert "latency" in ctxmode("calibrate", "--help").out
    assert ctxmode("calibrate", "latency", "-h").code == 0
    assert ctxmode("calibrate").code == 2


def test_help_and_replay_do_not_load_scipy() -> None:
    """Only a fit pays for numpy and scipy."""
    script = (
        "import sys; sys.argv = ['ctxmode', 'calibrate', 'latency', '--help']\n"
        "from ctxmode_cli.commands.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert {'numpy', 'scipy', 'pyarrow', 'tiktoken'}.isdisjoint(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
