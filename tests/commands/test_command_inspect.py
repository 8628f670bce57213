"""`ctxmode inspect`: its two forms as they were last looked at, and its errors."""

import json
import os
from pathlib import Path

import pytest
from command_line import Ctxmode

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
REQUEST = ("travel", "--mode", "summary", "--request", "14", "--max-tokens", "400", "--summary-target-tokens", "150")
ASSUMED = ("--config", str(GOLDEN / "ctxmode.toml"))


@pytest.mark.parametrize(("form", "file"), [("table", "inspect.piped.txt"), ("json", "inspect.json")])
def test_form_is_as_it_was(ctxmode: Ctxmode, talk: str, form: str, file: str) -> None:
    """Both forms of one request; UPDATE_GOLDEN=1 writes them anew."""
    result = ctxmode("inspect", talk, *REQUEST, *ASSUMED, "--diff", "sliding", "--format", form)
    assert (result.code, result.err) == (0, "")
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / file).write_text(result.out, encoding="utf-8")
    assert result.out == (GOLDEN / file).read_text(encoding="utf-8")


def test_last_request_is_the_default(ctxmode: Ctxmode, talk: str) -> None:
    """Without --request it is the conversation's last."""
    result = ctxmode("inspect", talk, "travel", "--format", "json", *ASSUMED)
    document = json.loads(result.out)
    assert (document["request"], document["requests"]) == (15, 16)
    assert document["messages"][-1]["content"] == "And may I eat the cake at breakfast?"


def test_unknown_id(ctxmode: Ctxmode, talk: str) -> None:
    """The error says how many there are, and which come near."""
    result = ctxmode("inspect", talk, "travle")
    assert result.code == 2
    assert 'none of 3 conversations has the id "travle"' in result.err
    assert "hint: there is travel" in result.err


def test_request_out_of_range(ctxmode: Ctxmode, talk: str) -> None:
    """The hint has the range."""
    result = ctxmode("inspect", talk, "travel", "--request", "16")
    assert result.code == 2
    assert "16 requests" in result.err
    assert "hint: 0 to 15" in result.err


def test_conversation_without_requests(ctxmode: Ctxmode, here: Path) -> None:
    """Where no user speaks there is nothing to send."""
    (here / "a.jsonl").write_text('{"id": "a", "messages": [{"role": "system", "content": "x"}]}\n')
    result = ctxmode("inspect", "a.jsonl", "a")
    assert result.code == 2
    assert "no request" in result.err


def test_reading_stops_at_the_conversation(ctxmode: Ctxmode, here: Path, talk: str) -> None:
    """A fault behind it is not met; one before it is told."""
    first = Path(talk).read_text(encoding="utf-8").splitlines()[0]
    (here / "behind.jsonl").write_text(f"{first}\nno JSON\n", encoding="utf-8")
    (here / "before.jsonl").write_text(f"no JSON\n{first}\n", encoding="utf-8")
    assert ctxmode("inspect", "behind.jsonl", "travel").code == 0
    assert ctxmode("inspect", "before.jsonl", "travel").code == 2
    assert ctxmode("inspect", "before.jsonl", "travel", "--on-error", "skip").code == 0


def test_the_same_mode_twice(ctxmode: Ctxmode, talk: str) -> None:
    """A mode has no difference to itself."""
    assert ctxmode("inspect", talk, "travel", "--diff", "sliding").code == 2


def test_facts_asked_for_and_not_there(ctxmode: Ctxmode, here: Path) -> None:
    """--probes on a record without labels is an answer that could not be given."""
    (here / "a.jsonl").write_text('{"id": "a", "messages": [{"role": "user", "content": "x"}]}\n')
    assert ctxmode("inspect", "a.jsonl", "a").code == 0
    assert ctxmode("inspect", "a.jsonl", "a", "--probes", "all").code == 3


def test_a_named_mode_of_the_file(ctxmode: Ctxmode, here: Path, talk: str) -> None:
    """The configuration file's modes can be inspected; options that are about one request are no keys of it."""
    (here / "ctxmode.toml").write_text('modes.short = {base = "sliding", sliding_turns = 1}\n')
    result = ctxmode("inspect", talk, "travel", "--mode", "short", "--format", "json")
    assert json.loads(result.out)["settings"]["sliding_turns"] == 1
    (here / "ctxmode.toml").write_text("request = 3\n")
    assert ctxmode("inspect", talk, "travel").code == 2
