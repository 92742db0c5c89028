"""The format of an archive of a workspace. A file `.helix` is a tar, compressed with zstd, in this order:

    manifest.json              format, workspace, counts
    contents/DIGEST.json       metadata of a content           \\ by digest,
    contents/DIGEST            its bytes                        / each once
    sessions/N/session.json    its id, summary and draft       \\ N counts from 1,
    sessions/N/events-K.jsonl  its log, in parts                / parents before branches
    end.json                   the actual totals

A tar and not a zip: it is written and read in one pass with the same little memory, however many contents
there are; `tar --zstd -xf` opens it. It holds no key, no rule, and no path of the machine except those
within messages and outputs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import msgspec

from helix_desktop.domain.draft import PartialOutput
from helix_desktop.domain.errors import ArchiveWriteFailed, InvalidArchive
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.store.archive_suffix import SUFFIX
from helix_desktop.domain.store.branch_point import BranchPoint
from helix_desktop.domain.store.entries import SessionSummary
from helix_desktop.domain.translatable_text import (
    OptionalText,
    TextContext,
    TranslatableText,
    folder_reason,
    system_reason,
)
from helix_desktop.system.files import non_folder_in

text = TextContext("Store")

FORMAT = 1
MAX_NOTE_BYTES = 16 * 1024 * 1024  # largest manifest, record or description of a session, in bytes
MAX_LOG_PART_BYTES = 256 * 1024 * 1024  # largest part of a log, in bytes: one event may hold a long text
MAX_SESSION_BYTES = 2 * 1024 * 1024 * 1024  # largest log of one session, in bytes: it is completely in memory
LOG_PART_BYTES = 4 * 1024 * 1024  # bytes after which a log continues in another part
_NAME_BYTES = 120  # of a workspace's name that go into a file's: systems allow 255 with all suffixes
MANIFEST, END = "manifest.json", "end.json"

_NonNegative = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class ArchiveManifest(msgspec.Struct, frozen=True):
    """The first member of an archive: its workspace, and the planned totals; sizes in bytes, time in ms."""

    format: int
    version: str
    workspace_id: str = msgspec.field(name="workspace")
    name: str
    created: _NonNegative
    entries: _NonNegative
    size: _NonNegative
    sessions: _NonNegative


class SessionHeader(msgspec.Struct, frozen=True):
    """A session without its log; of a branch the log here is its own part, behind `branch`.

    `partial_answer` is what was saved of an answer that was still being received, and `partial_outputs` of
    calls that ran, as in a Draft.
    """

    id: str
    events: _NonNegative
    summary: SessionSummary | None = None
    draft: str = ""
    attachments: tuple[Attachment, ...] = ()
    branch: BranchPoint | None = None
    partial_answer: RecordedEvent | None = None
    partial_outputs: tuple[PartialOutput, ...] = ()


def file_name(name: str, stamp: str = "") -> str:
    """Return a file name for an archive of the workspace `name`, valid on every system."""
    safe_name = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "workspace"
    short_name = safe_name.encode()[:_NAME_BYTES].decode(errors="ignore")
    return f"{short_name}{'-' if stamp else ''}{stamp}{SUFFIX}"


def invalid_archive(why: TranslatableText) -> InvalidArchive:
    """Return the error for a file that is not what an export wrote."""
    return InvalidArchive(
        text("This file can't be imported."),
        why,
        text("Nothing was changed. Use another copy, or export it again."),
    )


def write_failed(path: Path, why: TranslatableText, fix: OptionalText = "") -> ArchiveWriteFailed:
    """Return the error for a file that the disk did not take."""
    return ArchiveWriteFailed(
        text("{file} wasn't written.", file=path),
        why,
        fix or text("Nothing was left behind. Choose another place, or free up space there."),
    )


def refused_write(path: Path, error: OSError) -> ArchiveWriteFailed:
    """Return the error for a file that the system didn't take."""
    folder = path.parent
    if os.path.isdir(path):
        return write_failed(path, text("A folder has this name."), text("Choose another name."))
    if not os.path.lexists(folder):
        why = text("The folder {folder} doesn't exist.", folder=folder)
        return write_failed(path, why, text("Create it, or choose another place."))
    return write_failed(path, folder_reason(error, path, non_folder_in(folder)))


def unreadable_archive(path: Path, error: OSError) -> InvalidArchive:
    """Return the error for a file that the system does not let us read."""
    return InvalidArchive(
        text("{file} can't be read.", file=path),
        system_reason(error),
        text("Choose a file that an export wrote."),
    )
