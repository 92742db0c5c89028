"""What is written and not sent yet, by session: texts, what goes along with them, messages on their way."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.events.conversation import Attachment, ToolAnswered
from helix_desktop.domain.events.session import FilesChanged
from helix_desktop.domain.mcp_server import ServerResource
from helix_desktop.domain.slash_command import SlashInput
from helix_desktop.domain.store import Draft
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.message_files import attach_folder, attach_path
from helix_desktop.ui.chat.composer.attachment_chips import (
    AttachFiles,
    AttachText,
    OpenAttachment,
    PickFiles,
    RemoveAttachment,
    SendAttachmentInFull,
    UnpackAttachment,
    attachment_key,
    make_chip,
)
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import AddedFile
from helix_desktop.ui.design.dialogs import pick_open_files
from helix_desktop.ui.design.viewer.picture import read_thumbnail
from helix_desktop.ui.kit.intents import OpenOutput, handles
from helix_desktop.ui.kit.notices import FAILED_WRITE, Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")


@dataclass(eq=False, slots=True)
class OutgoingMessage:
    """A message on its way, with what goes along; `steer`: into the running turn.

    The question of the call `question` waited when it was sent, with these `options` marked: it is the
    answer. So did the approvals of the calls `denied`: it is the reason.

    `typed` is the command of a prompt file that the text is. `is_settled`: it is recorded, or in the draft
    again, so that no draft is to begin with it. `task` sends it.
    """

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    attachments: list[Attachment] = field(default_factory=list)
    steer: bool = False
    typed: SlashInput | None = None
    question: str = ""
    options: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    is_settled: bool = False
    task: asyncio.Task[None] | None = None


class UnsavedDraft(msgspec.Struct, frozen=True):
    """What was typed, and why it is not saved; `is_whole`: the stored draft is a former state of it."""

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    is_whole: bool
    error: StoreError

    @property
    def session_id(self) -> str:
        return self.conversation.session.id

    @property
    def title(self) -> str:
        return ellipsize_title(session_title(self.conversation.session.transcript.title))

    @property
    def notice(self) -> Notice:
        return Notice(
            _notice_name(self.session_id),
            tr("What you wrote in “{session}” could not be saved.", session=self.title),
            translate(join_sentences(self.error.what, self.error.why)),
            tr("Your words are kept until you quit. Go back to the session to save them."),
            level="error",
        )


class SharedDrafts:
    """What all windows write."""

    def __init__(self) -> None:
        self.windows: list[SessionDrafts] = []
        self.attachments: dict[str, list[Attachment]] = {}
        """Of the next messages, by session."""
        self.attaching_lock = asyncio.Lock()
        """One thing is attached at a time, so that chips are in order."""
        self.outgoing: list[OutgoingMessage] = []
        """Messages on their way, oldest first; one leaves when its text is stored."""
        self.unsaved: dict[str, UnsavedDraft] = {}
        """By session, oldest first, until that is on screen again, in whichever window."""
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""

    def on_screen(self, session_id: str) -> SessionDrafts | None:
        """Return those of the window that shows the draft of a session; None if none does."""
        return next((drafts for drafts in self.windows if drafts.shows(session_id)), None)

    def add_window(self, drafts: SessionDrafts) -> None:
        self.windows.append(drafts)
        for draft in self.unsaved.values():
            drafts.session.notify(draft.notice)

    def add_unsaved(self, draft: UnsavedDraft) -> None:
        """Keep a draft in place of its session's former one, and say so wherever the user is."""
        self.unsaved[draft.session_id] = draft
        for drafts in self.windows:
            drafts.session.notify(draft.notice)

    def hide_unsaved(self, session_id: str) -> None:
        """Take away the notice of a session that is in the trash; its draft waits for it to be restored."""
        for drafts in self.windows:
            drafts.session.notices.end(_notice_name(session_id))

    def take_unsaved(self, session_id: str) -> UnsavedDraft | None:
        self.hide_unsaved(session_id)
        return self.unsaved.pop(session_id, None)

    async def settle(self, workspace_id: str) -> None:
        """Wait until the messages of a workspace are recorded, or in the drafts of their sessions again."""
        tasks = [message.task for message in self._sent_in(workspace_id) if message.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    def change_outgoing(self, change: Callable[[Draft], Draft], workspace_id: str) -> None:
        """Change the texts of those of a workspace that could not be settled, and what goes along."""
        for message in self._sent_in(workspace_id):
            draft = change(Draft(message.text, tuple(message.attachments)))
            message.text = draft.text
            message.attachments = [*draft.attachments]

    def _sent_in(self, workspace_id: str) -> list[OutgoingMessage]:
        return [message for message in self.outgoing if message.workspace.id == workspace_id]

    def with_outgoing(
        self, session_id: str, text: str, attachments: Sequence[Attachment] | None = None
    ) -> Draft:
        """Return what is to be stored as a session's draft: what is on its way, then what is written."""
        if attachments is None:
            attachments = self.attachments.get(session_id, ())
        waiting = [message for message in self._sent_from(session_id) if not message.is_settled]
        sent = [attachment for message in waiting for attachment in message.attachments]
        others = (attachment for attachment in attachments if attachment not in sent)
        return Draft("".join(message.text for message in waiting) + text, (*sent, *others))

    def without_outgoing(self, session_id: str, draft: Draft) -> Draft:
        text = draft.text
        attachments = draft.attachments
        for message in self._sent_from(session_id):
            if text.startswith(message.text):
                text = text.removeprefix(message.text)
                attachments = tuple(item for item in attachments if item not in message.attachments)
        return Draft(text, attachments)

    def _sent_from(self, session_id: str) -> Iterator[OutgoingMessage]:
        return (message for message in self.outgoing if message.conversation.session.id == session_id)


def _notice_name(session_id: str) -> str:
    return f"unsaved-draft-{session_id}"  # titles may be alike


class SessionDrafts(QObject):
    """Keeps the draft of each session. Drafts survive switching, closing and crashes.

    A draft is deleted when its message is on record, not when it is sent: until then it is the only copy.
    """

    def __init__(self, widget: Composer, session: Session, shared: SharedDrafts) -> None:
        super().__init__(widget)
        self.widget = widget
        self.session = session
        self.shared = shared
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._without_draft: Conversation | None = None  # the one on screen, until its draft is too
        self._load = object()  # one for each time that a draft is loaded: only the newest one is shown
        self._was_refused = False  # the draft on screen, when it was saved last
        self.attachments = DraftAttachments(self)
        shared.add_window(self)
        widget.text_paused.connect(self.save_later)

    async def switch(self, on_cleared: Callable[[bool], None]) -> None:
        """Clear the composer for the session on screen, store the draft of the former one, show its own.

        From the first moment on, what is typed belongs to the new one; `on_cleared` says whether it is
        another one. A draft that can't be stored is kept. Raises StoreError if the other can't be read.
        """
        workspace = self._workspace
        former = self._conversation
        text = self.widget.draft()
        was_loaded = self._without_draft is None
        self._load = load = object()
        self._workspace = self.session.workspace if self.session.has_workspace else None
        self._conversation = self._without_draft = conversation = self.session.find_conversation()
        self.widget.set_text("")
        on_cleared(conversation is not former)
        if workspace is not None and former is not None and (text or was_loaded):
            await self.put_away(workspace, former, text, was_loaded)
        if conversation is not None and self.session.shows(conversation):
            await self.show(self.session.workspace, conversation, load)

    async def show(self, workspace: OpenWorkspace, conversation: Conversation, load: object) -> None:
        """Show the stored draft in front of what was typed meanwhile.

        Raises StoreError if it cannot be read; until it can, nothing is stored over it.
        """
        session_id = conversation.session.id
        async with self.shared.locks[session_id]:
            if load is not self._load or self._without_draft is None:
                return
            error = None
            stored = Draft()
            draft = Draft()
            try:
                stored = await workspace.store.draft(session_id)
                draft = self.shared.without_outgoing(session_id, stored)
                self.attachments.restore(session_id, draft.attachments)
            except StoreError as failure:
                error = failure
            if load is not self._load:
                return
            unsaved = self.shared.take_unsaved(session_id)
            typed = self.widget.text()
            before = draft.text
            if unsaved is not None:
                before = unsaved.text if unsaved.is_whole else before + unsaved.text
            if before:
                self.widget.set_text(before + typed)
            self.attachments.refresh()
            self.attachments.changed.emit()
            if error is None or (unsaved is not None and unsaved.is_whole):
                self._without_draft = None
                if unsaved or typed or draft != stored:
                    self.save_later(self.widget.text())
            if error is not None:
                raise error

    def save_later(self, text: str) -> None:
        self.session.start(self.save(self._workspace, self._conversation, text), "save draft")

    async def save(
        self, workspace: OpenWorkspace | None, conversation: Conversation | None, text: str
    ) -> None:
        """Store a draft, but not over one that is not on screen yet: that one comes first, then both are."""
        if workspace is None or conversation is None:
            return
        if conversation is self._without_draft:
            await self.show(workspace, conversation, self._load)
            return
        session_id = conversation.session.id
        try:
            async with self.shared.locks[session_id]:  # another window may read it
                if conversation is self._conversation and conversation is not self._without_draft:
                    text = self.widget.draft()  # newer than what this save was started with
                draft = self.shared.with_outgoing(session_id, text)
                await workspace.store.save_draft(session_id, draft.text, draft.attachments)
        except StoreError:
            self._was_refused = True
            raise
        if self._was_refused:
            self._was_refused = False
            self.session.notices.end(FAILED_WRITE)

    async def put_away(
        self,
        workspace: OpenWorkspace,
        conversation: Conversation,
        text: str,
        is_whole: bool,
        may_be_stored: bool = False,
    ) -> None:
        """Store what was typed in a conversation that is not on screen, or keep it where that fails.

        `is_whole`: it takes the place of the stored draft; else it is put behind that one, or in front of
        what is written in another window that shows it by now: that is stored next. `may_be_stored`: since
        that session was left its draft may begin with the text.
        """
        session_id = conversation.session.id
        async with self.shared.locks[session_id]:
            waiting = None if is_whole else self.shared.unsaved.get(session_id)
            on_screen = None if is_whole else self.shared.on_screen(session_id)
            if may_be_stored and text and on_screen is None:
                with suppress(StoreError):
                    if (await workspace.store.draft(session_id)).text.startswith(text):
                        return
            if waiting is not None:
                text = waiting.text + text
                is_whole = waiting.is_whole
            if on_screen is not None:
                self.shared.take_unsaved(session_id)
                on_screen.put_in_front(text)
                return
            draft = await self._store_draft(workspace, conversation, text, is_whole)
            if draft is None:
                self.shared.take_unsaved(session_id)
            elif text or self.attachments.of(session_id):
                self.shared.add_unsaved(draft)
            else:
                self.session.actions.show_error(draft.error)

    def shows(self, session_id: str) -> bool:
        shown = None if self._conversation is self._without_draft else self._conversation
        return shown is not None and shown.session.id == session_id

    def put_in_front(self, text: str) -> None:
        """Take over what was written in another window, with what was added there."""
        if text:
            self.widget.set_text(text + self.widget.text())
        self.attachments.refresh()
        self.attachments.changed.emit()
        self.save_later(self.widget.draft())

    async def _store_draft(
        self, workspace: OpenWorkspace, conversation: Conversation, text: str, is_whole: bool
    ) -> UnsavedDraft | None:
        """Store a draft, behind the stored one if that is not part of it; return it if that fails."""
        session_id = conversation.session.id
        attachments = self.attachments.of(conversation.session.id)
        try:
            if is_whole:
                draft = self.shared.with_outgoing(session_id, text)
            else:
                stored = await workspace.store.draft(session_id)
                others = (attachment for attachment in stored.attachments if attachment not in attachments)
                draft = Draft(stored.text + text, (*others, *attachments))
            await workspace.store.save_draft(session_id, draft.text, draft.attachments)
        except StoreError as error:
            return UnsavedDraft(workspace, conversation, text, is_whole, error)
        return None

    async def save_all(self) -> list[UnsavedDraft]:
        """Store the draft on screen, and again those that could not be stored; return those that cannot.

        What is on its way is stored with them: it may not get there any more.
        """
        for draft in [*self.shared.unsaved.values()]:
            opened = self.session.app.open_workspaces.get(draft.workspace.id, draft.workspace)
            if await _is_deleted(opened, draft.conversation):
                self.shared.take_unsaved(draft.session_id)
                self.attachments.take(draft.session_id)
            else:
                await self.put_away(opened, draft.conversation, "", is_whole=False)
        drafts = [*self.shared.unsaved.values()]
        for message in [*self.shared.outgoing]:
            if message.conversation is not self._conversation:
                try:
                    await self.save_elsewhere(message.workspace, message.conversation.session.id)
                except StoreError as error:
                    place = message.workspace, message.conversation
                    drafts.append(UnsavedDraft(*place, message.text, False, error))
        on_screen = await self._save_on_screen()
        return [*drafts, *([on_screen] if on_screen is not None else [])]

    async def _save_on_screen(self) -> UnsavedDraft | None:
        workspace = self._workspace
        conversation = self._conversation
        if workspace is None or conversation is None:
            return None
        try:
            await self.show(workspace, conversation, self._load)  # unless it is on screen already
        except StoreError as error:
            text = self.widget.draft()
            return UnsavedDraft(workspace, conversation, text, False, error) if text else None
        text = self.widget.draft()
        session_id = conversation.session.id
        if not self.shared.with_outgoing(session_id, text):
            return None
        async with self.shared.locks[session_id]:
            return await self._store_draft(workspace, conversation, self.widget.draft(), is_whole=True)

    async def save_elsewhere(
        self, workspace: OpenWorkspace, session_id: str, *, has_other_attachments: bool = False
    ) -> None:
        """Store the draft of a session that is not on screen, with what is still on its way."""
        async with self.shared.locks[session_id]:
            stored = await workspace.store.draft(session_id)
            rest = self.shared.without_outgoing(session_id, stored)
            attachments = None if has_other_attachments else rest.attachments
            draft = self.shared.with_outgoing(session_id, rest.text, attachments)
            if draft != stored:
                await workspace.store.save_draft(session_id, draft.text, draft.attachments)

    async def save_changed(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        session_id = conversation.session.id
        if conversation is self._conversation:
            await self.save(workspace, conversation, self.widget.draft())
        elif (on_screen := self.shared.on_screen(session_id)) is not None:
            on_screen.put_in_front("")
        else:
            await self.save_elsewhere(workspace, session_id, has_other_attachments=True)


async def _is_deleted(workspace: OpenWorkspace, conversation: Conversation) -> bool:
    """Return True if a session was deleted permanently: its draft went with it, and is not to come back."""
    if not conversation.session.log:  # it is not stored yet
        return False
    store = workspace.store
    try:
        sessions = (*await store.sessions(), *(await store.retention.trash()).sessions)
    except StoreError:
        return False
    return conversation.session.id not in {session.id for session in sessions}


async def stored_thumbnail(workspace: OpenWorkspace, digest: str) -> QImage | None:
    """Return the thumbnail of an image in a workspace's cache; None if it is missing or damaged."""
    try:
        data = await workspace.store.get(digest)
    except HelixError:
        return None
    return await asyncio.to_thread(read_thumbnail, data)


class DraftAttachments(QObject):
    """The attachments of drafts, by session; those of the conversation on screen are chips."""

    content_stored = Signal()
    """A content of a draft is in the cache now."""
    changed = Signal()
    """Something else goes along with the message on screen, which costs something else."""

    def __init__(self, drafts: SessionDrafts) -> None:
        super().__init__(drafts)
        self._drafts = drafts
        self._widget = drafts.widget
        self._session = drafts.session
        self._by_session = drafts.shared.attachments
        self._thumbnails: dict[str, QImage | None] = {}  # of the chips on screen, by digest
        self._lock = drafts.shared.attaching_lock
        self.attaching = 0
        """How much was added that does not belong to a message yet."""
        self._folders: dict[str, Path] = {}  # where files were attached from last, by workspace
        self._session.handle(self)
        self._session.on(ToolAnswered | FilesChanged, lambda _: self.refresh())

    def refresh(self) -> None:
        attachments = self.current()
        model = self._session.conversation.model if self._session.has_conversation else None
        digests = {attachment.image.digest for attachment in attachments if attachment.image is not None}
        missing = digests - self._thumbnails.keys()
        self._thumbnails = {digest: self._thumbnails.get(digest) for digest in digests}
        for digest in missing:
            self._session.start(self._read_thumbnail(digest), "read thumbnail")
        stale = self._session.transcript.stale_digests
        images = self._thumbnails
        chips = [
            make_chip(
                each, model, images.get(each.digest),
                is_outdated=each.kind == "cached" and each.digest in stale,
            )
            for each in attachments
        ]  # fmt: skip
        self._widget.set_attachments(chips)

    async def _read_thumbnail(self, digest: str) -> None:
        """Show what an attached image looks like; one that cannot be read keeps its icon."""
        image = await stored_thumbnail(self._session.workspace, digest)
        if image is not None and digest in self._thumbnails:
            self._thumbnails[digest] = image
            self.refresh()

    def current(self) -> list[Attachment]:
        return self._by_session.get(self._session.id, [])

    def of(self, session_id: str) -> Sequence[Attachment]:
        return self._by_session.get(session_id, ())

    def restore(self, session_id: str, attachments: Sequence[Attachment]) -> None:
        """Take over those of a stored draft, in front of what was added meanwhile."""
        keys = {attachment_key(attachment) for attachment in attachments}
        added = [attachment for attachment in self.of(session_id) if attachment_key(attachment) not in keys]
        self._by_session[session_id] = [*attachments, *added]

    def take(self, session_id: str) -> list[Attachment]:
        """Return those of a message that is sent, which no longer go along with the next one."""
        attachments = self._by_session.pop(session_id, [])
        self.refresh()
        return attachments

    def change(self, session_id: str, attachments: Sequence[Attachment]) -> None:
        self._by_session[session_id] = [*attachments]

    def clear(self, but: Collection[str]) -> None:
        """Drop what goes along with the next messages, in every session but some: the store has it."""
        for session_id in self._by_session.keys() - but:
            del self._by_session[session_id]
        self.refresh()

    async def wait(self) -> None:
        async with self._lock:
            pass

    def add(self, *attachments: Attachment) -> None:
        for attachment in attachments:
            self._add(self._session.conversation, attachment)
        self._drafts.save_later(self._widget.draft())

    def _add(self, conversation: Conversation, attachment: Attachment) -> None:
        attachments = self._by_session.setdefault(conversation.session.id, [])
        if all(attachment_key(existing) != attachment_key(attachment) for existing in attachments):
            attachments.append(attachment)
        if not self._session.shows(conversation):
            return
        self.refresh()
        self.changed.emit()
        self._widget.editor.setFocus()

    @handles(AttachFiles)
    def attach_files(self, files: Sequence[AddedFile]) -> None:
        workspace = self._session.workspace
        if not workspace.is_read_only:
            self._start_attaching(self._attach_files(workspace, self._session.conversation, files))

    def attach_resource(self, resource: ServerResource) -> None:
        workspace = self._session.workspace
        conversation = self._session.conversation

        async def attach() -> None:
            data = await self._session.app.mcp_servers.read_resource(workspace.id, resource)
            await self.attach_data(workspace, conversation, data, f"{resource.server}: {resource.title}")

        self._start_attaching(attach())

    async def attach_data(
        self, workspace: OpenWorkspace, conversation: Conversation, data: bytes, name: str
    ) -> None:
        """Attach what came from an MCP server. Raises InvalidInput, StoreError."""
        attachment = await workspace.contents.attach_data(conversation.session.id, data, name)
        self._add(conversation, attachment)
        self.content_stored.emit()
        await self._drafts.save_changed(workspace, conversation)

    @handles(PickFiles)
    async def pick_files(self) -> None:
        workspace = self._session.workspace
        start = self._folders.get(workspace.id) or self._root(workspace)
        paths = await pick_open_files(self._widget, tr("Attach files"), tr("All files (*)"), start)
        if paths:
            self._folders[workspace.id] = paths[0].parent
        self.attach_files([AddedFile(path.name, path) for path in paths])

    def _root(self, workspace: OpenWorkspace) -> Path:
        return Path(self._session.app.registry.get(workspace.id).path)

    def _start_attaching(self, attach: Coroutine[Any, Any, None]) -> None:
        """Begin to attach something; a message that is sent meanwhile waits for it."""

        async def attach_in_turn() -> None:
            try:
                async with self._lock:
                    await attach
            finally:
                self.attaching -= 1

        self.attaching += 1
        self._session.start(attach_in_turn(), "attach")

    async def _attach_files(
        self, workspace: OpenWorkspace, conversation: Conversation, files: Sequence[AddedFile]
    ) -> None:
        """Attach what can be attached, and say of each other file why it cannot."""
        for file in files:
            try:
                attachment = await self._attach_file(workspace, conversation.session.id, file)
            except HelixError as error:
                self._session.actions.show_error(error)
            else:
                self._add(conversation, attachment)
                self.content_stored.emit()
        await self._drafts.save_changed(workspace, conversation)

    async def _attach_file(self, workspace: OpenWorkspace, session_id: str, file: AddedFile) -> Attachment:
        if file.path is not None and await asyncio.to_thread(file.path.is_dir):
            return await attach_folder(workspace.contents, session_id, self._root(workspace), file.path)
        if file.path is not None:
            return await attach_path(workspace.contents, session_id, self._root(workspace), file.path)
        data = await asyncio.to_thread(file.png)
        return await workspace.contents.attach_data(session_id, data, file.name)

    @handles(AttachText)
    def paste(self, text: str) -> None:
        """Let a long text that was pasted go along as a chip; it is stored before anything else happens."""
        workspace = self._session.workspace
        if not workspace.is_read_only:
            self._start_attaching(self._attach_paste(workspace, self._session.conversation, text))

    async def _attach_paste(self, workspace: OpenWorkspace, conversation: Conversation, text: str) -> None:
        attachment = await workspace.contents.attach_paste(conversation.session.id, text)
        self._add(conversation, attachment)
        self.content_stored.emit()
        await self._drafts.save_changed(workspace, conversation)

    @handles(OpenAttachment)
    def open(self, key: str) -> None:
        if (attachment := self._find(key)) is not None:
            self._session.perform(OpenOutput(attachment.digest))

    @handles(UnpackAttachment)
    async def unpack(self, key: str) -> None:
        """Put an attached text into the message, where the cursor is, instead of along with it."""
        attachment = self._find(key)
        if attachment is None:
            return
        workspace = self._session.workspace
        conversation = self._session.conversation
        text = attachment.text  # of a recalled content this may be a part
        if attachment.kind == "paste":
            text = (await workspace.store.get(attachment.digest)).decode("utf-8", "replace")
        if self._session.shows(conversation) and self._find(key) is not None:
            self._widget.editor.insertPlainText(text)
            self._widget.editor.setFocus()
            self.remove(key)

    @handles(SendAttachmentInFull)
    def send_in_full(self, key: str) -> None:
        if (attachment := self._find(key)) is not None:
            self._start_attaching(self._replace_by_full(attachment))

    async def _replace_by_full(self, attachment: Attachment) -> None:
        workspace = self._session.workspace
        conversation = self._session.conversation
        full = await workspace.contents.attach_in_full(attachment)
        attachments = self._by_session.get(conversation.session.id, [])
        if attachment in attachments:
            attachments[attachments.index(attachment)] = full
        self.refresh()
        self.changed.emit()
        await self._drafts.save_changed(workspace, conversation)

    def _find(self, key: str) -> Attachment | None:
        return next((found for found in self.current() if attachment_key(found) == key), None)

    @handles(RemoveAttachment)
    def remove(self, key: str) -> None:
        others = [attachment for attachment in self.current() if attachment_key(attachment) != key]
        self._by_session[self._session.id] = others
        self._drafts.save_later(self._widget.draft())
        self.refresh()
        self.changed.emit()
