"""A provider's rules for its prompt cache."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class CacheRule:
    """When a prompt's beginning is read from the provider's cache, and at what share of the input price."""

    name: str
    minimum: int
    """Tokens; a shorter hit counts as none, and a shorter prompt is not written."""
    unit: int = 1
    """Hits are rounded down to a multiple of so many tokens."""
    read: Decimal | None = None
    """Price of a token read, as a factor of the input price; None: what the price table says."""
    write: Decimal | None = None
    """Price of a token written, likewise."""
    lifetime_s: float | None = None
    """Seconds that an entry lives after its last use; None: no end."""
    match: str = "prefix"
    """`prefix`: any common beginning is read. `breakpoint`: only up to where an earlier request, or the system
    messages of one, ended."""
    reply_cached: bool = False
    """Whether the reply is in the cache for the next request."""
    source: str = ""
    date: str = ""
    """The day on which the rule was last compared with its source (ISO 8601)."""

    def hit(self, common: int) -> int:
        """Tokens read, of a common beginning of `common` tokens."""
        read = common - common % self.unit
        return read if read >= self.minimum else 0
