"""Thumbnails: scaled down, never up, and none of what is damaged."""

from __future__ import annotations

from helix_desktop.ui.design.viewer.picture import read_thumbnail, thumbnail_size
from tests.support.image_bytes import png


def test_a_thumbnail_keeps_the_aspect_and_is_no_larger_than_the_image() -> None:
    assert thumbnail_size(1_600, 800).toTuple() == (80, 40)
    assert thumbnail_size(12, 10).toTuple() == (12, 10)
    assert thumbnail_size(9_000, 2).toTuple() == (96, 1)
    large, small = read_thumbnail(png(320, 200)), read_thumbnail(png(12, 10))
    assert large is not None
    assert small is not None
    assert (large.size().toTuple(), small.size().toTuple()) == ((128, 80), (12, 10))


def test_a_damaged_image_has_no_thumbnail() -> None:
    assert read_thumbnail(png(320, 200)[:60]) is None
