"""The events of a session as a whole: begin, title, place in the list, and what it is set up by.

Token counts are made once, when the event is recorded, and kept.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from helix_desktop.domain.choices import Effort, PermissionMode, SentEffort


class EventBase(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """The root of all events."""


NEW_TITLE = "New session"

ModelRole = Literal["main", "fast", "long"]
"""Which of the workspace's models: the default, a quick and cheap one, the one with the largest window."""


class SessionStarted(EventBase, frozen=True, tag="session-started"):
    """A conversation began; a subagent's names its parent session.

    The call there that asked for it, `parent_call`, stands in older logs only: the parent's log has it now.
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
"""What gave a session its title: the user (also in older logs, whatever did), its first message, a model."""


class SessionRenamed(EventBase, frozen=True, tag="session-renamed"):
    """The session has another title, given `by` the user, its first message, or the model named here.

    What the request to the model spent is in tokens in and out, and in US dollars; `unpriced` are the tokens
    whose price is not known.
    """

    title: str
    by: TitleSource = ""
    model: str = ""
    prompt: str = ""
    spent: int = 0
    cost: float = 0.0
    estimated: bool = False
    unpriced: int = 0


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
    """The user chose a context policy for this session alone: its fields, or none: the workspace's again."""

    policy: dict[str, Any] = msgspec.field(default_factory=dict)


class EffortRefused(EventBase, frozen=True, tag="effort-refused"):
    """A model's server refused a level of reasoning, and why; requests go on without one."""

    model: str
    effort: SentEffort
    reason: str = ""


class WindowLearned(EventBase, frozen=True, tag="window-learned"):
    """A model's server said in an error, in these words, that its context window is smaller than `believed`.

    Both are in tokens, as the server counts; `window` counts from the next request on.
    """

    model: str
    window: int
    believed: int
    reason: str = ""


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
