"""The workspace switcher: type a few letters, Enter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QStandardItem
from PySide6.QtWidgets import QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.git_label import fit_git_text
from helix_desktop.ui.design.quick_picker import LineDelegate, QuickPicker
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.shell.sidebar.rows import WorkspaceRow, badge_label, matches_query
from helix_desktop.ui.shell.sidebar.workspace_badge import BADGE_COLOR_TOKENS, paint_workspace_badge
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_ROW_ROLE = int(Qt.ItemDataRole.UserRole)
_ROW_PX = 50
_MAX_LINES = 8
_TOP, _LINE = 0.14, 0.36  # of a row's height: where the upper of its two lines begins, how high one is
_GIT_SHARE = 0.45  # of a row's width that the git state may take
_EDGE_PX, _ICON_PX = 12, 12
_VCENTER = Qt.AlignmentFlag.AlignVCenter


class _Delegate(LineDelegate):
    """Square, name, path; at the right cache size and badge, below them the git state."""

    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        workspace = index.data(_ROW_ROLE)
        if not isinstance(workspace, WorkspaceRow):
            return
        square = QRectF(box.x() + 9, box.center().y() - 16, 32, 32)
        paint_workspace_badge(painter, square, workspace, self.theme, self.view.font())
        line = box.height() * _LINE
        top = QRectF(box.x(), box.y() + box.height() * _TOP, box.width(), line)
        bottom = QRectF(box.x(), box.center().y(), box.width(), line)
        git = self._paint_git(painter, bottom, workspace)
        state = self._paint_state(painter, top if workspace.git.on_one_line else box, workspace)
        self._paint_text(painter, top, workspace.name, 13, state, is_name=True)
        self._paint_text(painter, bottom, workspace.path, 12, git if workspace.git.on_one_line else state)

    def _paint_git(self, painter: QPainter, box: QRectF, workspace: WorkspaceRow) -> float:
        """Paint the git state with its icon; returns their left edge."""
        small = fonts.sized(self.view.font(), 12)
        metrics = QFontMetricsF(small)
        words = fit_git_text(workspace.git, metrics, box.width() * _GIT_SHARE)
        right = box.right() - _EDGE_PX
        if not words:
            return right
        left = right - metrics.horizontalAdvance(words)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted))
        painter.drawText(QRectF(left, box.y(), right - left + 1, box.height()), _VCENTER, words)
        left -= _ICON_PX + 5
        ratio = self.view.devicePixelRatioF()
        branch = pixmap("git-branch", self.theme.muted, _ICON_PX, ratio)
        painter.drawPixmap(QPointF(left, box.center().y() - _ICON_PX / 2), branch)
        return left

    def _paint_state(self, painter: QPainter, box: QRectF, workspace: WorkspaceRow) -> float:
        """Paint cache size and badge; returns their left edge."""
        small = fonts.sized(self.view.font(), 12)
        cache = tr("Cache: {size}", size=workspace.cache) if workspace.cache else ""
        words = " · ".join(filter(None, (badge_label(workspace.badge), cache)))
        if not words and workspace.active:
            words = tr("Open", "state of a workspace")
        width = QFontMetricsF(small).horizontalAdvance(words)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted))
        left = box.right() - _EDGE_PX - width
        painter.drawText(QRectF(left, box.y(), width + 1, box.height()), _VCENTER, words)
        if workspace.badge:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self.theme, BADGE_COLOR_TOKENS[workspace.badge])))
            painter.drawEllipse(QPointF(left - 10, box.center().y()), 3.5, 3.5)
            left -= 16
        return left

    def _paint_text(
        self, painter: QPainter, box: QRectF, text: str, px: int, right: float, *, is_name: bool = False
    ) -> None:
        """Paint a line of text from the square to `right`; a name loses its end, a path its middle."""
        x = box.x() + 53
        font = fonts.sized(self.view.font(), px, QFont.Weight.DemiBold if is_name else QFont.Weight.Normal)
        side = Qt.TextElideMode.ElideRight if is_name else Qt.TextElideMode.ElideMiddle
        room = right - x - _EDGE_PX
        painter.setFont(font)
        painter.setPen(QColor(self.theme.text if is_name else self.theme.muted))
        elided = QFontMetricsF(font).elidedText(text, side, room)
        painter.drawText(QRectF(x, box.y(), room, box.height()), _VCENTER, elided)


class Switcher(QuickPicker):
    """The workspaces of the window."""

    workspace_selected = Signal(str)
    add_requested = Signal()

    def __init__(self, window: QWidget) -> None:
        """Belong to a window; start hidden."""
        super().__init__(
            window,
            tr("Switch workspace"),
            tr("Search workspaces"),
            tr("No matching workspaces"),
            tr("open", "what the Enter key does"),
            _MAX_LINES,
        )
        self._workspaces: tuple[WorkspaceRow, ...] = ()
        self.set_delegate(_Delegate(self.list_view, _ROW_PX))
        add = PushButton(tr("Open folder…"), "link", name="add_folder")
        add.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        add.clicked.connect(self._add)
        self.footer.addWidget(add)

    def show_workspaces(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Know these workspaces, in the order to list them."""
        self._workspaces = tuple(workspaces)
        self.refresh()

    def matching_workspaces(self) -> list[WorkspaceRow]:
        """Return the workspaces that match the search, in order."""
        rows = (self.items.item(place).data(_ROW_ROLE) for place in range(self.items.rowCount()))
        return [workspace for workspace in rows if isinstance(workspace, WorkspaceRow)]

    def find_items(self, needle: str) -> Iterator[QStandardItem]:
        """Return the workspaces with these words in their name, path or branch."""
        for workspace in self._workspaces:
            if matches_query(needle, workspace.name, workspace.path, workspace.git.head):
                item = QStandardItem(workspace.name)
                details = (workspace.name, workspace.path, *workspace.git.details)
                item.setToolTip(plain_tooltip("\n".join(details)))
                item.setData(workspace, _ROW_ROLE)
                parts = (
                    workspace.name,
                    workspace.path,
                    badge_label(workspace.badge),
                    workspace.git.on_one_line,
                )
                item.setData(", ".join(filter(None, parts)), Qt.ItemDataRole.AccessibleTextRole)
                yield item

    def initial_row(self, needle: str) -> int:
        """With nothing typed, Enter goes to another workspace than the one that is open."""
        matches = self.matching_workspaces()
        return 1 if not needle and matches[0].active and len(matches) > 1 else 0

    def accept_item(self, index: QModelIndex) -> None:
        """Go to the workspace of a line."""
        workspace = index.data(_ROW_ROLE)
        if isinstance(workspace, WorkspaceRow):
            self.hide()
            self.workspace_selected.emit(workspace.id)

    def _add(self) -> None:
        self.hide()
        self.add_requested.emit()
