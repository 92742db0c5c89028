"""What the card of an excerpt shows: its first lines, all of them, or its image. Slow; for a thread."""

from __future__ import annotations

from io import BytesIO
from itertools import islice

from helix_desktop.domain.tools import Excerpt
from helix_desktop.ui.chat.rows.row_types import MAX_BYTES, MAX_LINES, ExcerptContent
from helix_desktop.ui.design.viewer.picture import read_image
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

FIRST_LINES, FIRST_BYTES = 80, 16 * 1024  # that a card shows until the user asks for all


def excerpt_content(data: bytes, excerpt: Excerpt, in_full: bool) -> ExcerptContent:
    """Return what a card shows of an excerpt of these bytes: the first lines, or with `in_full` all."""
    if excerpt.image is not None:
        image = read_image(data)
        return (
            ExcerptContent(image=image) if image else ExcerptContent(problem=tr("Couldn't read the image."))
        )
    max_lines, max_bytes = (MAX_LINES, MAX_BYTES) if in_full else (FIRST_LINES, FIRST_BYTES)
    count = min(excerpt.lines, max_lines)
    first = excerpt.start_line - 1
    part = b"".join(islice(BytesIO(data), first, first + count))
    if len(part) > max_bytes:
        part = part[: part.rfind(b"\n", 0, max_bytes) + 1 or max_bytes]
        count = part.count(b"\n")
    hidden = excerpt.lines - count
    fits = excerpt.lines <= MAX_LINES and excerpt.size <= MAX_BYTES
    return ExcerptContent(part.decode("utf-8", "replace").removesuffix("\n"), hidden, hidden > 0 and fits)
