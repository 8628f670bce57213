"""Miscounts reported in the field, each as a case of its own."""

import base64

import pytest

from ctxmode_cli.conversation.parse import parse_message
from ctxmode_cli.tokens.counter import TokenCounter


@pytest.fixture
def counter() -> TokenCounter:
    return TokenCounter.for_model("gpt-4o")


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4o", 50), ("gpt-4", 125)])
def test_chinese_is_not_a_quarter_of_its_characters(model: str, tokens: int) -> None:
    """Elsewhere characters / 4 made 25 tokens of 你好世界 x 25; here the model's own encoding counts them.

    NousResearch/hermes-agent PR #59121, headroomlabs-ai/headroom PR #1093, Martian-Engineering/lossless-claw #250.
    """
    assert TokenCounter.for_model(model).text("你好世界" * 25) == tokens


def test_image_is_not_its_base64_text(counter: TokenCounter) -> None:
    """Elsewhere one picture of 3 MB became a million tokens; here an image part is an image, whatever its bytes.

    open-webui #29761, code-yeongyu/senpi #1455, vllm-project/agentic-api #255.
    """
    url = "data:image/jpeg;base64," + base64.b64encode(bytes(200_000)).decode()
    part = {"type": "image_url", "image_url": {"url": url}}
    assert counter.message(parse_message({"role": "user", "content": [part]})) == 3 + 1 + 765


def test_data_url_in_a_text_is_text(counter: TokenCounter) -> None:
    """Elsewhere base64 in a text was taken for an image and went almost uncounted; here a text part is text.

    code-yeongyu/senpi PR #233.
    """
    url = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode()
    part = {"type": "text", "text": url}
    counted = counter.message(parse_message({"role": "user", "content": [part]}))
    assert counted == 3 + 1 + counter.text(url)
    assert counted > 5_000


def test_arguments_count_where_content_is_null(counter: TokenCounter) -> None:
    """Elsewhere a call with 40,000 characters of arguments and no content was 4 tokens; here they all count.

    odysseus-dev/odysseus #2748.
    """
    arguments = '{"text": "' + "more " * 800 + '"}'
    call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    message = parse_message({"role": "assistant", "content": None, "tool_calls": [call]})
    assert counter.message(message) == 3 + 1 + (3 + 1 + counter.text(arguments))
    assert counter.message(message) > 800


def test_system_prompt_and_schemas_count(counter: TokenCounter) -> None:
    """Elsewhere system prompt and tool schemas were left out, 37 % of what was sent; here both count.

    google-gemini/gemini-cli #16070, cloudflare/agents #1538, adolfousier/opencrabs #1378.
    """
    parameter = {"type": "string", "description": "a value that the customer named earlier in the conversation"}
    tools = [
        {"type": "function", "function": {"name": f"tool_{index}", "parameters": {"properties": {"value": parameter}}}}
        for index in range(150)
    ]
    system = parse_message({"role": "system", "content": "Be brief. " * 100})
    assert counter.tools(tools) > 3_000
    assert counter.message(system) > 300


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "gpt-oss-20b"])
def test_special_token_in_a_text_is_text(model: str) -> None:
    """Elsewhere "<|endoftext|>" typed by a user raised an error; here it is seven tokens of text.

    RooCodeInc/Roo-Code #7539, bespokelabsai/curator #178.
    """
    counter = TokenCounter.for_model(model)
    assert counter.text("<|endoftext|>") == 7
    assert counter.message(parse_message({"role": "user", "content": "<|endoftext|>"})) == 3 + 1 + 7
