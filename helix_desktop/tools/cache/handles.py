"""What a recall names: a content by its hash, or entries of a session by their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from helix_desktop.domain.digest import HEX_DIGITS, MIN_PREFIX, SHORT_DIGITS, is_digest_prefix
from helix_desktop.domain.errors import ContentRedacted, StoreError, ToolError
from helix_desktop.domain.store.content_reader import ContentReader
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.tools.cache.origins import Origins, content_name

_ENTRIES = re.compile(r"(?:([0-9a-f]{8,64})[\s,:]+)?e(\d{1,6})(?:\s*[-–]\s*e?(\d{1,6}))?")
_MAX_NEAR, _NEAR_PREFIX = 5, 4


@dataclass(frozen=True)
class EntryRange:
    """The entries `first` to `last`: of the calling session, or of those that an index covers."""

    first: int
    last: int
    index: str = ""

    @property
    def text(self) -> str:
        """Return the range as it stands in notes: `e39` or `e39-e45`."""
        return f"e{self.first}" if self.first == self.last else f"e{self.first}-e{self.last}"


def parse_handle(text: str) -> str | EntryRange:
    """Return the digits of a hash, or the entries that a text names. Raises ToolError for anything else."""
    plain = text.strip().strip("\"'`").rstrip("….").lower()
    if match := _ENTRIES.fullmatch(plain):
        first, last = int(match[2]), int(match[3] or match[2])
        if last < first:
            raise ToolError(f"{text[:80]!r} ends before it begins.", fix=f"Write e{last}-e{first}.")
        return EntryRange(first, last, match[1] or "")
    if is_digest_prefix(plain) and MIN_PREFIX <= len(plain) <= HEX_DIGITS:
        return plain
    raise ToolError(
        f"{text[:80]!r} is not a hash of cached content.",
        "A hash is the hex digits in a [CACHED] marker, 8 or more of them; an entry is a number such as e39.",
        "Copy it from the marker, or find it by words with search_cached_content.",
    )


class HandleResolver:
    """Finds the one content that begins with some digits."""

    def __init__(self, contents: ContentReader, origins: Origins) -> None:
        self._contents, self._origins = contents, origins

    async def resolve(self, prefix: str) -> str:
        """Return the digest. Raises ToolError, with the candidates if there are several, or near ones."""
        digests = await self._contents.find(prefix, _MAX_NEAR + 1)
        if len(digests) == 1:
            return digests[0]
        if not digests:
            await self._check_redacted(prefix)
        raise await self._lookup_error(prefix, digests)

    async def _check_redacted(self, prefix: str) -> None:
        """Raise ToolError if the user had it removed, with the new hash of an index entry that named it."""
        for digest in [prefix] if len(prefix) == HEX_DIGITS else self._origins.digests(prefix):
            try:
                await self._contents.get(digest)
            except ContentRedacted as error:
                raise ToolError(error.what, error.why, error.fix) from error
            except StoreError:
                pass

    async def _lookup_error(self, prefix: str, digests: Sequence[str]) -> ToolError:
        near = await self._describe(
            digests[:_MAX_NEAR] or await self._contents.find(prefix[:_NEAR_PREFIX], _MAX_NEAR)
        )
        if digests:
            more = "; and more" if len(digests) > _MAX_NEAR else ""
            return ToolError(f"{prefix} fits several cached contents: {near}{more}.", fix="Give more digits.")
        return ToolError(
            f"This workspace's cache holds nothing under {prefix}.",
            f"Near matches here: {near}." if near else "Nothing here begins alike.",
            "Copy the hash from a [CACHED] marker or an index here; another workspace's cannot be read.",
        )

    async def _describe(self, digests: Sequence[str]) -> str:
        """Return name and size of each content, by as many digits as tell them apart."""
        digits = next(
            count
            for count in range(SHORT_DIGITS, HEX_DIGITS + 1)
            if len({digest[:count] for digest in digests}) == len(set(digests)) or count == HEX_DIGITS
        )
        descriptions = []
        for digest in digests:
            try:
                entry = await self._contents.entry(digest)
            except StoreError:
                continue
            descriptions.append(f"{digest[:digits]} ({content_name(entry)}, {format_bytes(entry.size)})")
        return "; ".join(descriptions)
