"""Workspaces in rail and picker: their rows, names and squares; the rail at the window's edge."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QMenu

from helix_desktop import APP_NAME
from helix_desktop.ui.design.buttons import EnterActivates, IconButton
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.labels import IconLabel
from helix_desktop.ui.design.layout import VerticalScrollArea, column, pane
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme, Themed
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import EntryMenu, WindowCommands, command_button
from helix_desktop.ui.kit.intents import perform
from helix_desktop.ui.window.workspace_badges import STATES, WorkspaceRow, state_words
from helix_desktop.words.translation import Translator

tr = Translator("Window")


def paint_workspace_badge(painter: QPainter, rect: QRectF, workspace: WorkspaceRow, theme: Theme) -> None:
    """Paint square and initials; a workspace whose folder is missing turns gray."""
    from PySide6.QtGui import QLinearGradient  # makes its 168 presets: not before the first frame

    background = QColor(workspace.display_color())
    missing = workspace.badge == "missing"
    sweep = QLinearGradient(rect.topLeft(), rect.bottomRight())
    sweep.setColorAt(0, background)
    sweep.setColorAt(1, background.darker(114))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.seg_free) if missing else sweep)
    painter.drawRoundedRect(rect, rect.width() * 0.29, rect.width() * 0.29)
    font = fonts.base(round(rect.width() * 0.34))
    font.setWeight(QFont.Weight.DemiBold)
    painter.setFont(font)
    painter.setPen(QColor(theme.muted if missing else theme.on_accent))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, workspace.display_initials())


_TILE_PX = 38  # edge of a workspace's square at 100 %
_ICON_PX = 19  # edge of an icon at 100 %
_MARGIN_PX = 13  # on both sides of a square


class WorkspaceButton(EnterActivates, Themed, QAbstractButton):
    def __init__(self, workspace: WorkspaceRow) -> None:
        super().__init__()
        self.workspace = workspace
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_workspace(workspace)
        self.apply_theme()

    def show_workspace(self, workspace: WorkspaceRow) -> None:
        self.workspace = workspace
        name = workspace.name
        state = state_words(workspace.badge)
        self.setAccessibleName(
            tr("Workspace {name}, {state}", name=name, state=state)
            if state
            else tr("Workspace {name}", name=name)
        )
        self.setToolTip(
            plain_tooltip("\n".join(filter(None, (name, workspace.path, state, *workspace.git.details))))
        )
        self.update()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedSize(_rail_width(), scaled(_TILE_PX) + 12)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)  # not a pen: the first frame of the window waits for no boxes
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = self._theme
        square = QRectF(_MARGIN_PX, 6, scaled(_TILE_PX), scaled(_TILE_PX))
        height = 10 if self.underMouse() else 0
        if self.workspace.active:
            height = 22
        if height:
            bar = QRectF(0, (self.height() - height) / 2, 3.5, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.accent if self.workspace.active else theme.faint))
            painter.drawRoundedRect(bar, 1.75, 1.75)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(square.adjusted(-3, -3, 3, 3), 13, 13)
        paint_workspace_badge(painter, square, self.workspace, theme)
        if dot := STATES[self.workspace.badge].dot:
            painter.setPen(QPen(QColor(theme.rail), 2.5))
            painter.setBrush(QColor(getattr(theme, dot)))
            painter.drawEllipse(QPointF(square.right() - 2, square.top() + 3), 5.5, 5.5)
        painter.end()


class Rail(Themed, QFrame):
    def __init__(self, commands: WindowCommands) -> None:
        super().__init__()
        self.setObjectName("rail")
        self._buttons: dict[str, WorkspaceButton] = {}
        add = command_button(commands.open_folder, "plus", tr("Open folder"), px=_ICON_PX - 1, edge=_TILE_PX)
        add.setProperty("kind", "tile")
        self._theme_button = IconButton("moon", tr("Use dark theme"), px=_ICON_PX, edge=34)
        self._theme_button.clicked.connect(
            lambda: perform(self, intents.SetTheme("light" if self._theme.dark else "dark"))
        )
        settings = command_button(commands.settings, "settings", tr("Settings"), px=_ICON_PX, edge=34)
        settings.setCheckable(True)
        self.settings_button = settings
        logo = IconLabel("helix", px=_TILE_PX, color_token="text")
        logo.setAccessibleName(APP_NAME)
        self._squares = column(gap=0)
        inside = column(self._squares, add, None, gap=6)
        scroll = VerticalScrollArea(pane(inside, "page"))
        scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        outer = column(logo, 9, scroll, self._theme_button, settings, margins=(0, 13, 0, 10), gap=4)
        outer.setStretchFactor(scroll, 1)
        inside.setAlignment(add, Qt.AlignmentFlag.AlignHCenter)
        for part in (logo, self._theme_button, settings):
            outer.setAlignment(part, Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(outer)
        self.apply_theme()

    def show_workspaces(self, workspaces: Sequence[WorkspaceRow]) -> None:
        """Show exactly these workspaces in this order; a square that stays keeps its focus."""
        ids = {workspace.id for workspace in workspaces}
        for gone in self._buttons.keys() - ids:
            button = self._buttons.pop(gone)
            self._squares.removeWidget(button)
            button.hide()
            button.deleteLater()
        for place, workspace in enumerate(workspaces):
            button = self._buttons.get(workspace.id) or self._make(workspace)
            button.show_workspace(workspace)
            mark_pane_stop(button, workspace.active)
            if self._squares.indexOf(button) != place:
                self._squares.insertWidget(place, button)

    def button(self, workspace_id: str) -> WorkspaceButton:
        return self._buttons[workspace_id]

    def menu_for(self, workspace_id: str) -> QMenu:
        menu = EntryMenu(self)
        is_there = self._buttons[workspace_id].workspace.badge != "missing"
        menu.add("show_folder", tr("Show folder"), intents.ShowFolder(workspace_id), is_enabled=is_there)
        menu.add("rename", tr("Rename…"), intents.RenameWorkspace(workspace_id))
        menu.add("locate", tr("Locate…"), intents.LocateWorkspace(workspace_id))
        menu.addSeparator()
        menu.add("export", tr("Export…"), intents.Export(workspace_id))
        menu.add("import", tr("Import…"), intents.Import(workspace_id))
        menu.addSeparator()
        menu.add("remove_from_list", tr("Remove from list…"), intents.RemoveWorkspace(workspace_id))
        return menu

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedWidth(_rail_width())
        self._theme_button.set_icon("sun" if self._theme.dark else "moon")
        self._theme_button.set_tip(tr("Use light theme") if self._theme.dark else tr("Use dark theme"))

    def _make(self, workspace: WorkspaceRow) -> WorkspaceButton:
        button = WorkspaceButton(workspace)
        button.clicked.connect(lambda: perform(self, intents.ShowWorkspace(workspace.id)))
        button.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        button.customContextMenuRequested.connect(
            lambda at: self.menu_for(workspace.id).popup(button.mapToGlobal(at))
        )
        self._buttons[workspace.id] = button
        return button


def _rail_width() -> int:
    return scaled(_TILE_PX) + 2 * _MARGIN_PX
