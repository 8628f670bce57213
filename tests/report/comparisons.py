"""What the fixture `build` makes comparisons with."""

from collections.abc import Callable

from ctxmode_cli.replay.results import Comparison

Build = Callable[..., Comparison]
