"""What leads to a place on another page; and where the user is in each session: kept, and shown again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextCursor

from helix_desktop.config.view_states import ViewState
from helix_desktop.context.window.message_states import MessageStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.store import SavedFilter
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.chat.actions import ControlTurn, OpenLink, RowKey
from helix_desktop.ui.chat.composer_controller import ComposerController
from helix_desktop.ui.chat.presenter import ChatPresenter
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import move_keys
from helix_desktop.ui.kit.intents import handles
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.outputs.entry_actions import ShowEntryInChat, ShowEntryInTimeline
from helix_desktop.ui.outputs.page import OutputsPage
from helix_desktop.ui.settings.permissions_page import ChangeTrust
from helix_desktop.ui.timeline.page import Timeline
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.panel_controller import PastController
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.session_markdown import stretch_markdown
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_PAUSE_MS = 1_000


class ViewStateController(QObject):
    """Keeps where the user is whenever that changed, and when another session is shown."""

    def __init__(self, window: MainWindow, session: Session, past: PastController) -> None:
        super().__init__(window)
        self._session = session
        self._pages = window.pages
        self._past = past
        self._states = session.app.view_states
        self._registry = session.app.registry
        self._session_id = ""  # of the session whose view is on screen, restored
        self._workspace_id = ""  # the one whose filter is on the Outputs page
        self._save_timer = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._save_timer.timeout.connect(self._save)
        session.changing.connect(self._save_previous)
        session.loaded.connect(self._restore)
        viewport = window.pages.chat.view.chat_viewport
        editor = window.pages.chat.composer.editor
        for changed in (viewport.layout_changed, editor.cursorPositionChanged, editor.selectionChanged):
            changed.connect(self._schedule_save)
        window.pages.outputs.when_built(self._follow_outputs)
        window.pages.timeline.when_built(self._follow_timeline)
        window.pages.changes.when_built(self._follow_changes)

    def _follow_outputs(self, outputs: OutputsPage) -> None:
        outputs.table.entry_selected.connect(self._schedule_save)
        outputs.filter_bar.changed.connect(self._schedule_save)
        if self._session_id:
            self._restore_outputs(outputs)

    def _follow_timeline(self, timeline: Timeline) -> None:
        timeline.scrolled.connect(self._schedule_save)
        timeline.set_first_card(self._states.get(self._session_id).card)

    def _follow_changes(self, changes: ChangesPage) -> None:
        changes.list.entry_selected.connect(self._schedule_save)
        changes.select_soon(self._states.get(self._session_id).change)

    def _schedule_save(self, *_: object) -> None:
        if self._session_id and not self._save_timer.isActive():
            self._save_timer.start()

    def _save_previous(self) -> None:
        """Keep the former session's view, which the screens still show."""
        if self._session_id:
            self._save()
        self._session_id = ""
        self._save_timer.stop()

    def _restore(self) -> None:
        conversation = self._session.conversation
        screens = self._pages
        self._session_id = self._session.id
        state = self._states.get(self._session_id)
        key = RowKey.parse(state.row)
        index = screens.chat.model.index_of(key) if key else None
        if index is not None and not conversation.asks:
            screens.chat.view.chat_viewport.show_row(index, -state.offset)
        if state.cursor >= 0:
            self._restore_cursor(state)
        if (outputs := screens.outputs.find()) is not None:
            self._restore_outputs(outputs)
        if (timeline := screens.timeline.find()) is not None:
            timeline.set_first_card(state.card)
        if (changes := screens.changes.find()) is not None:
            changes.select_soon(state.change)

    def _restore_outputs(self, outputs: OutputsPage) -> None:
        if self._session.workspace.id != self._workspace_id:
            self._workspace_id = self._session.workspace.id
            outputs.filter_bar.apply_saved(self._last_filter())
        entry = self._states.get(self._session_id).entry
        if entry and not outputs.filter_bar.current_filter.is_narrowing:  # it would clear that
            outputs.select(entry)

    def _restore_cursor(self, state: ViewState) -> None:
        editor = self._pages.chat.composer.editor
        length = editor.document().characterCount() - 1
        cursor = editor.textCursor()
        cursor.setPosition(min(state.mark if state.mark >= 0 else state.cursor, length))
        cursor.setPosition(min(state.cursor, length), QTextCursor.MoveMode.KeepAnchor)
        editor.setTextCursor(cursor)

    def _save(self) -> None:
        if self._past.step is not None:
            return  # what is on screen is not where the user was
        self._save_filter()
        state = self._current_state()
        if state != self._states.get(self._session_id):
            self._states.put(self._session_id, state)
            self._session.start(asyncio.to_thread(self._states.save), "save view")

    def _last_filter(self) -> SavedFilter:
        filters = self._registry.get(self._workspace_id).cache_filters
        return next((saved for saved in filters if not saved.name), SavedFilter(""))

    def _save_filter(self) -> None:
        """Keep the filter of the Outputs page; a record that is gone or can't be written loses it."""
        outputs = self._pages.outputs.find()
        if outputs is None:
            return
        with suppress(HelixError):
            current = outputs.filter_bar.saved_filter
            if current != self._last_filter():
                filters = self._registry.get(self._workspace_id).cache_filters
                named = (saved for saved in filters if saved.name)
                self._registry.change(self._workspace_id, cache_filters=(*named, current))

    def _current_state(self) -> ViewState:
        screens = self._pages
        state = self._states.get(self._session_id)
        outputs = screens.outputs.find()
        timeline = screens.timeline.find()
        changes = screens.changes.find()
        card = timeline.first_card if timeline is not None else None
        change = changes.entry if changes is not None else None
        viewport = screens.chat.view.chat_viewport
        cursor = screens.chat.composer.editor.textCursor()
        scrolled = not viewport.is_following and len(viewport.model)
        at_end = cursor.atEnd() and not cursor.hasSelection()
        return ViewState(
            row=str(viewport.model.raw_row(viewport.scroll_layout.anchor).key) if scrolled else "",
            offset=round(viewport.scroll_layout.offset, 1) if scrolled else 0.0,
            cursor=-1 if at_end else cursor.position(),
            mark=-1 if at_end else cursor.anchor(),
            entry=state.entry if outputs is None else outputs.selected,
            card=state.card if card is None else card,
            change=change.key if change is not None else state.change,
        )


_REMEDIES: dict[str, intents.Intent] = {
    "compact": intents.Compact(),
    "new_session": intents.NewSession(),
    "undo_compaction": intents.UndoLast(),  # it says so if there is none
    "set_budget": intents.SetBudget(),
    "policy_settings": intents.OpenSettings("policy"),
    "trust_folder": ChangeTrust(True),
    "send_without_images": ControlTurn("send_without_images"),
    "send_without_output": ControlTurn("send_without_output"),
}


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
        self._chat = chat
        self._past = past
        views = window.pages
        self._send_as_message = composer.send_as_message
        self._views = views
        for command in (window.commands.previous_message, window.commands.next_message):
            move_keys(command, window, views.chat)  # elsewhere Alt+Down opens lists of choices

    @handles(OpenLink)
    def open_link(self, url: str) -> None:
        QDesktopServices.openUrl(QUrl(url))

    @handles(ShowEntryInChat)
    def show_entry_in_chat(self, digest: str) -> None:
        self.show_event(self._newest_event_with(digest), "")

    @handles(ShowEntryInTimeline)
    def show_entry_in_timeline(self, digest: str) -> None:
        self._window.perform(intents.ShowInTimeline(self._rewrite_of(digest)))

    @handles(intents.CopyText)
    def copy_text(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    @handles(intents.CopyMarkdown)
    def copy_markdown(self) -> None:
        """Copy the messages that the selection touches, or the session without one, exactly as they are."""
        log = self._session.conversation.session.log
        view = self._views.chat.view
        first, last = view.selected_seqs() or (1, len(log))
        QGuiApplication.clipboard().setText(stretch_markdown(log, first, last))
        view.announce(tr("Copied as Markdown"))

    @handles(intents.ApplyRemedy)
    def apply_remedy(self, remedy: str) -> None:
        if remedy == "send_as_message":
            self._send_as_message()
        elif remedy in _REMEDIES:
            self._window.perform(_REMEDIES[remedy])

    @handles(intents.OpenOutput)
    async def show_output(self, digest: str, mark: str, line: int) -> None:
        """Show an entry on the Outputs page; of one that the user removed as a secret, say that."""
        workspace = self._session.workspace
        removed_at_ms = await workspace.store.redaction.redacted_at(digest)
        if removed_at_ms:
            what = tr("You removed this output as a secret on {day}.", day=format_date(removed_at_ms))
            self._session.notify(Notice("removed-output", what, workspace_id=workspace.id, is_brief=True))
            return
        self._window.show_page("outputs")
        outputs = self._views.outputs.get()
        outputs.select(digest)
        outputs.mark(digest, mark, line)

    @handles(intents.ShowEvent)
    def show_event(self, seq: int, mark: str) -> None:
        """Show where an event stands in the chat, with a text marked; what has a card, in the timeline."""
        if not seq:
            return
        conversation = self._session.conversation
        transcript = self._session.transcript
        prepared = (transcript.rewrites.observations, transcript.checkpoints)
        if transcript.rewrites.is_undoable(seq) or any(seq in events for events in prepared):
            self._window.perform(intents.ShowInTimeline(seq))
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
                case SweepMade(swept=swept) if seq in swept:
                    return entry.seq
        return 0

    @handles(intents.Find)
    def find(self, words: str) -> None:
        find_bar = self._views.chat.find_bar
        if words or self._window.page() == "chat":
            find_bar.open_bar()
        if words:
            find_bar.field.setText(words)

    @handles(intents.SearchCache)
    def search_cache(self, words: str) -> None:
        self._window.show_page("outputs")
        self._views.outputs.get().filter_bar.field.setText(words)

    @handles(intents.GoToOwnMessage)
    def show_own_message(self, direction: int) -> None:
        self._window.show_page("chat")
        self._views.chat.view.chat_viewport.show_own_message(direction)

    @handles(intents.FocusComposer)
    def _focus_composer(self) -> None:
        self._window.show_page("chat")
        self._views.chat.composer.editor.setFocus()


def _event_digests(event: Event) -> tuple[str, ...]:
    match event:
        case ToolAnswered(digest=digest):
            return (digest,)
        case AssistantSpoke(short=short):
            return tuple(digest for call in short for digest in call.digests)
        case UserSpoke(attachments=attachments, short=short):
            digests = tuple(attachment.digest for attachment in attachments)
            return digests + (short.digests if short is not None else ())
    return ()
