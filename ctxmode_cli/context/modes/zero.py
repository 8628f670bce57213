"""`zero`: system messages and the current input only; the last step down of every other mode."""

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.history import History
from ctxmode_cli.context.plan import Plan, State


def zero(history: History, budget: Budget, state: State) -> tuple[Plan, State]:  # noqa: ARG001 - a mode's signature
    """Send no history."""
    return Plan(history.turn_start), state
