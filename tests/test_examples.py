"""Examples run as they stand."""

import runpy
from pathlib import Path

import pytest

from ctxmode_cli.commands.main import main

ROOT = Path(__file__).resolve().parents[1]


def test_a_run_is_read_as_in_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells of the example run one after another on a run folder, and print what they say."""
    talk, run = str(ROOT / "tests" / "golden" / "talk.jsonl"), str(tmp_path / "run")
    monkeypatch.setattr("sys.argv", ["ctxmode", "compare", talk, "-q", "-o", run])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    answer = capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr("sys.argv", ["read_a_run.py", run])
    runpy.run_path(str(ROOT / "examples" / "read_a_run.py"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == answer
    assert [line.split()[0] for line in lines[3:7]] == ["full", "sliding", "summary", "zero"]
    assert lines[-1].endswith("USD")
