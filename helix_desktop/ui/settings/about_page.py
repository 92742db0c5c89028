"""The About page: which build this is, where its data lies, newer releases, and a bug report's files."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QLabel, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext, join_sentences
from helix_desktop.services.build_info import update_status
from helix_desktop.services.diagnostics import (
    FILE_NAMES,
    SELF_CHECK_FILE,
    Diagnostics,
    DiagnosticsFile,
    write_bundle,
)
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton, Switch, copy_text
from helix_desktop.ui.design.labels import TextLine, label, show_text
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, card, column, line, row
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator, current_language, error_text, translate

tr = Translator("About")
text = TextContext("About")

_DIAGNOSTICS_PX = 520  # width of the dialog


class DataFolder(QWidget):
    def __init__(self, session: Session) -> None:
        super().__init__()
        self._folder = session.app.data_folder
        path = _selectable("mono")
        path.setText(str(self._folder))
        show = PushButton(tr("Show folder"), "", "folder-open", name="show_folder")
        show.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder))))
        self.setLayout(column(path, FlowBox([show]), gap=6))


class DiagnosticsDialog(FittedDialog):
    """Lists the files of one zip, which are collected as it opens; a click on a name shows the file.

    Nothing is written before a place is chosen.
    """

    def __init__(self, parent: QWidget, session: Session) -> None:
        super().__init__(parent, tr("Save diagnostics"), _DIAGNOSTICS_PX)
        interface = (("Qt", qVersion()), (text("Display"), QGuiApplication.platformName()))
        self._diagnostics = Diagnostics(session.app, Path.home(), interface)
        self._actions = AsyncActions(
            session.actions.scope, lambda error: show_text(self.error, error_text(error))
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._report = ""
        self._saved: Path | None = None
        self.texts: dict[str, str | None] = dict.fromkeys(FILE_NAMES)
        """The text of each file; None while it is collected."""
        self._sizes = {name: TextLine("", 12, role="muted") for name in FILE_NAMES}
        self._names = {name: PushButton(name, "link", name=f"file:{name}") for name in FILE_NAMES}
        self.with_names = Switch(tr("Include names of workspaces, providers and models"), on=False)
        self.with_names.setObjectName("with_names")
        self._status = label("", "note", wrap=True)
        self.notice = label("", "note", wrap=True)
        self.error = label("", "error", wrap=True)
        self.save = PushButton(tr("Save…"), "primary", name="save")
        self._lay_out()
        for name, button in self._names.items():
            button.clicked.connect(lambda _=False, name=name: self._actions.start(self._read(name), "read"))
        self.save.clicked.connect(lambda: self._start(self._save()))
        self.with_names.toggled.connect(lambda _: self._toggle_names())
        self._update()

    def _lay_out(self) -> None:
        included = tr("A zip file for a bug report. You choose where it's saved. Nothing is sent.")
        never = tr(
            "Never included: messages, outputs, file contents, API keys and headers. "
            "Your home folder is replaced by ~, and email addresses are removed."
        )
        notes = [label(words, "muted", wrap=True) for words in (included, never)]
        files = [row(self._names[name], None, self._sizes[name]) for name in FILE_NAMES]
        self.notice.hide()
        self.error.hide()
        close = PushButton(tr("Close"), name="close", on_click=self.reject)
        self.setLayout(
            column(
                label(tr("Save diagnostics"), "title"),
                *notes,
                card(column(*files, margins=(10, 6, 14, 6), gap=0)),
                self.with_names,
                self.notice,
                self.error,
                self._status,
                FlowBox([close, self.save], right_from=0),
                margins=DIALOG_MARGINS,
                gap=10,
            )
        )

    async def run(self) -> Path | None:
        """Show it until it is closed; return the file that was saved, if one was."""
        self._start(self._show_files(), self._run_self_check())
        try:
            await dialogs.exec_async(self)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self._saved

    def _start(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        self._tasks += [self._actions.start(coroutine, "diagnostics") for coroutine in coroutines]

    def show_file(self, name: str, text: str) -> None:
        self.texts[name] = text
        self._update()

    def files(self) -> list[DiagnosticsFile]:
        """Return what would be saved now: the files that are collected."""
        return [DiagnosticsFile(name, text) for name, text in self.texts.items() if text is not None]

    async def _read(self, name: str) -> None:
        await dialogs.exec_async(TextsDialog(self, name, (), {name: self.texts[name]}))

    def _toggle_names(self) -> None:
        """Forget the texts, which are of the other choice."""
        self.texts = dict.fromkeys(self.texts)
        self._update()
        self._start(self._show_files(), self._show_self_check())

    def _update(self) -> None:
        total = 0
        for name, text in self.texts.items():
            size = len(text.encode("utf-8", "replace")) if text is not None else 0
            total += size
            self._sizes[name].set_text(format_size(size) if text is not None else tr("Collecting…"))
            self._names[name].setEnabled(text is not None)
        pending = [name for name, text in self.texts.items() if text is None]
        self.save.setEnabled(not pending or pending == [SELF_CHECK_FILE])
        count = len(self.texts)
        words = tr.plural(count, "%n file, {size}", "%n files, {size}", size=format_size(total))
        if pending:
            words = tr("Collecting… The self-check can take a minute. What you save before is without it.")
        self._status.setText(words)

    async def _show_files(self) -> None:
        with_names = self.with_names.isChecked()
        files = await self._diagnostics.collect(with_names=with_names)
        self._show(files, with_names)
        if reason := self._diagnostics.keychain_problem:
            words = tr("Without a keychain ({reason}), keys are recognized by their form.", reason=reason)
            show_text(self.notice, words)

    async def _run_self_check(self) -> None:
        self._report = await self._diagnostics.run_self_check()
        await self._show_self_check()

    async def _show_self_check(self) -> None:
        if self._report:
            with_names = self.with_names.isChecked()
            file = await self._diagnostics.self_check_file(self._report, with_names=with_names)
            self._show([file], with_names)

    def _show(self, files: Iterable[DiagnosticsFile], with_names: bool) -> None:
        """Show files, unless the user has changed the choice of names since they were asked for."""
        if with_names == self.with_names.isChecked():
            for file in files:
                self.show_file(file.name, file.text)

    async def _save(self) -> None:
        """Write the texts that are listed. Raises HelixError."""
        files = self.files()
        name = f"helix-diagnostics-{date.today().isoformat()}.zip"
        path = await dialogs.pick_save_file(self, tr("Save diagnostics"), name)
        if path is None:
            return
        show_text(self.error, "")
        await asyncio.to_thread(write_bundle, path, files)
        self._saved = path
        self.accept()


class AboutPage(QWidget):
    """Looks for a newer release when the user asks: never by itself."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._build_info = session.app.build_info
        start = session.start
        self._is_checking = False
        self._report = ""
        self._release_url = ""
        self._build = _selectable("strong")
        self._versions = _selectable("muted")
        self._error = label("", "error", wrap=True)
        self._error.hide()
        words = tr("Copy version details for a bug report")
        copy = PushButton(tr("Copy"), "", "copy", name="copy", words=words)
        copy.clicked.connect(lambda: copy_text(copy, self._report))
        self._check_updates = PushButton(tr("Check for updates"), "", "refresh-cw", name="check_updates")
        self._check_updates.clicked.connect(lambda: start(self._look_for_updates(), "newest release"))
        if not self._build_info.build.releases:
            self._check_updates.hide()  # now: a search must not find it before the page was shown
        diagnostics = PushButton(tr("Save diagnostics…"), "", "archive", name="diagnostics")
        diagnostics.clicked.connect(lambda: start(self._save_bundle(), "diagnostics"))
        self._diagnostics_status = _selectable("note")
        self._diagnostics_status.hide()
        self._release = label("", "note", wrap=True)
        self._open_release = PushButton("", "link", "external-link", name="open_release")
        self._open_release.clicked.connect(self._open_release_page)
        licenses = PushButton(tr("Open-source licenses…"), "", "file-text", name="licenses")
        licenses.clicked.connect(lambda: start(self._show_licenses(), "licenses"))
        body = column(
            self._build, self._versions, self._error,
            FlowBox([copy, diagnostics, licenses, self._check_updates]),
            self._diagnostics_status,
            self._release,
            row(self._open_release, None), 8, line(), 8,
            label(tr("Data"), "strong"), DataFolder(session),
            gap=6,
        )  # fmt: skip
        lead = tr("An AI coding agent whose context stays small and visible.")
        page, _ = scrolling_page(tr("About Helix Desktop"), lead, body)
        self.setLayout(column(page))
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
        if not (build.releases and had_source):
            self.show_release("" if build.releases else tr("This build has no update source."))

    def show_release(self, text: str, url: str = "") -> None:
        """Say what is known of the newest release, and offer its page if there is one to see."""
        show_text(self._release, text)
        self._release_url = url
        # A button underlines what follows one "&".
        self._open_release.setText(tr("Open {url}", url=url.replace("&", "&&")))
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
        await dialogs.exec_async(dialog)

    async def _save_bundle(self) -> None:
        show_text(self._diagnostics_status, "")
        if (path := await DiagnosticsDialog(self.window(), self._session).run()) is not None:
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

    def _open_release_page(self) -> None:
        if self._release_url.startswith("https://"):
            QDesktopServices.openUrl(QUrl(self._release_url))


def _selectable(role: str) -> QLabel:
    widget = label("", role, wrap=True)
    widget.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return widget
