"""Asks before the app quits too early; says what a crash left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog

from helix_desktop.domain.errors import StoreWriteFailed
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.chat.session_drafts import UnsavedDraft
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import DialogChoice, exec_async
from helix_desktop.ui.design.sized_dialog import bring_to_front
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.intents import Export, Quit, handles
from helix_desktop.ui.kit.notices import Answer, Notice
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.notifications import Tray
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.sessions import session_title
from helix_desktop.words.translation import Translator, translate

tr = Translator("Workspaces")
_window_tr = Translator("Window")
log = logging.getLogger(__name__)

_QUIT = "quit"
_HIDE = "hide"
_EXPORT = "export"


class QuitReasons(msgspec.Struct, frozen=True):
    """Why the user may want to stay."""

    running: tuple[str, ...] = ()
    """Titles of the sessions in which a turn runs that can go on at the next start."""
    missing: tuple[tuple[str, str, StoreWriteFailed], ...] = ()
    """Workspaces whose files are gone: the id, the name, and the error."""
    drafts: tuple[UnsavedDraft, ...] = ()
    """Those that can't be saved, of other workspaces."""
    settings: tuple[str, ...] = ()
    """Pages of the settings with what isn't saved."""
    copied: tuple[str, ...] = ()
    """Names of the workspaces whose files are copied for the first time."""

    @property
    def is_any(self) -> bool:
        return bool(self.lines())

    @property
    def loses_anything(self) -> bool:
        return bool(self.missing or self.drafts or self.settings)

    def lines(self) -> list[str]:
        """Return a line for each reason."""
        lines = [_missing_line(name, error) for _, name, error in self.missing]
        if self.running:
            lines.append(_running_line(self.running))
        if self.drafts:
            lines.append(_drafts_line(self.drafts))
        if self.settings:
            lines.append(_settings_line(self.settings))
        if self.copied:
            names = ", ".join(self.copied)
            lines.append(tr("Files of {workspaces} are being copied for undo.", workspaces=names))
        return lines


def _running_line(titles: Sequence[str]) -> str:
    which = tr("The agent is working in “{session}”.", session=ellipsize(titles[0]))
    if len(titles) > 1:
        which = tr.plural(
            len(titles), "The agent is working in %n session.", "The agent is working in %n sessions."
        )
    return translate(join_sentences(which, tr("Quitting stops it, and you can continue later.")))


def _missing_line(name: str, error: StoreWriteFailed) -> str:
    what = tr("“{workspace}” isn't saved.", workspace=name)
    return translate(join_sentences(what, error.what, error.why, error.fix))


def _drafts_line(drafts: Sequence[UnsavedDraft]) -> str:
    what = tr("What you wrote in “{session}” isn't saved.", session=drafts[0].title)
    if len(drafts) > 1:
        what = tr.plural(
            len(drafts),
            "What you wrote in %n session isn't saved.",
            "What you wrote in %n sessions isn't saved.",
        )
    error = drafts[0].error
    return translate(join_sentences(what, error.what, error.why, error.fix))


def _settings_line(pages: Sequence[str]) -> str:
    return tr("What you typed in Settings isn't saved yet: {pages}.", pages=", ".join(pages))


class QuitController(WindowPart):
    """Decides what closing a window does: one of several closes, the last one quits or hides."""

    confirmed = Signal()
    """The app is to end."""

    def __init__(self, window: MainWindow, windows: WindowGroup, tray: Tray) -> None:
        super().__init__(window, windows)
        self.tray = tray
        self._is_asking = False
        window.closing.connect(lambda: self._start(self._close(), "close window"))

    async def _close(self) -> None:
        """Close this window; the only one ends the app."""
        if self._windows.is_only_one(self._window):
            await self._confirm_quit()
        elif not self._is_asking:
            self._is_asking = True
            try:
                # Drafts that can't be saved wait in the other windows.
                app_window = self._windows.find(self._window)
                pages = app_window.unsaved_settings()
                if not pages or await self._may_lose_settings(pages):
                    await self._windows.close_window(app_window)
            finally:
                self._is_asking = False

    @handles(Quit)
    async def _confirm_quit(self) -> None:
        asking = self._windows.asks_to_quit
        if asking is not None:
            dialogs_of_it = (each for each in asking.findChildren(QDialog) if each.isVisible())
            for each in (asking, *dialogs_of_it):
                bring_to_front(each)
            return
        if self._is_asking:
            return
        self._is_asking = True
        self._windows.asks_to_quit = self._window
        try:
            reasons = await self._find_reasons()
            answer = _QUIT
            if reasons.is_any:
                answer = await self._ask_to_quit(reasons)
        finally:
            self._is_asking = False
            self._windows.asks_to_quit = None
        if answer == _QUIT:
            self.confirmed.emit()
        elif answer == _HIDE:
            self.tray.hide_window()
            self._windows.hide()
        elif answer == _EXPORT:
            workspace_id, _, _ = reasons.missing[0]
            self._window.perform(Export(workspace_id))

    async def _find_reasons(self) -> QuitReasons:
        """Save what the user wrote, and return why they may want to stay."""
        by_session: dict[str, UnsavedDraft] = {}
        for app_window in [*self._windows.windows]:
            by_session |= {draft.session_id: draft for draft in await app_window.save_drafts()}
        missing = await self._missing_files()
        workspaces = [*self._services.open_workspaces.values()]
        saved = [workspace for workspace in workspaces if workspace.id not in missing]
        conversations = [each for workspace in saved for each in workspace.conversations]
        pages = [page for app_window in self._windows.open_windows for page in app_window.unsaved_settings()]
        names = {workspace.id: self._services.registry.get(workspace.id).name for workspace in workspaces}
        return QuitReasons(
            running=tuple(
                session_title(conversation.session.transcript.title)
                for conversation in conversations
                if conversation.is_running
            ),
            missing=tuple((lost, names[lost], error) for lost, error in missing.items()),
            drafts=tuple(draft for draft in by_session.values() if draft.workspace.id not in missing),
            settings=tuple(pages),
            copied=tuple(
                names[workspace.id] for workspace in workspaces if workspace.changes.coverage.is_copying
            ),
        )

    async def _missing_files(self) -> dict[str, StoreWriteFailed]:
        """Return why nothing can be saved, by workspace, for those whose files are gone."""
        workspaces = [*self._services.open_workspaces.values()]
        errors = {workspace.id: await workspace.store.health.missing_files() for workspace in workspaces}
        return {workspace_id: error for workspace_id, error in errors.items() if error is not None}

    async def _ask(self, what: str, why: str, *choices: DialogChoice) -> str:
        self._windows.show()
        return await dialogs.ask(self._window, what, why, (DialogChoice("", tr("Cancel")), *choices))

    async def _ask_to_quit(self, reasons: QuitReasons) -> str:
        words = tr("Quit")
        if reasons.running:
            words = tr("Stop and quit")
        if reasons.loses_anything:
            words = tr("Quit without saving")
        choices = [DialogChoice(_QUIT, words, "danger")]
        if reasons.missing:
            choices.append(DialogChoice(_EXPORT, tr("Export…"), "primary"))
        elif reasons.running and self.tray.is_available():
            choices.append(DialogChoice(_HIDE, tr("Keep running in tray"), "primary"))
        return await self._ask(tr("Quit Helix Desktop?"), "\n\n".join(reasons.lines()), *choices)

    async def _may_lose_settings(self, pages: list[str]) -> bool:
        what = tr("Close the window without saving your settings?")
        close = DialogChoice(_QUIT, tr("Close without saving"), "danger")
        return await self._ask(what, _settings_line(pages), close) == _QUIT


_MAX_NAMES = 3  # sessions that are named


class RecoverySummary(msgspec.Struct, frozen=True):
    """What a crashed run left, and is there again: broken-off turns, queued messages, drafts, repairs.

    `sessions` are the titles of the sessions that have any of the first three, each with its workspace.
    """

    turns: int = 0
    queued: int = 0
    drafts: int = 0
    repaired: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    def plus(self, other: RecoverySummary) -> RecoverySummary:
        values = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return RecoverySummary(*(own + more for own, more in values))

    @property
    def text(self) -> str:
        parts = (
            self.turns and _window_tr.plural(self.turns, "%n interrupted turn", "%n interrupted turns"),
            self.queued and _window_tr.plural(self.queued, "%n queued message", "%n queued messages"),
            self.drafts and _window_tr.plural(self.drafts, "%n draft", "%n drafts"),
            self.repaired
            and _window_tr("workspace data of {workspaces} (repaired)", workspaces=self.repaired),
        )
        if not any(parts):
            return _window_tr("No work was interrupted. Sessions, drafts and layout are unchanged.")
        recovered = _window_tr(
            "Recovered: {parts}. Sessions and layout are unchanged.", parts=tuple(filter(None, parts))
        )
        names = self.sessions[:_MAX_NAMES]
        more = len(self.sessions) - _MAX_NAMES
        if more > 0:
            names = (*names, _window_tr.plural(more, "%n more session", "%n more sessions"))
        return f"{recovered} {_window_tr('See {sessions}.', sessions=names)}" if names else recovered


def report_crash(
    window: MainWindow,
    async_actions: AsyncActions,
    read_log: Callable[[], str],
    folder: Path,
    recovery: RecoverySummary,
) -> None:
    """Show what was recovered, until it is dismissed; `read_log` gives the redacted log and may block.

    The log lies in `folder`.
    """

    show_log = partial(_show_log, window, read_log, folder)
    what = _window_tr("Helix Desktop didn't close properly last time.")
    answer = Answer(_window_tr("Show log"), lambda: async_actions.start(show_log(), "crash log"), "show")
    window.notices.notify(Notice("crash", what, recovery.text, answers=(answer,), level="warning"))


async def _show_log(window: MainWindow, read_log: Callable[[], str], folder: Path) -> None:
    text = await asyncio.to_thread(read_log)
    open_folder = PushButton(_window_tr("Open log folder"), name="open_log_folder")
    open_folder.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
    note = _window_tr("API keys, logins and the path of your home folder are removed. Nothing is sent.")
    title = _window_tr("Log of the last run")
    texts = {"log.txt": text}
    await exec_async(TextsDialog(window, title, (note,), texts, buttons=(open_folder,)))
