"""The rules a commit must keep; the same for both stores."""

from __future__ import annotations

from collections.abc import Sequence

from helix_desktop.domain.digest import digest_of, is_digest
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.branch_point import BranchPoint
from helix_desktop.domain.store.commit import Commit
from helix_desktop.domain.store.entries import Content
from helix_desktop.store.core import keys, store_errors
from helix_desktop.store.core.row_codec import MAX_CONTENT_BYTES


def check_commit(commit: Commit) -> None:
    """Check the rules that do not depend on stored rows. Raise ValueError, ContentTooLarge."""
    keys.session_bytes(commit.session_id)
    if commit.summary is not None and commit.summary.id != commit.session_id:
        raise ValueError(
            f"the summary is of session {commit.summary.id!r}, the commit of {commit.session_id!r}"
        )
    for content in commit.contents:
        if len(content.data) > MAX_CONTENT_BYTES:
            raise store_errors.content_too_large(content)
        if not is_digest(content.digest):
            check_digest(content, digest_of(content.data))
    for digest in commit.recalls:
        keys.digest_bytes(digest)


def check_digest(content: Content, actual_digest: str) -> None:
    """Raise ValueError unless the content's digest is its own SHA-256, `actual_digest`."""
    if content.digest != actual_digest:
        raise ValueError(f"the content given as {content.digest[:80]!r} has another SHA-256")


def check_sequence(session_id: str, last_seq: int, events: Sequence[RecordedEvent]) -> None:
    """Raise ValueError unless the events follow `last_seq`, the log's last seq, without a gap."""
    for expected, recorded in enumerate(events, last_seq + 1):
        if recorded.seq != expected:
            raise ValueError(f"session {session_id!r} goes on with event {expected}, not with {recorded.seq}")


def check_branch(session_id: str, point: BranchPoint, last_seq: int) -> None:
    """Raise ValueError unless a session can begin at a point of a log that ends with `last_seq`."""
    if session_id == point.parent or not 1 <= point.seq <= last_seq:
        raise ValueError(
            f"{session_id!r} can't begin with {point.seq} events of {point.parent!r}, which has {last_seq}"
        )


def check_stored(digest: str, is_stored: bool, referrer: str) -> None:
    """Raise ValueError unless the content that `referrer` names is stored."""
    if not is_stored:
        raise ValueError(f"{referrer} names the content {digest}, which is not stored")
