"""Three-way merges of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from helix_desktop.domain.file_history.line_match import matching_blocks
from helix_desktop.domain.files.content import utf16_encoding

ChunkKind = Literal["same", "ours", "theirs", "both", "conflict"]
"""Which side changed the lines of a chunk: none, one, both in the same way, or both differently."""

ChunkChoice = Literal["ours", "theirs"]
"""Whose lines stand in the result."""

MAX_BYTES = 16 * 1024 * 1024  # bytes of all three sides together that are merged by lines
MAX_LINES = 600_000  # lines of all three sides together

_LINE_FEED = b"\n"


class Chunk(msgspec.Struct, frozen=True):
    """Lines that belong together on all three sides, with their line ends."""

    kind: ChunkKind
    base: tuple[bytes, ...]
    ours: tuple[bytes, ...]
    theirs: tuple[bytes, ...]

    @property
    def choice(self) -> ChunkChoice | None:
        """Whose lines stand in the result if nobody chooses; None: of a conflict, nobody's."""
        match self.kind:
            case "conflict":
                return None
            case "theirs":
                return "theirs"
        return "ours"


class Merge(msgspec.Struct, frozen=True):
    """Two texts that came from one: chunks in order; `line_end` parts lines of two sides that have none."""

    chunks: tuple[Chunk, ...]
    line_end: bytes = _LINE_FEED

    @property
    def is_clean(self) -> bool:
        """True if nothing was changed differently on both sides in the same place."""
        return all(chunk.kind != "conflict" for chunk in self.chunks)

    def build(self, choices: Mapping[int, ChunkChoice] | None = None) -> bytes:
        """Return the result, with what was chosen for chunks by their numbers.

        Raises ValueError for a conflict without a choice.
        """
        parts: list[bytes] = []
        for number, chunk in enumerate(self.chunks):
            choice = (choices or {}).get(number, chunk.choice)
            if choice is None:
                raise ValueError(f"chunk {number} is a conflict, and nothing was chosen for it")
            lines = chunk.ours if choice == "ours" else chunk.theirs
            if lines and parts and not parts[-1].endswith(self.line_end):
                parts.append(self.line_end)
            parts += lines
        return b"".join(parts)


def merge(base: bytes, ours: bytes, theirs: bytes) -> Merge | None:
    """Merge two texts that both came from `base`; None if one of them is no text, or they are too large.

    What both changed in the same or in neighboring lines is a conflict, unless it is equal.
    """
    sides = (base, ours, theirs)
    encoding = utf16_encoding(base)
    if sum(map(len, sides)) > MAX_BYTES or any(utf16_encoding(side) != encoding for side in sides):
        return None
    if not encoding and any(b"\0" in side for side in sides):
        return None
    line_end = _LINE_FEED.decode().encode(encoding) if encoding else _LINE_FEED
    if encoding and any(len(side) % len(line_end) for side in sides):
        return None
    lines = [_byte_lines(side, line_end) for side in sides]
    if sum(map(len, lines)) > MAX_LINES:
        return None
    return Merge(tuple(_chunks(*lines)), line_end)


def _byte_lines(data: bytes, line_end: bytes) -> list[bytes]:
    """Return the lines with their ends; in UTF-16 only a whole character ends one."""
    if len(line_end) == 1:
        lines = [line + line_end for line in data.split(line_end)]
    else:
        lines = []
        start = 0
        at = data.find(line_end)
        while at >= 0:
            if at % len(line_end):
                at = data.find(line_end, at + 1)
                continue
            lines.append(data[start : at + len(line_end)])
            start = at + len(line_end)
            at = data.find(line_end, start)
        lines.append(data[start:] + line_end)
    last = lines.pop()[: -len(line_end)]
    return [*lines, last] if last else lines


def _chunks(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[Chunk]:
    """Yield what all three sides have in common, and what stands between (diff3)."""
    base_at = ours_at = theirs_at = 0
    for start, in_ours, in_theirs, size in [
        *_common(base, ours, theirs),
        (len(base), len(ours), len(theirs), 0),
    ]:
        sides = (tuple(base[base_at:start]), tuple(ours[ours_at:in_ours]), tuple(theirs[theirs_at:in_theirs]))
        if any(sides):
            yield Chunk(_kind(*sides), *sides)
        base_at = start + size
        ours_at = in_ours + size
        theirs_at = in_theirs + size
        if size:
            same = tuple(base[start:base_at])
            yield Chunk("same", same, same, same)


def _kind(base: tuple[bytes, ...], ours: tuple[bytes, ...], theirs: tuple[bytes, ...]) -> ChunkKind:
    if ours == theirs:
        return "both"
    if theirs == base:
        return "ours"
    return "theirs" if ours == base else "conflict"


def _common(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield rows of lines that stand unchanged on both sides: where in base, ours, theirs; how many."""
    left = matching_blocks(base, ours)
    right = matching_blocks(base, theirs)
    at = other = 0
    while at < len(left) and other < len(right):
        base_left, in_ours, left_size = left[at]
        base_right, in_theirs, right_size = right[other]
        start = max(base_left, base_right)
        end = min(base_left + left_size, base_right + right_size)
        if start < end:
            yield start, in_ours + start - base_left, in_theirs + start - base_right, end - start
        if base_left + left_size < base_right + right_size:
            at += 1
        else:
            other += 1
