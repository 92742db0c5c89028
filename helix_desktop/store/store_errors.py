"""The store's errors as the user reads them; the same texts for both stores."""

from __future__ import annotations

from collections.abc import Callable

from helix_desktop.domain.digest import MIN_PREFIX, is_digest_prefix
from helix_desktop.domain.errors import (
    ContentDamaged,
    ContentRedacted,
    ContentTooLarge,
    DigestUnknown,
    HelixError,
    StoreUnreadable,
    WorkspaceClosed,
)
from helix_desktop.domain.store import Content
from helix_desktop.domain.text_format import utc_day
from helix_desktop.domain.translatable_text import (
    ByteSize,
    OptionalText,
    TextContext,
    TranslatableText,
    join_sentences,
    system_reason,
    verbatim,
)

text = TextContext("Store")

_MAX_NEAR_MATCHES = 5  # near matches that are listed
_MIN_NEAR_DIGITS = 4  # hex digits that a near match has in common, at least


def write_failure_reason(error: Exception) -> OptionalText:
    if isinstance(error, HelixError):
        return error.why
    return system_reason(error) if isinstance(error, OSError) else verbatim(f"{error}.")


def store_closed() -> WorkspaceClosed:
    return WorkspaceClosed(text("The workspace is closed."), fix=text("Open the workspace again."))


def content_too_large(content: Content, max_bytes: int) -> ContentTooLarge:
    size, limit = _sizes(len(content.data), max_bytes)
    return ContentTooLarge(
        text("The output of {tool} is too large to store ({size}).", tool=content.tool, size=size)
        if content.tool
        else text("The output is too large to store ({size}).", size=size),
        text("One output can have at most {limit}.", limit=limit),
        text("Ask for less: part of the file, fewer lines, or a search in it."),
    )


def value_too_large(size: int, max_bytes: int) -> ContentTooLarge:
    """Return the error for an event or a draft that is larger than one may be."""
    size_text, limit = _sizes(size, max_bytes)
    return ContentTooLarge(
        text("This is too large to save ({size}).", size=size_text),
        text("One message or answer can have at most {limit}.", limit=limit),
        text("Nothing of it was saved. Use smaller parts, or fewer attachments."),
    )


def request_too_large(size: int, max_bytes: int) -> ContentTooLarge:
    """Return the error for a commit that does not fit one message to the store's owner."""
    size_text, limit = _sizes(size, max_bytes)
    return ContentTooLarge(
        text("This is too much to store at once ({size}).", size=size_text),
        text("While another window has the workspace open, the limit is {limit}.", limit=limit),
        text("Close that window and try again, or store it in parts."),
    )


def _sizes(size: int, max_bytes: int) -> tuple[object, object]:
    """Return both sizes as facts of a text; to the byte if they would round to the same."""
    sizes = ByteSize(size), ByteSize(max_bytes)
    if str(sizes[0]) != str(sizes[1]):
        return sizes
    return text.plural(size, "%n byte", "%n bytes"), text.plural(max_bytes, "%n byte", "%n bytes")


def digest_unknown(digest: str, find_digests: Callable[[str, int], list[str]]) -> DigestUnknown:
    """Return the error for a digest this workspace does not hold, with near matches."""
    near: tuple[str, ...] = ()
    for length in (MIN_PREFIX, _MIN_NEAR_DIGITS):
        if not near and is_digest_prefix(digest[:length]):
            near = tuple(find_digests(digest[:length], _MAX_NEAR_MATCHES))
    return DigestUnknown(
        text("This workspace has no cached output {digest}.", digest=digest[:64]),
        text("Each workspace keeps its own cache."),
        text("Near matches: {digests}.", digests=", ".join(near))
        if near
        else text("Search the cache for what it was about."),
        near=near,
    )


def content_redacted(digest: str, at_ms: int, successor: str = "") -> ContentRedacted:
    return ContentRedacted(
        text("The user removed the cached output {digest} on {day}.", digest=digest, day=utc_day(at_ms)),
        text("It contained a secret."),
        text("Without the secret it is {digest}.", digest=successor)
        if successor
        else text("Continue without it."),
        near=(successor,) if successor else (),
    )


def content_damaged(digest: str, why: TranslatableText, quarantined_as: str = "") -> ContentDamaged:
    """Return the error for a content that is damaged; `quarantined_as` names the copy of its row."""
    return ContentDamaged(
        text("The cached output {digest} is damaged and was not used.", digest=digest),
        join_sentences(
            why, text("The damaged data is kept as {file}.", file=quarantined_as) if quarantined_as else ""
        ),
        text("Run the tool again: storing the same output repairs the entry."),
    )


def other_workspace(actual: str, expected: str) -> StoreUnreadable:
    return StoreUnreadable(
        text("The data found here belongs to another workspace."),
        text("It is from workspace {actual}, not {expected}.", actual=actual, expected=expected),
        text("Nothing was changed. Move each data folder back to where it was."),
    )
