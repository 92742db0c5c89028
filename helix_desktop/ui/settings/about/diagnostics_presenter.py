"""Fills the dialog of a diagnostics bundle, and saves what the user selects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.app_services import AppServices
from helix_desktop.services.diagnostics.bundle import FILE_NAMES, Diagnostics, DiagnosticsFile, write_bundle
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.settings.about.diagnostics_dialog import DiagnosticsDialog
from helix_desktop.words.errors import error_text
from helix_desktop.words.translation import Translator

tr = Translator("About")
text = TextContext("About")


class DiagnosticsPresenter:
    """One bundle: collects its files when the dialog opens; nothing is written before a place is chosen."""

    def __init__(self, parent: QWidget, services: AppServices, scope: TaskScope) -> None:
        interface = (("Qt", qVersion()), (text("Display"), QGuiApplication.platformName()))
        self._diagnostics = Diagnostics(services, Path.home(), interface)
        self._actions = AsyncActions(scope, lambda error: self._dialog.show_error(error_text(error)))
        self._dialog = DiagnosticsDialog(parent, FILE_NAMES, self._actions.start)
        self._saved: Path | None = None
        self._report = ""
        self._dialog.names_toggled.connect(lambda _: self._start(self._show_files(), self._show_self_check()))
        self._dialog.save_requested.connect(lambda: self._start(self._save()))
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self, theme: Theme) -> Path | None:
        """Show the dialog until it is closed; return the file that was saved, if one was."""
        retint(self._dialog, theme)
        self._start(self._show_files(), self._run_self_check())
        try:
            await dialogs.exec_async(self._dialog)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self._saved

    def _start(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        self._tasks += [self._actions.start(coroutine, "diagnostics") for coroutine in coroutines]

    async def _show_files(self) -> None:
        with_names = self._dialog.with_names.isChecked()
        files = await self._diagnostics.collect(with_names=with_names)
        self._show(files, with_names)
        reason = self._diagnostics.keychain_problem
        self._dialog.show_notice(
            tr("Without a keychain ({reason}), keys are recognized by their form.", reason=reason)
            if reason
            else ""
        )

    async def _run_self_check(self) -> None:
        self._report = await self._diagnostics.run_self_check()
        await self._show_self_check()

    async def _show_self_check(self) -> None:
        if self._report:
            with_names = self._dialog.with_names.isChecked()
            file = await self._diagnostics.self_check_file(self._report, with_names=with_names)
            self._show([file], with_names)

    def _show(self, files: Iterable[DiagnosticsFile], with_names: bool) -> None:
        """Show files, unless the user has changed the choice of names since they were asked for."""
        if with_names == self._dialog.with_names.isChecked():
            for file in files:
                self._dialog.show_file(file.name, file.text)

    async def _save(self) -> None:
        """Write the texts that are on screen. Raises HelixError."""
        files = [DiagnosticsFile(name, text) for name, text in self._dialog.files()]
        name = f"helix-diagnostics-{date.today().isoformat()}.zip"
        path = await dialogs.pick_save_file(self._dialog, tr("Save diagnostics"), name)
        if path is None:
            return
        self._dialog.show_error("")
        await asyncio.to_thread(write_bundle, path, files)
        self._saved = path
        self._dialog.accept()
