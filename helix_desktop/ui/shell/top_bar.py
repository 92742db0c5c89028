"""The bar above the center: session title and status, the pages, the mode, and buttons."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QFont,
    QFontMetricsF,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QLineEdit,
    QMenu,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from helix_desktop import APP_NAME
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.buttons import ICON_GAP_PX, EnterActivates, IconButton, TabButton, TabList
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.git_label import GitLabel
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.pill import Badge, Dot
from helix_desktop.ui.design.shell_data import TopBarState
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon, pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.shell.actions import WindowActions, keep_tip, tip_with_keys
from helix_desktop.ui.shell.menus import mode_menu, more_menu
from helix_desktop.words.direction import dotted
from helix_desktop.words.failed_turns import failure_text
from helix_desktop.words.git import NO_GIT, GitText
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")
text = TextContext("Window")

DEMO_BADGE = text("Offline demo model")

_IDLE_COLOR = "border_strong"  # of the dot of a session that has nothing to say
_DOT_PX = 22  # of the dot before the session's state, with the gaps around it
_STATE_PX = 80  # room behind the demo badge for the session's state
_GIT_PX = 120  # room that the git state needs to say something
_DETAILS: tuple[tuple[PageDetail, int], ...] = (("full", 240), ("words", 190), ("current", 115), ("icons", 0))
"""What is shown as the bar narrows, and the room in pixels that it must leave to the title."""
_TITLE_PX = 80
"""Room below which the title takes that of the mode's word, then of a button: both are elsewhere, too."""
_HEIGHT_PX, _TITLE_HEIGHT_PX, _BUTTON_PX = 57, 26, 30  # at 100 %
_TIP_CAP = 160  # characters of the title in its tooltip


class EditableTitle(QStackedWidget):
    """A title that turns into a field on double click; Enter keeps the new name, Esc the old one.

    After both the keyboard is where it was.
    """

    renamed = Signal(str)

    def __init__(self) -> None:
        """Start without a title, and not editable."""
        super().__init__()
        self.editable = False
        self._focused_before: QWidget | None = None
        self._label = ElidedLabel(role="title")
        self._field = QLineEdit()
        self._field.setProperty("kind", "title")
        self._field.setAccessibleName(tr("Session title"))
        self._field.setMaxLength(1_000)
        self._field.editingFinished.connect(self._finish)
        self.addWidget(self._label)
        self.addWidget(self._field)
        self.setMinimumWidth(1)  # else the field behind it asks for room that a narrow bar has not

    def set_title(self, title: str) -> None:
        """Show a title; an edit that is going on is kept."""
        self._label.set_full_text(title)

    def title(self) -> str:
        """Return the whole title."""
        return self._label.full_text()

    def full_width(self) -> int:
        """Width in pixels that the whole title takes."""
        return self._label.full_width()

    def edit(self) -> None:
        """Begin to edit, all text selected."""
        if not self.editable:
            return
        if not self.is_editing():
            self._focused_before = QApplication.focusWidget()
        self._field.setText(self.title())
        self._field.selectAll()
        self.setCurrentWidget(self._field)
        self._field.setFocus()

    def is_editing(self) -> bool:
        """Return True while the title is being edited."""
        return self.currentWidget() is self._field

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Begin to edit."""
        self.edit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave an edit with Esc, without a change."""
        if event.key() == Qt.Key.Key_Escape and self.is_editing():
            self._field.setText(self.title())
            self._finish()
            return
        super().keyPressEvent(event)

    def _finish(self) -> None:
        if not self.is_editing():
            return
        had_focus, before = self._field.hasFocus(), self._focused_before
        self._focused_before = None
        self.setCurrentWidget(self._label)
        if had_focus:
            refocus(before)
        name = self._field.text().strip()
        if name and name != self.title():
            self._label.set_full_text(name)
            self.renamed.emit(name)


_NAMES = {"ask": text("Ask", "mode"), "plan": text("Plan", "mode"), "auto": text("Auto", "mode")}
_DEMO = text("Demo", "mode")
_EXCEPT_DEMO = text("Ask, except demo calls", "mode")
_TIPS = {
    "ask": text("Ask: the agent asks before edits, and commands that do more than read"),
    "plan": text("Plan: the agent only reads and plans"),
    "auto": text(
        "Auto: the agent edits files and runs sandboxed commands without asking, "
        "unless they destroy what can't be undone"
    ),
}
_ICONS: dict[PermissionMode, str] = {"ask": "shield", "plan": "list-tree", "auto": "zap"}
_COLOR_TOKENS: dict[PermissionMode, tuple[str, str]] = {
    "ask": ("muted", "raised"),
    "plan": ("accent_text", "accent_soft"),
    "auto": ("warn", "warn_soft"),
}
_MODE_HEIGHT_PX, _MODE_ICON_PX, _MODE_PAD_PX, _MODE_CHEVRON_PX = 30, 14, 9, 14

ModeDetail = Literal["word", "icon"]


class ModeButton(EnterActivates, Themed, QPushButton):
    """Shows a session's mode; its menu changes it."""

    def __init__(self, menu: QMenu, next_mode: QAction) -> None:
        """`next_mode` is the command that switches the mode; its keys stand in the tooltip."""
        super().__init__()
        self._next_mode = next_mode
        self._mode: PermissionMode = "ask"
        self._demo_runs = False
        self._detail: ModeDetail = "word"
        self.setMenu(menu)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_mode("ask")
        next_mode.changed.connect(lambda: self.show_mode(self._mode, demo_runs=self._demo_runs))

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False) -> None:
        """Show a mode; `demo_runs` says that calls of the demo model run in it without asking."""
        self._mode, self._demo_runs = mode, demo_runs
        tip = translate(_TIPS[mode])
        if demo_runs and mode != "plan":
            tip += "\n" + tr("Demo calls run without asking. Change it in Settings → Permissions.")
        self.setToolTip(tip_with_keys(self._next_mode, tip))
        self.setAccessibleName(tr("Mode: {mode}", mode=_EXCEPT_DEMO if self._asks_less else _NAMES[mode]))
        self.setAccessibleDescription(self.toolTip())
        self.set_detail(self._detail)
        self.update()

    @property
    def _asks_less(self) -> bool:
        return self._demo_runs and self._mode == "ask"

    @property
    def _word(self) -> TranslatableText:
        """The mode's name, or what is shorter than "Ask, except demo calls" and does not claim to ask."""
        return _DEMO if self._asks_less else _NAMES[self._mode]

    def set_detail(self, detail: ModeDetail) -> None:
        """Show the word next to the icon, or the icon alone."""
        self._detail = detail
        self.setFixedSize(QSize(self.width_at(detail), scaled(_MODE_HEIGHT_PX)))

    def width_at(self, detail: ModeDetail) -> int:
        """Width in pixels in a form, the same in every mode, wider where the demo model's calls run."""
        metrics = QFontMetricsF(self._font())
        if detail == "icon":
            return scaled(_MODE_HEIGHT_PX)
        names = (*_NAMES.values(), *((_DEMO,) if self._demo_runs else ()))
        widest = max(metrics.horizontalAdvance(word) for word in map(translate, names))
        return 2 * _MODE_PAD_PX + scaled(_MODE_ICON_PX) + round(widest) + 6 + _MODE_CHEVRON_PX

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint background, icon, word and chevron; a ring where it has the keyboard."""
        theme = self._theme
        color, background = (getattr(theme, name) for name in _COLOR_TOKENS[self._mode])
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        edge = theme.accent if self.hasFocus() else theme.border_strong if self.underMouse() else theme.border
        painter.setPen(QPen(QColor(edge), 2 if self.hasFocus() else 1))
        painter.setBrush(QColor(background))
        bounds = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(bounds, 9, 9)
        side = scaled(_MODE_ICON_PX)
        left = _MODE_PAD_PX if self._detail == "word" else (self.width() - side) // 2
        icon = _ICONS["auto" if self._asks_less else self._mode]
        picture = pixmap(icon, color, side, self.devicePixelRatioF())
        draw_pixmap(painter, left, (self.height() - side) // 2, picture)
        if self._detail == "word":
            self._paint_text(painter, color, bounds)

    def _paint_text(self, painter: QPainter, color: str, area: QRectF) -> None:
        painter.setFont(self._font())
        painter.setPen(QColor(color))
        place = area.adjusted(_MODE_PAD_PX + scaled(_MODE_ICON_PX) + 5, 0, -_MODE_CHEVRON_PX, 0)
        draw_text(painter, place, Qt.AlignmentFlag.AlignVCenter, translate(self._word))
        painter.setPen(QPen(QColor(color), 1.5, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin))
        x, y = self.width() - _MODE_PAD_PX - 5.0, self.height() / 2 - 1.5
        painter.drawPolyline([QPointF(x - 3, y), QPointF(x, y + 3), QPointF(x + 3, y)])

    def _font(self) -> QFont:
        return fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.Medium)


PageName = Literal["chat", "cache", "timeline", "changes"]
PAGES: tuple[tuple[PageName, TranslatableText, str], ...] = (
    ("chat", text("Chat"), "message-square"),
    ("cache", text("Cache"), "database"),
    ("timeline", text("Timeline"), "history"),
    ("changes", text("Changes"), "diff"),
)

PageDetail = Literal["full", "words", "current", "icons"]
"""How much a page's button shows: icon and word, the word, the icon (and the word of the page on screen)."""

_PADDING_PX = 16  # of a page's button, at both sides together, with its border
_PAGE_ICON_PX = 15
_QT_GAP_PX = 4
_DRAG_MS = 400  # that a drag rests over a page's button until the page is shown


class PageSwitch(Themed, TabList):
    """The segmented control Chat / Cache / Timeline / Changes."""

    page_selected = Signal(str)

    def __init__(self) -> None:
        """Start on the chat."""
        super().__init__()
        self.setProperty("role", "segments")
        self.setAccessibleName(tr("Pages"))
        self._group = QButtonGroup(self)
        self._buttons: dict[str, TabButton] = {}
        self.setAcceptDrops(True)
        self._dragged_to = ""
        self._drag_timer = QTimer(self, singleShot=True, interval=_DRAG_MS)
        self._drag_timer.timeout.connect(self._show_dragged_to)
        line = row(margins=(3, 3, 3, 3), gap=2)
        for name, page_title, _ in PAGES:
            button = TabButton(translate(page_title), "segment")
            button.setObjectName(f"{name}_tab")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, page=name: self.page_selected.emit(page))
            self._group.addButton(button)
            self._buttons[name] = button
            line.addWidget(button)
        self.setLayout(line)
        self._detail: PageDetail = "full"
        self.select("chat")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Let whatever is dragged wait over a page's button until that page is shown."""
        event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Show the page whose button the drag rests on; nothing is dropped here."""
        point = event.position().toPoint()
        page = next((name for name, button in self._buttons.items() if button.geometry().contains(point)), "")
        if page != self._dragged_to:
            self._dragged_to = page
            self._drag_timer.start()
        event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Stay on the page."""
        self._dragged_to = ""
        self._drag_timer.stop()

    def _show_dragged_to(self) -> None:
        if self._dragged_to and not self._buttons[self._dragged_to].isChecked():
            self.page_selected.emit(self._dragged_to)

    def select(self, page: str) -> None:
        """Mark a page as the one that is shown."""
        self._buttons[page].setChecked(True)
        self._show_text()

    def width_at(self, detail: PageDetail) -> int:
        """Width in pixels in a form."""
        metrics = QFontMetricsF(fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.DemiBold))
        titles = [metrics.horizontalAdvance(translate(page_title)) + 4 for _, page_title, _ in PAGES]
        words = 0.0 if detail == "icons" else max(titles) if detail == "current" else sum(titles)
        icon_px = 0 if detail == "words" else scaled(_PAGE_ICON_PX) + ICON_GAP_PX
        # Qt keeps a gap behind an icon; without words it may be squeezed.
        gap = _QT_GAP_PX if detail in ("full", "current") else 0
        return round(words + len(PAGES) * (icon_px + gap + _PADDING_PX)) + 10

    def set_detail(self, detail: PageDetail) -> None:
        """Show icons and words, or one of them where room is narrow."""
        self._detail = detail
        self.setFixedWidth(self.width_at(detail))
        self._show_text()

    def _show_text(self) -> None:
        for name, page_title, _ in PAGES:
            button, title = self._buttons[name], translate(page_title)
            is_worded = self._detail in ("full", "words") or (
                self._detail == "current" and button.isChecked()
            )
            button.setText(title if is_worded else "")
            button.setToolTip("" if is_worded else title)
        self.tint(self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        side = scaled(_PAGE_ICON_PX)
        for name, _, icon_name in PAGES:
            button = self._buttons[name]
            color = theme.accent_text if button.isChecked() else theme.muted
            gap = ICON_GAP_PX if button.text() else 0
            button.setIconSize(QSize(side + ICON_GAP_PX, side))
            button.setIcon(QIcon() if self._detail == "words" else icon(icon_name, color, side, gap=gap))


class TopBar(Themed, QWidget):
    """Title and status at the left, pages, mode and buttons at the right; shortens as the window narrows."""

    page_selected = Signal(str)
    renamed = Signal(str, str)
    """Session id and new title."""

    def __init__(self, actions: WindowActions) -> None:
        """Bind the buttons and their menus to the window's commands."""
        super().__init__()
        self.setObjectName("top_bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._session_id = ""
        self._git_text = NO_GIT
        self._waiting = self._is_demo = False
        self.title = EditableTitle()
        self.title.renamed.connect(lambda name: self.renamed.emit(self._session_id, name))
        actions.rename_session.triggered.connect(self.title.edit)
        self._dot_color = _IDLE_COLOR
        self._dot = Dot("seg_assistant")
        self._badge = Badge(translate(DEMO_BADGE))
        self._badge.setToolTip(tr("Answers come from a built-in script. No model or network is used."))
        self._status = ElidedLabel(role="note")
        self._git = GitLabel()
        self._git.clicked.connect(actions.commit_changes.trigger)
        self.pages = PageSwitch()
        self.pages.page_selected.connect(self.page_selected)
        self.mode = ModeButton(mode_menu(self, actions), actions.next_mode)
        self.inspector = IconButton("panel-right", "")
        keep_tip(actions.toggle_inspector, tr("Context panel"), self.inspector.set_tip)
        self.inspector.clicked.connect(actions.toggle_inspector.trigger)
        self.sidebar = IconButton("panel-left", "")
        keep_tip(actions.toggle_sidebar, tr("Show sidebar"), self.sidebar.set_tip)
        self.sidebar.clicked.connect(actions.toggle_sidebar.trigger)
        self.more = IconButton("ellipsis", tr("More actions"))
        self.more.setMenu(more_menu(self, actions))
        self._arrange()
        self.tint(self._theme)
        self.show_session(None)
        self._status.hide()  # not known yet

    def _arrange(self) -> None:
        status = row(self._dot, self._badge, self._status, self._git, gap=7)
        status.setAlignment(self._dot, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        status.setStretch(2, 1)
        status.addStretch()  # keeps the dot and the badge together where the status has no room
        names = column(None, self.title, status, None, gap=1)
        line = row(self.sidebar, names, self.pages, self.mode, margins=(16, 0, 10, 0), gap=8)
        line.setStretch(1, 1)
        line.addLayout(row(self.inspector, self.more, gap=3))
        for index in range(line.count()):
            item = line.itemAt(index)
            if item is not None and item.widget() is not None:
                item.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(line)

    def tint(self, theme: Theme) -> None:
        """Take the text size in force."""
        super().tint(theme)
        self.setFixedHeight(scaled(_HEIGHT_PX))
        self.title.setFixedHeight(scaled(_TITLE_HEIGHT_PX))
        self.shorten()

    def show_session(self, header: TopBarState | None) -> None:
        """Show a session's title and status, or that none is open."""
        self._session_id = header.session_id if header else ""
        self.title.editable = header is not None
        self.title.set_title(header.title if header else APP_NAME)
        title = ellipsize_title(header.title, _TIP_CAP) if header else ""
        self.title.setToolTip(f"{title}\n{tr('Double-click to rename')}" if header else "")
        self._waiting = header is not None and header.waiting
        self._dot_color = _dot_color_token(header)
        self._dot.set_color_token(self._dot_color)
        self._dot.setVisible(header is not None)
        self._is_demo = header is not None and header.demo
        self._badge.setVisible(self._is_demo)
        self._status.set_full_text(*self._status_texts(header))
        self._status.show()
        self._status.set_note(header.failure if header is not None and not header.running else "")
        for part in (self.pages, self.mode, self.inspector):
            part.setVisible(header is not None)
        self.shorten()

    def status(self) -> str:
        """Return the status line as the user reads it."""
        return self._status.full_text()

    def show_git(self, text: GitText) -> None:
        """Show the git state of the workspace, where no sidebar does."""
        if text != self._git_text:
            self._git_text = text
            self._show_git()

    def show_sidebar_button(self, is_visible: bool) -> None:
        """Show the button that brings the sidebar back, and what the sidebar would say."""
        self.sidebar.setVisible(is_visible)
        self._show_git()

    def _show_git(self) -> None:
        self._git.show_text(self._git_text if self.sidebar.isVisibleTo(self) else NO_GIT)
        self.shorten()

    def show_page(self, page: str) -> None:
        """Mark the page that is shown."""
        self.pages.select(page)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose what fits."""
        super().resizeEvent(event)
        self.shorten()

    @staticmethod
    def _status_texts(header: TopBarState | None) -> tuple[str, ...]:
        """Return the status as text, the longest first."""
        if header is None:
            return (tr("No session open"),)
        if header.waiting:
            state = tr("Waiting for you")
        elif header.running:
            state = tr("Running")
        else:
            state = failure_text(header.budget_spent) if header.failure else tr("Ready")
        model = (header.model,) if header.model and not header.demo else ()
        count = tr.plural(header.messages, "%n message", "%n messages")
        return dotted((state, *model, count)), dotted((state, *model)), state

    def show_mode(self, mode: PermissionMode, *, demo_runs: bool = False) -> None:
        """Show the mode of the session; see ModeButton."""
        self.mode.show_mode(mode, demo_runs=demo_runs)
        self.shorten()

    def shorten(self) -> None:
        """Choose what fits by width: nothing moves because of a longer title."""
        if not self.pages.isVisibleTo(self):
            return
        button_width = scaled(_BUTTON_PX) + 3
        fixed = (
            26
            + self.mode.width_at("word")
            + 3 * 8
            + 2 * button_width
            + (scaled(_BUTTON_PX) + 8 if self.sidebar.isVisibleTo(self) else 0)
        )
        free_width = self.width() - fixed
        scale = fonts.scale(self.font())
        form = next(
            (form for form, least in _DETAILS if free_width - self.pages.width_at(form) >= least * scale),
            _DETAILS[-1][0],
        )
        names = free_width - self.pages.width_at(form)
        self.pages.set_detail(form)
        line = self.layout()
        if line is not None:
            line.setSpacing(3 if form == "icons" else 8)
        has_word = form != "icons" or names >= _TITLE_PX * scale
        self.mode.set_detail("word" if has_word else "icon")
        names += 0 if has_word else self.mode.width_at("word") - self.mode.width_at("icon")
        has_buttons = form != "icons" or names >= _TITLE_PX * scale
        self.inspector.setVisible(has_buttons)
        self._make_room_for_git(names)
        badge = translate(DEMO_BADGE)
        reserved = (_STATE_PX + (_GIT_PX if self._git.isVisibleTo(self) else 0)) * scale
        is_long = names >= self._badge.width_of(badge) + reserved and not self._waiting
        self._badge.set_text(badge if is_long else tr("Demo"))
        room = names + (0 if has_buttons else button_width)
        badge_width = self._badge.sizeHint().width() if self._is_demo else 0
        self._badge.setVisible(self._is_demo and room >= badge_width + _DOT_PX)  # the sidebar says it, too
        fits = room >= badge_width + _DOT_PX + self._status.shortest_width()
        self._status.setVisible(self._waiting or fits)  # the dot says it, too: no part of a word
        is_alone = self._badge.isHidden() and self._status.isHidden()
        self._dot.setVisible(not is_alone or self._dot_color != _IDLE_COLOR)

    def _make_room_for_git(self, width: float) -> None:
        """Show the git state if the session's own leaves room for it, in so many pixels."""
        shortest = self._status.shortest_width() + (self._badge.width_of(tr("Demo")) if self._is_demo else 0)
        is_visible = self._git.has_text and width >= shortest + _GIT_PX * fonts.scale(self.font())
        self._git.setVisible(is_visible and self.sidebar.isVisibleTo(self))
        self._status.setMinimumWidth(self._status.shortest_width() if is_visible else 0)


def _dot_color_token(header: TopBarState | None) -> str:
    """Return the token of the dot before the status."""
    if header is not None and header.waiting:
        return "seg_output"
    if header is not None and header.running:
        return "seg_assistant"
    if header is None or not header.failure:
        return _IDLE_COLOR
    return "warn" if header.budget_spent else "error"
