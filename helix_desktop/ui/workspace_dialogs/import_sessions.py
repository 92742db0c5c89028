"""The dialog in which sessions of other agents are looked for and chosen, to be imported into a workspace."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtWidgets import QTreeWidgetItem, QWidget

from helix_desktop.domain.choices import AGENT_NAMES
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.foreign.discovery import FoundSession
from helix_desktop.services.foreign_import import ids_of
from helix_desktop.ui.design import dialogs
from helix_desktop.ui.design.async_actions import AsyncActions
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.choice_fields import AT_END, SEARCH_ROLE, CheckList, ComboBox
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import DIALOG_MARGINS, FlowBox, column, pane, row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_integer, format_size
from helix_desktop.words.times import format_date, format_date_and_time
from helix_desktop.words.translation import Translator, error_text, translate

text = TextContext("Import sessions")
tr = Translator("Import sessions")

_SIZE = (900, 640)
_MIN_SIZE = (560, 420)
_POLL_MS = 100
_COLUMNS = (
    (text("Title"), 0, text("By title")),
    (text("Agent"), 104, text("By agent")),
    (text("Project"), 150, text("By project")),
    (text("Last used"), 108, text("Newest first")),
    (text("Size"), 88, text("Largest first")),
)
"""Each with its least width in pixels, and the order by it; the title has the rest of the width."""
_NEWEST = 3


class _SessionItem(QTreeWidgetItem):
    def __init__(self, found: FoundSession, is_imported: bool) -> None:
        folder = escape_hidden_name(found.folder)
        title = escape_hidden_name(found.title) or tr("Untitled")
        cells = (
            dotted((tr("Imported") if is_imported else "", title)),  # first: long titles are cut at the end
            AGENT_NAMES[found.agent],
            re.split(r"[\\/]", folder.rstrip("\\/"))[-1],
            format_date(found.updated) if found.updated else "",
            format_size(found.size),
        )
        super().__init__([*cells])
        self.found = found
        self.setData(0, SEARCH_ROLE, " ".join((*cells[:2], folder)).casefold())
        self.keys = (
            title.casefold(), (cells[1], -found.updated), (folder.casefold(), -found.updated),
            -found.updated, -found.size,
        )  # fmt: skip
        self.setCheckState(0, Qt.CheckState.Unchecked)
        self.setTextAlignment(4, AT_END)
        self.setToolTip(0, plain_tooltip(title))
        self.setToolTip(2, plain_tooltip(folder))
        self.setToolTip(3, format_date_and_time(found.updated))
        self.setData(0, Qt.ItemDataRole.AccessibleTextRole, dotted(cells))


class ImportSessionsDialog(SizedDialog):
    """Looks for sessions when the user asks for it, and lists them to be checked."""

    def __init__(self, session: Session, workspace: str, imported: Collection[str]) -> None:
        """`workspace` is the name of where they come; `imported` are the ids of the sessions there."""
        super().__init__(session.window, tr("Import sessions"), _SIZE, _MIN_SIZE)
        self.setObjectName("import_sessions")
        self._service = session.app.foreign_sessions
        self._searches = list[asyncio.Task[None]]()
        self._actions = AsyncActions(session.actions.scope, self._fail_search)
        self._imported = imported
        self._items = list[_SessionItem]()
        self._found_count = 0  # so far; it may be set by any thread
        self._poll_timer = QTimer(self, interval=_POLL_MS)
        self._poll_timer.timeout.connect(self._show_count)
        self._lead = tr("Search the folders where these agents keep their sessions. They are only read.")
        self.empty = EmptyState("folder-search", self._lead, tr("Search this computer"))
        self.empty.button.setObjectName("search_computer")
        self.empty.button_clicked.connect(lambda: self._begin(self._search()))
        self.filter = SearchField(tr("Filter by title, agent or project"))
        self.filter.textChanged.connect(lambda _: self._filter())
        self.order = ComboBox(words=tr("Sort"))
        self.order.addItems([translate(order) for *_, order in _COLUMNS])
        self.order.setCurrentIndex(_NEWEST)
        self.order.currentIndexChanged.connect(lambda _: self._sort())
        self.list = CheckList(tr("Found sessions"), [each[:2] for each in _COLUMNS], numbers=(4,))
        self.list.setObjectName("found_sessions")
        self.list.changed.connect(self._update)
        self.list.header().setSectionsClickable(True)
        self.list.header().sectionClicked.connect(self.order.setCurrentIndex)
        self._no_match = label(tr("No sessions match this filter"), "muted")
        self._all = PushButton(tr("Select all"), "link", name="check_all", on_click=self.list.check_all)
        self._status = label("", "note", wrap=True)
        self.error = label("", "error", wrap=True)
        self.error.hide()
        self.import_button = PushButton("", "primary", name="import", on_click=self.accept)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        file = PushButton(tr("Choose file…"), name="choose_file")
        folder = PushButton(tr("Choose folder…"), name="choose_folder")
        self._search_again = PushButton(tr("Search this computer"), name="search_again")
        self._search_buttons = (self._search_again, file, folder)
        for button, search in zip(
            self._search_buttons, (self._search, self._search_file, self._search_folder), strict=True
        ):
            button.clicked.connect(lambda _=False, search=search: self._begin(search()))
        self._lay_out(workspace, FlowBox([*self._search_buttons, cancel, self.import_button], right_from=3))
        self._show_results()
        self.empty.button.setFocus()

    def _lay_out(self, workspace: str, buttons: QWidget) -> None:
        lead = tr(
            "Sessions of {agents} are copied into “{workspace}”, with every output.",
            agents=tuple(AGENT_NAMES[agent] for agent in AGENT_NAMES if agent != "chat-messages"),
            workspace=workspace,
        )
        tools = row(self.filter, self.order, gap=8)
        tools.setStretch(0, 1)
        foot = row(self._all, self._status, gap=12)
        foot.setStretch(1, 1)
        results = column(tools, self.list, self._no_match, foot, gap=8)
        results.setStretch(1, 1)
        self.results = pane(results)
        body = column(
            column(label(tr("Import sessions"), "title"), label(lead, "muted", wrap=True), gap=5),
            self.empty, self.results, self.error, buttons,
            margins=DIALOG_MARGINS, gap=10,
        )  # fmt: skip
        body.setStretch(1, 1)
        body.setStretch(2, 1)
        self.setLayout(body)

    async def choose(self) -> list[FoundSession]:
        """Let the user look for sessions and choose some; none: it was canceled."""
        try:
            return self.chosen() if await dialogs.exec_async(self) else []
        finally:
            for task in self._searches:
                task.cancel()

    def chosen(self) -> list[FoundSession]:
        """Return the checked sessions, also those that the filter hides."""
        return [item.found for item in self.list.checked() if isinstance(item, _SessionItem)]

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._searches.append(self._actions.start(work, "look for sessions"))

    async def _search(self, path: Path | None = None) -> None:
        """Look in a file or folder that the user has chosen; else where the agents keep their sessions."""
        self._found_count = 0
        show_text(self.error, "")
        for button in self._search_buttons:
            button.setEnabled(False)
        self._show_count()
        self.results.hide()
        self.empty.show()
        self._poll_timer.start()
        found = await self._service.find([path] if path is not None else [], self._count)
        self.end_search(found, is_checked=path is not None)

    async def _search_file(self) -> None:
        kinds = tr("Sessions ({patterns});;All files (*)", patterns="*.jsonl *.jsonl.gz *.json *.db")
        if path := await dialogs.pick_file(self, tr("Choose a session"), kinds):
            await self._search(path)

    async def _search_folder(self) -> None:
        if path := await dialogs.pick_folder(self, tr("Choose a folder with sessions"), Path.home()):
            await self._search(path)

    def _count(self, found: int) -> None:
        self._found_count = found

    def end_search(self, found: Sequence[FoundSession], is_checked: bool = False) -> None:
        """List what was found besides what is listed; `is_checked`: the user has chosen it by hand."""
        self._stop_search()
        known = {item.found.source: item for item in self._items}
        with QSignalBlocker(self.list):
            for session in found:
                item = known.get(session.source)
                if item is None:
                    item = _SessionItem(session, ids_of(session)[0] in self._imported)
                    self._items.append(item)
                if is_checked:
                    item.setCheckState(0, Qt.CheckState.Checked)
        self.filter.clear()
        self._sort()
        if not self._items:
            sentence = tr("No sessions of other agents found. Choose a file or folder that has some.")
            self.empty.set_content(sentence, tr("Search again"))
        self._show_results()
        if self._items:
            self.list.setCurrentItem(next(iter(self.list.checked()), self._items[0]))
            self.list.setFocus()

    def _fail_search(self, error: HelixError) -> None:
        """Say what went wrong; what was listed before is listed again."""
        self._stop_search()
        self._show_results()
        show_text(self.error, error_text(error))

    def _stop_search(self) -> None:
        self._poll_timer.stop()
        self.empty.set_content(self._lead, tr("Search this computer"))
        for button in self._search_buttons:
            button.setEnabled(True)

    def _show_count(self) -> None:
        count = self._found_count
        words = tr.plural(count, "Searching… %n session found", "Searching… %n sessions found")
        self.empty.set_content(words if count else tr("Searching…"))

    def _show_results(self) -> None:
        self.results.setVisible(bool(self._items))
        self.empty.setVisible(not self._items)
        self._search_again.setVisible(bool(self._items))
        self._update()

    def _sort(self) -> None:
        at = self.order.currentIndex()
        self._items.sort(key=lambda item: item.keys[at])
        current: QTreeWidgetItem | None = self.list.currentItem()
        with QSignalBlocker(self.list):
            while self.list.topLevelItemCount():
                self.list.takeTopLevelItem(0)
            self.list.addTopLevelItems(self._items)
            if current is not None:
                self.list.setCurrentItem(current)
        self._filter()

    def _filter(self) -> None:
        is_any = self.list.filter(self.filter.text())
        self.list.setVisible(is_any)
        self._no_match.setVisible(not is_any)
        self._update()

    def _update(self) -> None:
        chosen = self.chosen()
        visible = self.list.open_items()
        count = len(chosen)
        hidden = sum(item.isHidden() for item in self.list.checked())
        self.import_button.setText(
            tr.plural(count, "Import %n session", "Import %n sessions") if count else tr("Import")
        )
        self.import_button.setEnabled(bool(count))
        self._all.setText(tr("Clear selection") if self.list.is_all_checked else tr("Select all"))
        self._all.setEnabled(bool(visible))
        total = len(self._items)
        shown = tr.plural(total, "%n session", "%n sessions")
        if len(visible) < total:
            shown = tr("{shown} of {sessions}", shown=format_integer(len(visible)), sessions=shown)
        selected = tr.plural(
            count, "%n selected ({size})", "%n selected ({size})",
            size=format_size(sum(session.size for session in chosen)),
        )  # fmt: skip
        out_of_sight = tr.plural(hidden, "%n of them hidden by the filter", "%n of them hidden by the filter")
        self._status.setText(dotted((shown, selected if count else "", out_of_sight if hidden else "")))
