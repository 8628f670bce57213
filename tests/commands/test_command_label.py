"""`ctxmode label` as the user calls it: the labelled log, its summary, and the review."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Ctxmode

from ctxmode_cli.conversation.files import Reading

TURNS = (
    "Send it on May 20 to a@example.com",
    "Fine.",
    "When?",
    "On May 20.",
    "Change it to May 22. No rush, I prefer a quiet seat.",
)
ROLES = ("user", "assistant", "user", "assistant", "user")


def record(name: str, *turns: str) -> dict[str, Any]:
    roles = ROLES[: len(turns)]
    return {"id": name, "messages": [{"role": role, "content": text} for role, text in zip(roles, turns, strict=True)]}


def write(path: str, *records: dict[str, Any]) -> None:
    Path(path).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")


def values(path: str = "out.jsonl") -> list[tuple[str, bool]]:
    """Value, and whether it was reviewed, of each fact of the first conversation."""
    conversation = next(Reading([path]).conversations())
    return [(fact["value"], fact.get("reviewed", False)) for fact in conversation.recorded["facts"]]


pytestmark = pytest.mark.usefixtures("log")


@pytest.fixture
def log(here: Path) -> Path:
    write("log.jsonl", record("a", *TURNS), record("b", "hi", "hello"))
    return here


Review = Callable[..., Any]


@pytest.fixture
def review(ctxmode: Ctxmode, monkeypatch: pytest.MonkeyPatch) -> Review:
    """Runs a review with these lines on stdin."""

    def run(*answers: str) -> Any:
        lines = [answer.encode("utf-8", "surrogateescape") for answer in answers]
        monkeypatch.setattr(
            "sys.stdin", io.TextIOWrapper(io.BytesIO(b"".join(answer + b"\n" for answer in lines)), "utf-8")
        )
        return ctxmode("label", "log.jsonl", "-o", "out.jsonl", "--review")

    return run


def test_the_labelled_log_is_the_log_with_facts(ctxmode: Ctxmode) -> None:
    """Everything else of a record stays as it was, and the labels are valid."""
    assert ctxmode("label", "log.jsonl", "-o", "out.jsonl").code == 0
    labelled = list(Reading(["out.jsonl"]).conversations())
    assert [(fact.id, fact.value, fact.probe_at) for fact in labelled[0].facts] == [
        ("f1", "May 20", (2,)),
        ("f2", "a@example.com", ()),
        ("f3", "May 22", ()),
        ("f4", "quiet seat", ()),
    ]
    assert labelled[1].facts == ()
    unlabelled = [{**one.recorded, "facts": None} for one in Reading(["log.jsonl"]).conversations()]
    assert [{**one.recorded, "facts": None} for one in labelled] == unlabelled


def test_the_summary_counts_by_kind_and_rule(ctxmode: Ctxmode) -> None:
    """How many of each, how many are needed again, and how many conversations have none."""
    assert ctxmode("label", "log.jsonl", "-o", "out.jsonl").out == (
        "Drafts\n"
        "kind        rule       facts  needed again\n"
        "date        date_en        2             1\n"
        "email       email          1             0\n"
        "preference  preferred      1             0\n"
        "\n"
        "4 facts drafted in 1 of 2 conversations; 1 without any.\n"
    )


def test_the_summary_as_json(ctxmode: Ctxmode) -> None:
    """The same counts under stable names."""
    out = ctxmode("label", "log.jsonl", "-o", "out.jsonl", "--format", "json").out
    assert json.loads(out) == {
        "format": 1,
        "conversations": 2,
        "labelled": 0,
        "without": 1,
        "rejected": 0,
        "unreviewed": 4,
        "skipped": 0,
        "drafts": [
            {"kind": "date", "rule": "date_en", "facts": 2, "needed": 1},
            {"kind": "email", "rule": "email", "facts": 1, "needed": 0},
            {"kind": "preference", "rule": "preferred", "facts": 1, "needed": 0},
        ],
    }


def test_the_same_log_gives_the_same_bytes(ctxmode: Ctxmode) -> None:
    """No clock, no chance."""
    ctxmode("label", "log.jsonl", "-o", "one.jsonl")
    ctxmode("label", "log.jsonl", "-o", "two.jsonl")
    assert Path("one.jsonl").read_bytes() == Path("two.jsonl").read_bytes()


def test_parquet_holds_the_same(ctxmode: Ctxmode) -> None:
    """Rule and all, though they are no columns of their own."""
    ctxmode("label", "log.jsonl", "-o", "out.jsonl")
    ctxmode("label", "log.jsonl", "-o", "out.parquet")
    lines, rows = ([one.recorded for one in Reading([name]).conversations()] for name in ("out.jsonl", "out.parquet"))
    assert lines == rows


def test_facts_that_are_there_stay_as_they_are(ctxmode: Ctxmode) -> None:
    """Nothing is drafted beside a person's labels, unless that is asked for; then these come first, unchanged."""
    known = {"id": "f1", "kind": "x", "value": "May 20", "stated_at": 0, "odd": [1]}
    write("log.jsonl", {**record("a", *TURNS), "facts": [known]})
    outcome = ctxmode("label", "log.jsonl", "-o", "out.jsonl")
    assert outcome.out.splitlines()[-1].endswith("1 had facts already and kept them (--add drafts more).")
    assert Path("out.jsonl").read_bytes() == Path("log.jsonl").read_bytes()
    ctxmode("label", "log.jsonl", "-o", "out.jsonl", "--add")
    facts = json.loads(Path("out.jsonl").read_text())["facts"]
    assert facts[0] == known
    assert [(fact["id"], fact["value"]) for fact in facts[1:]] == [
        ("f2", "a@example.com"),
        ("f3", "May 22"),
        ("f4", "quiet seat"),
    ]


def test_a_limit_labels_the_first(ctxmode: Ctxmode) -> None:
    """The rest is neither read nor written."""
    ctxmode("label", "log.jsonl", "-o", "out.jsonl", "--limit", "1")
    assert [one.id for one in Reading(["out.jsonl"]).conversations()] == ["a"]


def test_bad_input_is_told_with_its_line(ctxmode: Ctxmode) -> None:
    """Nothing is written then, unless bad records are to be skipped."""
    with Path("log.jsonl").open("a") as file:
        file.write("null\n")
    outcome = ctxmode("label", "log.jsonl", "-o", "out.jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "error: log.jsonl:3: a record is a JSON object, not null\n"
    assert not Path("out.jsonl").exists()
    outcome = ctxmode("label", "log.jsonl", "-o", "out.jsonl", "--on-error", "skip")
    assert (outcome.code, outcome.err) == (0, "skipped: log.jsonl:3: a record is a JSON object, not null\n")


def test_a_log_is_no_journal_of_its_own_labels(ctxmode: Ctxmode) -> None:
    """Decisions are never written behind a log that is read."""
    Path("log.jsonl").rename("out.jsonl.review")
    outcome = ctxmode("label", "out.jsonl.review", "-o", "out.jsonl", "--review")
    assert outcome.code == 2
    assert outcome.err.startswith("error: out.jsonl.review: the output is one of the inputs\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("-o", "-"), "-: -o takes a file, and not stdout"),
        (("-o", "log.jsonl"), "log.jsonl: the output is one of the inputs"),
        (("-o", "out.txt"), "out.txt: the name tells no format"),
        (("-", "-o", "out.jsonl", "--review"), "-: stdin has the answers of a review, and cannot have the log too"),
    ],
)
def test_what_cannot_be_done_is_refused(ctxmode: Ctxmode, arguments: tuple[str, ...], error: str) -> None:
    """With exit code 2, before anything is read."""
    outcome = ctxmode("label", "log.jsonl", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {error}\n")


def test_accepted_rejected_edited(review: Review) -> None:
    """An accepted draft is marked as reviewed, a rejected one is gone, an edited one has its new value."""
    outcome = review("a", "reject", "e", "22", "accept")
    assert values() == [("May 20", True), ("22", True), ("quiet seat", True)]
    assert outcome.out.splitlines()[-1] == "3 facts drafted in 1 of 2 conversations; 1 without any; 1 draft rejected."
    assert "not reviewed" not in outcome.err


def test_the_sentence_is_shown_with_the_value_marked(review: Review) -> None:
    """Where it was said, by whom, as what, by which rule."""
    assert review("q").err.splitlines()[:4] == [
        "",
        "a, message 0 (user), fact 1 of 4",
        "Send it on [May 20] to a@example.com",
        "date: May 20  (rule date_en)",
    ]


def test_only_its_own_sentence_is_shown(review: Review) -> None:
    """What was said before and after it is left out."""
    shown = review("a", "a", "q").err
    assert "\nChange it to [May 22].\n" in shown


def test_what_cannot_be_meant_is_asked_again(review: Review) -> None:
    """Neither an unknown word nor a value that was not said is a decision."""
    outcome = review("maybe", "", "\udcff", "e", "June 1", "a", "q")
    assert values()[:2] == [("May 20", True), ("a@example.com", False)]
    assert "the message does not say that" in outcome.err


def test_a_review_goes_on_where_it_stopped(review: Review) -> None:
    """Drafts that were not come to are written all the same, and asked about the next time."""
    outcome = review("a", "r", "q")
    assert values() == [("May 20", True), ("May 22", False), ("quiet seat", False)]
    assert "2 drafts not reviewed yet" in outcome.err
    outcome = review("a")  # the end of stdin is an end of the review, too
    assert "(a/e/r/q): \n1 draft not reviewed" in outcome.err
    assert "fact 3 of 4" in outcome.err
    assert "fact 2 of 4" not in outcome.err
    assert values() == [("May 20", True), ("May 22", True), ("quiet seat", False)]


def test_decisions_hold_without_a_review_too(review: Review, ctxmode: Ctxmode) -> None:
    """Labelling again does not undo a person's work, and says so."""
    review("a", "r", "q")
    outcome = ctxmode("label", "log.jsonl", "-o", "out.jsonl")
    assert outcome.err == "2 decisions of an earlier review hold again: out.jsonl.review\n"
    assert values() == [("May 20", True), ("May 22", False), ("quiet seat", False)]


def test_a_killed_review_loses_nothing_but_a_line_cut_off(review: Review) -> None:
    """Each decision is on the disk before the next question; half a line is as if it had not been written."""
    review("a", "a", "q")
    journal = Path("out.jsonl.review")
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20])
    outcome = review("r")
    assert "fact 2 of 4" in outcome.err
    assert [json.loads(line)["decision"] for line in journal.read_text().splitlines()] == ["accept", "reject"]


def test_a_review_killed_for_good() -> None:
    """SIGKILL between two questions: the first answer is in the journal."""
    command = [sys.executable, "-m", "ctxmode_cli", "label", "log.jsonl", "-o", "out.jsonl", "--review"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a\n")
        process.stdin.flush()
        seen = b""
        while b"fact 2 of 4" not in seen:
            seen += process.stderr.read(1)
        process.kill()
    assert json.loads(Path("out.jsonl.review").read_text())["value"] == "May 20"
    assert not Path("out.jsonl").exists()


UNDECIDED = (
    b'{"conversation": "a", "message": 0, "kind": "date", "value": "May 20", "negative": false, "decision": "Reject", '
    b'"to": ""}\n'
)


@pytest.mark.parametrize("line", [b"null\n", b"{\n", b'{"conversation": "a"}\n', b"\xff\n", UNDECIDED])
def test_a_file_that_is_no_journal_is_left_alone(ctxmode: Ctxmode, line: bytes) -> None:
    """It is named with its line, and nothing is written."""
    Path("out.jsonl.review").write_bytes(line)
    outcome = ctxmode("label", "log.jsonl", "-o", "out.jsonl")
    assert outcome.code == 2
    assert outcome.err.startswith("error: out.jsonl.review:1: this is no line of a review\n")
    assert Path("out.jsonl.review").read_bytes() == line


def test_text_from_a_log_does_nothing_to_the_terminal(review: Review) -> None:
    """Control characters and markup are shown as they are."""
    write("log.jsonl", record("\x1b[2J", "[red]\x1b[31m on May 20 \u202e[/red]\rhidden"))
    shown = review("q").err
    assert r"\x1b[2J, message 0 (user), fact 1 of 1" in shown
    assert r"[red]\x1b[31m on [May 20] \u202e[/red]\rhidden" in shown
    assert "\x1b" not in shown


def test_a_value_that_is_not_there_literally_is_shown_after_the_beginning(review: Review) -> None:
    """An argument whose text the user wrote in another case."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"city": "Lisbon"}'}}
    messages = [
        {"role": "user", "content": "To LISBON"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    write("log.jsonl", {"id": "a", "messages": messages})
    assert "\nTo LISBON[Lisbon]\ncity: Lisbon  (rule argument)\n" in review("q").err
