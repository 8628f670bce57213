"""Processor time of whole commands as ratios: pairs in one run, medians, since machines are noisy.

Usage: python benchmarks/replay_cost.py [FILE.jsonl.gz] [PAIRS]
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import platformdirs

from ctxmode_cli.tokens.vocabularies import vocabulary_sha256

SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"
CTXMODE = [sys.executable, "-m", "ctxmode_cli"]
COMPARE = [*CTXMODE, "compare", "--modes", "zero,full,sliding,summary", "--quiet"]
FLOOR = [sys.executable, str(Path(__file__).with_name("floor.py"))]
RATIOS = {
    "compare, four modes, recall, to the floor": (COMPARE, FLOOR),
    "replay full, to the floor": ([*CTXMODE, "replay", "--mode", "full", "--quiet"], FLOOR),
    "compare, to itself without prompt cache": (COMPARE, [*COMPARE, "--cache-rules", "none"]),
}
"""What is measured, and what it is measured against; both are given the file."""


def processor_seconds(command: list[str]) -> float:
    """User and system time of one run of a command, process start included."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(data: str, pairs: int) -> None:
    """Print the median of each ratio."""
    vocabulary_sha256("o200k_base")  # lays the file, where it is not there yet
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("ctxmode")) / "vocabularies")
    for title, (command, against) in RATIOS.items():
        times = [(processor_seconds([*command, data]), processor_seconds([*against, data])) for _ in range(pairs)]
        ratios = [ours / theirs for ours, theirs in times]
        print(
            f"{title}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {pairs} pairs; "
            f"{statistics.median(ours for ours, _ in times):.2f} s)"
        )


if __name__ == "__main__":
    main(
        next(iter(sys.argv[1:]), str(SHARED / "interleaved_en.jsonl.gz")),
        int(next(iter(sys.argv[2:]), 5)),
    )
