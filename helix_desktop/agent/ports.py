"""Ports: the interfaces through which the agent uses models, stores, tools, file history and the user."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.errors import HelixError, StoreWriteFailed
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.events.session import StandingText
from helix_desktop.domain.file_history.changes import (
    CallMark,
    CapturedChanges,
    ChangeList,
    FileChange,
    FileCoverage,
    FileState,
    RevertPlan,
    UncoveredPlace,
)
from helix_desktop.domain.file_history.diff import PatchFile
from helix_desktop.domain.files.content import ChangeReport, FileVersion, PdfText
from helix_desktop.domain.listeners import OnProgress
from helix_desktop.domain.messages import ModelInfo, ModelRequest, StreamItem, ToolCall, ToolSpec
from helix_desktop.domain.passages import PassagePage, PassageQuery
from helix_desktop.domain.question import Question, QuestionReply
from helix_desktop.domain.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.retention import (
    GRACE_MS,
    CleanupPlan,
    CleanupResult,
    ContentReference,
    PermanentDeletion,
    RetentionRule,
    TrashContents,
)
from helix_desktop.domain.store import (
    DEFAULT_FILTER,
    Commit,
    Content,
    ContentReader,
    Draft,
    EntryFilter,
    EntryOrder,
    HandoverHit,
    PartialOutput,
)
from helix_desktop.domain.store_reports import IntegrityReport, RepairReport
from helix_desktop.domain.text_search import MatchingLines
from helix_desktop.domain.tools import (
    ApprovalReply,
    ApprovalRequest,
    AutoRunChange,
    OutputCallback,
    PermissionRule,
    ToolResult,
    ignore_output,
)


class FileHistory(Protocol):
    """The history of a workspace's files: captures what changes, brings back what was.

    Everything runs in its own thread. What was captured is durable, and stays in `unrecorded` until it is
    acknowledged, so that nothing is missing from a session's log after a kill. Every method may raise
    StoreClosed, StoreWriteFailed and StoreUnreadable.
    """

    @property
    def coverage(self) -> FileCoverage:
        """What is covered, as last known; does not block."""
        ...

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of the coverage. Call the returned function to unsubscribe."""
        ...

    async def start(self) -> None:
        """Repair what a kill left, then copy what is not covered yet in the background. Does not raise."""
        ...

    async def begin_call(self, mark: CallMark) -> CapturedChanges | None:
        """Note that a call begins; return what changed before it outside all calls, for its session."""
        ...

    async def end_call(self, session_id: str, call_id: str) -> CapturedChanges | None:
        """Note that a call of a session ended, and return what changed during it; None: nothing did."""
        ...

    async def scan(self, session_id: str) -> CapturedChanges | None:
        """Return what changed outside all calls since the last look of any session, for this one."""
        ...

    async def unrecorded(self, session_id: str) -> tuple[CapturedChanges, ...]:
        """Return what was captured for a session and not acknowledged yet, oldest first."""
        ...

    async def acknowledge(self, capture_ids: Sequence[str]) -> None:
        """Note that captures stand in their session's log."""
        ...

    async def change_list(self, digest: str) -> ChangeList:
        """Return a list of changes. Raises DigestUnknown, ContentDamaged."""
        ...

    async def content(self, digest: str) -> bytes:
        """Return a former content; `digest` may be its first digits. Raises DigestUnknown, ContentDamaged."""
        ...

    async def put_content(self, data: bytes) -> str:
        """Store a content that a revert is to write, and return its digest."""
        ...

    async def current_states(self, paths: Sequence[str]) -> dict[str, FileState | None]:
        """Return what stands at paths now; their contents are stored where they are covered."""
        ...

    async def uncovered_files(self, paths: Sequence[str]) -> tuple[UncoveredPlace, ...]:
        """Return the files at paths whose content cannot be brought back if a tool changes it, and why."""
        ...

    async def plan_revert(self, changes: Sequence[FileChange], capture_ids: Sequence[str] = ()) -> RevertPlan:
        """Return what taking back changes would do; they are in the order in which they were made."""
        ...

    async def revert(
        self, session_id: str, plan: RevertPlan, choices: Mapping[str, RevertChoice]
    ) -> CapturedChanges | None:
        """Bring the files of a plan to what is planned and chosen: all of it, or nothing.

        None: there was nothing to do. What changed outside all calls before is captured first, and stays in
        `unrecorded`. Raises RevertRefused if a path is not as it was planned, or cannot be written.
        """
        ...

    async def include(self, path: str, included: bool) -> None:
        """Cover a place that is not covered, or leave it to the rules again; holds for later starts too."""
        ...

    async def pause(self, is_paused: bool) -> None:
        """Pause the first copy, or let it go on; holds for later starts too."""
        ...

    async def close(self) -> None:
        """Stop the first copy (it goes on at the next start), and close the files."""
        ...


class Model(Protocol):
    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        """Call the model; yield deltas as they arrive and a `ModelResponse` last.

        Raises ModelError. Closing the generator or canceling the task ends the call.
        """
        ...


@runtime_checkable
class WireEncoder(Protocol):
    """A model behind a server, whose requests can be read before they are sent."""

    def wire_body(self, request: ModelRequest) -> bytes | None:
        """Return the JSON of a request as it would be sent; None if this model has no server."""
        ...


def wire_body(model: Model, request: ModelRequest) -> bytes | None:
    return model.wire_body(request) if isinstance(model, WireEncoder) else None


@runtime_checkable
class ToolFilter(Protocol):
    """A model behind a server that may refuse tools of MCP servers."""

    @property
    def refused_tools(self) -> tuple[ToolSpec, ...]:
        """The tools that leave each request, as the server refuses their schemas."""
        ...


def without_refused_tools(tools: Sequence[ToolSpec], model: Model) -> tuple[ToolSpec, ...]:
    refused = model.refused_tools if isinstance(model, ToolFilter) else ()
    return tuple(tool for tool in tools if tool not in refused)


class TokenCounter(Protocol):
    async def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, counted off the calling thread."""
        ...


class StoreHealth(Protocol):
    @property
    def report(self) -> RepairReport | None:
        """What was repaired when the store was opened, until it is acknowledged; usually None."""
        ...

    async def acknowledge(self) -> None: ...

    def listen(self, listener: Callable[[HelixError], None]) -> Callable[[], None]:
        """Subscribe to damaged contents, each reported once. Call the returned function to unsubscribe."""
        ...

    async def missing_files(self) -> StoreWriteFailed | None:
        """Return why nothing can be saved while the store's files are gone; None: they are there."""
        ...

    async def check(self, on_progress: OnProgress | None = None) -> IntegrityReport:
        """Check every content and row; `on_progress` is called with contents verified and their total.

        Other calls are served meanwhile. Canceling ends it soon. Damage is repaired at the next opening.
        """
        ...


class StoreRetention(Protocol):
    """Retention and trash of a workspace's store. Every method may raise StoreClosed, StoreUnreadable."""

    async def references(self, digest: str) -> list[ContentReference]:
        """Return the events that name a content. Raises ValueError if `digest` is not a digest."""
        ...

    async def session_digests(self, session_id: str) -> list[str]:
        """Return the contents that a session names, each once, in the order of their first event."""
        ...

    async def pin(self, digest: str, pinned: bool) -> None:
        """Pin a content against clean-ups, or unpin it. Raises DigestUnknown."""
        ...

    async def plan(self, rule: RetentionRule) -> CleanupPlan:
        """Return what a clean-up would do now, without doing it."""
        ...

    async def collect(self, digests: Sequence[str], grace_ms: int = GRACE_MS) -> CleanupResult:
        """Move contents of a plan to the trash, where that is still allowed. Raises StoreWriteFailed."""
        ...

    async def trash(self) -> TrashContents:
        """Return what is in the trash: still readable, restored when stored, named or recalled again."""
        ...

    async def restore(self, digests: Sequence[str]) -> CleanupResult:
        """Restore contents from the trash. Raises StoreWriteFailed."""
        ...

    async def trash_session(self, session_id: str) -> tuple[str, ...]:
        """Move a session and its subagents' to the trash; return their ids. Raises StoreWriteFailed.

        Its branches stay, and with them the subagents.
        """
        ...

    async def restore_session(self, session_id: str) -> tuple[str, ...]:
        """Restore a session and its subagents' from the trash; return their ids."""
        ...

    async def empty_trash(self, before_ms: int = 0) -> CleanupResult:
        """Delete what was trashed before `before_ms` (milliseconds since 1970; 0: all of it).

        Contents named only by deleted sessions stay until the next clean-up. Of a session that branches begin
        with stays what they need, hidden, until the last of them is deleted.
        """
        ...

    async def delete_permanently(
        self, digests: Sequence[str], sessions: Sequence[str], dry_run: bool = False
    ) -> PermanentDeletion:
        """Delete these items of the trash, all at once or not at all; with `dry_run` only say what would go.

        With the sessions go their subagents in the trash and the contents that nothing else needs. Items that
        are not in the trash stay. Raises StoreWriteFailed.
        """
        ...


class StoreRedaction(Protocol):
    """Redaction: removes a secret from a workspace's store. Every method may raise StoreClosed."""

    async def preview(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Return where the secret occurs, without changing anything. Raises InvalidInput."""
        ...

    async def redact(self, request: RedactionRequest, on_progress: OnProgress = ...) -> RedactionMatches:
        """Remove the secret everywhere in the store, files included; return what was changed.

        Open conversations still hold it until they are read again. Raises InvalidInput, StoreWriteFailed.
        """
        ...

    async def redacted_at(self, digest: str) -> int:
        """Return when a content was redacted, in milliseconds since 1970; 0 if it was not, or was lifted."""
        ...

    async def lift(self, digest: str) -> bool:
        """Allow a redacted content to be stored again. Return True if it was redacted."""
        ...


class Store(ContentReader, Protocol):
    """The durable store of one workspace. Every method may raise StoreClosed."""

    @property
    def redaction(self) -> StoreRedaction: ...

    @property
    def retention(self) -> StoreRetention: ...

    @property
    def health(self) -> StoreHealth: ...

    async def commit(self, commit: Commit) -> None:
        """Store all of it durably, or nothing: contents, events, references, recall counts, summary.

        A new session whose first event is SessionBranched begins with the events of its parent up to there,
        by reference. Returns once it would survive a power cut. Raises StoreWriteFailed, ContentTooLarge;
        ValueError if the events do not continue the session's log.
        """
        ...

    async def events(self, session_id: str) -> list[RecordedEvent]:
        """Return a session's whole log, with the part of its parent, in order; empty if there is none."""
        ...

    async def show_contents(self, session_id: str, contents: Sequence[Content], at_ms: int) -> None:
        """Let contents be read, listed and found that a look at a session made, and that are not stored.

        They take the place of those that were shown for the session before.
        """
        ...

    async def digests(
        self, order: EntryOrder = "newest", entry_filter: EntryFilter = DEFAULT_FILTER
    ) -> bytes:
        """Return the digests of all entries that match, in order: 32 bytes each, joined."""
        ...

    async def search_handovers(self, query: str, limit: int = 20) -> tuple[HandoverHit, ...]:
        """Return the newest handovers and checkpoints with all words of a query. Raises InvalidInput."""
        ...

    async def find_passages(self, query: PassageQuery) -> PassagePage:
        """Return messages, handovers and names of files with all words of a query, newest first."""
        ...

    async def save_draft(self, session_id: str, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Save the unsent text and attachments; if both are empty, delete the draft."""
        ...

    async def save_partial_answer(self, session_id: str, answer: RecordedEvent | None) -> None:
        """Save what came so far of an answer, until it is recorded; None: delete it."""
        ...

    async def save_partial_outputs(self, session_id: str, outputs: Sequence[PartialOutput]) -> None:
        """Save what running calls printed so far, until their answers are recorded; empty: delete it."""
        ...

    async def draft(self, session_id: str) -> Draft:
        """Return the unsent text and attachments, and what came of answers and outputs not recorded yet."""
        ...

    async def close(self) -> None:
        """Write what is queued, then close the files. Later calls raise StoreClosed."""
        ...


class Approver(Protocol):
    """Decides approval requests and answers questions, usually by asking the user."""

    async def decide(self, session_id: str, request: ApprovalRequest) -> ApprovalReply | None:
        """Wait for the reply to one approval request; None if it must be evaluated again."""
        ...

    async def reply(self, session_id: str, question: Question) -> QuestionReply | None:
        """Wait for the reply to a question; None if no user is there to answer."""
        ...


class WorkspacePermissions(Protocol):
    """A workspace's saved approvals."""

    def rules(self, demo: bool = False) -> tuple[PermissionRule, ...]:
        """Return the active rules, in order; `demo` is True if the offline demo model makes the call."""
        ...

    def offers_demo_calls(self) -> bool:
        """Return True if one answer may allow all calls of the offline demo model here."""
        ...

    def allow_demo_calls(self) -> bool:
        """Allow all calls of the offline demo model here. Return False if that could not be saved."""
        ...

    async def add(self, rule: PermissionRule) -> None: ...


class InstructionSource(Protocol):
    """The environment and the instructions of a workspace; reads off the calling thread, bounded in time.

    Texts come as they are sent, not counted yet. `in_force` are those that a session was told, by their keys;
    `window_size` is its model's, in tokens: small ones get less of a file. Nothing of an untrusted folder is
    read.
    """

    async def opening(self, window_size: int) -> tuple[StandingText, ...]:
        """Return what is told with a session's first message, the most general first."""
        ...

    async def changes(
        self, in_force: Mapping[tuple[str, str], StandingText], window_size: int
    ) -> tuple[tuple[StandingText, bool], ...]:
        """Return what is new since, or changed on disk; True for the latter."""
        ...

    async def in_folders(
        self, folders: Iterable[str], in_force: Mapping[tuple[str, str], StandingText], window_size: int
    ) -> tuple[StandingText, ...]:
        """Return the instructions in folders of the workspace, and in those above, that are not in force."""
        ...


class Tools(Protocol):
    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool specs sent to the model, in a stable order."""
        ...

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        """Return what the user is asked before a call, for approval or a reply; None if that is nothing.

        Raises ToolError if the call is refused whatever the user would answer.
        """
        ...

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `on_output` gets its output as it comes. Raises ToolError with the agent's text.

        Canceling stops it; with the message STOPPED or TURN_ENDED, the result may be the output so far.
        """
        ...


class AutoRunStore(Protocol):
    """Holds what calls changed that other programs run by themselves, and what was there before."""

    async def put(self, change_id: str, *, restore: bool) -> None:
        """Put what a call left back (`restore`), or take it out again. Raises HelixError."""
        ...

    async def settle(self, change_ids: Sequence[str], allowed_ids: Sequence[str]) -> None:
        """Say that these changes are decided on: a crash from now on takes none of them back.

        Those of `allowed_ids` stay as calls left them.
        """
        ...

    async def outcomes(self, change_ids: Sequence[str]) -> Mapping[str, bool]:
        """Return which of these changes were put back last (True), or taken out (False), by id."""
        ...

    async def auto_run_changes(self) -> tuple[AutoRunChange, ...]:
        """Return all saved changes, with what became of each last, the oldest first.

        Raises HelixError.
        """
        ...

    async def patch(self, change_id: str) -> PatchFile:
        """Return what a call did to a file, by the id of the change.

        Raises HelixError if the change is no longer saved, or its contents are not.
        """
        ...

    async def unreported(self) -> tuple[AutoRunChange, ...]:
        """Return what was taken back after calls that could not report it: a crash cut them off."""
        ...


class FileVersionChecker(Protocol):
    """Finds out which files of a workspace are not as they were; reads off the calling thread.

    A file outside the workspace is never read.
    """

    async def versions(self, paths: Sequence[str]) -> tuple[FileVersion, ...]:
        """Return the versions of these files now, without those that are no files of the workspace."""
        ...

    async def check(self, versions: Sequence[FileVersion]) -> ChangeReport:
        """Return which of these files changed or are gone.

        One that a link now leads out to counts as gone. Reads a bounded number of bytes.
        """
        ...


class FileReader(Protocol):
    """Reads what the user attaches from the workspace; reads off the calling thread."""

    async def read(self, path: str, max_bytes: int) -> tuple[bytes, FileVersion]:
        """Return the bytes of a file of the workspace and its version, which holds its path behind links.

        Raises InvalidInput for what is no readable file of the workspace, or has more bytes.
        """
        ...

    async def pdf_text(self, data: bytes) -> PdfText:
        """Return the text of a PDF, within bounds of time and work. Raises PdfRefused."""
        ...


class LineSearch(Protocol):
    """Searches contents for what the user recalls of them; off the calling thread."""

    async def find(self, data: bytes, pattern: str, context: int, first: int = 1) -> MatchingLines:
        """Return the lines that match a regular expression, each with `context` lines around it.

        `first` is the number of the first line.
        Raises InvalidInput if it is none.
        """
        ...
