"""What the command line says of recall: profiles, intervals, differences and breakdowns."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ctxmode_cli.commands.main import app

TALK = Path(__file__).resolve().parents[1] / "golden" / "talk.jsonl"


def compared(*options: str) -> dict[str, Any]:
    arguments = ["compare", str(TALK), "--modes", "full,sliding", "--max-tokens", "400", "--format", "json", *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_position_profile_is_named_and_decides() -> None:
    """The profile is that of the article unless another is named; it changes recall (modelled) and nothing else."""
    article, flat = compared(), compared("--position-profile", "flat")
    for report, name in ((article, "article"), (flat, "flat")):
        assert report["position_profile"]["name"] == name
        assert any(f"profile {name}" in note for note in report["notes"])
        for mode in ("full", "sliding"):
            assert report["modes"][mode]["recall"]["modelled"]["profile"] == name
    for mode in ("full", "sliding"):
        recalls = [report["modes"][mode]["recall"] for report in (article, flat)]
        assert recalls[0]["in_context"] == recalls[1]["in_context"]
        assert recalls[0]["modelled"]["value"] < recalls[0]["in_context"]["value"]
        assert {key: recalls[1]["modelled"][key] for key in ("value", "low", "high")} == recalls[1]["in_context"]


def test_position_profile_from_a_file(tmp_path: Path) -> None:
    """A file of one's own halves what is used."""
    path = tmp_path / "half.toml"
    path.write_text("[[length]]\nprompt_tokens = 1\nposition = [0.0]\nuse = [0.5]\n", encoding="utf-8")
    recall = compared("--position-profile", str(path))["modes"]["full"]["recall"]
    assert recall["modelled"]["value"] == pytest.approx(recall["in_context"]["value"] / 2)


def test_unknown_position_profile_is_refused() -> None:
    """A name that no profile has is told before anything is read."""
    result = CliRunner().invoke(
        app, ["compare", "nowhere.jsonl", "--position-profile", "artcle"], standalone_mode=False
    )
    assert result.exit_code != 0
    assert 'the position profile "artcle" is unknown' in str(result.exception)


def test_differences_to_the_baseline() -> None:
    """Each mode but the baseline has its differences, which hold what the two figures differ by; intervals are seeded."""
    report = compared()
    assert set(report["differences"]) == {"sliding"}
    assert report["differences"]["sliding"].pop("recall.answered") is None
    for measure, found in report["differences"]["sliding"].items():
        sliding, full = (report["modes"][mode]["intervals"][measure] for mode in ("sliding", "full"))
        assert found["value"] == pytest.approx(sliding["value"] - full["value"])
        assert found["low"] <= found["value"] <= found["high"]
    assert compared()["modes"] == report["modes"]
    assert compared("--seed", "1")["differences"]["sliding"] != report["differences"]["sliding"] | {
        "recall.answered": None
    }


def test_what_is_lost_is_told() -> None:
    """The breakdowns hold all probes, the worst conversations name what they lost and where it went."""
    report = compared()
    for part in report["modes"].values():
        for axis in part["recall"]["by"].values():
            assert sum(share["probes"] for share in axis.values()) == report["data"]["probes"]
        in_context = sum(share["probes"] * share["in_context"] for share in part["recall"]["by"]["kind"].values())
        assert sum(part["recall"]["lost"].values()) == report["data"]["probes"] - round(in_context)
    worst = report["modes"]["sliding"]["worst"]
    assert [case["lost"] for case in worst] == sorted((case["lost"] for case in worst), reverse=True)
    assert {fact["went"] for case in worst for fact in case["lost_facts"]} <= set(
        report["modes"]["sliding"]["recall"]["lost"]
    )
