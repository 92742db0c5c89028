"""The rows that the chat shows: plain immutable facts, made by a presenter from events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from helix_desktop.context.event_rewrite import Form
from helix_desktop.context.message import plain_name
from helix_desktop.context.todo import TodoItem, done_of
from helix_desktop.context.tool import AskKind
from helix_desktop.ui.chat.errand import Errand
from helix_desktop.ui.chat.live_strip import Live
from helix_desktop.ui.standing import Standing

ToolState: TypeAlias = Literal[
    "waiting", "approval", "running", "ok", "failed", "denied", "interrupted", "stopped"
]
Badge: TypeAlias = Standing | Literal["recalled", ""]
Chooser: TypeAlias = Literal["rule", "agent", "timeout", "user"]
DividerKind: TypeAlias = Literal[
    "handover",
    "sweep",
    "fold",
    "left out",
    "observations",
    "form",
    "pin",
    "budget",
    "interrupted",
    "attempt",
    "undone",
    "mode",
    "model",
]
OFFER = "offer"
"""The group of places in a question of which one is chosen: the rules that may be saved."""
NoticeLevel: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class UserRow:
    """What the person typed in one turn, shown word for word; it began that turn, or `steered` it."""

    key: str
    text: str
    at_ms: int = 0
    turn: int = 0
    attachments: tuple[str, ...] = ()
    steered: bool = False


@dataclass(frozen=True, slots=True)
class AssistantRow:
    """One answer of the model, as Markdown; `streaming` while it still grows."""

    key: str
    text: str
    at_ms: int = 0
    model: str = ""
    demo: bool = False
    streaming: bool = False
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last lines of a text of `lines` lines; what lies between is left out."""

    head: str = ""
    tail: str = ""
    lines: int = 0

    @property
    def hidden(self) -> int:
        """How many lines lie between."""
        return max(0, self.lines - sum(text.count("\n") + 1 for text in (self.head, self.tail) if text))


@dataclass(frozen=True, slots=True)
class Original:
    """What the cache holds of an output: its lines, the tokens of all of it, or why it cannot be read."""

    ends: Ends = Ends()
    tokens: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool call; `head` and `tail` are the first and last lines of an output of `lines` lines.

    They are of the form that the agent was shown. `answer` is the event with the output (0: none yet),
    `choosing` says that its form is being chosen, `cost` what that took, `note` why it is not what was asked
    for; `arguments` are the digests of large arguments, `original` is what was read from the cache on demand,
    `subagent` is the session of the subagent that does it, `errand` what is known of how that goes.
    `live` is what a call at work has put out so far; `todo` the list that it wrote, `newest` whether no later
    call wrote one.
    """

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
    answer: int = 0
    form: Form = "full"
    asked: str = ""
    chosen: Chooser = "rule"
    cost: str = ""
    note: str = ""
    choosing: bool = False
    arguments: tuple[str, ...] = ()
    arguments_cached: bool = False
    original: Original | None = None
    subagent: str = ""
    errand: Errand | None = None
    live: Live | None = None
    todo: tuple[TodoItem, ...] = ()
    newest: bool = False

    @property
    def shown(self) -> Ends:
        """The lines that the agent was shown."""
        return Ends(self.head, self.tail, self.lines)


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A tool call that waits for the person; `offers` are the rules that may be saved, word for word.

    `confined`: what it does stays in the sandbox. `because` is the rule by which it is asked, if one says so.
    `place` says which of several questions it is, `asker` which subagent asks, if it is one.
    """

    key: str
    call_id: str
    tool: str
    summary: str
    detail: str
    offers: tuple[str, ...]
    kind: AskKind = "other"
    confined: bool = False
    because: str = ""
    place: str = ""
    asker: str = ""

    @property
    def rule(self) -> str:
        """The narrowest rule."""
        return self.offers[0]


@dataclass(frozen=True, slots=True)
class DividerRow:
    """A line across the flow where the window was rewritten or a turn broke off.

    `quiet` is for what needs no attention; `about` is the event that it concerns, where that is another one.
    `details` are paragraphs that are shown on demand; they came from the rows `replaces`.
    """

    key: str
    kind: DividerKind
    text: str
    event_seq: int = 0
    undone: bool = False
    actions: tuple[str, ...] = ()
    quiet: bool = False
    about: int = 0
    details: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


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
            if row.todo:
                return _lines(f"To do, {done_of(row.todo)} done", *(item.content for item in row.todo))
            whole = row.original.ends if row.original is not None else row.shown
            return _lines(f"{row.tool} {row.target}".strip(), whole.head, whole.tail)
        case ApprovalRow():
            return _lines(row.summary, row.detail, *row.offers)
        case DividerRow():
            return _lines(row.text, *row.details)
        case NoticeRow():
            return _lines(row.what, row.why, row.fix)


def spoken_name(row: Row) -> str:
    """Who or what a row is, in a few words, for screen readers."""
    match row:
        case UserRow(steered=steered):
            return "You, steering" if steered else "You"
        case AssistantRow():
            return f"{row.model or 'Assistant'}{', writing' if row.streaming else ''}"
        case ToolRow():
            called = f"Tool {plain_name(row.tool)} {row.target}, {', '.join(tool_words(row))}"
            return f"To do, {done_of(row.todo)} done" if row.todo else called
        case ApprovalRow():
            sandbox = ", confined" if row.confined else ""
            whose = f" by the subagent {row.asker}" if row.asker else ""
            return f"Approval needed{whose}{sandbox}: {row.summary}"
        case DividerRow():
            return f"Divider: {row.text}"
        case NoticeRow():
            return f"{row.level.capitalize()}: {row.what}"


def wants_original(row: ToolRow) -> bool:
    """Whether an open card has to read the cache: the agent was shown something else than the output."""
    return bool(row.digest) and row.form != "full" and row.original is None


def tool_words(row: ToolRow) -> list[str]:
    """How a call went and where its output stands, each in a few words."""
    words: list[str] = [STATE_WORDS[row.state]]
    if row.choosing:
        words.append("its form is being chosen")
    if row.form != "full":
        words.append(row.form)
    if row.arguments_cached:
        words.append("arguments cached")
    if row.errand is not None:
        words.append(f"its subagent: {row.errand.phase_words.lower()}")
    return [*words, row.badge] if row.badge else words


STATE_WORDS: dict[ToolState, str] = {
    "waiting": "waiting",
    "approval": "needs approval",
    "running": "running",
    "ok": "done",
    "failed": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
    "stopped": "stopped",
}


def _lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)
