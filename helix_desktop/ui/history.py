"""What a person does with the history: go on, look up, recall, export."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, get_args

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.errors import HelixError
from helix_desktop.context.event import AssistantSpoke, Event, ToolAnswered, UserSpoke
from helix_desktop.context.event_rewrite import FoldMade, SweepMade
from helix_desktop.context.event_summary import HandoverMade, ObservationsMade
from helix_desktop.context.handover import render
from helix_desktop.context.remedy import Remedy
from helix_desktop.context.transcript import Transcript
from helix_desktop.ui.chat.rows import DividerRow
from helix_desktop.ui.dialogs import pick_save_file
from helix_desktop.ui.inspector.from_window import request_text, row_text
from helix_desktop.ui.inspector.rows import WindowRow
from helix_desktop.ui.intents import Intents
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.rewrite_text import trigger_text
from helix_desktop.ui.rewriting import Rewriting
from helix_desktop.ui.standing import Standings
from helix_desktop.ui.work import CONTINUE, Screens, Work

_TURN_ACTIONS: dict[str, Callable[[Conversation], Coroutine[Any, Any, None]]] = {
    "continue": lambda one: one.go_on(CONTINUE),
    "retry": lambda one: one.retry(),
    "send_without_images": lambda one: one.retry_without_images(),
    "stop": lambda one: one.stop(),
}


class History(QObject):
    """Binds the commands of chat, timeline, cache browser and inspector to the conversation on screen."""

    def __init__(
        self, window: MainWindow, screens: Screens, work: Work, rewriting: Rewriting, intents: Intents
    ) -> None:
        super().__init__(window)
        self._window, self._screens, self._work, self._intents = window, screens, work, intents
        self._rewriting = rewriting
        self._remedies: dict[str, Callable[[], object]] = {
            "compact": window.commands.compact_now.trigger,
            "new_session": window.commands.new_session.trigger,
            "undo_compaction": window.commands.undo_compaction.trigger,
            "set_budget": work.spending.ask,
            "try_now": lambda: self._with(lambda one: one.try_now()),
        }
        window.banners.acted.connect(lambda _, action: self._help(action))
        self._connect_chat()
        self._connect_timeline()
        screens.cache.recall_requested.connect(lambda *what: self._do(self.recall(*what), "recall"))
        screens.cache.chat_requested.connect(lambda: window.show_page("chat"))
        screens.cache.table.chat_requested.connect(lambda digest: self.show_event(self._said(digest)))
        screens.cache.table.timeline_requested.connect(
            lambda digest: self._work.reveal(self._rewrite(digest))
        )
        screens.inspector.row_activated.connect(self.show_event)
        screens.inspector.row_text_requested.connect(self._show_row)
        screens.inspector.preview_requested.connect(self.show_request)
        screens.inspector.compose_requested.connect(self._write)
        actions = window.commands
        actions.find.triggered.connect(self._find)
        actions.focus_composer.triggered.connect(self._write)
        for stop in (window.stop_requested, actions.stop.triggered):
            stop.connect(lambda *_: self._with(lambda one: self._do(one.stop(), "stop")))

    def _connect_chat(self) -> None:
        chat = self._screens.chat.view
        chat.action_triggered.connect(self._act)
        chat.open_in_cache.connect(self.show_digest)
        chat.link_activated.connect(lambda link: QDesktopServices.openUrl(QUrl(link)))

    def _connect_timeline(self) -> None:
        timeline = self._screens.timeline
        timeline.show_in_chat.connect(self.show_event)
        timeline.source_clicked.connect(self.show_event)
        timeline.digest_clicked.connect(self.show_digest)
        timeline.export_requested.connect(lambda seq: self._do(self._export(seq), "export handover"))

    def _do(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._intents.start(work, name)

    def _with(self, use: Callable[[Conversation], object]) -> None:
        if self._work.conversation is not None:
            use(self._work.conversation)

    def _act(self, key: str, action: str) -> None:
        """An action of a chat row: dividers carry the seq of their event in the key."""
        seq = int(key[1:]) if key[:1] == "e" and key[1:].isdigit() else 0
        match action:
            case "undo" | "redo" | "compact_again" | "observe_again":
                self._rewriting.act(action, seq)
            case "view":
                self._work.reveal(seq)
            case "show":
                self.show_event(self._about(key))
            case _ if action in _TURN_ACTIONS:
                self._with(lambda one: self._do(_TURN_ACTIONS[action](one), action))
            case _:
                self._help(action)

    def _help(self, action: str) -> None:
        """Do what helps against an error; other parts of the window do what is theirs."""
        if action in self._remedies:
            self._remedies[action]()
        elif action in get_args(Remedy):
            self._window.remedy_requested.emit(action)

    def _about(self, key: str) -> int:
        model = self._screens.chat.model
        index = model.index_of(key)
        row = model.row(index) if index is not None else None
        return row.about if isinstance(row, DividerRow) else 0

    async def recall(self, digest: str, first: int, last: int) -> None:
        """Let a content, or its lines `first` to `last` (0: all), go along with the next message."""
        room = self._work.room
        if room is not None:
            self._work.composing.attach(await room.attach(digest, first, last))
            self._window.show_page("chat")

    def show_request(self) -> None:
        """Show the whole next request, word for word."""

        def show(one: Conversation) -> None:
            window, _ = one.measure()
            self._screens.inspector.show_page("Next request", request_text(window))

        self._with(show)

    def _show_row(self, row: WindowRow) -> None:
        def show(one: Conversation) -> None:
            window, _ = one.measure()
            self._screens.inspector.show_page(row.name, row_text(window, one.rows(), row.seq, row.kind))

        self._with(show)

    def show_digest(self, digest: str) -> None:
        """Show an entry in the cache browser."""
        self._window.show_page("cache")
        self._screens.cache.select(digest)

    def show_event(self, seq: int) -> None:
        """Show where an event stands in the chat; a rewrite in the timeline."""
        conversation = self._work.conversation
        if conversation is None or not seq:
            return
        known = conversation.session.transcript
        if known.rewrites.knows(seq) or seq in known.rewrites.observed:
            self._work.reveal(seq)
            return
        self._window.show_page("chat")
        self._screens.chat.view.jump_to(chat_key(known, seq))

    def _said(self, digest: str) -> int:
        """The newest event of the session on screen that names a content; 0 for none."""
        talk = self._work.conversation
        items = reversed(talk.session.transcript.items) if talk is not None else iter(())
        return next((item.seq for item in items if digest in _digests(item.event)), 0)

    def _rewrite(self, digest: str) -> int:
        """The rewrite that stands for a content in this session, or whose index it is; 0 for none."""
        talk = self._work.conversation
        if talk is None:
            return 0
        seq = self._said(digest)
        cover = Standings(talk.session.transcript).cover(seq) if seq else None
        if cover is not None:
            return cover.seq
        for one in reversed(talk.session.log):
            match one.event:
                case HandoverMade(index=index) | FoldMade(index=index) | ObservationsMade(index=index) if (
                    index == digest
                ):
                    return one.seq
                case SweepMade(masked=masked) if seq in masked:
                    return one.seq
        return 0

    def _find(self) -> None:
        if self._window.page() == "chat":
            self._screens.chat.finding.enter()

    def _write(self) -> None:
        self._window.show_page("chat")
        self._screens.chat.composer.editor.setFocus()

    async def _export(self, seq: int) -> None:
        conversation = self._work.conversation
        handover = conversation.session.transcript.rewrites.handovers.get(seq) if conversation else None
        if handover is None:
            return
        place = await pick_save_file(self._window, "Save the handover", f"handover-e{seq}.md")
        if place is None:
            return
        try:
            await asyncio.to_thread(place.write_text, markdown_of(handover), encoding="utf-8")
        except OSError as error:
            raise HelixError(
                f"{place} could not be written.", f"{error}.", "Choose another place."
            ) from error


def _digests(event: Event) -> tuple[str, ...]:
    """The contents that an event names."""
    match event:
        case ToolAnswered(digest=digest):
            return (digest,)
        case AssistantSpoke(short=short):
            return tuple(digest for call in short for digest in call.digests)
        case UserSpoke(attachments=attachments):
            return tuple(one.digest for one in attachments)
    return ()


def chat_key(transcript: Transcript, seq: int) -> str:
    """The key of the chat row that shows an event."""
    item = transcript.item(seq)
    if item is None or not isinstance(item.event, ToolAnswered):
        if item is not None and isinstance(item.event, AssistantSpoke) and not item.event.text.strip():
            return f"t{seq}:{item.event.calls[0].id}" if item.event.calls else f"e{seq}"
        return f"e{seq}"
    for other in reversed(transcript.items[: transcript.position(seq)]):
        if isinstance(other.event, AssistantSpoke):
            return f"t{other.seq}:{item.event.call_id}"
    return f"e{seq}"


def markdown_of(handover: HandoverMade) -> str:
    """A handover as a Markdown document."""
    made = f"{handover.messages} messages, {handover.before:,} → {handover.after:,} tokens, {handover.model}"
    why = trigger_text(handover.trigger, handover.threshold)
    return f"# Handover\n\n{made}, {why}\n\n{render(handover, ())}\n"
