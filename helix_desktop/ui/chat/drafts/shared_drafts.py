"""What all windows share of the drafts: attachments, messages on their way, and what could not be saved."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.question import Question
from helix_desktop.domain.slash_command import SlashInput
from helix_desktop.domain.store import Draft
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.kit.notices import Notice, NoticeArea
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import translate


@dataclass(eq=False, slots=True)
class OutgoingMessage:
    """A message on its way, with what goes along; `steer`: into the running turn.

    `question` waited when it was sent, with these `options` marked: it is the answer. So did the approvals of
    the calls `denied`: it is why they are.

    `typed` is the command of a prompt file that the text is. `is_settled`: it is recorded, or in the draft
    again, so that no draft is to begin with it. `task` sends it.
    """

    workspace: OpenWorkspace
    conversation: Conversation
    text: str
    attachments: list[Attachment]
    steer: bool = False
    typed: SlashInput | None = None
    question: Question | None = None
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


class WindowDrafts(Protocol):
    """The drafts as one window shows them, one at a time."""

    def shows(self, session_id: str) -> bool:
        """Return True if the draft of a session is on screen there."""

    def put_in_front(self, text: str) -> None:
        """Take over what was written in another window, with what was added there."""


class SharedDrafts:
    """By session: attachments, messages on their way, and drafts that could not be saved."""

    def __init__(self) -> None:
        self.window_drafts: list[WindowDrafts] = []
        self.attachments: dict[str, list[Attachment]] = {}
        self.attaching_lock = asyncio.Lock()
        """One thing is attached at a time, so that chips are in order."""
        self.unsaved = UnsavedDrafts()
        self.outgoing = OutgoingMessages()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: its draft is not read while what was typed is put behind it."""

    def on_screen(self, session_id: str) -> WindowDrafts | None:
        """Return those of the window that shows the draft of a session; None if none does."""
        return next((drafts for drafts in self.window_drafts if drafts.shows(session_id)), None)
