"""The bar above the center: session title and what is unusual about it, the pages, and buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QFont,
    QFontMetricsF,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QButtonGroup, QLineEdit, QStackedWidget, QWidget

from helix_desktop import APP_NAME
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.buttons import ICON_GAP_PX, IconButton, TabButton, TabList
from helix_desktop.ui.design.cards import Dot
from helix_desktop.ui.design.focus import refocus
from helix_desktop.ui.design.git_label import GitLabel
from helix_desktop.ui.design.labels import ElidedLabel, TextLine
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.commands import WindowCommands, command_button, more_menu
from helix_desktop.ui.kit.intents import RenameSession, ShowPage, ShowWaiting, perform
from helix_desktop.ui.window.workspace_badges import STATES, WorkState, state_words
from helix_desktop.words.git import NO_GIT, GitText
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator, translate

if TYPE_CHECKING:
    from helix_desktop.ui.chat.composer.context_gauge import ContextGauge  # comes with the engine

tr = Translator("Window")
text = TextContext("Window")

_DOT_PX = 22  # of the dot before the session's state, with the gaps around it
_GIT_PX = 120  # room that the git state needs to say something
_DETAILS: tuple[tuple[PageDetail, int], ...] = (("words", 115), ("current", 115), ("icons", 0))
"""What is shown as the bar narrows, and the room in pixels that it must leave to the title."""
_LEAST_TITLE_PX = 80  # room that a button leaves to the title
_TITLE_PX = 140  # room that words about the session leave to it
_HEIGHT_PX = 52  # at 100 %
_TITLE_HEIGHT_PX = 26  # at 100 %
_BUTTON_PX = 30  # at 100 %
_TIP_CAP = 160  # characters of the title in its tooltip


class TopBarState(NamedTuple):
    """The session that is open: title, and what the status line says.

    `reason` says why the newest turn failed, until the next one begins, or why the model's call is repeated.
    """

    session_id: str
    title: str
    model: str
    demo: bool
    messages: int
    state: WorkState = ""
    reason: str = ""


class EditableTitle(QStackedWidget):
    """A title that turns into a field on double click; Enter keeps the new name, Esc the old one.

    After both the keyboard is where it was.
    """

    session_id = ""
    """Whose title it is; without one it can't be edited."""

    def __init__(self) -> None:
        super().__init__()
        self._focused_before: QWidget | None = None
        self.label = ElidedLabel(role="title")
        self.label.setObjectName("session_title")
        self._field = QLineEdit()
        self._field.setProperty("kind", "title")
        self._field.setAccessibleName(tr("Session title"))
        self._field.setMaxLength(1_000)
        self._field.editingFinished.connect(self._finish)
        self.addWidget(self.label)
        self.addWidget(self._field)
        self.setMinimumWidth(1)  # else the field behind it asks for room that a narrow bar has not

    def title(self) -> str:
        return self.label.full_text()

    def edit(self) -> None:
        if not self.session_id:
            return
        if not self.is_editing():
            self._focused_before = QApplication.focusWidget()
        self._field.setText(self.title())
        self._field.selectAll()
        self.setCurrentWidget(self._field)
        self._field.setFocus()

    def is_editing(self) -> bool:
        return self.currentWidget() is self._field

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.edit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.is_editing():
            self._field.setText(self.title())
            self._finish()
            return
        super().keyPressEvent(event)

    def _finish(self) -> None:
        if not self.is_editing():
            return
        had_focus = self._field.hasFocus()
        before = self._focused_before
        self._focused_before = None
        self.setCurrentWidget(self.label)
        if had_focus:
            refocus(before)
        name = self._field.text().strip()
        if name and name != self.title():
            self.label.set_full_text(name)
            perform(self, RenameSession(name, self.session_id))


PageName = Literal["chat", "outputs", "timeline", "changes"]
PAGES: tuple[tuple[PageName, TranslatableText, str], ...] = (
    ("chat", text("Chat"), "message-square"),
    ("outputs", text("Outputs"), "database"),
    ("timeline", text("Timeline"), "history"),
    ("changes", text("Changes"), "diff"),
)

PageDetail = Literal["words", "current", "icons"]
"""How much a page's button shows: the word, or the icon (and the word of the page on screen)."""

_PADDING_PX = 16  # of a page's button, at both sides together, with its border
_PAGE_ICON_PX = 15
_QT_GAP_PX = 4
_DRAG_MS = 400  # that a drag rests over a page's button until the page is shown


class PageSwitch(Themed, TabList):
    def __init__(self) -> None:
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
            button = TabButton(translate(page_title), "segment", name=f"{name}_tab")
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, page=name: perform(self, ShowPage(page)))
            self._group.addButton(button)
            self._buttons[name] = button
            line.addWidget(button)
        self.setLayout(line)
        self._detail: PageDetail = "words"
        self.select("chat")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Let whatever is dragged wait over a page's button until that page is shown."""
        event.accept()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        point = event.position().toPoint()
        page = next((name for name, button in self._buttons.items() if button.geometry().contains(point)), "")
        if page != self._dragged_to:
            self._dragged_to = page
            self._drag_timer.start()
        event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._dragged_to = ""
        self._drag_timer.stop()

    def _show_dragged_to(self) -> None:
        if self._dragged_to and not self._buttons[self._dragged_to].isChecked():
            perform(self, ShowPage(self._dragged_to))

    def select(self, page: str) -> None:
        """Mark the name of a page on screen; none for one that isn't here."""
        self._group.setExclusive(page in self._buttons)
        for name, button in self._buttons.items():
            button.setChecked(name == page)
        self._show_text()

    def width_at(self, detail: PageDetail) -> int:
        metrics = QFontMetricsF(fonts.sized(self.font(), fonts.BASE_PX, QFont.Weight.DemiBold))
        titles = [metrics.horizontalAdvance(translate(page_title)) + 4 for _, page_title, _ in PAGES]
        words = 0.0
        if detail != "icons":
            words = max(titles) if detail == "current" else sum(titles)
        icon_px = 0 if detail == "words" else scaled(_PAGE_ICON_PX) + ICON_GAP_PX
        # Qt keeps a gap behind an icon; without words it may be squeezed.
        gap = _QT_GAP_PX if detail == "current" else 0
        return round(words + len(PAGES) * (icon_px + gap + _PADDING_PX)) + 10

    def set_detail(self, detail: PageDetail) -> None:
        self._detail = detail
        self.setFixedWidth(self.width_at(detail))
        self._show_text()

    def _show_text(self) -> None:
        for name, page_title, _ in PAGES:
            button = self._buttons[name]
            title = translate(page_title)
            is_worded = self._detail == "words" or (self._detail == "current" and button.isChecked())
            button.setText(title if is_worded else "")
            button.setToolTip("" if is_worded else title)
        self.apply_theme()

    def apply_theme(self) -> None:
        super().apply_theme()
        side = scaled(_PAGE_ICON_PX)
        for name, _, icon_name in PAGES:
            button = self._buttons[name]
            color = self._theme.accent_text if button.isChecked() else self._theme.muted
            gap = ICON_GAP_PX if button.text() else 0
            button.setIconSize(QSize(side + ICON_GAP_PX, side))
            button.setIcon(QIcon() if self._detail == "words" else icon(icon_name, color, side, gap=gap))


class _StateLine(TextLine):
    """The state of the session; a click on one that waits shows what it asks, as the keys of answers do."""

    def __init__(self) -> None:
        super().__init__("", 12, role="muted")
        self._is_waiting = False

    def set_waiting(self, is_waiting: bool) -> None:
        self._is_waiting = is_waiting
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_waiting else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._is_waiting and self.rect().contains(event.position().toPoint()):
            perform(self, ShowWaiting())
            return
        super().mouseReleaseEvent(event)


class TopBar(Themed, QWidget):
    def __init__(self, commands: WindowCommands) -> None:
        super().__init__()
        self.setObjectName("top_bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._facts = ""
        self._git_text = NO_GIT
        self._added: QWidget | None = None
        self._page = "chat"
        self._panel = commands.toggle_inspector
        self._panel.toggled.connect(self.shorten)
        self._gauge: ContextGauge | None = None
        self.title = EditableTitle()
        self._dot = Dot("seg_turn")
        self._state = _StateLine()
        self._state.keep_room_for([_words("running"), _words("waiting")])
        self._git = GitLabel()
        self._git.clicked.connect(commands.commit_changes.trigger)
        self.pages = PageSwitch()
        self.panel = command_button(commands.toggle_inspector, "panel-right", tr("Context panel"))
        self.sidebar = command_button(commands.toggle_sidebar, "panel-left", tr("Show sidebar"))
        self.more = IconButton("ellipsis", tr("More actions"))
        self.more.setMenu(more_menu(self, commands))
        state = row(self._dot, self._state, gap=7)
        buttons = row(self.panel, self.more, gap=3)
        parts = (self.sidebar, self.title, self._git, state, self.pages, buttons)
        self._line = row(*parts, margins=(20, 0, 10, 0), gap=8, stretch=1)
        for part in (self.title, self.pages):
            self._line.setAlignment(part, Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(self._line)
        self.apply_theme()
        self.show_session(None)
        self._facts = ""  # not known yet

    def add_button(self, button: QWidget) -> None:
        """Put a button before the pages, where it comes and goes without moving them."""
        self._added = button
        self._line.insertWidget(self._line.indexOf(self.pages), button)

    def add_gauge(self, gauge: ContextGauge) -> None:
        """Show how full the context is where neither the panel nor the composer's line says it."""
        self._gauge = gauge
        self._line.insertWidget(self._line.indexOf(self.pages), gauge)
        self.shorten()

    def show_page(self, page: str) -> None:
        self._page = page
        self.pages.select(page)
        self.shorten()

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(_HEIGHT_PX))
        self.title.setFixedHeight(scaled(_TITLE_HEIGHT_PX))
        self.shorten()

    def show_session(self, header: TopBarState | None) -> None:
        self.title.session_id = header.session_id if header else ""
        self.title.label.set_full_text(header.title if header else APP_NAME)  # an edit that goes on is kept
        self._facts = _facts(header)
        title = ellipsize_title(header.title, _TIP_CAP) if header else ""
        tip = f"{title}\n{self._facts}\n{tr('Double-click to rename')}" if header else ""
        self.title.setToolTip(plain_tooltip(tip))
        self.title.label.setAccessibleDescription(self._facts)
        words, color = _state(header)
        self._dot.set_color_token(color)
        self._state.set_text(words)
        self._state.set_waiting(header is not None and header.state == "waiting")
        self._state.set_note(header.reason if header is not None else "")
        for part in (self.pages, self.panel):
            part.setVisible(header is not None)
        self.shorten()

    def status(self) -> str:
        return self._facts

    def show_git(self, text: GitText) -> None:
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.shorten()

    def shorten(self) -> None:
        """Choose what fits by width: nothing moves because of a longer title."""
        has_pages = self.pages.isVisibleTo(self)
        button_width = scaled(_BUTTON_PX) + 3
        scale = fonts.scale(self.font())
        fixed = 30 + 8 + 2 * button_width + (scaled(_BUTTON_PX) + 8 if self.sidebar.isVisibleTo(self) else 0)
        free_width = self.width() - fixed
        if has_pages:
            rooms = {form: free_width - self.pages.width_at(form) for form, _ in _DETAILS}
            fitting = (form for form, least in _DETAILS if rooms[form] >= least * scale)
            form = next(fitting, _DETAILS[-1][0])
            self.pages.set_detail(form)
            self._line.setSpacing(3 if form == "icons" else 8)
            free_width = rooms[form]
            has_buttons = form != "icons" or free_width >= _LEAST_TITLE_PX * scale
            self.panel.setVisible(has_buttons)
            free_width += 0 if has_buttons else button_width
        if self._gauge is not None:
            is_said = self._page == "chat" or self._panel.isChecked() or not has_pages
            self._gauge.fit(0 if is_said else round(free_width - _LEAST_TITLE_PX * scale))
        self._show_what_fits(free_width - _TITLE_PX * scale)

    def _show_what_fits(self, room: float) -> None:
        """Show state and git, in this order, as far as some pixels beside the title last."""
        for part in (self._gauge, self._added):
            if part is not None and part.isVisibleTo(self):
                room -= part.sizeHint().width() + 8
        words = self._state.text
        has_state = bool(self.title.session_id)
        state_px = self._state.sizeHint().width() + _DOT_PX if has_state else 0
        for part, keeps_room in ((self._dot, has_state), (self._state, has_state and room >= state_px)):
            policy = part.sizePolicy()  # so that the title stays as it is
            policy.setRetainSizeWhenHidden(keeps_room)
            part.setSizePolicy(policy)
        self._dot.setVisible(bool(words))  # it says it, too: no part of a word
        self._state.setVisible(bool(words) and room >= state_px)
        room -= state_px
        self._git.setVisible(self._git.has_text and room >= _GIT_PX * fonts.scale(self.font()))


def _facts(header: TopBarState | None) -> str:
    if header is None:
        return tr("No session open")
    state = _state(header)[0].removesuffix("…") or tr("Ready")
    model = (header.model,) if header.model and not header.demo else ()
    return dotted((state, *model, tr.plural(header.messages, "%n message", "%n messages")))


def _state(header: TopBarState | None) -> tuple[str, str]:
    """Return the state of a session while it isn't the usual one, and the token of its dot's color."""
    if header is None or not header.state:
        return "", "border_strong"
    return _words(header.state), STATES[header.state].dot


def _words(state: WorkState) -> str:
    words = state_words(state)
    return f"{words}…" if state in ("running", "retrying") else words
