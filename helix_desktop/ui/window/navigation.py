"""What leads to a place on another page: an event, a cached output, a rewrite, words."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.ui.cache.entry_actions import ShowEntryInChat, ShowEntryInTimeline
from helix_desktop.ui.chat.actions import ControlTurn, OpenLink
from helix_desktop.ui.chat.composer_controller import ComposerController
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.kit.commands import move_keys
from helix_desktop.ui.kit.intents import (
    ApplyRemedy,
    Compact,
    CopyMarkdown,
    CopyText,
    Find,
    FocusComposer,
    GoToOwnMessage,
    NewSession,
    OpenCacheEntry,
    SearchCache,
    SetBudget,
    ShowEvent,
    ShowInTimeline,
    UndoLast,
    handles,
)
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.window.inspector import PastController
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.session_markdown import stretch_markdown
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator

tr = Translator("Session")


class SessionNavigation(WindowPart):
    def __init__(
        self,
        window: MainWindow,
        windows: WindowGroup,
        composer: ComposerController,
        chat: ChatPresenter,
        past: PastController,
    ) -> None:
        super().__init__(window, windows)
        self._chat, self._past = chat, past
        views = self._views = window.pages
        self._remedies: dict[str, Callable[[], object]] = {
            "compact": lambda: window.perform(Compact()),
            "new_session": lambda: window.perform(NewSession()),
            "undo_compaction": lambda: window.perform(UndoLast()),  # it says so if there is none
            "set_budget": lambda: window.perform(SetBudget()),
            "send_without_images": lambda: window.perform(ControlTurn("send_without_images")),
            "send_as_message": composer.send_as_message,
        }
        for command in (window.commands.previous_message, window.commands.next_message):
            move_keys(command, window, views.chat)  # elsewhere Alt+Down opens lists of choices

    @handles(OpenLink)
    def open_link(self, url: str) -> None:
        QDesktopServices.openUrl(QUrl(url))

    @handles(ShowEntryInChat)
    def show_entry_in_chat(self, digest: str) -> None:
        """Show the newest event with a cached content."""
        self.show_event(self._newest_event_with(digest), "")

    @handles(ShowEntryInTimeline)
    def show_entry_in_timeline(self, digest: str) -> None:
        self._window.perform(ShowInTimeline(self._rewrite_of(digest)))

    @handles(CopyText)
    def copy_text(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    @handles(CopyMarkdown)
    def copy_markdown(self) -> None:
        """Copy the messages that the selection touches, or the session without one, exactly as they are."""
        log, view = self._session.conversation.session.log, self._views.chat.view
        first, last = view.selected_seqs() or (1, len(log))
        QGuiApplication.clipboard().setText(stretch_markdown(log, first, last))
        view.announce(tr("Copied as Markdown"))

    @handles(ApplyRemedy)
    def apply_remedy(self, remedy: str) -> None:
        """Do what helps against an error, if it is done here."""
        if remedy in self._remedies:
            self._remedies[remedy]()

    @handles(OpenCacheEntry)
    async def show_cache_entry(self, digest: str) -> None:
        """Show an entry in the cache browser; of one that the user removed as a secret, say that."""
        workspace = self._session.workspace
        removed_at_ms = await workspace.store.redaction.redacted_at(digest)
        if removed_at_ms:
            what = tr("You removed this output as a secret on {day}.", day=format_date(removed_at_ms))
            self._session.notify(Notice("removed-output", what, workspace_id=workspace.id, is_brief=True))
            return
        self._window.show_page("cache")
        self._views.cache.get().select(digest)

    @handles(ShowEvent)
    def show_event(self, seq: int, mark: str) -> None:
        """Show where an event stands in the chat, with a text marked; what has a card, in the timeline."""
        if not seq:
            return
        conversation, transcript = self._session.conversation, self._session.transcript
        prepared = (transcript.rewrites.observations, transcript.checkpoints)
        if transcript.rewrites.is_undoable(seq) or any(seq in events for events in prepared):
            self._window.perform(ShowInTimeline(seq))
            return
        if self._past.show_event(seq):
            return
        self._past.leave()
        self._window.show_page("chat")
        recorded = conversation.session.log[seq - 1]
        self._views.chat.view.jump_to(self._chat.key_of_event(recorded, transcript))
        if mark:
            self._views.chat.find_bar.mark(mark)

    def _newest_event_with(self, digest: str) -> int:
        """Return the newest event of the session on screen that names a content; 0 for none."""
        items = reversed(self._session.transcript.messages.items)
        return next((item.seq for item in items if digest in _event_digests(item.event)), 0)

    def _rewrite_of(self, digest: str) -> int:
        """Return the rewrite that stands for a content in this session, or whose index it is; 0 for none."""
        seq = self._newest_event_with(digest)
        cover = MessageStates(self._session.transcript).cover_of(seq) if seq else None
        if cover is not None:
            return cover.seq
        for entry in reversed(self._session.conversation.session.log):
            match entry.event:
                case HandoverMade(index=index) | FoldMade(index=index) | ObservationsMade(index=index) if (
                    index == digest
                ):
                    return entry.seq
                case SweepMade(masked=masked) if seq in masked:
                    return entry.seq
        return 0

    @handles(Find)
    def find(self, words: str) -> None:
        find_bar = self._views.chat.find_bar
        if words or self._window.page() == "chat":
            find_bar.open_bar()
        if words:
            find_bar.field.setText(words)

    @handles(SearchCache)
    def search_cache(self, words: str) -> None:
        self._window.show_page("cache")
        self._views.cache.get().filter_bar.field.setText(words)

    @handles(GoToOwnMessage)
    def show_own_message(self, direction: int) -> None:
        self._window.show_page("chat")
        self._views.chat.view.chat_viewport.show_own_message(direction)

    @handles(FocusComposer)
    def _focus_composer(self) -> None:
        self._window.show_page("chat")
        self._views.chat.composer.editor.setFocus()


def _event_digests(event: Event) -> tuple[str, ...]:
    match event:
        case ToolAnswered(digest=digest):
            return (digest,)
        case AssistantSpoke(short=short):
            return tuple(digest for call in short for digest in call.digests)
        case UserSpoke(attachments=attachments):
            return tuple(attachment.digest for attachment in attachments)
    return ()
