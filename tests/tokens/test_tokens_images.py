"""Image rules and image sizes."""

import base64
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.tokens.images import PatchRule, TileRule, image_tokens
from ctxmode_cli.tokens.models import find_model

GPT_4O = TileRule(base=85, tile=170)
GPT_41_MINI = PatchRule(multiplier=Fraction("1.62"), limit=1536)

SIDES = st.integers(min_value=1, max_value=100_000)


def png_url(width: int, height: int) -> str:
    """The data URL of a PNG file that ends after its header."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0) + bytes(4)
    return "data:image/png;base64," + base64.b64encode(head).decode()


def image_part(url: object, **fields: str) -> dict[str, object]:
    """A Chat Completions image part."""
    return {"type": "image_url", "image_url": {"url": url, **fields}}


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (1024, 1024, 765),  # the guide's example: scaled to 768 x 768, four tiles
        (2048, 4096, 1105),  # the guide's example: scaled to 1024 x 2048, then 768 x 1536, six tiles
        (512, 512, 85 + 170),  # smaller than all limits: as it is, one tile
        (513, 512, 85 + 2 * 170),
        (1, 1, 85 + 170),
        (768, 2048, 85 + 8 * 170),
        (100_000, 1, 85 + 4 * 170),  # 2048 x 1
    ],
)
def test_tile_rule(width: int, height: int, tokens: int) -> None:
    """Base and tiles after scaling, as in the examples of the provider's guide."""
    assert GPT_4O.tokens(width, height, low_detail=False) == tokens
    assert GPT_4O.tokens(height, width, low_detail=False) == tokens


def test_low_detail_is_the_base() -> None:
    """With low detail an image of any size costs the base."""
    assert GPT_4O.tokens(4000, 4000, low_detail=True) == 85


@pytest.mark.parametrize(
    ("width", "height", "patches"),
    [
        (1024, 1024, 1024),  # the guide's example
        (1800, 2400, 1452),  # the guide's example: scaled to 1056 x 1408
        (32, 33, 2),
        (1, 1, 1),
        (2048, 768, 1536),  # exactly at the limit
        (2400, 3200, 1452),  # 33 x 44, where floating point has a little more than 33
        (1_000_000, 1, 1536),
    ],
)
def test_patch_rule(width: int, height: int, patches: int) -> None:
    """Patches that cover the image, at most the limit, as in the examples of the provider's guide."""
    assert PatchRule(Fraction(1), 1536).tokens(width, height, low_detail=False) == patches
    assert PatchRule(Fraction(1), 1536).tokens(height, width, low_detail=False) == patches


def test_part_of_a_token_counts_as_one() -> None:
    """What the multiplier leaves over is rounded up."""
    assert GPT_41_MINI.tokens(32, 32, low_detail=False) == 2
    assert GPT_41_MINI.tokens(320, 320, low_detail=False) == 162


@given(width=SIDES, height=SIDES)
def test_no_size_breaks_a_rule(width: int, height: int) -> None:
    """Every size has a count between that of the smallest and that of the largest image."""
    assert 85 + 170 <= GPT_4O.tokens(width, height, low_detail=False) <= 85 + 8 * 170
    assert 2 <= GPT_41_MINI.tokens(width, height, low_detail=False) <= 2489


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o", 765),
        ("gpt-4o-mini", 2833 + 4 * 5667),
        ("gpt-4.1", 765),
        ("gpt-4-turbo", 765),
        ("o1", 75 + 4 * 150),
        ("o3", 75 + 4 * 150),
        ("gpt-5", 70 + 4 * 140),
        ("gpt-4.1-mini", 1659),
        ("gpt-4.1-nano", 2520),
        ("o4-mini", 1762),
        ("gpt-5-mini", 1659),
        ("gpt-5-nano", 2520),
    ],
)
def test_rules_of_the_models(model: str, tokens: int) -> None:
    """One image of 1024 by 1024 pixels, by the published rule of each model."""
    rule = find_model(model).image_rule
    assert rule is not None
    assert image_tokens(image_part(png_url(1024, 1024)), rule) == tokens


@pytest.mark.parametrize(("width", "height", "tokens"), [(512, 512, 255), (1024, 512, 425), (2048, 4096, 1105)])
def test_size_is_read_from_a_data_url(width: int, height: int, tokens: int) -> None:
    """The size in the file's own header decides, in both forms of an image part."""
    url = png_url(width, height)
    assert image_tokens(image_part(url), GPT_4O) == tokens
    assert image_tokens({"type": "input_image", "image_url": url, "detail": "auto"}, GPT_4O) == tokens


def test_detail_is_read_in_both_forms() -> None:
    """`detail: low` stands beside the URL, within the object or beside the plain address."""
    url = png_url(2048, 2048)
    assert image_tokens(image_part(url, detail="low"), GPT_4O) == 85
    assert image_tokens({"type": "input_image", "image_url": url, "detail": "low"}, GPT_4O) == 85
    assert image_tokens(image_part(url, detail="high"), GPT_4O) == 765


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/cat.png",
        "data:image/png;base64,",
        "data:image/png;base64,AAAA",
        "data:image/png;base64,%%%",
        "data:image/png,notbase64",
        png_url(512, 512).replace(";base64", ""),
        "data:image/tiff;base64," + base64.b64encode(b"II*\x00").decode(),
        "data:image/jpeg;base64," + base64.b64encode(b"\xff\xd8\xff\xe0").decode(),
        "data:image/svg+xml;base64," + base64.b64encode(b"<svg").decode(),
        png_url(0, 10),
        None,
        7,
    ],
)
def test_unknown_size_is_one_large_image(url: object) -> None:
    """Where the size cannot be read, the image is one of 1024 by 1024 pixels, and nothing fails."""
    assert image_tokens(image_part(url), GPT_4O) == 765
    assert image_tokens({"type": "input_image", "image_url": url}, GPT_4O) == 765


def test_drawing_with_fractions_of_a_pixel() -> None:
    """A vector image, whose sides need not be whole, counts by its whole pixels."""
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" width="512.5" height="100"></svg>'
    assert image_tokens(image_part("data:image/svg+xml;base64," + base64.b64encode(drawing).decode()), GPT_4O) == 255


def test_cut_off_payload_still_has_a_size() -> None:
    """A log that cut the payload off in the middle of a base64 group still tells the size."""
    payload = png_url(512, 512) + "A" * 1001
    assert image_tokens(image_part(payload), GPT_4O) == 255
