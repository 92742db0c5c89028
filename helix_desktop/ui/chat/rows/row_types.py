"""The rows that the chat shows, as immutable facts made from events, and the list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from helix_desktop.agent.session import SubagentActivity, SubagentProgress
from helix_desktop.context.window.window_breakdown import MessageState
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.messages import TurnOutcome
from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.todo import TodoItem
from helix_desktop.domain.tools import ApprovalRequest, AutoRunChange, Excerpt, PermissionRule, SubagentUsage
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.changed_files import ChangedFilesContent
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.words.file_coverage import uncovered_details, uncovered_line
from helix_desktop.words.message_states import CHANGED_SINCE
from helix_desktop.words.numbers import format_token_count, format_usd, format_whole_percent
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")
text = TextContext("Chat")

Phase: TypeAlias = SubagentActivity | TurnOutcome
RUNNING_PHASE_TEXTS: dict[Phase, TranslatableText] = {
    "queued": text("Queued"),
    "thinking": text("Thinking"),
    "working": text("Working"),
    "waiting": text("Waiting for you"),
    "full": text("Waiting for a handover"),
}
_ENDED_PHASE_TEXTS: dict[Phase, TranslatableText] = {
    "done": text("Done", "end of a subagent"),
    "stopped": text("Stopped", "end of a subagent"),
    "failed": text("Failed", "end of a subagent"),
    "interrupted": text("Interrupted", "end of a subagent"),
}


class SubagentStatus(msgspec.Struct, frozen=True):
    """A subagent at work, or after its end; tokens, US dollars, and milliseconds since 1970."""

    phase: Phase
    steps: int = 0
    spent_tokens: int = 0
    cost: float = 0.0
    used: int = 0
    window: int = 0
    current_tool: str = ""
    started_at_ms: int = 0
    duration_ms: int = 0
    is_estimated: bool = False  # tokens and cost, in part

    @classmethod
    def from_progress(cls, progress: SubagentProgress) -> SubagentStatus:
        return cls(
            progress.phase,
            progress.steps,
            progress.spent_tokens,
            progress.cost,
            progress.used,
            progress.window,
            progress.current_tool,
            progress.started_at_ms,
            is_estimated=progress.estimated,
        )

    @classmethod
    def from_result(cls, result: SubagentUsage, duration_ms: int = 0) -> SubagentStatus:
        return cls(
            result.how,
            result.steps,
            result.tokens,
            result.cost,
            duration_ms=duration_ms,
            is_estimated=result.estimated,
        )

    @property
    def is_running(self) -> bool:
        return self.phase in RUNNING_PHASE_TEXTS

    @property
    def window_ratio(self) -> float:
        """Return how much of its context window its next request takes; it may pass 1."""
        return self.used / self.window if self.window else 0.0

    @property
    def window_ratio_text(self) -> str:
        return tr("{share} of context", share=format_whole_percent(self.window_ratio))

    @property
    def phase_text(self) -> str:
        return translate({**RUNNING_PHASE_TEXTS, **_ENDED_PHASE_TEXTS}[self.phase])

    def summary(self, now_ms: int, fits: Callable[[str], bool] = bool) -> str:
        """Return its model calls, tokens, cost, and how long it works or worked, as one line of words.

        Where not all of it fits, the first ones are left out: half of a figure would read as another one.
        """
        parts = self._figures(now_ms)
        lines = (" · ".join(parts[start:]) for start in range(len(parts)))
        return next(filter(fits, lines), "")

    def _about(self, figure: str) -> str:
        return tr("≈ {figure}", figure=figure) if self.is_estimated else figure

    def _figures(self, now_ms: int) -> list[str]:
        parts = []
        if self.steps:
            parts.append(tr.plural(self.steps, "%n model call", "%n model calls"))
        if self.spent_tokens:
            parts.append(tr("{tokens} used", tokens=self._about(format_token_count(self.spent_tokens))))
        if self.cost:
            parts.append(self._about(format_usd(self.cost)))
        if self.is_running and self.started_at_ms:
            parts.append(format_elapsed((now_ms - self.started_at_ms) // 1000))
        if self.duration_ms:
            parts.append(format_elapsed(self.duration_ms // 1000))
        return parts


MAX_RUNNING_LINES = 8
_MAX_LINE_CHARS = 400  # characters of a line: more than any card shows
_MAX_TAIL_CHARS = 2 * MAX_RUNNING_LINES * _MAX_LINE_CHARS


class RunningOutput(msgspec.Struct, frozen=True):
    """A call at work: since when, in milliseconds since 1970, and the newest lines it has put out."""

    started_at_ms: int
    lines: tuple[str, ...] = ()

    @classmethod
    def from_output(cls, started_at_ms: int, tail: str) -> RunningOutput:
        """From the end of what a call has put out so far; of a line drawn over and over, the last state."""
        ends = tail[-_MAX_TAIL_CHARS:].replace("\r\n", "\n").rstrip("\n").split("\n")[-MAX_RUNNING_LINES:]
        states = (next((part for part in reversed(line.split("\r")) if part), "") for line in ends)
        lines = tuple(clean_output(state)[:_MAX_LINE_CHARS] for state in states)
        return cls(started_at_ms, lines if any(lines) else ())


MAX_LINES, MAX_BYTES = 1_000, 96 * 1024  # that a card lays out within 16 ms

ToolState: TypeAlias = Literal[
    "waiting", "approval", "question", "running", "ok", "failed", "denied", "interrupted", "stopped"
]
Badge: TypeAlias = MessageState | Literal["recalled", ""]
FormChooser: TypeAlias = Literal["rule", "agent", "timeout", "user"]
DividerKind: TypeAlias = Literal[
    "past",
    "context",
    "budget",
    "interrupted",
    "attempt",
    "mode",
    "model",
    "policy",
    "hold",
    "resume",
    "files",
    "instructions",
    "branch",
    "changes",
    "revert",
    "redo",
]
NoticeLevel: TypeAlias = Literal["error", "warning", "info", "handover"]


class Versions(msgspec.Struct, frozen=True):
    """The sessions that have a version of a message or answer, oldest first.

    `place` is that of the version on screen.
    """

    session_ids: tuple[str, ...]
    place: int


class AttachmentNote(msgspec.Struct, frozen=True):
    """What went along with a message: its name, which lines and their price, its stored content, its icon.

    `changed_since` is the event that changed the file which it is of (0: none did). An image that
    `is_left_out` is not sent to the model. `image_size` are an image's pixels, `thumbnail` is read from the
    cache.
    """

    name: str
    facts: str = ""
    digest: str = ""
    icon: str = "paperclip"
    changed_since: int = 0
    is_left_out: bool = False
    image_size: tuple[int, int] | None = None
    thumbnail: QImage | None = None

    @property
    def label(self) -> str:
        change = translate(CHANGED_SINCE) if self.changed_since else ""
        facts = tr("left out", "an image") if self.is_left_out else self.facts
        return " · ".join(part for part in (self.name, facts, change) if part)


class UserRow(msgspec.Struct, frozen=True):
    """What the user typed in one turn, shown word for word; it began that turn, or `steered` it.

    `prompt` names the command and the file that the text was made from.
    It can be edited if `is_editable`, as `versions` say that it was. `is_side`: it was asked beside the
    conversation. `context_note` says why it is no longer sent, if it isn't, `cover_seq` what stands for it.
    """

    key: RowKey
    text: str
    at_ms: int = 0
    turn: int = 0
    attachments: tuple[AttachmentNote, ...] = ()
    steered: bool = False
    prompt: str = ""
    is_editable: bool = False
    versions: Versions | None = None
    is_side: bool = False
    context_note: str = ""
    cover_seq: int = 0


class AssistantRow(msgspec.Struct, frozen=True):
    """One answer of the model, as Markdown; `streaming` while it still grows.

    `waiting_since_ms` is when the model was called, while it is silent. `side_note` says of an answer beside
    the conversation that it is one, and what it cost. `context_note` says why it is no longer sent, if it
    isn't.
    """

    key: RowKey
    text: str
    at_ms: int = 0
    model: str = ""
    streaming: bool = False
    reasoning: str = ""
    side_note: str = ""
    waiting_since_ms: int = 0
    context_note: str = ""


class HeadAndTail(msgspec.Struct, frozen=True):
    """The first and the last lines of a text of `lines` lines; what lies between is left out."""

    head: str = ""
    tail: str = ""
    lines: int = 0

    @property
    def hidden_lines(self) -> int:
        return max(0, self.lines - sum(text.count("\n") + 1 for text in (self.head, self.tail) if text))


class OriginalOutput(msgspec.Struct, frozen=True):
    """What the cache holds of an output: its lines, the tokens of all of it, or why it cannot be read.

    On a card, the tokens are counted as those of `ToolRow`.
    """

    head_and_tail: HeadAndTail = HeadAndTail()
    tokens: int = 0
    problem: str = ""


class ExcerptContent(msgspec.Struct, frozen=True):
    """What the cache holds of an excerpt, as its card shows it: text or an image, or why there is none.

    `hidden_lines` follow after the text; `can_show_more` says that the card has room for them.
    """

    text: str = ""
    hidden_lines: int = 0
    can_show_more: bool = False
    image: QImage | None = None
    problem: str = ""


class ShellCommand(msgspec.Struct, frozen=True):
    """A command as its call asks for it; an empty `folder` is the workspace."""

    text: str
    folder: str = ""
    network: bool = False


_REFORMABLE: frozenset[Badge] = frozenset({"in_window", "cached", "excluded", "recalled", "pinned"})


class ToolRow(msgspec.Struct, frozen=True):
    """One tool call; `head` and `tail` are the first and last lines of an output of `lines` lines.

    They are of the form that the agent was shown, and `header_lines` of them are about it.
    `answer_seq` is the event with the output (0: none), `tokens` are those of its output in a request, by
    Helix's count: the model's are shown (`ItemContext`).
    `offers_extract` says that no model chose its form, for want of time.
    `is_choosing_form` says that its form is not chosen yet, `form_cost` what models took for it (of that the
    tokens: `form_tokens`), `form_note` why it is not what was requested; `arguments` are the digests of
    large arguments, `original` is read from the cache on demand; `subagent_session` is the session of the
    subagent that does it, `subagent_status` its status.
    `changed_since` is the event that changed the file which the output shows (0: none did).
    `running_output` is a running call's output so far; `todo` the list it wrote. `changes` says what it
    changed in files, whose lines are read on demand
    (`changed_files`). `excerpt` is what the call puts before the user, `excerpt_content` is read from the
    cache once its card is in sight. `question` is what it asks the user, `reply` the user's reply.
    `command` is what it runs, if it runs one. `removed_at_ms` says when the user removed the output as a
    secret: then it has no `digest` any more (0: it was not removed).
    """

    key: RowKey
    tool: str
    target: str = ""
    state: ToolState = "waiting"
    head: str = ""
    tail: str = ""
    lines: int = 0
    size_bytes: int = 0  # bytes
    tokens: int = 0
    duration_ms: int | None = None
    exit_code: int | None = None
    digest: str = ""  # 64 hex digits, or empty when nothing is cached
    badge: Badge = ""
    answer_seq: int = 0
    form: Form = "full"
    instructions: str = ""
    chosen_by: FormChooser = "rule"
    form_cost: str = ""
    form_tokens: int = 0
    form_note: str = ""
    is_choosing_form: bool = False
    offers_extract: bool = False
    arguments: tuple[str, ...] = ()
    arguments_cached: bool = False
    original: OriginalOutput | None = None
    subagent_session: str = ""
    subagent_status: SubagentStatus | None = None
    running_output: RunningOutput | None = None
    todo: tuple[TodoItem, ...] = ()
    changed_since: int = 0
    excerpt: Excerpt | None = None
    excerpt_content: ExcerptContent | None = None
    question: Question | None = None
    reply: QuestionReply | None = None
    changes: ChangesRecorded | None = None
    auto_run: tuple[AutoRunChange, ...] = ()
    changed_files: ChangedFilesContent | None = None
    command: ShellCommand | None = None
    header_lines: int = 0
    removed_at_ms: int = 0  # since 1970

    @property
    def shown_lines(self) -> HeadAndTail:
        return HeadAndTail(self.head, self.tail, self.lines)

    @property
    def has_no_extract(self) -> bool:
        """Return True if an extract was requested and the agent got the preview instead."""
        return self.form == "preview" and bool(self.instructions)

    @property
    def can_change_form(self) -> bool:
        """Return True if the agent can be shown the output in another form from the next request on."""
        return bool(self.answer_seq) and not self.removed_at_ms and self.badge in _REFORMABLE

    @property
    def can_open(self) -> bool:
        """Return True if its card has something to show below its bar."""
        return bool(self.head or self.tail or self.digest or self.command or self.running_output)

    @property
    def starts_open(self) -> bool:
        """Return True if its card is open until it is closed: an excerpt."""
        return self.excerpt is not None


MAX_REASON_PLACES = 5
"""Places that a reason on an approval card names before it counts the others."""


class ApprovalRow(msgspec.Struct, frozen=True):
    """A tool call that waits for the user; `position` says which of several that wait.

    `allowed_together` are the calls that one click on this card lets run once, if it offers that; `others`
    says in a few words what each of them but this one does.
    """

    key: RowKey
    request: ApprovalRequest
    position: str = ""
    allowed_together: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return translate(self.request.summary)

    @property
    def detail(self) -> str:
        return translate(self.request.detail)

    @property
    def is_sandboxed(self) -> bool:
        """Return True if a sandbox holds it, though it may use the network."""
        return self.request.confined or self.request.is_sandboxed

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """Return the rules that may be saved, narrowest first."""
        return self.request.suggested_rules or (self.request.rule,)

    @property
    def offers(self) -> tuple[TranslatableText, ...]:
        """Return what these rules say, without where they hold."""
        return tuple(replace(rule, confined=False).text for rule in self.rules)

    @property
    def is_rule_confined(self) -> bool:
        """Return True if what a saved rule allows is so in the sandbox only."""
        return any(rule.confined for rule in self.rules)

    @property
    def _coverage(self) -> FileCoverage | None:
        """Return where its changes can't be undone: of what is destroyed, that alone."""
        lost = self.request.data_loss
        return (
            FileCoverage(places=lost, uncovered=len(lost), is_complete=True)
            if lost
            else self.request.coverage
        )

    @property
    def uncovered(self) -> str:
        """Return in one line where its changes can't be undone, unless its reasons name all of that."""
        is_named = 0 < len(self.request.data_loss) <= MAX_REASON_PLACES
        return uncovered_line(self._coverage) if self._coverage and not is_named else ""

    @property
    def uncovered_places(self) -> tuple[str, ...]:
        return uncovered_details(self._coverage) if self._coverage else ()


class QuestionRow(msgspec.Struct, frozen=True):
    """A question that waits for the user; `position` says which of several that wait.

    `is_late`: its turn has ended, and the answer is sent as a message.
    """

    key: RowKey
    question: Question
    position: str = ""
    is_late: bool = False


class DividerRow(msgspec.Struct, frozen=True):
    """A line across the flow where the window was rewritten or a turn broke off.

    `is_quiet` is for what needs no attention.
    `details` are paragraphs that are shown on demand; they came from the rows `replaces`. Without
    `text` it only takes those away.
    """

    key: RowKey
    kind: DividerKind
    text: str
    is_undone: bool = False
    actions: tuple[Intent, ...] = ()
    is_quiet: bool = False
    details: tuple[str, ...] = ()
    replaces: tuple[RowKey, ...] = ()


class NoticeRow(msgspec.Struct, frozen=True):
    """A message of the program itself: what happened, why, and what can be done; `details` on request.

    Of a handover: whose it is, what it covers, its gist, and in the place of that on request all of it.
    """

    key: RowKey
    level: NoticeLevel
    what: str
    why: str = ""
    fix: str = ""
    actions: tuple[Intent, ...] = ()
    details: str = ""


class TurnFooterRow(msgspec.Struct, frozen=True):
    """What can be done with the answer of a turn that is done; `versions` are the other answers."""

    key: RowKey
    versions: Versions | None = None


Row: TypeAlias = (
    UserRow | AssistantRow | ToolRow | ApprovalRow | QuestionRow | DividerRow | NoticeRow | TurnFooterRow
)
AskRow: TypeAlias = ApprovalRow | QuestionRow
"""What waits for the user."""


def needs_original(row: ToolRow) -> bool:
    """Whether an open card has to read the cache: the agent was shown something else than the output."""
    return bool(row.digest) and row.form != "full" and row.original is None


_RECENT_ROWS = 256  # rows that are searched from the end before all keys are gathered


class ChatModel(QObject):
    """Rows in order, found by index or by key; tells the view what changed."""

    rows_reset = Signal()
    row_added = Signal(int)
    rows_changed = Signal(list)
    """Indexes of the rows that one update changed, so that views lay out once."""
    row_streamed = Signal(int, str)
    row_removed = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []
        self._index: dict[RowKey, int] | None = None
        self._arriving: dict[RowKey, list[str]] = {}
        self.is_loading = False  # rows are to come, though there is none

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row:
        """Return the row at an index, with all text that has arrived; IndexError when there is none."""
        row = self._rows[index]
        if row.key in self._arriving:
            row = self._joined_row(row)
        return row

    def raw_row(self, index: int) -> Row:
        """Return the row at an index without joining arriving text: for its kind and key only."""
        return self._rows[index]

    def raw_rows(self) -> Sequence[Row]:
        """Return all rows, without joining arriving text; not to be changed."""
        return self._rows

    def index_of(self, key: RowKey) -> int | None:
        if self._index is None:
            # What is asked for after opening stands at the end; 100,000 keys take longer than a frame.
            for at in range(len(self._rows) - 1, max(-1, len(self._rows) - _RECENT_ROWS), -1):
                if self._rows[at].key == key:
                    return at
        return self._keys().get(key)

    def reset(self, rows: Iterable[Row], *, is_loading: bool = False) -> None:
        """Show other rows, whose keys differ; `is_loading`: they are being read."""
        self._rows, self._index, self.is_loading = list(rows), None, is_loading
        self._arriving.clear()
        self.rows_reset.emit()

    def append(self, row: Row) -> None:
        """Add a row at the end; ValueError when its key is taken.

        Cards that wait for the user stay below; an answer that arrives, below what the log says before it.
        """
        keys = self._keys()
        if row.key in keys:
            raise ValueError(f"the key {row.key!r} is taken")
        at = len(self._rows)
        while at and _stays_below(self._rows[at - 1], row):
            at -= 1
        self._rows.insert(at, row)
        for after in range(at, len(self._rows)):
            keys[self._rows[after].key] = after
        self.row_added.emit(at)

    def replace(self, key: RowKey, row: Row) -> None:
        """Put a row in the place of another; KeyError when the key is unknown."""
        at = self._require_index(key)
        if row.key != key:
            keys = self._keys()
            if row.key in keys:
                raise ValueError(f"the key {row.key!r} is taken")
            del keys[key]
            keys[row.key] = at
        self._set(at, row)
        self.rows_changed.emit([at])

    def put(self, row: Row | None) -> None:
        """Add a row, or put it in the place of the one with its key; None changes nothing."""
        if row is not None:
            self.put_all([row])

    def put_all(self, rows: Iterable[Row]) -> None:
        """Like `put` for each row, but tell only once of all that changed."""
        changed: list[RowKey] = []
        for row in rows:
            at = self.index_of(row.key)
            if at is None:
                self.append(row)
            else:
                self._set(at, row)
                changed.append(row.key)
        if changed:
            self.rows_changed.emit([self._require_index(key) for key in changed])

    def stream(self, key: RowKey, delta_text: str) -> None:
        """Add arriving text to an answer; KeyError when the key is unknown, TypeError when no answer."""
        at = self._require_index(key)
        if not isinstance(self._rows[at], AssistantRow):
            raise TypeError(f"the row {key!r} is no answer, so text cannot be added")
        if delta_text:
            self._arriving.setdefault(key, []).append(delta_text)
            self.row_streamed.emit(at, delta_text)

    def remove(self, key: RowKey) -> None:
        """Take a row away, wherever it stands; KeyError when the key is unknown."""
        at = self._require_index(key)
        del self._rows[at]
        self._arriving.pop(key, None)
        if self._index is not None:
            del self._index[key]
            for after in range(at, len(self._rows)):
                self._index[self._rows[after].key] = after
        self.row_removed.emit(at)

    def discard(self, key: RowKey) -> None:
        """Take a row away if there is one with this key."""
        if self.index_of(key) is not None:
            self.remove(key)

    def _set(self, at: int, row: Row) -> None:
        self._arriving.pop(self._rows[at].key, None)
        self._rows[at] = row

    def _require_index(self, key: RowKey) -> int:
        at = self.index_of(key)
        if at is None:
            raise KeyError(key)
        return at

    def _keys(self) -> dict[RowKey, int]:
        if self._index is None:
            self._index = {row.key: at for at, row in enumerate(self._rows)}
        return self._index

    def _joined_row(self, row: Row) -> Row:
        deltas = self._arriving.pop(row.key)
        if not isinstance(row, AssistantRow):
            return row
        settled = replace(row, text=row.text + "".join(deltas))
        self._rows[self._require_index(row.key)] = settled
        return settled


def _stays_below(last: Row, row: Row) -> bool:
    if isinstance(last, AskRow):
        return not isinstance(row, AskRow)
    is_arriving = isinstance(last, AssistantRow) and last.streaming
    return is_arriving and isinstance(row, DividerRow | NoticeRow)
