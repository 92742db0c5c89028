"""Screenshots of rare states: a refused key, a filtered cache, Hold, a policy of the session's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QPushButton, QWidget

from helix_desktop.app.window_context import WindowContext
from helix_desktop.demo.run_without_display import ScreenshotWriter, is_page_read, show_timeline, wait_until
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.session import PolicyChosen
from helix_desktop.domain.translatable_text import verbatim
from helix_desktop.ui.outputs.filter_bar import SIZE_OPTIONS, tool_option
from helix_desktop.ui.window.controlled_window import ControlledWindow

REPLAY_TIMEOUT_S = 60.0  # until a replay counts as not to be had
_KEY = "sk-ant-" + "0" * 40  # begins as those of a vendor that is recognized
_REFUSAL_HEAD = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n"
)
_REFUSAL = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'


class StateScreens:
    """Brings the program into each state, as a user does, and captures it."""

    def __init__(
        self, window_context: WindowContext, controllers: ControlledWindow, screenshots: ScreenshotWriter
    ) -> None:
        self._window = window_context.window
        self._actions = window_context.actions
        self._controllers = controllers
        self._screenshots = screenshots
        self._views = controllers.window.pages

    async def capture_refused_key(self) -> None:
        """Paste a key on the first page, and test it on a server that refuses every key."""
        settings = self._controllers.settings
        pasted = self._window.places.welcome.get().findChild(QLineEdit, "pasted_key")
        if pasted is None:
            return
        pasted.setText(_KEY)
        pasted.returnPressed.emit()
        await wait_until(lambda: settings.view.isVisible() and settings.view.providers.editor.isVisible())
        await self._screenshots.capture("first-key")
        editor = settings.view.providers.editor
        async with _refusing_server() as url:
            for field in editor.findChildren(QLineEdit, "base_url"):
                field.setText(url)
                field.editingFinished.emit()
            for button in editor.findChildren(QPushButton, "test_provider"):
                button.click()
            await self._screenshots.settle()  # until the test begins
            await wait_until(lambda: not editor.is_testing)
        await self._screenshots.capture("wrong-api-key")
        self._window.leave_settings()

    async def capture_all(self) -> None:
        """Capture the states of the session on screen; it is at the end as it was."""
        await self._capture_filters()
        await self._capture_export()
        await self._capture_hold()
        await self._capture_own_policy()

    async def _capture_filters(self) -> None:
        self._window.show_page("outputs")
        filters = self._views.outputs.get().filter_bar
        for option in (tool_option("read_file"), SIZE_OPTIONS[0]):
            filters.toggle(option)
        await self._screenshots.wait_until(partial(is_page_read, self._controllers, "outputs"))
        await self._screenshots.capture("cache-filtered")

    async def _capture_export(self) -> None:
        """Capture several selected entries, and what is said when they are saved."""
        table = self._views.outputs.get().table
        entries = self._views.outputs.get().model
        narrowed = entries.rowCount()
        self._views.outputs.get().filter_bar.clear()
        await self._screenshots.wait_until(
            lambda: entries.rowCount() > narrowed and is_page_read(self._controllers, "outputs")
        )
        table.selectAll()
        await self._screenshots.capture("cache-selection")
        folder = self._screenshots.folder / "data" / "tide-outputs"
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        digests = table.selected_digests()
        controller = self._controllers.import_export
        await controller.save_entries(digests, folder, is_folder=True)
        await self._screenshots.capture("cache-exported")
        self._window.notices.end("entries_saved", self._controllers.session.workspace_id)

    async def _capture_hold(self) -> None:
        """Capture a context on hold, and the gauge's menu."""
        self._window.show_page("chat")
        hold = self._window.commands.hold_compaction
        gauge = self._views.chat.composer.gauge
        hold.trigger()
        await wait_until(lambda: "hold" in self._window.notices.names())
        await self._screenshots.capture("hold")
        # From a timer: Qt shows a menu of actions in a loop of its own.
        QTimer.singleShot(0, gauge, partial(_open_menu, gauge))
        await self._capture_popup("gauge-menu")
        hold.trigger()

    async def _capture_own_policy(self) -> None:
        """Give the session a policy of its own, as an older log has, and take it away again."""
        settings = self._controllers.settings
        await self._controllers.session.conversation.session.record(PolicyChosen({"profile": "lean"}))
        await settings.show("policy")
        page = settings.view.policy
        await wait_until(page.apply_bar.use_workspace.isVisible)
        await self._screenshots.settle()  # until the replay begins
        await wait_until(lambda: not page.replay_card.is_busy, REPLAY_TIMEOUT_S)
        await self._screenshots.capture("settings-own-policy")
        self._window.leave_settings()
        await self._screenshots.capture("own-policy")
        await show_timeline(self._controllers, self._screenshots)
        await self._screenshots.capture("own-policy-timeline")
        page.apply_bar.use_workspace.click()
        self._window.show_page("chat")

    async def _capture_popup(self, name: str) -> None:
        await wait_until(lambda: QApplication.activePopupWidget() is not None)
        menu = QApplication.activePopupWidget()
        if menu is not None:
            await self._screenshots.capture(name, widget=menu)
            menu.close()


async def opened_dialog(window: QWidget, name: str) -> QDialog:
    """Return the dialog that has just opened over a window. Raises HelixError if none does."""
    await wait_until(lambda: bool(_dialogs(window)))
    if not _dialogs(window):
        raise HelixError(verbatim(f"The dialog of {name} didn't open."))
    return _dialogs(window)[0]


def _dialogs(window: QWidget) -> list[QDialog]:
    return [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]


def _open_menu(widget: QWidget) -> None:
    at = QPoint(widget.width() // 2, widget.height())
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)


@asynccontextmanager
async def _refusing_server() -> AsyncIterator[str]:
    """Run a server on this computer that refuses every key, at the address that is yielded."""
    server = await asyncio.start_server(_refuse, "127.0.0.1")
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(_REFUSAL_HEAD % len(_REFUSAL) + _REFUSAL)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
