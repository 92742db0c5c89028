"""User actions on the session's history: continue, look up, recall, export."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.log.transcript import Transcript
from helix_desktop.context.summaries.handover import handover_counts, render_handover
from helix_desktop.context.window.window_breakdown import MessageStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke, ToolAnswered, UserSpoke
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import FoldMade, SweepMade
from helix_desktop.domain.events.summary import HandoverMade, ObservationsMade
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.cache.entry_actions import ShowEntryInChat, ShowEntryInTimeline
from helix_desktop.ui.chat.actions import ApplyRemedy, ControlTurn, OpenChanges
from helix_desktop.ui.design.dialogs import pick_save_file
from helix_desktop.ui.inspector.from_provider_cache import cache_uses_text
from helix_desktop.ui.inspector.from_window import request_row_text
from helix_desktop.ui.inspector.inspector_data import WindowRow
from helix_desktop.ui.kit.commands import move_keys
from helix_desktop.ui.kit.intents import (
    Compact,
    CopyText,
    ExportHandover,
    Find,
    FocusComposer,
    GoToOwnMessage,
    NewSession,
    OpenCacheEntry,
    Recall,
    SearchCache,
    SetBudget,
    ShowEvent,
    ShowInTimeline,
    StopAgent,
    UndoLast,
    handles,
)
from helix_desktop.ui.kit.notices import Notice
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.session.next_messages import CONTINUE
from helix_desktop.words.rewrite_reasons import trigger_text
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate

tr = Translator("Session")
text = TextContext("Session")

_TURN_ACTIONS: dict[str, Callable[[Conversation], Coroutine[Any, Any, None]]] = {
    "continue": lambda conversation: conversation.continue_turn(CONTINUE),
    "retry": lambda conversation: conversation.retry(),
    "send_without_images": lambda conversation: conversation.retry_without_images(),
    "stop": lambda conversation: conversation.stop(),
}


class SessionNavigation(QObject):
    """Binds the commands of chat, timeline, cache browser and inspector to the conversation on screen."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        window, views = self._window, self._views = context.window, context.views
        self._session_controller, self._async_actions = session_controller, context.async_actions
        self._remedies: dict[str, Callable[[], object]] = {
            "compact": lambda: window.perform(Compact()),
            "new_session": lambda: window.perform(NewSession()),
            "undo_compaction": lambda: window.perform(UndoLast()),  # it says so if there is none
            "set_budget": lambda: window.perform(SetBudget()),
            "send_without_images": lambda: self.control_turn("send_without_images"),
            "send_as_message": session_controller.composer.send_as_message,
        }
        window.remedy_requested.connect(self._apply_remedy)
        self._connect_chat()
        session_controller.composer.attachments.content_requested.connect(self.show_cache_entry)
        views.inspector.row_text_requested.connect(self._show_row)
        views.inspector.provider_cache.requests_requested.connect(self._show_cache_uses)
        window.intents.add(self)
        window.stop_offered.connect(views.chat.composer.offer_stop)

    def _connect_chat(self) -> None:
        chat = self._views.chat.view
        chat.link_activated.connect(lambda link: QDesktopServices.openUrl(QUrl(link)))
        for command in (self._window.commands.previous_message, self._window.commands.next_message):
            move_keys(command, self._window, self._views.chat)  # elsewhere Alt+Down opens lists of choices

    def _start(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self._async_actions.start(coroutine, name)

    def _with_conversation(self, action: Callable[[Conversation], object]) -> None:
        if self._session_controller.conversation is not None:
            action(self._session_controller.conversation)

    @handles(ShowEntryInChat)
    def show_entry_in_chat(self, digest: str) -> None:
        """Show the newest event with a cached content."""
        self.show_event(self._newest_event_with(digest))

    @handles(ShowEntryInTimeline)
    def show_entry_in_timeline(self, digest: str) -> None:
        """Show the card of what cached a content."""
        self._session_controller.reveal(self._rewrite_of(digest))

    @handles(ShowInTimeline)
    def show_in_timeline(self, seq: int, is_handover: bool) -> None:
        """Show the card of a rewrite, a handover or another."""
        self._session_controller.reveal(seq)

    @handles(OpenChanges)
    def show_changes(self, capture_id: str, path: str) -> None:
        """Show what a capture did on the page of changes."""
        self._session_controller.reveal_changes(capture_id, path)

    @handles(ControlTurn)
    def control_turn(self, how: str) -> None:
        """Continue, retry or stop the turn, or make its announced retry now."""
        conversation = self._session_controller.conversation
        if conversation is not None and how == "try_now":
            conversation.retry_now()
        elif conversation is not None:
            self._start(_TURN_ACTIONS[how](conversation), how)

    @handles(CopyText)
    def copy_text(self, text: str) -> None:
        """Put a text on the clipboard."""
        QGuiApplication.clipboard().setText(text)

    @handles(ApplyRemedy)
    def pass_remedy_on(self, remedy: str) -> None:
        """Let the part of the window whose remedy it is do what helps against an error."""
        self._window.remedy_requested.emit(remedy)

    def _apply_remedy(self, remedy: str) -> None:
        """Do what helps against an error, if it is done here."""
        if remedy in self._remedies:
            self._remedies[remedy]()

    @handles(Recall)
    async def recall(self, digest: str, first: int, last: int) -> None:
        """Let a content, or its lines `first` to `last` (0: all), go along with the next message."""
        workspace = self._session_controller.workspace
        if workspace is not None:
            self._session_controller.composer.attachments.add(
                await workspace.contents.attach(digest, first, last)
            )
            self._window.show_page("chat")

    def _show_row(self, row: WindowRow) -> None:
        request = self._session_controller.request_on_screen()
        if request is not None:
            self._views.inspector.show_page(row.name, request_row_text(*request, row))

    def _show_cache_uses(self) -> None:
        def show(conversation: Conversation) -> None:
            text = cache_uses_text(conversation.session.log, conversation.window.policy)
            self._views.inspector.show_page(tr("Prompt cache discount"), text)

        self._with_conversation(show)

    @handles(OpenCacheEntry)
    def show_cache_entry(self, digest: str) -> None:
        """Show an entry in the cache browser; of one that the user removed as a secret, say that."""
        self._start(self._show_cache_entry(digest), "open in cache")

    async def _show_cache_entry(self, digest: str) -> None:
        workspace = self._session_controller.workspace
        removed_at_ms = await workspace.store.redaction.redacted_at(digest) if workspace is not None else 0
        if workspace is not None and removed_at_ms:
            self._show_removed(workspace.id, removed_at_ms)
            return
        self._window.show_page("cache")
        self._views.cache.select(digest)

    def _show_removed(self, workspace_id: str, removed_at_ms: int) -> None:
        what = tr("You removed this output as a secret on {day}.", day=format_date(removed_at_ms))
        self._window.notices.notify(Notice("removed-output", what, workspace_id=workspace_id, is_brief=True))

    @handles(ShowEvent)
    def show_event(self, seq: int, mark: str = "") -> None:
        """Show where an event stands in the chat, with a text marked; what has a card, in the timeline."""
        conversation = self._session_controller.conversation
        if conversation is None or not seq:
            return
        transcript = conversation.session.transcript
        prepared = (transcript.rewrites.observations, transcript.checkpoints)
        if transcript.rewrites.is_undoable(seq) or any(seq in events for events in prepared):
            self._session_controller.reveal(seq)
            return
        if self._session_controller.past.show_event(seq):
            return
        self._session_controller.past.leave()
        self._window.show_page("chat")
        recorded = conversation.session.log[seq - 1]
        self._views.chat.view.jump_to(self._session_controller.chat.key_of_event(recorded, transcript))
        if mark:
            self._views.chat.find_bar.mark(mark)

    def _newest_event_with(self, digest: str) -> int:
        """Return the newest event of the session on screen that names a content; 0 for none."""
        conversation = self._session_controller.conversation
        items = (
            reversed(conversation.session.transcript.messages.items) if conversation is not None else iter(())
        )
        return next((item.seq for item in items if digest in _event_digests(item.event)), 0)

    def _rewrite_of(self, digest: str) -> int:
        """Return the rewrite that stands for a content in this session, or whose index it is; 0 for none."""
        conversation = self._session_controller.conversation
        if conversation is None:
            return 0
        seq = self._newest_event_with(digest)
        cover = MessageStates(conversation.session.transcript).cover_of(seq) if seq else None
        if cover is not None:
            return cover.seq
        for entry in reversed(conversation.session.log):
            match entry.event:
                case HandoverMade(index=index) | FoldMade(index=index) | ObservationsMade(index=index) if (
                    index == digest
                ):
                    return entry.seq
                case SweepMade(masked=masked) if seq in masked:
                    return entry.seq
        return 0

    @handles(StopAgent)
    async def stop(self) -> None:
        """End the running turn."""
        conversation = self._session_controller.conversation
        if conversation is not None:
            await conversation.stop()

    @handles(Find)
    def find(self, words: str) -> None:
        """Open the search of the chat, and search there for what was typed."""
        find_bar = self._views.chat.find_bar
        if words or self._window.page() == "chat":
            find_bar.open_bar()
        if words:
            find_bar.field.setText(words)

    @handles(SearchCache)
    def search_cache(self, words: str) -> None:
        """List the cached outputs with these words in them."""
        self._window.show_page("cache")
        self._views.cache.filter_bar.field.setText(words)

    @handles(GoToOwnMessage)
    def show_own_message(self, direction: int) -> None:
        self._window.show_page("chat")
        self._views.chat.view.chat_viewport.show_own_message(direction)

    @handles(FocusComposer)
    def _focus_composer(self) -> None:
        self._window.show_page("chat")
        self._views.chat.composer.editor.setFocus()

    @handles(ExportHandover)
    async def _export(self, seq: int) -> None:
        conversation = self._session_controller.conversation
        transcript = conversation.session.transcript if conversation else Transcript()
        handover = transcript.written_handovers.get(seq)
        if handover is None:
            return
        place = await pick_save_file(self._window, tr("Save handover"), f"handover-e{seq}.md")
        if place is None:
            return
        document = _handover_markdown(handover, transcript)
        try:
            await asyncio.to_thread(place.write_text, document, encoding="utf-8")
        except OSError as error:
            raise HelixError(
                text("Couldn't save {file}.", file=str(place)),
                text("{reason}.", reason=error.strerror or str(error)),
                text("Choose another folder."),
            ) from error


def _event_digests(event: Event) -> tuple[str, ...]:
    """Return the contents that an event names."""
    match event:
        case ToolAnswered(digest=digest):
            return (digest,)
        case AssistantSpoke(short=short):
            return tuple(digest for call in short for digest in call.digests)
        case UserSpoke(attachments=attachments):
            return tuple(attachment.digest for attachment in attachments)
    return ()


def _handover_markdown(handover: HandoverMade, transcript: Transcript) -> str:
    """Return a handover as a Markdown document."""
    change = tr("{before} → {after} tokens", before=handover.before, after=handover.after)
    parts = (
        translate(handover_counts(transcript, handover).text),
        "" if handover.origin else change,  # there was nothing before it
        handover.model,
        trigger_text(handover.trigger, handover.threshold),
    )
    summary = " · ".join(filter(None, parts))
    return f"# {tr('Handover')}\n\n{summary}\n\n{render_handover(handover, ())}\n"
