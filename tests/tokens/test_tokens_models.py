"""The model table."""

import pytest

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.images import TileRule
from ctxmode_cli.tokens.models import find_model, model_names


def test_known_model() -> None:
    """A model has its encoding, window, image rule and tool rule."""
    model = find_model("gpt-4o")
    assert (model.name, model.encoding, model.window) == ("gpt-4o", "o200k_base", 128_000)
    assert model.image_rule == TileRule(85, 170)
    assert model.tool_rule.func_init == 7


@pytest.mark.parametrize(
    ("name", "encoding", "window"),
    [
        ("gpt-4o-2024-08-06", "o200k_base", 128_000),
        ("gpt-4o-mini-2024-07-18", "o200k_base", 128_000),
        ("gpt-4.1-mini-2025-04-14", "o200k_base", 1_047_576),
        ("gpt-4-0613", "cl100k_base", 8_192),
        ("gpt-4-1106-preview", "cl100k_base", 128_000),
        ("gpt-3.5-turbo-0613", "cl100k_base", 4_096),
        ("gpt-3.5-turbo-0125", "cl100k_base", 16_385),
        ("gpt-oss-20b", "o200k_harmony", 131_072),
        ("ft:gpt-4o-2024-08-06:org::id", "o200k_base", 128_000),
        ("ft:gpt-4.1-2025-04-14:org::id", "o200k_base", 1_047_576),
    ],
)
def test_snapshots_and_fine_tuned_models(name: str, encoding: str, window: int) -> None:
    """A dated snapshot and a fine-tuned model are known through their base, and keep their own name."""
    model = find_model(name)
    assert (model.name, model.encoding, model.window) == (name, encoding, window)


@pytest.mark.parametrize("name", ["gpt-4o-foo", "gpt-5.9", "gpt-4-99", "o3-", "claude-opus-4", "", "ft:", "GPT-4o"])
def test_unknown_model_is_an_error(name: str) -> None:
    """An invented name is an error, also where tiktoken's prefixes would accept it."""
    with pytest.raises(CtxmodeError, match="is unknown") as caught:
        find_model(name)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "suggestion"), [("gtp-4o-mini", "gpt-4o-mini"), ("openai/gpt-4o", "gpt-4o"), ("GPT-4O", "gpt-4o")]
)
def test_similar_models_are_suggested(name: str, suggestion: str) -> None:
    """The hint names the model that was probably meant first."""
    with pytest.raises(CtxmodeError) as caught:
        find_model(name)
    assert caught.value.hint.startswith(f"did you mean {suggestion}")


@pytest.mark.parametrize("name", model_names())
def test_every_model_can_be_counted(name: str) -> None:
    """Every model in the table has an encoding that is available offline."""
    assert find_model(name).encoding in {"cl100k_base", "o200k_base", "o200k_harmony"}


def test_model_that_tiktoken_dropped_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of our table that the installed tiktoken does not know is an error that says so."""
    monkeypatch.setattr("tiktoken.model.MODEL_TO_ENCODING", {})
    monkeypatch.setattr("tiktoken.model.MODEL_PREFIX_TO_ENCODING", {})
    find_model.cache_clear()
    with pytest.raises(CtxmodeError, match="tiktoken knows no encoding for gpt-4o"):
        find_model("gpt-4o")
