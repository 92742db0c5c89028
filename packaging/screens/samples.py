"""Screenshots of the instruments on the prepared sample: past, rows, handovers, Ctrl+K, recall, moving in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from helix_desktop.agent.conversation import Conversation
from helix_desktop.app.window_context import WindowContext
from helix_desktop.context.log.steps import read_steps
from helix_desktop.demo.run_without_display import ScreenshotWriter, is_page_read, show_timeline, wait_until
from helix_desktop.ui.kit.intents import (
    Compact,
    Export,
    ExportUpTo,
    Import,
    ImportSessions,
    Intent,
    RedoLast,
    ShowHandover,
    UndoLast,
)
from helix_desktop.ui.panel.request_list import ActOnRow
from helix_desktop.ui.window.controlled_window import ControlledWindow
from helix_desktop.ui.window.rewrite_controller import CONTEXT_CHANGE
from helix_desktop.ui.workspace_dialogs.import_sessions import ImportSessionsDialog
from screens.states import REPLAY_TIMEOUT_S, opened_dialog

_PAST_SHARE = 0.6  # of the steps: behind the checkpoint, before the handover
_WORD = "import"  # that stands in it
_TALK = """{"role": "user", "content": "Rename the table orders. Keep db/old.sql."}
{"role": "assistant", "content": "Done: 412 checks passed."}
"""
_CODE = ".py"  # in the names of entries with lines of code


class SampleScreens:
    """Opens the sample with its prepared session, and captures each instrument in use."""

    def __init__(
        self, window_context: WindowContext, controllers: ControlledWindow, screenshots: ScreenshotWriter
    ) -> None:
        self._window = window_context.window
        self._actions = window_context.actions
        self._controllers = controllers
        self._screenshots = screenshots
        self._session = controllers.session
        self._views = controllers.window.pages

    async def capture_all(self) -> None:
        """Capture them all. Raises HelixError if the window does not respond."""
        await self._controllers.workspace_controller.open_sample()
        await self._screenshots.settle()
        for page in ("chat", "timeline", "outputs", "changes"):
            self._window.show_page(page)
            await self._screenshots.wait_until(partial(is_page_read, self._controllers, page))
            await self._screenshots.capture(f"sample-{page}")
        await self._capture_past()
        await self._capture_rows()
        await self._capture_handovers()
        await self._capture_picker()
        await self._capture_recall()
        await self._capture_comparison()
        await self._capture_sharing()
        await self._capture_import()
        await self._capture_undo()

    @property
    def _conversation(self) -> Conversation:
        return self._session.conversation

    async def _capture_past(self) -> None:
        """Capture an earlier step in timeline, chat and panel, and the text of its request."""
        steps = read_steps(self._conversation.session.log)
        past = self._controllers.past
        scrubber = self._views.timeline.get().chart.scrubber
        self._window.show_page("timeline")
        await wait_until(lambda: len(scrubber.steps) == len(steps))
        scrubber.choose(steps[int(len(steps) * _PAST_SHARE)].seq)
        for page in ("timeline", "chat"):
            self._window.show_page(page)
            await wait_until(lambda: past.window is not None)
            self._views.timeline.get().cards.verticalScrollBar().setValue(0)
            await self._screenshots.capture(f"past-{page}")
        past.leave()
        self._window.show_page("chat")
        await wait_until(lambda: not self._views.panel.requests.is_read_only)
        await self._screenshots.settle()

    async def _capture_rows(self) -> None:
        """Capture a row with its buttons and menu, the questions before it changes, and the excluded row."""
        requests = self._views.panel.requests
        row = next((row for row in reversed(requests.rows) if row.can_exclude), None)
        if row is None:
            return
        place = requests.index_of_key(requests.key_of(row))
        self._window.activateWindow()
        await self._screenshots.settle()
        requests.setFocus()
        requests.setCurrentIndex(place)
        await self._screenshots.capture("panel-row")
        at = requests.visualRect(place).center()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, at, requests.viewport().mapToGlobal(at))
        QApplication.sendEvent(requests.viewport(), event)
        menu = next((menu for menu in requests.findChildren(QMenu) if menu.isVisible()), None)
        if menu is not None:
            await self._screenshots.capture("panel-row-menu", widget=menu)
            menu.close()
        for action in ("cache", "exclude"):
            if action in row.actions:
                self._window.perform(ActOnRow(action, row))
                await self._capture_dialog(f"dialog-{action}-row")
        await self._conversation.window.exclude(row.seq, row.part)
        await self._screenshots.settle()
        await self._screenshots.capture("panel-excluded")
        self._window.perform(UndoLast())

    async def _capture_handovers(self) -> None:
        """Capture the window of the handovers: what differs, to edit, and written again."""
        newest = max(self._conversation.session.transcript.rewrites.handovers)
        dialogs: dict[str, Intent] = {
            "compare": ShowHandover(newest, "changes"),
            "handover-now": ShowHandover(),
            "edit": ShowHandover(newest),
            "compact": Compact(),
        }
        for name, intent in dialogs.items():
            self._window.perform(intent)
            await self._capture_dialog(f"dialog-{name}")
        self._window.perform(ShowHandover(newest, is_compaction=True))
        await self._capture_dialog("dialog-run-again", self._write_again)

    async def _write_again(self) -> None:
        """Let the demo model write the handover again, in the window that is open."""
        window = self._controllers.rewrites.handover_window
        if window is None:
            return
        await self._screenshots.capture("dialog-run-again-choose", widget=window)
        await wait_until(window.write_button.isEnabled)
        window.write_button.click()
        await wait_until(lambda: window.draft is not None)

    async def _capture_dialog(self, name: str, prepare: Callable[[], Awaitable[None]] | None = None) -> None:
        dialog = await opened_dialog(self._window, name)
        if prepare is not None:
            await prepare()
        await self._screenshots.capture(name, widget=dialog)
        dialog.reject()
        await self._screenshots.settle()

    async def _capture_picker(self) -> None:
        """Capture Ctrl+K with every group, and without a match."""
        picker = self._window.picker
        for name, words in (("all", "tide"), ("nothing", "zebra")):
            picker.open()
            picker.search.setText(words)
            await self._screenshots.settle()
            await self._screenshots.capture(f"picker-{name}")
            picker.hide()

    async def _capture_recall(self) -> None:
        """Capture the offer to recall the lines that find has."""
        self._window.show_page("outputs")
        entries = self._views.outputs.get().model
        await wait_until(lambda: entries.entry(0) is not None)
        rows = map(entries.entry, range(entries.rowCount()))
        entry = next((row for row in rows if row is not None and _CODE in row.target), None)
        if entry is None:
            return
        self._views.outputs.get().select(entry.digest)
        preview = self._views.outputs.get().preview
        await wait_until(lambda: preview.digest == entry.digest)
        preview.content.open_find()
        preview.content.find_bar.field.setText(_WORD)
        await wait_until(lambda: not preview.matches_button.isHidden())
        await self._screenshots.capture("cache-recall-matches")
        preview.content.find_bar.close_bar()

    async def _capture_comparison(self) -> None:
        """Capture what survives, with a kind of facts opened."""
        self._window.show_page("comparison")
        report = self._views.comparison.get().report
        await wait_until(report.isVisible, REPLAY_TIMEOUT_S)
        await self._screenshots.capture("comparison")
        report.facts.expandToDepth(0)
        await self._screenshots.capture("comparison-details")
        self._window.show_page("chat")

    async def _capture_sharing(self) -> None:
        """Capture the session as a document for others, and a search over everything."""
        self._window.perform(ExportUpTo(self._conversation.session.log[-1].seq))
        await self._capture_dialog("dialog-export-document")
        picker = self._window.picker
        picker.search_everything(_WORD)
        await wait_until(lambda: len(picker.list_view.rows) > 1)
        await self._screenshots.capture("search-everything")
        picker.hide()

    async def _capture_import(self) -> None:
        """Capture what export and import ask, and other agents' sessions: none yet, and one."""
        for intent, name in ((Export(), "dialog-export"), (Import(), "dialog-import")):
            self._window.perform(intent)
            await self._capture_dialog(name)
        file = self._screenshots.folder / "data" / "talk.jsonl"
        file.write_text(_TALK)
        found = await self._session.app.foreign_sessions.find([file])

        async def show_found() -> None:
            dialog = await opened_dialog(self._window, "import-sessions")
            await self._screenshots.capture("dialog-import-sessions-empty", widget=dialog)
            if isinstance(dialog, ImportSessionsDialog):
                dialog.end_search(found, is_checked=True)

        self._window.perform(ImportSessions())
        await self._capture_dialog("dialog-import-sessions", show_found)

    async def _capture_undo(self) -> None:
        """Capture what is said after the newest handover is undone."""
        self._window.show_page("chat")
        self._window.perform(UndoLast())
        await self._screenshots.settle()
        await self._screenshots.capture("undone-chat")
        await show_timeline(self._controllers, self._screenshots)
        await self._screenshots.capture("undone-timeline")
        self._window.perform(RedoLast())
        await self._screenshots.settle()
        self._window.notices.end(CONTEXT_CHANGE)
        self._window.show_page("chat")
