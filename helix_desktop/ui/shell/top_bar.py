"""The bar above the center: session title and status, the pages, the context gauge, and buttons."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QResizeEvent,
)
from PySide6.QtWidgets import QWidget

from helix_desktop import APP_NAME
from helix_desktop.domain.choices import PermissionMode
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.git_label import GitLabel
from helix_desktop.ui.design.labels import ElidedLabel
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.pill import Badge, Dot
from helix_desktop.ui.design.shell_data import GaugeDetail, GaugeState, TopBarState
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.shell.actions import WindowActions, keep_tip
from helix_desktop.ui.shell.context_gauge import ContextGauge
from helix_desktop.ui.shell.editable_title import EditableTitle
from helix_desktop.ui.shell.menus import mode_menu, more_menu
from helix_desktop.ui.shell.mode_button import ModeButton
from helix_desktop.ui.shell.page_switch import PageDetail, PageSwitch
from helix_desktop.words.direction import dotted
from helix_desktop.words.failed_turns import failure_text
from helix_desktop.words.git import NO_GIT, GitText
from helix_desktop.words.translation import Translator, translate

text = TextContext("Window")
tr = Translator("Window")

DEMO_BADGE = text("Offline demo model")


_IDLE_COLOR = "border_strong"  # of the dot of a session that has nothing to say
_DOT_PX = 22  # of the dot before the session's state, with the gaps around it
_STATE_PX = 80  # room behind the demo badge for the session's state
_GIT_PX = 120  # room that the git state needs to say something
_DETAILS: tuple[tuple[GaugeDetail, PageDetail, int], ...] = (
    ("to_compaction", "full", 420),
    ("tokens", "full", 320),
    ("share", "full", 240),
    ("share", "words", 190),
    ("share", "current", 115),
    ("share", "icons", 0),
    ("percent", "icons", -10_000),
)
"""What is shown as the bar narrows, and the room in pixels that it must leave to the title."""
_TITLE_PX = 80
"""Room below which the title takes that of the mode's word, then of two buttons: all are elsewhere, too."""
_HEIGHT_PX, _TITLE_HEIGHT_PX, _BUTTON_PX = 57, 26, 30  # at 100 %
_TIP_CAP = 160  # characters of the title in its tooltip


class TopBar(Themed, QWidget):
    """Title and status at the left, pages, gauge and buttons at the right; shortens as the window narrows."""

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
        self._waiting = self._is_demo = self._has_inspector = False
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
        self.gauge = ContextGauge()
        self.gauge.clicked.connect(actions.toggle_inspector.trigger)
        self.gauge.addActions(
            (
                *(actions.toggle_inspector, actions.hold_compaction, actions.compact_now),
                *(actions.undo_compaction, actions.redo_compaction, actions.change_policy),
            )
        )
        self.mode = ModeButton(mode_menu(self, actions), actions.next_mode)
        self.compact = IconButton("layers", "")
        keep_tip(actions.compact_now, tr("Compact conversation"), self.compact.set_tip)
        self.compact.clicked.connect(actions.compact_now.trigger)
        self.inspector = IconButton("panel-right", "")
        keep_tip(actions.toggle_inspector, tr("Context inspector"), self.inspector.set_tip)
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
        line = row(self.sidebar, names, self.pages, self.gauge, self.mode, margins=(16, 0, 10, 0), gap=8)
        line.setStretch(1, 1)
        line.addLayout(row(self.compact, self.inspector, self.more, gap=3))
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
        for part in (self.pages, self.gauge, self.mode, self.compact, self.inspector):
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

    def show_inspector_open(self, is_open: bool) -> None:
        """Note whether the inspector, which has the gauge's bar in large, is open."""
        self._has_inspector = is_open
        self.shorten()

    def _show_git(self) -> None:
        self._git.show_text(self._git_text if self.sidebar.isVisibleTo(self) else NO_GIT)
        self.shorten()

    def show_gauge(self, state: GaugeState) -> None:
        """Show how full the window is."""
        self.gauge.show_state(state)

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
        """Choose what fits by width and inspector: nothing moves because of a longer number or title."""
        if not self.gauge.isVisibleTo(self):
            return
        button_width = scaled(_BUTTON_PX) + 3
        fixed = (
            26
            + self.mode.width_at("word")
            + 4 * 8
            + 3 * button_width
            + (scaled(_BUTTON_PX) + 8 if self.sidebar.isVisibleTo(self) else 0)
        )
        free_width = self.width() - fixed
        scale = fonts.scale(self.font())
        detail, form, min_width = _DETAILS[-1]
        names = 0
        for detail, form, min_width in _DETAILS:
            names = free_width - self.gauge.reserved_width(detail) - self.pages.width_at(form)
            if names >= min_width * scale:
                break
        if self._has_inspector and detail == "share":  # the bar stands in there, in large
            names += self.gauge.reserved_width(detail) - self.gauge.reserved_width("percent")
            detail = "percent"
        self.gauge.set_detail(detail)
        self.pages.set_detail(form)
        line = self.layout()
        if line is not None:
            line.setSpacing(3 if form == "icons" else 8)
        has_word = form != "icons" or names >= _TITLE_PX * scale
        self.mode.set_detail("word" if has_word else "icon")
        names += 0 if has_word else self.mode.width_at("word") - self.mode.width_at("icon")
        has_buttons = form != "icons" or names >= _TITLE_PX * scale
        for button in (self.compact, self.inspector):
            button.setVisible(has_buttons)
        self._make_room_for_git(names)
        badge = translate(DEMO_BADGE)
        reserved = (_STATE_PX + (_GIT_PX if self._git.isVisibleTo(self) else 0)) * scale
        is_long = names >= self._badge.width_of(badge) + reserved and not self._waiting
        self._badge.set_text(badge if is_long else tr("Demo"))
        room = names + (0 if has_buttons else 2 * button_width)
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
