"""`ctxmode tokenizer-check`."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ctxmode_cli.commands.main import main
from ctxmode_cli.tokens.vocabularies import encodings

Run = Callable[..., "Result"]


class Result(NamedTuple):
    """What a run printed, and its exit code."""

    code: int | str | None
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, which keeps the encodings loaded."""

    def run_command(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["ctxmode", "tokenizer-check", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        return Result(exited.value.code, *capsys.readouterr())

    return run_command


def records(path: Path, *lines: str) -> str:
    """A file of records."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def digests(folder: Path) -> dict[str, str]:
    """The digest of every file in a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


GOOD = json.dumps(
    {
        "id": "a",
        "messages": [
            {"role": "user", "content": "hello world"},
            {"role": "assistant", "content": "Hi.", "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
        ],
    }
)


def test_sound_installation_passes(run: Run) -> None:
    """A sound installation exits with 0 and ends in a sentence."""
    result = run()
    assert (result.code, result.err) == (0, "")
    assert "o200k_harmony" in result.out
    assert result.out.splitlines()[-1].startswith("All 3 encodings and 52 models are as they should be; for gpt-4o")


def test_json_form(run: Run) -> None:
    """The JSON has the promised names, sorted keys, and the same bytes twice."""
    first, second = run("--format", "json", "--model", "gpt-4"), run("--format", "json", "--model", "gpt-4")
    assert first.out == second.out
    report = json.loads(first.out)
    assert (report["format"], report["ok"], report["recorded_usage"]) == (1, True, None)
    assert report["encodings"]["cl100k_base"]["vocabulary_sha256"] == encodings()["cl100k_base"].sha256
    assert report["encodings"]["cl100k_base"]["golden"]["wrong"] == 0
    assert report["models"]["gpt-4o-mini"] == "o200k_base"
    assert set(report["estimators"]) == {"zh", "en", "code", "json", "mixed"}
    assert set(report["estimators"]["zh"]) == {"o200k_base", "chars/4", "chars/2", "utf8-bytes/4", "words*1.33"}
    assert set(report["estimators"]["zh"]["chars/4"]) == {"mean_error", "worst_error"}
    assert first.out == json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("output_format", ["table", "json"])
def test_wrong_vocabulary_is_a_failed_check(tmp_path: Path, output_format: str) -> None:
    """A wrong vocabulary in the user's folder exits with 1, is named, and stays byte for byte."""
    for vocabulary in encodings().values():
        (tmp_path / vocabulary.file_name).write_bytes(b"damaged " + vocabulary.name.encode())
    before = digests(tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "ctxmode_cli", "tokenizer-check", "--format", output_format],
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert digests(tmp_path) == before
    for vocabulary in encodings().values():
        assert str(tmp_path / vocabulary.file_name) in result.stdout
    if output_format == "json":
        report = json.loads(result.stdout)
        assert report["ok"] is False
        assert len(report["failures"]) == 3
    else:
        assert result.stdout.count("WRONG") == 3
        assert result.stdout.splitlines()[-1].startswith("Counts are not as they should be")


def test_unknown_model_is_wrong_usage(run: Run) -> None:
    """An unknown model exits with 2 and suggests similar ones."""
    result = run("--model", "gpt-4oo")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith('error: the model "gpt-4oo" is unknown\nhint: did you mean gpt-4o or ')


def test_own_data(run: Run, tmp_path: Path) -> None:
    """With data the user's messages and the recorded usage are measured too."""
    data = records(tmp_path / "logs.jsonl", GOOD)
    report = json.loads(run(data, "--format", "json").out)
    assert report["data"]["messages"] == 2
    assert set(report["data"]["estimators"]) == {"en"}
    assert report["recorded_usage"] == {"requests": 1, "mean_error": -0.1, "worst_error": -0.1}
    table = run(data).out
    assert "The same on your 2 messages" in table
    assert "of 1 requests: -10.0% in the mean, -10.0% at worst." in table


def test_large_error_of_recorded_usage_does_not_fail(run: Run, tmp_path: Path) -> None:
    """What the log recorded is reported, however far off; only mismatches of this installation fail."""
    data = records(tmp_path / "logs.jsonl", GOOD.replace("10", "100000"))
    assert run(data).code == 0


def test_bad_records(run: Run, tmp_path: Path) -> None:
    """A bad record exits with 2; skipped, it is counted in the result."""
    data = records(tmp_path / "logs.jsonl", GOOD, '{"messages": 7}')
    failed = run(data)
    assert failed.code == 2
    assert "logs.jsonl:2" in failed.err
    skipped = run(data, "--on-error", "skip", "--format", "json")
    assert skipped.code == 0
    assert json.loads(skipped.out)["skipped"] == 1
    assert skipped.err.startswith(f"skipped: {data}:2: ")
    assert run(data, "--on-error", "skip", "--max-errors", "0").code == 2


def test_text_of_the_log_stays_text(run: Run, tmp_path: Path) -> None:
    """A model's name from the log cannot send control characters to the terminal."""
    data = records(tmp_path / "logs.jsonl", GOOD.replace('"id"', '"model": "\\u001b[31mevil", "id"'))
    result = run(data)
    assert "\x1b" not in result.out
    assert "recorded from \\x1b[31mevil" in result.out
