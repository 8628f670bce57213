"""The gate's rules and regressions: what passes, what fails, what cannot be told, and what is a mistake."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.errors import CtxmodeError, ExitCode
from ctxmode_cli.replay.by_conversation import ByConversation, FactScore
from ctxmode_cli.replay.statistics import FIXED_POINT, Replicates, Sums
from ctxmode_cli.report.diff import diff
from ctxmode_cli.report.diff_formats import DIFF_FORMATS
from ctxmode_cli.report.gate import DIFFERENT_DATA, INDEPENDENT, PAIRED, SAME_DATA, GateSettings, judge
from ctxmode_cli.report.gate_formats import GATE_FORMATS
from ctxmode_cli.report.gate_rules import COUNTS, PATHS, Rule, digits, figure, parse_rule
from ctxmode_cli.report.junit import as_junit
from ctxmode_cli.report.snapshots import Snapshot, difference, require_same_data

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
OK, FAILED, USAGE, UNKNOWN = ExitCode.OK, ExitCode.FAILED, ExitCode.USAGE, ExitCode.NOT_EVALUATED


def ranged(value: float, low: float | None, high: float | None) -> dict[str, float | None]:
    return {"value": value, "low": low, "high": high}


def mode(**changed: Any) -> dict[str, Any]:
    """A mode's part of format 1, as far as a gate reads it."""
    part = {
        "requests": 100,
        "trimmed": 4,
        "unsendable": {"input": 2, "system": 1},
        "invalid": {},
        "stepped_down": {"sliding": 3},
        "tokens": {"mean": 2000.5, "p50": 1900, "p95": 6000, "total": 200050},
        "cached_tokens": {"mean": 10.0, "total": 1000, "share": 0.5},
        "latency_s": {"mean": 1.5, "p50": 1.0, "p95": 2.8, "p99": 3.0, "profile": "article"},
        "cost_usd": {"total": 10.0, "per_session": 0.1, "per_day": None, "relative": 0.5},
        "recall": {
            "in_context": ranged(0.85, 0.8, 0.9),
            "modelled": ranged(0.8, 0.7, 0.9),
            "answered": None,
            "normalised": 0.9,
            "by": {
                "age": {">20": {"probes": 3, "in_context": 0.25, "modelled": 0.2}},
                "source": {"a.b": {"probes": 3, "in_context": 0.75, "modelled": 0.2}},
                "kind": None,
            },
            "lost": {"window": 4, "summary": 1},
        },
        "intervals": {
            "recall.in_context": ranged(0.85, 0.8, 0.9),
            "tokens.mean": ranged(2000.5, 1900, 2100),
            "cost_usd.per_session": ranged(0.1, 0.09, 0.11),
        },
        "harm": {"stale": 1, "contradicted": 0, "cases": []},
        "summary_calls": {"count": 7, "failed": 0, "prompt_tokens": 70, "completion_tokens": 7, "unseen_tokens": 0},
    }
    return part | changed


def results(**changed: Any) -> dict[str, Any]:
    """A comparison of two modes in format 1, as far as a gate reads it."""
    document = {
        "format": 1,
        "seed": 0,
        "selection": {"limit": None, "sample": None, "probes": "labelled"},
        "data": {"conversations": 10, "skipped": 0, "sources": [{"name": "a.jsonl", "sha256": "aa"}]},
        "modes": {"full": mode(recall={"in_context": ranged(1.0, 1.0, 1.0)}), "summary": mode()},
    }
    return document | changed


NOBODY = {"conversations": 0, "sources": []}
ODD = {"sliding-4": mode(), "tokens": mode(), "cost_usd": mode()}
RULES = [
    # value against limit, at the boundary and around it
    ("summary.recall.in_context >= 0.85", OK, {}),
    ("summary.recall.in_context > 0.85", FAILED, {}),
    ("summary.recall.in_context <= 0.85", OK, {}),
    ("summary.recall.in_context < 0.85", FAILED, {}),
    ("summary.recall.in_context == 0.85", OK, {}),
    ("summary.recall.in_context != 0.85", FAILED, {}),
    ("summary.recall.in_context >= 0.8500000000000001", FAILED, {}),
    ("summary.recall.in_context>=.85", OK, {}),
    ("  summary.recall.in_context  >=  8.5e-1  ", OK, {}),
    ("summary.recall.in_context.low >= 0.8", OK, {}),
    ("summary.recall.in_context.value >= 0.86", FAILED, {}),
    ("summary.cost_usd.relative <= 0.5", OK, {}),
    ("summary.cost_usd.relative <= 0.4999", FAILED, {}),
    ("summary.tokens.p95 <= 6000", OK, {}),
    ("summary.tokens.p95 <= 5999", FAILED, {}),
    ("summary.tokens.p95 >= -1", OK, {}),
    ("summary.latency_s.p95 < 2.8", FAILED, {}),
    ("summary.intervals.tokens.mean.high <= 2100", OK, {}),
    ("summary.recall.by.age.>20.in_context >= 0.25", OK, {}),
    ("summary.recall.by.source.a.b.in_context > 0.75", FAILED, {}),
    # dicts of counts: their sum, one of them, and one that never occurred
    ("summary.invalid == 0", OK, {}),
    ("summary.unsendable <= 3", OK, {}),
    ("summary.unsendable <= 2", FAILED, {}),
    ("summary.unsendable.input == 2", OK, {}),
    ("summary.invalid.parted_call == 0", OK, {}),
    ("summary.recall.lost < 5", FAILED, {}),
    ("summary.recall.lost.budget == 0", OK, {}),
    ("summary.harm.stale == 0", FAILED, {}),
    # every mode, and names of modes
    ("tokens.p95 <= 6000", OK, {}),
    ("recall.in_context >= 0.9", FAILED, {}),
    ("recall.normalised >= 0.9", UNKNOWN, {}),  # full has none here
    ("sliding-4.tokens.p95 <= 6000", OK, {"modes": ODD}),
    ("tokens.tokens.p95 <= 5999", FAILED, {"modes": ODD}),  # a mode that is called like a figure
    ("cost_usd.summary_calls.count == 7", OK, {"modes": ODD}),
    ("cost_usd.summary_calls == 7", UNKNOWN, {"modes": ODD}),  # a figure of every mode, which has none
    # what cannot be evaluated
    ("summary.recall.answered >= 0.5", UNKNOWN, {}),
    ("summary.cost_usd.per_day <= 5", UNKNOWN, {}),
    ("summary.cost_usd.total_uncached <= 5", UNKNOWN, {}),
    ("summary.recall.by.kind.name.in_context > 0", UNKNOWN, {}),
    ("summary.recall.by.age.1-2.in_context > 0", UNKNOWN, {}),
    ("summary.cost_usd.total <= 5", UNKNOWN, {"modes": {"summary": mode(cost_usd=None)}}),
    ("summary.tokens.mean <= 5", UNKNOWN, {"modes": {"summary": mode(tokens={"mean": math.nan})}}),
    ("summary.tokens.mean != 5", UNKNOWN, {"modes": {"summary": mode(tokens={"mean": math.nan})}}),
    ("summary.tokens.mean >= 5", UNKNOWN, {"modes": {"summary": mode(tokens={"mean": math.inf})}}),
    ("summary.tokens.mean >= 0", UNKNOWN, {"modes": {"summary": mode(tokens={"mean": True})}}),
    ("summary.tokens.mean >= 0", UNKNOWN, {"modes": {"summary": mode(tokens={"mean": "9"})}}),
    ("summary.invalid == 0", UNKNOWN, {"modes": {"summary": mode(invalid={"disorder": None})}}),
    ("summary.invalid.disorder == 0", UNKNOWN, {"modes": {"summary": mode(invalid=None)}}),
    ("sumary.recall.in_context >= 0.85", UNKNOWN, {}),
    ("sliding.invalid == 0", UNKNOWN, {}),
    ("summary.invalid == 0", UNKNOWN, {"data": NOBODY}),
    ("summary.invalid == 0", UNKNOWN, {"modes": {"summary": mode(requests=0)}}),
    ("invalid == 0", UNKNOWN, {"modes": {}}),
    # what is no rule, whatever the results are
    ("summary.recal.in_context >= 0.85", USAGE, {}),
    ("recall >= 0.85", USAGE, {}),
    ("summary.summary_calls == 7", USAGE, {}),
    ("summary.invalid.disordr == 0", USAGE, {}),
    ("summary..invalid == 0", USAGE, {}),
    ("no mode.invalid == 0", USAGE, {}),
    ("summary.recall.in_context >= 85%", USAGE, {}),
    ("summary.recall.in_context >= nan", USAGE, {}),
    ("summary.recall.in_context >= 1e999", USAGE, {}),
    ("summary.recall.in_context => 0.85", USAGE, {}),
    ("summary.recall.in_context = 0.85", USAGE, {}),
    ("summary.recall.in_context 0.85", USAGE, {}),
    ("summary.recall.in_context >=", USAGE, {}),
    ("", USAGE, {}),
]


def code(rules: list[str], document: dict[str, Any], before: dict[str, Any] | None = None, **table: Any) -> ExitCode:
    """How a command with this gate ends."""
    try:
        asked = GateSettings.of(table, "ctxmode.toml", rules)
        snapshot = None if before is None else Snapshot(before)
        return judge(Snapshot(document), asked, snapshot).code
    except CtxmodeError:
        return USAGE


@pytest.mark.parametrize(("rule", "expected", "changed"), RULES)
def test_rule(rule: str, expected: ExitCode, changed: dict[str, Any]) -> None:
    """Each rule ends with its exit code; what cannot be evaluated never passes."""
    assert code([rule], results(**changed)) is expected


def shifted(**recall: float) -> dict[str, Any]:
    """The mode with another recall in context and its interval."""
    figure_now = ranged(recall["value"], recall.get("low"), recall.get("high"))
    part = mode()
    return {
        "modes": {
            "summary": part
            | {"recall": part["recall"] | {"in_context": figure_now}}
            | {"intervals": part["intervals"] | {"recall.in_context": figure_now}}
        }
    }


def counted(**counts: Any) -> dict[str, Any]:
    return {"modes": {"summary": mode(**counts)}}


RECALL = "recall.in_context"
FELL = shifted(value=0.6, low=0.55, high=0.65)  # the difference is -0.25, -0.32 to -0.18
FELL_UNSURELY = shifted(value=0.8, low=0.7, high=0.9)  # -0.05, -0.16 to 0.06
REGRESSIONS = [
    # (what the run changed, tolerance, significance, exit code)
    ({}, {}, True, OK),
    (FELL, {}, True, FAILED),
    (FELL, {RECALL: 0.25}, True, OK),  # at the tolerance
    (FELL, {RECALL: 0.2499}, True, FAILED),
    (FELL, {RECALL: "30%"}, True, OK),  # 30 % of 0.85 is 0.255
    (FELL, {RECALL: "29%"}, True, FAILED),
    (FELL, {f"summary.{RECALL}": 0.25, RECALL: 0}, True, OK),  # the mode's own is stronger
    (FELL, {f"full.{RECALL}": 0.25}, True, FAILED),
    (FELL, {"recall": {"in_context": 0.25}}, True, OK),  # as TOML reads it without quotes
    (FELL_UNSURELY, {}, True, OK),
    (FELL_UNSURELY, {}, False, FAILED),
    (shifted(value=0.84, low=0.83, high=0.85), {}, False, OK),  # exactly the default of 0.01
    (shifted(value=0.8399, low=0.83, high=0.85), {}, False, FAILED),
    (shifted(value=0.99, low=0.98, high=1.0), {}, True, OK),  # better
    (shifted(value=0.6), {}, True, UNKNOWN),  # without an interval
    (shifted(value=0.845), {}, True, OK),  # likewise, but within the tolerance
    (counted(invalid={"disorder": 1}), {}, True, FAILED),
    (counted(invalid={"disorder": 1}), {"invalid": 1}, True, OK),
    (counted(harm={"stale": 2, "contradicted": 0}), {}, True, FAILED),
    (counted(harm={"stale": 0, "contradicted": 0}), {}, True, OK),
    (counted(harm=None), {}, True, UNKNOWN),
    (counted(cost_usd=None), {}, True, UNKNOWN),
    ({"modes": {"sliding": mode()}}, {}, True, UNKNOWN),  # nothing in common
    ({"modes": {"summary": mode(), "sliding": mode()}}, {}, True, OK),
    ({"data": NOBODY}, {}, True, UNKNOWN),
    (counted(requests=0), {}, True, UNKNOWN),
    (counted(tokens={"mean": 2300.0}, intervals={"tokens.mean": ranged(2300, 2250, 2350)}), {}, True, FAILED),
    (counted(tokens={"mean": 1000.0}, intervals={"tokens.mean": ranged(1000, 950, 1050)}), {}, True, OK),
    ({}, {"recall.in_contxt": 0.1}, True, USAGE),
    ({}, {RECALL: -1}, True, USAGE),
    ({}, {RECALL: "a lot"}, True, USAGE),
    ({}, {RECALL: True}, True, USAGE),
    ({}, {RECALL: [1]}, True, USAGE),
    ({}, {RECALL: Decimal("nan")}, True, USAGE),
    ({}, {RECALL: Decimal("1e99999999")}, True, USAGE),
]


@pytest.mark.parametrize(("changed", "tolerance", "significance", "expected"), REGRESSIONS)
def test_regression(changed: dict[str, Any], tolerance: dict[str, Any], significance: bool, expected: ExitCode) -> None:
    """A figure fails where it is worse by more than its tolerance, and that is more than chance."""
    before = results(modes={"summary": mode()})
    assert (
        code([], results(modes=before["modes"]) | changed, before, tolerance=tolerance, significance=significance)
        is expected
    )


def test_there_are_enough_cases() -> None:
    """The tables above are the gate's promise."""
    assert len({rule for rule, *_ in RULES}) >= 60


def test_one_wins_over_three() -> None:
    """A rule that fails is told as such, whatever else cannot be evaluated."""
    failing, unknown, passing = "summary.tokens.p95 <= 1", "summary.recall.answered >= 1", "summary.invalid == 0"
    assert code([unknown, failing, passing], results()) is FAILED
    assert code([unknown, passing], results()) is UNKNOWN
    assert code([passing], results()) is OK


def test_zero_conversations_are_no_reason_to_pass() -> None:
    """What was not replayed has no fault."""
    verdict = judge(Snapshot(results(data=NOBODY)), GateSettings.of({}, "", ["invalid == 0"]))
    assert [check.shown for check in verdict.checks] == ["nothing was replayed"] * 2
    assert not verdict.passed


SUGGESTIONS = [
    ("summary.recal.in_context >= 1", "did you mean summary.recall.in_context?"),
    ("recall.in_contxt >= 1", "did you mean recall.in_context?"),
    ("summary.invalid.disordr == 0", "did you mean summary.invalid.disorder?"),
    ("nothing == 0", "figures are recall.in_context"),
    ("summary.invalid", "MODE.PATH OP NUMBER"),
    ("summary.recall.in_context >= 85%", "shares are written as 0.85"),
]


@pytest.mark.parametrize(("rule", "hint"), SUGGESTIONS)
def test_a_mistake_has_a_hint(rule: str, hint: str) -> None:
    """What is no rule says so with the rule, and what was probably meant."""
    with pytest.raises(CtxmodeError) as caught:
        parse_rule(rule)
    assert rule.split(" ", maxsplit=1)[0] in caught.value.message
    assert caught.value.hint.startswith(hint) or hint in caught.value.hint


def test_an_unknown_mode_has_a_suggestion() -> None:
    """A mode that was not replayed may be misspelt."""
    [check] = judge(Snapshot(results()), GateSettings.of({}, "", ["sumary.invalid == 0"])).checks
    assert check.shown == "no such mode was replayed; did you mean summary?"
    [check] = judge(Snapshot(results()), GateSettings.of({}, "", ["x.invalid == 0"])).checks
    assert check.shown == "no such mode was replayed; there are full, summary"


def test_rules_of_file_and_command_line_add_up() -> None:
    """Rules come from both, each once, the file's first."""
    asked = GateSettings.of({"rules": ["invalid == 0", "trimmed <= 5"]}, "f", ["requests > 1", "invalid == 0"])
    assert [rule.path for rule in asked.rules] == ["invalid", "trimmed", "requests"]
    twice = GateSettings.of({}, "", ["invalid == 0", "summary.invalid == 0"])
    assert [check.mode for check in judge(Snapshot(results()), twice).checks] == ["full", "summary"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rule": []}, '"rule" is unknown'),
        ({"rules": "invalid == 0"}, '"rules" is a list of texts'),
        ({"rules": [1]}, '"rules" is a list of texts'),
        ({"rules": ["x"]}, '"x" is no gate rule'),
        ({"significance": "yes"}, '"significance" is true or false, not "yes"'),
        ({"tolerance": 1}, "this is a table, not 1"),
        ({"tolerance": {"tokens.p50": 1}}, 'a tolerance names "tokens.p50", which is no figure of the results'),
    ],
)
def test_a_faulty_table_is_told(table: dict[str, Any], message: str) -> None:
    """An error in [gate] names file and table."""
    with pytest.raises(CtxmodeError) as caught:
        GateSettings.of(table, "ctxmode.toml")
    assert caught.value.message == message
    assert caught.value.where.startswith("ctxmode.toml: gate")


def numbers(part: Any, path: str = "") -> set[str]:
    """The paths of all numbers in a mode's part of format 1, what is listed case by case, by values or for a chart left out."""
    if isinstance(part, dict):
        left_out = {"worst", "cases", "by", "percentiles"}
        return set().union(*(numbers(value, f"{path}.{key}") for key, value in part.items() if key not in left_out))
    return {path.removeprefix(".")} if isinstance(part, int | float) else set()


def test_paths_are_those_of_a_real_document() -> None:
    """Every number of a comparison can stand in a rule, and no rule can name what no comparison has."""
    modes = json.loads((GOLDEN / "compare.json").read_text(encoding="utf-8"))["modes"]
    found = set().union(*map(numbers, modes.values()))
    assert found - set(PATHS) == set()
    asked_for = {path for path in PATHS if "answered" in path} | {"cost_usd.per_day"}
    known = found | asked_for | set(COUNTS)
    unseen = {path for path in set(PATHS) - known if path.rpartition(".")[0] not in COUNTS}
    # An object with a value is a figure by itself.
    assert {path for path in unseen if f"{path}.value" not in found} == set()
    assert len(set(PATHS)) == len(PATHS)
    for part in modes.values():
        assert all(figure(part, path) is not None for path in known - asked_for)


# --- what is shown ---


def test_verdict_and_number_agree() -> None:
    """A number is shown with as many digits as it takes to see that the verdict is right."""
    document = results(modes=shifted(value=0.84996, low=0.8, high=0.9)["modes"])
    [check] = judge(Snapshot(document), GateSettings.of({}, "", ["summary.recall.in_context >= 0.85"])).checks
    assert (check.passed, check.shown) == (False, "0.84996")


@settings(deadline=None)
@given(
    value=st.floats(-1e6, 1e6),
    limit=st.decimals("-1000000", "1000000", places=6),
    sign=st.sampled_from([">=", "<=", ">", "<", "==", "!="]),
)
def test_what_is_shown_is_judged_alike(value: float, limit: Any, sign: str) -> None:
    """Whoever compares the number shown with the limit comes to the same verdict."""
    rule = Rule(None, "tokens.mean", sign, str(limit))
    shown = digits(value, lambda number: rule.holds(number) == rule.holds(value))
    assert rule.holds(Fraction(shown)) == rule.holds(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (3.0, "3"), (0.0, "0"), (2000.54, "2001"), (0.85, "0.85"), (0.123456, "0.1235"), (1.5e-7, "0.00000015")],
)
def test_a_number_in_short(value: float, shown: str) -> None:
    """Four leading digits, no exponent, no zeros at the end."""
    assert digits(value, lambda _: True) == shown


def test_a_regression_says_what_was_found() -> None:
    """Both figures, how much worse, and the interval that decides."""
    before = results(modes={"summary": mode()})
    [check] = [
        check for check in judge(Snapshot(before | FELL), GateSettings(), Snapshot(before)).checks if not check.passed
    ]
    assert check.rule == "recall.in_context no worse than before by more than 0.01"
    # 0.25 = 0.85 - 0.6; 0.0707 = sqrt(0.05² + 0.05²)
    assert check.shown == (
        "0.6 against 0.85, worse by 0.25; the 95 % interval of the difference, -0.3207 to -0.1793, does not take in 0"
    )
    assert (check.value, check.limit) == (0.25, 0.01)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def spoilt(data: st.DataObject, value: Any) -> Any:
    """A document in which something may be anything, down to a part of a mode."""
    if not isinstance(value, dict) or not value or data.draw(st.integers(0, 3)) == 0:
        return data.draw(JSON)
    key = data.draw(st.sampled_from(sorted(value)))
    return value | {key: spoilt(data, value[key])}


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_results_break_the_gate(data: st.DataObject) -> None:
    """Whatever stands where a figure should, the gate and the difference come to an end."""
    documents = [results(), results()]
    for document in documents:
        key = data.draw(st.sampled_from(["seed", "selection", "data", "modes"]))
        if key == "modes":
            document["modes"]["summary"] = mode() | {"recall": spoilt(data, mode()["recall"])}
            document["modes"]["full"] = {
                name: spoilt(data, part) if data.draw(st.booleans()) else part for name, part in mode().items()
            }
        elif key == "data":
            document["data"] = {name: spoilt(data, part) for name, part in results()["data"].items()}
        else:
            document[key] = data.draw(JSON)
    one, other = map(Snapshot, documents)
    asked = GateSettings.of({}, "", ["recall.in_context >= 0.5", "invalid == 0", "harm.stale < 1", "requests > 0"])
    verdict = judge(one, asked, other)
    assert verdict.code in {OK, FAILED, UNKNOWN}
    assert all(form(verdict) for form in GATE_FORMATS.values())
    assert as_junit(documents[0]["modes"], verdict)
    assert all(form(diff(other, one)) for form in DIFF_FORMATS.values())


# --- snapshots ---


def drawn(*hits: int) -> Replicates:
    """The bootstrap of the mode summary: of each conversation's ten facts, so many are in context."""
    replicates = Replicates(seed=0)
    nothing = Sums._make([0] * len(Sums._fields))
    for number, count in enumerate(hits):
        sums = nothing._replace(sessions=1, facts=10, in_context=count * FIXED_POINT)
        replicates.add(str(number), {"summary": sums})
    return replicates


def test_run_folders_of_the_same_data_are_paired() -> None:
    """Where every conversation loses a tenth of its facts, that is no chance, however far apart conversations are."""
    before, now = (shifted(value=value, low=0.1, high=0.9)["modes"] for value in (0.5, 0.4))
    rows = drawn(1, 5, 9), drawn(0, 4, 8)
    snapshot, run = Snapshot(results(modes=before), None, rows[0]), Snapshot(results(modes=now), None, rows[1])
    assert difference(run, snapshot, "summary", "recall.in_context") == pytest.approx((-0.1, -0.1, -0.1))
    assert judge(run, GateSettings(), snapshot).code is FAILED
    assert judge(run, GateSettings(), snapshot).notes == [PAIRED]
    assert (
        judge(Snapshot(run.document), GateSettings(), snapshot).code is OK
    )  # not more than chance, as far as it knows
    other = Snapshot(results(modes=now, seed=1), None, rows[1])
    assert judge(other, GateSettings(), snapshot).code is OK
    assert judge(other, GateSettings(), snapshot).notes == [DIFFERENT_DATA, INDEPENDENT]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": 1}, "the seed"),
        ({"selection": {"limit": 5, "sample": None, "probes": "labelled"}}, "--limit"),
        ({"selection": {"limit": None, "sample": None, "probes": "all"}}, "--probes"),
        ({"data": {"skipped": 0, "sources": [{"name": "a.jsonl", "sha256": "bb"}]}}, "the digests of the inputs"),
        ({"data": {"skipped": 3, "sources": [{"name": "a.jsonl", "sha256": "aa"}]}}, "the records skipped"),
    ],
)
def test_other_data_is_refused(changed: dict[str, Any], named: str) -> None:
    """Runs on different data are not compared unless that is wanted."""
    with pytest.raises(CtxmodeError, match=f"different data: not the same are {named}$") as caught:
        require_same_data(results(**changed), results(), where="main.json", allow_different=False)
    assert (caught.value.where, "--allow-different-data" in caught.value.hint) == ("main.json", True)
    require_same_data(results(**changed), results(), where="main.json", allow_different=True)


def test_the_same_data_under_another_name_is_the_same() -> None:
    """A file that was moved is the same file."""
    moved = {"conversations": 10, "skipped": 0, "sources": [{"name": "/elsewhere/b.jsonl", "sha256": "aa"}]}
    require_same_data(results(data=moved), results(), where="main.json", allow_different=False)


def test_what_a_comparison_assumes_is_told() -> None:
    """The notes say what the intervals rest on, what else changed, and which modes are left out."""
    notes = judge(Snapshot(results()), GateSettings(), Snapshot(results())).notes
    assert notes == [INDEPENDENT, SAME_DATA]
    changed = results(seed=1, prices={"date": "2026-01-01"}, modes={"summary": mode(), "sliding": mode()})
    assert judge(Snapshot(changed), GateSettings(significant=False), Snapshot(results())).notes == [
        "not compared with the snapshot, since only one of the two has it: full and sliding",
        "not the same as in the snapshot, and moving figures by itself: prices",
        DIFFERENT_DATA,
    ]


def kept(**conversations: dict[str, tuple[int, int]]) -> ByConversation:
    """The summary mode's conversations: by id and fact its probes, and those that have it in context."""
    found = ByConversation()
    for name, facts in conversations.items():
        found.score("summary", name).facts.update({fact: FactScore(*score) for fact, score in facts.items()})
    return found


BEFORE = kept(b={"x": (2, 2), "y": (1, 1)}, a={"x": (1, 1)}, c={"x": (4, 2)}, d={"x": (1, 0)})
NOW = kept(b={"x": (2, 1), "y": (1, 0)}, a={"x": (1, 0)}, c={"x": (2, 1)}, d={"x": (1, 1)}, e={"x": (1, 0)})
"""b loses two facts, a one; c keeps its share; d gains one; e is new."""


@pytest.mark.parametrize(
    ("tolerance", "passed"),
    [
        ({}, None),
        ({"conversations": 2}, True),
        ({"conversations": 1}, False),
        ({"conversations": "50%"}, True),
        ({"conversations": "49%"}, False),
        ({"summary.conversations": 0}, False),
    ],
)
def test_conversations_that_lost_facts(tolerance: dict[str, Any], passed: bool | None) -> None:
    """They are listed, most facts first, and fail the gate only where a tolerance for them is set."""
    document = results(modes={"summary": mode()})
    asked = GateSettings.of({"tolerance": tolerance}, "f")
    verdict = judge(Snapshot(document, NOW), asked, Snapshot(document, BEFORE))
    assert [(lost.conversation, lost.facts) for lost in verdict.lost] == [("b", ("x", "y")), ("a", ("x",))]
    found = [check for check in verdict.checks if check.kind == "conversations"]
    assert [check.passed for check in found] == ([] if passed is None else [passed])
    assert all(check.shown == "2 of 4 labelled conversations" for check in found)
    assert verdict.passed is (passed is not False)
