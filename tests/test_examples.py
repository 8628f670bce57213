"""Examples run as they stand."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_a_run_is_read_as_in_a_notebook(tmp_path: Path) -> None:
    """The cells of the example run one after another on a run folder, and print what they say."""
    talk, run = ROOT / "tests" / "golden" / "talk.jsonl", tmp_path / "run"
    made = [sys.executable, "-m", "ctxmode_cli", "compare", str(talk), "-q", "-o", str(run)]
    answer = subprocess.run(made, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    read = [sys.executable, str(ROOT / "examples" / "read_a_run.py"), str(run)]
    lines = subprocess.run(read, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()
    assert lines[0] == answer
    assert [line.split()[0] for line in lines[3:7]] == ["full", "sliding", "summary", "zero"]
    assert lines[-1].endswith("USD")
