"""Exact token counts of texts, messages and tool schemas, bound to one model.

The framing is that of the OpenAI cookbook's "How to count tokens with tiktoken": what a provider adds around each
message, name and tool call, in tokens.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from os.path import commonprefix
from typing import Any, Self

import tiktoken

from ctxmode_cli.conversation.message import ROLES, TEXT_PARTS, Message
from ctxmode_cli.errors import CtxmodeError
from ctxmode_cli.tokens.images import image_tokens
from ctxmode_cli.tokens.models import Model, find_model
from ctxmode_cli.tokens.tools import tool_tokens
from ctxmode_cli.tokens.vocabularies import load_encoding

MESSAGE_TOKENS = 3
NAME_TOKENS = 1
CALL_TOKENS = 3

IMAGE_PARTS = frozenset({"image_url", "input_image"})
COUNTED_PARTS = frozenset({*TEXT_PARTS, *IMAGE_PARTS})

# tiktoken's splitter gives up on a run of white space of about a million characters.
LONG_TEXT = 100_000
LONG_RUN = 50_000
_WHITE_SPACE = re.compile(r"\s+")

# No encoding's splitter ever joins what stands on both sides of such a line break.
_SAFE_BREAK = re.compile(r"\n(?=[^\s/])")


class TokenCounter:
    """Counts the tokens of what is sent to one model.

    Attributes:
        model: The model.
        encoding_name: Name of its tiktoken encoding.
    """

    REPLY_TOKENS = 3
    """Tokens at the end of every request, with which the reply begins."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.encoding_name = model.encoding
        self._encoding = load_encoding(model.encoding)
        self._encode = self._encoding.encode_ordinary
        self._role = {role: MESSAGE_TOKENS + len(self._encode(role)) for role in ROLES}
        # Names of participants and tools come again and again, and so do tools' schemas.
        self._again = lru_cache(maxsize=4096)(self.text)

    @classmethod
    def for_model(cls, name: str) -> Self:
        """The counter of the model of that name.

        Raises:
            CtxmodeError: The model is unknown, or its encoding cannot be loaded.
        """
        return cls(find_model(name))

    def text(self, text: str) -> int:
        """Tokens of a text; the names of special tokens in it ("<|endoftext|>") are text like any other."""
        return len(self._encode(text)) if len(text) <= LONG_TEXT else count_text(self._encoding, text)

    def common_prefix(self, one: str, other: str) -> int:
        """With how many tokens both texts begin; no more of them is encoded than that takes."""
        differ = len(commonprefix((one, other)))  # noqa: RUF071 - characters are meant, not paths
        pairs = zip(self._encoded_past(one, differ), self._encoded_past(other, differ), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _encoded_past(self, text: str, position: int) -> Sequence[int]:
        """The tokens of a text, at least up to `position`."""
        line_break = _SAFE_BREAK.search(text, position)
        return encode_text(self._encoding, text if line_break is None else text[: line_break.end()])

    def message(self, message: Message) -> int:
        """Tokens of a message in a request: framing, role, content, name and tool calls; ids count nothing.

        Raises:
            CtxmodeError: The message holds an image and the model has no published image rule.
        """
        content = message.content
        total = self._role[message.role]
        total += self.text(content) if isinstance(content, str) else self._parts(content)
        if "name" in message.recorded:
            total += self._name_tokens(message)
        for call in message.tool_calls:
            total += CALL_TOKENS + self._again(call.name) + self.text(call.arguments)
        return total

    def uncounted_parts(self, message: Message) -> tuple[str, ...]:
        """Types of the message's parts that no published rule counts offline (audio, files); they count 0."""
        content = message.content
        if not content or isinstance(content, str):
            return ()
        return tuple(part["type"] for part in content if part["type"] not in COUNTED_PARTS)

    def overhead(self, message: Message) -> int:
        """The part of `message(…)` that is no completion: framing, role and name."""
        return self._role[message.role] + self._name_tokens(message)

    def generated(self, role: str, content_tokens: int) -> int:
        """Tokens of a generated message without a name whose text has `content_tokens`."""
        return self._role[role] + content_tokens

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """Tokens of a request's tool schemas, by the cookbook's function rule (see `tools.tool_tokens`)."""
        return tool_tokens(tools, self.model.tool_rule, self._again)

    def _name_tokens(self, message: Message) -> int:
        return NAME_TOKENS + self._again(message.name) if message.name else 0

    def _parts(self, parts: Sequence[Mapping[str, Any]] | None) -> int:
        return sum(map(self._part, parts or ()))

    def _part(self, part: Mapping[str, Any]) -> int:
        """Tokens of a content part; a data URL in a text part is text, in an image part it is an image."""
        kind = part["type"]
        if kind in TEXT_PARTS:
            text = part.get(TEXT_PARTS[kind])
            return self.text(text) if isinstance(text, str) else 0
        if kind not in IMAGE_PARTS:
            return 0
        if self.model.image_rule is None:
            raise CtxmodeError(
                f"there is an image, and no rule is published for the images of {self.model.name}",
                hint="choose a model for which `ctxmode models` names an image rule",
            )
        return image_tokens(part, self.model.image_rule)


def count_text(encoding: tiktoken.Encoding, text: str) -> int:
    """How many tokens `encode_text` gives."""
    return len(encode_text(encoding, text))


def encode_text(encoding: tiktoken.Encoding, text: str) -> list[int]:
    """Tokens of any text in an encoding, also of one on which tiktoken itself gives up."""
    if len(text) > LONG_TEXT and _has_long_run(text):
        return _encode_pieces(encoding, text)
    try:
        return encoding.encode_ordinary(text)
    except BaseException as error:
        # A panic of the Rust code is no Exception, and its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        return _encode_pieces(encoding, text)


def _has_long_run(text: str) -> bool:
    return any(run.end() - run.start() > LONG_RUN for run in _WHITE_SPACE.finditer(text))


def _encode_pieces(encoding: tiktoken.Encoding, text: str) -> list[int]:
    """The same tokens as tiktoken's, slower: split by the encoding's own pattern, and each piece encoded alone."""
    import regex  # type: ignore[import-untyped] # noqa: PLC0415 - few runs meet such a text

    # A lone surrogate becomes U+FFFD, as in tiktoken.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    pieces = regex.finditer(encoding._pat_str, text)  # noqa: SLF001 - tiktoken has no public way to its own halves
    tokens: list[int] = []
    for piece in pieces:
        tokens += encoding._encode_single_piece(piece.group())  # noqa: SLF001 - likewise
    return tokens
