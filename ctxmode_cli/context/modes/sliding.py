"""`sliding`: the most recent complete turns."""

from dataclasses import dataclass

from ctxmode_cli.context.config import Budget
from ctxmode_cli.context.history import History
from ctxmode_cli.context.plan import Plan, State


@dataclass(frozen=True, slots=True)
class Sliding:
    """Send the last complete turns: let the window grow to `turns`, then cut it back to `low`.

    With `low` below `turns` the window's start stays put for a while, so that a provider's prompt cache survives.
    """

    turns: int
    low: int

    def __call__(self, history: History, budget: Budget, state: State) -> tuple[Plan, State]:  # noqa: ARG002
        """The window's start; it moves only when the window is full, or where a late result has joined turns."""
        complete = history.complete_turns
        first = state.window_turn
        if not self.low <= complete - first <= self.turns:
            first = max(0, complete - self.low)
        if first != state.window_turn:
            state = state._replace(window_turn=first)
        return Plan(history.window_start(first)), state
