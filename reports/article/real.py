"""The comparison's table on real conversations, from results that were made before: `real.py FOLDER`.

Reads `real_SET_PROFILE.json` of each set and profile in FOLDER, and prints one table a set in Markdown. Nothing was fitted to these
conversations.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

UNCACHED = "gpt-4o-no-cache"
CACHED = ("gpt-4o", "gpt-4.1", "gpt-5")
HEAD = (
    "mode",
    "tokens/request",
    "recall (in context)",
    "recall (modelled)",
    "cost, no cache",
    *(f"cost, cache of {name}" for name in CACHED),
    "p95, no cache",
    *(f"p95, cache of {name}" for name in CACHED),
)
Data = dict[str, Any]


def table(results: dict[str, Data]) -> Iterator[str]:
    """The lines of one set's table: a row a mode."""
    data = results[UNCACHED]["data"]
    yield f"{data['conversations']:,} conversations, {data['requests']:,} requests, {data['probes']:,} probes"
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|---|{'--:|' * (len(HEAD) - 1)}"
    for mode in results[UNCACHED]["modes"]:
        yield f"| {' | '.join(_cells(mode, results))} |"


def _cells(mode: str, results: dict[str, Data]) -> Iterator[str]:
    plain = results[UNCACHED]["modes"][mode]
    cached = [results[name]["modes"][mode] for name in CACHED]
    unsendable = sum(plain["unsendable"].values())
    yield f"{mode} ({unsendable} unsendable)" if unsendable else mode
    yield f"{plain['tokens']['mean']:,.0f}"
    for kind in ("in_context", "modelled"):
        recall = plain["recall"][kind]
        yield f"{recall['value']:.1%}" if recall else "–"
    yield f"{plain['cost_usd']['relative_uncached']:.1%}"
    yield from (f"{one['cost_usd']['relative']:.1%}" for one in cached)
    yield from (f"{one['latency_s']['p95']:.2f} s" if one["latency_s"] else "–" for one in (plain, *cached))


def main(folder: Path) -> None:
    """Print the tables of all sets."""
    for path in sorted(folder.glob(f"real_*_{UNCACHED}.json")):
        name = path.name.removeprefix("real_").removesuffix(f"_{UNCACHED}.json")
        profiles = (UNCACHED, *CACHED)
        results = {
            profile: json.loads((folder / f"real_{name}_{profile}.json").read_text("utf-8")) for profile in profiles
        }
        print(f"### {name}\n")
        print("\n".join(table(results)), end="\n\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
