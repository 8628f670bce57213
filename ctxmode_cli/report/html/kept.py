"""What a page shows of single conversations: kept while a replay runs, since a comparison has only what adds up."""

from ctxmode_cli.replay.session import Replay, SessionReplay
from ctxmode_cli.report.html.blocks import Offers
from ctxmode_cli.report.html.cases import Cases


class Kept:
    """The worst conversations, and the requests to play with; takes no more room for a large log than for a small one.

    Args:
        replay: What sessions are replayed with.
    """

    def __init__(self, replay: Replay) -> None:
        self.cases = Cases(replay)
        self.offers = Offers(replay)

    def add(self, session: SessionReplay) -> None:
        """Look at one replayed conversation."""
        self.cases.add(session)
        self.offers.add(session)
