"""Sessions in Redis, for processes that share them; needs the extra `redis`."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from ctxmode_cli.context.sessions import HeldSession, session_is_busy
from ctxmode_cli.errors import CtxmodeError

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import Pipeline
    from redis.lock import Lock


class RedisSessionStore:
    """Keeps sessions in Redis, each as a text that expires.

    Args:
        client: The caller's client; a time-out on its socket is a time-out here.
        ttl_s: Seconds that a session is kept after its last request.
        prefix: Begins every key, so that one server serves several programs.
        wait_s: Seconds to wait for a session that another request holds.
        hold_s: Seconds that a request may hold a session, its model's answer included. After that the session is free
            for others, so that a process that died blocks nobody, and the slow request is not stored.
    """

    def __init__(
        self, client: "Redis", ttl_s: int, prefix: str = "ctxmode:", *, wait_s: float = 60, hold_s: float = 300
    ) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._prefix = prefix
        self._wait_s = wait_s
        self._hold_s = hold_s

    @contextmanager
    def hold(self, session_id: str) -> Iterator[HeldSession]:
        """The session for one request alone, in whichever process.

        Raises:
            CtxmodeError: It was not free in time, or the server cannot be reached.
        """
        from redis.exceptions import RedisError  # noqa: PLC0415 - an extra; who has a client has it

        name = f"{self._prefix}lock:{session_id}"
        lock = self._client.lock(name, timeout=self._hold_s, blocking_timeout=self._wait_s)
        with _reached():
            free = lock.acquire()
        if not free:
            raise session_is_busy(session_id, self._wait_s)
        try:
            yield _HeldInRedis(self._client, lock, session_id, f"{self._prefix}text:{session_id}", self._ttl_s)
        finally:
            with suppress(RedisError):  # a lock that cannot be given back expires
                lock.release()


class _HeldInRedis(NamedTuple):
    client: "Redis"
    lock: "Lock"
    session_id: str
    key: str
    ttl_s: int

    def load(self) -> str | None:
        with _reached():
            stored = self.client.get(self.key)
        return stored.decode(errors="replace") if isinstance(stored, bytes) else stored

    def save(self, text: str) -> None:
        """Keep the text, unless the lock has run out: then another request may have gone on from the older text."""

        def store(pipeline: "Pipeline") -> None:
            if not self.lock.owned():
                raise CtxmodeError(
                    "the request took longer than its lock holds, and is not stored",
                    hint="raise hold_s above the slowest answer of the model",
                    where=f'session "{self.session_id}"',
                )
            pipeline.multi()
            pipeline.set(self.key, text, ex=self.ttl_s)

        with _reached():
            # Watched, so that a lock that runs out between the look at it and the writing stops the writing.
            self.client.transaction(store, self.lock.name)


@contextmanager
def _reached() -> Iterator[None]:
    from redis.exceptions import RedisError  # noqa: PLC0415 - an extra; who has a client has it

    try:
        yield
    except RedisError as error:
        raise CtxmodeError(f"the session store in Redis failed: {error}") from None
