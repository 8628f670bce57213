"""Processor time of whole commands as a ratio to the floor: pairs in one run, medians, since machines are noisy.

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
COMMANDS = {
    "compare, four modes, recall": ["compare", "--modes", "zero,full,sliding,summary", "--quiet"],
    "replay full": ["replay", "--mode", "full", "--quiet"],
}


def processor_seconds(command: list[str]) -> float:
    """User and system time of one run of a command, process start included."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(data: str, pairs: int) -> None:
    """Print the median ratio of each command to the floor."""
    vocabulary_sha256("o200k_base")  # lays the file, where it is not there yet
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("ctxmode")) / "vocabularies")
    floor = [sys.executable, str(Path(__file__).with_name("floor.py")), data]
    for title, arguments in COMMANDS.items():
        command = [sys.executable, "-m", "ctxmode_cli", arguments[0], data, *arguments[1:]]
        times = [(processor_seconds(floor), processor_seconds(command)) for _ in range(pairs)]
        ratios = [ours / bare for bare, ours in times]
        print(
            f"{title}: {statistics.median(ratios):.2f} times the floor "
            f"({min(ratios):.2f} to {max(ratios):.2f}, {pairs} pairs; "
            f"floor {statistics.median(bare for bare, _ in times):.2f} s)"
        )


main(
    next(iter(sys.argv[1:]), str(SHARED / "interleaved_en.jsonl.gz")),
    int(next(iter(sys.argv[2:]), 5)),
)
