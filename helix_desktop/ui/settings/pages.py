"""The smaller pages of the settings: appearance, about."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QButtonGroup, QFrame, QPushButton, QVBoxLayout, QWidget

from helix_desktop.ui.field import Field
from helix_desktop.ui.settings.form import page
from helix_desktop.ui.settings.rows import AboutInfo
from helix_desktop.ui.style import MODES, TEXT_PX
from helix_desktop.ui.widgets import (
    Combo,
    PushButton,
    Switch,
    column,
    empty_layout,
    label,
    line,
    row,
)

_SIZE_PX = 140  # width of the list of text sizes, like that of a field for a number


class AppearancePage(QWidget):
    """Theme, text size, and what Enter does."""

    mode_chosen = Signal(str)
    text_px_chosen = Signal(int)
    enter_sends_chosen = Signal(bool)
    notify_chosen = Signal(bool)

    def __init__(self) -> None:
        """Start with the defaults."""
        super().__init__()
        segments = QFrame()
        segments.setProperty("role", "segments")
        inside = row(margins=(3, 3, 3, 3), gap=2)
        self._group = QButtonGroup(self)
        self._modes: dict[str, QPushButton] = {}
        for mode in MODES:
            button = PushButton(mode.capitalize(), "segment")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, chosen=mode: self.mode_chosen.emit(chosen))
            self._group.addButton(button)
            self._modes[mode] = button
            inside.addWidget(button)
        segments.setLayout(inside)
        holder = QWidget()
        holder.setLayout(row(segments, None))
        holder.setAccessibleName("Theme")
        self._size = Combo()
        self._size.setMaximumWidth(_SIZE_PX)
        for px in TEXT_PX:
            self._size.addItem(f"{px} px", px)
        self._size.activated.connect(lambda _: self.text_px_chosen.emit(self._size.currentData()))
        self._enter = Switch("Enter sends, Shift+Enter begins a new line", on=True)
        self._enter.toggled.connect(self.enter_sends_chosen)
        self.notify = Switch("Tell me when the agent waits for me, or a long turn ends", on=True)
        self.notify.toggled.connect(self.notify_chosen)
        note = "When off, Ctrl+Enter sends."
        body = column(
            Field("Theme", holder),
            Field("Text size", self._size),
            Field("Sending", self._enter, note=note),
            Field("Notifications", self.notify, note="Only while this window is behind others."),
            gap=14,
        )
        whole, _ = page("Appearance", "", body)
        self.setLayout(column(whole))

    def show_appearance(self, mode: str, text_px: int, enter_sends: bool, notify: bool = True) -> None:
        """Show what is in force."""
        self.notify.blockSignals(True)
        self.notify.setChecked(notify)
        self.notify.blockSignals(False)
        self.notify.update()
        self._modes[mode].setChecked(True)
        self._size.setCurrentIndex(max(0, self._size.findData(text_px)))
        self._enter.blockSignals(True)
        self._enter.setChecked(enter_sends)
        self._enter.blockSignals(False)
        self._enter.update()


class AboutPage(QWidget):
    """Version, data folder, licences."""

    move_requested = Signal()
    """The data folder is to lie elsewhere."""

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self._version = label("", "muted")
        self._folder = label("", "mono", wrap=True)
        self._folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._show = PushButton("Show folder", "", "folder-open")
        self._path = ""
        self._show.clicked.connect(self._open_folder)
        self._move = PushButton("Move…")
        self._move.setAccessibleName("Move the data to another folder")
        self._move.clicked.connect(self.move_requested)
        self._said = label("", "note", wrap=True)
        self._said.hide()
        self._licences = QVBoxLayout()
        self._licences.setSpacing(6)
        body = column(
            self._version, 8, label("Data", "strong"), self._folder, row(self._show, self._move, None),
            self._said, 10, line(), 10,
            label("What is bundled, and its terms", "strong"), self._licences, gap=6,
        )  # fmt: skip
        whole, _ = page(
            "About Helix Desktop", "An agent whose context is kept small, whole, and in sight.", body
        )
        self.setLayout(column(whole))

    def show_about(self, info: AboutInfo) -> None:
        """Show version, places and licences."""
        self._version.setText(f"Version {info.version} · Python {info.python} · Qt {info.qt}")
        self._path = info.data_folder
        self._folder.setText(info.data_folder)
        empty_layout(self._licences)
        for name, terms in info.licences:
            pair = QWidget()
            pair.setLayout(row(label(name), None, label(terms, "faint")))
            self._licences.addWidget(pair)

    def say(self, text: str) -> None:
        """Say something about the data folder; nothing when empty."""
        self._said.setText(text)
        self._said.setVisible(bool(text))

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self._path))))
