"""From a JSON object to a conversation, or to one sentence about what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.message import ROLES, Message, ToolCall
from ctxmode_cli.errors import CtxmodeError

NATIVE_FORM = 'one conversation a line: {"id": …, "messages": [ … ]}'


def parse_conversation(record: Any, *, where: str, default_id: str) -> Conversation:
    """Build the conversation that one native record describes.

    Args:
        record: The decoded JSON value.
        where: `file:line`, for errors.
        default_id: The id of a record that has none.

    Raises:
        CtxmodeError: The record is not in the native form; the message names the field.
    """
    try:
        return _conversation(record, where, default_id)
    except _RecordFault as fault:
        raise CtxmodeError(str(fault), hint=fault.hint, where=where) from None


def parse_message(recorded: Any) -> Message:
    """Build one message from its recorded object.

    Raises:
        CtxmodeError: The object is not a message; the text names the field.
    """
    try:
        return _message(recorded)
    except _RecordFault as fault:
        raise CtxmodeError(f"message {fault}", hint=fault.hint) from None


class _RecordFault(Exception):  # noqa: N818 - it never leaves this module
    """What is wrong with a record, as the rest of a sentence that begins with the record's part."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def _conversation(record: Any, where: str, default_id: str) -> Conversation:
    if not isinstance(record, dict):
        raise _RecordFault(f"a record is a JSON object, not {_kind(record)}")
    if "messages" not in record:
        raise _RecordFault('the record has no "messages"', NATIVE_FORM)
    recorded_messages = record["messages"]
    if not isinstance(recorded_messages, list):
        raise _RecordFault(f'"messages" is a list, not {_kind(recorded_messages)}')
    messages = tuple(_each("message", recorded_messages, _message))
    if not messages:
        raise _RecordFault("the conversation has no messages")
    tools = _optional(record, "tools", list) or ()
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise _RecordFault(f"tool {index} is an object, not {_kind(tool)}")
    for field in ("lang", "source", "model"):
        _optional(record, field, str)
    facts = tuple(_each("fact", _optional(record, "facts", list) or (), _fact))
    _check_labels(facts, len(messages))
    return Conversation(_optional(record, "id", str) or default_id, messages, tools, facts, record, where)


def _each(noun: str, items: Sequence[Any], parse: Callable[[Any], Any]) -> list[Any]:
    """Parse each item; a fault is told with the item's index."""
    parsed = []
    for index, item in enumerate(items):
        try:
            parsed.append(parse(item))
        except _RecordFault as fault:
            raise _RecordFault(f"{noun} {index} {fault}", fault.hint) from None
    return parsed


def _message(recorded: Any) -> Message:
    if not isinstance(recorded, dict):
        raise _RecordFault(f"is an object, not {_kind(recorded)}")
    get = recorded.get
    role = get("role")
    if role not in ROLES if isinstance(role, str) else True:
        raise _role_fault(recorded)
    content = get("content")
    if content is not None and not isinstance(content, str):
        _check_parts(content)
    calls = get("tool_calls")
    tool_call_id = get("tool_call_id")
    if role == "tool" and not isinstance(tool_call_id, str):
        raise _RecordFault('(a tool result) has no "tool_call_id"')
    if len(recorded) > 2:  # noqa: PLR2004 - role and content are the common case, and are checked
        _check_other_fields(recorded)
    return Message(
        str(role), content, tuple(_each("tool call", calls, _tool_call)) if calls else (), tool_call_id, recorded
    )


def _role_fault(recorded: Mapping[str, Any]) -> _RecordFault:
    if "role" not in recorded:
        return _RecordFault('has no "role"', f"roles are {', '.join(sorted(ROLES))}")
    role = recorded["role"]
    if not isinstance(role, str):
        return _RecordFault(f'has {_kind(role)} as its "role"')
    hint = f"roles are {', '.join(sorted(ROLES))}"
    return _RecordFault(f'has the unknown role "{role}"', hint)


def _check_parts(content: Any) -> None:
    if not isinstance(content, list):
        raise _RecordFault(f"has {_kind(content)} as its content, not text, a list of parts or null")
    for index, part in enumerate(content):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise _RecordFault(f'has a part {index} that is not an object with a "type"')


def _check_other_fields(recorded: Mapping[str, Any]) -> None:
    for field in ("name", "tool_call_id", "ts"):
        _optional(recorded, field, str)
    calls = _optional(recorded, "tool_calls", list)
    if calls and recorded["role"] != "assistant":
        raise _RecordFault(f"(role {recorded['role']}) calls tools; only an assistant does")
    _optional(recorded, "usage", dict)
    for field in ("latency_s", "cost_usd"):
        _optional(recorded, field, (int, float))
    for index, document in enumerate(_optional(recorded, "documents", list) or ()):
        if not isinstance(document, dict) or not isinstance(document.get("text"), str):
            raise _RecordFault(f'has a document {index} that is not an object with a "text"')


def _tool_call(recorded: Any) -> ToolCall:
    if not isinstance(recorded, dict):
        raise _RecordFault(f"is an object, not {_kind(recorded)}")
    function = recorded.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise _RecordFault('has no "function" with a "name"')
    arguments = function.get("arguments", "")
    if not isinstance(arguments, str):
        raise _RecordFault(f"has {_kind(arguments)} as its arguments; they are JSON text")
    call_id = recorded.get("id")
    if not isinstance(call_id, str):
        raise _RecordFault('has no "id"')
    return ToolCall(call_id, function["name"], arguments)


def _fact(recorded: Any) -> Fact:
    if not isinstance(recorded, dict):
        raise _RecordFault(f"is an object, not {_kind(recorded)}")
    value = _optional(recorded, "value", str)
    if not value or not value.strip():
        raise _RecordFault('has no "value"')
    stated_at = _optional(recorded, "stated_at", int)
    if stated_at is None:
        raise _RecordFault('has no "stated_at"')
    aliases = _optional(recorded, "aliases", list) or ()
    probes = _optional(recorded, "probe_at", list) or ()
    if not all(isinstance(alias, str) and alias.strip() for alias in aliases):
        raise _RecordFault('has "aliases" that are not all text')
    if not all(type(probe) is int for probe in probes):
        raise _RecordFault('has a "probe_at" that is not a list of message indexes')
    polarity = _optional(recorded, "polarity", str) or "positive"
    if polarity not in {"positive", "negative"}:
        raise _RecordFault(f'has the polarity "{polarity}"; it is "positive" or "negative"')
    return Fact(
        id=_optional(recorded, "id", str) or "",
        kind=_optional(recorded, "kind", str) or "",
        value=value,
        aliases=tuple(aliases),
        stated_at=stated_at,
        superseded_at=_optional(recorded, "superseded_at", int),
        supersedes=_optional(recorded, "supersedes", str),
        probe_at=tuple(sorted(set(probes))),
        negative=polarity == "negative",
        question=_optional(recorded, "question", str),
    )


def _check_labels(facts: Sequence[Fact], length: int) -> None:
    """Labels point into their conversation, and no two facts share an id."""
    seen: set[str] = set()
    for index, fact in enumerate(facts):
        if not fact.id or fact.id in seen:
            raise _RecordFault(f"fact {index} has {'the id of an earlier fact' if fact.id else 'no id'}")
        seen.add(fact.id)
        positions = {"stated_at": (fact.stated_at,), "superseded_at": (fact.superseded_at,), "probe_at": fact.probe_at}
        for field, indexes in positions.items():
            for position in indexes:
                if position is not None and not 0 <= position < length:
                    raise _RecordFault(
                        f'fact {index} ("{fact.id}") has {field} {position}, outside the conversation of {length} messages'
                    )


def _optional(record: Mapping[str, Any], field: str, kind: type | tuple[type, ...]) -> Any:
    """The field's value, or None where it is missing or null; a fault where it is of another type."""
    value = record.get(field)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise _RecordFault(f'has {_kind(value)} as its "{field}"')


def _kind(value: Any) -> str:
    """The JSON name of a value's type, with its article."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)
