import re
import tomllib
from pathlib import Path

import ctxmode_cli

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = Path(ctxmode_cli.__file__).parent


def test_the_picture_of_the_floors_is_the_enforced_one() -> None:
    """The floors drawn are those that import-linter holds, in the same order."""
    [contract] = PROJECT["tool"]["importlinter"]["contracts"]
    enforced = [layer.replace("ctxmode_cli.", "").split(" | ") for layer in contract["layers"]]
    picture = TEXT.split("```text\n")[1].split("```")[0]
    drawn = [
        re.split(r"\s{2,}", line.replace("| ", " "))[: len(rooms)]
        for line, rooms in zip(picture.splitlines(), enforced, strict=True)
    ]
    assert drawn == enforced


def test_every_room_has_a_floor_and_a_paragraph() -> None:
    """No folder or file of the package is left out of the rules or of the text."""
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    rooms |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    [contract] = PROJECT["tool"]["importlinter"]["contracts"]
    floors = {room for layer in contract["layers"] for room in re.findall(r"ctxmode_cli\.(\w+)", layer)}
    described = set(re.findall(r"\b(\w+)(?:/|\.py)", " ".join(re.findall(r"\*\*(.+?)\*\*", TEXT))))
    assert rooms == floors
    assert rooms <= described


def test_every_dependency_has_its_reason() -> None:
    """The table names each run-time dependency once, and the text each one for development."""
    names = {re.split(r"[=><]", requirement)[0] for requirement in PROJECT["project"]["dependencies"]}
    development = {
        re.split(r"[=><]", requirement)[0] for requirement in PROJECT["project"]["optional-dependencies"]["dev"]
    }
    assert sorted(re.findall(r"^\| ([a-z0-9-]+) \|", TEXT, flags=re.MULTILINE)) == sorted({*names, "package"})
    assert {name for name in development if name not in TEXT} == set()


def test_every_file_named_exists() -> None:
    """A path in the text is a file or a folder of the package."""
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]*)`", TEXT):
        inside = PACKAGE / name.removeprefix("ctxmode_cli/")
        candidates = (inside, inside.with_suffix(".py"), ROOT / name, PACKAGE / "context" / name)
        assert name == "ctxmode_cli/_data" or any(path.exists() for path in candidates), name
