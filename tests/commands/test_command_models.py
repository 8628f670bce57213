"""`ctxmode models`."""

import json

import pytest

from ctxmode_cli.commands.main import app


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `ctxmode models` prints; it exits with 0 and says nothing else."""
    with pytest.raises(SystemExit) as exited:
        app(["models", *arguments])
    printed = capsys.readouterr()
    assert (exited.value.code, printed.err) == (0, "")
    return printed.out


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each model stands in a line with its encoding, its image rule and its window."""
    lines = run(capsys).splitlines()
    [line] = [line for line in lines if line.startswith("gpt-4o ")]
    assert " ".join(line.split()) == "gpt-4o o200k_base 85 + 170 a tile of 512 px 128,000"
    assert "unknown" in next(line for line in lines if line.startswith("gpt-3.5-turbo "))


def test_models_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON the list has a format number and the table's date."""
    printed = run(capsys, "--format", "json")
    listed = json.loads(printed)
    assert (listed["format"], listed["date"]) == (1, "2026-11-30")
    assert listed["models"]["gpt-4.1-mini"] == {
        "encoding": "o200k_base",
        "images": "1.62 a patch of 32 px, at most 1,536 patches",
        "window": 1_047_576,
    }
    assert listed["models"]["gpt-4"]["images"] is None
    assert printed == json.dumps(listed, indent=2, sort_keys=True) + "\n"
