"""Recall (answered): over real HTTP, in every output, and with what could not be had."""

import csv
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import ADDRESS, Ctxmode, write_addresses
from endpoint import Endpoint, Reply, endpoint

CONVERSATIONS = 6


def reader(body: dict[str, Any], _number: int) -> Reply:
    """A model that finds the address wherever it stands in what it is sent."""
    told = " ".join(message["content"] for message in body["messages"])
    return Reply(ADDRESS if ADDRESS in told else "I do not know.")


pytestmark = pytest.mark.usefixtures("key")


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint(reader) as running:
        yield running


@pytest.fixture
def logs(here: Path) -> str:
    """Conversations whose first turn has an address that the third and the fourth need."""
    return write_addresses(here, CONVERSATIONS)


def asking(server: Endpoint, *more: str) -> tuple[str, ...]:
    live = ("--base-url", server.url, "--llm-cache", "cache", "--llm-retries", "0")
    return ("--modes", "full,sliding", "--sliding-turns", "1", "--answer", *live, *more)


def test_recall_is_that_of_the_answers(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """By hand: who sends all is answered always, who sends one turn never; each mode asks one probe a conversation."""
    result = ctxmode("compare", logs, *asking(server), "--format", "json")
    report = json.loads(result.out)
    assert result.code == 0
    about = {"probes": CONVERSATIONS, "unanswered": 0, "model": "gpt-4o", "judge": None}
    assert report["modes"]["full"]["recall"]["answered"] == {"value": 1.0, "low": 1.0, "high": 1.0} | about
    assert report["modes"]["sliding"]["recall"]["answered"] == {"value": 0.0, "low": 0.0, "high": 0.0} | about
    assert report["differences"]["sliding"]["recall.answered"] == {"value": -1.0, "low": -1.0, "high": -1.0}
    assert len(server.bodies) == 2 * CONVERSATIONS
    assert {body["messages"][-1]["role"] for body in server.bodies} == {"user"}
    assert all("What address was given" in body["messages"][-1]["content"] for body in server.bodies)


def test_who_is_asked_is_said(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """Before the run on stderr, in the notes and in run.json; the model is the one that is named."""
    result = ctxmode("compare", logs, *asking(server, "--answer-model", "tiny", "-o", "run"))
    assert {body["model"] for body in server.bodies} == {"tiny"}
    assert f"live calls: facts are asked of tiny at {server.url}" in result.err
    assert f"recall (answered): tiny at {server.url} was asked" in " ".join(result.out.split())
    assert "its summaries came from" not in result.out
    made_with = json.loads((here / "run" / "run.json").read_text())
    assert made_with["answers"] == {"model": "tiny", "endpoint": server.url, "per_conversation": 1, "judge": None}
    assert "the answers were graded by the matcher" in " ".join(result.out.split())
    assert made_with["endpoint"] is None


def test_each_probe_s_answer_is_in_the_run_folder(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """Right, wrong, or null where nobody was asked."""
    ctxmode("compare", logs, *asking(server, "-o", "run"))
    rows = pq.read_table(here / "run" / "probes.parquet").to_pylist()
    for mode, right in (("full", True), ("sliding", False)):
        answered = [row["answered"] for row in rows if row["mode"] == mode]
        assert (answered.count(right), answered.count(None), answered.count(not right)) == (6, 6, 0)


def test_more_probes_of_a_conversation(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """So many at most as are asked for."""
    result = ctxmode("compare", logs, *asking(server, "--answer-probes", "9", "--format", "json"))
    assert len(server.bodies) == 2 * 2 * CONVERSATIONS
    assert json.loads(result.out)["modes"]["full"]["recall"]["answered"]["probes"] == 2 * CONVERSATIONS


def test_the_table_has_a_column_only_where_it_was_asked_for(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """A person sees recall (answered) beside the others; without --answer nothing is asked, and nothing shown."""
    assert "recall (answered)" in ctxmode("compare", logs, *asking(server), "--format", "markdown").out
    made = len(server.bodies)
    plain = ctxmode("compare", logs, "--modes", "full,sliding", "--format", "markdown").out
    assert "(answered)" not in plain
    assert len(server.bodies) == made


def judging(verdict: Reply) -> AbstractContextManager[Endpoint]:
    """An endpoint that answers as `reader` does, and judges every answer the same."""

    def script(body: dict[str, Any], number: int) -> Reply:
        return verdict if body["model"] == "strict" else reader(body, number)

    return endpoint(script)


JUDGE = ("--answer", "--judge-model", "strict")


def test_a_judge_s_word_counts(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """Not the matcher's: each answer is judged once, and who judged is in every output."""
    with judging(Reply('{"right": true}')) as server:
        result = ctxmode("compare", logs, *asking(server, *JUDGE, "-o", "run", "-o", "r.csv", "-o", "r.json"))
    assert result.code == 0
    answered = json.loads((here / "r.json").read_text())["modes"]["sliding"]["recall"]["answered"]
    assert (answered["value"], answered["judge"], answered["unanswered"]) == (1.0, "strict", 0)
    judged = [body for body in server.bodies if body["model"] == "strict"]
    assert [body["response_format"]["type"] for body in judged] == [
        "json_schema"
    ] * 2  # the same two answers everywhere
    assert f"facts are asked of gpt-4o and judgements are asked of strict at {server.url}" in result.err
    assert "the answers were judged by strict" in " ".join(result.out.split())
    assert json.loads((here / "run" / "run.json").read_text())["answers"]["judge"] == "strict"
    rows = csv.DictReader((here / "r.csv").read_text().splitlines())
    assert {row["recall_answered_is"] for row in rows} == {"judged by strict"}


@pytest.mark.parametrize("reply", [Reply("yes"), Reply('{"right": true}', "length"), Reply(status=500)])
def test_an_answer_that_is_not_judged_is_left_out_and_told(reply: Reply, ctxmode: Ctxmode, logs: str) -> None:
    """It counts as one that could not be had; with none judged, what was asked for could not be evaluated."""
    with judging(reply) as server:
        result = ctxmode("compare", logs, *asking(server, *JUDGE), "--format", "json")
    assert result.code == 3
    report = json.loads(result.out)
    assert report["modes"]["full"]["recall"]["answered"] is None
    assert any(note.startswith("full: 6 answers could not be had or judged") for note in report["notes"])
    assert "judgements that could not be had: 12, since" in result.err


def test_a_judged_run_asks_nothing_twice(ctxmode: Ctxmode, logs: str) -> None:
    """Judgements are kept as answers are."""
    with judging(Reply('{"right": false}')) as server:
        first, second = (ctxmode("compare", logs, *asking(server, *JUDGE), "--format", "json") for _ in range(2))
        assert first.out == second.out
        assert len(server.bodies) == 2 * CONVERSATIONS + 2
    assert "live calls: 0 made" in second.err


def test_second_run_asks_nothing(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """Its answers come from the cache, and its results are the same bytes."""
    first, second = (ctxmode("compare", logs, *asking(server), "--format", "json") for _ in range(2))
    assert first.out == second.out
    assert len(server.bodies) == 2 * CONVERSATIONS
    assert "live calls: 0 made" in second.err


def test_an_answer_that_fails_is_left_out_and_told(ctxmode: Ctxmode, logs: str) -> None:
    """The others count; the run goes on, and says what went wrong."""

    def faulty(body: dict[str, Any], number: int) -> Reply:
        return Reply(status=500) if "(0)" in body["messages"][0]["content"] else reader(body, number)

    with endpoint(faulty) as server:
        result = ctxmode("compare", logs, *asking(server, "--modes", "full"), "--format", "json")
    report = json.loads(result.out)
    answered = report["modes"]["full"]["recall"]["answered"]
    assert (result.code, answered["value"], answered["probes"], answered["unanswered"]) == (0, 1.0, 5, 1)
    assert any(note.startswith("full: 1 answer could not be had") for note in report["notes"])
    assert "facts that could not be had: 1, since" in result.err


def test_no_answer_at_all_is_not_evaluated(ctxmode: Ctxmode, logs: str) -> None:
    """The exit code says that what was asked for could not be had; the rest of the results is there."""
    with endpoint([Reply(status=500)]) as server:
        result = ctxmode("compare", logs, *asking(server), "--format", "json")
    assert result.code == 3
    assert "error: recall (answered) was asked for and could not be evaluated" in result.err
    recall = json.loads(result.out)["modes"]["full"]["recall"]
    assert (recall["answered"], recall["in_context"]["value"]) == (None, 1.0)
