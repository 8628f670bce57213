"""JUnit XML: what CI servers read of a gate."""

import xml.etree.ElementTree as ET
from pathlib import Path

import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.replay.by_conversation import ByConversation, FactScore
from ctxmode_cli.replay.verdict import Check, LostFacts, Verdict
from ctxmode_cli.report.junit import as_junit

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
HOSTILE = 'a\x00\x1b[31m\u202e]]></failure>"&<script>\ud800\ufffe\r\n=1+1'


def check(kind: str, rule: str, mode: str, passed: bool | None, shown: str) -> Check:
    return Check(kind, rule, mode, passed, None if passed is None else 1, 1, shown)


def conversations() -> ByConversation:
    """Two labelled conversations of the mode summary, and one in which only harm was done."""
    found = ByConversation()
    found.score("summary", "keeps").facts["x"] = FactScore(2, 2)
    found.score("summary", "loses").facts.update(x=FactScore(2, 1), y=FactScore(1, 0), z=FactScore(1, 1))
    found.score("summary", "harmed").harm = 1
    return found


def cases(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """What became of each case, by suite and name: a word, and what it says."""
    found = {}
    for suite in ET.fromstring(text.encode()):  # noqa: S314 - our own
        for case in suite:
            wrong = [part for part in case if part.tag in {"failure", "error"}]
            said = wrong[0].get("message") if wrong else case.findtext("system-out")
            found[suite.get("name"), case.get("name")] = (wrong[0].tag if wrong else "passed", said)
    return found


def test_one_suite_a_mode_one_case_a_check_and_a_conversation() -> None:
    """A check that fails is a failure, one that cannot be evaluated an error; conversations say what they lost."""
    verdict = Verdict(
        [
            check("rule", "invalid == 0", "summary", True, "0"),
            check("rule", "recall.in_context >= 0.9", "summary", False, "0.85"),
            check("rule", "recall.in_context >= 0.9", "sliding", None, "no such mode was replayed"),
        ]
    )
    text = as_junit(["full", "summary"], verdict, conversations=conversations())
    SCHEMA.validate(text)
    assert cases(text) == {
        ("summary", "invalid == 0"): ("passed", "0"),
        ("summary", "recall.in_context >= 0.9"): ("failure", "0.85"),
        ("sliding", "recall.in_context >= 0.9"): ("error", "no such mode was replayed"),
        ("summary", "keeps"): ("passed", "0 of 1 fact not always in context"),
        ("summary", "loses"): ("passed", "2 of 3 facts not always in context: x, y"),
    }
    root = ET.fromstring(text.encode())  # noqa: S314 - our own
    assert [suite.get("name") for suite in root] == ["full", "sliding", "summary"]
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
    }


def test_a_conversation_fails_only_where_too_many_lost_facts() -> None:
    """CI is red where the gate is, and nowhere else."""
    lost = [LostFacts("summary", "loses", ("y",))]
    told = "2 of 3 facts not always in context: x, y; lost since the snapshot: y"
    for passed, expected in ((True, ("passed", told)), (False, ("failure", "lost since the snapshot: y"))):
        verdict = Verdict([check("conversations", "no more than 0", "summary", passed, "1 of 2")], lost)
        found = cases(as_junit(["summary"], verdict, conversations=conversations()))
        assert found["summary", "loses"] == expected
        assert found["summary", "keeps"][0] == "passed"


def test_without_a_gate_there_are_only_conversations() -> None:
    """A comparison without rules still lists what each conversation lost."""
    text = as_junit(["summary"], None, conversations=conversations())
    SCHEMA.validate(text)
    assert {name for _, name in cases(text)} == {"keeps", "loses"}
    SCHEMA.validate(as_junit([], None))


def test_hostile_text_is_text() -> None:
    """Markup and control characters of a log are shown, and XML stays XML."""
    found = ByConversation()
    found.score("summary", HOSTILE).facts[HOSTILE] = FactScore(1, 0)
    verdict = Verdict([check("rule", HOSTILE, "summary", False, HOSTILE)], [LostFacts("summary", HOSTILE, (HOSTILE,))])
    text = as_junit(["summary"], verdict, conversations=found)
    SCHEMA.validate(text)
    shown = 'a\\x00\\x1b[31m\\u202e]]></failure>"&<script>\\ud800\\ufffe\\r\\n=1+1'
    assert set(cases(text)) == {("summary", shown)}
    assert "<script" not in text
    assert text.count(shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")) >= 3


@settings(deadline=None)
@given(text=st.text(max_size=20))
def test_any_text_is_valid_xml(text: str) -> None:
    """No name of a conversation or a fact breaks the file."""
    found = ByConversation()
    found.score("summary", text).facts[text] = FactScore(1, 0)
    assert len(cases(as_junit(["summary"], None, conversations=found))) == 1
