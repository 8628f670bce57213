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
    """Each model stands in a line: encoding, image rule, cache rule, window, prices of input, cached input, output."""
    lines = {line.split()[0]: " ".join(line.split()) for line in run(capsys).splitlines() if line}
    assert lines["gpt-4o"] == "gpt-4o o200k_base 85 + 170 a tile of 512 px openai-gpt-4o 128,000 2.5 1.25 10"
    assert lines["gpt-3.5-turbo"] == "gpt-3.5-turbo cl100k_base unknown none 16,385 0.5 none 1.5"


def test_title_names_source_and_days(capsys: pytest.CaptureFixture[str]) -> None:
    """The title says what the prices are in, where they come from, and of which day."""
    [title, *_] = run(capsys).splitlines()
    assert title == (
        "Models as of 2026-11-30; USD per million tokens of short requests: genai-prices 0.2.3, 2026-11-30"
    )


def test_unknown_price_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose price nobody knows has none, never 0."""
    monkeypatch.setattr("ctxmode_cli.simulate.prices.find_price", lambda _: None)
    lines = {line.split()[0]: line for line in run(capsys).splitlines() if line}
    assert lines["gpt-4o"].split()[-4:] == ["128,000", "unknown", "unknown", "unknown"]
    assert json.loads(run(capsys, "--format", "json"))["models"]["gpt-4o"]["prices"] is None


def test_models_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON the list has a format number and the table's date."""
    printed = run(capsys, "--format", "json")
    listed = json.loads(printed)
    assert (listed["format"], listed["date"]) == (1, "2026-11-30")
    assert listed["models"]["gpt-4.1-mini"] == {
        "encoding": "o200k_base",
        "images": "1.62 a patch of 32 px, at most 1,536 patches",
        "window": 1_047_576,
        "prices": [{"above": 0, "input": 0.4, "cached_input": 0.1, "cache_write": None, "output": 1.6}],
        "cache_rule": "openai-gpt-4.1",
    }
    assert listed["prices"] == {
        "source": "genai-prices 0.2.3",
        "date": "2026-11-30",
        "unit": "USD per million tokens",
    }
    assert [tier["above"] for tier in listed["models"]["gpt-5.4"]["prices"]] == [0, 272_000]
    assert listed["models"]["gpt-4"]["images"] is None
    assert printed == json.dumps(listed, indent=2, sort_keys=True) + "\n"
