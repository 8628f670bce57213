"""`ctxmode generate`: labelled customer-service sessions from a seed."""

from typing import Annotated, Literal

import typer

from ctxmode_cli.errors import CtxmodeError


def generate(
    sessions: Annotated[int, typer.Option("--sessions", "-n", help="How many sessions, at least one.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same bytes.")] = 0,
    lang: Annotated[Literal["zh", "en", "both"], typer.Option("--lang", help="Language of the sessions.")] = "both",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help='The file to write, such as s.jsonl; "-" is stdout.')
    ] = "-",
) -> None:
    """Write labelled customer-service sessions, as JSON lines or as FILE's extension says.

    Each option can also be set in the environment, as CTXMODE_ and its name.
    """
    if sessions < 1:
        raise CtxmodeError(f"cannot generate {sessions} sessions", hint="--sessions is a whole number from 1 up")
    from ctxmode_cli.conversation.files import open_writer
    from ctxmode_cli.conversation.parse import parse_conversation
    from ctxmode_cli.generate.sessions import generate_sessions

    langs = ("zh", "en") if lang == "both" else (lang,)
    with open_writer(output) as writer:
        for record in generate_sessions(sessions, seed, langs):
            writer.write(parse_conversation(record, where=record["id"], default_id=record["id"]))
