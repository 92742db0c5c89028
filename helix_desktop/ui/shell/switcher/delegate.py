"""How the lines of the switcher look: workspaces, sessions, messages on two lines, commands on one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from helix_desktop.ui.design.git_label import fit_git_text
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, text_direction
from helix_desktop.ui.design.quick_picker import LineDelegate
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.shell.sidebar.workspace_badge import BADGE_COLOR_TOKENS, paint_workspace_badge
from helix_desktop.ui.shell.sidebar.workspace_rows import WorkspaceBadge, WorkspaceRow, badge_label
from helix_desktop.ui.shell.switcher.commands import COMMAND_PX, paint_command
from helix_desktop.ui.shell.switcher.rows import MessageRow, SessionRow
from helix_desktop.words.translation import Translator

tr = Translator("Window")

ROW_ROLE = int(Qt.ItemDataRole.UserRole)
ROW_PX = 50
_TOP, _LINE = 0.14, 0.36  # of a row's height: where the upper of its two lines begins, how high one is
_GIT_SHARE = 0.45  # of a row's width that the git state may take
_EDGE_PX, _ICON_PX, _KIND_PX = 12, 12, 16
_VCENTER = Qt.AlignmentFlag.AlignVCenter


class SwitcherDelegate(LineDelegate):
    """What a line is stands at its left: a workspace's square, or an icon."""

    def line_height(self, index: QModelIndex | QPersistentModelIndex) -> int:
        """Return two lines for all but commands."""
        return COMMAND_PX if index.data(ROW_ROLE) is None else ROW_PX

    def paint_line(self, painter: QPainter, box: QRectF, index: QModelIndex | QPersistentModelIndex) -> None:
        """Paint a line of whichever kind."""
        line = box.height() * _LINE
        top = QRectF(box.x(), box.y() + box.height() * _TOP, box.width(), line)
        bottom = QRectF(box.x(), box.center().y(), box.width(), line)
        match index.data(ROW_ROLE):
            case WorkspaceRow() as workspace:
                self._paint_workspace(painter, box, top, bottom, workspace)
            case SessionRow() as session:
                self._paint_icon(painter, box, session.icon)
                words = " · ".join(filter(None, (badge_label(session.badge), session.when)))
                end = self._paint_end(painter, top, words, session.badge)
                self._paint_text(painter, top, session.title, 13, end, is_name=True)
                self._paint_text(painter, bottom, session.detail, 12, box.right())
            case MessageRow() as message:
                self._paint_icon(painter, box, "user" if message.is_own else "bot")
                self._paint_text(painter, top, message.excerpt, 13, box.right(), marks=message.marks)
                end = self._paint_end(painter, bottom, message.when)
                self._paint_text(painter, bottom, message.detail, 12, end)
            case _:
                paint_command(self, painter, box, index)

    def _paint_workspace(
        self, painter: QPainter, box: QRectF, top: QRectF, bottom: QRectF, workspace: WorkspaceRow
    ) -> None:
        """Paint square, name, path; at the right cache size and badge, below them the git state."""
        square = QRectF(box.x() + 9, box.center().y() - 16, 32, 32)
        paint_workspace_badge(painter, square, workspace, self.theme)
        git = self._paint_git(painter, bottom, workspace)
        cache = tr("Cache: {size}", size=workspace.cache) if workspace.cache else ""
        words = " · ".join(filter(None, (badge_label(workspace.badge), cache)))
        if not words and workspace.active:
            words = tr("Open", "state of a workspace")
        state = self._paint_end(painter, top if workspace.git.on_one_line else box, words, workspace.badge)
        self._paint_text(painter, top, workspace.name, 13, state, is_name=True)
        self._paint_text(
            painter, bottom, workspace.path, 12, git if workspace.git.on_one_line else state, True
        )

    def _paint_icon(self, painter: QPainter, box: QRectF, name: str) -> None:
        """Paint what kind of line this is."""
        side = fonts.scaled(_KIND_PX)
        picture = pixmap(name, self.theme.muted, side, self.view.devicePixelRatioF())
        draw_pixmap(painter, box.x() + 25 - side / 2, box.center().y() - side / 2, picture)

    def _paint_end(self, painter: QPainter, box: QRectF, text: str, badge: WorkspaceBadge = "") -> float:
        """Paint words at the right, with the dot of a badge; returns their left edge."""
        small = fonts.sized(self.view.font(), 12)
        width = QFontMetricsF(small).horizontalAdvance(text)
        painter.setFont(small)
        painter.setPen(QColor(self.theme.muted))
        left = box.right() - _EDGE_PX - width
        draw_text(painter, QRectF(left, box.y(), width + 1, box.height()), _VCENTER, text)
        if badge:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(self.theme, BADGE_COLOR_TOKENS[badge])))
            painter.drawEllipse(QPointF(left - 10, box.center().y()), 3.5, 3.5)
            left -= 16
        return left

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
        draw_text(painter, QRectF(left, box.y(), right - left + 1, box.height()), _VCENTER, words)
        side = fonts.scaled(_ICON_PX)
        left -= side + 5
        branch = pixmap("git-branch", self.theme.muted, side, self.view.devicePixelRatioF())
        draw_pixmap(painter, left, box.center().y() - side / 2, branch)
        return left

    def _paint_text(
        self,
        painter: QPainter,
        box: QRectF,
        text: str,
        px: int,
        right: float,
        is_path: bool = False,
        *,
        is_name: bool = False,
        marks: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Paint a text from the icon to `right`; where it is long it loses its end, a path its middle."""
        x = box.x() + 53
        font = fonts.sized(self.view.font(), px, QFont.Weight.DemiBold if is_name else QFont.Weight.Normal)
        room = right - x - _EDGE_PX
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        elided = (
            metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
            if is_path
            else elide_title(metrics, text, room)
        )
        place = QRectF(x, box.y(), room, box.height())
        if text_direction(elided) == Qt.LayoutDirection.LeftToRight:
            cut = (at for at, (own, left) in enumerate(zip(text, elided, strict=False)) if own != left)
            self._paint_marks(painter, place, metrics, elided[: next(cut, len(elided))], marks)
        painter.setPen(QColor(self.theme.text if is_name or marks else self.theme.muted))
        draw_text(painter, place, _VCENTER, elided)

    def _paint_marks(
        self,
        painter: QPainter,
        place: QRectF,
        metrics: QFontMetricsF,
        text: str,
        marks: Sequence[tuple[int, int]],
    ) -> None:
        """Paint the background of what was searched for, as far as it is in the text."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.theme.warn_soft))
        for start, end in marks:
            if start < len(text):  # what comes behind is cut off
                left = metrics.horizontalAdvance(text[:start])
                width = metrics.horizontalAdvance(text[start:end])
                top = place.center().y() - metrics.height() / 2
                painter.drawRoundedRect(QRectF(place.x() + left - 1, top, width + 2, metrics.height()), 3, 3)
