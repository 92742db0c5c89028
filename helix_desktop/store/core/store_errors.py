"""The store's errors as the user reads them; the same texts for both stores."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.domain.digest import MIN_PREFIX, is_digest_prefix
from helix_desktop.domain.errors import (
    ContentDamaged,
    ContentRedacted,
    ContentTooLarge,
    DigestUnknown,
    StoreClosed,
)
from helix_desktop.domain.store.entries import Content
from helix_desktop.domain.text_format import format_bytes, utc_day
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES

_MAX_NEAR_MATCHES = 5  # near matches that are listed
_MIN_NEAR_DIGITS = 4  # hex digits that a near match has in common, at least


def store_closed() -> StoreClosed:
    """Return the error for a call after `close`."""
    return StoreClosed("The workspace's store is closed.", fix="Open the workspace again.")


def content_too_large(content: Content) -> ContentTooLarge:
    """Return the error for a content over the limit."""
    size, max_text = _format_sizes(len(content.data), MAX_CONTENT_BYTES)
    return ContentTooLarge(
        f"{content.tool or 'An output'} gave {size}, which is not stored.",
        f"One content may have at most {max_text}.",
        "Ask for less: a part of the file, fewer lines, or a search in it.",
    )


def request_too_large(size: int, max_bytes: int) -> ContentTooLarge:
    """Return the error for a commit that does not fit one message to the store's owner."""
    size_text, max_text = _format_sizes(size, max_bytes)
    return ContentTooLarge(
        f"What was to be stored at once has {size_text}.",
        f"Beside the window that owns the workspace, at most {max_text} can be stored at once.",
        "Close the window and try again, or store it in parts.",
    )


def _format_sizes(size: int, max_bytes: int) -> tuple[str, str]:
    """Format both sizes; to the byte if they would round to the same text."""
    if format_bytes(size) == format_bytes(max_bytes):
        return f"{size:,} bytes", f"{max_bytes:,} bytes"
    return format_bytes(size), format_bytes(max_bytes)


def digest_unknown(digest: str, find_digests: Callable[[str, int], list[str]]) -> DigestUnknown:
    """Return the error for a digest this workspace does not hold, with near matches."""
    near: tuple[str, ...] = ()
    for length in (MIN_PREFIX, _MIN_NEAR_DIGITS):
        if not near and is_digest_prefix(digest[:length]):
            near = tuple(find_digests(digest[:length], _MAX_NEAR_MATCHES))
    return DigestUnknown(
        f"This workspace holds no content {digest[:64]}.",
        "Contents are kept per workspace, under the SHA-256 of their bytes.",
        f"Near matches: {', '.join(near)}." if near else "Search the cache for what it was about.",
        near=near,
    )


def content_redacted(digest: str, at_ms: int, successor: str = "") -> ContentRedacted:
    """Return the error for a digest whose content was removed at the user's request."""
    instead = f"Without what was removed it is {successor}." if successor else "Go on without it."
    return ContentRedacted(
        f"The content {digest} was forgotten on the person's word on {utc_day(at_ms)}.",
        "It held something that must not be kept.",
        instead,
        near=(successor,) if successor else (),
    )


def content_damaged(digest: str, why: str, quarantined_as: str = "") -> ContentDamaged:
    """Return the error for a content that is damaged; `quarantined_as` names the copy of its row."""
    return ContentDamaged(
        f"The stored content {digest} is damaged and was not used.",
        f"{why[:1].upper()}{why[1:]}."
        + (f" The damaged row is kept as {quarantined_as}." if quarantined_as else ""),
        "Run again what made it: storing the same bytes heals the entry.",
    )
