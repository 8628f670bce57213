"""`ctxmode modes`."""

from command_line import Ctxmode

from ctxmode_cli.context.config import ContextMode


def test_every_mode_is_described(ctxmode: Ctxmode) -> None:
    """Each mode that can be asked for is one line: its name and what it sends."""
    result = ctxmode("modes")
    assert (result.code, result.err) == (0, "")
    lines = [line.split(maxsplit=1) for line in result.out.splitlines()]
    assert [name for name, _ in lines] == list(ContextMode)
    assert all(len(description) > 10 for _, description in lines)
