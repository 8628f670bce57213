"""`--preset`: settings by product, behind everything that a user sets; and `--audit`."""

import json
from pathlib import Path
from typing import Any

from command_line import Ctxmode


def settings(result: Any, mode: str = "sliding") -> dict[str, Any]:
    assert result.code == 0, result.err
    return json.loads(result.out)["settings"][mode]


def test_a_preset_sets_what_nobody_else_sets(ctxmode: Ctxmode, here: Path, talk: str) -> None:
    """Command line over file over preset, in whatever order they stand."""
    compare = ("compare", talk, "--modes", "sliding", "--format", "json", "-q")
    assert settings(ctxmode(*compare))["tool_priority"] == "normal"
    coding = settings(ctxmode(*compare, "--preset", "coding"))
    assert (coding["tool_priority"], coding["tool_max_tokens"], coding["fact_card"]) == ("low", 2000, False)
    assert settings(ctxmode("compare", "--preset", "customer-service", *compare[1:]))["fact_card"]
    (here / "ctxmode.toml").write_text('preset = "coding"\ntool_max_tokens = 500\n')
    filed = settings(ctxmode(*compare))
    assert (filed["tool_priority"], filed["tool_max_tokens"]) == ("low", 500)
    assert settings(ctxmode(*compare, "--tool-max-tokens", "70"))["tool_max_tokens"] == 70
    (here / "ctxmode.toml").write_text("tool_max_tokens = 500\n")
    assert settings(ctxmode(*compare, "--preset", "coding"))["tool_max_tokens"] == 500


def test_a_preset_names_the_mode_of_a_replay(ctxmode: Ctxmode, talk: str, here: Path) -> None:  # noqa: ARG001
    """`replay` without a mode takes the preset's."""
    replay = ctxmode("replay", talk, "--preset", "coding", "--format", "json", "-q")
    assert list(json.loads(replay.out)["modes"]) == ["summary"]


def test_every_preset_can_be_used(ctxmode: Ctxmode, talk: str, here: Path) -> None:  # noqa: ARG001
    """Its settings are known and go together; an unknown one is refused by name."""
    for preset in ("customer-service", "writing", "coding"):
        assert ctxmode("compare", talk, "--preset", preset, "-q").code == 0
    refused = ctxmode("compare", talk, "--preset", "poetry")
    assert refused.code == 2
    assert 'error: preset is "poetry"' in refused.err
    assert "customer-service, writing, coding" in refused.err


def test_an_audit_is_one_json_object_a_line(ctxmode: Ctxmode, here: Path, talk: str) -> None:
    """All requests of all modes, and what was dropped told by its most telling sentence."""
    assert ctxmode("compare", talk, "--modes", "full,zero", "--audit", "audit.jsonl", "-q").code == 0
    lines = [json.loads(line) for line in (here / "audit.jsonl").read_text(encoding="utf-8").splitlines()]
    requests = json.loads(ctxmode("compare", talk, "--modes", "full,zero", "--format", "json").out)["data"]["requests"]
    assert len({(line["conversation_id"], line["request"], line["mode"]) for line in lines}) == 2 * requests
    dropped = [line for line in lines if line["action"] == "dropped"]
    assert {line["mode"] for line in dropped} == {"zero"}
    assert all(line["digest"] for line in dropped)
    assert not any("digest" in line for line in lines if line["action"] != "dropped")
    assert ctxmode("compare", talk, "--audit", talk).code == 2
