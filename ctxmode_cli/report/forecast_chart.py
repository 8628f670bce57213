"""A forecast's chart for the terminal: cost against turns, a line a mode."""

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10

from ctxmode_cli.report.visible import visible

HEIGHT = 16
"""Lines of a chart, title and turns included."""
PIPE_WIDTH = 80
LEAST_WIDTH = 40
_STEPS = 4
"""Into which a ruler is divided, about."""
_PLAIN_MARKERS = "*+ox#%@="
"""Tell lines apart where there are no colours."""


def chart(
    title: str,
    lines: Mapping[str, Sequence[float]],
    form: Callable[[float], str],
    *,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """The values at 1, 2, … as lines.

    Args:
        title: What they are.
        lines: At least one value each, all as many, by name.
        form: A value for people.
        width: Columns of the terminal; None for a pipe.
        colour: Whether to tell lines apart by colour; else by what they are drawn with.
    """
    import plotext  # noqa: PLC0415 - it takes a quarter of a second, and only this chart needs it

    plotext.terminal.limit(width=False, height=False)  # else the terminal cuts what goes into a pipe or a file
    figure = plotext.figure
    figure.clear()
    figure.plot_size(max(LEAST_WIDTH, width or PIPE_WIDTH), HEIGHT)
    figure.theme("simple")
    figure.title(title)
    for index, (name, values) in enumerate(lines.items()):
        marker = "braille" if colour else _PLAIN_MARKERS[index % len(_PLAIN_MARKERS)]
        signal = figure.signal(list(range(1, len(values) + 1)), list(values), marker=marker)
        figure.draw(signal.lines().label(visible(name)))
    length = max(map(len, lines.values()))
    top = max(max(values) for values in lines.values()) or 1.0
    turns = sorted({1, *(round(length * part / _STEPS) for part in range(1, _STEPS + 1))} - {0})
    step = _round_step(top / _STEPS)
    costs = [step * number for number in range(int(top / step) + 1)]
    figure.ruler("x").ticks(turns, [f"{turn:,}" for turn in turns])
    figure.ruler("y").lim(0, top)
    figure.ruler("y").ticks(costs, [form(cost) for cost in costs])
    text: str = figure.build().string(colorless=not colour)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _round_step(least: float) -> float:
    """The least step of 1, 2 or 5 and zeros that is not smaller."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least)
