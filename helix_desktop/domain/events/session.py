"""The events of a session as a whole: begin, title, set-up; what its agent is told, and changes of files.

Token counts are made once, when the event is recorded, and kept.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.domain.choices import Effort, PermissionMode, SentEffort
from helix_desktop.domain.file_history.changes import ChangeSource, RevertScope
from helix_desktop.domain.files.content import ChangedFile


class EventBase(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True, gc=False):
    """The root of all events. They are trees, so that the garbage collector need not look at them."""


NEW_TITLE = "New session"

ModelRole = Literal["main", "fast", "long"]
"""Which of the workspace's models: the default, a quick and cheap one, the one with the largest window."""


class SessionStarted(EventBase, frozen=True, tag="session-started"):
    """A conversation began; a subagent's names its parent session, and the call there that asked for it.

    A subagent goes on under what it began with: `model` says which of the workspace's models answers it,
    `policy` holds the fields of its own one, if it has one.
    """

    title: str
    parent: str = ""
    parent_call: str = ""
    model: ModelRole = "main"
    policy: dict[str, Any] = msgspec.field(default_factory=dict)


BranchKind = Literal["", "edit", "retry", "rewind"]
"""What a branch was made for: to go on from there, to change a message of the user, to ask again,
to go back to before a message."""


class SessionBranched(EventBase, frozen=True, tag="session-branched"):
    """The session left its parent behind event `seq`: what precedes is the parent's, what follows its own.

    Its own events are numbered on from there, so that e39 is the same event in both.
    `parent` is the session whose log holds event `seq`. The window is the one that it was there; what was
    queued and what was spent is the parent's, and a turn that was open there is not done here.
    """

    parent: str
    seq: int
    title: str
    how: BranchKind = ""

    @property
    def is_version(self) -> bool:
        """Return True if an edit or a retry made it: a version of its parent, no session of its own."""
        return self.how in ("edit", "retry")


TitleSource = Literal["", "message", "model"]
"""What gave a session its title: the user, its first message, a model."""


class SessionRenamed(EventBase, frozen=True, tag="session-renamed"):
    """The session has another title, given `by` the user, its first message, or the model named here.

    What the request to the model spent is in tokens in and out, and in US dollars; `unpriced` are the tokens
    whose price is not known. The request had `read` tokens by our count (0: not recorded).
    """

    title: str
    by: TitleSource = ""
    model: str = ""
    prompt: str = ""
    spent: int = 0
    cost: float = 0.0
    estimated: bool = False
    unpriced: int = 0
    read: int = 0


class SessionPinned(EventBase, frozen=True, tag="session-pinned"):
    """The user pinned the session to the top of the list, or unpinned it."""

    pinned: bool = True


class SessionArchived(EventBase, frozen=True, tag="session-archived"):
    """The user archived the session, or unarchived it; one that waits for the user is unarchived, too."""

    archived: bool = True


class ModeChanged(EventBase, frozen=True, tag="mode-changed"):
    """The user chose how freely the session's agent acts from now on."""

    mode: PermissionMode


class ModelChosen(EventBase, frozen=True, tag="model-chosen"):
    """The user chose which model answers this session, as PROVIDER/NAME; empty: the workspace's default.

    `accepted` is the label of that default at the time: the user agreed that it continues.
    """

    model: str = ""
    accepted: str = ""


class EffortChosen(EventBase, frozen=True, tag="effort-chosen"):
    """The user chose how much this session's model thinks; empty: as the workspace or the model says."""

    effort: Effort = ""


class PolicyChosen(EventBase, frozen=True, tag="policy-chosen"):
    """The session follows the workspace's policy again.

    Older logs may have the fields of a policy that the user chose for this session alone.
    """

    policy: dict[str, Any] = msgspec.field(default_factory=dict)


class EffortRefused(EventBase, frozen=True, tag="effort-refused"):
    """A model's server refused a level of reasoning, and why; requests go on without one."""

    model: str
    effort: SentEffort
    reason: str = ""


class WindowLearned(EventBase, frozen=True, tag="window-learned"):
    """A model's server said in an error, in these words, that its context window is smaller than `believed`.

    Both are in tokens, as the server counts; `window` counts from the next request on. `from_counts`: no
    error said it, but the server counted two requests of unlike size alike, so it cut the larger one.
    """

    model: str
    window: int
    believed: int
    reason: str = ""
    from_counts: bool = False


class McpServerFailed(EventBase, frozen=True, tag="mcp-server-failed"):
    """An MCP server that should run doesn't, and why: a turn without a window went on without its tools."""

    server: str
    reason: str = ""


class HoldSet(EventBase, frozen=True, tag="hold-set"):
    """The user holds the window, or lets it go: on hold nothing rewrites it by itself while it fits."""

    on: bool = True


class BudgetSet(EventBase, frozen=True, tag="budget-set"):
    """The user set what the session may spend: tokens in and out, and US dollars (0: as much as it takes).

    Without one the workspace's policy says it.
    """

    tokens: int = 0
    cost: float = 0.0


class BudgetNeared(EventBase, frozen=True, tag="budget-neared"):
    """Most of a budget is spent: `tokens` and `cost` of the limits; recorded once for each budget."""

    tokens: int
    cost: float
    most_tokens: int = 0
    most_cost: float = 0.0


StandingKind = Literal["environment", "skills", "personal", "project", "workspace", "run"]
"""Whose text: the app's on the environment, its list of skills, the user's for all workspaces, a file's in
the workspace, the user's for this workspace, or the user's for one run of the command line."""

StandingProblem = Literal["", "cut", "gone", "refused", "binary", "unreadable", "no_room"]
"""Why a file is not sent as a whole: too large, deleted, a path that no tool may read (such as a link out of
the workspace), no text, an error, or too many instructions already."""


class StandingText(msgspec.Struct, frozen=True):
    """A text that stands in every request of a session, as it is sent, and its tokens.

    `path` names its file, relative to the workspace; `sha256` is of its first 32 KB and a byte,
    `size` is the whole file's.
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
    `paths` the first MAX_PATHS of them. `uncovered` counts the paths whose change
    cannot be taken back, `binary` the files among the compared ones that have no lines.
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
