"""The trash: what lies there, back with it, or away for good."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QDialog, QListWidget, QListWidgetItem, QWidget

from helix_desktop.context.digest import ellipsize, size_text
from helix_desktop.context.keeping import TRASH_DAYS, Trash
from helix_desktop.ui.widgets import PushButton, column, label, row

_ALL_OF_IT = 100  # of the room that is left, beside the empty one's 1
_SIZE = (600, 560)
_LEAD = (
    f"What lies here can still be read and recalled. After {TRASH_DAYS} days it is removed for good; storing "
    "or recalling an output brings it back at once."
)
_KEY = Qt.ItemDataRole.UserRole


class TrashDialog(QDialog):
    """A list with two deeds; what it asks for comes out as signals."""

    restore_requested = Signal(list, list)  # digests, sessions
    empty_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Trash")
        self.setModal(True)
        self.resize(*_SIZE)
        self.setMinimumSize(460, 360)
        self.counter = label("", "strong")
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName("What lies in the trash")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.restore, self.leave = PushButton("Bring back", "primary", "archive-restore"), PushButton("Close")
        self.empty = PushButton("Empty the trash", "danger")
        self.sure = label("All of it is removed for good. This cannot be undone.", "error", wrap=True)
        self._asked = False
        words = column(label("Trash", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        buttons = row(self.empty, None, self.leave, self.restore, gap=8)
        listed = (self.list, None)  # without a list the room stays empty, and the words at the top
        whole = column(words, self.counter, *listed, self.sure, buttons, margins=(22, 20, 22, 16), gap=12)
        whole.setStretch(2, _ALL_OF_IT)
        self.setLayout(whole)
        self.list.itemSelectionChanged.connect(self._selected)
        self.restore.clicked.connect(self._restore)
        self.empty.clicked.connect(self._empty)
        self.leave.clicked.connect(self.reject)

    def show_trash(self, trash: Trash) -> None:
        """Show what lies there."""
        self._asked = False
        self.list.clear()
        for session in trash.sessions:
            text = f"Session “{ellipsize(session.title)}”  ·  deleted {_day(session.trashed)}"
            self._add(text, ("session", session.id))
        for entry in trash.entries:
            name = f"{entry.tool} {entry.target}".strip() or entry.digest[:12]
            self._add(
                f"{name}  ·  {size_text(entry.size)}  ·  since {_day(entry.trashed)}", ("", entry.digest)
            )
        entries, sessions = len(trash.entries), len(trash.sessions)
        said = f"{entries:,} output{'s' * (entries != 1)}, {size_text(trash.stored_size)} on disk, and "
        said += f"{sessions:,} session{'s' * (sessions != 1)}."
        self.counter.setText(said if entries or sessions else "The trash is empty.")
        self.list.setVisible(bool(entries or sessions))
        self.empty.setEnabled(bool(entries or sessions))
        self._selected()

    def _add(self, text: str, key: tuple[str, str]) -> None:
        item = QListWidgetItem(text)
        item.setData(_KEY, key)
        self.list.addItem(item)

    def _selected(self) -> None:
        self._asked = False
        self.empty.setText("Empty the trash")
        self.sure.hide()
        self.restore.setEnabled(bool(self.list.selectedItems()))

    def _restore(self) -> None:
        chosen = [item.data(_KEY) for item in self.list.selectedItems()]
        self.restore_requested.emit(
            [one for kind, one in chosen if not kind], [one for kind, one in chosen if kind]
        )

    def _empty(self) -> None:
        if self._asked:
            self.empty_requested.emit()
            return
        self._asked = True
        self.empty.setText("Remove all of it for good")
        self.sure.show()


def _day(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000):%d %b %Y}"
