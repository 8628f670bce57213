"""The run folder: its columns, and that its rows add up to the results."""

import json
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Totals
from ctxmode_cli.replay.run_folder import RunFolder
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

COUNTER = TokenCounter.for_model("gpt-4o")
MODES = ("full", "zero", "sliding", "summary")
TALK = Path(__file__).resolve().parents[1] / "golden" / "talk.jsonl"
MONEY = pa.decimal128(38, 12)

REQUESTS = [
    ("conversation_id", pa.string()), ("request", pa.int32()), ("turn", pa.int32()), ("mode", pa.string()),
    ("prompt_tokens", pa.int64()), ("cached_tokens", pa.int64()), ("completion_tokens", pa.int64()),
    ("latency_s", pa.float64()), ("cost_usd", MONEY), ("cost_uncached_usd", MONEY), ("pieces", pa.int32()),
    ("dropped_messages", pa.int32()), ("compressed_messages", pa.int32()), ("dropped_input", pa.int32()),
    ("dropped_recent", pa.int32()), ("dropped_older", pa.int32()), ("dropped_documents", pa.int32()),
    ("invalid", pa.list_(pa.string())), ("unsendable", pa.string()),
]  # fmt: skip
PROBES = [
    ("conversation_id", pa.string()), ("fact_id", pa.string()), ("kind", pa.string()), ("mode", pa.string()),
    ("request", pa.int32()), ("age_turns", pa.int32()), ("position", pa.float64()), ("in_context", pa.bool_()),
    ("modelled", pa.float64()), ("answered", pa.bool_()),
]  # fmt: skip
SUMMARIES = [
    ("conversation_id", pa.string()), ("request", pa.int32()), ("mode", pa.string()), ("model", pa.string()),
    ("strategy", pa.string()), ("prompt_tokens", pa.int64()), ("cached_tokens", pa.int64()),
    ("completion_tokens", pa.int64()), ("unseen_tokens", pa.int64()), ("failed", pa.bool_()), ("cost_usd", MONEY),
    ("cost_uncached_usd", MONEY), ("latency_s", pa.float64()), ("text", pa.string()),
]  # fmt: skip


def replayer(**settings: Any) -> Replay:
    configs = {mode: ContextConfig(mode=mode, **settings) for mode in MODES}
    return Replay(configs, COUNTER, ExtractiveSummarizer(COUNTER), simulation())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Totals]:
    """A finished run folder, and the totals of the same replay."""
    path = tmp_path_factory.mktemp("runs") / "run"
    replay = replayer(max_tokens=400, summary_target_tokens=100)
    totals = Totals(replay)
    with RunFolder(path, simulation()) as folder:
        for conversation in Reading([str(TALK)]).conversations():
            session = replay(conversation)
            totals.add(session)
            folder.add(session)
        folder.finish("{}\n", {"seed": 0})
    return path, totals


def rows(path: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(path / f"{name}.parquet").to_pylist()


@pytest.mark.parametrize(("name", "columns"), [("requests", REQUESTS), ("probes", PROBES), ("summaries", SUMMARIES)])
def test_columns(run: tuple[Path, Totals], name: str, columns: list[tuple[str, pa.DataType]]) -> None:
    """Names, order and types of the columns are as promised; money is decimal."""
    schema = pq.read_schema(run[0] / f"{name}.parquet")
    assert list(zip(schema.names, schema.types, strict=True)) == columns


def test_requests_add_up(run: tuple[Path, Totals]) -> None:
    """Requests, tokens, unsendable ones and faults of the rows are those of the totals, mode by mode."""
    path, totals = run
    for mode in MODES:
        mine = [row for row in rows(path, "requests") if row["mode"] == mode]
        part = totals.modes[mode]
        assert len(mine) == part.requests == totals.data.requests
        sizes = [row["prompt_tokens"] for row in mine if row["unsendable"] is None]
        assert Counter(sizes) == part.prompt_tokens.counts
        assert Counter(row["unsendable"] for row in mine if row["unsendable"]) == part.unsendable
        assert [row["invalid"] for row in mine] == [[]] * len(mine)
        assert sum(row["completion_tokens"] is None for row in mine) == totals.data.open_requests
    assert totals.modes["zero"].unsendable == {"input": 1}


def test_unsendable_requests_have_no_figures(run: tuple[Path, Totals]) -> None:
    """An unsendable request has a row with its reason and without tokens, pieces or drops."""
    unsendable = [row for row in rows(run[0], "requests") if row["unsendable"]]
    assert len(unsendable) == 3
    for row in unsendable:
        assert (row["prompt_tokens"], row["pieces"], row["dropped_messages"]) == (None, None, None)
        assert row["completion_tokens"] > 0


def test_probes_add_up(run: tuple[Path, Totals]) -> None:
    """Recall worked out from the rows, facts weighing alike, is the recall of the totals."""
    path, totals = run
    for mode in MODES:
        shares = defaultdict(list)
        for row in rows(path, "probes"):
            if row["mode"] == mode:
                shares[row["conversation_id"], row["fact_id"]].append(row["in_context"])
        assert sum(map(len, shares.values())) == totals.data.probes
        recall = sum(Fraction(sum(hits), len(hits)) for hits in shares.values()) / len(shares)
        assert recall == totals.modes[mode].recall.value
    kinds = {row["fact_id"]: row["kind"] for row in rows(path, "probes")}
    assert (kinds["order"], kinds["phone"]) == ("order", "phone")
    for row in rows(path, "probes"):
        assert (row["position"] is not None, row["modelled"]) == (row["in_context"], 1.0 if row["in_context"] else 0.0)
    ages = {(row["fact_id"], row["request"]): row["age_turns"] for row in rows(path, "probes")}
    assert ages["allergy", 1] == 1
    assert ages["order", 14] == 11


def test_summaries_add_up(run: tuple[Path, Totals]) -> None:
    """Each summary call is a row with the text that was sent, and the rows sum to the totals."""
    path, totals = run
    calls = rows(path, "summaries")
    part = totals.modes["summary"].calls["summary"]
    assert len(calls) == part.count > 0
    assert {row["mode"] for row in calls} == {"summary"}
    assert {(row["strategy"], row["model"]) for row in calls} == {("rolling", "gpt-4o-mini")}
    assert sum(row["prompt_tokens"] for row in calls) == part.prompt_tokens
    assert sum(row["completion_tokens"] for row in calls) == part.completion_tokens
    assert [row["completion_tokens"] for row in calls] == [COUNTER.text(row["text"]) for row in calls]


def test_failed_summary_calls_have_rows(tmp_path: Path) -> None:
    """A summary call that failed is a row as well, without a text."""
    replay = replayer(summary_target_tokens=1)
    with RunFolder(tmp_path / "run", simulation()) as folder:
        for conversation in Reading([str(TALK)]).conversations():
            folder.add(replay(conversation))
    calls = rows(tmp_path / "run", "summaries")
    assert calls
    assert all(row["failed"] and row["text"] == "" and row["completion_tokens"] == 0 for row in calls)


def test_turns_and_requests_are_counted_from_0(run: tuple[Path, Totals]) -> None:
    """A tool loop is several requests of one turn."""
    mine = [
        (row["request"], row["turn"])
        for row in rows(run[0], "requests")
        if (row["conversation_id"], row["mode"]) == ("travel", "full")
    ]
    assert mine[:5] == [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3)]


def test_dropped_messages(run: tuple[Path, Totals]) -> None:
    """Zero drops all history, full nothing, and what a summary tells is not dropped."""
    last = {
        row["mode"]: row["dropped_messages"]
        for row in rows(run[0], "requests")
        if (row["conversation_id"], row["request"]) == ("travel", 15)
    }
    messages = json.loads(TALK.read_text(encoding="utf-8").splitlines()[0])["messages"]
    last_question = max(index for index, message in enumerate(messages) if message["role"] == "user")
    assert last["full"] == 0
    assert last["summary"] == 0
    assert last["zero"] == last_question - 1  # all before it but the system message
    assert 0 < last["sliding"] < last["zero"]


HOSTILE = "a\ud800\x00\x1b[31m|=1"


def test_text_that_parquet_cannot_hold(tmp_path: Path) -> None:
    """Ids, kinds and summaries with lone surrogates are written with escapes, everything else as it is."""
    turns = [{"role": role, "content": f"I must have {HOSTILE}."} for _ in range(12) for role in ("user", "assistant")]
    fact = {"id": HOSTILE, "kind": HOSTILE, "value": "have", "stated_at": 0, "probe_at": [22]}
    conversation = parse_conversation({"id": HOSTILE, "messages": turns, "facts": [fact]}, where="", default_id="")
    with RunFolder(tmp_path / "run", simulation()) as folder:
        folder.add(replayer()(conversation))
    escaped = HOSTILE.replace("\ud800", "\\ud800")
    assert {row["conversation_id"] for row in rows(tmp_path / "run", "requests")} == {escaped}
    assert escaped in rows(tmp_path / "run", "summaries")[0]["text"]


def test_folder_appears_only_when_all_is_written(tmp_path: Path) -> None:
    """While a run goes on its place is empty; after an error nothing is left."""
    path = tmp_path / "deep" / "run"

    with pytest.raises(AssertionError, match="in the middle"), RunFolder(path, simulation()):
        assert not list(path.parent.glob(".*/run")), "in the middle"
    assert not list(path.parent.iterdir())


def test_existing_folder_is_refused(tmp_path: Path) -> None:
    """A folder or a file that is there already stays, and so does a neighbour named like a half-written run."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run.part").mkdir()
    with pytest.raises(CtxmodeError, match="exists already"):
        RunFolder(tmp_path / "run", simulation())
    with RunFolder(tmp_path / "other", simulation()):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run.part", "other"}


def test_two_runs_to_one_folder(tmp_path: Path) -> None:
    """Of two runs with one folder the first to end has it; the other is refused, and removes nothing of it."""
    second = RunFolder(tmp_path / "run", simulation())
    with RunFolder(tmp_path / "run", simulation()) as first:
        first.finish("first\n", {})
    with pytest.raises(CtxmodeError, match=r"run: the run folder cannot be written: .*not empty"), second:
        second.finish("second\n", {})
    assert (tmp_path / "run" / "results.json").read_text() == "first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftover_of_a_killed_run(tmp_path: Path) -> None:
    """What a killed run left beside the folder stays, and is in nobody's way."""
    killed = RunFolder(tmp_path / "run", simulation())  # and never ended
    with RunFolder(tmp_path / "run", simulation()):
        pass
    assert (tmp_path / "run" / "requests.parquet").exists()
    assert killed._part.exists()


def test_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that can no longer be written are an error of the user's disk, at the folder's name."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    folder = RunFolder(tmp_path / "run", simulation())
    monkeypatch.setattr(folder._requests, "_flush", full)
    with pytest.raises(CtxmodeError, match="run: the run folder cannot be written: No space left on device"), folder:
        pass
    assert not list(tmp_path.iterdir())


def test_run_json_is_the_same_bytes_for_equal_settings(tmp_path: Path) -> None:
    """Keys are sorted, and text that no encoding carries is escaped."""
    with RunFolder(tmp_path / "run", simulation()) as folder:
        folder.finish("", {"b": "日\ud800", "a": [1]})
    written = (tmp_path / "run" / "run.json").read_bytes()
    assert written == b'{\n  "a": [\n    1\n  ],\n  "b": "\\u65e5\\ud800"\n}\n'


def test_results_and_settings_stand_beside_the_rows(run: tuple[Path, Totals]) -> None:
    """results.json is the text it was given, run.json sorted JSON."""
    assert (run[0] / "results.json").read_text() == "{}\n"
    assert json.loads((run[0] / "run.json").read_text()) == {"seed": 0}
