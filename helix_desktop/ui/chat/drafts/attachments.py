"""What goes along with the next message of each session: files, pastes, and recalled contents or lines."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.mcp_server import ServerResource
from helix_desktop.services.attached_paths import attach_folder, attach_path
from helix_desktop.ui.cache.entry_actions import RecallMany
from helix_desktop.ui.cache.preview import Preview
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.chat.composer.attachment_chips import (
    AttachEntries,
    AttachFiles,
    AttachText,
    OpenAttachment,
    PickFiles,
    RemoveAttachment,
    SendAttachmentInFull,
    UnpackAttachment,
    attachment_key,
    chip_text,
)
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.composer.editor import AddedFile
from helix_desktop.ui.design.dialogs import DialogChoice, ask, pick_open_files
from helix_desktop.ui.design.layout import LazyPage
from helix_desktop.ui.design.viewer.picture import read_thumbnail
from helix_desktop.ui.kit.intents import OpenCacheEntry, Recall, ShowPage, handles
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.numbers import format_token_count
from helix_desktop.words.translation import Translator

tr = Translator("Session")

SaveDraft = Callable[[OpenWorkspace, Conversation], Coroutine[Any, Any, None]]


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
    edited = Signal()
    """The user has added or removed what is stored already: the draft is to be saved."""

    def __init__(
        self,
        widget: Composer,
        session: Session,
        by_session: dict[str, list[Attachment]],
        lock: asyncio.Lock,
        save_draft: SaveDraft,
    ) -> None:
        """`save_draft` saves the draft of a conversation, with what goes along with it.

        One thing is attached at a time, under `lock`, so that chips are in order.
        """
        super().__init__(widget)
        self._widget, self._session, self._save_draft = widget, session, save_draft
        self._by_session = by_session
        self._thumbnails: dict[str, QImage | None] = {}  # of the chips on screen, by digest
        self._attaching, self._lock = 0, lock
        self._folders: dict[str, Path] = {}  # where files were attached from last, by workspace

    @property
    def is_attaching(self) -> bool:
        """Return True while something that was added does not belong to a message yet."""
        return bool(self._attaching)

    def refresh(self) -> None:
        attachments = self.current()
        model = self._session.conversation.model if self._session.has_conversation else None
        digests = {attachment.image.digest for attachment in attachments if attachment.image is not None}
        missing = digests - self._thumbnails.keys()
        self._thumbnails = {digest: self._thumbnails.get(digest) for digest in digests}
        for digest in missing:
            self._session.start(self._read_thumbnail(digest), "read thumbnail")
        self._widget.set_attachments(
            [
                chip_text(attachment, model, self._thumbnails.get(attachment.digest))
                for attachment in attachments
            ]
        )

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

    def put_back(self, session_id: str, attachments: Sequence[Attachment]) -> None:
        self._by_session[session_id] = [*attachments, *self.of(session_id)]

    def change(self, session_id: str, attachments: Sequence[Attachment]) -> None:
        self._by_session[session_id] = [*attachments]

    def clear(self, but: Collection[str]) -> None:
        """Drop what goes along with the next messages, in every session but some: the store has it."""
        for session_id in self._by_session.keys() - but:
            del self._by_session[session_id]
        self.refresh()

    async def wait(self) -> None:
        """Wait until what was added belongs to its message."""
        async with self._lock:
            pass

    def add(self, *attachments: Attachment) -> None:
        """Let recalled contents go along with the next message."""
        for attachment in attachments:
            self._add(self._session.conversation, attachment)
        self.edited.emit()

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
        """Begin to attach a resource of an MCP server, as it is now."""
        workspace, conversation = self._session.workspace, self._session.conversation

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
        await self._save_draft(workspace, conversation)

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
                self._attaching -= 1

        self._attaching += 1
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
        await self._save_draft(workspace, conversation)

    async def _attach_file(self, workspace: OpenWorkspace, session_id: str, file: AddedFile) -> Attachment:
        """Return a file as an attachment. Raises HelixError."""
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
        await self._save_draft(workspace, conversation)

    @handles(OpenAttachment)
    def open(self, key: str) -> None:
        """Show an attachment's content in the cache browser."""
        if (attachment := self._find(key)) is not None:
            self._session.perform(OpenCacheEntry(attachment.digest))

    @handles(UnpackAttachment)
    async def unpack(self, key: str) -> None:
        """Put an attached text into the message, where the cursor is, instead of along with it."""
        attachment = self._find(key)
        if attachment is None:
            return
        workspace, conversation = self._session.workspace, self._session.conversation
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
        workspace, conversation = self._session.workspace, self._session.conversation
        full = await workspace.contents.attach_in_full(attachment)
        attachments = self._by_session.get(conversation.session.id, [])
        if attachment in attachments:
            attachments[attachments.index(attachment)] = full
        self.refresh()
        self.changed.emit()
        await self._save_draft(workspace, conversation)

    def _find(self, key: str) -> Attachment | None:
        return next((found for found in self.current() if attachment_key(found) == key), None)

    @handles(RemoveAttachment)
    def remove(self, key: str) -> None:
        others = [attachment for attachment in self.current() if attachment_key(attachment) != key]
        self._by_session[self._session.id] = others
        self.edited.emit()
        self.refresh()
        self.changed.emit()


tr = Translator("Cache")

_MAX_CONTENTS = 100
"""Contents that one recall takes: more chips than that say nothing, and cost a window."""


class RecallController(QObject):
    def __init__(
        self, session: Session, attachments: DraftAttachments, cache: LazyPage[CacheBrowser]
    ) -> None:
        super().__init__(session)
        self._session, self._attachments = session, attachments
        self._preview: Preview  # of the cache, once that is built
        self._matches: Attachment | None = None  # of find's words, counted last
        self._search: asyncio.Task[None] | None = None
        session.handle(self)
        self._start = session.start
        cache.when_built(lambda cache: self._follow(cache.preview))

    def _follow(self, preview: Preview) -> None:
        self._preview = preview
        preview.matches_requested.connect(self._recall_matches)
        preview.content.find_bar.found.connect(self._forget_matches)
        preview.matches_found.connect(self._look)

    @handles(Recall)
    async def recall(self, digest: str, first: int, last: int) -> None:
        """Let a content, or its lines `first` to `last` (0: all), go along with the next message."""
        self._attachments.add(await self._session.workspace.contents.attach(digest, first, last))
        self._session.perform(ShowPage("chat"))

    @handles(AttachEntries)
    async def recall_whole(self, digests: Sequence[str]) -> None:
        """Let contents go along with the next message. Raises HelixError."""
        workspace = self._session.workspace
        for digest in digests:
            attachment = await workspace.contents.attach(digest)
            if self._session.shows(workspace):
                self._attachments.add(attachment)

    @handles(RecallMany)
    async def recall_many(self, digests: Sequence[str]) -> None:
        """Say what the first of very many contents cost, and let them go along if the user wants that."""
        workspace = self._session.workspace
        attachments = [await workspace.contents.attach(digest) for digest in digests[:_MAX_CONTENTS]]
        what = tr.plural(len(attachments), "Recall %n entry into message?", "Recall %n entries into message?")
        cost = tr("≈ {tokens}", tokens=format_token_count(sum(each.tokens for each in attachments)))
        if len(digests) > _MAX_CONTENTS:
            first = tr.plural(
                len(digests),
                "The first {some} of %n entry",
                "The first {some} of %n entries",
                some=_MAX_CONTENTS,
            )
            cost = f"{first} · {cost}"
        choices = (DialogChoice("", tr("Cancel")), DialogChoice("recall", tr("Recall"), "primary"))
        answer = await ask(self._session.window, what, cost, choices)
        if answer and self._session.shows(workspace):
            self._attachments.add(*attachments)
            self._session.perform(ShowPage("chat"))

    def _forget_matches(self, words: str) -> None:
        if not words:
            self._matches = None
            if self._search is not None:
                self._search.cancel()
                self._search = None

    def _look(self, words: str) -> None:
        """Count the lines of the preview's text in which words stand, as find has them."""
        self._search = self._start(self._count_matches(self._preview.digest, words), "count matching lines")

    async def _count_matches(self, digest: str, words: str) -> None:
        try:
            found = await self._session.workspace.contents.attach_matches(
                digest, f"(?i){re.escape(words)}", 0
            )
        except HelixError:
            return  # a damaged content, say: the preview says so
        if found.attachment is None or digest != self._preview.digest:
            return
        self._matches = found.attachment
        cost = tr("≈ {tokens}", tokens=format_token_count(found.attachment.tokens))
        recall = tr.plural(found.count, "Recall %n matching line", "Recall %n matching lines")
        if not found.is_complete:
            recall = tr.plural(found.count, "Recall over %n matching line", "Recall over %n matching lines")
        self._preview.show_matches(f"{recall} · {cost}")

    def _recall_matches(self) -> None:
        if self._matches is not None:
            self._attachments.add(self._matches)
            self._session.perform(ShowPage("chat"))
