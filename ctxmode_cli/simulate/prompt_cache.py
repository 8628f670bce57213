"""What a provider's prompt cache holds of a session, and how much of the next request is read from it."""

from collections.abc import Hashable, Sequence
from math import inf
from typing import NamedTuple, TypeAlias

from ctxmode_cli.context.context import Piece
from ctxmode_cli.context.history import History, Note
from ctxmode_cli.conversation.jsonl import sorted_json
from ctxmode_cli.conversation.message import WIRE_FIELDS
from ctxmode_cli.simulate.cache_rules import CacheRule

_PLAIN_FIELDS = frozenset({"role", "content"})

_Segment: TypeAlias = tuple[int, int] | Note
"""A range of recorded messages, or a generated one."""


class WireForms(dict[int, Hashable]):
    """By position, what two recorded messages have in common exactly when their wire forms are equal."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def __missing__(self, position: int) -> Hashable:
        message = self._history.messages[position]
        plain = isinstance(message.content, str) and WIRE_FIELDS.isdisjoint(message.recorded.keys() - _PLAIN_FIELDS)
        form = self[position] = (message.role, message.content) if plain else sorted_json(message.wire())
        return form


class _Node:
    """A stretch that earlier requests sent at the same place: a range of recorded messages, or one note.

    `used` is when it was last part of a request; `ends` are the positions in it, rising, at which a breakpoint lies.
    """

    __slots__ = ("children", "ends", "note", "start", "stop", "used")

    def __init__(self, start: int, stop: int, note: Note | None, used: float) -> None:
        self.start = start
        self.stop = stop
        self.note = note
        self.used = used
        self.ends: list[int] = []
        self.children: dict[Hashable, _Node] = {}


class _Walk(NamedTuple):
    """How far a request goes along what earlier ones sent."""

    path: list[_Node]
    """The stretches in common, from the root on."""
    rest: Sequence[_Segment]
    """What of the request comes after it."""
    common: int
    """Tokens in common."""
    marked: int
    """Tokens in common up to the last breakpoint."""


class PromptCache:
    """The requests that one mode has made in one session, as a tree of what they begin with.

    A request costs its pieces, not its length: of two ranges that start at the same message only the ends are
    compared. Messages are compared whole, by wire form. In the first differing system message or note the common
    tokens of the text count, its framing does not.

    Args:
        rule: The provider's rule.
        history: The session's messages, of which requests send ranges.
        forms: Wire forms of those messages, for several modes to share.
        warm_system: Whether tool schemas and leading system messages are always in the cache, as in a busy service.
    """

    def __init__(
        self, rule: CacheRule, history: History, *, forms: WireForms | None = None, warm_system: bool = False
    ) -> None:
        self._rule = rule
        self._history = history
        self._forms = WireForms(history) if forms is None else forms
        self._lifetime = inf if rule.lifetime_s is None else rule.lifetime_s
        self._tools_tokens = history.fixed_tokens - history.counter.REPLY_TOKENS
        self._root = _Node(0, 0, None, inf if warm_system else -inf)
        self._sent: Sequence[_Segment] = ()
        """The last request,"""
        self._path = [self._root]
        """the stretches that it goes along, from the root to its own end (no node knows its parent: sessions are many, and
        what refers to itself is not freed at once),"""
        self._sent_tokens = 0
        """and its tokens, without the opening of the reply."""
        if warm_system and history.leading_systems:
            self._enter([self._root], [(0, history.leading_systems)], inf)

    def read(self, pieces: Sequence[Piece], now: float = 0.0, reply_stop: int | None = None) -> int:
        """Tokens of a request that are read from the cache; afterwards the request is in it.

        The opening of the reply is never in the cache.

        Args:
            pieces: What the request sends.
            now: When, in seconds; 0 for every request is a cache that is always warm.
            reply_stop: One past the last message of its reply, for a rule that caches replies.
        """
        rule = self._rule
        if rule.minimum is None:
            return 0
        segments = _segments(pieces)
        tokens = self._send(segments, now)
        if rule.reply_cached and reply_stop is not None:
            *before, last = segments
            if not isinstance(last, Note):
                self._send([*before, (last[0], reply_stop)], now)
            elif last.replaces is not None:
                self._send([*segments, (last.replaces + 1, reply_stop)], now)
        return rule.hit(tokens)

    def _send(self, segments: Sequence[_Segment], now: float) -> int:
        """Tokens that a request has in common with earlier ones, as far as the rule lets it read them."""
        end = self._path[-1]
        stop = self._continued_to(segments, now)
        if stop:
            tokens = self._sent_tokens
            self._sent_tokens += self._history.range_tokens(end.stop, stop)
            end.stop = stop
        else:
            walk = self._walk(segments, now)
            in_prefix = self._rule.match == "prefix"
            tokens = walk.common + self._common_text(walk, now) if in_prefix else walk.marked
            self._path = self._enter(walk.path, walk.rest, now)
            self._sent_tokens = self._tools_tokens + sum(map(self._tokens, segments))
        self._sent = segments
        self._use(self._path, now)
        return tokens

    def _continued_to(self, segments: Sequence[_Segment], now: float) -> int:
        """The end of a request that is the last one with more recorded messages; 0 for any other.

        Most are, so that they need not be walked again.
        """
        sent, end, last = self._sent, self._path[-1], segments[-1]
        if len(sent) != len(segments) or end.children or isinstance(last, Note):
            return 0
        start, stop = last
        continues = (
            sent[-1] == (start, end.stop)
            and end.stop <= stop
            and now - end.used <= self._lifetime
            and segments[:-1] == sent[:-1]
        )
        return stop if continues else 0

    @staticmethod
    def _use(path: Sequence[_Node], now: float) -> None:
        """Note that a request has ended at the end of a path, and that all of it is used again."""
        end = path[-1]
        if not end.ends or end.ends[-1] != end.stop:
            end.ends.append(end.stop)
        for node in path:
            node.used = max(node.used, now)

    def _walk(self, segments: Sequence[_Segment], now: float) -> _Walk:
        """Follow a request as far as it has been sent before."""
        node = self._root
        path = [node]
        if now - node.used > self._lifetime or node.used == -inf:
            return _Walk(path, segments, 0, 0)
        range_tokens = self._history.range_tokens
        common = marked = self._tools_tokens
        for index, segment in enumerate(segments):
            position, stop = (0, 1) if isinstance(segment, Note) else segment
            while position < stop:
                form = _note_form(segment) if isinstance(segment, Note) else self._forms[position]
                child = node.children.get(form)
                if child is None or now - child.used > self._lifetime:
                    rest = segment if isinstance(segment, Note) else (position, stop)
                    return _Walk(path, [rest, *segments[index + 1 :]], common, marked)
                node = child
                path.append(node)
                if isinstance(segment, Note):
                    common += segment.tokens
                    marked = common if node.ends else marked
                    break
                length = self._shared(node, position, stop)
                if node.start + length < node.stop:
                    self._split(node, node.start + length)
                if node.ends:
                    marked = common + range_tokens(node.start, node.ends[-1])
                common += range_tokens(position, position + length)
                position += length
        return _Walk(path, (), common, marked)

    def _tokens(self, segment: _Segment) -> int:
        return segment.tokens if isinstance(segment, Note) else self._history.range_tokens(*segment)

    def _shared(self, node: _Node, position: int, stop: int) -> int:
        """How many messages from `position` on are those of the node; the first of them is."""
        most = min(node.stop - node.start, stop - position)
        if node.start == position:
            return most
        forms, length = self._forms, 1
        while length < most and forms[node.start + length] == forms[position + length]:
            length += 1
        return length

    def _split(self, node: _Node, stop: int) -> None:
        """Part a node before the message at `stop`: what follows becomes its only child."""
        lower = _Node(stop, node.stop, None, node.used)
        lower.children = node.children
        lower.ends = [end for end in node.ends if end > stop]
        node.ends = [end for end in node.ends if end <= stop]
        node.children = {self._forms[stop]: lower}
        node.stop = stop

    def _enter(self, path: list[_Node], segments: Sequence[_Segment], now: float) -> list[_Node]:
        """Add what no earlier request has sent behind a path; the whole path of the request."""
        root = self._root
        for segment in segments:
            node = path[-1]
            if isinstance(segment, Note):
                child = node.children[_note_form(segment)] = _Node(0, 0, segment, now)
            else:
                start, stop = segment
                grows = node.stop == start and node.used != inf and node.note is None and not node.children
                if grows and node is not root:
                    node.stop = stop
                    continue
                child = node.children[self._forms[start]] = _Node(start, stop, None, now)
                if node is root and start == 0 < self._history.leading_systems:
                    child.ends.append(self._history.leading_systems)
            path.append(child)
        return path

    def _common_text(self, walk: _Walk, now: float) -> int:
        """Common tokens of the first system message or note that differs and what stood in its place before."""
        before = walk.path[-1].children
        if not walk.rest or not before:
            return 0
        role, text, most = self._generated(walk.rest[0])
        hit = self._rule.hit
        if not text or hit(walk.common + most) == hit(walk.common):
            return 0
        best = 0
        for child in before.values():
            other_role, other, _ = self._generated(child.note or (child.start, child.stop))
            if role == other_role and now - child.used <= self._lifetime:
                best = max(best, self._history.counter.common_prefix(text, other))
        return best

    def _generated(self, segment: _Segment) -> tuple[str, str, int]:
        """Role, text and tokens of a note or of the system message that a range begins with; no text for any other."""
        if isinstance(segment, Note):
            return segment.role, segment.text if segment.replaces is None else "", segment.tokens
        message = self._history.messages[segment[0]]
        if not message.is_system or not isinstance(message.content, str):
            return message.role, "", 0
        return message.role, message.content, self._history.range_tokens(segment[0], segment[0] + 1)


def _note_form(note: Note) -> Hashable:
    """What two notes have in common exactly when they are equal; no recorded message has it."""
    return "note", note.role, note.text, note.replaces


def _segments(pieces: Sequence[Piece]) -> list[_Segment]:
    """The pieces, with ranges that follow each other made one."""
    segments: list[_Segment] = []
    for piece in pieces:
        if isinstance(piece, Note):
            segments.append(piece)
            continue
        _, start, stop, _ = piece
        last = segments[-1] if segments else None
        if last is not None and not isinstance(last, Note) and last[1] == start:
            segments[-1] = (last[0], stop)
        else:
            segments.append((start, stop))
    return segments
