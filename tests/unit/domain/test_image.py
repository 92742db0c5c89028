"""What an image header claims, and how much of it is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_desktop.domain.digest import bare_marker, digest_of
from helix_desktop.domain.image import MAX_EDGE_PX, Image, identify_image
from tests.support.image_bytes import gif, jpeg, minimal_png, png, webp

EDGE = st.integers(1, 16_000)


def read(data: bytes, label: str = "") -> Image | None:
    return identify_image(data, digest_of(data), label)


@given(EDGE, EDGE, st.integers(0, 60_000), st.sampled_from(("lossy", "lossless", "extended")))
def test_each_format_reports_its_size(width: int, height: int, before: int, kind: str) -> None:
    """PNG, GIF, JPEG behind other segments, and the three WebPs."""
    samples = {
        "image/png": minimal_png(width, height, 0),
        "image/gif": gif(width, height),
        "image/jpeg": jpeg(width, height, before),
        "image/webp": webp(width, height, kind),
    }
    for media, data in samples.items():
        image = read(data)
        assert image is not None, media
        assert (image.media, image.width, image.height, image.size) == (media, width, height, len(data))
        assert image.digest == digest_of(data)


STARTS = (png(1, 1)[:16], b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L", b"")


@given(st.sampled_from(STARTS), st.binary(max_size=200))
def test_any_header_gives_a_size_within_bounds(start: bytes, rest: bytes) -> None:
    """Damaged and hostile headers give no image, or one of a size that an image can have."""
    image = read(start + rest)
    assert image is None or (0 < image.width <= 65_535 and 0 < image.height <= 65_535)


@given(EDGE, EDGE)
def test_an_image_over_the_models_limit_costs_no_more(width: int, height: int) -> None:
    """Scaled down to the longest edge, it costs what the smaller one costs."""
    image = read(minimal_png(width, height, 0))
    assert image is not None
    assert 85 <= image.tokens <= MAX_EDGE_PX * MAX_EDGE_PX // 750 + 1
    larger = read(minimal_png(min(width * 4, 65_535), min(height * 4, 65_535), 0))
    assert larger is not None
    assert larger.tokens >= image.tokens - 1


@pytest.mark.parametrize(("width", "height", "tokens"), [(200, 200, 85), (1_000, 1_000, 1_333)])
def test_the_token_cost_is_the_documented_one(width: int, height: int, tokens: int) -> None:
    """Pixels / 750, as in the provider's documentation; a small one costs the minimum."""
    image = read(minimal_png(width, height, 0))
    assert image is not None
    assert image.tokens == tokens


def test_label_and_marker_are_one_line() -> None:
    """The label is one line, whatever it contained, and the marker leads back to the bytes."""
    image = read(png(3, 2), "a\nshot\t.png")
    assert image is not None
    assert image.text == "[Image: a shot .png]"
    assert image.marker.startswith("[Image left out: a shot .png, PNG image, 3 × 2 pixels, ")
    assert image.marker.endswith(bare_marker(image.digest))
    assert "\n" not in image.marker
