"""Real labelled conversations through all modes: no crash, no invalid request, and full loses nothing it was told."""

from itertools import islice
from pathlib import Path

import pytest
from assumptions import simulation

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.conversation.files import Reading
from ctxmode_cli.replay.results import Totals
from ctxmode_cli.replay.session import Replay
from ctxmode_cli.summarize.extractive import ExtractiveSummarizer
from ctxmode_cli.tokens.counter import TokenCounter

DATA_SETS = Path(__file__).resolve().parents[1] / ".." / "shared" / "datasets"
FILES = sorted(DATA_SETS.glob("*.jsonl.gz"))
MODES = ("full", "zero", "sliding", "summary")
CONVERSATIONS = 40
SESSIONS = 4
"""Of the interleaved sets, whose conversations are twenty times as long."""

pytestmark = pytest.mark.skipif(not FILES, reason="the labelled conversations are not beside this repository")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_data_set(path: Path) -> None:
    """Every mode replays the same requests, all valid; zero sends least, and full has every fact that is probed."""
    counter = TokenCounter.for_model("gpt-4o")
    replay = Replay(
        {mode: ContextConfig(mode=mode) for mode in MODES}, counter, ExtractiveSummarizer(counter), simulation()
    )
    totals = Totals(replay)
    limit = SESSIONS if path.name.startswith("interleaved") else CONVERSATIONS
    for conversation in islice(Reading([str(path)]).conversations(), limit):
        totals.add(replay(conversation))
    assert totals.data.probes > 0
    assert totals.data.unmatched_facts <= 0.005 * totals.data.facts  # tests/field/test_field_matching.py lists them
    for part in totals.modes.values():
        assert part.requests == totals.data.requests
        assert part.invalid == {}
        assert part.calls["summary"].failed == 0
    full, zero = totals.modes["full"], totals.modes["zero"]
    assert full.recall.value is not None
    assert full.recall.value >= 0.995
    for mode in ("sliding", "summary"):
        part = totals.modes[mode]
        assert zero.recall.value <= part.recall.value <= full.recall.value
        assert zero.prompt_tokens.total <= part.prompt_tokens.total
