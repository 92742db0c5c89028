"""The trash: what is in it, to be restored or deleted permanently."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QAbstractItemView, QListWidgetItem, QWidget

from helix_desktop.domain.messages import display_name
from helix_desktop.domain.retention import TRASH_DAYS, TrashContents
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.ui.cleanup.entry_list import KEY_ROLE, EntryList
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.words.numbers import format_size
from helix_desktop.words.sessions import session_title
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator

tr = Translator("Clean up")

_SIZE, _MIN_SIZE = (600, 560), (460, 360)


class TrashDialog(SizedDialog):
    restore_requested = Signal(list, list)  # digests, sessions
    delete_requested = Signal(list, list)  # digests, sessions

    def __init__(self, parent: QWidget, workspace_name: str) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setWindowTitle(tr("Trash"))
        self.setModal(True)
        self.summary = label("", "strong", wrap=True)
        self.entry_list = EntryList(tr("Items in the trash"))
        self.entry_list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.empty_state = EmptyState(
            "trash-2", tr("The trash is empty. Deleted outputs and sessions of this workspace appear here.")
        )
        self.restore_button, self.close_button = (
            PushButton(tr("Restore"), "primary", "archive-restore", name="bring_back"),
            PushButton(tr("Close"), name="close"),
        )
        self.delete_button = PushButton(
            tr("Delete permanently…"), "danger", "trash-2", name="delete_permanently"
        )
        self.empty_button = PushButton(tr("Empty trash…"), "danger", name="empty_trash")
        lead = tr(
            "Items here can still be read and recalled. After {days} days they are deleted permanently. "
            "Storing or recalling an output restores it.",
            days=TRASH_DAYS,
        )
        title = tr("Trash for “{workspace}”", workspace=workspace_name)
        words = column(label(title, "title", wrap=True), label(lead, "muted", wrap=True), gap=5)
        buttons = FlowBox(
            [self.empty_button, self.delete_button, self.close_button, self.restore_button], right_from=2
        )
        pages = (self.entry_list, self.empty_state)  # one of them is in sight
        layout = column(words, self.summary, *pages, buttons, margins=DIALOG_MARGINS, gap=12)
        for page in pages:
            layout.setStretchFactor(page, 1)
        self.setLayout(layout)
        self.entry_list.itemSelectionChanged.connect(self._selected)
        self.entry_list.itemActivated.connect(lambda _: self._restore())
        self.restore_button.clicked.connect(self._restore)
        self.delete_button.clicked.connect(self._delete)
        self.empty_button.clicked.connect(self._empty)
        self.close_button.clicked.connect(self.reject)

    def show_trash(self, trash: TrashContents) -> None:
        self.entry_list.clear()
        versions = SessionVersions(trash.sessions)
        groups = {versions.ids_of(session.id): versions.row_of(session) for session in trash.sessions}
        for ids, session in groups.items():
            name = _session_text(session, len(ids))
            self.entry_list.add(name, ("", _deleted_text(session.trashed)), ("session", ids))
        for entry in trash.entries:
            name = f"{display_name(entry.tool)} {entry.target}".strip() or entry.digest[:12]
            values = (format_size(entry.size), _deleted_text(entry.trashed))
            self.entry_list.add(name, values, ("", entry.digest))
        entries, sessions = len(trash.entries), len(groups)
        has_items = bool(entries or sessions)
        counts = (
            tr.plural(sessions, "%n session", "%n sessions") if sessions else "",
            tr.plural(entries, "%n output", "%n outputs") if entries else "",
            tr("{size} on disk", size=format_size(trash.stored_size)) if entries else "",
        )
        self.summary.setText(" · ".join(filter(None, counts)))
        buttons = (self.empty_button, self.delete_button, self.restore_button)
        for widget in (self.summary, self.entry_list, *buttons):
            widget.setVisible(has_items)
        self.empty_state.setVisible(not has_items)
        if has_items:  # Enter restores it
            self.entry_list.setCurrentRow(0)
            self.entry_list.setFocus()
        self._selected()
        self.fit_height((_SIZE if has_items else _MIN_SIZE)[1])

    def _selected(self) -> None:
        for button in (self.restore_button, self.delete_button):
            button.setEnabled(bool(self.entry_list.selectedItems()))

    def _restore(self) -> None:
        self.restore_requested.emit(*_ids(self.entry_list.selectedItems()))

    def _delete(self) -> None:
        self.delete_requested.emit(*_ids(self.entry_list.selectedItems()))

    def _empty(self) -> None:
        items = [self.entry_list.item(row) for row in range(self.entry_list.count())]
        self.delete_requested.emit(*_ids(items))


def _ids(items: Iterable[QListWidgetItem]) -> tuple[list[str], list[str]]:
    """Return the digests and the ids of the sessions among items, those of all their versions."""
    keys = [item.data(KEY_ROLE) for item in items]
    sessions = [session_id for kind, key in keys if kind for session_id in key]
    return [key for kind, key in keys if not kind], sessions


def _session_text(session: SessionSummary, versions: int) -> str:
    """Name a session, with how many versions it has; what is one version of another session says so."""
    title = session_title(session.title)
    if versions > 1:
        return tr.plural(
            versions, "Session “{title}”, %n version", "Session “{title}”, %n versions", title=title
        )
    match session.branch_how:
        case "edit":
            return tr("Session “{title}”, version with an edited message", title=title)
        case "retry":
            return tr("Session “{title}”, version with another answer", title=title)
        case "rewind":
            return tr("Session “{title}”, rewound", title=title)
        case _:
            return tr("Session “{title}”", title=title)


def _deleted_text(trashed_ms: int) -> str:
    return tr("deleted {date}", date=format_date(trashed_ms))
