"""What differs from the last git commit: the files, the diff of one, and the patch of all."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QSplitter, QWidget

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.file_history.state import FileChange
from helix_desktop.ui.changes.rows import RowKind, row_kind
from helix_desktop.ui.changes.texts import KIND_ICONS, files_text, kind_text, path_text
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.git import GitText
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIZE, _MIN_SIZE = (960, 640), (520, 440)
_LIST_PX, _DIFF_PX = 280, 640
_BESIDE_PX = 800  # width from which the diff stands at the right of the files
_ROW_PX = 26
_MAX_ROWS = 2_000  # files that are listed; all are in the patch
_CHANGE_ROLE = int(Qt.ItemDataRole.UserRole)


class CommitDialog(Themed, SizedDialog):
    """Shows the files that differ, and the diff of the one that is selected."""

    diff_requested = Signal(object)
    """The FileChange whose diff is to be shown."""
    patch_requested = Signal()

    def __init__(self, parent: QWidget, git: GitText, start: StartCoroutine | None = None) -> None:
        """Start without files; `start` owns the coroutines of the diff."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Changes since last commit"))
        self._git = git
        self._kinds: list[RowKind] = []
        self.note = label("", "muted", wrap=True)
        self.note.setObjectName("commit_note")
        self.list = QListWidget()
        self.list.setObjectName("commit_files")
        self.list.setAccessibleName(tr("Files"))
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setUniformItemSizes(True)
        self.list.setMinimumWidth(160)
        self.list.currentItemChanged.connect(self._on_selected)
        self.diff = DiffView(start)
        self.diff.setMinimumWidth(220)
        self._patch = PushButton(tr("Copy as patch"), "", "copy", name="copy_patch")
        self._patch.clicked.connect(self.patch_requested)
        close = PushButton(tr("Close"), name="close")
        close.clicked.connect(self.reject)
        self._body = QSplitter(Qt.Orientation.Horizontal)
        self._body.setChildrenCollapsible(False)
        for part in (self.list, self.diff):
            self._body.addWidget(part)
        self._body.setStretchFactor(1, 1)
        self._body.setSizes([_LIST_PX, _DIFF_PX])
        words = column(label(tr("Changes since last commit"), "title", wrap=True), self.note, gap=5)
        layout = column(
            words, self._body, FlowBox([self._patch, close], right_from=0), margins=(22, 20, 22, 16), gap=12
        )
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self.show_problem(tr("Reading the git checkout…"))

    @property
    def selected(self) -> FileChange | None:
        """The change that is selected."""
        item = self.list.currentItem()
        change: object = item.data(_CHANGE_ROLE) if item is not None else None
        return change if isinstance(change, FileChange) else None

    def show_problem(self, words: str) -> None:
        """Show a text in the place of files: why there are none."""
        self.note.setText(words)
        self._body.setVisible(False)
        self._patch.setEnabled(False)

    def show_changes(self, changes: Sequence[FileChange]) -> None:
        """Show these files, and ask for the diff of the first."""
        changes = with_moves(changes)
        if not changes:
            self.show_problem(" · ".join(filter(None, (self._git.head, tr("No changes")))))
            return
        more = len(changes) - _MAX_ROWS
        rest = tr("the first {count} are listed", count=_MAX_ROWS) if more > 0 else ""
        self.note.setText(" · ".join(filter(None, (self._git.head, files_text(len(changes)), rest))))
        rows = changes[:_MAX_ROWS]
        self._kinds = [_kind(change) for change in rows]
        for change, kind in zip(rows, self._kinds, strict=True):
            self.list.addItem(_item(change, kind))
        self._body.setVisible(True)
        self._patch.setEnabled(True)
        self.tint(self._theme)
        self.list.setCurrentRow(0)
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_diff(self, change: FileChange, diff: FileDiff) -> None:
        """Show the diff of a file, if it is still the one that is selected."""
        if change is not self.selected:
            return
        self.diff.show_diff(diff, change.path)
        if change.moved_from:
            words = tr("Moved from {path}. The content is the same.", path=path_text(change.moved_from))
            self.diff.show_words(words)

    def show_diff_problem(self, change: FileChange, words: str) -> None:
        """Say why a file has no diff, if it is still the one that is selected."""
        if change is self.selected:
            self.diff.show_diff(None)
            self.diff.show_words(words)

    def show_patch(self, patch: str) -> None:
        """Put the patch of all files on the clipboard, and say so."""
        QGuiApplication.clipboard().setText(patch)
        self._patch.setText(f" {tr('Copied')}")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the diff below the files where there is no room beside them."""
        super().resizeEvent(event)
        is_wide = self.width() >= scaled(_BESIDE_PX)
        across = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if across != self._body.orientation():
            self._body.setOrientation(across)
            self._body.setStretchFactor(0, 0 if is_wide else 1)
            self._body.setStretchFactor(1, 1 if is_wide else 3)
            self._body.setSizes([_LIST_PX, _DIFF_PX] if is_wide else [_DIFF_PX, 3 * _DIFF_PX])

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        for row, kind in enumerate(self._kinds):
            name, token = KIND_ICONS[kind]
            item = self.list.item(row)
            if item is not None:
                item.setIcon(icon(name, getattr(theme, token), 16))

    def _on_selected(self) -> None:
        self.diff.show_diff(None)
        if self.selected is not None:
            self.diff_requested.emit(self.selected)


def with_moves(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return changes in which a file that only moved is one."""
    sources = {change.path: change.before for change in changes if change.after is None}
    moved = {change.moved_from for change in changes}
    return [
        replace(change, before=sources.get(change.moved_from)) if change.moved_from else change
        for change in changes
        if change.after is not None or change.path not in moved
    ]


def _kind(change: FileChange) -> RowKind:
    return "moved" if change.moved_from else row_kind(change.kind, change.before, change.after)


def _item(change: FileChange, kind: RowKind) -> QListWidgetItem:
    name, what = path_text(change.path), kind_text(kind)
    if change.moved_from:
        what = tr("moved from {path}", path=path_text(change.moved_from))
    item = QListWidgetItem(name)
    item.setData(_CHANGE_ROLE, change)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{name}, {what}")
    item.setToolTip(plain_tooltip(f"{name}\n{what}"))
    item.setSizeHint(QSize(_ROW_PX, scaled(_ROW_PX)))
    return item
