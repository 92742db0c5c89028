"""The About page: which build this is, where its data lies, and whether there is a newer release."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QUrl, Signal, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.build_info import update_status
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.copied import show_copied
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import column, line, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.design.viewer.texts_dialog import TextsDialog
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.about.diagnostics_dialog import DiagnosticsDialog
from helix_desktop.ui.settings.data_folder import DataFolder
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.direction import dotted
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator, current_language, translate

tr = Translator("About")
text = TextContext("About")


class AboutPage(Themed, QWidget):
    """Looks for a newer release when the user asks: never by itself."""

    release_page_requested = Signal(str)
    """The page of a release, https, that the user has seen and clicked."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._build_info = session, session.app.build_info
        start = session.start
        self._is_checking = False
        self._build, self._versions = _selectable("strong"), _selectable("muted")
        self._error = label("", "error", wrap=True)
        self._error.hide()
        self._copy = PushButton(tr("Copy"), "", "copy", name="copy")
        self._copy.setAccessibleName(tr("Copy version details for a bug report"))
        self._check_updates = PushButton(tr("Check for updates"), "", "refresh-cw", name="check_updates")
        diagnostics = PushButton(tr("Save diagnostics…"), "", "archive", name="save_diagnostics")
        self._diagnostics_status = _selectable("note")
        self._diagnostics_status.hide()
        self._release = label("", "note", wrap=True)
        self._open_release = PushButton("", "link", "external-link", name="open_release")
        data_folder = DataFolder(session)
        licenses = PushButton(tr("Open-source licenses…"), "", "file-text", name="licenses")
        self._report = self._release_url = ""
        body = column(
            self._build, self._versions, self._error,
            FlowBox([self._copy, diagnostics, licenses, self._check_updates]),
            self._diagnostics_status,
            self._release,
            row(self._open_release, None), 8, line(), 8,
            label(tr("Data"), "strong"), data_folder,
            gap=6,
        )  # fmt: skip
        page, _ = scrolling_page(
            tr("About Helix Desktop"),
            tr("An AI coding agent whose context stays small, complete and visible."),
            body,
        )
        self.setLayout(column(page))
        self._copy.clicked.connect(self._copy_report)
        self._check_updates.clicked.connect(lambda: start(self._look_for_updates(), "newest release"))
        diagnostics.clicked.connect(lambda: start(self._save_bundle(), "diagnostics"))
        licenses.clicked.connect(lambda: start(self._show_licenses(), "licenses"))
        self._open_release.clicked.connect(lambda: self.release_page_requested.emit(self._release_url))
        self.release_page_requested.connect(_open_release_page)
        self.show_release("")

    async def refresh(self) -> None:
        display = (text("Display"), QGuiApplication.platformName())
        self.show_about((("Qt", qVersion()), *await self._build_info.environment(), display))

    def show_about(self, versions: Sequence[tuple[str, str]]) -> None:
        build = self._build_info.build
        self._build.setText(translate(build.text))
        self._versions.setText(dotted(f"{translate(name)} {words}" for name, words in versions))
        show_text(self._error, translate(self._build_info.problem))
        self._report = "\n".join([build.text, *(f"{name}: {words}" for name, words in versions)])
        had_source = not self._check_updates.isHidden()
        self._check_updates.setVisible(bool(build.releases))
        if not build.releases:
            self.show_release(tr("This build has no update source."))
        elif not had_source:
            self.show_release("")

    def show_release(self, text: str, url: str = "") -> None:
        """Say what is known of the newest release, and offer its page if there is one to see."""
        show_text(self._release, text)
        self._release_url = url
        shown_url = url.replace("&", "&&")  # a button underlines what follows one "&"
        self._open_release.setText(tr("Open {url}", url=shown_url))
        self._open_release.setVisible(bool(url))

    async def _show_licenses(self) -> None:
        """Show the terms of what is shipped. Raises HelixError where they can't be read."""
        own, *others = await self._build_info.licenses()
        others.sort(key=lambda component: current_language().sort_key(component.name))
        texts = {
            f"{f'{component.name} {component.version}'.strip()} · {component.license_name}": component.text
            for component in (own, *others)
        }
        dialog = TextsDialog(self.window(), tr("Open-source licenses"), (), texts)
        dialog.setObjectName("licenses_dialog")
        retint(dialog, self._theme)
        await dialogs.exec_async(dialog)

    async def _save_bundle(self) -> None:
        show_text(self._diagnostics_status, "")
        dialog = DiagnosticsDialog(self.window(), self._session)
        retint(dialog, self._theme)
        path = await dialog.run()
        if path is not None:
            show_text(self._diagnostics_status, tr("Saved as {file}.", file=str(path)))

    async def _look_for_updates(self) -> None:
        if self._is_checking:
            return
        self._is_checking = True
        self.show_release(tr("Checking…"))
        try:
            newest = await self._build_info.check_for_updates()
            status, newer = update_status(newest, self._build_info.build.version)
            self.show_release(status, newest.page if newer else "")
        except HelixError as error:
            self.show_release(join_sentences(tr("Couldn't check for updates."), error_text(error)))
        finally:
            self._is_checking = False

    def _copy_report(self) -> None:
        QGuiApplication.clipboard().setText(self._report)
        show_copied(self._copy)


def _selectable(role: str) -> QLabel:
    widget = label("", role, wrap=True)
    widget.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return widget


def _open_release_page(url: str) -> None:
    """Open a release's page in the browser, as the user has seen and clicked it."""
    if url.startswith("https://"):
        QDesktopServices.openUrl(QUrl(url))
