"""Runs whose summaries a model writes: over real HTTP, cached, side by side, and killed in the middle."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Ctxmode, write_turns
from endpoint import KEY, Endpoint, Reply, endpoint, wait_until

SUMMARY = ("--summary-threshold", "1", "--summary-every", "0", "--modes", "full,summary")


def script(body: dict[str, Any], _number: int) -> Reply:
    """A summary that depends on all that was sent, and on nothing else."""
    told = body["messages"][-1]["content"]
    lines = [line for line in told.split("\n") if line.startswith("user: ")]
    return Reply("\n".join(f"- {line[:60]}" for line in lines[-5:]), wait_s=0.005)


pytestmark = pytest.mark.usefixtures("key")


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint(script) as running:
        yield running


@pytest.fixture
def logs(here: Path) -> str:
    """Six conversations of six turns."""
    return write_turns(
        here, 6, lambda role, turn, number: f"{role} {number} says thing {turn}, and that room {turn}{number} is meant."
    )


def live(server: Endpoint, *more: str, cache: str = "cache") -> tuple[str, ...]:
    return ("--summarizer", "openai", "--base-url", server.url, "--llm-cache", cache, "--llm-retries", "0", *more)


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_second_run_makes_no_call(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """Its answers come from the cache, and its results are the same bytes."""
    first = ctxmode("compare", logs, *SUMMARY, *live(server), "-o", "a.json", "--format", "json")
    made = len(server.bodies)
    second = ctxmode("compare", logs, *SUMMARY, *live(server), "-o", "b.json", "--format", "json")
    assert (first.code, first.out) == (0, second.out)
    assert made == len(server.bodies) == 6 * 4
    assert (here / "a.json").read_bytes() == (here / "b.json").read_bytes()
    assert f"live calls: {made} made" in first.err
    assert "live calls: 0 made" in second.err
    calls = json.loads(first.out)["modes"]["summary"]["summary_calls"]
    assert (calls["count"], calls["failed"]) == (made, 0)


def test_who_wrote_the_summaries_is_said(ctxmode: Ctxmode, logs: str, server: Endpoint, here: Path) -> None:
    """Before the run on stderr, in the notes and in run.json; not for a run that asks nobody."""
    told = ctxmode("compare", logs, *SUMMARY, *live(server), "-o", "run")
    assert f"live calls: summaries are asked of gpt-4o-mini at {server.url}; answers are kept in cache" in told.err
    assert f"summary: its summaries came from openai, model gpt-4o-mini at {server.url}" in told.out
    assert json.loads((here / "run" / "run.json").read_text())["endpoint"] == server.url
    for more in (("--modes", "full,sliding", *live(server)), ("--modes", "full,summary")):
        other = ctxmode("compare", logs, "--summary-threshold", "1", "--summary-every", "0", *more)
        assert "live calls" not in other.err
        assert "its summaries came from" not in other.out
    assert ctxmode("compare", logs, *SUMMARY, *live(server), "--quiet").err == ""


def test_each_mode_asks_its_own_model(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """The model called is the one that the mode's settings name."""
    (here / "ctxmode.toml").write_text(
        '[modes.own]\nbase = "summary"\nsummary_prefix = "session"\n[modes.small]\nbase = "summary"\n'
    )
    told = ctxmode("compare", logs, *SUMMARY[:-1], "full,own,small", *live(server))
    assert {body["model"] for body in server.bodies} == {"gpt-4o", "gpt-4o-mini"}
    assert "asked of gpt-4o and gpt-4o-mini" in told.err
    behind = [body for body in server.bodies if body["model"] == "gpt-4o"]
    assert all(body["messages"][0]["content"].startswith("user ") for body in behind)


def test_the_key_is_written_nowhere(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """Not in the cache, nor the run folder, nor on a stream, also where the endpoint repeats it."""
    said = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()

    def echo(body: dict[str, Any], number: int) -> Reply:
        return Reply(status=400, body=said) if number % 3 == 0 else script(body, number)

    with endpoint(echo) as server:
        result = ctxmode("compare", logs, *SUMMARY, *live(server), "-o", "run", "-o", "r.md", "--verbose")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "bad key …" in result.err
    assert KEY not in result.err + result.out
    assert written(here / "cache")
    assert KEY.encode() not in written(here)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(""),
        Reply(None, refusal="no"),
        Reply("- x", "length"),
        Reply("x " * 999),
        Reply(status=500),
        Reply(wait_s=9),
    ],
    ids=["empty", "refused", "cut off", "over-long", "500", "no answer"],
)
def test_failures_are_counted(reply: Reply, ctxmode: Ctxmode, logs: str) -> None:
    """Every failed summary is a failed call and a step down; the run goes on, and says why they failed."""
    with endpoint([reply]) as server:
        result = ctxmode(
            "compare", logs, *SUMMARY, *live(server, "--llm-timeout", "0.1"), "--limit", "2", "--format", "json"
        )
    summary = json.loads(result.out)["modes"]["summary"]
    assert (result.code, len(server.bodies)) == (0, 8)
    assert (summary["summary_calls"]["count"], summary["summary_calls"]["failed"]) == (8, 8)
    assert summary["stepped_down"] == {"sliding": 8}
    assert summary["summary_calls"]["prompt_tokens"] > 0
    assert "summaries that could not be had: 8, since " in result.err


def test_order_of_rows_is_that_of_the_conversations(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """However long each waits, rows and results are those of one conversation after another."""
    draw = random.Random(5)  # noqa: S311 - waits, not secrets

    def slow(body: dict[str, Any], number: int) -> Reply:
        reply = script(body, number)
        reply.wait_s = draw.random() / 20
        return reply

    with endpoint(slow) as server:
        for folder, threads in (("one", "1"), ("many", "5")):
            more = ("--llm-concurrency", threads, "-o", folder)
            assert ctxmode("compare", logs, *SUMMARY, *live(server, cache=f"cache {folder}"), *more).code == 0
    assert len(server.bodies) == 2 * 6 * 4
    for path in sorted((here / "one").iterdir()):
        assert path.read_bytes() == (here / "many" / path.name).read_bytes(), path.name


def test_bad_record_among_conversations_side_by_side(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """The error names the record, as it would if they went one after another."""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}
    with (here / logs).open("a") as file:
        file.write(json.dumps({"id": "bad", "messages": [image]}) + "\n")
    model = ("--model", "gpt-4")
    result = ctxmode("compare", logs, *SUMMARY, *live(server), *model)
    assert result.code == 2
    assert "error: logs.jsonl:7: there is an image" in result.err
    skipped = ctxmode("compare", logs, *SUMMARY, *live(server), *model, "--on-error", "skip", "--format", "json")
    assert json.loads(skipped.out)["data"]["skipped"] == 1


def test_wrong_key_ends_the_run(ctxmode: Ctxmode, logs: str) -> None:
    """A key that the endpoint does not take is an error of the settings with a hint, and not a table of failures."""
    with endpoint([Reply(status=401)]) as server:
        result = ctxmode("compare", logs, *SUMMARY, *live(server), "--llm-concurrency", "1")
    assert result.code == 2
    assert "the endpoint answers 401" in result.err
    assert "OPENAI_API_KEY" in result.err
    assert result.out == ""
    assert len(server.bodies) == 1


def test_missing_key_is_told_before_anything_is_read(
    ctxmode: Ctxmode, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the log nor the network is touched."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    result = ctxmode("compare", "missing.jsonl", "--summarizer", "openai", "--llm-cache", str(here / "cache"))
    assert (result.code, result.out) == (2, "")
    assert "no key for live calls" in result.err
    assert "OPENAI_API_KEY" in result.err


def test_options_come_from_the_file_and_the_environment(
    ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live options are options like any other; the key is none, and no file can hold it."""
    (here / "ctxmode.toml").write_text('summarizer = "openai"\nllm_cache = "kept"\nllm_retries = 0\n')
    monkeypatch.setenv("CTXMODE_BASE_URL", server.url)
    assert ctxmode("compare", logs, *SUMMARY).code == 0
    assert len(list((here / "kept").iterdir())) == len(server.bodies) == 24
    (here / "ctxmode.toml").write_text('api_key = "sk-1"\n')
    refused = ctxmode("compare", logs)
    assert refused.code == 2
    assert 'the key "api_key" is unknown' in refused.err


def test_inspect_shows_the_models_summary(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """What a request would send holds the summary that the model wrote."""
    settings = ("--summary-threshold", "1", "--summary-every", "0", "--mode", "summary", "--format", "json")
    result = ctxmode("inspect", logs, "c1", *settings, *live(server))
    assert "- user: user 1 says thing 3" in json.loads(result.out)["messages"][0]["content"]
    assert f"at {server.url}" in result.err


def test_forecast_asks_nobody(ctxmode: Ctxmode) -> None:
    """Its sessions say nothing that a model could summarise, so it has no such option."""
    result = ctxmode("forecast", "--summarizer", "openai")
    assert result.code == 2
    assert "--summarizer" in result.err


def test_killed_at_any_moment(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A run that was killed and run again ends in the same bytes; what the cache holds is not asked for twice."""
    with endpoint(script) as server:
        run = ["compare", logs, *SUMMARY, "-o", "r.json", *live(server, "--llm-concurrency", "2")]
        assert ctxmode(*run).code == 0
        expected = (here / "r.json").read_bytes()
        whole = server.times
        assert set(whole.values()) == {1}
        for path in (here / "cache").iterdir():
            path.unlink()
        (here / "r.json").unlink()
        server.bodies.clear()
        draw = random.Random(20)  # noqa: S311 - moments, not secrets
        kept: set[str] = set()
        for moment in sorted(draw.choices(range(1, len(whole)), k=20)):
            process = subprocess.Popen([sys.executable, "-m", "ctxmode_cli", *run], stderr=subprocess.DEVNULL)
            wait_until(lambda moment=moment: len(server.times) >= moment, seconds=60)
            time.sleep(draw.random() / 50)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert not (here / "r.json").exists()
            kept |= {path.name for path in (here / "cache").iterdir() if re.fullmatch("[0-9a-f]{64}", path.name)}
        assert ctxmode(*run).code == 0
        assert (here / "r.json").read_bytes() == expected
        assert server.times.keys() == whole.keys()
        # Only a call that was under way when its run was killed is made again: at most one for each thread and kill.
        assert kept
        assert sum(server.times.values()) - len(whole) <= 2 * 20
