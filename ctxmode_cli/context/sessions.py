"""Many sessions, each kept between its requests: the messages and the mode's state, for a time to live."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import asdict, replace
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from cachetools import TTLCache

from ctxmode_cli.context.card_facts import FactExtractor, extract_card_facts
from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.history import History
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import Summarizer
from ctxmode_cli.context.session_record import NEW_SESSION, SessionRecord, read_record, write_record
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import TokenCounter


class HeldSession(Protocol):
    """One session's text, while nobody else can read or write it."""

    def load(self) -> str | None:
        """What was saved last; None for a new session, or one whose time is over."""
        ...

    def save(self, text: str) -> None:
        """Keep the text for the store's time to live."""
        ...


class SessionStore(Protocol):
    """Where sessions are kept: a text for each id."""

    def hold(self, session_id: str) -> AbstractContextManager[HeldSession]:
        """The session for one user alone: a second request of it waits until the first has ended.

        Raises:
            CtxmodeError: It was not free in time, or the store cannot be reached.
        """
        ...


class Sessions:
    """Opens sessions, each as a `ContextManager` that goes on where the last request of that session ended.

    Args:
        store: Where they are kept.
        config: The mode that a session begins with, and its settings.
        summarizer: What the summary mode calls; requests of several sessions may call it at the same time.
        extractor: Reads the facts for the fact card; likewise.
        tools: Tool schemas that go with every request.

    Raises:
        CtxmodeError: The model is unknown.
    """

    def __init__(
        self,
        store: SessionStore,
        config: ContextConfig,
        summarizer: Summarizer | None = None,
        extractor: FactExtractor = extract_card_facts,
        *,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._store = store
        self._config = config
        self._summarizer = summarizer
        self._extractor = extractor
        self._tools = deepcopy(tools)
        self._counter = TokenCounter.for_model(config.model)

    @contextmanager
    def open(self, session_id: str) -> Iterator[ContextManager]:
        """The session under its lock: begun or read back, and stored when the block ends; not where it raises.

        A mode that was changed in the block stays changed. The block of one request holds all of it, the model's
        answer too, or else another request comes between question and answer.

        Raises:
            CtxmodeError: The id is no text or empty, the session is not free in time, or what is stored cannot be read.
        """
        if not isinstance(session_id, str) or not session_id:
            raise CtxmodeError(f"a session's id is a text that is not empty, not {session_id!r}")
        with self._store.hold(session_id) as held:
            text = held.load()
            with _about(session_id):
                manager = self._manager(NEW_SESSION if text is None else read_record(text, self._counter))
            yield manager
            with _about(session_id):
                text = write_record(SessionRecord(manager.history.messages, manager.state, self._changed(manager)))
            held.save(text)

    def _manager(self, record: SessionRecord) -> ContextManager:
        history = History(self._counter, tools=self._tools)
        for message in record.messages:
            history.append(message)
        return ContextManager(
            _with_settings(self._config, record.settings),
            summarizer=self._summarizer,
            extractor=self._extractor,
            history=history,
            state=record.state,
        )

    def _changed(self, manager: ContextManager) -> dict[str, Any]:
        """The settings that the session has of its own: what else is changed for all reaches it too."""
        common = asdict(self._config)
        return {name: value for name, value in asdict(manager.config).items() if value != common[name]}


def _with_settings(config: ContextConfig, settings: Mapping[str, Any]) -> ContextConfig:
    try:
        return replace(config, **settings)
    except TypeError as error:
        raise CtxmodeError(f"its settings are damaged ({error})") from None


@contextmanager
def _about(session_id: str) -> Iterator[None]:
    """Name the session in an error about it."""
    try:
        yield
    except CtxmodeError as error:
        error.where = f'session "{session_id}"'
        raise


class MemorySessionStore:
    """Keeps sessions in this process, for its threads.

    Args:
        ttl_s: Seconds that a session is kept after its last request.
        most: Sessions at most; beyond them, the one whose last request is longest ago goes.
        wait_s: Seconds to wait for a session that another request holds.
        timer: Seconds from any start on.
    """

    def __init__(
        self, ttl_s: float, most: int = 10_000, wait_s: float = 60, *, timer: Callable[[], float] = monotonic
    ) -> None:
        self._texts: TTLCache[str, str] = TTLCache(most, ttl_s, timer)
        self._wait_s = wait_s
        self._guard = Lock()
        """Held for each look at the two tables, since neither is safe with threads."""
        self._locks: WeakValueDictionary[str, Any] = WeakValueDictionary()
        """A lock for each session that is held or waited for; it goes with the last who uses it."""

    @contextmanager
    def hold(self, session_id: str) -> Iterator[HeldSession]:
        """The session for one thread alone.

        Raises:
            CtxmodeError: It was not free in time; so it is for a thread that holds it already.
        """
        with self._guard:
            lock = self._locks.setdefault(session_id, Lock())
        if not lock.acquire(timeout=self._wait_s):
            raise session_is_busy(session_id, self._wait_s)
        try:
            yield _HeldInMemory(self._texts, self._guard, session_id)
        finally:
            lock.release()


class _HeldInMemory(NamedTuple):
    texts: "TTLCache[str, str]"
    guard: Any
    session_id: str

    def load(self) -> str | None:
        with self.guard:
            return self.texts.get(self.session_id)

    def save(self, text: str) -> None:
        with self.guard:
            self.texts[self.session_id] = text


def session_is_busy(session_id: str, wait_s: float) -> CtxmodeError:
    """The error for a session that another request holds for too long."""
    return CtxmodeError(
        f"another request has held it for {wait_s:g} seconds", hint="try again later", where=f'session "{session_id}"'
    )
