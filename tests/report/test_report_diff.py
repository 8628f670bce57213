"""What changed between two runs."""

import json
from typing import Any

import pytest

from ctxmode_cli.replay.by_conversation import ByConversation, FactScore
from ctxmode_cli.replay.statistics import Interval
from ctxmode_cli.report.diff import Diff, diff
from ctxmode_cli.report.diff_formats import diff_json, diff_markdown, diff_table
from ctxmode_cli.report.snapshots import Snapshot, difference_of

NAMES = ("full", "summary")


def run(recall: tuple[float, float, float] = (0.9, 0.85, 0.95), tokens: int = 6000, **changed: Any) -> dict[str, Any]:
    """A comparison in format 1, as far as two are compared."""
    value, low, high = recall
    interval = {"value": value, "low": low, "high": high}
    summary = {
        "requests": 10,
        "tokens": {"p95": tokens},
        "recall": {"in_context": interval},
        "intervals": {"recall.in_context": interval},
        "harm": {"stale": 1, "contradicted": 0, "cases": []},
    }
    document = {
        "format": 1,
        "seed": 0,
        "model": "gpt-4o",
        "settings": {name: {"mode": name, "sliding_turns": 10} for name in NAMES},
        "data": {"conversations": 5, "sources": [{"name": "a", "sha256": "aa"}]},
        "modes": {"full": {"requests": 10, "tokens": {"p95": 9000}}, "summary": summary},
        "notes": ["a note"],
        "answer": "an answer",
    }
    return document | changed


def scores(**conversations: tuple[int, int]) -> ByConversation:
    """The summary mode's conversations: of each, how many of ten probes of its one fact have it, and its harm."""
    found = ByConversation()
    for name, (hits, harm) in conversations.items():
        score = found.score("summary", name)
        score.facts["fact"], score.harm = FactScore(10, hits), harm
    return found


def test_settings_totals_and_nothing_else() -> None:
    """What differs is listed, by its path; what is text about figures is not."""
    settings = {name: {"mode": name, "sliding_turns": 4} for name in NAMES}
    after = run((0.6, 0.55, 0.65), 5000, model="gpt-4.1", settings=settings, notes=[], answer="another")
    found = diff(Snapshot(run()), Snapshot(after))
    assert [tuple(change) for change in found.changes] == [
        ("model", "gpt-4o", "gpt-4.1"),
        ("settings.full.sliding_turns", 10, 4),
        ("settings.summary.sliding_turns", 10, 4),
    ]
    recall, tokens = found.totals
    # -0.3; 0.0707 = sqrt(0.05² + 0.05²)
    assert recall[:5] == ("summary", "recall.in_context", 0.9, 0.6, -0.3)
    assert (recall.low, recall.high) == pytest.approx((-0.3707, -0.2293), abs=1e-4)
    assert (recall.significant, recall.better) == (True, False)
    assert tokens == ("summary", "tokens.p95", 6000, 5000, -1000, None, None, None, None)
    assert (found.compared, found.conversations, found.different_data) == (5, None, [])


def test_equal_runs_have_no_difference() -> None:
    """A run compared with itself says so."""
    found = diff(Snapshot(run(), scores(a=(5, 0))), Snapshot(run(), scores(a=(5, 0))))
    assert (found.changes, found.totals, found.conversations) == ([], [], [])
    assert diff_table(found) == (
        "settings, assumptions and data: 0 differences; 0 of 5 figures changed, 0 for the better and 0 for the worse; "
        "0 conversations lost facts\n"
    )


def test_what_only_one_run_has() -> None:
    """Modes and figures that one of the runs lacks are told as such."""
    before = run()
    after = run(modes={"summary": {"requests": 10, "tokens": None}, "sliding": {"requests": 10}})
    found = diff(Snapshot(before), Snapshot(after))
    assert (found.modes_before, found.modes_after) == (["full"], ["sliding"])
    assert [(change.figure, change.before, change.after, change.better) for change in found.totals] == [
        ("recall.in_context", 0.9, None, None),
        ("harm.stale", 1, None, None),
        ("harm.contradicted", 0, None, None),
        ("tokens.p95", 6000, None, None),
    ]
    assert "only in the first run: full\nonly in the second run: sliding\n" in diff_table(found)


def test_conversations_by_harm() -> None:
    """Those that lost facts come first, then those that say more that is wrong, then those that gained."""
    before = scores(gained=(1, 0), harmed=(5, 0), lost=(5, 0), same=(5, 5), gone=(5, 0))
    after = scores(gained=(2, 0), harmed=(5, 2), lost=(4, 0), same=(5, 5), new=(0, 9))
    found = diff(Snapshot(run(), before), Snapshot(run(), after)).conversations
    assert found is not None
    assert [tuple(change) for change in found] == [
        ("summary", "lost", ("fact",), (), 0),
        ("summary", "harmed", (), (), 2),
        ("summary", "gained", (), ("fact",), 0),
    ]


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        # value - sqrt(3² + 4²), value + sqrt(6² + 8²)
        ((10, 7, 16), (20, 12, 24), (-10, -15, 0)),
        ((1, 1, 1), (1, 1, 1), (0, 0, 0)),
        ((0.3, 0.3, 0.3), (0.1, 0, 0.1), (0.2, 0.2, 0.3)),
    ],
)
def test_interval_of_a_difference(
    now: tuple[float, ...], before: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    """The distances of the ends from the figures add up as independent ones do, each to its own side."""
    assert difference_of(Interval(*now), Interval(*before)) == pytest.approx(expected)


HOSTILE = "a\x1b[31m|<b>\u202e`*"


def everything() -> Diff:
    """A difference of every kind, with hostile names."""
    settings = {name: {"mode": HOSTILE, "sliding_turns": 10} for name in NAMES}
    before = scores(**{HOSTILE: (5, 0)}, **{f"c{number}": (5, 0) for number in range(10)})
    after = scores(**{HOSTILE: (4, 1)}, **{f"c{number}": (6, 0) for number in range(10)})
    document = run((0.88, 0.8, 0.95), 5000, settings=settings, data={"conversations": 5, "sources": []})
    return diff(Snapshot(run(), before), Snapshot(document, after))


def test_table_and_markdown_show_all() -> None:
    """Settings once for all modes that have them, totals, the worst ten conversations; the whole in a sentence."""
    table, markdown = diff_table(everything()), diff_markdown(everything())
    shown = "a\\x1b[31m|<b>\\u202e`*"
    assert "not the same data: the digests of the inputs\n" in table
    assert 'full: mode: "full" → "a\\u001b[31m|<b>\\u202e`*"\n' in table
    # -0.02 - sqrt(0.08² + 0.05²), -0.02 + sqrt(0.07² + 0.05²)
    total = "summary recall.in_context 0.9 0.88 -0.02 -0.1143 to 0.06602 worse, may be chance"
    assert total in [" ".join(line.split()) for line in table.splitlines()]
    assert f"summary: {shown}: lost fact; 1 more stale or contradicted\n" in table
    assert "and 1 more conversation changed (--format json lists them)\n" in table
    answer = (
        "settings, assumptions and data: 3 differences; 2 of 5 figures changed, 0 for the better and 1 for the worse; "
        "1 conversation lost facts"
    )
    assert table.splitlines()[-1] == answer
    assert markdown.startswith(f"**{answer}**\n")
    assert "<b>" not in markdown.replace("\\<b\\>", "")
    assert "\x1b" not in table + markdown
    narrow = diff_table(everything(), width=80)
    assert all(len(line) <= 80 for line in narrow.splitlines())
    assert "no room here for: 95% interval (a pipe has them)\n" in narrow


def test_json_has_all() -> None:
    """The JSON has every change and every conversation, unrounded."""
    text = diff_json(everything())
    document = json.loads(text)
    assert text == diff_json(everything())
    assert (len(document["settings"]), len(document["totals"]), len(document["conversations"])) == (3, 2, 11)
    assert document["conversations"][0]["conversation"] == HOSTILE
    assert document["answer"] == diff_table(everything()).splitlines()[-1]
