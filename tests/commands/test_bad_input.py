"""Logs as they should not be, through `ctxmode compare`: what is said, where, and that the rest is still replayed."""

import gzip
import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from assumptions import simulation
from command_line import Ctxmode

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "done"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def record(name: str, *messages: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({"id": name, "messages": messages or (user("hi"), assistant("yes")), **fields}).encode()


def fact(value: str, stated_at: int, *probe_at: int) -> dict[str, Any]:
    return {"id": "f", "kind": "k", "value": value, "stated_at": stated_at, "probe_at": list(probe_at)}


ROLES = "hint: roles are assistant, developer, system, tool, user"
BAD_LINES = {
    "null": (b"null", "a record is a JSON object, not null", None),
    "a number": (b"17", "a record is a JSON object, not a number", None),
    "nested 10,000 deep": (b"[" * 10_000 + b"]" * 10_000, "invalid JSON: nested too deeply", None),
    "a list 10,000 deep in a record": (
        b'{"messages": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        "invalid JSON: nested too deeply",
        None,
    ),
    "a line that breaks off": (record("c")[:-9], "invalid JSON: expecting", None),
    "Latin-1": (
        '{"id": "c", "messages": [{"role": "user", "content": "café"}]}'.encode("latin-1"),
        "invalid UTF-8 at byte 58 of the line (0xe9)",
        "hint: logs are UTF-8; convert the file, for example: iconv -f LATIN1 -t UTF-8 FILE",
    ),
    "a message without a role": (record("c", {"content": "x"}), 'message 0 has no "role"', ROLES),
    "an unknown role": (
        record("c", user("hi"), {"role": "bot", "content": "x"}),
        'message 1 has the unknown role "bot"',
        ROLES,
    ),
    "a control character in a role": (
        record("c", {"role": "\x1b[31m"}),
        'message 0 has the unknown role "\\x1b[31m"',
        ROLES,
    ),
    "an id that was there before": (record("a"), 'duplicate id "a"', None),
    "a label before the conversation": (
        record("c", facts=[fact("hi", -1)]),
        'fact 0 ("f") has stated_at -1, outside the conversation of 2 messages',
        None,
    ),
    "a label behind the conversation": (
        record("c", facts=[fact("hi", 0, 7)]),
        'fact 0 ("f") has probe_at 7, outside the conversation of 2 messages',
        None,
    ),
    "a result that names no call": (
        record("c", user("hi"), {"role": "tool", "content": "x"}),
        'message 1 (a tool result) has no "tool_call_id"',
        None,
    ),
}


@pytest.mark.parametrize(("line", "message", "hint"), BAD_LINES.values(), ids=BAD_LINES)
def test_bad_line(ctxmode: Ctxmode, here: Path, line: bytes, message: str, hint: str | None) -> None:
    """A bad line is told with its file and number and exits with 2; skipped, it is counted and the rest is replayed."""
    (here / "logs.jsonl").write_bytes(b"\n".join([record("a"), line, record("b")]) + b"\n")
    failed = ctxmode("compare", "logs.jsonl", "-q")
    assert (failed.code, failed.out) == (2, "")
    first, *rest = failed.err.splitlines()
    assert first.startswith(f"error: logs.jsonl:2: {message}")
    assert rest == ([] if hint is None else [hint])
    skipped = ctxmode("compare", "logs.jsonl", "-q", "--on-error", "skip", "--format", "json")
    assert skipped.code == 0
    assert skipped.err == failed.err.replace("error:", "skipped:", 1)
    report = json.loads(skipped.out)
    assert (report["data"]["conversations"], report["data"]["skipped"]) == (2, 1)
    assert "skipped: 1 bad record" in report["notes"]
    assert ctxmode("compare", "logs.jsonl", "-q", "--on-error", "skip", "--max-errors", "0").code == 2


def test_many_bad_lines(ctxmode: Ctxmode, here: Path) -> None:
    """Of many errors ten are told and the rest counted."""
    (here / "logs.jsonl").write_bytes(b"\n".join([record("a"), *[b"null"] * 12]))
    lines = ctxmode("compare", "logs.jsonl", "-q").err.splitlines()
    assert lines[0] == "error: logs.jsonl:2: a record is a JSON object, not null"
    assert lines[9:] == ["error: logs.jsonl:11: a record is a JSON object, not null", "… and 2 more errors"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"], ids=["no bytes", "blank lines", "a mark"])
def test_empty_file(ctxmode: Ctxmode, here: Path, content: bytes) -> None:
    """No conversations at all is an error, whatever errors do."""
    (here / "logs.jsonl").write_bytes(content)
    for options in ((), ("--on-error", "skip")):
        result = ctxmode("compare", "logs.jsonl", *options)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("error: logs.jsonl: no conversations\nhint: one conversation a line: ")


def test_directory_without_logs(ctxmode: Ctxmode, here: Path) -> None:
    """A directory without a log is an error that names it."""
    (here / "logs").mkdir()
    (here / "logs" / "notes.txt").write_text("no log")
    result = ctxmode("compare", "logs")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: logs: the directory holds no logs\nhint: `ctxmode formats` lists")


def test_truncated_gzip(ctxmode: Ctxmode, here: Path) -> None:
    """A compressed file that breaks off is told with its last line; what came before it can be kept."""
    packed = gzip.compress(b"\n".join(record(f"conversation {number}") for number in range(3000)), mtime=0)
    (here / "logs.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    failed = ctxmode("compare", "logs.jsonl.gz", "-q")
    assert (failed.code, failed.out) == (2, "")
    first, hint = failed.err.splitlines()
    assert first.startswith("error: logs.jsonl.gz: the file cannot be read beyond line ")
    assert hint.endswith("keep what comes before that with --on-error skip")
    skipped = ctxmode("compare", "logs.jsonl.gz", "-q", "--on-error", "skip", "--modes", "zero", "--format", "json")
    data = json.loads(skipped.out)["data"]
    last_line = int(first.split("beyond line ")[1].split()[0])
    assert (skipped.code, data["conversations"], data["skipped"]) == (0, last_line, 1)


def test_file_name_that_plays_tricks(ctxmode: Ctxmode, here: Path) -> None:
    """A file's name is shown in errors and results, and never acted upon."""
    name = "\x1b[31m\u202e[bold]|<b>.jsonl"
    (here / name).write_bytes(record("a") + b"\nnull\n")
    failed = ctxmode("compare", name, "-v")
    assert failed.err.splitlines()[-1].startswith("error: \\x1b[31m\\u202e[bold]|<b>.jsonl:2: a record is")
    assert "\x1b" not in failed.err
    printed = ctxmode("compare", name, "--on-error", "skip", "--format", "json").out
    assert json.loads(printed)["data"]["sources"][0]["name"] == name
    assert all(char.isprintable() or char == "\n" for char in printed)


# --- records that are odd and not bad ---


def compared(ctxmode: Ctxmode, here: Path, *records: bytes, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a comparison of all modes says of records that it takes as they are; none of its requests is invalid."""
    (here / "logs.jsonl").write_bytes(b"\n".join(records))
    result = ctxmode("compare", "logs.jsonl", "-q", "--format", "json", *options)
    assert (result.code, result.err) == (0, "")
    report = json.loads(result.out)
    assert [part["invalid"] for part in report["modes"].values()] == [{}] * len(report["modes"])
    return report


ODD = {
    "a result without its call": ([user("hi"), {**RESULT, "tool_call_id": "z"}, assistant("yes")], 1, {"orphan_result": 1}),
    "a call without its result": ([user("hi"), CALLING, user("and?"), assistant("yes")], 2, {"unanswered_call": 1}),
    "an end inside a tool call": ([user("hi"), CALLING], 1, {"unanswered_call": 1}),
    "an end behind a result": ([user("hi"), CALLING, RESULT], 2, {}),
    "a user message after a user message": ([user("hi"), user("there"), assistant("yes"), user("so"), user("?")], 2, {}),
    "no user at all": ([assistant("hello"), assistant("anyone?")], 0, {}),
    "only a system message": ([{"role": "system", "content": "policy"}], 0, {}),
    "a late result": ([user("hi"), CALLING, user("and?"), RESULT, assistant("yes"), user("so"), assistant("ok")], 3, {}),
    "an empty message": ([user(""), assistant("")], 1, {}),
    "half an emoji": ([user("\ud83d"), assistant("\ude00")], 1, {}),
    "control characters": ([user("\x00\x1b[31m\u202e"), assistant("ok")], 1, {}),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "requests", "faults"), ODD.values(), ids=ODD)
def test_odd_record(
    ctxmode: Ctxmode, here: Path, messages: list[dict[str, Any]], requests: int, faults: dict[str, int]
) -> None:
    """An odd record is replayed as it was; its faults are counted as the record's, not as a mode's."""
    data = compared(ctxmode, here, record("odd", *messages), record("b"))["data"]
    assert (data["conversations"], data["requests"], data["record_faults"]) == (2, requests + 1, faults)


def test_record_without_requests_alone(ctxmode: Ctxmode, here: Path) -> None:
    """Where there is no request at all, the answer says so, and every figure is a dash."""
    (here / "logs.jsonl").write_bytes(record("a", assistant("hello")))
    result = ctxmode("compare", "logs.jsonl", "-q")
    assert result.code == 0
    assert result.out.splitlines()[-1].startswith("There is no request in these conversations")
    [full] = [line.split() for line in result.out.splitlines() if line.startswith("full ")]
    assert full[1:10] == ["–"] * 9


def test_fact_that_never_occurs(ctxmode: Ctxmode, here: Path) -> None:
    """A value that is nowhere counts as lost in every mode, and is listed with its conversation."""
    messages = [user("red"), assistant("yes"), user("which?"), assistant("that")]
    report = compared(ctxmode, here, record("a", *messages, facts=[fact("blue", 0, 2)]))
    assert [part["recall"]["in_context"]["value"] for part in report["modes"].values()] == [0, 0, 0, 0]
    assert (
        '1 fact not found where the label says, counted as lost: a: f "blue" (not in that message)' in report["notes"]
    )
    assert report["answer"] == "No mode has any of the facts in context."


# --- records that are large ---


def test_a_million_spaces(ctxmode: Ctxmode, here: Path) -> None:
    """A run of white space on which a tokenizer gives up is counted all the same."""
    spaces = record("a", user("hi" + " " * 1_000_000 + "x"), assistant("yes"), user("so"), assistant("ok"))
    report = compared(ctxmode, here, spaces, options=("--max-tokens", "20000"))
    assert report["modes"]["zero"]["tokens"]["p95"] > 1000
    assert report["modes"]["full"]["tokens"]["total"] == report["modes"]["sliding"]["tokens"]["total"]


def test_line_of_50_megabytes(ctxmode: Ctxmode, here: Path) -> None:
    """A huge line is read; what no budget holds is unsendable, and the next record is replayed."""
    text = "The quick brown fox has 5 hats, and the lazy dog has none. " * (50_000_000 // 59)
    report = compared(
        ctxmode, here, record("a", user(text), assistant("yes")), record("b"), options=("--modes", "zero")
    )
    assert report["data"]["conversations"] == 2
    assert report["modes"]["zero"]["unsendable"] == {"input": 1}
    assert report["modes"]["zero"]["tokens"]["mean"] == 8


def talk(count: int) -> dict[str, Any]:
    """A record of so many messages, with a fact stated early and needed late."""
    pairs = [(user(f"Question {n}?"), assistant(f"Answer {n}, I must say.")) for n in range(count // 2)]
    messages = [message for pair in pairs for message in pair]
    return {"id": "a", "messages": messages, "facts": [fact("Answer 3", 7, count - 2)]}


def test_ten_thousand_messages(ctxmode: Ctxmode, here: Path) -> None:
    """A conversation of 10,000 messages is replayed through all modes."""
    report = compared(ctxmode, here, json.dumps(talk(10_000)).encode())
    assert report["data"]["requests"] == 5000
    assert report["modes"]["full"]["recall"]["in_context"]["value"] == 1
    assert report["modes"]["sliding"]["recall"]["in_context"]["value"] == 0


def steps(count: int) -> int:
    """How many lines of Python a replay of so many messages takes."""
    counter = TokenCounter.for_model("gpt-4o")
    modes = {mode: ContextConfig(mode=mode) for mode in ("full", "zero", "sliding", "summary")}
    replay = Replay(modes, counter, ExtractiveSummarizer(counter), simulation())
    conversation = parse_conversation(talk(count), where="", default_id="a")
    taken = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal taken
        taken += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        replay(conversation)
    finally:
        sys.settrace(before)
    return taken


def test_work_grows_with_the_messages() -> None:
    """Five times the messages take no more than about five times the work, once every mode is at its full size."""
    small, large = steps(400), steps(2000)
    assert large < 5.5 * small
