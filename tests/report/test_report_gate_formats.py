"""What a gate says, in every form."""

import csv
import io
import json

import pytest

from ctxmode_cli.replay.verdict import Check, LostFacts, Verdict
from ctxmode_cli.report.formats import as_json, as_markdown
from ctxmode_cli.report.gate_formats import GATE_FORMATS, annotations, gate_markdown, gate_table
from ctxmode_cli.report.table import as_table

PASSED = Check("rule", "invalid == 0", "full", True, 0, 0, "0")
FAILED = Check("rule", "recall.in_context >= 0.85", "summary", False, 0.84996, 0.85, "0.84996")
UNKNOWN = Check("rule", "cost_usd.per_day <= 5", "summary", None, None, 5, "it is null")
SAME = Check("regression", "tokens.mean no worse than before by more than 2%", "full", True, 0, 20.5, "10 as before")
CHANCE = SAME._replace(value=30, shown="40 against 10, worse by 30; that may be chance")
LOST = [LostFacts("summary", f"talk {number}", ("a", "b")) for number in range(12)]
VERDICT = Verdict([PASSED, FAILED, UNKNOWN, SAME, SAME], LOST, ["what is assumed"])

TABLE = """\
passed: full: invalid == 0: 0
FAILED: summary: recall.in_context >= 0.85: 0.84996
NOT EVALUATED: summary: cost_usd.per_day <= 5: it is null
passed: 2 figures as before (--format csv lists them)

summary: talk 0 lost 2 facts: a, b
"""
LAST = "gate FAILED: 5 checks: 3 passed, 1 failed, 1 could not be evaluated"


def test_table() -> None:
    """A line a check, those that say nothing new counted; the worst conversations; last the whole."""
    text = gate_table(VERDICT)
    assert text.startswith(TABLE)
    assert "and 2 more conversations lost facts\n\nnote: what is assumed\n" in text
    assert text.splitlines()[-1] == LAST
    assert all(len(line) <= 40 for line in gate_table(VERDICT, width=40).splitlines())


def test_every_form_has_every_check() -> None:
    """JSON, JSON lines and CSV list all checks with their values, Markdown in words."""
    document = json.loads(GATE_FORMATS["json"](VERDICT))
    assert [rule["passed"] for rule in document["rules"]] == [True, False, None, True, True]
    assert document["rules"][1] == FAILED._asdict()
    assert (document["passed"], document["lost_facts"], len(document["conversations"])) == (False, {"summary": 12}, 10)
    lines = [json.loads(line) for line in GATE_FORMATS["jsonl"](VERDICT).splitlines()]
    assert lines[1] == {"verdict": "FAILED", **FAILED._asdict()}
    sheet = list(csv.DictReader(io.StringIO(GATE_FORMATS["csv"](VERDICT))))
    assert [row["verdict"] for row in sheet] == [line["verdict"] for line in lines]
    assert (sheet[1]["value"], sheet[2]["value"]) == ("0.84996", "")
    markdown = gate_markdown(VERDICT)
    assert markdown.startswith(f"**{LAST}**\n")
    assert "| FAILED | summary | recall.in\\_context \\>= 0.85 | 0.84996 |" in markdown


@pytest.mark.parametrize(
    ("checks", "answer"),
    [
        ([PASSED], "gate passed: 1 check: 1 passed"),
        ([CHANCE], "gate passed: 1 check: 1 passed (1 figure worse than the tolerance, which may be chance)"),
        ([PASSED, UNKNOWN], "gate NOT EVALUATED: 2 checks: 1 passed, 1 could not be evaluated"),
        ([FAILED, PASSED, UNKNOWN], "gate FAILED: 3 checks: 1 passed, 1 failed, 1 could not be evaluated"),
    ],
)
def test_the_whole_in_a_sentence(checks: list[Check], answer: str) -> None:
    """What could not be evaluated is no pass."""
    assert gate_table(Verdict(checks)).splitlines()[-1] == answer


def test_annotations() -> None:
    """At most ten, failures first; a title and a text that GitHub cannot take for anything else."""
    checks = [UNKNOWN, *[FAILED] * 12, PASSED]
    lines = list(annotations(Verdict(checks)))
    assert len(lines) == 10
    title = "ctxmode gate%3A summary%3A recall.in_context >= 0.85"
    assert lines[0] == f"::error title={title}::FAILED: summary: recall.in_context >= 0.85: 0.84996"
    assert next(annotations(Verdict([UNKNOWN]))).startswith(
        "::warning title=ctxmode gate%3A summary%3A cost_usd.per_day"
    )
    assert list(annotations(Verdict([PASSED]))) == []


def test_hostile_text_is_no_command() -> None:
    """What breaks a line or ends a field is escaped."""
    rule = "100%,a:b\r\n::error::x\x1b"
    [line] = annotations(Verdict([Check("rule", rule, "summary", False, 1, 1, rule)]))
    shown = "100%25{}a{}b\\r\\n{}error{}x\\x1b"
    colon = "%3A"
    assert line == (
        f"::error title=ctxmode gate%3A summary%3A {shown.format('%2C', colon, colon * 2, colon * 2)}"
        f"::FAILED: summary: {shown.format(',', ':', '::', '::')}: {shown.format(',', ':', '::', '::')}"
    )


def test_a_comparison_tells_its_gate(build) -> None:  # noqa: ANN001 - a fixture
    """Table and Markdown list what did not pass before the answer, the JSON all; without a gate there is no such part."""
    plain = build(full=(10, 1000), zero=(5, 0))
    gated = build(full=(10, 1000), zero=(5, 0), changed={"gate": VERDICT})
    lines = as_table(gated).splitlines()
    assert lines[-3] == LAST
    assert lines[-1] == as_table(plain).splitlines()[-1]
    assert [line for line in lines if line.startswith(("FAILED", "NOT EVALUATED"))] == TABLE.splitlines()[1:3]
    assert "gate: what is assumed" in lines
    chance = build(full=(10, 1000), changed={"gate": Verdict([SAME, CHANCE])})
    assert f"passed: full: {CHANCE.rule}: {CHANCE.shown}\ngate passed: 2 checks" in as_table(chance)
    assert "- FAILED: summary: recall.in\\_context \\>= 0.85: 0.84996\n" in as_markdown(gated)
    assert json.loads(as_json(gated))["gate"]["rules"][1] == FAILED._asdict()
    assert json.loads(as_json(plain))["gate"] is None
    assert "gate" not in as_table(plain)
