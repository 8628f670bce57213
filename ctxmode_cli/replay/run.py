"""The serial engine: every conversation through the replay, its rows to whoever keeps them, its counts to the totals."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.replay.results import Totals
from ctxmode_cli.replay.session import Replay, SessionReplay

Item = TypeVar("Item")
Made = TypeVar("Made")


def run(
    conversations: Iterable[Conversation],
    replay: Replay,
    *,
    keep: Callable[[SessionReplay], None],
    reject: Callable[[CtxmodeError], None],
    concurrency: int = 1,
) -> Totals:
    """Replay all conversations and hand them on in their order.

    Args:
        conversations: Read one at a time; no more are held than are replayed side by side.
        replay: What each goes through.
        keep: Is handed each replayed conversation, for example to write its rows.
        reject: Is handed the error of a conversation that cannot be replayed, and raises where that ends the run.
        concurrency: How many are replayed side by side, in threads: a gain only where they wait for a live endpoint.
    """
    totals = Totals(replay)
    for session in replayed(conversations, replay, reject=reject, concurrency=concurrency):
        totals.add(session)
        keep(session)
    return totals


def replayed(
    conversations: Iterable[Conversation],
    replay: Callable[[Conversation], Made],
    *,
    reject: Callable[[CtxmodeError], None],
    concurrency: int = 1,
) -> Iterator[Made]:
    """What a replay makes of each conversation, in their order; those that it cannot replay are left out.

    Args: as for `run`, with a replay that may make anything.
    """

    def attempt(conversation: Conversation) -> Made | CtxmodeError:
        try:
            return replay(conversation)
        except CtxmodeError as error:
            return CtxmodeError(error.message, hint=error.hint, where=conversation.where)

    for made in _ordered_map(attempt, conversations, concurrency):
        if isinstance(made, CtxmodeError):
            reject(made)
        else:
            yield made


def _ordered_map(function: Callable[[Item], Made], items: Iterable[Item], concurrency: int) -> Iterator[Made]:
    """What a function makes of each item, in the order of the items; so many at a time are under way."""
    if concurrency == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(concurrency)
    under_way: deque[Future[Made]] = deque()
    try:
        for item in items:
            under_way.append(pool.submit(function, item))
            if len(under_way) == concurrency:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(wait=False)  # nobody waits for answers that an error leaves unread
