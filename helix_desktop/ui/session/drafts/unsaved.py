"""Drafts that could not be saved when the user left their session: they wait here, and a notice says so."""

from __future__ import annotations

import msgspec

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.ui.kit.notices import Notice, NoticeArea
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import translate

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
