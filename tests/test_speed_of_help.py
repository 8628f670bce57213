"""Help and version are quick because they import only what is light."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "pyarrow",
    "tiktoken",
    "plotext",
    "genai_prices",
    "rich.table",
    "numpy",
    "pandas",
    "ahocorasick_rs",
    "openai",
    "junitparser",
    "jinja2",
    "vl_convert",
)
SCRIPT = """
import atexit, json, sys
sys.argv = ["ctxmode", *sys.argv[1:]]
atexit.register(lambda: sys.stderr.write(json.dumps(sorted(sys.modules))))
from ctxmode_cli.commands.main import main
main()
"""


def imported(*arguments: str) -> list[str]:
    """The modules that a run of the program has imported."""
    finished = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return json.loads(finished.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("modes",),
        ("--help",),
        ("compare", "--help"),
        ("replay", "--help"),
        ("forecast", "--help"),
        ("gate", "--help"),
        ("diff", "--help"),
    ],
)
def test_what_is_heavy_is_not_imported(arguments: tuple[str, ...]) -> None:
    """Version and modes import nothing heavy; help imports what draws it, and no data or token library."""
    heavy = set(HEAVY) - ({"rich.table"} if "--help" in arguments else set())
    assert heavy.isdisjoint(imported(*arguments))
