"""Sessions that are nothing but token counts: filler text, as many turns as asked for, all of one size."""

from string import ascii_letters
from typing import NamedTuple

from ctxmode_cli.conversation.conversation import Conversation
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message


class TurnSize(NamedTuple):
    """Tokens of the texts of a session, what a provider adds around messages left out."""

    system: int
    """Of the system prompt; 0 for none."""
    user: int
    """Of each user message."""
    reply: int
    """Of each reply."""


def filler(tokens: int, number: int) -> str:
    """A text of exactly so many tokens, in every encoding of tiktoken: a letter and the space before it are one token.

    Texts of the same length differ as long as the letters can tell their numbers apart: up to 52 of one token, 2,704
    of two, and so on. Those of numbers that follow each other differ in their first token.

    Args:
        tokens: How many.
        number: Another number, another text.
    """
    letters = []
    for _ in range(tokens):
        number, digit = divmod(number, len(ascii_letters))
        letters.append(ascii_letters[digit])
    return " ".join(letters)


def filler_session(name: str, turns: int, size: TurnSize) -> Conversation:
    """A session of so many turns, each a user message and its reply, no two of them equal."""
    messages = [_message("system", size.system, 0)] if size.system else []
    for turn in range(turns):
        messages += [_message("user", size.user, turn), _message("assistant", size.reply, turn)]
    return Conversation(name, tuple(messages), (), (), {}, name)


def _message(role: str, tokens: int, number: int) -> Message:
    return parse_message({"role": role, "content": filler(tokens, number)})
