"""The tour of every screen of the real window, for `./helix screenshots`."""

from __future__ import annotations

import argparse
import re

_MAX_PIXELS = 8_192


def pixels(word: str) -> tuple[int, int]:
    """Parse a size in pixels, such as `1024x680`."""
    size = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", word)
    if size is None or max(map(int, size.groups())) > _MAX_PIXELS:
        raise argparse.ArgumentTypeError(f"must be a size, such as 1024x680 (got {word!r})")
    return int(size[1]), int(size[2])
