"""`python -m ctxmode_cli` is `ctxmode`."""

from ctxmode_cli.commands.main import run

run()
