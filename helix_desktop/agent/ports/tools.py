"""Ports: the tools that the agent can call, who approves calls, and what reads files and contents for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from helix_desktop.domain.events.workspace import StandingText
from helix_desktop.domain.file_history.diff import PatchFile
from helix_desktop.domain.files.content import ChangeReport, FileVersion, PdfText
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question, QuestionReply
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

    async def add(self, rule: PermissionRule) -> None:
        """Save a rule."""
        ...


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
    """The tools that the agent can call in a workspace."""

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

    async def find(self, data: bytes, pattern: str, context: int) -> MatchingLines:
        """Return the lines that match a regular expression, each with `context` lines around it.

        Raises InvalidInput if it is none.
        """
        ...
