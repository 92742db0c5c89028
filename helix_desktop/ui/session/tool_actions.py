"""User actions on a tool card: pin it, read the original, see what became of it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.ui.chat.actions import (
    ChooseForm,
    OpenSubagent,
    Pin,
    ReadChanges,
    ReadExcerpt,
    ReadOriginal,
    ReadThumbnail,
    SessionAction,
    ShowRewriteOf,
    StopCall,
    Unpin,
)
from helix_desktop.ui.chat.rows.changed_files import (
    MAX_FILES,
    MAX_LINES,
    ChangedFilesContent,
    changed_files_content,
)
from helix_desktop.ui.chat.rows.excerpts import excerpt_content
from helix_desktop.ui.chat.rows.row_types import ExcerptContent, HeadAndTail, OriginalOutput
from helix_desktop.ui.chat.rows.tool_rows import head_and_tail
from helix_desktop.ui.design.dialogs import get_text
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.thumbnails import stored_thumbnail
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")


class ToolCardController(QObject):
    """Binds the cards of the chat to the conversation on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._session_controller, self._async_actions = session_controller, context.async_actions
        self._chat = context.views.chat
        context.views.chat.view.action_triggered.connect(self._on_action)
        context.views.timeline.form_requested.connect(
            lambda seq, form, instructions: self._on_action(ChooseForm(seq, form, instructions))
        )
        context.views.timeline.pin_requested.connect(
            lambda seq, is_pin: self._on_action(Pin(seq) if is_pin else Unpin(seq))
        )

    def _on_action(self, action: SessionAction) -> None:
        conversation, start = self._session_controller.conversation, self._async_actions.start
        if conversation is None:
            return
        match action:
            case Pin(seq=seq):
                start(conversation.window.pin(seq), "pin")
            case Unpin(seq=seq):
                start(conversation.window.unpin(seq), "unpin")
            case ChooseForm():
                start(self._choose_form(conversation, action), "choose form")
            case ReadOriginal() | ReadExcerpt() | ReadChanges():
                start(self._read(conversation, action), "read for a card")
            case ReadThumbnail():
                start(self._read_thumbnail(conversation, action), "read thumbnail")
            case StopCall(call_id=call_id):
                conversation.running_calls.stop(call_id)
            case OpenSubagent(session_id=session_id):
                self._session_controller.session_requested.emit(session_id)
            case ShowRewriteOf(seq=seq):
                self._session_controller.reveal(_covering_rewrite(conversation.session.transcript, seq))
            case _:
                pass

    async def _choose_form(self, conversation: Conversation, choice: ChooseForm) -> None:
        """Show the agent an output in another form; an extract takes the user's instructions."""
        instructions: str | None = ""
        if choice.form == "compact":
            instructions = await get_text(
                self._chat,
                tr("What should the extract contain?"),
                choice.instructions,
                tr("Send extract"),
                tr(
                    "A model reads the full output and extracts what you describe. "
                    "The original stays in the cache."
                ),
            )
        if instructions is not None:
            await conversation.window.choose_form(choice.seq, choice.form, instructions)

    async def _read(
        self, conversation: Conversation, request: ReadOriginal | ReadExcerpt | ReadChanges
    ) -> None:
        """Show in its card what the store holds of an output or excerpt, or what a call changed."""
        workspace = self._session_controller.workspace
        if workspace is None:
            return
        content: OriginalOutput | ExcerptContent | ChangedFilesContent
        match request:
            case ReadOriginal():
                content = await _read_original(workspace, request)
            case ReadExcerpt():
                content = await _read_excerpt(workspace, request)
            case ReadChanges(capture_id=capture_id):
                content = await _read_changes(workspace, conversation.session.id, capture_id)
        if conversation is self._session_controller.conversation:  # the user may have gone on meanwhile
            self._session_controller.chat.show_content(request.key, content)

    async def _read_thumbnail(self, conversation: Conversation, request: ReadThumbnail) -> None:
        """Show what an attached image looks like; one that cannot be read keeps its icon."""
        workspace = self._session_controller.workspace
        image = await stored_thumbnail(workspace, request.digest) if workspace is not None else None
        if image is not None and conversation is self._session_controller.conversation:
            self._session_controller.chat.show_thumbnail(request.key, request.digest, image)


async def _read_original(workspace: OpenWorkspace, request: ReadOriginal) -> OriginalOutput:
    """Return the original of an output: its ends, or all of it."""
    try:
        data = await workspace.store.get(request.digest)
        tokens = (await workspace.store.entry(request.digest)).tokens
        return OriginalOutput(await asyncio.to_thread(_split_ends, data, request.in_full), tokens)
    except HelixError as error:
        return OriginalOutput(problem=translate(error.what))


async def _read_excerpt(workspace: OpenWorkspace, request: ReadExcerpt) -> ExcerptContent:
    try:
        data = await workspace.store.get(request.excerpt.digest)
        return await asyncio.to_thread(excerpt_content, data, request.excerpt, request.in_full)
    except HelixError as error:
        return ExcerptContent(problem=translate(error.what))


async def _read_changes(workspace: OpenWorkspace, session_id: str, capture_id: str) -> ChangedFilesContent:
    try:
        return await _read_changed_files(workspace.changes, session_id, capture_id)
    except HelixError as error:
        return ChangedFilesContent(problem=translate(error.what))


async def _read_changed_files(
    changes: WorkspaceChanges, session_id: str, capture_id: str
) -> ChangedFilesContent:
    """Return the first files of a capture with their lines. Raises HelixError."""
    captures = (await changes.of_session(session_id)).captures
    found = next((capture for capture in captures if capture.capture_id == capture_id), None)
    if found is None or found.is_removed:
        return ChangedFilesContent(problem=tr("These changes aren't in the file history."))
    diffs: list[tuple[FileChange, FileDiff]] = []
    lines = 0
    for change in found.changes[:MAX_FILES]:
        if lines >= MAX_LINES:
            break
        diff = await changes.diff(change.before, change.after)
        lines += sum(len(hunk.lines) for hunk in diff.hunks)
        diffs.append((change, diff))
    return await asyncio.to_thread(changed_files_content, diffs, len(found.changes))


def _split_ends(data: bytes, in_full: bool) -> HeadAndTail:
    text = data.decode("utf-8", "replace")
    ends = head_and_tail(text)
    return HeadAndTail(text.removesuffix("\n"), "", ends.lines) if in_full else ends


def _covering_rewrite(transcript: Transcript, seq: int) -> int:
    """Return the rewrite that took a message out of the window, or made markers of it; 0 for none."""
    cover = MessageStates(transcript).cover_of(seq)
    if cover is not None:
        return cover.seq
    rewrites = transcript.rewrites
    return max(
        (at for at, sweep in rewrites.sweeps.items() if seq in sweep.masked and rewrites.is_active(at)),
        default=0,
    )
