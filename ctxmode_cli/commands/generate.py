"""`ctxmode generate`: labelled customer-service sessions from a seed."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from ctxmode_cli.errors import CtxmodeError


def generate(
    sessions: Annotated[int, typer.Option("--sessions", "-n", help="How many sessions, at least one.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same bytes.")] = 0,
    lang: Annotated[Literal["zh", "en", "both"], typer.Option("--lang", help="Language of the sessions.")] = "both",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A .jsonl file instead of stdout.")
    ] = None,
) -> None:
    """Write labelled customer-service sessions as JSONL, one record a line."""
    if sessions < 1:
        raise CtxmodeError(f"cannot generate {sessions} sessions", hint="--sessions is a whole number from 1 up")
    from ctxmode_cli.generate.sessions import generate_sessions

    langs = ("zh", "en") if lang == "both" else (lang,)
    with _opened(output) as file:
        for record in generate_sessions(sessions, seed, langs):
            file.write(_line(record))


def _line(record: dict[str, Any]) -> bytes:
    """The record in UTF-8 whatever the locale says, so that every platform writes the same bytes."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    """Stdout, or a file that takes its name only when it is complete."""
    if path is None:
        yield sys.stdout.buffer
        return
    if path.suffix != ".jsonl":
        raise CtxmodeError("sessions are written as JSONL", hint=f"name it {path.stem}.jsonl", where=str(path))
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise CtxmodeError(f"cannot write: {error.strerror}", where=str(path)) from None
    finally:
        if part.is_file():
            part.unlink()
