"""Running the command line in this process, which keeps the encodings loaded."""

from pathlib import Path

import pytest
from command_line import Ctxmode, Result
from endpoint import KEY

from ctxmode_cli.commands.main import main


@pytest.fixture
def ctxmode(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ctxmode:
    """Runs `ctxmode` with the arguments it is given."""

    def run(*arguments: str) -> Result:
        monkeypatch.setattr("sys.argv", ["ctxmode", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        return Result(exited.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for a scripted endpoint."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def talk() -> str:
    """A file of three short labelled conversations."""
    return str(Path(__file__).resolve().parents[1] / "golden" / "talk.jsonl")
