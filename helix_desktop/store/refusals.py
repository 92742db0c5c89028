"""What the store tells a person when it says no: the same words from both stores."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.context.content import Content
from helix_desktop.context.digest import LEAST_PREFIX, is_prefix, size_text
from helix_desktop.context.errors import (
    ContentDamaged,
    ContentForgotten,
    ContentTooLarge,
    DigestUnknown,
    StoreClosed,
)
from helix_desktop.context.forgetting import day_of
from helix_desktop.store.codec import CONTENT_CAP

_NEAR = 5  # near matches that are listed
_SHORTEST_NEAR = 4  # hex digits that a near match shares at least


def closed() -> StoreClosed:
    """A call after close."""
    return StoreClosed("The workspace's store is closed.", fix="Open the workspace again.")


def too_large(content: Content) -> ContentTooLarge:
    """A content over the cap."""
    size, most = _compared(len(content.data), CONTENT_CAP)
    return ContentTooLarge(
        f"{content.tool or 'An output'} gave {size}, which is not stored.",
        f"One content may have at most {most}.",
        "Ask for less: a part of the file, fewer lines, or a search in it.",
    )


def too_long(size: int, cap: int) -> ContentTooLarge:
    """A commit that does not fit one message to the store's owner."""
    found, most = _compared(size, cap)
    return ContentTooLarge(
        f"What was to be stored at once has {found}.",
        f"Beside the window that owns the workspace, at most {most} can be stored at once.",
        "Close the window and try again, or store it in parts.",
    )


def _compared(size: int, cap: int) -> tuple[str, str]:
    """Both in words; to the byte where rounded ones would be the same."""
    if size_text(size) == size_text(cap):
        return f"{size:,} bytes", f"{cap:,} bytes"
    return size_text(size), size_text(cap)


def unknown(digest: str, find: Callable[[str, int], list[str]]) -> DigestUnknown:
    """A digest this workspace does not hold, with those that begin alike."""
    near: tuple[str, ...] = ()
    for length in (LEAST_PREFIX, _SHORTEST_NEAR):
        if not near and is_prefix(digest[:length]):
            near = tuple(find(digest[:length], _NEAR))
    return DigestUnknown(
        f"This workspace holds no content {digest[:64]}.",
        "Contents are kept per workspace, under the SHA-256 of their bytes.",
        f"Near matches: {', '.join(near)}." if near else "Search the cache for what it was about.",
        near=near,
    )


def forgotten(digest: str, at: int, successor: str = "") -> ContentForgotten:
    """A digest whose content was removed on the person's word."""
    instead = f"Without what was removed it is {successor}." if successor else "Go on without it."
    return ContentForgotten(
        f"The content {digest} was forgotten on the person's word on {day_of(at)}.",
        "It held something that must not be kept.",
        instead,
        near=(successor,) if successor else (),
    )


def damaged(digest: str, why: str, kept: str = "") -> ContentDamaged:
    """A content that is no longer what was stored; `kept` names the copy of the damaged row."""
    return ContentDamaged(
        f"The stored content {digest} is damaged and was not used.",
        f"{why[:1].upper()}{why[1:]}." + (f" The damaged row is kept as {kept}." if kept else ""),
        "Run again what made it: storing the same bytes heals the entry.",
    )
