"""The page of the settings for how the window looks and what keys do."""

from __future__ import annotations

from collections.abc import Collection
from typing import get_args

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QPushButton, QWidget

from helix_desktop.config.settings import NOTIFICATIONS
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.motion import ReducedMotion
from helix_desktop.ui.design.style.stylesheet import TEXT_PX, THEME_MODES, ThemeMode
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.translation import Translator

tr = Translator("Settings: General")

_INDENT_PX = 24  # of what depends on the switch above it
_TEXT_SIZE_LIST_PX = 140  # width of the list of text sizes, like that of a field for a number


class AppearancePage(QWidget):
    """Theme, text size, and what Enter does."""

    mode_chosen = Signal(str)
    text_px_chosen = Signal(int)
    enter_sends_chosen = Signal(bool)
    titles_chosen = Signal(bool)
    notify_chosen = Signal(bool)
    motion_chosen = Signal(str)
    """system, on or off: whether motion is reduced."""
    sound_chosen = Signal(bool)
    notification_chosen = Signal(str, bool)
    """Which notification, and if the user wants it."""

    def __init__(self) -> None:
        """Start with the defaults."""
        super().__init__()
        segments = QFrame()
        segments.setProperty("role", "segments")
        inside = row(margins=(3, 3, 3, 3), gap=2)
        self._group = QButtonGroup(self)
        self._mode_buttons: dict[str, QPushButton] = {}
        for mode in THEME_MODES:
            button = PushButton(_mode_text(mode), "segment", name=f"mode:{mode}")
            button.setCheckable(True)
            button.setAutoExclusive(True)  # radio buttons for screen readers
            button.clicked.connect(lambda _=False, clicked_mode=mode: self.mode_chosen.emit(clicked_mode))
            self._group.addButton(button)
            self._mode_buttons[mode] = button
            inside.addWidget(button)
        segments.setLayout(inside)
        holder = QFrame()  # a group of its own for screen readers
        holder.setLayout(row(segments, None))
        holder.setAccessibleName(tr("Theme"))
        self._text_size = ComboBox(_TEXT_SIZE_LIST_PX)
        for px in TEXT_PX:
            self._text_size.addItem(tr("{size} px", size=px), px)
        self._text_size.activated.connect(lambda _: self.text_px_chosen.emit(self._text_size.currentData()))
        self.motion = ComboBox(_TEXT_SIZE_LIST_PX)
        for choice in get_args(ReducedMotion):
            self.motion.addItem(_motion_text(choice), choice)
        self.motion.activated.connect(lambda _: self.motion_chosen.emit(self.motion.currentData()))
        self._enter_switch = Switch(tr("Enter sends, Shift+Enter starts a new line"), on=True)
        self._enter_switch.toggled.connect(self.enter_sends_chosen)
        self.titles = Switch(tr("Name new sessions with the fast model"), on=True)
        self.titles.toggled.connect(self.titles_chosen)
        self.notify = Switch(tr("Notify me while another window is in front"), on=True)
        self.notify.toggled.connect(self.notify_chosen)
        self.notify.toggled.connect(self._enable_notifications)
        self.sound = Switch(tr("Play a sound"), on=False)
        self.sound.toggled.connect(self.sound_chosen)
        self.notifications = {name: Switch(_notification_text(name), on=True) for name in NOTIFICATIONS}
        for name, switch in self.notifications.items():
            switch.toggled.connect(lambda on, name=name: self.notification_chosen.emit(name, on))
        notifying = QFrame()  # as the themes are
        parts = column(*self.notifications.values(), self.sound, margins=(_INDENT_PX, 0, 0, 0), gap=6)
        notifying.setLayout(column(self.notify, parts, gap=6))
        note = tr("Off: Ctrl+Enter sends.")
        body = column(
            FormField(tr("Theme"), holder),
            FormField(tr("Text size"), self._text_size),
            FormField(
                tr("Reduce motion"),
                self.motion,
                note=tr("On: spinners, running bars and the text cursor stand still."),
            ),
            FormField(tr("Sending"), self._enter_switch, note=note),
            FormField(
                tr("Session titles"),
                self.titles,
                note=tr("One short request after the first answer. Off: the first message is the title."),
            ),
            FormField(tr("Notifications"), notifying),
            gap=14,
        )
        page, _ = scrolling_page(tr("General"), "", body)
        self.setLayout(column(page))

    def show_notifications(self, notify: bool, sound: bool, off: Collection[str]) -> None:
        """Show if the user is notified, with a sound, and of what not."""
        _check(self.notify, notify)
        _check(self.sound, sound)
        for name, switch in self.notifications.items():
            _check(switch, name not in off)
        self._enable_notifications(notify)

    def _enable_notifications(self, notify: bool) -> None:
        for switch in (*self.notifications.values(), self.sound):
            switch.setEnabled(notify)

    def show_appearance(
        self,
        mode: str,
        text_px: int,
        enter_sends: bool,
        motion: ReducedMotion = "system",
        *,
        titles: bool = True,
    ) -> None:
        """Show what is in force."""
        self.motion.setCurrentIndex(max(0, self.motion.findData(motion)))
        self._mode_buttons[mode].setChecked(True)
        self._text_size.setCurrentIndex(max(0, self._text_size.findData(text_px)))
        _check(self._enter_switch, enter_sends)
        _check(self.titles, titles)


def _check(switch: Switch, on: bool) -> None:
    """Show a switch on or off without a word to whoever listens."""
    switch.blockSignals(True)
    switch.setChecked(on)
    switch.blockSignals(False)
    switch.update()


def _motion_text(choice: ReducedMotion) -> str:
    match choice:
        case "system":
            return tr("System")
        case "on":
            return tr("On", "reduce motion")
        case "off":
            return tr("Off", "reduce motion")


def _notification_text(name: str) -> str:
    match name:
        case "waiting":
            return tr("The agent needs an approval or an answer")
        case "turn":
            return tr("A turn of more than 10 s is done")
        case "job":
            return tr("A background job of more than 10 s is done")
        case _:
            return tr("A turn ends with an error")


def _mode_text(mode: ThemeMode) -> str:
    match mode:
        case "system":
            return tr("System")
        case "light":
            return tr("Light", "theme")
        case "dark":
            return tr("Dark", "theme")
