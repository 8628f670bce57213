"""Sessions in a real Redis on this machine: they expire there, and processes that share them wait for each other."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dialogues import MODEL, Digest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as NoConnectionError
from redis.retry import Retry

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.redis_sessions import RedisSessionStore
from ctxmode_cli.context.sessions import MemorySessionStore, Sessions
from ctxmode_cli.errors import CtxmodeError

SLIDING = ContextConfig(mode="sliding", model=MODEL)
SUMMARY = ContextConfig(mode="summary", model=MODEL, summary_threshold=1, summary_every=0, fact_card=True)

WORKER = """
import sys
from redis import Redis
from ctxmode_cli import ContextConfig, RedisSessionStore, Sessions

name, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sessions = Sessions(RedisSessionStore(Redis(port=port), 60), ContextConfig(mode="sliding", model="gpt-4o"))
for number in range(count):
    with sessions.open("shared") as manager:
        manager.append({"role": "user", "content": f"{name}{number}"})
        manager.append({"role": "assistant", "content": f"to {name}{number}"})
"""


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server of our own, which keeps nothing on disk."""
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    folder = tmp_path_factory.mktemp("redis")
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    with Redis(port=port, retry=Retry(NoBackoff(), 0)) as client:
        while True:
            try:
                client.ping()
            except NoConnectionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return


@pytest.fixture
def client(redis_port: int) -> Iterator[Redis]:
    """A client of an empty server."""
    with Redis(port=redis_port) as connected:
        connected.flushall()
        yield connected


def test_sessions_in_redis_are_those_in_memory(client: Redis) -> None:
    """Both stores give the same requests, for two sessions that take turns."""
    in_redis = Sessions(RedisSessionStore(client, 60), SUMMARY, Digest(5))
    in_memory = Sessions(MemorySessionStore(60), SUMMARY, Digest(5))
    for number in range(10):
        built = []
        for sessions in (in_redis, in_memory):
            with sessions.open(["a", "会话 b"][number % 2]) as manager:
                built.append(manager.build_request_messages(f"预算 {number * 77} 元 \ud83d"))
                manager.append({"role": "assistant", "content": "ok"})
        assert built[0] == built[1]
    assert sorted(client.keys()) == [b"ctxmode:text:a", "ctxmode:text:会话 b".encode()]


def test_a_client_that_decodes_will_do(redis_port: int, client: Redis) -> None:
    """Whether the caller's client gives bytes or text makes no difference."""
    with Redis(port=redis_port, decode_responses=True) as decoding:
        for one in (client, decoding, client):
            with Sessions(RedisSessionStore(one, 60), SLIDING).open("x") as manager:
                manager.append({"role": "user", "content": "你好"})
        with Sessions(RedisSessionStore(decoding, 60), SLIDING).open("x") as manager:
            assert len(manager.history) == 3


def test_sessions_expire_in_redis(client: Redis) -> None:
    """Each request gives the session its whole time again; once that is over, it begins anew."""
    sessions = Sessions(RedisSessionStore(client, 100), SLIDING)
    for _ in range(2):
        with sessions.open("x") as manager:
            manager.append({"role": "user", "content": "hi"})
        assert 99 <= client.ttl("ctxmode:text:x") <= 100
        client.expire("ctxmode:text:x", 50)
    client.pexpire("ctxmode:text:x", 1)
    time.sleep(0.01)
    with sessions.open("x") as manager:
        assert len(manager.history) == 0


def test_prefixes_keep_programs_apart(client: Redis) -> None:
    """Two programs on one server may use the same ids; and no id is another session's lock."""
    for prefix in ("one:", "two:"):
        with Sessions(RedisSessionStore(client, 60, prefix), SLIDING).open("x") as manager:
            assert len(manager.history) == 0
            manager.append({"role": "user", "content": "hi"})
    assert sorted(client.keys()) == [b"one:text:x", b"two:text:x"]


def test_a_session_that_is_held_in_redis_is_waited_for(client: Redis) -> None:
    """A second request waits; after its time to wait, an error names the session; the lock is then given back."""
    sessions = Sessions(RedisSessionStore(client, 60, wait_s=0.05), SLIDING)
    with sessions.open("x"):
        with pytest.raises(CtxmodeError, match=r'session "x": another request has held it for 0\.05 seconds'):
            sessions.open("x").__enter__()
        with sessions.open("y"):
            pass
    assert client.keys("*lock*") == []


def test_a_request_that_outlasts_its_lock_is_not_stored(client: Redis) -> None:
    """Where a lock ran out and another request went on, the slow one is an error, and overwrites nothing."""
    slow = Sessions(RedisSessionStore(client, 60, hold_s=0.05), SLIDING)
    quick = Sessions(RedisSessionStore(client, 60), SLIDING)

    def slow_request() -> None:
        with slow.open("x") as one:
            one.append({"role": "user", "content": "slow"})
            while client.exists("ctxmode:lock:x"):
                time.sleep(0.01)
            with quick.open("x") as other:
                other.append({"role": "user", "content": "quick"})

    with pytest.raises(CtxmodeError, match='session "x": the request took longer than its lock'):
        slow_request()
    with quick.open("x") as manager:
        assert [message.content for message in manager.history.messages] == ["quick"]


def test_a_block_that_fails_stores_nothing_in_redis(client: Redis) -> None:
    """Where the model does not answer, nothing is stored, and the session is free again."""
    sessions = Sessions(RedisSessionStore(client, 60), SLIDING)

    def request_without_answer() -> None:
        with sessions.open("x") as manager:
            manager.build_request_messages("hi")
            raise TimeoutError

    with pytest.raises(TimeoutError):
        request_without_answer()
    assert client.keys() == []


def test_damaged_text_in_redis_names_the_session(client: Redis) -> None:
    """Bytes that are no session, not even text, are an error of that session."""
    client.set("ctxmode:text:x", b"\xff\xfe")
    with (
        pytest.raises(CtxmodeError, match='session "x": it is damaged'),
        Sessions(RedisSessionStore(client, 60), SLIDING).open("x"),
    ):
        pass


def test_a_server_that_is_gone_is_one_of_our_errors() -> None:
    """Where nobody answers, the error says that it is the store."""
    with Redis(port=1, retry=Retry(NoBackoff(), 0)) as nobody:
        sessions = Sessions(RedisSessionStore(nobody, 60), SLIDING)
        with pytest.raises(CtxmodeError, match="the session store in Redis failed"), sessions.open("x"):
            pass


def test_two_processes_share_a_session(redis_port: int, client: Redis) -> None:
    """Two processes that append to one session at the same time lose nothing, and no exchange is torn apart."""
    count = 15
    root = Path(__file__).resolve().parents[2]
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, name, str(redis_port), str(count)], cwd=root)
        for name in ("a", "b")
    ]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    messages = json.loads(client.get("ctxmode:text:shared"))["messages"]
    said = [message["content"] for message in messages]
    assert [f"to {text}" for text in said[::2]] == said[1::2]
    for name in ("a", "b"):
        assert [text for text in said[::2] if text[0] == name] == [f"{name}{number}" for number in range(count)]
    alone = ContextManager(SLIDING)
    for message in messages:
        alone.append(message)
    with Sessions(RedisSessionStore(client, 60), SLIDING).open("shared") as manager:
        assert manager.build_request_messages("and now?") == alone.build_request_messages("and now?")
