"""How many tokens an image is: the provider's published rules, and an image's size from its data URL."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from math import ceil, floor, sqrt
from typing import Any, Protocol

UNKNOWN_SIZE = (1024, 1024)
"""Width and height in pixels that an image counts as where its own are not in the record."""

LONG_SIDE = 2048
SHORT_SIDE = 768
TILE_SIDE = 512
PATCH_SIDE = 32
"""Pixels; from the images guide of the provider's documentation, as are the steps of both rules below."""


class ImageRule(Protocol):
    """A model family's published rule; as text, one line that states it."""

    def tokens(self, width: int, height: int, *, low_detail: bool) -> int:
        """Tokens of one image of `width` by `height` pixels."""


@dataclass(frozen=True, slots=True)
class TileRule:
    """A base, and a price for each tile of 512 pixels that covers the image once it is scaled down.

    The image is scaled into 2048 x 2048, then until its shortest side is 768; a smaller one keeps its size.
    """

    base: int
    """Tokens of any image; with `detail: low` all of them."""
    tile: int
    """Tokens of one tile."""

    def __str__(self) -> str:
        return f"{self.base} + {self.tile} a tile of {TILE_SIDE} px"

    def tokens(self, width: int, height: int, *, low_detail: bool) -> int:
        """Tokens of one image of `width` by `height` pixels."""
        if low_detail:
            return self.base
        long, short = max(width, height), min(width, height)
        scale = min(Fraction(1), Fraction(LONG_SIDE, long), Fraction(SHORT_SIDE, short))
        tiles = ceil(width * scale / TILE_SIDE) * ceil(height * scale / TILE_SIDE)
        return self.base + tiles * self.tile


@dataclass(frozen=True, slots=True)
class PatchRule:
    """A price for each patch of 32 pixels that covers the image, scaled down until no more than `limit` do.

    The rule knows no detail levels.
    """

    multiplier: Fraction
    """Tokens of one patch."""
    limit: int
    """The most patches an image can have."""

    def __str__(self) -> str:
        return f"{float(self.multiplier):g} a patch of {PATCH_SIDE} px, at most {self.limit:,} patches"

    def tokens(self, width: int, height: int, *, low_detail: bool) -> int:  # noqa: ARG002 - see the class
        """Tokens of one image of `width` by `height` pixels, a part of a token counted as one."""
        columns, rows = ceil(width / PATCH_SIDE), ceil(height / PATCH_SIDE)
        if columns * rows > self.limit:
            columns, rows = self._scaled_down(width, height)
        return ceil(min(columns * rows, self.limit) * self.multiplier)

    def _scaled_down(self, width: int, height: int) -> tuple[int, int]:
        """Columns and rows of the image at the largest size where one side is a whole number of patches."""
        scale = sqrt(self.limit / (width * height))
        columns, rows = width * scale, height * scale
        # A strip thinner than a patch takes one all the same.
        fit = min(max(1, floor(side)) / side for side in (columns, rows))
        # The rounding keeps 33.000000000000004 at 33.
        return ceil(round(columns * fit, 6)), ceil(round(rows * fit, 6))


def image_tokens(part: Mapping[str, Any], rule: ImageRule) -> int:
    """Tokens of an `image_url` or `input_image` part; one of unknown size counts as 1024 x 1024."""
    image = part.get("image_url")
    fields = image if isinstance(image, Mapping) else {"url": image, "detail": part.get("detail")}
    width, height = _size(fields.get("url")) or UNKNOWN_SIZE
    return rule.tokens(width, height, low_detail=fields.get("detail") == "low")


def _size(url: Any) -> tuple[int, int] | None:
    """Width and height in pixels of the image in a data URL, or None where they cannot be read."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    header, _, payload = url.partition(",")
    if not header.endswith(";base64"):
        return None
    import imagesize  # noqa: PLC0415 - it imports a whole web client, and few logs hold images

    try:
        # Logs cut long payloads off, and the size stands at the head.
        width, height = map(int, imagesize.get(BytesIO(base64.b64decode(payload[: len(payload) // 4 * 4]))))
    except (ValueError, OverflowError):
        return None
    return (width, height) if width > 0 and height > 0 else None
