"""Runs whose fact card a model reads: over real HTTP, billed, cached and side by side."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import Ctxmode, write_turns
from endpoint import Endpoint, Reply, endpoint

CARD = ("--fact-card", "--modes", "full,sliding")
CALLS = 6 * 3
"""Of six conversations of four turns: what is said in the last turn is never needed again."""

pytestmark = pytest.mark.usefixtures("key")


def script(body: dict[str, Any], _number: int) -> Reply:
    """The room that a message names, and one that none does."""
    rooms = re.findall(r"room \d+", body["messages"][-1]["content"])
    facts = [
        {"kind": "room", "value": value, "polarity": "positive", "changes": False} for value in [*rooms, "room 77777"]
    ]
    return Reply(json.dumps({"facts": facts}), wait_s=0.002)


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint(script) as running:
        yield running


@pytest.fixture
def logs(here: Path) -> str:
    """Six conversations of four turns."""
    return write_turns(here, 4, lambda role, turn, number: f"{role}: I take room {turn}{number}.")


def live(server: Endpoint, *more: str, cache: str = "cache") -> tuple[str, ...]:
    where = ("--base-url", server.url, "--llm-cache", cache, "--llm-retries", "0")
    return ("--fact-card-extractor", "openai", *where, *more)


def test_the_card_is_what_the_model_reads(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """Not what the rules find; values that no message has are left out, and counted."""
    shown = ctxmode("inspect", logs, "c3", "--mode", "zero", "--fact-card", *live(server), "--format", "json")
    card = json.loads(shown.out)["messages"][0]["content"]
    assert card.splitlines()[1:] == ["- room: room 03", "- room: room 13", "- room: room 23"]
    assert len(server.bodies) == 3


def test_each_message_is_asked_about_once_and_billed_to_each_mode(
    ctxmode: Ctxmode, logs: str, server: Endpoint, here: Path
) -> None:
    """Two modes share the answers, and each has the whole cost: in totals, rows, notes and the answer."""
    told = ctxmode("compare", logs, *CARD, *live(server), "-o", "run", "-o", "r.md")
    assert told.code == 0
    assert max(server.times.values()) == 1
    assert len(server.bodies) == CALLS
    results = json.loads((here / "run" / "results.json").read_text())
    rows = pq.read_table(here / "run" / "card_calls.parquet").to_pylist()
    requests = pq.read_table(here / "run" / "requests.parquet").to_pylist()
    for mode in ("full", "sliding"):
        part = results["modes"][mode]
        mine = [row for row in rows if row["mode"] == mode]
        assert part["card_calls"]["count"] == len(mine) == CALLS
        assert part["card_calls"]["failed"] == part["summary_calls"]["count"] == 0
        for column in ("prompt_tokens", "completion_tokens"):
            assert part["card_calls"][column] == sum(row[column] for row in mine) > 0
        # gpt-4o-mini: 0.15 and 0.60 USD per million tokens.
        usd = (part["card_calls"]["prompt_tokens"] * 15 + part["card_calls"]["completion_tokens"] * 60) / 10**8
        assert part["cost_usd"]["card_calls"] == pytest.approx(usd) == float(sum(row["cost_usd"] for row in mine))
        for total, column in (("total", "cost_usd"), ("total_uncached", "cost_uncached_usd")):
            own = sum(row[column] for row in requests if row["mode"] == mode)
            assert part["cost_usd"][total] == float(own + sum(row[column] for row in mine))
        assert [(row["request"], row["message"]) for row in mine[:3]] == [(1, 0), (2, 2), (3, 4)]
        assert f"{mode}: its card calls go to gpt-4o-mini, one for each user message of earlier turns" in told.out
        assert f"{mode}: its fact card's facts came from openai, model gpt-4o-mini at {server.url}" in told.out
    assert "its summaries came from" not in told.out
    assert "of it for 18 card calls)" in told.out
    assert "card calls" in (here / "r.md").read_text().split("\n\n")[1].splitlines()[0]
    run = json.loads((here / "run" / "run.json").read_text())
    assert (run["endpoint"], run["asked_for"]) == (server.url, ["card"])
    assert f"live calls: cards are asked of gpt-4o-mini at {server.url}" in told.err
    assert f"facts left out of the card: {CALLS}, since the message does not state the value" in told.err


def test_second_run_makes_no_call(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """Its answers come from the cache, and its results are the same bytes; however many are replayed side by side."""
    first = ctxmode("compare", logs, *CARD, *live(server), "--format", "json")
    second = ctxmode("compare", logs, *CARD, *live(server), "--format", "json")
    assert len(server.bodies) == CALLS
    assert "live calls: 0 made" in second.err
    one = ctxmode("compare", logs, *CARD, *live(server, "--llm-concurrency", "1", cache="other"), "--format", "json")
    assert first.out == second.out == one.out
    assert len(server.bodies) == 2 * CALLS


def test_no_label_is_sent(ctxmode: Ctxmode, logs: str, server: Endpoint, here: Path) -> None:
    """Nothing that only a label says reaches the model."""
    label = {"id": "LABEL", "kind": "label_kind", "value": "labelled", "aliases": ["alias of the label"]}
    fact = {**label, "question": "asked of the label?", "stated_at": 0, "probe_at": [6]}
    records = [json.loads(line) for line in (here / logs).read_text().splitlines()]
    (here / logs).write_text("".join(json.dumps({**record, "facts": [fact]}) + "\n" for record in records))
    ctxmode("compare", logs, *CARD, *live(server))
    assert len(server.bodies) == CALLS
    assert "label" not in json.dumps(server.bodies).lower()


@pytest.mark.parametrize(
    "reply", [Reply("no JSON"), Reply('{"facts": [', "length"), Reply(None, refusal="no"), Reply(status=500)]
)
def test_failures_are_counted_and_the_run_goes_on(reply: Reply, ctxmode: Ctxmode, logs: str) -> None:
    """Each message that could not be read is a failed call, billed; there is no card, and stderr says why."""
    with endpoint([reply]) as server:
        result = ctxmode("compare", logs, *CARD, *live(server), "--format", "json")
    assert result.code == 0
    part = json.loads(result.out)["modes"]["sliding"]
    assert (part["card_calls"]["count"], part["card_calls"]["failed"]) == (CALLS, CALLS)
    assert part["cost_usd"]["card_calls"] > 0
    assert f"messages that could not be read for the card: {CALLS}, since " in result.err


def test_a_wrong_model_ends_the_run(ctxmode: Ctxmode, logs: str) -> None:
    """As for summaries: an error, and exit 2."""
    with endpoint([Reply(status=404)]) as server:
        result = ctxmode("compare", logs, *CARD, *live(server))
    assert (result.code, result.out) == (2, "")
    assert "gpt-4o-mini cannot be used" in result.err


def test_each_mode_asks_its_summarising_model(ctxmode: Ctxmode, logs: str, server: Endpoint, here: Path) -> None:
    """And beside summaries that a model writes, both are asked for and told apart."""
    (here / "ctxmode.toml").write_text('[modes.other]\nbase = "sliding"\nsummary_model = "gpt-4o"\n')
    modes = ("--fact-card", "--modes", "sliding,other,summary", "--summary-threshold", "1", "--summary-every", "0")
    told = ctxmode("compare", logs, *modes, *live(server, "--summarizer", "openai"), "--format", "json", "-o", "run")
    cards = [body["model"] for body in server.bodies if "response_format" in body]
    assert {model: cards.count(model) for model in cards} == {"gpt-4o-mini": CALLS, "gpt-4o": CALLS}
    results = json.loads(told.out)["modes"]
    assert results["other"]["cost_usd"]["card_calls"] > 10 * results["sliding"]["cost_usd"]["card_calls"]
    assert results["summary"]["summary_calls"]["count"] == 6 * 2
    assert results["summary"]["card_calls"] == results["sliding"]["card_calls"]
    assert json.loads((here / "run" / "run.json").read_text())["asked_for"] == ["summary", "card"]


def test_summaries_made_offline_are_not_said_to_come_from_there(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """Where only the card is read by a model, a summary beside it is told as what it is."""
    modes = ("--fact-card", "--modes", "summary", "--summary-threshold", "1", "--summary-every", "0")
    told = ctxmode("compare", logs, *modes, *live(server))
    assert "summary: its summary calls go to" in told.out
    assert "its fact card's facts came from openai" in told.out
    assert "its summaries came from" not in told.out


def test_an_unknown_price_makes_the_cost_unknown(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """Since what the card costs is not known either; nothing is passed off as free."""
    told = ctxmode("compare", logs, *CARD, *live(server), "--summary-model", "ft:gpt-4o:acme", "--format", "json")
    document = json.loads(told.out)
    assert document["modes"]["full"]["card_calls"]["count"] == CALLS
    assert document["modes"]["full"]["cost_usd"] is None
    assert any(note.startswith("no price of ft:gpt-4o:acme is known") for note in document["notes"])


def test_without_a_card_there_is_nothing_to_read(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """The option says nothing without a card in any mode, so it is an error; one mode with a card is enough."""
    result = ctxmode("compare", logs, "--modes", "full,sliding", *live(server))
    assert (result.code, server.bodies) == (2, [])
    assert result.err == (
        "error: fact_card_extractor is openai, and no mode keeps a fact card\nhint: --fact-card keeps one\n"
    )


def test_one_mode_with_a_card_is_enough(ctxmode: Ctxmode, logs: str, server: Endpoint, here: Path) -> None:
    """Only that one is billed."""
    (here / "ctxmode.toml").write_text('[modes.carded]\nbase = "sliding"\nfact_card = true\n')
    told = ctxmode("compare", logs, "--modes", "full,carded", *live(server), "--format", "json")
    counts = {mode: part["card_calls"]["count"] for mode, part in json.loads(told.out)["modes"].items()}
    assert counts == {"full": 0, "carded": CALLS}


def test_rules_ask_nobody(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """The default makes no call, even where an endpoint is named."""
    told = ctxmode("compare", logs, *CARD, *live(server)[2:], "--format", "json")
    part = json.loads(told.out)["modes"]["full"]
    assert (part["card_calls"]["count"], part["cost_usd"]["card_calls"], server.bodies) == (0, 0, [])
    assert "live calls" not in told.err
