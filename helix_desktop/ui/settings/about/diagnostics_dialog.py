"""A diagnostics bundle, shown before it is saved: its files, each with its text."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTreeWidgetItem, QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.diagnostics import FILE_NAMES, Diagnostics, DiagnosticsFile, write_bundle
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import CheckBoxDelegate
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.viewer.texts_dialog import TEXT_NAME, TextsDialog
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.errors import error_text
from helix_desktop.words.numbers import format_size
from helix_desktop.words.translation import Translator

tr = Translator("About")
text = TextContext("About")

_CHECKED, _UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked


class DiagnosticsDialog(TextsDialog):
    """A check box for each file, which is collected as it opens; what is checked goes into the zip.

    Nothing is written before a place is chosen.
    """

    def __init__(self, parent: QWidget, session: Session) -> None:
        interface = (("Qt", qVersion()), (text("Display"), QGuiApplication.platformName()))
        self._diagnostics = Diagnostics(session.app, Path.home(), interface)
        self._actions = AsyncActions(
            session.actions.scope, lambda error: show_text(self.error, error_text(error))
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._report = ""
        self._saved: Path | None = None
        self.with_names = Switch(tr("Include names of workspaces, providers and models"), on=False)
        self.with_names.setObjectName("with_names")
        self._status = label("", "note", wrap=True)
        self.notice, self.error = label("", "note", wrap=True), label("", "error", wrap=True)
        self.save = PushButton(tr("Save…"), "primary", name="save")
        included = tr(
            "A zip file for a bug report: versions, settings, policies, sizes, the self-check, and the end "
            "of the app's logs. You choose where it's saved. Nothing is sent."
        )
        never = tr(
            "Never included: messages, outputs, file contents, API keys and headers. "
            "Your home folder is replaced by ~, and email addresses are removed."
        )
        super().__init__(
            parent,
            tr("Save diagnostics"),
            (included, never),
            dict.fromkeys(FILE_NAMES),
            below=(self.with_names, self.notice, self.error, self._status),
            buttons=(self.save,),
            start=self._actions.start,
        )
        self.setObjectName("diagnostics")
        self.notice.hide()
        self.error.hide()
        self.list.setObjectName("diagnostics_files")
        self.list.setAccessibleName(tr("Files in the bundle"))
        self._boxes = CheckBoxDelegate(self.list)
        self.list.setItemDelegate(self._boxes)
        for item in self.items():
            item.setCheckState(0, _CHECKED)
        self.list.itemChanged.connect(lambda *_: self._update())
        self.list.itemActivated.connect(_toggle)
        self.with_names.toggled.connect(lambda _: self._toggle_names())
        self.save.clicked.connect(lambda: self._start(self._save()))
        self._update()

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

    def tint(self, theme: Theme) -> None:
        self._boxes.theme = theme
        self.list.viewport().update()

    def show_file(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.show_current()
        self._update()

    def files(self) -> list[tuple[str, str]]:
        """Return name and text of each file that goes into the zip, as it is on screen."""
        checked = [item.data(0, TEXT_NAME) for item in self.items() if item.checkState(0) == _CHECKED]
        return [(name, text) for name in checked if (text := self.texts[name]) is not None]

    def _toggle_names(self) -> None:
        """Forget the texts, which are of the other choice."""
        self.texts = dict.fromkeys(self.texts)
        self.show_current()
        self._update()
        self._start(self._show_files(), self._show_self_check())

    def _update(self) -> None:
        checked = pending = size = 0
        self.list.blockSignals(True)
        for item in self.items():
            text = self.texts[item.data(0, TEXT_NAME)]
            length = len(text.encode("utf-8", "replace")) if text is not None else 0
            state = format_size(length) if text is not None else tr("Collecting…")
            item.setText(0, tr("{file} · {state}", file=item.data(0, TEXT_NAME), state=state))
            if item.checkState(0) == _CHECKED:
                checked, pending, size = checked + 1, pending + (text is None), size + length
        self.list.blockSignals(False)
        self.list.viewport().update()
        room = self.list.sizeHintForColumn(0) + 2 * self.list.frameWidth()
        self.list.setMinimumWidth(max(room, self.list.minimumWidth()))
        self.save.setEnabled(bool(checked) and not pending)
        if pending:
            status = tr("Collecting… The self-check can take a minute. Clear its box to save without it.")
        elif checked:
            status = tr.plural(checked, "%n file, {size}", "%n files, {size}", size=format_size(size))
        else:
            status = tr("Select a file to save.")
        self._status.setText(status)

    async def _show_files(self) -> None:
        with_names = self.with_names.isChecked()
        files = await self._diagnostics.collect(with_names=with_names)
        self._show(files, with_names)
        reason = self._diagnostics.keychain_problem
        show_text(
            self.notice,
            tr("Without a keychain ({reason}), keys are recognized by their form.", reason=reason)
            if reason
            else "",
        )

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
        """Write the texts that are on screen. Raises HelixError."""
        files = [DiagnosticsFile(name, text) for name, text in self.files()]
        name = f"helix-diagnostics-{date.today().isoformat()}.zip"
        path = await dialogs.pick_save_file(self, tr("Save diagnostics"), name)
        if path is None:
            return
        show_text(self.error, "")
        await asyncio.to_thread(write_bundle, path, files)
        self._saved = path
        self.accept()


def _toggle(item: QTreeWidgetItem) -> None:
    item.setCheckState(0, _UNCHECKED if item.checkState(0) == _CHECKED else _CHECKED)
