"""Conversations for tests: written in a short notation, or generated in every shape that a log can have; and settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ctxmode_cli.context.config import ContextConfig
from ctxmode_cli.context.context import Context, Piece
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.context.manager import ContextManager
from ctxmode_cli.context.plan import SummaryError, SummaryRequest, SummaryResult
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter

MODEL = "gpt-4o"
WINDOW = 128_000

unhurried = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
"""For property tests: a machine that others use may be slow at any moment."""

ROLES = {"s": "system", "d": "developer", "u": "user", "a": "assistant", "t": "tool"}


@cache
def counter() -> TokenCounter:
    return TokenCounter.for_model(MODEL)


def dialogue(script: str, **contents: Any) -> list[dict[str, Any]]:
    """Messages in OpenAI chat form, one a word: `s d u a t` are roles, `a:x,y` calls x and y, `t:x` answers x.

    A message says its role's letter and its position ("u0"), unless `contents` has another content under that name.
    """
    return [_spoken(position, word, contents) for position, word in enumerate(script.split())]


def _spoken(position: int, word: str, contents: Mapping[str, Any]) -> dict[str, Any]:
    letter, _, ids = word.partition(":")
    said = f"{letter}{position}"
    message: dict[str, Any] = {"role": ROLES[letter], "content": contents.get(said, said)}
    if letter == "t":
        message["tool_call_id"] = ids
    elif ids:
        message["tool_calls"] = [call(call_id) for call_id in ids.split(",")]
    return message


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def messages_of(script: str, **contents: Any) -> list[Message]:
    return [parse_message(message) for message in dialogue(script, **contents)]


def history_of(messages: Iterable[Message], *, tools: Sequence[Mapping[str, Any]] = (), each: bool = False) -> History:
    history = History(counter(), tools=tools, one_turn_per_user_message=each)
    for message in messages:
        history.append(message)
    return history


def play(session: ContextManager, script: str, **contents: Any) -> list[Context]:
    """Append the script's messages and make a request before each assistant's, and one at an end by another role."""
    made = []
    for message in dialogue(script, **contents):
        if message["role"] == "assistant" and session.history.turns:
            made.append(session.build_context())
        session.append(message)
    return made if message["role"] == "assistant" else [*made, session.build_context()]


def shown(pieces: Iterable[Piece]) -> str:
    """Positions that are sent, as ranges, and notes by their purpose."""
    return " ".join(
        f"{piece.start}-{piece.stop - 1}" if isinstance(piece, Recorded) else piece.purpose for piece in pieces
    )


def sent(context: Context) -> str:
    """The same of a whole request."""
    return shown(context.pieces)


TEXTS = [
    "",
    "ok",
    "I would like to change the address of order 7731, please.",
    "你好，我想改一下收货地址：朝阳区建国路88号。",
    "没有宠物",
    "  \n\n  ",
    "total: $1,240.50 <|endoftext|>",
]
PARTS = [
    [],
    [{"type": "text", "text": "see the picture"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
    [{"type": "text", "text": "两段"}, {"type": "text", "text": "文字"}],
]
CALL_IDS = ["c1", "c2", "c3"]
TOOLS: list[list[dict[str, Any]]] = [
    [],
    [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "查订单 by its number",
                "parameters": {"type": "object", "properties": {"q": {"type": "string", "description": "number"}}},
            },
        }
    ],
]

contents = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.sampled_from([*PARTS, None]))
call_ids = st.sampled_from(CALL_IDS)
documents = st.lists(
    st.fixed_dictionaries(
        {"id": st.just("d"), "text": st.sampled_from(TEXTS)}, optional={"score": st.sampled_from([0.1, 0.9])}
    ),
    min_size=1,
    max_size=3,
)
calls = st.lists(st.builds(call, call_ids, st.sampled_from(["", "{}", '{"q": "订单"}'])), min_size=1, max_size=3)


def _message(role: str, **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"role": st.just(role), "content": contents}, optional=optional)


systems = st.one_of(_message("system"), _message("developer"))
users = _message("user", name=st.sampled_from(["bob", "李雷"]), documents=documents, ts=st.just("2024-01-01T00:00:00Z"))
assistants = _message("assistant", usage=st.just({"prompt_tokens": 1, "completion_tokens": 1}))
callers = st.builds(lambda message, made: {**message, "tool_calls": made}, assistants, calls)
results = st.builds(
    lambda content, call_id: {"role": "tool", "content": content, "tool_call_id": call_id}, contents, call_ids
)


@st.composite
def call_groups(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A reply that calls tools, and its results in any order."""
    caller = draw(callers)
    answered = draw(st.permutations([made["id"] for made in caller["tool_calls"]]))
    return [caller, *({"role": "tool", "content": draw(contents), "tool_call_id": call_id} for call_id in answered)]


def _chain(*blocks: st.SearchStrategy[list[dict[str, Any]]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.tuples(*blocks).map(lambda drawn: [message for block in drawn for message in block])


single = st.one_of(systems, users, assistants, callers, results).map(lambda message: [message])
exchange = _chain(users.map(lambda message: [message]), assistants.map(lambda message: [message]))
tool_loop = _chain(users.map(lambda message: [message]), call_groups(), call_groups())


@st.composite
def late_results(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A call that is answered only after other things were said."""
    call_id = draw(call_ids)
    caller = {**draw(assistants), "tool_calls": [call(call_id)]}
    between = draw(st.lists(st.one_of(single, exchange), max_size=3))
    said = [message for block in between for message in block]
    return [draw(users), caller, *said, {"role": "tool", "content": draw(contents), "tool_call_id": call_id}]


block = st.one_of(exchange, exchange, tool_loop, late_results(), single)
record_messages = st.one_of(
    st.lists(block, min_size=1, max_size=8),
    st.lists(block, min_size=7, max_size=9),
).map(lambda blocks: [message for block in blocks for message in block])
"""Well-formed exchanges and tool loops, mixed with single messages of any role anywhere."""

well_formed_messages = st.lists(st.one_of(exchange, tool_loop), min_size=1, max_size=6).map(
    lambda blocks: [message for block in blocks for message in block]
)
tool_schemas = st.sampled_from(TOOLS)


@dataclass(frozen=True)
class Digest:
    """A summarizer without a model: it fails whenever the messages it is given are a multiple of `fails_at`."""

    fails_at: int

    def __call__(self, request: SummaryRequest) -> SummaryResult:
        if self.fails_at and len(request.messages) % self.fails_at == 0:
            raise SummaryError("no answer", prompt_tokens=request.messages_tokens)
        before = f"{len(request.previous)} 字, then " if request.previous else ""
        text = f"Summary: {before}{len(request.messages)} messages of {request.messages_tokens} tokens"
        return SummaryResult(text, counter().text(text), request.messages_tokens + 3)


@st.composite
def mode_settings(draw: st.DrawFn, mode: str) -> ContextConfig:
    """Settings of a mode, mostly with a budget too small for the record."""
    room = draw(st.sampled_from([st.integers(20, 150), st.integers(150, 500), st.just(8000)]).flatmap(lambda of: of))
    share = st.one_of(st.none(), st.none(), st.none(), st.integers(0, room))
    turns = draw(st.integers(0, 3))
    summary_prefix = draw(st.sampled_from(["none", "session"]))
    summary_models = [None, MODEL] if summary_prefix == "session" else [None, MODEL, "gpt-4-turbo"]
    return ContextConfig(
        mode=mode,
        model=MODEL,
        max_tokens=room,
        reserved_output=WINDOW - room,
        system_tokens=draw(share),
        input_tokens=draw(share),
        history_tokens=draw(share),
        budget_low=draw(st.sampled_from([1.0, 1.0, 0.8, 0.5, 0.1])),
        sliding_turns=turns,
        sliding_low=draw(st.one_of(st.none(), st.integers(0, turns))),
        summary_threshold=draw(st.sampled_from([0, 0, 1, 1, 2, None])),
        summary_every=draw(st.sampled_from([0, 0, 1])),
        summary_trigger=draw(st.sampled_from(["turns", "tokens", "both"])),
        compress_ratio=draw(st.sampled_from([0.05, 0.3, 0.7])),
        summary_strategy=draw(st.sampled_from(["rolling", "rebuild"])),
        summary_role=draw(st.sampled_from(["system", "assistant"])),
        summary_prefix=summary_prefix,
        summary_model=draw(st.sampled_from(summary_models)),
        max_documents=draw(st.sampled_from([None, None, 0, 1, 2])),
        document_tokens=draw(st.sampled_from([None, None, 4, 12])),
        document_priority=draw(st.sampled_from(["low", "low", "high"])),
    )
