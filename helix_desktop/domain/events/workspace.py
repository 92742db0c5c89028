"""The events of a session's workspace: what its agent is told of it, and changes of its files."""

from __future__ import annotations

from typing import Literal

import msgspec

from helix_desktop.domain.events.session import EventBase
from helix_desktop.domain.file_history.changes import ChangeSource, RevertScope
from helix_desktop.domain.files.content import ChangedFile

StandingKind = Literal["environment", "personal", "project", "workspace", "run"]
"""Whose text: the app's on the environment, the user's for all workspaces, a file's in the workspace, the
user's for this workspace, or the user's for one run of the command line."""

StandingProblem = Literal["", "cut", "gone", "refused", "binary", "unreadable", "no_room"]
"""Why a file is not sent as a whole: too large, deleted, a path that no tool may read (such as a link out of
the workspace), no text, an error, or too many instructions already."""


class StandingText(msgspec.Struct, frozen=True):
    """A text that stands in every request of a session, as it is sent, and its tokens.

    `path` names its file, relative to the workspace; `sha256` is of its first 32 KB and a byte (of what was
    sent and a byte, if an older release wrote it), `size` is the whole file's.
    """

    kind: StandingKind
    text: str
    tokens: int = 0
    path: str = ""
    sha256: str = ""
    size: int = 0
    problem: StandingProblem = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return what it is about: a newer text with the same key takes its place."""
        return self.kind, self.path


class OpeningGiven(EventBase, frozen=True, tag="opening-given"):
    """The session's agent was told of its environment and instructions, at the first message, for good.

    As they were then, so that the bytes of the system message never change, in branches either.
    """

    texts: tuple[StandingText, ...]


class InstructionsAdded(EventBase, frozen=True, tag="instructions-added"):
    """Instructions came later: from a folder where the agent works now, or they `changed` on disk."""

    text: StandingText
    changed: bool = False


def join_texts(system: str, texts: tuple[StandingText, ...]) -> str:
    """Return the system message of a session: the system prompt, and behind it what was told at its start."""
    return "\n\n".join(part for part in (system, *(text.text for text in texts)) if part)


class FilesChanged(EventBase, frozen=True, tag="files-changed"):
    """Files that the agent had read or written were found changed, not by a call that names them.

    They were found after the call `call_id`, which likely changed them; empty: at the start of a turn, or
    before a call. `unchecked` counts the files that were not looked at: too many, or not readable just then.
    `unannounced`: nothing tells the model yet; the note of the next message does, or the answer to an edit.
    """

    files: tuple[ChangedFile, ...]
    call_id: str = ""
    unchecked: int = 0
    unannounced: bool = False


MAX_PATHS = 50
"""Paths that the event of a capture names: what a summary can say was reverted."""


class ChangesRecorded(EventBase, frozen=True, tag="changes-recorded"):
    """Files of the workspace changed; `changes` is the digest of their list in the file history.

    `capture` is the id it was captured under; `source` says by what, `call_id` by which call, `others` are
    the titles of calls that ran at the same time. A revert names the captures that it takes back, and how
    much that is. The counts are of paths, without those that others imply (see `implied_changes.py`),
    `added_lines` and `removed_lines` of the texts that were compared. `first_path` is one of the paths,
    `paths` the first MAX_PATHS of them (older events have none). `uncovered` counts the paths whose change
    cannot be taken back, `binary` the files among the compared ones that have no lines (older events: 0).
    """

    capture: str
    changes: str
    source: ChangeSource
    call_id: str = ""
    others: tuple[str, ...] = ()
    reverts: tuple[str, ...] = ()
    scope: RevertScope = ""
    created: int = 0
    changed: int = 0
    deleted: int = 0
    moved: int = 0
    added_lines: int = 0
    removed_lines: int = 0
    first_path: str = ""
    uncovered: int = 0
    paths: tuple[str, ...] = ()
    binary: int = 0

    @property
    def files(self) -> int:
        """The number of paths that changed."""
        return self.created + self.changed + self.deleted + self.moved


class ChangesAccepted(EventBase, frozen=True, tag="changes-accepted"):
    """The user accepted what changed up to event `upto`: of these paths, or (none named) of all."""

    upto: int
    paths: tuple[str, ...] = ()
