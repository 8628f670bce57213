"""`ctxmode gate`, `ctxmode diff`, and the gate of the replaying commands: options, outputs, exit codes."""

import csv
import io
import json
import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

Ctxmode = Callable[..., Any]
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
TALK = str(GOLDEN / "talk.jsonl")
SETTINGS = ("--config", str(GOLDEN / "ctxmode.toml"), "-q")
WORSE = ("--max-tokens", "60", "--reserved-output", "0")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs on the same data, of which `worse` has a smaller budget."""
    from ctxmode_cli.commands.main import main

    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, settings in (("main", ()), ("worse", WORSE)):
            outputs = ("-o", f"{name}/", "-o", f"{name}.json", "--format", "csv")
            patch.setattr("sys.argv", ["ctxmode", "compare", TALK, *SETTINGS, *settings, *outputs])
            with pytest.raises(SystemExit) as stopped:
                main()
            assert not stopped.value.code
    return folder


@pytest.fixture
def here(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of that folder to work in; nothing of a CI server in the environment."""
    copy = Path(shutil.copytree(runs, tmp_path / "runs"))
    monkeypatch.chdir(copy)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return copy


CODES = [
    (["main.json", "--gate", "recall.in_context >= 0"], 0),
    (["main", "--gate", "recall.in_context >= 0"], 0),
    (["main.json", "--gate", "recall.in_context >= 0.8"], 1),
    (["main.json", "--gate", "summary.recall.answered >= 0.8"], 3),
    (["main.json", "--gate", "recall.answered >= 0.8", "--gate", "recall.in_context >= 0.8"], 1),
    (["main.json", "--gate", "recal.in_context >= 0.8"], 2),
    (["main.json"], 2),
    (["main.json", "--against", "main.json"], 0),
    (["worse.json", "--against", "main.json"], 1),
    (["worse", "--against", "main"], 1),
    (["worse.json", "--against", "main.json", "--gate", "recall.answered >= 1"], 1),
    (["main", "--against", "nowhere.json"], 2),
    (["nowhere", "--against", "main.json"], 2),
    (["main/requests.parquet", "--against", "main.json"], 2),
    (["main.json", "--against", "main.json", "-o", "main.json"], 2),
    (["main.json", "--against", "main.json", "-o", "gate.pdf"], 2),
]


@pytest.mark.parametrize(("arguments", "code"), CODES)
def test_exit_code(ctxmode: Ctxmode, here: Path, arguments: list[str], code: int) -> None:
    """The gate is an exit code; what is wrong with the command itself is 2, and nothing is on stdout then."""
    result = ctxmode("gate", *arguments)
    assert result.code == code
    assert (result.out == "") == (code == 2)
    assert result.err.startswith("error: ") == (code == 2)
    assert here.exists()


def test_nothing_to_check_has_a_hint(ctxmode: Ctxmode, here: Path) -> None:
    """A gate without a rule would always pass."""
    assert ctxmode("gate", "main.json").err == (
        "error: there is nothing to check\nhint: --gate RULE, --against SNAPSHOT, or [gate] in ctxmode.toml\n"
    )
    assert here.exists()


def test_rules_of_the_file_hold(ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules and tolerances of ctxmode.toml are checked by every command that has results, and so is its snapshot."""
    (here / "ctxmode.toml").write_text('[gate]\nrules = ["zero.recall.in_context >= 0.5"]\n')
    assert ctxmode("gate", "main.json").code == 1
    assert ctxmode("gate", "main.json", "--gate", "invalid == 0").code == 1
    assert ctxmode("compare", TALK, "--modes", "zero", "-q").code == 1
    assert ctxmode("replay", TALK, "--mode", "full", "-q").code == 3  # the rule is about zero
    (here / "ctxmode.toml").write_text('against = "main.json"\n[gate.tolerance]\nrecal = 1\n')
    assert ctxmode("gate", "main.json").err.startswith('error: ctxmode.toml: gate.tolerance: a tolerance names "recal"')
    (here / "ctxmode.toml").write_text('against = "main.json"\n')
    assert ctxmode("gate", "worse.json").code == 1
    monkeypatch.setenv("CTXMODE_GATE", "invalid==0 tokens.p95<=1")
    assert ctxmode("gate", "main.json", "--format", "csv").out.count("FAILED,rule,tokens.p95 <= 1,") == 4
    monkeypatch.delenv("CTXMODE_GATE")
    (here / "ctxmode.toml").write_text("gate = [1]\n")
    assert ctxmode("compare", TALK).err == "error: ctxmode.toml: gate is a list, not a table\n"
    (here / "ctxmode.toml").write_text('[gate]\nrules = ["x"]\n')
    result = ctxmode("compare", "nowhere.jsonl")
    assert (result.code, result.err.splitlines()[0]) == (2, 'error: ctxmode.toml: gate: "x" is no gate rule')


def test_a_comparison_checks_itself(ctxmode: Ctxmode, here: Path) -> None:
    """`compare --gate --against` ends as `gate` does, and every output has the verdict."""
    outputs = ("-o", "out.json", "-o", "gate.xml", "-o", "run/", "-o", "rows.parquet")
    rule = "summary.tokens.p95 <= 10"
    result = ctxmode("compare", TALK, *SETTINGS, *WORSE, "--gate", rule, "--against", "main", *outputs)
    assert result.code == 1
    assert result.err == ""
    assert "FAILED: summary: tokens.p95 <= 10: " in result.out
    verdict = json.loads((here / "out.json").read_text())["gate"]
    assert verdict == json.loads((here / "run" / "results.json").read_text())["gate"]
    assert verdict == json.loads(ctxmode("gate", "worse", "--gate", rule, "--against", "main", "--format", "json").out)
    assert verdict["lost_facts"]["summary"]
    suites = {suite.get("name"): suite for suite in ET.parse(here / "gate.xml").getroot()}  # noqa: S314 - our own
    assert sorted(suites) == ["full", "sliding", "summary", "zero"]
    assert {case.get("name") for case in suites["summary"]} >= {rule.removeprefix("summary."), "dinner", "travel"}
    assert ctxmode("gate", "worse", "--gate", rule, "--against", "main", "-o", "same.xml").code == 1
    assert (here / "same.xml").read_bytes() == (here / "gate.xml").read_bytes()


def test_rows_as_parquet(ctxmode: Ctxmode, here: Path) -> None:
    """The Parquet file has the rows of the CSV, with types."""
    result = ctxmode("compare", TALK, *SETTINGS, "-o", "rows.parquet", "--format", "csv")
    assert result.code == 0
    table = pq.read_table(here / "rows.parquet")
    header, *lines = result.out.splitlines()
    assert table.column_names == header.split(",")
    assert table.num_rows == len(lines)
    written = [["" if value is None else str(value) for value in row.values()] for row in table.to_pylist()]
    assert written == [line.split(",") for line in lines]
    assert str(table.schema.field("recall_answered").type) == "double"


def test_what_did_not_pass_is_told_where_it_can_be_read(
    ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr where stdout is for machines; as annotations where GitHub runs it."""
    rules = ("--gate", "zero.recall.in_context >= 0.5", "--gate", "recall.answered >= 0")
    assert ctxmode("gate", "main.json", *rules).err == ""
    result = ctxmode("gate", "main.json", *rules, "--format", "csv")
    assert result.err.startswith(
        "error: gate: FAILED: zero: recall.in_context >= 0.5: 0\nerror: gate: NOT EVALUATED: full"
    )
    assert result.out.startswith("verdict,kind,rule,mode,passed,value,limit,shown\nFAILED,rule,")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = ctxmode("gate", "main.json", *rules).err.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", *["::warning"] * 4]
    assert here.exists()


def test_a_snapshot_of_other_data_is_refused(ctxmode: Ctxmode, here: Path) -> None:
    """Other data, another seed or another selection is no snapshot, unless the user says so."""
    other = here / "other.jsonl"
    other.write_text(Path(TALK).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    for arguments, named in (
        ((str(other),), "the digests of the inputs"),
        ((TALK, "--seed", "1"), "the seed"),
        ((TALK, "--limit", "2"), "--limit"),
    ):
        result = ctxmode("compare", *arguments, *SETTINGS, "--against", "main.json", "-o", "refused.json")
        assert (result.code, result.out) == (2, "")
        assert result.err.splitlines()[0] == (
            f"error: main.json: the two runs have different data: not the same are {named}"
        )
        assert not (here / "refused.json").exists()
        assert "replaying" not in ctxmode("compare", *arguments, "--against", "main.json", "-v").err
    # Of the built-in sessions that is known only when all are made.
    document = json.loads((here / "main.json").read_text())
    (here / "two.json").write_text(json.dumps(document | {"selection": document["selection"] | {"limit": 2}}))
    late = ctxmode("compare", "--limit", "2", "-v", "--against", "two.json", "-o", "refused.json")
    assert (late.code, late.out, (here / "refused.json").exists()) == (2, "", False)
    assert late.err.startswith("replaying 200 built-in sessions")
    assert "not the same are the digests of the inputs" in late.err
    allowed = ctxmode("compare", str(other), *SETTINGS, "--against", "main.json", "--allow-different-data")
    assert allowed.code == 0
    assert "gate: the data is not the same, so differences tell of the data, too" in allowed.out


# --- diff ---


def test_diff_tells_what_changed(ctxmode: Ctxmode, here: Path) -> None:
    """Settings, totals and conversations of two runs, in every form; what the JSON counts, the table says."""
    result = ctxmode("diff", "main", "worse")
    assert (result.code, result.err) == (0, "")
    assert "max_tokens: 400 → 60\n" in result.out
    document = json.loads(ctxmode("diff", "main", "worse", "--format", "json").out)
    assert document["answer"] == result.out.splitlines()[-1]
    lost = [len(change["lost"]) for change in document["conversations"]]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 0
    assert ctxmode("diff", "main", "worse", "--format", "markdown").out.startswith(f"**{document['answer']}**")
    assert json.loads(ctxmode("diff", "main.json", "worse", "--format", "json").out)["conversations"] is None
    assert here.exists()


def test_diff_refuses_other_data(ctxmode: Ctxmode, here: Path) -> None:
    """As the gate does."""
    document = json.loads((here / "main.json").read_text())
    (here / "other.json").write_text(json.dumps(document | {"seed": 7}))
    result = ctxmode("diff", "main.json", "other.json")
    assert (result.code, result.out) == (2, "")
    assert "not the same are the seed" in result.err
    allowed = ctxmode("diff", "main.json", "other.json", "--allow-different-data")
    assert allowed.code == 0
    assert "not the same data: the seed" in allowed.out


# --- golden files and equal numbers ---

RULES = (
    "recall.in_context >= 0.5",
    "summary.cost_usd.relative <= 1.0368",
    "summary.recall.answered >= 0.5",
    "invalid == 0",
)
GOLDEN_FORMS = {
    "gate.piped.txt": ("gate", "worse", "--against", "main"),
    "gate.md": ("gate", "worse", "--against", "main", "--format", "markdown"),
    "gate.json": ("gate", "worse", "--against", "main", "--format", "json"),
    "gate.xml": ("gate", "worse", "--against", "main", "-o", "gate.xml"),
    "diff.piped.txt": ("diff", "main", "worse"),
    "diff.md": ("diff", "main", "worse", "--format", "markdown"),
}


def rules(*names: str) -> list[str]:
    return [argument for name in names for argument in ("--gate", name)]


@pytest.mark.parametrize("name", GOLDEN_FORMS)
def test_form_is_as_it_was(ctxmode: Ctxmode, here: Path, name: str) -> None:
    """A report says the same in the same words until someone means it to change; UPDATE_GOLDEN=1 writes it anew."""
    arguments = GOLDEN_FORMS[name]
    printed = ctxmode(*arguments, *(rules(*RULES) if arguments[0] == "gate" else [])).out
    written = (here / name).read_text(encoding="utf-8") if "-o" in arguments else printed
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(written, encoding="utf-8", newline="")
    assert written == (GOLDEN / name).read_text(encoding="utf-8")


def test_every_form_says_the_same(ctxmode: Ctxmode, here: Path) -> None:
    """Table, Markdown, CSV, JSON lines, JUnit and JSON have the same checks with the same verdicts and figures."""
    gate = ("gate", "worse", "--against", "main", *rules(*RULES))
    document = json.loads(ctxmode(*gate, "--format", "json", "-o", "gate.xml").out)
    words = {True: "passed", False: "FAILED", None: "NOT EVALUATED"}
    expected = {(check["mode"], check["rule"]): (words[check["passed"]], check["shown"]) for check in document["rules"]}
    assert len(expected) == len(document["rules"]) == 4 * 11 + 2 + 4 * 2 - 4  # nothing is known of answers
    for check in document["rules"]:
        if check["kind"] == "rule" and check["passed"] is not None:
            assert float(check["shown"]) == pytest.approx(check["value"], rel=1e-3)
    sheet = csv.DictReader(io.StringIO(ctxmode(*gate, "--format", "csv").out))
    assert {(row["mode"], row["rule"]): (row["verdict"], row["shown"]) for row in sheet} == expected
    lines = map(json.loads, ctxmode(*gate, "--format", "jsonl").out.splitlines())
    assert {(row["mode"], row["rule"]): (row["verdict"], row["shown"]) for row in lines} == expected
    cells = (
        [cell.strip().replace("\\", "") for cell in line.strip("| \n").split(" | ")]
        for line in ctxmode(*gate, "--format", "markdown").out.splitlines()
        if line.startswith(("| passed", "| FAILED", "| NOT"))
    )
    moved = {check: told for check, told in expected.items() if not told[1].endswith(" as before")}
    assert {(mode, rule): (verdict, shown) for verdict, mode, rule, shown in cells} == moved
    junit = {"failure": "FAILED", "error": "NOT EVALUATED", "system-out": "passed"}
    cases = {
        (suite.get("name"), case.get("name")): (junit[case[0].tag], case[0].get("message") or case[0].text)
        for suite in ET.parse(here / "gate.xml").getroot()  # noqa: S314 - our own
        for case in suite
        if not case.get("classname").endswith(".conversation")
    }
    assert cases == expected
    table = ctxmode(*gate).out
    assert all(f"{verdict}: {mode}: {rule}: {shown}\n" in table for (mode, rule), (verdict, shown) in moved.items())
    assert f"passed: {len(expected) - len(moved)} figures as before" in table
