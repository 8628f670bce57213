import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from faults import Fault, FaultProxy, cut, hang, kill, status
from model_server import ModelServer

from ctxmode_cli.llm import Completion, Llm, LlmError

HELLO = [{"role": "user", "content": "Say hello to Ada and ask her about her engine."}]
MAX_TOKENS = 40
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

Connect = Callable[..., Llm]


@pytest.fixture
def connect(proxy: FaultProxy) -> Connect:
    """A client of the model behind the proxy; without a cache and without retries, if not asked for."""

    def made(*, cache: Path | None = None, timeout_s: float = 60, retries: int = 0, stream: bool = False) -> Llm:
        options = {"cache": cache, "timeout_s": timeout_s, "retries": retries, "stream": stream}
        return Llm("smollm2", base_url=proxy.base_url, per_minute=None, **options)

    return made


def hello(llm: Llm) -> Completion:
    return llm.complete(HELLO, max_tokens=MAX_TOKENS)


@pytest.fixture(scope="module")
def expected(model_process: ModelServer) -> Completion:
    """What the model says, asked without a proxy."""
    model_process.start()
    base_url = model_process.base_url
    return hello(Llm("smollm2", base_url=base_url, cache=None, timeout_s=60, retries=0, per_minute=None))


@STREAMS
def test_an_answer_is_the_same_whole_and_streamed(stream: bool, connect: Connect, expected: Completion) -> None:
    """At temperature 0 text, token counts and the reason of the end do not depend on how the answer travels."""
    assert expected.text
    assert expected.prompt_tokens > 0
    assert 0 < expected.completion_tokens < MAX_TOKENS
    assert (expected.finish, expected.cached) == ("stop", False)
    assert hello(connect(stream=stream)) == expected


@STREAMS
def test_an_answer_at_its_limit_says_so(stream: bool, connect: Connect, expected: Completion) -> None:
    """Cut off after five tokens it is the beginning of the whole one, and known to be no more than that."""
    answer = connect(stream=stream).complete(HELLO, max_tokens=5)
    assert (answer.completion_tokens, answer.finish) == (5, "length")
    assert expected.text.startswith(answer.text)


def test_a_stream_is_one(connect: Connect, proxy: FaultProxy) -> None:
    """What is compared above did travel in two ways."""
    hello(connect())
    hello(connect(stream=True))
    assert [bool(request.get("stream")) for request in proxy.requests] == [False, True]


@STREAMS
def test_a_request_that_is_never_answered_ends_in_time(stream: bool, connect: Connect, proxy: FaultProxy) -> None:
    """A time-out is an error that says so, and not a hang."""
    proxy.faults.append(hang)
    begun = time.monotonic()
    with pytest.raises(LlmError, match="no answer within 1 s"):
        hello(connect(timeout_s=1, stream=stream))
    assert 1 <= time.monotonic() - begun < 5


@STREAMS
@pytest.mark.parametrize("fault", [status(429, Retry_After="1"), status(500)], ids=["429", "500"])
def test_a_passing_fault_is_tried_again(
    fault: Fault, stream: bool, connect: Connect, proxy: FaultProxy, expected: Completion
) -> None:
    """One retry gets the answer that the first try would have got."""
    proxy.faults.append(fault)
    assert hello(connect(retries=1, stream=stream)) == expected
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("fault", [hang, cut], ids=["hang", "cut"])
def test_a_lost_answer_is_asked_for_again(
    fault: Fault, connect: Connect, proxy: FaultProxy, expected: Completion
) -> None:
    """So it is where the first try got nothing in time, or half of it."""
    proxy.faults.append(fault)
    assert hello(connect(retries=1, timeout_s=10)) == expected
    assert len(proxy.requests) == 2


def test_a_retry_waits_as_long_as_the_endpoint_asks(connect: Connect, proxy: FaultProxy) -> None:
    """Retry-After is obeyed: two seconds, longer than the first retry would wait of itself."""
    proxy.faults.append(status(429, Retry_After="2"))
    begun = time.monotonic()
    hello(connect(retries=1))
    assert time.monotonic() - begun >= 2


def test_a_lasting_fault_is_an_error(connect: Connect, proxy: FaultProxy) -> None:
    """Retries end: the error is the endpoint's last word."""
    proxy.faults.extend([status(500), status(503)])
    with pytest.raises(LlmError, match="503"):
        hello(connect(retries=1))
    assert len(proxy.requests) == 2


def test_a_request_that_the_server_refuses_is_not_repeated(connect: Connect, proxy: FaultProxy) -> None:
    """A prompt longer than the model's window fails at once, however many retries there are."""
    with pytest.raises(LlmError, match="context size"):
        connect(retries=3).complete([{"role": "user", "content": "engine " * 5000}], max_tokens=1)
    assert len(proxy.requests) == 1


@STREAMS
def test_half_an_answer_is_none(
    stream: bool, connect: Connect, proxy: FaultProxy, expected: Completion, tmp_path: Path
) -> None:
    """A connection that ends in the middle is an error; what had come is not kept, and the next try gets all."""
    llm = connect(cache=tmp_path, stream=stream)
    proxy.faults.append(cut)
    with pytest.raises(LlmError):
        hello(llm)
    assert hello(llm) == expected


@STREAMS
def test_a_killed_server_is_an_error_until_it_is_back(
    stream: bool, connect: Connect, proxy: FaultProxy, server: ModelServer, expected: Completion
) -> None:
    """It dies while it answers, does not listen, and is started again: two errors, then the answer."""
    llm = connect(stream=stream)
    proxy.faults.append(kill(server))
    for _ in range(2):
        with pytest.raises(LlmError):
            hello(llm)
    server.start()
    assert hello(llm) == expected


def test_a_kept_answer_is_the_fresh_one(
    connect: Connect, proxy: FaultProxy, expected: Completion, tmp_path: Path
) -> None:
    """The cache gives back all that the endpoint said, to every client and in both ways to travel, without a call."""
    assert hello(connect(cache=tmp_path)) == expected
    for stream in (False, True):
        llm = connect(cache=tmp_path, stream=stream)
        assert hello(llm) == expected._replace(cached=True)
        assert llm.calls == 0
    assert len(proxy.requests) == 1


@STREAMS
def test_an_answer_has_the_form_asked_for(stream: bool, connect: Connect) -> None:
    """A JSON schema goes through to the model, which can then say nothing else."""
    fields = {"city": {"enum": ["Leeds", "Jena"]}, "parcels": {"type": "integer", "minimum": 1, "maximum": 9}}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "delivery", "strict": True, "schema": schema}}
    asked = [{"role": "user", "content": "Three parcels go to Leeds."}]
    answer = connect(stream=stream).complete(asked, max_tokens=MAX_TOKENS, response_format=form)
    said = json.loads(answer.text)
    assert answer.finish == "stop"
    assert set(said) == set(fields)
    assert said["city"] in {"Leeds", "Jena"}
    assert 1 <= said["parcels"] <= 9
