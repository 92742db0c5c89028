"""User actions on a tool card: pin it, read the original, see what became of it."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from helix_desktop.agent.workspace_changes import WorkspaceChanges
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.rewrite import Form
from helix_desktop.domain.file_history.changes import FileChange
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.ui.chat.actions import (
    OpenSubagent,
    ReadChanges,
    ReadExcerpt,
    ReadOriginal,
    ReadThumbnail,
    RowKey,
    ShowRewriteOf,
    StopCall,
)
from helix_desktop.ui.chat.drafts.attachments import stored_thumbnail
from helix_desktop.ui.chat.page import ChatPage
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.chat.rows.changed_files import (
    MAX_FILES,
    MAX_LINES,
    ChangedFilesContent,
    changed_files_content,
)
from helix_desktop.ui.chat.rows.row_types import ExcerptContent, HeadAndTail, OriginalOutput
from helix_desktop.ui.chat.rows.tool_rows import excerpt_content, head_and_tail
from helix_desktop.ui.design.dialogs import get_text
from helix_desktop.ui.kit.intents import ChooseForm, OpenSession, Pin, ShowInTimeline, Unpin, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")


class ToolCardController(QObject):
    def __init__(self, page: ChatPage, session: Session, chat: ChatPresenter) -> None:
        super().__init__(page)
        self._session, self._chat, self._page = session, chat, page
        session.handle(self)

    @handles(Pin, Unpin, StopCall, OpenSubagent, ShowRewriteOf)
    async def change(self, intent: Pin | Unpin | StopCall | OpenSubagent | ShowRewriteOf) -> None:
        """Pin an output or unpin it, end a call, or show what became of one."""
        conversation = self._session.conversation
        match intent:
            case Pin(seq=seq):
                await conversation.window.pin(seq)
            case Unpin(seq=seq):
                await conversation.window.unpin(seq)
            case StopCall(call_id=call_id):
                conversation.running_calls.stop(call_id)
            case OpenSubagent(session_id=session_id):
                self._session.perform(OpenSession(session_id))
            case ShowRewriteOf(seq=seq):
                self._session.perform(ShowInTimeline(_covering_rewrite(self._session.transcript, seq)))

    @handles(ChooseForm)
    async def choose_form(self, seq: int, form: Form, instructions: str) -> None:
        """Show the agent an output in another form; an extract takes the user's instructions."""
        conversation = self._session.conversation
        chosen: str | None = ""
        if form == "compact":
            chosen = await get_text(
                self._page,
                tr("What should the extract contain?"),
                instructions,
                tr("Send extract"),
                tr(
                    "A model reads the full output and extracts what you describe. "
                    "The original stays in the cache."
                ),
            )
        if chosen is not None:
            await conversation.window.choose_form(seq, form, chosen)

    @handles(ReadOriginal, ReadExcerpt, ReadChanges)
    async def read(self, request: ReadOriginal | ReadExcerpt | ReadChanges) -> None:
        """Show in its card what the store holds of an output or excerpt, or what a call changed."""
        workspace, conversation = self._session.workspace, self._session.conversation
        content: OriginalOutput | ExcerptContent | ChangedFilesContent
        kinds = {ReadOriginal: OriginalOutput, ReadExcerpt: ExcerptContent, ReadChanges: ChangedFilesContent}
        try:
            match request:
                case ReadOriginal(digest=digest, in_full=in_full):
                    data = await workspace.store.get(digest)
                    tokens = (await workspace.store.entry(digest)).tokens
                    content = OriginalOutput(await asyncio.to_thread(_split_ends, data, in_full), tokens)
                case ReadExcerpt(excerpt=excerpt, in_full=in_full):
                    data = await workspace.store.get(excerpt.digest)
                    content = await asyncio.to_thread(excerpt_content, data, excerpt, in_full)
                case ReadChanges(capture_id=capture_id):
                    content = await _read_changes(workspace.changes, conversation.session.id, capture_id)
        except HelixError as error:
            content = kinds[type(request)](problem=translate(error.what))
        if self._session.shows(conversation):  # the user may have gone on meanwhile
            self._chat.show_content(request.key, content)

    @handles(ReadThumbnail)
    async def read_thumbnail(self, key: RowKey, digest: str) -> None:
        """Show what an attached image looks like; one that cannot be read keeps its icon."""
        conversation = self._session.conversation
        image = await stored_thumbnail(self._session.workspace, digest)
        if image is not None and self._session.shows(conversation):
            self._chat.show_thumbnail(key, digest, image)


async def _read_changes(changes: WorkspaceChanges, session_id: str, capture_id: str) -> ChangedFilesContent:
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
