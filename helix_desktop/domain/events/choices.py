"""The events by which a session is set up: mode, model, effort, policy, budget, hold."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.domain.effort import Effort, SentEffort
from helix_desktop.domain.events.base import EventBase
from helix_desktop.domain.permission_mode import PermissionMode


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
