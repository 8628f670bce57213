"""How far the comparison's figures move when one parameter moves: `sensitivity.py SESSIONS SEED`.

Each row changes one parameter of what was fitted, or one setting that was not, and leaves all others. Prints Markdown.
"""

import contextlib
import io
import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from ctxmode_cli.commands.main import app
from ctxmode_cli.data import data_file
from ctxmode_cli.generate.grammar import load_grammar
from ctxmode_cli.generate.sessions import generate_sessions

TABLE = Path(__file__).with_name("table.toml")
Data = dict[str, Any]


class Figure(NamedTuple):
    """A figure of the comparison."""

    title: str
    mode: str
    path: Sequence[str]
    unit: float
    """What it is shown in: its value is divided by that."""
    form: str


FIGURES = [
    Figure("full, tokens", "full", ["tokens", "mean"], 1, ",.0f"),
    Figure("summary, tokens", "summary", ["tokens", "mean"], 1, ",.0f"),
    Figure("full, p95 s", "full", ["latency_s", "p95"], 1, ".2f"),
    Figure("summary, p95 s", "summary", ["latency_s", "p95"], 1, ".2f"),
    Figure("full, recall (modelled) %", "full", ["recall", "modelled", "value"], 0.01, ".1f"),
    Figure("summary, recall (modelled) %", "summary", ["recall", "modelled", "value"], 0.01, ".1f"),
    Figure("summary, recall (in context) %", "summary", ["recall", "in_context", "value"], 0.01, ".1f"),
    Figure("cost, no cache %", "summary", ["cost_usd", "relative_uncached"], 0.01, ".1f"),
]


class Setup(NamedTuple):
    """What one run is made with; each part as its file has it."""

    plan: Data
    latency: Data
    position: Data
    options: Sequence[str] = ()


def _scaled(part: str, key: str, factor: float) -> Callable[[Setup], Setup]:
    """The change that multiplies one number of a part."""

    def change(setup: Setup) -> Setup:
        data = getattr(setup, part)
        return setup._replace(**{part: data | {key: data[key] * factor}})

    return change


def _ranges(key: str, factor: float) -> Callable[[Setup], Setup]:
    """The change that multiplies both ends of each of the generator's weighted ranges."""

    def change(setup: Setup) -> Setup:
        ranges = [[round(low * factor), round(high * factor), weight] for low, high, weight in setup.plan[key]]
        return setup._replace(plan=setup.plan | {key: ranges})

    return change


def _shifted(key: str, difference: int) -> Callable[[Setup], Setup]:
    """The change that adds to both ends of one of the generator's ranges."""

    def change(setup: Setup) -> Setup:
        low, high = setup.plan[key]
        return setup._replace(plan=setup.plan | {key: [low + difference, high + difference]})

    return change


def _use(knot: int, difference: float) -> Callable[[Setup], Setup]:
    """The change that adds to the use at one place, in prompts of every length."""

    def change(setup: Setup) -> Setup:
        position = deepcopy(setup.position)
        for curve in position["length"]:
            curve["use"][knot] = min(1.0, curve["use"][knot] + difference)
        return setup._replace(position=position)

    return change


def _option(*options: str) -> Callable[[Setup], Setup]:
    return lambda setup: setup._replace(options=options)


CHANGES: Mapping[str, Callable[[Setup], Setup]] = {
    "as fitted": lambda setup: setup,
    "generator: sessions 10 % longer": _ranges("lengths", 1.1),
    "generator: two more policy rules": _shifted("rules", 2),
    "generator: needs 25 % later": _ranges("distances", 1.25),
    "latency: overhead + 10 %": _scaled("latency", "overhead_s", 1.1),
    "latency: time of a prompt token + 10 %": _scaled("latency", "per_token_s", 1.1),
    "latency: time of a reply's token + 10 %": _scaled("latency", "inter_token_s", 1.1),
    "latency: no noise": _scaled("latency", "noise_sigma", 0),
    "position: use at the head - 2 points": _use(0, -0.02),
    "position: use in the middle - 5 points": _use(1, -0.05),
    "position: use at the end - 5 points": _use(2, -0.05),
    "setting, not fitted: summary of 600 tokens": _option("--summary-target-tokens", "600"),
    "setting, not fitted: summary of 1,000 tokens": _option("--summary-target-tokens", "1000"),
    "setting, not fitted: 4 turns stay": _option("--summary-threshold", "4"),
    "setting, not fitted: 8 turns stay": _option("--summary-threshold", "8"),
    "setting, not fitted: with the fact card": _option("--fact-card"),
}


def rows(sessions: int, seed: int) -> Iterator[tuple[str, list[float]]]:
    """The figures of each change."""
    fitted = Setup(
        dict(load_grammar("en").plan),
        tomllib.loads(data_file("simulate/latency/article.toml").read_text(encoding="utf-8")),
        tomllib.loads(data_file("score/position/article.toml").read_text(encoding="utf-8")),
    )
    with tempfile.TemporaryDirectory() as folder:
        for title, change in CHANGES.items():
            document = _compared(change(fitted), sessions, seed, Path(folder))
            yield title, [_value(document["modes"][figure.mode], figure) for figure in FIGURES]


def _compared(setup: Setup, sessions: int, seed: int, folder: Path) -> Data:
    """The comparison's results under one setup."""
    logs, latency, position = folder / "sessions.jsonl", folder / "latency.toml", folder / "position.toml"
    with logs.open("w", encoding="utf-8") as file:
        for record in generate_sessions(sessions, seed, plan=setup.plan):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    latency.write_text(_toml(setup.latency), encoding="utf-8")
    position.write_text(_toml(setup.position), encoding="utf-8")
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    profiles = ["--latency-profile", str(latency), "--position-profile", str(position)]
    with contextlib.redirect_stdout(io.StringIO()):  # in this process, so that the vocabulary is loaded once
        app(
            ["compare", str(logs), "--config", str(TABLE), "-q", *profiles, "-o", str(results), *setup.options],
            standalone_mode=False,
        )
    made: Data = json.loads(results.read_text(encoding="utf-8"))
    return made


def _toml(table: Data) -> str:
    """A profile as a file; JSON's numbers, strings and arrays are TOML's too."""
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items() if key not in lists]
    for key, items in lists.items():
        for item in items:
            lines += [f"[[{key}]]", *(f"{name} = {json.dumps(value)}" for name, value in item.items())]
    return "\n".join(lines) + "\n"


def _value(mode: Data, figure: Figure) -> float:
    value: Any = mode
    for key in figure.path:
        value = value[key]
    return float(value) / figure.unit


def main(sessions: int, seed: int) -> None:
    """Print the figures as fitted, and for each change the figures and how far they moved."""
    print(f"| parameter | {' | '.join(figure.title for figure in FIGURES)} |")
    print(f"|---|{'--:|' * len(FIGURES)}")
    first: list[float] = []
    for title, values in rows(sessions, seed):
        first = first or values
        cells = [
            format(value, figure.form) + ("" if value == base else f" ({value - base:+{figure.form}})")
            for figure, value, base in zip(FIGURES, values, first, strict=True)
        ]
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
