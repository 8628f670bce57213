"""Makes the figures of this report anew: `python reports/article/run.py [--reduced] [FIGURE …]`.

What a figure is stands in figures.toml. Its commands run in an empty folder in which `reports` is this project's, so that
they read as they are typed at the project's root, and the names of files in their output are the same everywhere.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any

ARTICLE = Path(__file__).resolve().parent
ROOT = ARTICLE.parents[1]
README = ARTICLE / "README.md"
PROGRAMS = {"ctxmode": [sys.executable, "-m", "ctxmode_cli"], "python": [sys.executable]}
"""What the first word of a command starts."""

Names = Mapping[str, Any]
"""What the names between braces in figures.toml stand for; a list stands for each of its items in turn."""


@dataclass(frozen=True, slots=True)
class Value:
    """One number of a figure, and where it stands in what the commands wrote."""

    label: str
    file: str
    path: Sequence[str | int]
    """Keys and indexes in the file's JSON, from the outside in."""
    show: str = ""
    """How it is written: a format specification, such as `.1%`."""
    expected: str = ""
    """What the published comparison says, or leads one to expect."""
    within: tuple[float, float] | None = None
    """The least and the most at which the statement holds; None where the number is there to be read only."""

    def shown(self, file: Path) -> str:
        """The number in a file, and whether the statement holds with it."""
        number = read_value(file, self.path)
        if number is None:
            return "–"
        if number is None:
            return "–"
        written = format(number, self.show)
        if self.within is None:
            return written
        low, high = self.within
        return f"{written} {'✓' if low <= number <= high else '✗'}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One statement of the published comparison, and the commands that test it."""

    name: str
    title: str
    claim: str
    """What the figure is to show, in a sentence."""
    commands: Sequence[str]
    files: Sequence[str]
    """Those of the written files that are kept, and compared with the ones that were kept before."""
    values: Sequence[Value]
    column: str = "here"
    """Heading of the numbers; where a name in it is a list, there is a column for each of its items."""
    table: str = ""
    """One of the files, which stands on the page instead of single values; Markdown."""

    @property
    def needs_data(self) -> bool:
        """Whether it is made of logs that do not come with the project."""
        return any(" data/" in command for command in self.commands)

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "Figure":
        """The figure that a table of figures.toml describes."""
        return cls(**{**table, "values": [Value(**value) for value in table.get("values", ())]})


def read_figures(size: str) -> tuple[list[Figure], Names]:
    """All figures, and what their names stand for at one size: `full` or `reduced`.

    Pages are kept at full size alone: each has the script that draws its charts, a megabyte.
    """
    data = tomllib.loads((ARTICLE / "figures.toml").read_text(encoding="utf-8"))
    for table in data["figures"]:
        pages = table.pop("pages", [])
        table["files"] += pages if size == "full" else []
    return [Figure.of(table) for table in data["figures"]], {**data["shared"], **data[size]}


def filled(texts: Sequence[str], names: Names) -> Iterator[list[str]]:
    """Texts with what their names stand for, once for each choice where a name stands for several."""
    found = list(dict.fromkeys(name for text in texts for _, name, _, _ in Formatter().parse(text) if name))
    choices = [names[name] if isinstance(names[name], list) else [names[name]] for name in found]
    for chosen in product(*choices):
        yield [text.format(**dict(zip(found, chosen, strict=True))) for text in texts]


def filled_each(texts: Iterable[str], names: Names) -> list[str]:
    """The same of single texts, one after the other."""
    return [done for text in texts for [done] in filled([text], names)]


def make(figures: Iterable[Figure], names: Names, out: Path, data: Path | None = None) -> None:
    """Run the commands of figures, and keep their files in a folder; a command that several figures have runs once."""
    out.mkdir(parents=True, exist_ok=True)
    done = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reports").symlink_to(ROOT / "reports", target_is_directory=True)
        if data is not None:
            (folder / "data").symlink_to(data.resolve(), target_is_directory=True)
        for figure in figures:
            print(figure.title, file=sys.stderr)
            for command in filled_each(figure.commands, names):
                if command not in done:
                    _run(command, folder)
                    done.add(command)
            for file in filled_each(figure.files, names):
                shutil.copyfile(folder / file, out / file)


def _run(command: str, folder: Path) -> None:
    """Run one command as a shell would, with `> file` at its end or without; none of the user's settings counts."""
    print(f"  {command}", file=sys.stderr)
    words, _, target = command.partition(" > ")
    program, *arguments = shlex.split(words)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CTXMODE_", "OPENAI_"))}
    finished = subprocess.run(
        [*PROGRAMS[program], *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    if finished.returncode:
        sys.stderr.buffer.write(finished.stderr)
        sys.exit(f"exit code {finished.returncode}")
    if target:
        (folder / target).write_bytes(finished.stdout)


def with_results(text: str, figures: Iterable[Figure], names: Names, folder: Path) -> str:
    """A page with each figure between its two markers, whatever stood there before: title, claim, commands, numbers."""
    for figure in figures:
        begin, end = f"<!-- begin {figure.name} -->", f"<!-- end {figure.name} -->"
        between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        section = (f"## {figure.title}", figure.claim, _commands(figure, names), _table(figure, names, folder))
        made = "\n\n".join([begin, *section, end])
        text, count = between.subn(lambda _, made=made: made, text)  # type: ignore[misc]
        if count != 1:
            sys.exit(f"{README.name} has {count} places for the figure {figure.name}")
    return text


def _commands(figure: Figure, names: Names) -> str:
    return "\n".join(["```bash", *filled_each(figure.commands, names), "```"])


def _table(figure: Figure, names: Names, folder: Path) -> str:
    """The figure's own table, else a row for each value, a column for each choice that the figure's heading names."""
    if figure.table:
        return (folder / figure.table).read_text(encoding="utf-8").strip()
    columns = filled_each([figure.column], names)
    rows = [["", "expected", *columns], ["---", "---", *["--:"] * len(columns)]]
    for value in figure.values:
        files = [file for _, file in filled([figure.column, value.file], names)]
        rows.append([value.label, value.expected or "–", *(value.shown(folder / file) for file in files)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def read_value(file: Path, path: Sequence[str | int]) -> Any:
    """What stands in a JSON file at the end of a path, None where it could not be evaluated; of counts by name, their sum."""
    found = reduce(
        lambda node, key: None if node is None else node[key], path, json.loads(file.read_text(encoding="utf-8"))
    )
    return sum(found.values()) if isinstance(found, dict) else found


def main() -> None:
    """Make the figures that are named, or all; at full size, write the page with their numbers."""
    parser = argparse.ArgumentParser(description="Make the figures of this report anew.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="names from figures.toml (default: all)")
    parser.add_argument("--reduced", action="store_true", help="fewer sessions: half a minute")
    parser.add_argument("--into", type=Path, help="folder of the results (default: full or reduced, beside this file)")
    parser.add_argument(
        "--data", type=Path, help="folder of labelled logs; without it, no figure that takes them is made"
    )
    arguments = parser.parse_args()
    size = "reduced" if arguments.reduced else "full"
    figures, names = read_figures(size)
    unknown = set(arguments.figures) - {figure.name for figure in figures}
    if unknown:
        parser.error(f"no figure is called {', '.join(sorted(unknown))}")
    chosen = [figure for figure in figures if figure.name in arguments.figures or not arguments.figures]
    if arguments.data is None:
        for figure in (figure for figure in chosen if figure.needs_data):
            print(f"{figure.title}: left as it is, since no --data is given", file=sys.stderr)
        chosen = [figure for figure in chosen if not figure.needs_data]
    make(chosen, names, arguments.into or ARTICLE / size, arguments.data)
    if size == "full" and arguments.into is None:
        page = README.read_text(encoding="utf-8")
        README.write_text(with_results(page, chosen, names, ARTICLE / size), encoding="utf-8")


if __name__ == "__main__":
    main()
