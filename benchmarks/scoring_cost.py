"""Processor time of a comparison with labels as a ratio to the same without: pairs in one run, medians.

Usage: python benchmarks/scoring_cost.py [FILE.jsonl.gz] [PAIRS]
"""

import gzip
import json
import statistics
import sys
import tempfile
from pathlib import Path

from replay_cost import CTXMODE, SHARED, processor_seconds

COMPARE = [*CTXMODE, "compare", "--quiet"]
ASKED = {"labelled probes": [], "--probes all": ["--probes", "all"]}


def without_labels(data: Path, folder: str) -> str:
    """A copy of the log that has no facts."""
    copy = Path(folder) / data.name
    with gzip.open(data, "rt", encoding="utf-8") as lines, gzip.open(copy, "wt", encoding="utf-8") as out:
        for line in lines:
            out.write(json.dumps(json.loads(line) | {"facts": []}, ensure_ascii=False) + "\n")
    return str(copy)


def main(data: Path, pairs: int) -> None:
    """Print the median ratio for each way of asking."""
    with tempfile.TemporaryDirectory() as folder:
        bare = without_labels(data, folder)
        for title, arguments in ASKED.items():
            times = [
                (processor_seconds([*COMPARE, str(data), *arguments]), processor_seconds([*COMPARE, bare]))
                for _ in range(pairs)
            ]
            ratios = [labelled / without for labelled, without in times]
            print(f"{title}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {pairs} pairs)")


if __name__ == "__main__":
    main(
        Path(next(iter(sys.argv[1:]), str(SHARED / "interleaved_zh.jsonl.gz"))),
        int(next(iter(sys.argv[2:]), 5)),
    )
