"""How `full` grows with the turns of a session: `python reports/article/growth.py FORECAST`.

Reads what `ctxmode forecast -o FORECAST` wrote for sessions of 1, 2, … turns, and prints at which of them the published
latencies and the published cost are reached. Costs are without a prompt cache, of which the published comparison says
nothing.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

BEFORE_S, AFTER_S = 1.2, 3.0
"""The published p95, before and after."""
TIMES = 3
"""The published daily cost, in terms of the one before."""
TURNS = 30
"""What twice as many turns take is compared with what these take."""

Point = Mapping[str, Any]
"""What sessions of one number of turns take."""


def growth(modes: Mapping[str, Sequence[Point]]) -> dict[str, Any]:
    """What the forecast says of the published figures.

    Args:
        modes: The points of each mode, one for each number of turns from 1 on.
    """
    full = modes["full"]
    before = _first(full, lambda point: point["latency_p95_s"] >= BEFORE_S)
    after = _first(full, lambda point: point["latency_p95_s"] >= AFTER_S)
    tripled = _first(full, lambda point: _cost(point) >= TIMES * _cost(before))
    sessions = _cost(after) / _cost(before)
    longer = (TIMES - 1) / (sessions - 1)
    prompts = [_last_prompt(full, point) for point in full]
    steps = {later - prompt for prompt, later in pairwise(prompts)}
    return {
        "tokens_a_turn": {"least": min(steps), "most": max(steps)},
        "tokens_of_twice_the_turns": full[2 * TURNS - 1]["tokens_total"] / full[TURNS - 1]["tokens_total"],
        "before": {"turns": before["turns"], "last_prompt_tokens": _last_prompt(full, before)},
        "after": {"turns": after["turns"], "last_prompt_tokens": _last_prompt(full, after)},
        "cost_after_over_before": {
            "session": sessions,
            "request": sessions * before["turns"] / after["turns"],
        },
        "turns_of_three_times_the_cost_before": tripled["turns"],
        # Where all sessions were as before, and so many of them are as after.
        "longer_for_three_times_the_cost": {
            "sessions": longer,
            "requests": longer * after["turns"] / (longer * after["turns"] + (1 - longer) * before["turns"]),
        },
        "turns_of_three_times_sliding": _first_dearer(full, modes["sliding"])["turns"],
    }


def _first(points: Sequence[Point], reached: Callable[[Point], bool]) -> Point:
    """The first point that reaches something."""
    found = next(filter(reached, points), None)
    return found or sys.exit(f"no session of up to {len(points)} turns reaches a published figure")


def _first_dearer(points: Sequence[Point], others: Sequence[Point]) -> Point:
    """The first point that costs so many times another mode's."""
    return _first(points, lambda point: _cost(point) >= TIMES * _cost(others[point["turns"] - 1]))


def _cost(point: Point) -> float:
    """USD a session."""
    return float(point["cost_uncached_usd"])


def _last_prompt(points: Sequence[Point], point: Point) -> float:
    """Tokens of the request of the last turn."""
    shorter = points[point["turns"] - 2]["tokens_total"] if point["turns"] > 1 else 0.0
    return float(point["tokens_total"] - shorter)


if __name__ == "__main__":
    forecast = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = growth({mode: entry["points"] for mode, entry in forecast["modes"].items()})
    print(json.dumps(found, indent=2, sort_keys=True))
