"""The page "What survives": the session on screen, replayed in a job, and its picture to be saved."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QBuffer, QIODevice, Qt
from PySide6.QtGui import QColor, QImage, QImageWriter, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.context.policy import REFERENCE_WINDOW, ContextPolicy
from helix_desktop.domain.choices import AGENT_NAMES
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.conversation import AssistantSpoke
from helix_desktop.domain.events.foreign import SessionImported
from helix_desktop.domain.translatable_text import TextContext, system_reason, verbatim
from helix_desktop.replay.measure_process import measure_session
from helix_desktop.system.files import replace_file
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.dialogs import pick_save_file
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.help_link import HelpLink
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column, pane, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.intents import ClosePage, FocusComposer, perform
from helix_desktop.ui.kit.notices import Notice, show_folder
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.survival.report import Survival, SurvivalReport, picture_of
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("What survives")
text = TextContext("What survives")

_MAX_RESULTS = 8  # sessions whose figures are kept
_Key = tuple[str, int, ContextPolicy, int]
"""What figures depend on: a session and its newest message, the policy, and the context window in tokens."""


class SurvivalPage(Themed, QWidget):
    _session: Session

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._results: dict[_Key, Survival] = {}
        self._key: _Key | None = None  # of what is on the page, or comes there
        self._task: asyncio.Task[None] | None = None
        self._state: Literal["empty", "busy", "stopped", "ready"] = "empty"
        self.empty = EmptyState("layers", "")
        self.empty.button_clicked.connect(self._on_empty_button)
        self.report = SurvivalReport()
        self.moments = ComboBox()
        self.moments.setObjectName("survival_moments")
        self.moments.setAccessibleName(tr("Compare at"))
        self.moments.activated.connect(lambda _: self._show_report())
        self.report.chart.compaction_clicked.connect(self._go_to_compaction)
        self.update_button = PushButton(tr("Update"), name="update_survival", on_click=self._measure)
        self.save = PushButton(tr("Save picture…"), name="save_picture", on_click=self._save)
        back = IconButton("arrow-left", tr("Back to chat (Esc)"), px=16, edge=28, name="leave_survival")
        back.clicked.connect(lambda: perform(self, ClosePage()))
        tools = FlowBox([self.update_button, self.moments, self.save], right_from=0)
        head = row(
            back,
            label(tr("What survives"), "title"),
            HelpLink("survives"),
            tools,
            gap=8,
            stretch=3,
            margins=(18, 0, 24, 0),
        )
        scroll = VerticalScrollArea(self.report)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the table of facts has the keyboard
        set_body = column(head, scroll, gap=4, stretch=1, margins=(0, 12, 0, 0))
        self._stack = QStackedLayout(self)
        for page in (self.empty, pane(set_body)):
            self._stack.addWidget(page)

    def follow(self, session: Session) -> None:
        self._session = session
        session.on_refresh_page("survives", self.refresh)

    def refresh(self) -> None:
        """Show the session on screen: as it was replayed, or begin to."""
        conversation = self._session.find_conversation()
        if conversation is None:
            return
        key = self._key_of(conversation)
        if key[1] == 0:
            self._key = key
            words = tr("Nothing to replay yet. What stays in context appears here after the first answer.")
            self._show_empty("empty", words, tr("Write a message"))
            return
        shown = self._key
        is_other = shown is None or shown[0] != key[0]
        if key in self._results:
            self._key = key
            self._show_result(is_other)
        elif is_other:
            known = [each for each in self._results if each[0] == key[0]]
            self._key = known[-1] if known else key
            if known:
                self._show_result(is_other)
            else:
                self._measure()
        elif shown in self._results:
            self._show_result(is_other)
        elif shown != key and self._state == "empty":
            self._measure()

    def _key_of(self, conversation: Conversation) -> _Key:
        transcript = conversation.session.transcript
        items = transcript.messages.items
        policy = transcript.session_policy or self._session.workspace.policy
        last, info = (
            items[-1].seq if items and transcript.messages.steps else 0,
            conversation.window.frame.info,
        )
        # The demo model answers where none is set up: it says nothing about where the session comes from.
        is_demo = info.demo and _imported(conversation) is not None
        return conversation.session.id, last, policy, REFERENCE_WINDOW if is_demo else info.window

    def _measure(self) -> None:
        """Replay the session as it is now; another replay ends."""
        conversation = self._session.conversation
        self.stop()
        self._key = self._key_of(conversation)
        self._show_empty("busy", tr("Replaying this session with and without management…"), tr("Cancel"))
        self._task = self._session.start(self._run(conversation, self._key), "replay a session")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, conversation: Conversation, key: _Key) -> None:
        session, log = conversation.session, tuple(conversation.session.log)
        _, _, policy, window = key
        work = partial(measure_session, session.id, log, self._session.workspace.store.get, policy, window)
        try:
            figures = await self._session.job(
                tr("Replaying “{title}”", title=session.transcript.title),
                work,
                tr("Nothing is changed."),
            )
        except HelixError as error:
            if key == self._key:
                self._show_empty("stopped", error_text(error), tr("Try again"))
            return
        if figures is None:
            if key == self._key:
                self._show_stopped()
            return
        answers = (recorded.event for recorded in reversed(log) if isinstance(recorded.event, AssistantSpoke))
        model, imported = next((each.model for each in answers if each.model), ""), _imported(conversation)
        self._results[key] = Survival(
            figures,
            session.transcript.title,
            AGENT_NAMES[imported.agent] if imported is not None else "",
            model,
            self._session.app.models.catalog.input_price(model),
            policy,
        )
        while len(self._results) > _MAX_RESULTS:
            del self._results[next(iter(self._results))]
        if key == self._key:
            self._show_result(is_other=True)

    def _show_empty(self, state: Literal["empty", "busy", "stopped"], sentence: str, button: str) -> None:
        self._state = state
        had_focus = self.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
        self.empty.set_content(sentence, button)
        self._stack.setCurrentIndex(0)
        self.setFocusProxy(self.empty.button)
        if had_focus:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_stopped(self) -> None:
        self._show_empty("stopped", tr("Replay canceled. Nothing was changed."), tr("Try again"))

    def _on_empty_button(self) -> None:
        match self._state:
            case "busy":
                self.stop()
                self._show_stopped()
            case "stopped":
                self._measure()
            case _:
                perform(self, FocusComposer())

    def _show_result(self, is_other: bool) -> None:
        """Show the figures of the key; `is_other`: not those that are on the page."""
        assert self._key is not None
        self.update_button.setVisible(self._key != self._key_of(self._session.conversation))
        self.update_button.setToolTip(tr("The session, its policy or its model has changed since."))
        if not is_other and self._state == "ready":
            return
        survival = self._results[self._key]
        self.moments.clear()
        self.moments.addItems([name for name, _, _ in survival.moments])
        self.moments.setVisible(self.moments.count() > 1)
        self._show_report()
        self._state = "ready"
        had_focus = self.empty.button.hasFocus()
        self._stack.setCurrentIndex(1)
        self.setFocusProxy(self.report.facts)
        if had_focus:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_report(self) -> None:
        if self._key in self._results:
            self.report.show_survival(self._results[self._key], self.moments.currentIndex())

    def _go_to_compaction(self, place: int) -> None:
        """Compare at a compaction that was clicked, if its summary can be read."""
        survival = self._results.get(self._key) if self._key else None
        if survival is not None and survival.figures.compactions[place].facts:
            readable = [bool(one.facts) for one in survival.figures.compactions[:place]]
            self.moments.setCurrentIndex(sum(readable))
            self._show_report()

    def _save(self) -> None:
        self._session.start(self._save_picture(), "save a picture")

    async def _save_picture(self) -> None:
        if self._key not in self._results:
            return
        survival, moment = self._results[self._key], self.moments.currentIndex()
        name = self._session.app.backup.session_file_name(survival.title, ".png")
        path = await pick_save_file(self, tr("Save picture"), name, ".png")
        if path is None:
            return
        image = await picture_of(self, survival, moment)
        await asyncio.to_thread(_write, path, image)
        self._session.notify(
            Notice("picture", tr("{file} saved.", file=path.name), answers=(show_folder(path.parent),))
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            perform(self, ClosePage())
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), QColor(self._theme.canvas))


def _imported(conversation: Conversation) -> SessionImported | None:
    """Return from where a session was imported; None for an own one."""
    events = (recorded.event for recorded in conversation.session.log)
    return next((event for event in events if isinstance(event, SessionImported)), None)


def _write(path: Path, image: QImage) -> None:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QImageWriter(buffer, b"png")
    if not writer.write(image):
        raise HelixError(text("Couldn't save {file}.", file=path), verbatim(writer.errorString()))
    try:
        new = path.with_name(path.name + ".new")
        new.write_bytes(buffer.data().data())
        replace_file(new, path)
    except OSError as error:
        raise HelixError(
            text("Couldn't save {file}.", file=path), system_reason(error), text("Choose another folder.")
        ) from error
