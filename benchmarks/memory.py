"""Peak memory of a comparison: 100 MB of JSON lines against 10 MB.

Usage: python benchmarks/memory.py [MB …]
"""

import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from ctxmode_cli.generate.sessions import generate_sessions

MODES = "zero,full,sliding,summary"


def write_log(path: Path, megabytes: int) -> None:
    """Write generated sessions, over and over under new ids, until the file is that large."""
    sessions = list(generate_sessions(200, seed=0))
    with path.open("w", encoding="utf-8") as log:
        for number in count():
            session = sessions[number % len(sessions)] | {"id": f"session-{number}"}
            log.write(json.dumps(session, ensure_ascii=False) + "\n")
            if log.tell() >= megabytes * 1_000_000:
                return


def peak_kilobytes(log: Path) -> int:
    """Largest resident size of one comparison of the file, as the kernel accounts for the finished process."""
    command = [sys.executable, "-m", "ctxmode_cli", "compare", str(log), "--modes", MODES, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit("the comparison failed")
    return usage.ru_maxrss


def main(sizes: list[int]) -> None:
    """Print the peak for each size."""
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in sizes:
            log = Path(folder) / f"{megabytes}.jsonl"
            write_log(log, megabytes)
            print(f"{megabytes} MB: peak {peak_kilobytes(log) / 1000:.0f} MB")


main([int(size) for size in sys.argv[1:]] or [10, 100])
