"""The client of live endpoints, over real HTTP against a scripted endpoint."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from endpoint import KEY, Endpoint, Reply, endpoint, wait_until

from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.llm import Completion, Llm, LlmError

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def llm(server: Endpoint, cache: Path | None = None, model: str = "gpt-4o-mini", **settings: Any) -> Llm:
    settings = {"timeout_s": 5.0, "retries": 0, "per_minute": None, **settings}
    return Llm(model, base_url=server.url, cache=cache, **settings)


def entries(cache: Path) -> list[Path]:
    return sorted(cache.iterdir())


# --- one call ---


@pytest.mark.parametrize("stream", [False, True])
def test_answer(stream: bool) -> None:
    """Text, the endpoint's own token counts, and why it ended; whole or in parts."""
    with endpoint([Reply("Good day.")]) as server:
        assert llm(server, stream=stream).complete(HELLO, max_tokens=9) == Completion("Good day.", 11, 7, "stop", False)


def test_what_is_sent() -> None:
    """Model, messages and limit as given, temperature 0 and a seed; schemas and a form of the answer where asked for."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    form = {"type": "json_object"}
    with endpoint() as server:
        model = llm(server)
        model.complete(HELLO, max_tokens=9)
        model.complete(HELLO, max_tokens=9, response_format=form, tools=[tool])
        plain = {"model": "gpt-4o-mini", "messages": HELLO, "max_tokens": 9, "temperature": 0, "seed": 0}
        assert server.bodies == [plain, plain | {"response_format": form, "tools": [tool], "tool_choice": "none"}]
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        (Reply("cut", "length"), "length"),
        (Reply("", "content_filter"), "content_filter"),
        (Reply(None, "stop", refusal="I will not."), "refusal"),
    ],
)
def test_why_an_answer_ends(reply: Reply, finish: str, stream: bool) -> None:
    """An answer that was cut, filtered or refused is an answer that says so."""
    with endpoint([reply]) as server:
        answer = llm(server, stream=stream).complete(HELLO, max_tokens=9)
        assert (answer.finish, answer.text) == (finish, reply.text or "")


def test_text_that_no_encoding_holds() -> None:
    """Half a surrogate pair, which a log may hold, is sent as a question mark."""
    with endpoint() as server:
        llm(server).complete([{"role": "user", "content": "a\ud83d 好"}], max_tokens=9)
        assert server.bodies[0]["messages"][0]["content"] == "a? 好"


# --- failures ---


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_faults_are_retried(status: int) -> None:
    """A call is repeated as often as `retries` says, and counts as one."""
    with endpoint([Reply(status=status, headers={"retry-after-ms": "1"}), Reply("at last")]) as server:
        model = llm(server, retries=1)
        assert model.complete(HELLO, max_tokens=9).text == "at last"
        assert (len(server.bodies), model.calls) == (2, 1)


def test_the_endpoint_says_when_to_come_back() -> None:
    """Retry-After is kept, which is longer than the package's own first wait."""
    with endpoint([Reply(status=429, headers={"Retry-After": "1"}), Reply()]) as server:
        started = time.monotonic()
        llm(server, retries=1).complete(HELLO, max_tokens=9)
        assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(status=429), "Error code: 429 - scripted 429"),
        (Reply(status=500), "Error code: 500"),
        (Reply(status=400), "Error code: 400"),
        (Reply(wait_s=30), "no answer within 0.2 s"),
        (Reply(body=b"{}"), "the answer is no chat completion"),
        (Reply(body=b'{"choices": []}'), "the answer is no chat completion"),
        (Reply(body=b"[1"), "the answer is no chat completion"),
        (Reply(finish=None), "the answer is no chat completion"),
        (Reply(body=b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}'), "no chat completion"),
    ],
)
def test_no_answer(reply: Reply, told: str, tmp_path: Path) -> None:
    """A call that fails for good is an error of the endpoint, in no cache, and asked again the next time."""
    with endpoint([reply, Reply()]) as server:
        model = llm(server, tmp_path, timeout_s=0.2)
        with pytest.raises(LlmError, match=told) as error:
            model.complete(HELLO, max_tokens=9)
        assert error.value.where == server.url
        assert entries(tmp_path) == []
        assert model.complete(HELLO, max_tokens=9).text == "- fine"


def test_stream_that_breaks_off() -> None:
    """A stream that ends before its last part is no answer."""
    with endpoint([Reply(broken=True)]) as server, pytest.raises(LlmError, match="no chat completion"):
        llm(server, stream=True).complete(HELLO, max_tokens=9)


def test_endpoint_that_is_not_there() -> None:
    """A port where nobody listens is an error like any other."""
    with endpoint() as server:
        pass
    with pytest.raises(LlmError, match="Connection error"):
        llm(server).complete(HELLO, max_tokens=9)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_wrong_settings_end_the_run(status: int) -> None:
    """A key or a model that the endpoint does not take is no passing fault: the error says what to set."""
    with endpoint([Reply(status=status)]) as server, pytest.raises(CtxmodeError, match=str(status)) as error:
        llm(server, retries=3).complete(HELLO, max_tokens=9)
    assert not isinstance(error.value, LlmError)
    assert error.value.hint
    assert len(server.bodies) == 1


def test_the_key_is_in_no_message() -> None:
    """An endpoint that repeats the key, and a URL that holds a password, stay unsaid."""
    said = json.dumps({"error": {"message": f"bad header: Bearer {KEY}"}}).encode()
    with endpoint([Reply(status=400, body=said)]) as server:
        server.url = server.url.replace("http://", "http://me:secret@") + "?token=secret"
        model = llm(server)
        assert "secret" not in model.base_url
        with pytest.raises(LlmError, match="bad header: Bearer …") as error:
            model.complete(HELLO, max_tokens=9)
    assert KEY not in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("url", [None, "https://api.example.com/v1", "http://10.0.0.1/v1", "not a url"])
def test_missing_key(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint elsewhere needs a key, and the error says where it is looked for."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(CtxmodeError, match="no key") as error:
        Llm("m", base_url=url, cache=None, timeout_s=1, retries=0, per_minute=None)
    assert "OPENAI_API_KEY" in error.value.hint


@pytest.mark.parametrize("url", ["http://localhost:1/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1"])
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_endpoint_on_this_machine_needs_no_key(url: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server is used without a key, whether an argument names it or the environment."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", url if by == "environment" else "https://api.example.com/v1")
    model = Llm("m", base_url=None if by == "environment" else url, cache=None, timeout_s=1, retries=0, per_minute=None)
    assert model.base_url == url


def test_calls_per_minute() -> None:
    """A call over the rate waits; calls under it do not."""
    with endpoint() as server:
        model = llm(server, per_minute=2)
        texts = [[{"role": "user", "content": str(number)}] for number in range(3)]

        def ask_all() -> None:
            with suppress(LlmError):  # the endpoint is gone before the last call may begin
                for text in texts:
                    model.complete(text, max_tokens=9)

        threading.Thread(target=ask_all, daemon=True).start()
        wait_until(lambda: len(server.bodies) == 2)
        time.sleep(0.2)
        assert len(server.bodies) == 2


# --- the response cache ---


def test_second_time_from_the_cache(tmp_path: Path) -> None:
    """An answer is asked for once, also by another client, streamed or not; and says that it is remembered."""
    with endpoint([Reply("好 \u2028")]) as server:
        first = llm(server, tmp_path).complete(HELLO, max_tokens=9)
        for again in (llm(server, tmp_path), llm(server, tmp_path, stream=True)):
            assert again.complete(HELLO, max_tokens=9) == first._replace(cached=True)
            assert again.calls == 0
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"model": "gpt-4o"},
        {"messages": [{"role": "user", "content": "Hello "}]},
        {"messages": [{"role": "system", "content": "Hello"}]},
        {"max_tokens": 10},
        {"response_format": {"type": "json_object"}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
    ],
)
def test_cache_is_keyed_by_the_whole_request(other: dict[str, Any], tmp_path: Path) -> None:
    """Whatever differs in a request makes it another one."""
    with endpoint() as server:
        llm(server, tmp_path).complete(HELLO, max_tokens=9)
        asked = {"messages": HELLO, "max_tokens": 9, **other}
        model = llm(server, tmp_path, model=asked.pop("model", "gpt-4o-mini"))
        assert not model.complete(asked.pop("messages"), **asked).cached
        assert len(entries(tmp_path)) == 2


def test_another_endpoint_is_another_model(tmp_path: Path) -> None:
    """What one endpoint answered is not taken for what another would."""
    for text in ("one", "two"):
        with endpoint([Reply(text)]) as server:
            assert llm(server, tmp_path).complete(HELLO, max_tokens=9).text == text


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\0\0",
        b"\0\0\0\0",
        b'\0\0\0\0{"text": "cut',
        b"\0\0\0\0[]",
        b"\0\0\0\0null",
        b'\0\0\0\0{"text": 5, "prompt_tokens": 1, "completion_tokens": 1, "finish": "stop"}',
        b"\0\0\0\0\x80\x04\x95pickled",
    ],
)
def test_damaged_entry_is_asked_again(damage: bytes, tmp_path: Path) -> None:
    """An entry that cannot be read is asked for again and written anew."""
    with endpoint() as server:
        model = llm(server, tmp_path)
        first = model.complete(HELLO, max_tokens=9)
        [entry] = entries(tmp_path)
        entry.write_bytes(damage)
        assert model.complete(HELLO, max_tokens=9) == first
        assert model.complete(HELLO, max_tokens=9).cached
        assert len(server.bodies) == 2


def test_entry_holds_the_answer_alone(tmp_path: Path) -> None:
    """Neither key nor request nor headers are written, and only the owner may read what is."""
    with endpoint([Reply("Good day.")]) as server:
        llm(server, tmp_path).complete(HELLO, max_tokens=9)
    [entry] = entries(tmp_path)
    written = json.loads(entry.read_bytes()[4:])
    assert written == {"text": "Good day.", "prompt_tokens": 11, "completion_tokens": 7, "finish": "stop"}
    assert entry.stat().st_mode & 0o077 == 0


def test_equal_requests_at_once_share_one_answer(tmp_path: Path) -> None:
    """Threads that ask the same at the same time make one call; others do not wait for it."""
    with endpoint(lambda _body, number: Reply(f"answer {number}", wait_s=0.1)) as server, ThreadPoolExecutor(8) as pool:
        model = llm(server, tmp_path)
        answers = list(pool.map(lambda number: model.complete(HELLO, max_tokens=9 + number % 2), range(8)))
        assert len(server.bodies) == model.calls == 2
        assert len({answer.text for answer in answers[::2]}) == len({answer.text for answer in answers[1::2]}) == 1


def test_cache_folder_that_is_none(tmp_path: Path) -> None:
    """A file in the place of the folder is told before anything is asked."""
    (tmp_path / "file").write_text("")
    with endpoint() as server, pytest.raises(CtxmodeError, match="response cache cannot be used"):
        llm(server, tmp_path / "file")


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """An answer that cannot be kept is an error, since the next run would pay for it again."""
    cache = tmp_path / "cache"
    with endpoint() as server:
        model = llm(server, cache)
        cache.rmdir()
        with pytest.raises(CtxmodeError, match="cannot be written to the response cache"):
            model.complete(HELLO, max_tokens=9)


# --- connections ---


def test_connections_end_with_the_client() -> None:
    """A client that nobody holds any more leaves no connection open; until then, calls share one."""
    with endpoint() as server:
        model = llm(server)
        for number in (8, 9):
            model.complete(HELLO, max_tokens=number)
        client = model._client
        assert not client.is_closed()
        del model
        assert client.is_closed()
