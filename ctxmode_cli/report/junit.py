"""A comparison or a gate as JUnit XML, which CI servers read: one suite a mode, one case a rule and a conversation."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ctxmode_cli.replay.by_conversation import ByConversation, ConversationScore
from ctxmode_cli.replay.results import Comparison
from ctxmode_cli.replay.verdict import Check, LostFacts, Verdict
from ctxmode_cli.report.gate import CONVERSATIONS
from ctxmode_cli.report.visible import visible
from ctxmode_cli.report.words import counted

if TYPE_CHECKING:  # loaded where XML is written
    from junitparser import TestCase, TestSuite

NAME = "ctxmode"
"""Of the suites together, and what every class name begins with."""

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


def comparison_junit(comparison: Comparison) -> str:
    """A comparison with its gate, if there is one."""
    return as_junit(comparison.modes, comparison.gate, conversations=comparison.by_conversation)


def as_junit(modes: Iterable[str], verdict: Verdict | None, *, conversations: ByConversation | None = None) -> str:
    """The XML of a run.

    A rule that fails is a failure, one that cannot be evaluated an error, as the exit code says. A labelled
    conversation fails where too many lost facts since the snapshot, and it is one of them; otherwise it passes, and
    its output says what it lost.

    Args:
        modes: Their names.
        verdict: What the gate says; None without a gate.
        conversations: The labelled ones; None where only totals are known.
    """
    from junitparser import JUnitXml  # noqa: PLC0415 - as above

    checks = Verdict(()) if verdict is None else verdict
    xml = JUnitXml(NAME)
    for mode in sorted({*modes, *(check.mode for check in checks.checks)}):
        scores = conversations.modes.get(mode, {}) if conversations else {}
        xml.add_testsuite(_suite(mode, checks, scores))
    # Not by the library, which counts skipped cases, too: the schema has no place for them in the root.
    xml.tests, xml.failures, xml.errors = (
        sum(getattr(suite, name) for suite in xml) for name in ("tests", "failures", "errors")
    )
    return f"{DECLARATION}\n{xml.tostring().decode()}\n"  # type: ignore[no-untyped-call] # the library is typed but for this


def _suite(mode: str, verdict: Verdict, scores: Mapping[str, ConversationScore]) -> "TestSuite":
    from junitparser import TestSuite  # noqa: PLC0415 - as above

    suite = TestSuite(visible(mode) or "no mode")
    checks = list(verdict.of_mode(mode))
    lost = {case.conversation: case for case in verdict.lost if case.mode == mode}
    too_many = any(check.kind == CONVERSATIONS and check.passed is False for check in checks)
    for case in (*map(_check_case, checks), *_conversation_cases(mode, scores, lost, too_many=too_many)):
        suite.add_testcase(case)
    return suite


def _case(name: str, group: str, mode: str) -> "TestCase":
    from junitparser import TestCase  # noqa: PLC0415 - as above

    return TestCase(visible(name), f"{NAME}.{visible(mode)}.{group}", 0)


def _check_case(check: Check) -> "TestCase":
    from junitparser import Error, Failure  # noqa: PLC0415 - as above

    case = _case(check.rule, check.kind, check.mode)
    if check.passed:
        case.system_out = visible(check.shown)
    else:
        case.result = [(Error if check.passed is None else Failure)(visible(check.shown), check.kind)]
    return case


def _conversation_cases(
    mode: str, scores: Mapping[str, ConversationScore], lost: Mapping[str, LostFacts], *, too_many: bool
) -> Iterator["TestCase"]:
    from junitparser import Failure  # noqa: PLC0415 - as above

    for conversation, score in sorted(scores.items()):
        if not score.facts:
            continue
        case = _case(conversation, "conversation", mode)
        missed = [fact for fact, of in sorted(score.facts.items()) if of.is_lost]
        case.system_out = visible(f"{len(missed)} of {counted(len(score.facts), 'fact')} not always in context")
        if missed:
            case.system_out += visible(f": {', '.join(missed)}")
        if conversation in lost:
            text = f"lost since the snapshot: {', '.join(lost[conversation].facts)}"
            if too_many:
                case.result = [Failure(visible(text), CONVERSATIONS)]
            else:
                case.system_out += f"; {visible(text)}"
        yield case
