"""A JSON value by its key paths (`items[].price`): what stands at each, in numbers and examples.

Values at one path are read together, wherever in the lists above it they stand, so that a list of objects is
described by field. The shallow paths come first: a later question asks for a name or a price more often than for
what is nested deeply.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ctxmode_cli.context.outlines.strings import cut, json_in, scalar, without_blobs
from ctxmode_cli.conversation.jsonl import encode_json

DEPTH = 8
"""Levels that are looked into."""
STRING = 200
"""Characters of a string that stands alone at its path."""
EXAMPLE = 60
"""Characters of a string that stands beside others, and of a key."""
ITEM = 600
"""Characters of an item that is shown whole."""
LEAST_RECORDS = 4
"""Members from which an object of like objects is read as records by key, as a list of them would be."""


class KeyPath(NamedTuple):
    """All values that stand at one key path.

    Attributes:
        path: As it is shown: `[]` stands for each item of a list, `*` for each key of an object of like objects.
        depth: How many steps it has.
        values: In the order of the text.
        owners: In how many objects or lists such a value could stand.
    """

    path: str
    depth: int
    values: Sequence[Any]
    owners: int


def key_paths(values: Sequence[Any]) -> Iterator[KeyPath]:
    """The key paths of values of one kind (one value, or the rows of a table), the shallow ones first."""
    queue = deque([KeyPath("", 0, values, len(values))])
    while queue:
        here = queue.popleft()
        yield here
        if here.depth < DEPTH:
            queue.extend(_below(here))


def _below(here: KeyPath) -> Iterator[KeyPath]:
    items = [_opened(item) for value in here.values if isinstance(value, list) for item in value]
    if items:
        yield KeyPath(f"{here.path}[]", here.depth + 1, items, len(items))
    objects = [value for value in here.values if isinstance(value, dict)]
    if objects and all(map(are_records, objects)):
        records = [record for value in objects for record in value.values()]
        yield KeyPath(_joined(here.path, "*"), here.depth + 1, records, len(records))
        return
    members: dict[str, list[Any]] = {}
    for value in objects:
        for key, member in value.items():
            members.setdefault(key, []).append(_opened(member))
    for key, found in members.items():
        yield KeyPath(_joined(here.path, shown_key(key)), here.depth + 1, found, len(objects))


def _opened(value: Any) -> Any:
    """The value; of a long string that is itself JSON, as tools wrap their results, what it holds."""
    if not isinstance(value, str) or len(value) <= STRING:
        return value
    inner = json_in(value)
    return value if inner is None else inner


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def shown_key(key: str) -> str:
    """A key as it is shown: as it is, or quoted where it is empty or holds what cannot be shown."""
    return cut(key if key.isprintable() and key else encode_json(key), EXAMPLE)


def are_records(value: dict[str, Any]) -> bool:
    """Whether an object is a list in disguise: its keys are ids, and its members objects with the same fields."""
    if len(value) < LEAST_RECORDS:
        return False
    members = iter(value.values())
    first = next(members)
    return isinstance(first, dict) and all(
        isinstance(member, dict) and member.keys() == first.keys() for member in members
    )


def described(here: KeyPath, examples: int) -> str:
    """What stands at a key path, in words; "" where the paths below say it all.

    Args:
        here: The key path.
        examples: How many values beside one another are shown; so few are shown in full and in their order.
    """
    values = here.values
    scalars = [value for value in values if not isinstance(value, dict | list)]
    if here.owners == 1 and scalars:
        return scalar(values[0], STRING)
    if len(scalars) == len(values) <= examples:
        said = [", ".join(scalar(value, EXAMPLE) for value in values)]
    else:
        said = [*_containers(values, examples, at_the_bottom=here.depth >= DEPTH), *_statistics(scalars, examples)]
    if said and len(values) < here.owners:
        said.append(f"in {len(values):,} of {here.owners:,}")
    return "; ".join(said)


def _containers(values: Sequence[Any], examples: int, *, at_the_bottom: bool) -> Iterator[str]:
    lists = [value for value in values if isinstance(value, list)]
    if any(_not_told_below(value) for value in lists):
        listed = f"{sizes(lists)} {_kind([item for value in lists for item in value])}"
        yield f"list of {listed}" if len(lists) == 1 else f"{len(lists):,} lists of {listed}"
    objects = [value for value in values if isinstance(value, dict)]
    records = [value for value in objects if are_records(value)]
    if len(objects) == 1 and records:
        yield f"{len(records[0]):,} objects by key: {_keys(records[0], examples)}"
    elif objects and (at_the_bottom or not any(objects)):
        yield f"{len(objects):,} objects of {sizes(objects)} keys"


def _not_told_below(value: list[Any]) -> bool:
    return not value or any(isinstance(item, dict | list) for item in value)


def _kind(items: Sequence[Any]) -> str:
    told = ((dict, "object"), (list, "list"), (object, "item"))
    word = next(word for kind, word in told if all(isinstance(item, kind) for item in items or [None]))
    return word if len(items) == 1 else f"{word}s"


def _keys(value: dict[str, Any], shown: int) -> str:
    keys = [shown_key(key) for key, _ in zip(value, range(shown), strict=False)]
    return ", ".join([*keys, "…"] if len(value) > shown else keys)


def sizes(values: Sequence[list[Any] | dict[str, Any]]) -> str:
    """How long the shortest and the longest are: `3`, or `1–4`."""
    lengths = sorted(map(len, values))
    return between(lengths[0], lengths[-1])


def between(least: float, most: float) -> str:
    """A range of numbers, or the one that it holds."""
    return scalar(least, EXAMPLE) if least == most else f"{scalar(least, EXAMPLE)}–{scalar(most, EXAMPLE)}"


def _statistics(scalars: Sequence[Any], examples: int) -> Iterator[str]:
    strings = [value for value in scalars if isinstance(value, str)]
    if strings:
        different = list(dict.fromkeys(strings))
        shown = [scalar(value, EXAMPLE) for value in different[:examples]]
        more = ["…"] if len(different) > examples else []
        kinds = f", {len(different):,} different" if len(different) > 1 else ""
        yield f"{_several(len(strings), 'string')}{kinds}: {', '.join([*shown, *more])}"
    numbers = [value for value in scalars if isinstance(value, int | float) and not isinstance(value, bool)]
    if numbers:
        yield f"{_several(len(numbers), 'number')} {between(min(numbers), max(numbers))}"
    for value, word in ((True, "true"), (False, "false"), (None, "null")):
        if number := sum(1 for other in scalars if other is value):
            yield f"{number:,} {word}"


def _several(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def path_lines(paths: Sequence[KeyPath], examples: int) -> list[str]:
    """One line for each key path that has something to say."""
    told = ((here.path, described(here, examples)) for here in sorted(paths, key=rank))
    return [f"{path}: {said}" if path else said for path, said in told if said]


def rank(here: KeyPath) -> tuple[int, bool]:
    """Shallow paths first, and of one depth the short values that stand alone: ids, names, prices."""
    value = here.values[0]
    short = here.owners == 1 and not isinstance(value, dict | list) and len(str(value)) <= EXAMPLE
    return here.depth, not short


def item_lines(paths: Sequence[KeyPath]) -> list[str]:
    """The items, as JSON, of the shallowest list (or object of records) that holds objects or lists."""
    for here in paths:
        for value in here.values:
            if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
                named = [(f"{here.path}[{position}]", item) for position, item in enumerate(value)]
            elif isinstance(value, dict) and are_records(value):
                named = [(_joined(here.path, shown_key(key)), item) for key, item in value.items()]
            else:
                continue
            return [f"{path}: {cut(without_blobs(_whole(item)), ITEM)}" for path, item in named]
    return []


def _whole(item: Any) -> str:
    try:
        return encode_json(item)
    except RecursionError:  # it was read at the last level that Python allows, and is written at the next
        return "nested too deeply"
