"""What a dry run says against what the run itself then sends, over real HTTP to a scripted endpoint."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import ADDRESS, Ctxmode, write_addresses
from endpoint import KEY, Endpoint, Reply, endpoint

from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter

COUNT = 3
SUMMARY = ("--summary-threshold", "1", "--summary-every", "0", "--summary-target-tokens", "100")
SERIAL = ("--llm-concurrency", "1", "--llm-retries", "0", "--llm-cache", "cache")


def script(body: dict[str, Any], number: int) -> Reply:
    """A judge is sent a schema, and says yes; else no two answers are the same."""
    return Reply('{"right": true}' if "response_format" in body else f"{ADDRESS}, {number}")


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint(script) as running:
        yield running


@pytest.fixture
def logs(here: Path) -> str:
    """Conversations of four turns, whose first has an address that the third and the fourth need."""
    (here / "ctxmode.toml").write_text(
        "[prices.gpt-4o]\ninput = 3\noutput = 15\n[prices.gpt-4o-mini]\ninput = 1\noutput = 2\n"
    )
    return write_addresses(here, COUNT)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run needs none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def sent(bodies: list[dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """By model: calls, prompt tokens and the most tokens of output, of what an endpoint was really sent."""
    found: dict[str, tuple[int, int, int]] = {}
    for body in bodies:
        counter = TokenCounter.for_model(body["model"])
        prompt = sum(counter.message(parse_message(message)) for message in body["messages"]) + counter.REPLY_TOKENS
        count, prompts, outputs = found.get(body["model"], (0, 0, 0))
        found[body["model"]] = count + 1, prompts + prompt, outputs + body["max_tokens"]
    return found


def told(report: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """The same, of what a dry run says."""
    keys = ("count", "prompt_tokens", "most_output_tokens")
    return {model: tuple(entry[key] for key in keys) for model, entry in report["models"].items()}


def test_facts_are_told_as_they_are_then_asked(ctxmode: Ctxmode, here: Path, logs: str, server: Endpoint) -> None:
    """Calls, tokens and bound exactly; nothing is asked by the dry run, nothing written, and no key needed."""
    asking = ("compare", logs, "--modes", "full,zero,sliding", "--answer", "--base-url", server.url, *SERIAL)
    dry = ctxmode(*asking, "--dry-run", "--format", "json")
    assert (dry.code, server.bodies) == (0, [])
    assert not (here / "cache").exists()
    assert ctxmode(*asking).code == 0
    report = json.loads(dry.out)
    assert told(report) == sent(server.bodies)
    # Four turns fit the window of ten, so that what sliding would ask has been asked by full.
    counts = [(entry["mode"], entry["purpose"], entry["count"], entry["estimated"]) for entry in report["calls"]]
    assert counts == [("full", "facts", 3, False), ("zero", "facts", 3, False), ("sliding", "facts", 0, False)]
    total = report["total"]
    assert total["cost_usd"] == pytest.approx((total["prompt_tokens"] * 3 + 600 * 15) / 1e6)
    assert report["endpoint"] == server.url


def test_rolling_summaries_are_told_as_if_written_offline(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """An endpoint that writes what the offline summarizer does is sent just what the dry run says."""
    mode = ("replay", logs, "--mode", "summary", *SUMMARY)
    assert ctxmode(*mode, "-o", "run").code == 0
    texts = [row["text"] for row in pq.read_table(here / "run" / "summaries.parquet").to_pylist()]
    live = (*mode, "--summarizer", "openai", *SERIAL)
    with endpoint([Reply(text) for text in texts]) as server:
        dry = ctxmode(*live, "--base-url", server.url, "--dry-run", "--format", "json")
        assert server.bodies == []
        assert ctxmode(*live, "--base-url", server.url).code == 0
        report = json.loads(dry.out)
        assert told(report) == sent(server.bodies)
    # Four turns: one is verbatim, and before each of the third and the fourth request there is one more to tell.
    assert [(entry["count"], entry["estimated"]) for entry in report["calls"]] == [(2 * COUNT, True)]
    assert "the offline summarizer's text stands in for a summary" in " ".join(report["notes"])


@pytest.mark.parametrize("prefix", ["none", "session"])
def test_rebuilt_summaries_are_told_as_they_are_then_asked(
    prefix: str, ctxmode: Ctxmode, logs: str, server: Endpoint
) -> None:
    """Whatever the endpoint writes, since no summary goes into the next call; size may trigger one more, or one less."""
    mode = ("replay", logs, "--mode", "summary", *SUMMARY, "--summary-strategy", "rebuild", "--summary-prefix", prefix)
    live = (*mode, "--summarizer", "openai", "--base-url", server.url, *SERIAL)
    dry = json.loads(ctxmode(*live, "--dry-run", "--format", "json").out)
    assert ctxmode(*live).code == 0
    assert told(dry) == sent(server.bodies)
    assert [(entry["count"], entry["estimated"]) for entry in dry["calls"]] == [(2 * COUNT, False)]
    more = ("--summary-trigger", "both", "--llm-cache", "other", "--dry-run", "--format", "json")
    assert json.loads(ctxmode(*live, *more).out)["total"]["estimated"]


CARD = ("--fact-card", "--fact-card-extractor", "openai")


def card_script(body: dict[str, Any], number: int) -> Reply:
    """No two answers are the same, and no card is what the rules would find: it is empty."""
    return Reply('{"facts": []}' if "response_format" in body else f"{ADDRESS}, {number}")


def test_cards_are_told_as_they_are_then_read(ctxmode: Ctxmode, logs: str) -> None:
    """Whatever the endpoint finds; modes share the calls. Facts are asked behind the rules' card, so they are estimated."""
    asking = ("compare", logs, "--modes", "full,zero", *CARD, "--answer", *SERIAL)
    with endpoint(card_script) as server:
        dry = json.loads(ctxmode(*asking, "--base-url", server.url, "--dry-run", "--format", "json").out)
        assert server.bodies == []
        assert ctxmode(*asking, "--base-url", server.url).code == 0
        real, planned = sent(server.bodies), told(dry)
    # Of four messages of the user's the last is never earlier than the current input.
    assert real["gpt-4o-mini"] == planned["gpt-4o-mini"]
    assert planned["gpt-4o-mini"][::2] == (3 * COUNT, 3 * COUNT * 600)
    assert planned["gpt-4o"][1] > real["gpt-4o"][1]  # by the card's tokens
    counts = [(entry["mode"], entry["purpose"], entry["count"], entry["estimated"]) for entry in dry["calls"]]
    assert counts == [
        ("full", "cards", 3 * COUNT, False),
        ("full", "facts", COUNT, True),
        ("zero", "cards", 0, False),
        ("zero", "facts", COUNT, True),
    ]
    assert "what the rules find for facts on a card" in " ".join(dry["notes"])


@pytest.mark.parametrize(("prefix", "estimated"), [("none", False), ("session", True)])
def test_summaries_behind_a_card_are_estimates(prefix: str, estimated: bool, ctxmode: Ctxmode, logs: str) -> None:
    """Where they go behind the session's own prefix, in which the card stands; by themselves they are exact."""
    mode = ("replay", logs, "--mode", "summary", *SUMMARY, "--summary-strategy", "rebuild", "--summary-prefix", prefix)
    live = (*mode, "--summarizer", "openai", *CARD, *SERIAL)
    with endpoint(card_script) as server:
        dry = json.loads(ctxmode(*live, "--base-url", server.url, "--dry-run", "--format", "json").out)
        assert ctxmode(*live, "--base-url", server.url).code == 0
        assert (told(dry) == sent(server.bodies)) is not estimated
    kinds = [(entry["purpose"], entry["count"], entry["estimated"]) for entry in dry["calls"]]
    assert kinds == [("summaries", 2 * COUNT, estimated), ("cards", 3 * COUNT, False)]


@pytest.mark.usefixtures("key")
def test_what_the_cache_has_is_not_sent_again(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """After a run nothing is left to send; after a part of it, what the other conversations take, summaries and all."""
    run = ("compare", logs, "--modes", "full,summary", *SUMMARY, "--summarizer", "openai", "--answer", *SERIAL)
    dry = (*run, "--base-url", server.url, "--dry-run", "--format", "json")
    whole = json.loads(ctxmode(*dry).out)["total"]
    assert (whole["count"], whole["cached"]) == (COUNT * 4, 0)
    ctxmode(*run, "--base-url", server.url, "--limit", "1")
    assert len(server.bodies) == 4
    left = json.loads(ctxmode(*dry).out)["total"]
    assert (left["count"], left["cached"]) == (COUNT * 4 - 4, 4)
    ctxmode(*run, "--base-url", server.url)
    none = json.loads(ctxmode(*dry).out)
    assert (none["total"]["count"], none["total"]["cached"], none["total"]["cost_usd"]) == (0, COUNT * 4, 0)
    assert none["answer"] == f"Nothing would be sent; {COUNT * 4} answers would come from the cache."


@pytest.mark.usefixtures("key")
def test_judgements_are_one_for_each_answer(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """As many as there are where no two answers are the same; their prompts hold longer answers than will come."""
    run = ("replay", logs, "--mode", "full", "--answer", "--judge-model", "gpt-4o-mini", *SERIAL)
    dry = json.loads(ctxmode(*run, "--base-url", server.url, "--dry-run", "--format", "json").out)
    ctxmode(*run, "--base-url", server.url)
    real, planned = sent(server.bodies)["gpt-4o-mini"], told(dry)["gpt-4o-mini"]
    assert (planned[0], planned[2]) == (real[0], real[2]) == (COUNT, COUNT * 50)
    assert real[1] < planned[1] < real[1] + COUNT * 120
    assert [entry["estimated"] for entry in dry["calls"]] == [False, True]


@pytest.mark.parametrize("command", [("compare",), ("replay", "--mode", "sliding", "--summarizer", "openai")])
def test_without_live_calls_nothing_would_be_sent(command: tuple[str, ...], ctxmode: Ctxmode, logs: str) -> None:
    """It says so, and that is no failure; so it does where the summarizer that was asked for has no mode."""
    table = ctxmode(*command, logs, "--dry-run")
    assert (table.code, table.out.count("\n")) == (0, 1)
    assert "Nothing would be sent" in table.out
    result = ctxmode(*command, logs, "--dry-run", "--format", "json")
    report = json.loads(result.out)
    assert (result.code, report["endpoint"], report["calls"], report["total"]["count"]) == (0, None, [], 0)


def test_table(ctxmode: Ctxmode, logs: str, server: Endpoint) -> None:
    """A row for each mode and purpose, the notes, and the sum last."""
    live = ("--summarizer", "openai", "--answer", "--base-url", server.url, "--llm-cache", "cache")
    result = ctxmode("compare", logs, "--modes", "full,summary", *SUMMARY, *live, "--dry-run")
    rows = [line.split()[:4] for line in result.out.splitlines() if line.startswith(("full", "summary", "all"))]
    assert rows == [
        ["full", "facts", "gpt-4o", "3"],
        ["summary", "summaries", "gpt-4o-mini", "~6"],
        ["summary", "facts", "gpt-4o", "~3"],
        ["all", "all", "gpt-4o", "~6"],
    ]
    assert "own price (ctxmode.toml: prices.gpt-4o)" in result.out
    assert result.out.splitlines()[-1].startswith(f"A live run would make about 12 calls to {server.url}, of about ")


def test_unknown_price_is_told_as_unknown(ctxmode: Ctxmode, logs: str) -> None:
    """Never as 0; cost is what a dry run is for, so it exits as not evaluated."""
    live = ("--answer", "--answer-model", "tiny", "--llm-cache", "cache", "--dry-run")
    result = ctxmode("replay", logs, "--mode", "full", *live)
    assert result.code == 3
    assert "price unknown" in result.out
    assert "at a price that is unknown" in result.out
    assert "the encoding of tiny is unknown: its tokens are counted as those of gpt-4o" in result.out
    assert "error: cost was asked for and could not be evaluated: no price of tiny is known" in result.err
    report = json.loads(ctxmode("replay", logs, "--mode", "full", *live, "--format", "json").out)
    assert (report["total"]["cost_usd"], report["models"]["tiny"]["cost_usd"]) == (None, None)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("-o", "r.json"), "no results for -o"),
        (("--audit", "a.jsonl"), "no results for --audit"),
        (("--format", "csv"), 'not written as "csv"'),
    ],
)
def test_results_are_refused(more: tuple[str, ...], what: str, ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A dry run has none, and leaves no file behind."""
    before = sorted(here.iterdir())
    result = ctxmode("compare", logs, "--answer", "--dry-run", *more)
    assert (result.code, result.out) == (2, "")
    assert what in result.err
    assert sorted(here.iterdir()) == before


def test_bad_records_are_told_and_counted(ctxmode: Ctxmode, here: Path, logs: str) -> None:
    """A record that cannot be replayed ends it, or is skipped where that was asked for."""
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}
    with (here / logs).open("a") as file:
        file.write(json.dumps({"id": "bad", "messages": [image]}) + "\n")
    dry = ("replay", logs, "--mode", "full", "--model", "gpt-4", "--answer", "--llm-cache", "cache", "--dry-run")
    result = ctxmode(*dry)
    assert result.code == 2
    assert "error: logs.jsonl:4: there is an image" in result.err
    skipped = json.loads(ctxmode(*dry, "--on-error", "skip", "--format", "json").out)
    assert (skipped["skipped"], skipped["total"]["count"]) == (1, COUNT)


def test_neither_key_nor_secret_url_is_shown(ctxmode: Ctxmode, logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    live = ("--answer", "--base-url", "http://me:hush@127.0.0.1:9/v1?token=hush", "--llm-cache", "cache")
    for form in ("table", "json"):
        result = ctxmode("replay", logs, "--mode", "full", *live, "--dry-run", "--format", form)
        assert "hush" not in result.out + result.err
        assert KEY not in result.out + result.err
        assert "http://127.0.0.1:9/v1" in result.out


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("command", [("inspect", "logs.jsonl", "c0"), ("forecast",)])
def test_other_commands_have_no_dry_run(command: tuple[str, ...], ctxmode: Ctxmode) -> None:
    """They make no calls, or those of one conversation."""
    result = ctxmode(*command, "--dry-run")
    assert result.code == 2
    assert "--dry-run" in result.err
