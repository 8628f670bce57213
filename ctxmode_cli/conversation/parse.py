"""From a JSON object to a conversation, or to one sentence about what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ctxmode_cli.conversation.conversation import Conversation, Fact
from ctxmode_cli.conversation.message import ROLES, Message, ToolCall
from ctxmode_cli.errors import CtxmodeError

_new = tuple.__new__
"""Makes a named tuple of its fields in half the time of its own `__new__`, which counts where there are millions."""

Parsed = TypeVar("Parsed")

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


_RECORD_TYPES: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "lang": (str,),
    "source": (str,),
    "model": (str,),
    "tools": (list,),
    "facts": (list,),
}


def _conversation(record: Any, where: str, default_id: str) -> Conversation:
    if not isinstance(record, dict):
        raise _RecordFault(f"a record is a JSON object, not {_kind(record)}")
    if "messages" not in record:
        raise _RecordFault('the record has no "messages"', NATIVE_FORM)
    recorded_messages = record["messages"]
    if not isinstance(recorded_messages, list):
        raise _RecordFault(f'"messages" is a list, not {_kind(recorded_messages)}')
    messages = _each("message", recorded_messages, _message)
    if not messages:
        raise _RecordFault("the conversation has no messages")
    _check_types(record, _RECORD_TYPES)
    tools = record.get("tools") or ()
    for index, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise _RecordFault(f"tool {index} is an object, not {_kind(tool)}")
    facts = _each("fact", record.get("facts") or (), _fact)
    _check_labels(facts, len(messages))
    return Conversation(record.get("id") or default_id, messages, tools, facts, record, where)


def _each(noun: str, items: Sequence[Any], parse: Callable[[Any], Parsed]) -> tuple[Parsed, ...]:
    """Parse each item; a fault is told with the item's index."""
    parsed: list[Parsed] = []
    try:
        for item in items:
            parsed.append(parse(item))  # noqa: PERF401 - the length is the index of the item at fault
    except _RecordFault as fault:
        raise _RecordFault(f"{noun} {len(parsed)} {fault}", fault.hint) from None
    return tuple(parsed)


def _check_types(recorded: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> None:
    """A fault where a value has another type than its field; null stands for a field that is missing."""
    for field, value in recorded.items():
        if field in types and type(value) not in types[field] and value is not None:
            raise _RecordFault(f'has {_kind(value)} as its "{field}"')


_MESSAGE_TYPES: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "tool_calls": (list,),
    "tool_call_id": (str,),
    "ts": (str,),
    "documents": (list,),
    "usage": (dict,),
    "latency_s": (int, float),
    "cost_usd": (int, float),
}
"""What has a form in a message beside role and content."""
_FORMED_FIELDS = frozenset(_MESSAGE_TYPES)


def _message(recorded: Any) -> Message:
    if not isinstance(recorded, dict):
        raise _RecordFault(f"is an object, not {_kind(recorded)}")
    role = recorded.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise _role_fault(recorded)
    content = recorded.get("content")
    if not isinstance(content, str) and content is not None:
        _check_parts(content)
    # Most messages have nothing else, and most of the time of reading goes into messages.
    if role != "tool" and _FORMED_FIELDS.isdisjoint(recorded):
        return _new(Message, (role, content, (), None, recorded))
    _check_other_fields(recorded, role)
    calls = recorded.get("tool_calls")
    parsed_calls = _each("tool call", calls, _tool_call) if calls else ()
    message = _new(Message, (role, content, parsed_calls, recorded.get("tool_call_id"), recorded))
    if "ts" in recorded:
        _check_time(message)
    return message


def _check_time(message: Message) -> None:
    try:
        _ = message.time
    except (ValueError, OverflowError):
        hint = "an ISO 8601 time is, for example, 2026-11-30T09:15:00Z"
        raise _RecordFault(f'has "{message.recorded["ts"]}" as its "ts"', hint) from None


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


def _check_other_fields(recorded: Mapping[str, Any], role: str) -> None:
    _check_types(recorded, _MESSAGE_TYPES)
    if role == "tool" and recorded.get("tool_call_id") is None:
        raise _RecordFault('(a tool result) has no "tool_call_id"')
    if role != "assistant" and recorded.get("tool_calls"):
        raise _RecordFault(f"(role {role}) calls tools; only an assistant does")
    if recorded.get("documents"):
        _check_documents(recorded["documents"])


def _check_documents(documents: Sequence[Any]) -> None:
    for index, document in enumerate(documents):
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
    return _new(ToolCall, (call_id, function["name"], arguments))


_FACT_TYPES: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "kind": (str,),
    "value": (str,),
    "aliases": (list,),
    "stated_at": (int,),
    "superseded_at": (int,),
    "supersedes": (str,),
    "probe_at": (list,),
    "polarity": (str,),
    "question": (str,),
}
_PROBE_TYPES = frozenset({list, type(None)})
_POLARITIES = frozenset({None, "positive", "negative"})


def _fact(recorded: Any) -> Fact:
    if not isinstance(recorded, dict):
        raise _RecordFault(f"is an object, not {_kind(recorded)}")
    get = recorded.get
    fact_id, kind, value, stated_at = get("id"), get("kind"), get("value"), get("stated_at")
    aliases, probes = get("aliases"), get("probe_at")
    # The usual label is seen to be right at once; every other one is checked field by field.
    usual = type(fact_id) is type(kind) is type(value) is str and type(stated_at) is int and type(aliases) is list
    if not usual or len(recorded) != (5 if probes is None else 6) or type(probes) not in _PROBE_TYPES:
        _check_types(recorded, _FACT_TYPES)
    if not value or value.isspace():
        raise _RecordFault('has no "value"')
    if stated_at is None:
        raise _RecordFault('has no "stated_at"')
    polarity = get("polarity")
    if polarity not in _POLARITIES:
        raise _RecordFault(f'has the polarity "{polarity}"; it is "positive" or "negative"')
    return _new(
        Fact,
        (
            fact_id or "",
            kind or "",
            value,
            _aliases(aliases) if aliases else (),
            stated_at,
            get("superseded_at"),
            get("supersedes"),
            _probes(probes) if probes else (),
            polarity == "negative",
            get("question"),
        ),
    )


def _aliases(aliases: Sequence[Any]) -> tuple[str, ...]:
    for alias in aliases:
        if not isinstance(alias, str) or not alias or alias.isspace():
            raise _RecordFault('has "aliases" that are not all text')
    return tuple(aliases)


def _probes(probes: Sequence[Any]) -> tuple[int, ...]:
    for probe in probes:
        if type(probe) is not int:
            raise _RecordFault('has a "probe_at" that is not a list of message indexes')
    return tuple(sorted(set(probes)) if len(probes) > 1 else probes)


def _check_labels(facts: Sequence[Fact], length: int) -> None:
    """Labels point into their conversation and to each other, and no two facts share an id."""
    seen: dict[str, int] = {}
    for index, fact in enumerate(facts):
        if not fact.id or fact.id in seen:
            raise _RecordFault(f"fact {index} has {'the id of an earlier fact' if fact.id else 'no id'}")
        seen[fact.id] = fact.stated_at
        # Probes are sorted: the first and the last stand for all.
        first, last = (fact.probe_at[0], fact.probe_at[-1]) if fact.probe_at else (0, 0)
        inside = 0 <= fact.stated_at < length and 0 <= (fact.superseded_at or 0) < length
        if not inside or first < 0 or last >= length:
            raise _position_fault(index, fact, length)
        if fact.superseded_at is not None and fact.superseded_at <= fact.stated_at:
            positions = f"superseded_at {fact.superseded_at}, not after its stated_at {fact.stated_at}"
            raise _RecordFault(f'fact {index} ("{fact.id}") has {positions}')
    for index, fact in enumerate(facts):
        if fact.supersedes is None:
            continue
        other = fact.supersedes in seen and fact.supersedes != fact.id
        if not other or seen[fact.supersedes] > fact.stated_at:
            complaint = "which is stated after it" if other else "which is no other fact of the record"
            raise _RecordFault(f'fact {index} ("{fact.id}") supersedes "{fact.supersedes}", {complaint}')


def _position_fault(index: int, fact: Fact, length: int) -> _RecordFault:
    positions = {"stated_at": (fact.stated_at,), "superseded_at": (fact.superseded_at,), "probe_at": fact.probe_at}
    field, position = next(
        (field, position)
        for field, indexes in positions.items()
        for position in indexes
        if position is not None and not 0 <= position < length
    )
    return _RecordFault(
        f'fact {index} ("{fact.id}") has {field} {position}, outside the conversation of {length} messages'
    )


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
