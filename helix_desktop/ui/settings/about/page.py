"""The About page: which build this is, and where its data lies."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import column, line, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.settings.data_folder import DataFolder
from helix_desktop.ui.settings.forms import AboutInfo
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.translation import Translator, translate

tr = Translator("About")


class AboutPage(QWidget):
    """Build and data folder; what it asks for comes out as signals."""

    update_check_requested = Signal()
    """The user wants to know of a newer release."""
    diagnostics_requested = Signal()
    """The user wants a bundle for a bug report."""
    licenses_requested = Signal()
    """The user wants to read what is bundled, and under which terms."""
    release_page_requested = Signal(str)
    """The page of a release, https, that the user has seen and clicked."""

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self._build, self._versions = _selectable("strong"), _selectable("muted")
        self._error = label("", "error", wrap=True)
        self._error.hide()
        self._copy = PushButton(tr("Copy"), "", "copy", name="copy")
        self._copy.setAccessibleName(tr("Copy version details for a bug report"))
        self._check_updates = PushButton(tr("Check for updates"), "", "refresh-cw", name="check_updates")
        self._diagnostics = PushButton(tr("Save diagnostics…"), "", "archive", name="save_diagnostics")
        self._diagnostics_status = _selectable("note")
        self._diagnostics_status.hide()
        self._release = label("", "note", wrap=True)
        self._open_release = PushButton("", "link", "external-link", name="open_release")
        self.data_folder = DataFolder()
        licenses = PushButton(tr("Open-source licenses…"), "", "file-text", name="licenses")
        self._report = self._release_url = ""
        self._can_check_updates = True
        body = column(
            self._build, self._versions, self._error,
            FlowBox([self._copy, self._diagnostics, licenses, self._check_updates]),
            self._diagnostics_status,
            self._release,
            row(self._open_release, None), 8, line(), 8,
            label(tr("Data"), "strong"), self.data_folder,
            gap=6,
        )  # fmt: skip
        page, _ = scrolling_page(
            tr("About Helix Desktop"),
            tr("An AI coding agent whose context stays small, complete and visible."),
            body,
        )
        self.setLayout(column(page))
        self._copy.clicked.connect(self._copy_report)
        self._check_updates.clicked.connect(self.update_check_requested)
        self._diagnostics.clicked.connect(self.diagnostics_requested)
        licenses.clicked.connect(self.licenses_requested)
        self._open_release.clicked.connect(lambda: self.release_page_requested.emit(self._release_url))
        self.show_release("")

    def show_about(self, info: AboutInfo) -> None:
        """Show build and places."""
        self._build.setText(translate(info.build))
        self._versions.setText(info.versions_text)
        show_text(self._error, info.error)
        self._report = info.report
        self._check_updates.setVisible(info.can_check_updates)
        if not info.can_check_updates:
            self.show_release(tr("This build has no update source."))
        elif not self._can_check_updates:
            self.show_release("")
        self._can_check_updates = info.can_check_updates

    def show_release(self, text: str, url: str = "") -> None:
        """Say what is known of the newest release, and offer its page if there is one to see."""
        show_text(self._release, text)
        self._release_url = url
        shown_url = url.replace("&", "&&")  # a button underlines what follows one "&"
        self._open_release.setText(tr("Open {url}", url=shown_url))
        self._open_release.setVisible(bool(url))

    def show_diagnostics_status(self, text: str) -> None:
        """Say where a bundle was saved; nothing when empty."""
        show_text(self._diagnostics_status, text)

    def _copy_report(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        show_copied(self._copy)


def _selectable(role: str) -> QLabel:
    widget = label("", role, wrap=True)
    widget.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return widget
