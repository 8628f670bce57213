"""One OpenAI-compatible client with a response cache: the only part of the package that talks to a network."""

import ipaddress
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit
from weakref import WeakValueDictionary, finalize

from ctxmode_cli.errors import CtxmodeError, system_errors

if TYPE_CHECKING:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from pyrate_limiter import Limiter

KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "no-key-on-this-machine"
"""Sent to an endpoint on this machine where there is no key, since the package insists on one."""
TEMPERATURE = 0.0
SEED = 0
WRONG_SETTINGS = {
    401: f"the key in {KEY_VARIABLE} is not one that it knows",
    403: f"the key in {KEY_VARIABLE} may not use this model",
    404: "it has no such model, or the base URL is not that of its API",
}
"""Answers that no repetition changes: the run ends with them, rather than failing at every call."""
_FAULTS = {
    "length": "is cut off at its limit",
    "content_filter": "is held back by a filter",
    "refusal": "is a refusal",
}


class Completion(NamedTuple):
    """What a model answered."""

    text: str
    prompt_tokens: int | None
    """As the endpoint counts them; None where it does not say."""
    completion_tokens: int | None
    """Likewise."""
    finish: str
    """Why it ends: `stop`, `length`, `content_filter`, `refusal`, or another word of the endpoint's."""
    cached: bool
    """Whether it came from the response cache."""

    @property
    def fault(self) -> str | None:
        """Why it is no whole answer, as the rest of a sentence; None where it is one."""
        return _FAULTS.get(self.finish) or (None if self.text.strip() else "is empty")


class ChatModel(Protocol):
    """What answers as a model does."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        response_format: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """The answer (see `Llm.complete`)."""
        ...


class Failures(Counter[str]):
    """How often something could not be had, by what was wrong; several threads may add to it."""

    def __init__(self) -> None:
        super().__init__()
        self._adding = Lock()

    def add(self, what: str) -> None:
        """Count one more."""
        with self._adding:
            self[what] += 1


class LlmError(CtxmodeError):
    """No answer could be had, retries and all; another request may well have one."""


class Llm:
    """A model behind an OpenAI-compatible endpoint; several threads may call it.

    The key comes from the environment alone, and is in no cache entry and no message. Retries wait as the endpoint
    asks (Retry-After), else longer each time. Equal requests share one answer: it is asked for once and kept for good.

    Args:
        model: Its name.
        base_url: Of the endpoint's API; None for OPENAI_BASE_URL, or the package's own default.
        cache: Folder of the response cache, made where it is missing; None for none.
        timeout_s: Seconds to wait for an answer, or for the next part of a streamed one.
        retries: How often a call is repeated after a time-out, a lost connection, or an answer of 408, 409, 429, 5xx.
        per_minute: Most calls begun in a minute, retries apart; None for any number.
        stream: Whether answers come in parts.

    Raises:
        CtxmodeError: There is no key for an endpoint elsewhere, or the cache folder cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        cache: Path | None,
        timeout_s: float,
        retries: int,
        per_minute: int | None,
        stream: bool = False,
    ) -> None:
        from openai import OpenAI  # noqa: PLC0415 - heavy, and only live calls need it

        self.model = model
        self.calls = 0
        """Answers that were asked for at the endpoint."""
        self._timeout_s = timeout_s
        self._stream = stream
        self._key = os.environ.get(KEY_VARIABLE) or _no_key(base_url or os.environ.get("OPENAI_BASE_URL"))
        self._client = OpenAI(api_key=self._key, base_url=base_url or None, timeout=timeout_s, max_retries=retries)
        finalize(self, self._client.close)  # connections are kept open for the next call, as long as there is one
        self._cache = None if cache is None else ResponseCache(cache)
        self._limiter = None if per_minute is None else _limiter(per_minute)
        self._counting = Lock()
        self._asking: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        """A lock for each request under way."""

    @property
    def base_url(self) -> str:
        """Where the endpoint is, as it may be shown: without what may be secret in a URL."""
        return shown_url(str(self._client.base_url))

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        response_format: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Completion:
        """The model's answer, at temperature 0 and with a fixed seed.

        Args:
            messages: In wire form.
            max_tokens: Most tokens of the answer.
            response_format: What it must look like, such as a JSON schema, in the API's form.
            tools: Tool schemas that go with the request; the model is told to call none.

        Raises:
            LlmError: It could not be had.
            CtxmodeError: It can never be had as things are set, or the cache cannot be written.
        """
        request = chat_request(self.model, messages, max_tokens, response_format, tools)
        if self._cache is None:
            return self._ask(request)
        return self._ask_once(request, self._cache)

    def _ask_once(self, request: Mapping[str, Any], cache: "ResponseCache") -> Completion:
        """The answer from the cache, or else the endpoint's, which then goes there; equal requests wait for it."""
        key = request_key(str(self._client.base_url), request)
        with self._counting:
            asking = self._asking.setdefault(key, Lock())
        with asking:
            kept = cache.get(key)
            if kept is not None:
                return kept
            answer = self._ask(request)
            if not cache.set(key, answer):
                raise CtxmodeError("an answer cannot be written to the response cache", where=self.base_url)
        return answer

    def _ask(self, request: Mapping[str, Any]) -> Completion:
        if self._limiter is not None:
            self._limiter.try_acquire(self.model)
        with self._counting:
            self.calls += 1
        create = self._client.chat.completions.create
        with self._told():
            if not self._stream:
                return _whole(create(**request))
            with create(**request, stream=True, stream_options={"include_usage": True}) as chunks:
                return _joined(chunks)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what the package raises as an error of the endpoint, without what it was sent."""
        import openai  # noqa: PLC0415 - heavy; imported long ago

        try:
            yield
        except openai.APIStatusError as error:
            hint = WRONG_SETTINGS.get(error.status_code)
            if hint is not None:
                message = f"{self.model} cannot be used: the endpoint answers {error.status_code}"
                raise CtxmodeError(message, hint=hint, where=self.base_url) from None
            raise self._error(error.message) from None
        except openai.APITimeoutError:
            raise self._error(f"no answer within {self._timeout_s:g} s") from None
        except openai.OpenAIError as error:
            raise self._error(str(error)) from None
        except (AttributeError, IndexError, TypeError, ValueError):
            raise self._error("the answer is no chat completion") from None

    def _error(self, what: str) -> LlmError:
        return LlmError(f"{self.model}: {what.replace(self._key, '…')}", where=self.base_url)


def endpoint_url(base_url: str | None) -> str:
    """Where calls would go, as the package has it: this URL, or else OPENAI_BASE_URL, or the package's own default."""
    from openai import OpenAI  # noqa: PLC0415 - heavy, and only live calls need it

    with OpenAI(api_key=NO_KEY, base_url=base_url or None) as client:
        return str(client.base_url)


def shown_url(url: str) -> str:
    """A URL without what may be secret in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def chat_request(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    max_tokens: int,
    response_format: Mapping[str, Any] | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The body of a request, as `Llm.complete` sends it."""
    request: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "max_tokens": max_tokens,
        "temperature": TEMPERATURE,
        "seed": SEED,
    }
    if response_format is not None:
        request["response_format"] = response_format
    if tools:
        request |= {"tools": tools, "tool_choice": "none"}
    return _encodable(request)


def request_key(url: str, request: Mapping[str, Any]) -> str:
    """What a request's answer is kept by: all of it, and where it goes."""
    return json.dumps({"base_url": url, **request}, sort_keys=True)


class ResponseCache:
    """Answers on disk, which are never forgotten; a file is named by the sha256 of the key and put in place whole.

    Args:
        folder: Made where it is missing.

    Raises:
        CtxmodeError: It cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        from cachelib import FileSystemCache  # noqa: PLC0415 - only live calls need it

        with system_errors("the response cache cannot be used", where=str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
        self._files = FileSystemCache(str(folder), threshold=0, default_timeout=0)
        self._files.serializer = _Json()  # type: ignore[assignment] # it asks for no more than these two

    def get(self, key: str) -> Completion | None:
        """The answer that is kept; None where it is missing or none of ours."""
        try:
            completion = Completion(**self._files.get(key), cached=True)
        except TypeError:
            return None
        return completion if isinstance(completion.text, str) and isinstance(completion.finish, str) else None

    def set(self, key: str, answer: Completion) -> bool:
        """Keep an answer; whether that was possible."""
        entry = answer._asdict()
        del entry["cached"]
        return bool(self._files.set(key, entry))


class _Json:
    """Cache entries as JSON: unlike the library's pickles, nothing in them can be executed."""

    @staticmethod
    def dump(value: Any, file: IO[bytes]) -> None:
        file.write(json.dumps(value, sort_keys=True).encode())

    @staticmethod
    def load(file: IO[bytes]) -> Any:
        try:
            return json.loads(file.read())
        except ValueError:
            return None


def _no_key(base_url: str | None) -> str:
    """What stands for the key where there is none: an endpoint on this machine needs none."""
    host = (urlsplit(base_url).hostname if base_url else None) or ""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        hint = f"set {KEY_VARIABLE} in the environment; an endpoint on this machine (--base-url) needs none"
        raise CtxmodeError("there is no key for live calls", hint=hint)
    return NO_KEY


def _limiter(per_minute: int) -> "Limiter":
    from pyrate_limiter import Duration, Limiter, Rate  # noqa: PLC0415 - only live calls need it

    return Limiter(Rate(per_minute, Duration.MINUTE))


def _encodable(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with what UTF-8 cannot hold, half a surrogate pair, as question marks."""
    text = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
    return dict(json.loads(text))


def _whole(answer: "ChatCompletion") -> Completion:
    choice = answer.choices[0]
    return _completion(choice.message.content, choice.message.refusal, choice.finish_reason, answer.usage)


def _joined(chunks: Iterable["ChatCompletionChunk"]) -> Completion:
    """The answer of a stream."""
    texts, refusals = [], []
    finish: str | None = None
    usage = None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            texts.append(choice.delta.content or "")
            refusals.append(choice.delta.refusal or "")
            finish = choice.finish_reason or finish
    return _completion("".join(texts), "".join(refusals), finish, usage)


def _completion(text: Any, refusal: str | None, finish: str | None, usage: "CompletionUsage | None") -> Completion:
    """An answer as it was received; the package does not check what endpoints send.

    Raises:
        ValueError: It is not whole.
    """
    if finish is None or not isinstance(text, str | None):
        raise ValueError(finish)
    prompt_tokens, completion_tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    return Completion(text or "", prompt_tokens, completion_tokens, "refusal" if refusal else finish, cached=False)
