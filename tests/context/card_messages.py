"""Facts and messages for the tests of the fact card."""

from ctxmode_cli.context.card import CardFact
from ctxmode_cli.conversation.message import Message
from ctxmode_cli.conversation.parse import parse_message


def fact(
    kind: str, value: str, position: int = 0, *, negative: bool = False, changes: bool = False, by_user: bool = True
) -> CardFact:
    return CardFact(kind, value, negative, changes, position, by_user)


def spoken(role: str, text: str) -> Message:
    record = {"role": role, "content": text}
    return parse_message(record | {"tool_call_id": "c"} if role == "tool" else record)
