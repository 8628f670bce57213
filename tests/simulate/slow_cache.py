"""The prompt cache as its definition reads: every prefix that was ever sent, message by message, with its last use."""

from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

from ctxmode_cli.context.context import Piece
from ctxmode_cli.context.history import History, Recorded
from ctxmode_cli.conversation.jsonl import sorted_json
from ctxmode_cli.simulate.cache_rules import CacheRule

Item = tuple[str, int, str, str]
"""What must be equal, tokens, role, and the text of a system message or note."""


def items_of(pieces: tuple[Piece, ...], history: History) -> list[Item]:
    """A request, one message after another."""
    items: list[Item] = []
    for piece in pieces:
        if not isinstance(piece, Recorded):
            items.append((f"note {piece.role} {piece.text}", piece.tokens, piece.role, piece.text))
            continue
        for position in range(piece.start, piece.stop):
            message = history.messages[position]
            text = message.content if message.is_system and isinstance(message.content, str) else ""
            tokens = history.counter.message(message)
            items.append((sorted_json(message.wire()), tokens, message.role, text))
    return items


@dataclass
class SlowCache:
    """Keeps every prefix by itself, and looks at all of them for every request."""

    rule: CacheRule
    history: History
    used: dict[tuple[Item, ...], float] = field(default_factory=dict)
    breakpoints: set[tuple[Item, ...]] = field(default_factory=set)

    def read(self, pieces: tuple[Piece, ...], now: float, reply_stop: int) -> int:
        items = tuple(items_of(pieces, self.history))
        tools = self.history.fixed_tokens - 3
        tokens = list(accumulate([item[1] for item in items], initial=tools))
        lifetime = inf if self.rule.lifetime_s is None else self.rule.lifetime_s
        alive = {prefix for prefix, used in self.used.items() if now - used <= lifetime}
        self.breakpoints &= alive
        lengths = [length for length in range(len(items) + 1) if items[:length] in alive]
        if self.rule.match == "breakpoint":
            lengths = [length for length in lengths if items[:length] in self.breakpoints]
        common = 0
        if lengths:
            length = max(lengths)
            common = tokens[length]
            if self.rule.match == "prefix" and length < len(items):
                common += self._text(items, length, alive)
        self._keep(items, now)
        if self.rule.reply_cached:
            last = pieces[-1]
            assert isinstance(last, Recorded)
            reply = Recorded("history", last.stop, reply_stop, 0)
            self._keep((*items, *items_of((reply,), self.history)), now)
        return self.rule.hit(common)

    def _keep(self, items: tuple[Item, ...], now: float) -> None:
        for length in range(len(items) + 1):
            self.used[items[:length]] = now
        self.breakpoints |= {(), items[: self.history.leading_systems], items}

    def _text(self, items: tuple[Item, ...], length: int, alive: set[tuple[Item, ...]]) -> int:
        _, _, role, text = items[length]
        encode = self.history.counter._encode
        best = 0
        for prefix in alive:
            if text and len(prefix) == length + 1 and prefix[:length] == items[:length] and prefix[length][2] == role:
                pairs = zip(encode(text), encode(prefix[length][3]), strict=False)
                best = max(best, next((n for n, (a, b) in enumerate(pairs) if a != b), self._shorter(text, prefix)))
        return best

    def _shorter(self, text: str, prefix: tuple[Item, ...]) -> int:
        encode = self.history.counter._encode
        return min(len(encode(text)), len(encode(prefix[-1][3])))
