"""Counts of texts, messages and framing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.counter import LONG_RUN, TokenCounter, _encode_pieces
from ctxmode_cli.tokens.vocabularies import encodings, load_encoding

COOKBOOK_MESSAGES = [
    # The example request of the OpenAI cookbook, "How to count tokens with tiktoken" (MIT), section 6.
    (
        "system",
        None,
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    ),
    ("system", "example_user", "New synergies will help drive top-line growth."),
    ("system", "example_assistant", "Things working well together will increase revenue."),
    (
        "system",
        "example_user",
        "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    ),
    ("system", "example_assistant", "Let's talk later when we're less busy about how to do better."),
    (
        "user",
        None,
        "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    ),
]

WHITE_SPACE_AND_WORDS = st.text(alphabet=" \n\r\t\u3000ab你1.é'\ud800\x00", max_size=60) | st.text(max_size=60)


def message(role: str, content: object, **fields: object) -> Message:
    """A parsed message."""
    return parse_message({"role": role, "content": content, **fields})


def call(name: str, arguments: str) -> dict[str, object]:
    """A recorded tool call."""
    return {"id": "call_with_a_long_id", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.fixture
def counter() -> TokenCounter:
    return TokenCounter.for_model("gpt-4o")


@pytest.mark.parametrize(("model", "published"), [("gpt-4o", 124), ("gpt-4o-mini", 124), ("gpt-4-0613", 129)])
def test_cookbook_request(model: str, published: int) -> None:
    """The cookbook's example request has the count that the cookbook publishes for it."""
    counter = TokenCounter.for_model(model)
    messages = [message(role, text, **({"name": name} if name else {})) for role, name, text in COOKBOOK_MESSAGES]
    assert sum(map(counter.message, messages)) + counter.REPLY_TOKENS == published


def test_counter_is_bound_to_its_model() -> None:
    """The same text has the count of the model's own encoding."""
    assert TokenCounter.for_model("gpt-4o").encoding_name == "o200k_base"
    assert TokenCounter.for_model("gpt-4").encoding_name == "cl100k_base"
    assert TokenCounter.for_model("gpt-4").text("我想查询订单的物流状态") == 9
    assert TokenCounter.for_model("gpt-4o").text("我想查询订单的物流状态") == 7


def test_message_is_framing_role_and_content(counter: TokenCounter) -> None:
    """A message is 3 tokens, its role and its content."""
    assert counter.message(message("user", "hello world")) == 3 + 1 + 2
    assert counter.message(message("developer", "")) == 3 + 1


def test_name_costs_itself_and_one(counter: TokenCounter) -> None:
    """A name costs its tokens and one more; a null name costs nothing."""
    named = message("user", "hello world", name="example_user")
    assert counter.text("example_user") == 2
    assert counter.message(named) == 3 + 1 + 2 + (1 + 2)
    assert counter.overhead(named) == 3 + 1 + (1 + 2)
    assert counter.message(message("user", "hello world", name=None)) == 3 + 1 + 2


def test_tool_call_costs_name_arguments_and_three(counter: TokenCounter) -> None:
    """Each tool call is 3 tokens, its function's name and its arguments as recorded; its id costs nothing."""
    arguments = '{"city":  "Paris"}'
    calls = [call("get_weather", arguments), call("get_weather", "")]
    expected = 3 + 1 + (3 + 2 + counter.text(arguments)) + (3 + 2 + 0)
    assert counter.text("get_weather") == 2
    assert counter.message(message("assistant", None, tool_calls=calls)) == expected


def test_tool_call_id_costs_nothing(counter: TokenCounter) -> None:
    """The id that a tool result answers is not counted."""
    result = message("tool", "sunny", tool_call_id="call_0123456789abcdef")
    assert counter.message(result) == 3 + 1 + counter.text("sunny")


def test_completion_is_message_without_overhead(counter: TokenCounter) -> None:
    """What is left of a reply without its overhead is its content and its calls."""
    reply = message("assistant", "hello world", tool_calls=[call("get_weather", "{}")])
    assert counter.message(reply) - counter.overhead(reply) == 2 + (3 + 2 + 1)


def test_generated_note_is_framed_like_a_message(counter: TokenCounter) -> None:
    """A generated note costs what a recorded message of that role and text costs."""
    text = "Summary of the conversation so far: the customer wants a refund."
    assert counter.generated("system", counter.text(text)) == counter.message(message("system", text))


def test_text_parts_count_their_text(counter: TokenCounter) -> None:
    """Every kind of text part counts its text, and nothing for being a part."""
    parts = [
        {"type": "text", "text": "hello world"},
        {"type": "input_text", "text": "hello world"},
        {"type": "output_text", "text": "hello world"},
        {"type": "refusal", "refusal": "hello world"},
        {"type": "text", "text": None},
        {"type": "text", "text": {"value": "no text"}},
    ]
    assert counter.message(message("user", parts)) == 3 + 1 + 4 * 2


def test_image_part_counts_by_the_models_rule(counter: TokenCounter) -> None:
    """An image of unknown size is one high-detail image of 1024 by 1024 pixels."""
    parts = [{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}]
    assert counter.message(message("user", parts)) == 3 + 1 + 765


def test_image_without_a_rule_is_an_error() -> None:
    """A model without an image rule is named in the error, never counted with a guess."""
    parts = [{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}]
    with pytest.raises(CtxmodeError, match=r"gpt-3\.5-turbo-0125"):
        TokenCounter.for_model("gpt-3.5-turbo-0125").message(message("user", parts))


def test_parts_without_a_rule_are_named(counter: TokenCounter) -> None:
    """Audio and files count 0 and are reported."""
    heard = message(
        "user", [{"type": "input_audio", "input_audio": {}}, {"type": "text", "text": "hi"}, {"type": "file"}]
    )
    assert counter.message(heard) == 3 + 1 + 1
    assert counter.uncounted_parts(heard) == ("input_audio", "file")
    seen = message("user", [{"type": "image_url", "image_url": {}}, {"type": "refusal", "refusal": ""}])
    assert counter.uncounted_parts(seen) == ()
    assert counter.uncounted_parts(message("user", "hi")) == ()
    assert counter.uncounted_parts(message("assistant", None)) == ()


def test_unknown_model_is_an_error() -> None:
    """There is no counter for a model that is not known."""
    with pytest.raises(CtxmodeError, match="gpt-4oo"):
        TokenCounter.for_model("gpt-4oo")


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\x00\ud83d"])
def test_broken_characters_are_counted(counter: TokenCounter, text: str) -> None:
    """Lone surrogates and NUL are counted without an error."""
    assert counter.text(text) > 0
    assert counter.text("\ud800") == counter.text("\ufffd")


@pytest.mark.parametrize("encoding", sorted(encodings()))
@settings(deadline=None)  # the first example loads the encoding
@given(text=WHITE_SPACE_AND_WORDS)
def test_slow_path_equals_fast_path(encoding: str, text: str) -> None:
    """Counting piece by piece gives tiktoken's own count."""
    loaded = load_encoding(encoding)
    assert _encode_pieces(loaded, text) == loaded.encode_ordinary(text)


@pytest.mark.parametrize(("space", "tokens"), [(" ", 7813), ("\n", 62_500)])
def test_huge_white_space_is_counted(
    counter: TokenCounter, capfd: pytest.CaptureFixture[str], space: str, tokens: int
) -> None:
    """A run of a million spaces, on which tiktoken panics, is counted and nothing is printed."""
    assert counter.text(space * 1_000_000) == tokens
    assert capfd.readouterr() == ("", "")


def test_panic_falls_back_to_pieces(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A panic that the run's length did not foretell is caught, and the text is counted all the same."""
    monkeypatch.setattr("ctxmode_cli.tokens.counter.LONG_RUN", 10**9)
    assert TokenCounter.for_model("gpt-4o").text(" " * 1_000_000) == 7813
    capfd.readouterr()


def test_long_text_without_long_run_takes_the_fast_path(counter: TokenCounter) -> None:
    """A long text of ordinary words is counted as by tiktoken itself."""
    text = ("word " * 10 + "\n" * 20) * 5000
    assert counter.text(text) == len(load_encoding("o200k_base").encode_ordinary(text))
    assert len(text) > LONG_RUN
