"""`ctxmode modes`: the modes there are."""

from ctxmode_cli.commands.console import write_result
from ctxmode_cli.context.config import ContextMode

DESCRIPTIONS = {
    ContextMode.ZERO: "system messages and the current input only",
    ContextMode.FULL: "everything so far, trimmed only where the model's window forces it",
    ContextMode.SLIDING: "the most recent complete turns and the current input",
    ContextMode.SUMMARY: "the older part as one summary, the last turns verbatim",
}


def modes() -> None:
    """List the context modes."""
    for mode, description in DESCRIPTIONS.items():
        write_result(f"{mode:<8} {description}\n")
