"""`ctxmode modes`: the modes there are."""

import sys

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
        sys.stdout.write(f"{mode:<8} {description}\n")
