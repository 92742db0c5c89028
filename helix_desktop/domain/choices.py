"""What command line and window name at every start, so without structs: modes, effort, columns, remedies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

Remedy = Literal[
    "choose_model",
    "compact",
    "enter_key",
    "new_session",
    "open_log",
    "policy_settings",
    "provider_settings",
    "send_as_message",
    "send_without_images",
    "send_without_output",
    "set_budget",
    "trust_folder",
    "undo_compaction",
]


PermissionMode = Literal["ask", "plan", "auto"]
"""How freely a session's agent acts: asks first, only reads and plans, or edits and runs confined."""


ForeignAgent = Literal["claude-code", "codex", "opencode", "cline", "roo-code", "pi", "chat-messages"]
"""The agents whose sessions can be imported. `chat-messages`: JSON lines with one chat message each."""

AGENT_NAMES: dict[ForeignAgent, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "opencode": "opencode",
    "cline": "Cline",
    "roo-code": "Roo Code",
    "pi": "Pi",
    "chat-messages": "chat messages",
}


SamplePlace = Literal["", "timeline", "cache"]
"""Where to look in the window after a message of the guided sample."""


EffortLevel = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""What a request can ask for, from the least to the most. Which of them a model takes differs."""

SentEffort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""What a request asks for; empty: it says nothing, as without any setting, and the provider decides."""

Effort = Literal["", "default", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""What somebody sets. Empty: nothing, the next wider setting counts; `default`: the provider decides."""

EFFORT_LEVELS: tuple[EffortLevel, ...] = get_args(EffortLevel)
USUAL_LEVELS: tuple[EffortLevel, ...] = ("low", "medium", "high")
"""The levels to offer for a model of which nobody says what it takes."""


def sort_levels(names: Iterable[object]) -> tuple[EffortLevel, ...]:
    """Return the levels among some names, from the least to the most; names of no level are left out."""
    texts = {name for name in names if isinstance(name, str)}
    return tuple(level for level in EFFORT_LEVELS if level in texts)


def fit_level(effort: Effort, levels: Sequence[EffortLevel]) -> SentEffort:
    """Return the level to send to a model that takes `levels` (none: unknown); empty to send nothing.

    It is the highest that is not above `effort`, else the lowest.
    """
    match effort:
        case "" | "default":
            return ""
        case _ if not levels:
            return effort
    rank = EFFORT_LEVELS.index(effort)
    lower = [level for level in levels if EFFORT_LEVELS.index(level) <= rank]
    return max(lower, key=EFFORT_LEVELS.index) if lower else min(levels, key=EFFORT_LEVELS.index)


RevertChoice = Literal["former", "present", "merged"]
"""What shall stand at a path: what was there before the change, what is there now, or both merged."""


SortColumn = Literal[
    "created", "used", "size", "stored", "tokens", "tool", "target", "line", "recalls", "references", "digest"
]


FILE_SCHEME = "file:"
ARCHIVE_SUFFIX = ".helix"
TRANSCRIPT_SUFFIX = ".md"
HTML_SUFFIX = ".html"
JSON_LINES_SUFFIX = ".jsonl"
SHARED_SUFFIXES = (TRANSCRIPT_SUFFIX, HTML_SUFFIX, JSON_LINES_SUFFIX)
"""The endings of a session's documents for others: to read, and for programs."""


MIN_RECALL_TOKENS = 100
"""The least tokens of an answer."""
MAX_RECALL_TOKENS = 16_000
"""The most tokens of an answer."""
MAX_RECALL_CONTEXT = 20
"""The most lines around a match."""
