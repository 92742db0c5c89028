"""The About page: which build this is, where its data lies, what is bundled and under which terms."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.ui.settings.form import page
from helix_desktop.ui.settings.rows import AboutInfo
from helix_desktop.ui.settings.terms_card import TermsCard
from helix_desktop.ui.widgets import PushButton, column, label, line, row

_NOBODY = "This build names no place to ask for a newer release."
_COPIED_MS = 1_500


class AboutPage(QWidget):
    """Build, data folder, licences; what it asks for comes out as signals."""

    move_requested = Signal()
    """The data folder is to lie elsewhere."""
    newest_requested = Signal()
    """The person wants to know of a newer release."""
    page_requested = Signal(str)
    """The page of a release, https, that the person has seen and clicked."""

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self._build, self._facts = _selectable("strong"), _selectable("muted")
        self._trouble = label("", "error", wrap=True)
        self._trouble.hide()
        self._copy = PushButton("Copy", "", "copy")
        self._copy.setAccessibleName("Copy what a bug report begins with")
        self._ask = PushButton("Look for a newer release", "", "refresh-cw")
        self._newest = label("", "note", wrap=True)
        self._open = PushButton("", "link", "external-link")
        self._folder = _selectable("mono")
        self._show = PushButton("Show folder", "", "folder-open")
        self._move = PushButton("Move…")
        self._move.setAccessibleName("Move the data to another folder")
        self._said = label("", "note", wrap=True)
        self._said.hide()
        self.terms = TermsCard()
        self._report = self._path = self._page = ""
        body = column(
            self._build, self._facts, self._trouble, row(self._copy, self._ask, None), self._newest,
            row(self._open, None), 8, line(), 8,
            label("Data", "strong"), self._folder, row(self._show, self._move, None), self._said,
            8, line(), 8, label("What is bundled, and its terms", "strong"), self.terms,
            gap=6,
        )  # fmt: skip
        whole, _ = page(
            "About Helix Desktop", "An agent whose context is kept small, whole, and in sight.", body
        )
        self.setLayout(column(whole))
        self._copy.clicked.connect(self._copy_report)
        self._ask.clicked.connect(self.newest_requested)
        self._open.clicked.connect(lambda: self.page_requested.emit(self._page))
        self._show.clicked.connect(
            lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self._path))))
        )
        self._move.clicked.connect(self.move_requested)
        self.show_release("")

    def show_about(self, info: AboutInfo) -> None:
        """Show build and places."""
        self._build.setText(info.build)
        self._facts.setText(info.stands_on)
        self._trouble.setText(info.trouble)
        self._trouble.setVisible(bool(info.trouble))
        self._report, self._path = info.report, info.data_folder
        self._folder.setText(info.data_folder)
        self._ask.setVisible(info.asks)
        if not info.asks:
            self.show_release(_NOBODY)
        elif self._newest.text() == _NOBODY:
            self.show_release("")

    def show_release(self, said: str, address: str = "") -> None:
        """Say what is known of the newest release, and offer its page if there is one to see."""
        self._newest.setText(said)
        self._newest.setVisible(bool(said))
        self._page = address
        self._open.setText(f"Open {address.replace('&', '&&')}")  # a button underlines what follows one "&"
        self._open.setVisible(bool(address))

    @property
    def release(self) -> str:
        """What is said of the newest release."""
        return self._newest.text()

    def say(self, text: str) -> None:
        """Say something about the data folder; nothing when empty."""
        self._said.setText(text)
        self._said.setVisible(bool(text))

    def _copy_report(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        self._copy.setText("Copied")
        QTimer.singleShot(_COPIED_MS, self._copy, lambda: self._copy.setText("Copy"))


def _selectable(role: str) -> QLabel:
    made = label("", role, wrap=True)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return made
