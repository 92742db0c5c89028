"""The rows that the chat shows, as immutable facts made from events, and the list of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from helix_desktop.agent.session import SubagentProgress
from helix_desktop.context.log.message_log import FRAMING_TOKENS
from helix_desktop.context.window.message_states import MessageState
from helix_desktop.domain.digest import RECALL_TOOL
from helix_desktop.domain.events.conversation import Attachment, SubagentStarted, ToolAnswered
from helix_desktop.domain.events.rewrite import Form, FormChosen
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileCoverage
from helix_desktop.domain.files.file_use import call_target, mcp_call_target, tool_kind
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.question import Question, parse_question
from helix_desktop.domain.tools import ApprovalRequest, AutoRunChange
from helix_desktop.domain.translatable_text import TranslatableText
from helix_desktop.ui.chat.actions import RowKey
from helix_desktop.ui.chat.rows.changed_file_rows import ChangedFilesContent
from helix_desktop.ui.design.safe_text import clean_output
from helix_desktop.ui.kit.intents import Intent
from helix_desktop.words.attachments import attachment_facts, attachment_name
from helix_desktop.words.file_changes import uncovered_details, uncovered_line
from helix_desktop.words.state_words import OUTDATED
from helix_desktop.words.translation import Translator, translate

tr = Translator("Chat")

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


# A card lays so much out within 16 ms.
MAX_LINES = 1_000
MAX_BYTES = 96 * 1024

ToolState: TypeAlias = Literal[
    "waiting", "approval", "question", "running", "ok", "failed", "denied", "interrupted", "stopped"
]
Badge: TypeAlias = MessageState | Literal["recalled", "repeated", ""]
FormChooser: TypeAlias = Literal["rule", "agent", "timeout", "user"]
DividerKind: TypeAlias = Literal["context", "past", "interrupted", "attempt", "note"]
"""A `note` is on what was set or changed."""
NoticeLevel: TypeAlias = Literal["error", "warning", "info", "handover"]


class Versions(msgspec.Struct, frozen=True):
    """The sessions that have a version of a message or answer, oldest first.

    `place` is that of the version on screen.
    """

    session_ids: tuple[str, ...]
    place: int


class AttachmentNote(msgspec.Struct, frozen=True):
    """What went along with a message.

    It `is_outdated` as `ToolRow` says. An image that `is_left_out` is not sent to the model. `thumbnail` is
    read from the cache.
    """

    attachment: Attachment
    is_outdated: bool = False
    is_left_out: bool = False
    thumbnail: QImage | None = None

    @property
    def label(self) -> str:
        outdated = translate(OUTDATED) if self.is_outdated else ""
        facts = tr("left out", "an image") if self.is_left_out else attachment_facts(self.attachment)
        return " · ".join(filter(None, (attachment_name(self.attachment), outdated, facts)))


class UserRow(msgspec.Struct, frozen=True):
    """What the user typed in one turn, shown word for word; it began that turn, or `steered` it.

    `prompt` names the command and the file that the text was made from.
    It can be edited if `is_editable`, as `versions` say that it was. `is_side`: it was asked beside the
    conversation. `context_note` says why it is no longer sent, if it isn't, `cover_seq` what stands for it.
    """

    key: RowKey
    text: str
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


HEAD_LINES = 14
TAIL_LINES = 6
MIN_HIDDEN_LINES = 3  # fewer take less room than the line that stands for them


def head_and_tail(text: str) -> HeadAndTail:
    """Return the first and last lines of a text, and its line count; all as first ones if few lie between."""
    stripped = text.removesuffix("\n")
    if not stripped:
        return HeadAndTail()
    lines = stripped.count("\n") + 1
    if lines < HEAD_LINES + TAIL_LINES + MIN_HIDDEN_LINES:
        return HeadAndTail(stripped, "", lines)
    last = "\n".join(stripped.rsplit("\n", TAIL_LINES)[-TAIL_LINES:])
    return HeadAndTail("\n".join(stripped.split("\n", HEAD_LINES)[:HEAD_LINES]), last, lines)


class OriginalOutput(msgspec.Struct, frozen=True):
    """What the cache holds of an output: its lines, the tokens of all of it, or why it cannot be read.

    On a card, the tokens are counted as those of `ToolRow`.
    """

    head_and_tail: HeadAndTail = HeadAndTail()
    tokens: int = 0
    problem: str = ""


_REFORMABLE: frozenset[Badge] = frozenset(
    {"in_window", "cached", "repeated", "excluded", "recalled", "pinned"}
)

_TARGET_NAMES = ("path", "command", "pattern", "hash", "query", "title", "task", "question")
NO_ANSWER = ToolAnswered("", "", "", "", 0, 0, 0)


class ToolRow(msgspec.Struct, frozen=True, dict=True):
    """One tool call and, once it has one, its answer.

    `answer_seq` is the event of the answer; 0 if there is none, or if its form is not chosen yet. `user_form`
    is what the user chose for it since. `argument_digests` are those of large arguments. `started` is the
    subagent that does it, `progress` how far that is. `changed_since` is the event that changed the file
    which the output shows (0: none did); it `is_outdated` unless that was a later call of this session, which
    the chat shows. `recalled` is what a recall without an answer is of, empty where that is not known. What
    it changed `is_reverted`: nothing of it stands. `auto_run` is what the answer says, and what became of it
    since. `removed_at_ms` says when the user removed the output as a secret (0: it was not removed).
    `original` and `changed_files` are read on demand.
    """

    key: RowKey
    call: ToolCall
    state: ToolState = "waiting"
    answer: ToolAnswered = NO_ANSWER
    answer_seq: int = 0
    user_form: FormChosen | None = None
    badge: Badge = ""
    argument_digests: tuple[str, ...] = ()
    arguments_cached: bool = False
    original: OriginalOutput | None = None
    started: SubagentStarted | None = None
    progress: SubagentProgress | None = None
    running_output: RunningOutput | None = None
    changed_since: int = 0
    is_outdated: bool = False
    changes: ChangesRecorded | None = None
    is_reverted: bool = False
    recalled: str = ""
    auto_run: tuple[AutoRunChange, ...] = ()
    changed_files: ChangedFilesContent | None = None
    removed_at_ms: int = 0  # since 1970

    @cached_property
    def values(self) -> dict[str, object]:
        try:
            values = json.loads(self.call.arguments)
        except (ValueError, RecursionError):
            return {}
        return values if isinstance(values, dict) else {}

    @cached_property
    def target(self) -> str:
        """What the call is about; of a recall also which part of the content it brought."""
        if self.call.is_mcp:
            subject = mcp_call_target(self.call.arguments)
        elif self.call.name == RECALL_TOOL and not self.answer_seq:
            return self.answer.target or self.recalled
        else:
            subject = next((str(self.values[name]) for name in _TARGET_NAMES if self.values.get(name)), "")
            if not subject and tool_kind(self.call.name) == "edit":
                subject = call_target(self.call.arguments)
        if self.started is not None and self.started.title:
            subject = self.started.title
        if not self.answer_seq or (self.answer.subagent and subject):
            return subject
        return " · ".join(filter(None, (self.answer.target or subject, self.answer.recalled_part)))

    @property
    def command(self) -> str:
        return str(self.values.get("command") or "") if self.call.name == "run_command" else ""

    @cached_property
    def question(self) -> Question | None:
        return parse_question(self.call)

    @property
    def digest(self) -> str:
        """64 hex digits; empty when nothing is cached any more."""
        return "" if self.removed_at_ms else self.answer.digest

    @property
    def shown(self) -> ToolAnswered | FormChosen:
        return self.user_form or (self.answer if self.answer_seq else NO_ANSWER)

    @cached_property
    def shown_lines(self) -> HeadAndTail:
        return head_and_tail(self.shown.text)

    @property
    def tokens(self) -> int:
        """Those of the output in a request, by Helix's count: the model's are shown (`ItemContext`)."""
        return self.shown.tokens + FRAMING_TOKENS if self.answer_seq else 0

    @property
    def form(self) -> Form:
        shown = self.shown
        is_part = isinstance(shown, ToolAnswered) and not shown.whole and not shown.recalled
        return "preview" if is_part and shown.form == "full" else shown.form

    @property
    def chosen_by(self) -> FormChooser:
        return self.shown.chosen if isinstance(self.shown, ToolAnswered) else "user"

    @property
    def subagent_session(self) -> str:
        if self.answer_seq:
            return self.answer.subagent
        return self.started.session if self.started is not None else ""

    @property
    def subagent_status(self) -> SubagentProgress | None:
        """How far its subagent is, or what the answer says of the one that gave it, or was to give it."""
        answer = self.answer
        usage = self.answer.delegated
        if not self.answer_seq:
            return self.progress
        if usage is None:
            is_broken_off = answer.subagent and answer.outcome == "interrupted"
            return SubagentProgress(answer.subagent, "interrupted", 0, 0, 0) if is_broken_off else None
        return SubagentProgress(
            answer.subagent, usage.how, 0, 0, usage.steps,
            spent_tokens=usage.tokens, cost=usage.cost, estimated=usage.estimated,
        )  # fmt: skip

    @property
    def is_part(self) -> bool:
        """Return True if the model gets or got a part of the output, not all of it in another form."""
        is_shorter = self.shown.form != "full" or bool(self.answer.full_tokens)
        return self.form != "full" and is_shorter

    @property
    def form_failure(self) -> Literal["", "slow", "failed"]:
        return "" if self.user_form else self.answer.form_failure

    @property
    def can_change_form(self) -> bool:
        """Return True if the agent can be shown the output in another form from the next request on."""
        return bool(self.answer_seq) and not self.removed_at_ms and self.badge in _REFORMABLE

    @property
    def can_open(self) -> bool:
        return bool(self.shown_lines.lines or self.digest or self.command or self.running_output)

    @property
    def is_target_repeated(self) -> bool:
        return bool(self.command) or (bool(self.subagent_session) and self.can_open)


class ApprovalRow(msgspec.Struct, frozen=True):
    """A tool call that waits for the user; `position` says which of several that wait.

    `allowed_together` are the calls that one click on this card lets run once, if it offers that.
    """

    key: RowKey
    request: ApprovalRequest
    position: str = ""
    allowed_together: tuple[str, ...] = ()

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
    def is_safely_sandboxed(self) -> bool:
        return self.is_sandboxed and not self.request.has_network

    @property
    def offers(self) -> tuple[TranslatableText, ...]:
        return tuple(replace(rule, confined=False).text for rule in self.request.offered_rules)

    @property
    def is_rule_confined(self) -> bool:
        return any(rule.confined for rule in self.request.offered_rules)

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
        """Return in one line where its changes can't be undone, but for what it destroys."""
        coverage = self.request.coverage
        return uncovered_line(coverage) if coverage and not self.request.data_loss else ""

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

    `details` are paragraphs that are shown on demand; they came from the rows `replaces`. Without
    `text` it only takes those away. `undo_first` says why what it did can't be undone, or redone, now.
    """

    key: RowKey
    kind: DividerKind
    text: str
    is_undone: bool = False
    actions: tuple[Intent, ...] = ()
    details: tuple[str, ...] = ()
    replaces: tuple[RowKey, ...] = ()
    undo_first: str = ""


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

    @property
    def first_ask(self) -> int:
        """Where the cards that wait for the user begin: below all others; behind all rows if none waits."""
        at = len(self._rows)
        while at and isinstance(self._rows[at - 1], AskRow):
            at -= 1
        return at

    def asks(self) -> list[AskRow]:
        return [row for row in self._rows[self.first_ask :] if isinstance(row, AskRow)]

    def index_of(self, key: RowKey) -> int | None:
        if self._index is None:
            # What is asked for after opening stands at the end; 100,000 keys take longer than a frame.
            for at in range(len(self._rows) - 1, max(-1, len(self._rows) - _RECENT_ROWS), -1):
                if self._rows[at].key == key:
                    return at
        return self._keys().get(key)

    def reset(self, rows: Iterable[Row], *, is_loading: bool = False) -> None:
        """Show other rows, whose keys differ; `is_loading`: they are being read."""
        self._rows = list(rows)
        self._index = None
        self.is_loading = is_loading
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
        while at and stays_below(self._rows[at - 1], row):
            at -= 1
        self._rows.insert(at, row)
        for after in range(at, len(self._rows)):
            keys[self._rows[after].key] = after
        self.row_added.emit(at)

    def replace(self, key: RowKey, row: Row) -> None:
        at = self._require_index(key)
        if row.key != key:
            keys = self._keys()
            if row.key in keys:
                raise ValueError(f"the key {row.key!r} is taken")
            del keys[key]
            keys[row.key] = at
        self._set(at, row)
        self.rows_changed.emit([at])

    def put(self, row: Row) -> None:
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
        at = self._require_index(key)
        del self._rows[at]
        self._arriving.pop(key, None)
        if self._index is not None:
            del self._index[key]
            for after in range(at, len(self._rows)):
                self._index[self._rows[after].key] = after
        self.row_removed.emit(at)

    def discard(self, key: RowKey) -> None:
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


def stays_below(last: Row, row: Row) -> bool:
    """Return True if a new row has its place above the last one.

    The context changed before the outputs that are awaited: its sizes are without them.
    """
    if isinstance(last, AskRow):
        return not isinstance(row, AskRow)
    if isinstance(last, ToolRow) and last.answer is NO_ANSWER:
        return isinstance(row, DividerRow) and row.kind == "context"
    if isinstance(last, AssistantRow) and not (last.text or last.streaming or last.waiting_since_ms):
        return isinstance(row, DividerRow) and row.kind == "context"  # the name above these calls
    is_arriving = isinstance(last, AssistantRow) and last.streaming
    return is_arriving and isinstance(row, DividerRow | NoticeRow)
