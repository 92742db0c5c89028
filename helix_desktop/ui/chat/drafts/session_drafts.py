"""The drafts of sessions: shown, saved as they are written, kept where that fails; and what windows share."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
from PySide6.QtCore import QObject, Signal

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.slash_command import SlashInput
from helix_desktop.domain.store import Draft
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.chat.composer.composer import Composer
from helix_desktop.ui.chat.drafts.attachments import DraftAttachments
from helix_desktop.ui.kit.notices import FAILED_WRITE, Notice, NoticeArea
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import translate


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


class OutgoingMessages:
    """Those of all sessions, oldest first."""

    def __init__(self) -> None:
        self._messages: list[OutgoingMessage] = []

    def add(self, message: OutgoingMessage) -> None:
        self._messages.append(message)

    def remove(self, message: OutgoingMessage) -> None:
        """Forget a message whose text is stored."""
        self._messages.remove(message)

    async def settle(self, workspace_id: str) -> None:
        """Wait until those of a workspace are recorded, or in the drafts of their sessions again."""
        tasks = [message.task for message in self._in(workspace_id) if message.task is not None]
        if tasks:
            await asyncio.wait(tasks)

    def change(self, change: Callable[[Draft], Draft], workspace_id: str) -> None:
        """Change the texts of those of a workspace that could not be settled, and what goes along."""
        for message in self._in(workspace_id):
            draft = change(Draft(message.text, tuple(message.attachments)))
            message.text, message.attachments = draft.text, [*draft.attachments]

    def _in(self, workspace_id: str) -> list[OutgoingMessage]:
        return [message for message in self._messages if message.workspace.id == workspace_id]

    def not_on_screen(self, conversation: Conversation | None) -> list[OutgoingMessage]:
        return [message for message in self._messages if message.conversation is not conversation]

    def with_draft(self, session_id: str, text: str, attachments: Sequence[Attachment]) -> Draft:
        """Return what is to be stored as a session's draft: what is on its way, then what is written."""
        waiting = [message for message in self._of(session_id) if not message.is_settled]
        sent = [attachment for message in waiting for attachment in message.attachments]
        others = (attachment for attachment in attachments if attachment not in sent)
        return Draft("".join(message.text for message in waiting) + text, (*sent, *others))

    def without(self, session_id: str, draft: Draft) -> Draft:
        text, attachments = draft.text, draft.attachments
        for message in self._of(session_id):
            if text.startswith(message.text):
                text = text.removeprefix(message.text)
                attachments = tuple(item for item in attachments if item not in message.attachments)
        return Draft(text, attachments)

    def _of(self, session_id: str) -> Iterator[OutgoingMessage]:
        return (message for message in self._messages if message.conversation.session.id == session_id)


_text = TextContext("Session")


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

    def merge(self, stored: str) -> str:
        return self.text if self.is_whole else stored + self.text


class UnsavedDrafts:
    """One for each session, until the session is on screen again, in whichever window."""

    def __init__(self) -> None:
        self._areas: list[NoticeArea] = []
        self._by_session: dict[str, UnsavedDraft] = {}

    def show_in(self, notices: NoticeArea) -> None:
        """Say in another window, too, what could not be saved."""
        self._areas.append(notices)
        for draft in self.all():
            notices.notify(_notice(draft))

    def all(self) -> list[UnsavedDraft]:
        """Return them, oldest first."""
        return [*self._by_session.values()]

    def find(self, session_id: str) -> UnsavedDraft | None:
        return self._by_session.get(session_id)

    def add(self, draft: UnsavedDraft) -> None:
        """Keep a draft in place of its session's former one, and say so wherever the user is."""
        self._by_session[draft.session_id] = draft
        for notices in self._areas:
            notices.notify(_notice(draft))

    def hide(self, session_id: str) -> None:
        """Take away the notice of a session that is in the trash; its draft waits for it to be restored."""
        for notices in self._areas:
            notices.end(_notice_name(session_id))

    def set_text(self, session_id: str, text: str) -> None:
        self._by_session[session_id] = msgspec.structs.replace(self._by_session[session_id], text=text)

    def take(self, session_id: str) -> UnsavedDraft | None:
        self.hide(session_id)
        return self._by_session.pop(session_id, None)


def _notice(draft: UnsavedDraft) -> Notice:
    return Notice(
        _notice_name(draft.session_id),  # titles may be alike
        translate(_text("What you wrote in “{session}” could not be saved.", session=draft.title)),
        translate(join_sentences(draft.error.what, draft.error.why)),
        translate(_text("Your words are kept until you quit. Go back to the session to save them.")),
        level="error",
    )


def _notice_name(session_id: str) -> str:
    return f"unsaved-draft-{session_id}"


class SharedDrafts:
    """By session: attachments, messages on their way, and drafts that could not be saved."""

    def __init__(self) -> None:
        self.window_drafts: list[SessionDrafts] = []
        self.attachments: dict[str, list[Attachment]] = {}
        self.attaching_lock = asyncio.Lock()
        self.unsaved = UnsavedDrafts()
        self.outgoing = OutgoingMessages()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""

    def on_screen(self, session_id: str) -> SessionDrafts | None:
        """Return those of the window that shows the draft of a session; None if none does."""
        return next((drafts for drafts in self.window_drafts if drafts.shows(session_id)), None)


class SessionDrafts(QObject):
    """Keeps the draft of each session. Drafts survive switching, closing and crashes.

    A draft is deleted when its message is on record, not when it is sent: until then it is the only copy.
    """

    draft_shown = Signal()

    def __init__(self, widget: Composer, session: Session, shared: SharedDrafts) -> None:
        super().__init__(widget)
        self._widget, self._session = widget, session
        self._workspace: OpenWorkspace | None = None
        self._conversation: Conversation | None = None
        self._without_draft: Conversation | None = None  # the one on screen, until its draft is too
        self._load = object()  # one for each time that a draft is loaded: only the newest one is shown
        self._shared, self._locks = shared, shared.locks
        self.unsaved, self.outgoing = shared.unsaved, shared.outgoing
        shared.window_drafts.append(self)
        self.unsaved.show_in(session.notices)
        self._was_refused = False  # the draft on screen, when it was saved last
        self.attachments = DraftAttachments(
            widget, session, shared.attachments, shared.attaching_lock, self._save_changed
        )
        widget.text_paused.connect(self.save_later)
        self.attachments.edited.connect(lambda: self.save_later(widget.draft()))

    async def switch(self, on_cleared: Callable[[bool], None]) -> None:
        """Clear the composer for the session on screen, store the draft of the former one, show its own.

        From the first moment on, what is typed belongs to the new one; `on_cleared` says whether it is
        another one. A draft that can't be stored is kept. Raises StoreError if the other can't be read.
        """
        workspace, former = self._workspace, self._conversation
        text, was_loaded = self._widget.draft(), self._without_draft is None
        self._load = load = object()
        self._workspace = self._session.workspace if self._session.has_workspace else None
        self._conversation = self._without_draft = conversation = self._session.find_conversation()
        self._widget.set_text("")
        on_cleared(conversation is not former)
        if workspace is not None and former is not None and (text or was_loaded):
            await self.put_away(workspace, former, text, was_loaded)
        if conversation is not None and self._session.shows(conversation):
            await self.show(self._session.workspace, conversation, load)

    async def show(self, workspace: OpenWorkspace, conversation: Conversation, load: object) -> None:
        """Show the stored draft in front of what was typed meanwhile.

        Raises StoreError if it cannot be read; until it can, nothing is stored over it.
        """
        session_id = conversation.session.id
        async with self._locks[session_id]:
            if load is not self._load or self._without_draft is None:
                return
            error, stored, draft = None, Draft(), Draft()
            try:
                stored = await workspace.store.draft(session_id)
                draft = self.outgoing.without(session_id, stored)
                self.attachments.restore(session_id, draft.attachments)
            except StoreError as failure:
                error = failure
            if load is not self._load:
                return
            unsaved, typed = self.unsaved.take(session_id), self._widget.text()
            before = unsaved.merge(draft.text) if unsaved else draft.text
            if before:
                self._widget.set_text(before + typed)
            self.attachments.refresh()
            self.draft_shown.emit()
            if error is None or (unsaved is not None and unsaved.is_whole):
                self._without_draft = None
                if unsaved or typed or draft != stored:
                    self.save_later(self._widget.text())
            if error is not None:
                raise error

    def save_later(self, text: str) -> None:
        self._session.start(self.save(self._workspace, self._conversation, text), "save draft")

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
            async with self._locks[session_id]:  # another window may read it
                draft = self.outgoing.with_draft(session_id, text, self.attachments.of(session_id))
                await workspace.store.save_draft(session_id, draft.text, draft.attachments)
        except StoreError:
            self._was_refused = True
            raise
        if self._was_refused:
            self._was_refused = False
            self._session.notices.end(FAILED_WRITE)

    async def put_away(
        self, workspace: OpenWorkspace, conversation: Conversation, text: str, is_whole: bool
    ) -> None:
        """Store what was typed in a conversation that is not on screen, or keep it where that fails.

        `is_whole`: it takes the place of the stored draft; else it is put behind that one, or in front of
        what is written in another window that shows it by now: that is stored next.
        """
        session_id = conversation.session.id
        async with self._locks[session_id]:
            waiting = None if is_whole else self.unsaved.find(session_id)
            on_screen = None if is_whole else self._shared.on_screen(session_id)
            if waiting is not None:
                text, is_whole = waiting.text + text, waiting.is_whole
            if on_screen is not None:
                self.unsaved.take(session_id)
                on_screen.put_in_front(text)
                return
            draft = await self._store_draft(workspace, conversation, text, is_whole)
            if draft is None:
                self.unsaved.take(session_id)
            elif text or self.attachments.of(session_id):
                self.unsaved.add(draft)
            else:
                self._session.actions.show_error(draft.error)

    def shows(self, session_id: str) -> bool:
        conversation = self._conversation
        if conversation is None or conversation is self._without_draft:
            return False
        return conversation.session.id == session_id

    def put_in_front(self, text: str) -> None:
        """Take over what was written in another window, with what was added there."""
        if text:
            self._widget.set_text(text + self._widget.text())
        self.attachments.refresh()
        self.attachments.changed.emit()
        self.save_later(self._widget.draft())

    async def _store_draft(
        self, workspace: OpenWorkspace, conversation: Conversation, text: str, is_whole: bool
    ) -> UnsavedDraft | None:
        """Store a draft, behind the stored one if that is not part of it; return it if that fails."""
        session_id, attachments = conversation.session.id, self.attachments.of(conversation.session.id)
        try:
            if is_whole:
                draft = self.outgoing.with_draft(session_id, text, attachments)
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
        for draft in self.unsaved.all():
            opened = self._session.app.open_workspaces.get(draft.workspace.id, draft.workspace)
            if await _is_deleted(opened, draft.conversation):
                self.unsaved.take(draft.session_id)
                self.attachments.take(draft.session_id)
            else:
                await self.put_away(opened, draft.conversation, "", is_whole=False)
        drafts = self.unsaved.all()
        for message in self.outgoing.not_on_screen(self._conversation):
            try:
                await self.save_outgoing(message)
            except StoreError as error:
                drafts.append(
                    UnsavedDraft(message.workspace, message.conversation, message.text, False, error)
                )
        on_screen = await self._save_on_screen()
        return [*drafts, *([on_screen] if on_screen is not None else [])]

    async def _save_on_screen(self) -> UnsavedDraft | None:
        """Store the draft on screen; return it if that fails."""
        workspace, conversation = self._workspace, self._conversation
        if workspace is None or conversation is None:
            return None
        try:
            await self.show(workspace, conversation, self._load)  # unless it is on screen already
        except StoreError as error:
            text = self._widget.draft()
            return UnsavedDraft(workspace, conversation, text, False, error) if text else None
        text = self._widget.draft()
        session_id = conversation.session.id
        if not self.outgoing.with_draft(session_id, text, self.attachments.of(session_id)):
            return None
        return await self._store_draft(workspace, conversation, text, is_whole=True)

    async def save_outgoing(self, message: OutgoingMessage) -> None:
        """Store the draft of a session that is not on screen, with what is still on its way."""
        session_id, store = message.conversation.session.id, message.workspace.store
        async with self._locks[session_id]:
            stored = await store.draft(session_id)
            rest = self.outgoing.without(session_id, stored)
            draft = self.outgoing.with_draft(session_id, rest.text, rest.attachments)
            if draft != stored:
                await store.save_draft(session_id, draft.text, draft.attachments)

    async def contains(self, message: OutgoingMessage) -> bool:
        """Return True if the draft of its session begins with a message since that was left.

        One that is on screen does not: what is written there is stored over it.
        """
        session_id = message.conversation.session.id
        async with self._locks[session_id]:
            if self._shared.on_screen(session_id) is not None:
                return False
            try:
                stored = await message.workspace.store.draft(session_id)
            except StoreError:
                return False
        return bool(message.text) and stored.text.startswith(message.text)

    async def _save_changed(self, workspace: OpenWorkspace, conversation: Conversation) -> None:
        if conversation is self._conversation:
            await self.save(workspace, conversation, self._widget.draft())
            return
        session_id = conversation.session.id
        if (on_screen := self._shared.on_screen(session_id)) is not None:
            on_screen.put_in_front("")
            return
        async with self._locks[session_id]:
            stored = self.outgoing.without(session_id, await workspace.store.draft(session_id))
            draft = self.outgoing.with_draft(session_id, stored.text, self.attachments.of(session_id))
            await workspace.store.save_draft(session_id, draft.text, draft.attachments)


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
