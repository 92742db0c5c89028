"""Asks whether a folder is trusted, and keeps the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLayout, QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import exec_async
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import VerticalScrollArea, card, column, pane, row
from helix_desktop.ui.design.sized_dialog import FittedDialog
from helix_desktop.ui.kit.intents import RefreshLists, handles
from helix_desktop.ui.settings.permissions_page import ChangeTrust
from helix_desktop.ui.window.main_window import MainWindow
from helix_desktop.ui.window.window_group import WindowGroup, WindowPart
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.auto_run_files import AutoRunFile, find_auto_run_files

tr = Translator("Trust")
text = TextContext("Trust")

_WIDTH_PX = 540
_MAX_LIST_PX = 168
_CONSEQUENCES = (
    ("folder-open", text("The agent can read the files and send them to your model.")),
    (
        "shield-question-mark",
        text("The agent can change files and run commands if you or your rules allow it."),
    ),
    ("text-search", text("Files may contain instructions that mislead the agent (prompt injection).")),
)


class TrustDialog(FittedDialog):
    """Accepted when the user trusts the folder; Enter decides nothing, Esc leaves it untrusted."""

    def __init__(self, parent: QWidget, name: str, path: str, auto_run_files: Sequence[AutoRunFile]) -> None:
        super().__init__(parent, tr("Trust this folder?"), _WIDTH_PX)
        self.decline_button = PushButton(tr("Open in restricted mode"), name="decline", on_click=self.reject)
        trust = PushButton(tr("Trust folder"), "primary", "shield-check", name="trust", on_click=self.accept)
        buttons = row(None, self.decline_button, trust)
        place = label(path, "mono", wrap=True)
        place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        sign = IconLabel("shield-question-mark", px=22, color_token="accent_text")
        title = label(tr("Do you trust {folder}?", folder=name), "title", wrap=True)
        head = row(sign, column(title, place, gap=4), gap=12, stretch=1, top=[sign])
        means = column(gap=7)
        for icon, meaning in _CONSEQUENCES:
            sign = IconLabel(icon, px=16, color_token="muted")
            means.addWidget(pane(row(sign, label(translate(meaning), wrap=True), gap=10, stretch=1)))
        restricted_note = tr(
            "In restricted mode, nothing runs or is sent. You can view sessions and outputs, and trust the "
            "folder later."
        )
        lead = tr("Trust it only if you know what it contains. In a trusted folder:")
        files = [_auto_run_card(auto_run_files)] if auto_run_files else []
        words = label(lead, "muted", wrap=True)
        note = label(restricted_note, "note", wrap=True)
        margins = (22, 20, 22, 18)
        self.setLayout(column(head, words, means, *files, note, 4, buttons, margins=margins, gap=12))
        self.decline_button.setFocus()


def _auto_run_card(auto_run_files: Sequence[AutoRunFile]) -> QFrame:
    followed = [item for item in auto_run_files if item.is_followed]
    others = [item for item in auto_run_files if not item.is_followed]
    parts: list[QLayout | QWidget] = []
    if followed:
        heading = label(tr("The agent follows what these files say:"), "muted", wrap=True)
        parts.append(column(heading, *map(_auto_run_item, followed), gap=8, margins=(14, 10, 14, 6)))
    if others:
        found = tr("Other programs run or follow these files (Helix Desktop doesn't):")
        words = label(found, "muted", wrap=True)
        inner = pane(column(*map(_auto_run_item, others), None, gap=8, margins=(13, 6, 13, 4)), "page")
        area = VerticalScrollArea(inner)
        area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # nothing in it takes the keyboard
        area.setFixedHeight(min(_MAX_LIST_PX, inner.heightForWidth(_WIDTH_PX - 60)))
        parts += [row(words, margins=(14, 10, 14, 0)), area]
    return card(column(*parts, gap=2, margins=(1, 0, 1, 6 if others else 0)))


def _auto_run_item(item: AutoRunFile) -> QWidget:
    return pane(
        column(label(item.path, "mono", wrap=True), label(translate(item.effect), "faint", wrap=True), gap=1)
    )


class TrustController(WindowPart):
    def __init__(self, window: MainWindow, windows: WindowGroup) -> None:
        super().__init__(window, windows)
        self._pending: set[str] = set()  # workspaces that are asked about, or will be
        self._one_question = asyncio.Lock()
        self._strip = window.pages.chat.trust_strip
        self._strip.button.clicked.connect(lambda: window.perform(ChangeTrust(True)))
        self._session.changed.connect(self.show)

    def show(self) -> None:
        """Show the strip where the folder on screen is not trusted, unless the user is being asked."""
        session = self._session
        self._strip.setVisible(
            session.has_workspace
            and not (session.workspace.is_read_only or session.workspace.is_trusted())
            and session.workspace.id not in self._pending
        )

    @handles(ChangeTrust)
    async def change(self, is_trusted: bool) -> None:
        workspace_id = self._session.workspace.id
        if is_trusted:
            await self.ask(workspace_id)
        else:
            await self.set_trusted(workspace_id, False)

    async def ask(self, workspace_id: str) -> None:
        """Ask about a workspace's folder, after any question that is open; once for several calls."""
        if workspace_id in self._pending:
            return
        self._pending.add(workspace_id)
        self.show()
        try:
            async with self._one_question:
                record = self._services.registry.get(workspace_id)
                auto_run_files = await asyncio.to_thread(find_auto_run_files, Path(record.path))
                if await exec_async(TrustDialog(self._window, record.name, record.path, auto_run_files)):
                    await self.set_trusted(workspace_id, True)
        finally:
            self._pending.discard(workspace_id)
            self.show()

    async def set_trusted(self, workspace_id: str, trusted: bool) -> None:
        """Save the user's decision on a folder; without trust, what runs there is stopped."""
        await self._services.set_trusted(workspace_id, trusted)
        self._windows.settings_changed.emit(self._window)
        self.show()
        self._session.follow_models()  # whether something can be sent
        if self._window.page() == "chat":
            self._window.pages.chat.composer.editor.setFocus()
        await self._session.run(RefreshLists())
