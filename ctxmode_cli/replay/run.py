"""The serial engine: every conversation through the replay, its rows to whoever keeps them, its counts to the totals."""

from collections.abc import Callable, Iterable

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Totals
from ctxmode_cli.replay.session import Replay, SessionReplay


def run(
    conversations: Iterable[Conversation],
    replay: Replay,
    *,
    keep: Callable[[SessionReplay], None],
    reject: Callable[[CtxmodeError], None],
) -> Totals:
    """Replay all conversations, one after another.

    Args:
        conversations: Read one at a time; none is held.
        replay: What each goes through.
        keep: Is handed each replayed conversation, for example to write its rows.
        reject: Is handed the error of a conversation that cannot be replayed, and raises where that ends the run.
    """
    totals = Totals(replay)
    for conversation in conversations:
        try:
            session = replay(conversation)
        except CtxmodeError as error:
            reject(CtxmodeError(error.message, hint=error.hint, where=conversation.where))
            continue
        totals.add(session)
        keep(session)
    return totals
