"""The rows that the chat shows: plain immutable facts, made by a presenter from events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ToolState: TypeAlias = Literal["waiting", "approval", "running", "ok", "failed", "denied", "interrupted"]
Badge: TypeAlias = Literal["in window", "cached", "handed over", "recalled", ""]
DividerKind: TypeAlias = Literal["handover", "sweep", "interrupted", "undone"]
NoticeLevel: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class UserRow:
    """What the person typed in one turn, shown word for word."""

    key: str
    text: str
    at_ms: int = 0
    turn: int = 0
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantRow:
    """One answer of the model, as Markdown; `streaming` while it still grows."""

    key: str
    text: str
    at_ms: int = 0
    model: str = ""
    demo: bool = False
    streaming: bool = False
    stopped: bool = False
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool call; `head` and `tail` are the first and last lines of an output of `lines` lines."""

    key: str
    call_id: str
    tool: str
    target: str = ""
    state: ToolState = "waiting"
    head: str = ""
    tail: str = ""
    lines: int = 0
    size: int = 0  # bytes
    tokens: int = 0
    duration_ms: int | None = None
    exit_code: int | None = None
    digest: str = ""  # 64 hex digits, or empty when nothing is cached
    badge: Badge = ""


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A tool call that waits for the person; `rule` is what "always" would save, word for word."""

    key: str
    call_id: str
    tool: str
    summary: str
    detail: str
    rule: str


@dataclass(frozen=True, slots=True)
class DividerRow:
    """A line across the flow where the window was rewritten or a turn broke off."""

    key: str
    kind: DividerKind
    text: str
    event_seq: int = 0
    undone: bool = False
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A message of the program itself: what happened, why, and what can be done."""

    key: str
    level: NoticeLevel
    what: str
    why: str = ""
    fix: str = ""
    actions: tuple[str, ...] = ()


Row: TypeAlias = UserRow | AssistantRow | ToolRow | ApprovalRow | DividerRow | NoticeRow


def source_text(row: Row) -> str:
    """All words of a row as one text: what find searches and what a copied message contains."""
    match row:
        case UserRow() | AssistantRow():
            return row.text
        case ToolRow():
            return _lines(f"{row.tool} {row.target}".strip(), row.head, row.tail)
        case ApprovalRow():
            return _lines(row.summary, row.detail, row.rule)
        case DividerRow():
            return row.text
        case NoticeRow():
            return _lines(row.what, row.why, row.fix)


def spoken_name(row: Row) -> str:
    """Who or what a row is, in a few words, for screen readers."""
    match row:
        case UserRow():
            return "You"
        case AssistantRow():
            return f"{row.model or 'Assistant'}{', writing' if row.streaming else ''}"
        case ToolRow():
            return f"Tool {row.tool} {row.target}, {STATE_WORDS[row.state]}"
        case ApprovalRow():
            return f"Approval needed: {row.summary}"
        case DividerRow():
            return f"Divider: {row.text}"
        case NoticeRow():
            return f"{row.level.capitalize()}: {row.what}"


STATE_WORDS: dict[ToolState, str] = {
    "waiting": "waiting",
    "approval": "needs approval",
    "running": "running",
    "ok": "done",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
}


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
