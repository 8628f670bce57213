"""What docs/ci.md tells a reader to type does what it says, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from ctxmode_cli import ExitCode
from ctxmode_cli.report.gate import TOLERATED, GateSettings
from ctxmode_cli.report.gate_rules import parse_rule
from ctxmode_cli.report.regressions import WATCHED

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def block(language: str, heading: str = "") -> str:
    """The first fenced block of a language behind a heading."""
    found = re.search(rf"^```{language}\n(.*?)^```$", TEXT[TEXT.index(heading) :], flags=re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def steps(heading: str) -> list[str]:
    """The commands of a recipe in YAML, its installation apart."""
    return re.findall(r"- (?:run: )?(ctxmode .*)", block("yaml", heading))


def shell(folder: Path, script: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """A script run by a plain shell, with the `ctxmode` of this installation."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    without = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    return subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**without, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its conversations and their snapshot, made by the last command of the page."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "golden" / "talk.jsonl", folder / "tests" / "talks.jsonl")
    [command] = re.findall(r"`(ctxmode compare [^`]* -o tests/snapshot/)`", TEXT)
    assert shell(folder, command).returncode == 0
    return folder


@pytest.fixture
def project(snapshot: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(snapshot, tmp_path / "project"))


def test_the_page_shows_what_it_takes_to_check(project: Path) -> None:
    """The first block runs, with the snapshot under its name there; the rules hold."""
    shutil.copytree(project / "tests" / "snapshot", project / "main")
    result = shell(project, f"set -e\n{block('bash').replace('0.85', '0.7')}")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("gate passed") == 2


def test_the_recipe_for_any_shell(project: Path) -> None:
    """It passes and shows what changed; a run that is worse ends with 1, and says so."""
    script = block("sh", "## Any shell").replace("ctxmode tokenizer-check\n", "")
    passed = shell(project, script)
    assert (passed.returncode, passed.stderr) == (0, "")
    assert passed.stdout.endswith("0 conversations lost facts\n")
    assert (project / "table.csv").read_text().startswith("mode,")
    shutil.rmtree(project / "run")
    toml = "max_tokens = 400\n[gate]\nsignificance = false\n"
    (project / "ctxmode.toml").write_text(toml)
    failed = shell(project, script)
    assert failed.returncode == 1
    assert failed.stdout.endswith("worse than the snapshot\n")
    assert '<failure message="' in (project / "gate.xml").read_text()


def test_the_recipe_for_gitlab(project: Path) -> None:
    """Its steps pass as they are written, and leave what the server reads; nothing is said to another one."""
    check, compare = steps("## GitLab")
    assert check == "ctxmode tokenizer-check"
    passed = shell(project, compare)
    assert (passed.returncode, passed.stderr) == (0, "")
    assert '<testsuite name="summary"' in (project / "gate.xml").read_text()


def test_the_recipe_for_github(project: Path) -> None:
    """A rule that fails ends the step with 1; annotation and step summary name it."""
    check, compare = steps("## GitHub Actions")
    assert check == "ctxmode tokenizer-check"
    (project / "ctxmode.toml").write_text('[gate]\nrules = ["zero.recall.in_context >= 1"]\n')
    failed = shell(project, compare, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="summary.md")
    assert failed.returncode == ExitCode.FAILED
    assert failed.stderr.startswith("::error title=ctxmode gate%3A zero%3A recall.in_context >= 1::FAILED")
    assert "gate FAILED: " in (project / "summary.md").read_text()
    assert '<failure message="0" type="rule"' in (project / "gate.xml").read_text()


def test_rules_and_tables_of_the_page_are_true() -> None:
    """Every rule shown is one, and codes, figures and tolerances are those of the program."""
    for rule in re.findall(r"^\| `([^`]+ (?:>=|<=|==) [^`]+)`", TEXT, flags=re.MULTILINE):
        assert parse_rule(rule)
    assert {int(code) for code in re.findall(r"^\| (\d) \|", TEXT, flags=re.MULTILINE)} == {
        ExitCode.OK,
        ExitCode.FAILED,
        ExitCode.USAGE,
        ExitCode.NOT_EVALUATED,
    }
    shown = {}
    for names, worse, tolerance in re.findall(r"^\| (`.+?) \| (less|more) \| (\S+?)[ ;|:]", TEXT, flags=re.MULTILINE):
        shown |= dict.fromkeys(re.findall(r"`([^`]+)`", names), (worse, tolerance))
    assert set(shown) == set(TOLERATED.paths)
    for path, watched in WATCHED.items():
        assert shown[path] == ("less" if watched.higher_is_better else "more", str(watched.tolerance))


def test_the_configuration_of_the_page_is_one() -> None:
    """The table shown is read as it stands."""
    table = tomllib.loads(block("toml"), parse_float=Decimal)
    settings = GateSettings.of(table["gate"], "ctxmode.toml")
    assert len(settings.rules) == 2
    assert {name: str(tolerance) for name, tolerance in settings.tolerances.own.items()} == {
        (None, "recall.in_context"): "0.02",
        (None, "cost_usd.per_session"): "5%",
        ("summary", "recall.in_context"): "0.005",
        (None, "conversations"): "1%",
    }
