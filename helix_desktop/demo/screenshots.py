"""Screenshots of the window, light and dark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QDialog, QWidget

from helix_desktop.app.window_context import WindowContext
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.cache.view import CacheBrowser
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from helix_desktop.ui.chat.row_key import RowKey
from helix_desktop.ui.chat.rows.model import ChatModel
from helix_desktop.ui.chat.rows.row_types import ToolRow
from helix_desktop.ui.design.style.stylesheet import ThemeMode
from helix_desktop.ui.settings.dialog import SettingsPage
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.workspaces.window_controllers import WindowControllers

text = TextContext("Demo")

SETTLE_S = 0.35  # for what is drawn a moment later: highlighted code, table pages, coalesced numbers
_REPLAY_CHECKS = 100  # until a replay counts as not to be had
_BOTH_MODES: tuple[ThemeMode, ...] = ("dark", "light")
_SETTINGS_PAGES: tuple[SettingsPage, ...] = get_args(SettingsPage)
_NARROW, _LARGE = (720, 640), (1920, 1200)
_ATTEMPTS = 40


class PictureOptions(NamedTuple):
    """The window's size in pixels (None as it is at first), the modes, and the density of the screen."""

    size: tuple[int, int] | None = None
    modes: tuple[ThemeMode, ...] = _BOTH_MODES
    scale: int = 1


class ScreenshotWriter:
    """Saves screenshots into one folder; between them the window paints nothing, because nobody sees it."""

    def __init__(self, window_context: WindowContext, folder: Path, options: PictureOptions) -> None:
        self._window_context, self.folder, self.options = window_context, folder, options
        self.saved: list[Path] = []
        window_context.window.setUpdatesEnabled(False)

    async def capture(
        self, name: str, modes: tuple[ThemeMode, ...] = _BOTH_MODES, widget: QWidget | None = None
    ) -> None:
        """Save a screenshot of the window, or of `widget`, in each mode that is wanted. Raises HelixError."""
        appearance = self._window_context.appearance
        modes_in_use = tuple(mode for mode in modes if mode in self.options.modes)
        # The mode in force first: the other one has to restyle the whole window.
        for mode in sorted(modes_in_use, key=lambda mode: mode != appearance.mode):
            if appearance.mode != mode:
                appearance.set_mode(mode)
            self._paint(widget)
            await asyncio.sleep(SETTLE_S)
            path = self.folder / f"{name}-{mode}.png"
            if not self._paint(widget).save(str(path)):
                path.unlink(missing_ok=True)  # a picture that was cut off
                raise HelixError(
                    text("{path} can't be written.", path=path),
                    fix=text("Free up disk space, or choose another folder."),
                )
            self.saved.append(path)

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait as `wait_until` does, for what the window asks for when it is painted: rows of the cache."""

        def is_painted() -> bool:
            self._paint()
            return is_true()

        await wait_until(is_painted)

    def _paint(self, widget: QWidget | None = None) -> QPixmap:
        """Return a picture of the window, or of `widget`."""
        window = self._window_context.window
        window.setUpdatesEnabled(True)
        try:
            return (widget or window).grab()
        finally:
            window.setUpdatesEnabled(False)


class ScreenTour:
    """Goes through switcher, settings, sizes and a folder that vanished."""

    def __init__(
        self, window_context: WindowContext, controllers: WindowControllers, screenshots: ScreenshotWriter
    ) -> None:
        self._window_context, self._controllers, self._screenshots = window_context, controllers, screenshots

    async def capture_all(self, workspace_folder: str) -> None:
        """Capture them all; `workspace_folder`, that of the workspace on screen, is moved away at the end."""
        window = self._window_context.window
        window.switcher.open()
        await self._screenshots.capture("switcher")
        window.switcher.hide()
        await self._capture_settings()
        await self._capture_dialogs()
        if self._screenshots.options.size is None:
            await self._capture_sizes()
        await self._capture_missing_folder(Path(workspace_folder))

    async def _capture_sizes(self) -> None:
        window = self._window_context.window
        original_size = window.size()
        for name, size in (("narrow", _NARROW), ("large", _LARGE)):
            window.resize(*size)
            await self._screenshots.capture(name)
        window.resize(original_size)

    async def capture_changes(self) -> None:
        """Capture what the session on screen did to the files, and the preview of going back."""
        await self._capture_changed_files()
        window, page = self._window_context.window, self._controllers.session_controller.views.changes
        window.show_page("changes")
        await wait_until(lambda: is_page_read(self._controllers, "changes"))
        await self._screenshots.capture("changes")
        page.filter_bar.group_by("file")
        await self._screenshots.capture("changes-by-file", ("dark",))
        page.filter_bar.group_by("turn")
        window.commands.rewind.trigger()
        dialog = await opened_dialog(window, "rewind")
        if isinstance(dialog, RewindDialog):
            dialog.message_box.setCurrentIndex(dialog.message_box.count() - 1)
            await wait_until(dialog.rewind_button.isEnabled)
        await self._screenshots.capture("dialog-rewind", widget=dialog)
        dialog.close()

    async def _capture_changed_files(self) -> None:
        """Capture the newest card of a call that changed several lines, with its diff."""
        chat = self._controllers.session_controller.views.chat.view
        model = chat.chat_viewport.model
        rows = [row for row in map(model.row, range(len(model))) if isinstance(row, ToolRow)]
        changed = [row for row in rows if row.changes is not None and row.changes.removed]
        if not changed:
            return
        self._window_context.window.show_page("chat")
        chat.toggle(changed[-1].key, "changes")
        chat.jump_to(changed[-1].key)
        await wait_until(lambda: _has_changed_files(chat.chat_viewport.model, changed[-1].key))
        await self._screenshots.capture("chat-changes")

    async def _capture_settings(self) -> None:
        settings = self._controllers.settings
        for page in _SETTINGS_PAGES:
            await settings.show(page)
            if page == "policy":
                await self._preview_policy()
            await self._screenshots.capture(f"settings-{page}", widget=settings.dialog)
        settings.dialog.policy.apply_bar.discarded.emit()
        settings.dialog.hide()

    async def _preview_policy(self) -> None:
        """Put another profile on the policy page, and wait for the session's replay under it."""
        page = self._controllers.settings.dialog.policy
        page.slider.profile_selected.emit("lean")
        for _ in range(_REPLAY_CHECKS):
            await asyncio.sleep(SETTLE_S)
            if not page.replay_card.is_busy:
                return

    async def _capture_dialogs(self) -> None:
        """Capture the palette, and every dialog that a command opens without changing anything."""
        window = self._window_context.window
        commands = window.commands
        commands.all_commands.trigger()
        await self._screenshots.capture("palette")
        if window.help_windows.command_palette is not None:
            window.help_windows.command_palette.hide()
        for action in (
            commands.guide,
            commands.show_request,
            commands.clean_up,
            commands.trash,
            commands.forget,
            commands.set_budget,
        ):
            action.trigger()
            dialog = await opened_dialog(window, action.objectName())
            await self._screenshots.capture(f"dialog-{action.objectName()}", widget=dialog)
            dialog.close()

    async def _capture_missing_folder(self, folder: Path) -> None:
        workspace_id = self._controllers.active_workspace.id
        await asyncio.to_thread(folder.rename, folder.with_name("moved-away"))
        await self._controllers.workspace_controller.reopen(workspace_id)
        await self._screenshots.capture("missing-folder")


def _has_changed_files(model: ChatModel, key: RowKey) -> bool:
    """Return whether the diff below a call has been read."""
    rows = map(model.row, range(len(model)))
    return any(isinstance(row, ToolRow) and row.key == key and row.changed_files is not None for row in rows)


async def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait until `is_true` returns True, but not for ever: a picture of less is better than none."""
    for _ in range(_ATTEMPTS):
        if is_true():
            return
        await asyncio.sleep(SETTLE_S)


def is_page_read(controllers: WindowControllers, page: str) -> bool:
    """Return whether a page shows what it reads: the cache's rows, the selected file's diff, the timeline."""
    session, views = controllers.session_controller, controllers.session_controller.views
    match page:
        case "cache":
            return _are_rows_read(views.cache)
        case "changes":
            return views.changes.detail.has_diff
        case "timeline":
            return not session.timeline.is_reading
    return True


def _are_rows_read(cache: CacheBrowser) -> bool:
    """Return whether every row in sight has arrived."""
    pages, table = cache.model.pages, cache.table
    bottom = table.rowAt(table.viewport().height() - 1)
    rows = range(max(0, table.rowAt(0)), bottom + 1 if bottom >= 0 else len(pages))
    return len(pages) > 0 and all(map(pages.is_loaded, rows))


async def opened_dialog(window: QWidget, name: str) -> QDialog:
    """Return the dialog that has just opened over a window. Raises HelixError if none does."""
    for _ in range(_ATTEMPTS):
        for dialog in window.findChildren(QDialog):
            if dialog.isVisible():
                return dialog
        await asyncio.sleep(SETTLE_S)
    raise HelixError(text("The dialog of {name} didn't open.", name=name))


async def show_timeline(window: MainWindow, controllers: WindowControllers) -> None:
    """Show the timeline, and wait until it has read what happened last."""
    window.show_page("timeline")
    await asyncio.sleep(SETTLE_S)
    await wait_until(lambda: is_page_read(controllers, "timeline"))
