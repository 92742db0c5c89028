"""The window's frame: menus, rail, sidebar, top bar, center, panel; shows places, forwards intents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QCursor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QMoveEvent,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWhatsThisClickedEvent,
)
from PySide6.QtWidgets import QFrame, QGridLayout, QMainWindow, QStackedWidget, QWidget

from helix_desktop import APP_NAME
from helix_desktop.domain.text_format import ellipsize_title
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.design.drops import DragContent, DropHint, answer_drag, read_drag
from helix_desktop.ui.design.focus import TabsInReadingOrder, refocus
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import LazyPage, PageArea, column, pane, row
from helix_desktop.ui.design.style.stylesheet import Appearance, ThemeMode
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.commands import (
    OPEN_SESSION,
    OPEN_WORKSPACE,
    OTHER_PAGE,
    OUTSIDE_SETTINGS,
    SEEN_IN_SESSION,
    WindowCommands,
    fill_menu_bar,
)
from helix_desktop.ui.kit.intents import Intent, IntentHandlers, handles, perform
from helix_desktop.ui.kit.notices import NoticeArea
from helix_desktop.ui.window.key_bindings import KeyBindings, focus_pane, press_key
from helix_desktop.ui.window.panes import LayoutStore, Panes
from helix_desktop.ui.window.sidebar.rail import Rail
from helix_desktop.ui.window.sidebar.sidebar import Sidebar
from helix_desktop.ui.window.status_lines import JobLines, WaitingSession, WaitingSessionsLine, waiting_text
from helix_desktop.ui.window.top_bar import TopBar, TopBarState
from helix_desktop.ui.window.workspace_badges import WorkspaceRow
from helix_desktop.words.git import NO_GIT
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:
    from helix_desktop.ui.changes.page import ChangesPage
    from helix_desktop.ui.chat.page import ChatPage
    from helix_desktop.ui.comparison.page import ComparisonPage
    from helix_desktop.ui.kit.session import Session
    from helix_desktop.ui.onboarding.pages import Places
    from helix_desktop.ui.outputs.page import OutputsPage
    from helix_desktop.ui.panel.view import ContextPanel
    from helix_desktop.ui.timeline.page import Timeline
    from helix_desktop.ui.window.command_list import HelpWindows
    from helix_desktop.ui.window.picker import Picker
    from helix_desktop.ui.window.session_cost import CostLine

__all__ = ["CenterPage", "LayoutStore", "MainWindow", "WindowPages"]

tr = Translator("Window")

CenterPage = Literal["opening", "welcome", "missing", "closed", "empty", "work"]
"""In the center: what is being opened, first run, a missing folder, a closed workspace, an empty one, or a
session."""

_SECOND_ESC_MS = 2_500
_LAYOUT_PAUSE_MS = 800
_MIN_SIZE = (560, 420)
_FIRST_SIZE = (1440, 900)
_NEAR_PX = 24  # above a notice, where it would come too near to the mouse


class OpeningPage(QWidget):
    """Empty until it knows what is being opened."""

    def __init__(self) -> None:
        """Part of the first frame: no more than labels."""
        super().__init__()
        self._icon = IconLabel("loader-circle", px=18, color_token="muted")
        self._title = label("", "title")
        self._words = label("", "muted", wrap=True)
        self._words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        head = row(None, self._icon, self._title, None, gap=9)
        self.setLayout(column(None, head, self._words, None, margins=(32, 24, 32, 40), gap=8))
        self.show_workspace("")

    def show_workspace(self, name: str, repairing: bool = False) -> None:
        """Say which workspace is being opened, and that it is repaired if it is; no name: nothing."""
        title = tr("Repairing {workspace}…", workspace=name) if repairing else ""
        self._title.setText(title or (tr("Opening {workspace}…", workspace=name) if name else ""))
        self._icon.setVisible(bool(name))
        why = tr("Its data was damaged. What is intact is recovered; the damaged files are kept as they are.")
        self._words.setText(why if repairing else "")

    def show_sample(self) -> None:
        self._title.setText(tr("Opening the sample…"))
        self._icon.show()

    def text(self) -> str:
        return "\n".join(filter(None, (self._title.text(), self._words.text())))


class WindowDrops(QObject):
    """Takes what no part of the window takes itself."""

    def __init__(self, window: QWidget, covered: QWidget) -> None:
        """`covered` is the part of the window that says what a drop does."""
        super().__init__(window)
        self.hint = DropHint(covered)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent):
            dragged = read_drag(event.mimeData())
            is_taken = bool(dragged.folders or dragged.archive)
            self.hint.show_text(_words(dragged), is_refusal=not is_taken)
            answer_drag(event, is_accepted=True)
        elif isinstance(event, QDragMoveEvent):
            answer_drag(event, is_accepted=not self.hint.is_refusal)
        elif isinstance(event, QDropEvent):
            self.hint.hide()
            dragged = read_drag(event.mimeData())
            answer_drag(event, is_accepted=bool(dragged.folders or dragged.archive))
            if dragged.folders:
                perform(self, intents.OpenFolder(str(dragged.folders[0])))
            elif dragged.archive is not None:
                perform(self, intents.ImportArchive(dragged.archive))
        elif event.type() is QEvent.Type.DragLeave:
            self.hint.hide()
        else:
            return False
        return True


def _words(dragged: DragContent) -> str:
    """Return what a drop on the window does, or why it does nothing."""
    if dragged.folders:
        folder = escape_hidden_name(dragged.folders[0].name)
        return tr("Drop to open “{folder}” as a workspace", folder=folder)
    if dragged.archive is not None:
        return tr("Drop to import “{file}”", file=escape_hidden_name(dragged.archive.name))
    if dragged.is_for_message:
        return tr("Only a folder can be opened here. Drop files, text and outputs on the chat.")
    return tr("Only files, folders, images and text can be dropped.")


class WindowPages:
    """The widgets that fill the center and the panel pane; all but chat and panel are built late."""

    def __init__(
        self,
        chat: ChatPage,
        panel: ContextPanel,
        build_outputs: Callable[[], OutputsPage],
        build_timeline: Callable[[], Timeline],
        build_changes: Callable[[], ChangesPage],
        build_comparison: Callable[[], ComparisonPage],
    ) -> None:
        self.chat = chat
        self.panel = panel
        self.outputs = LazyPage(build_outputs)
        self.timeline = LazyPage(build_timeline)
        self.changes = LazyPage(build_changes)
        self.comparison = LazyPage(build_comparison)


class MainWindow(TabsInReadingOrder, QMainWindow):
    """Owns the parts and what moves between them.

    It can be shown as soon as it is made: the frame comes first, `add_pages` adds what takes longer.
    """

    closing = Signal()
    """The user wants to close this window; call `allow_close` when everything has ended."""
    layout_changed = Signal()
    """Sizes, panes or the window's place changed, a moment ago; they are in the memory."""
    title_changed = Signal()
    """`title` says something else now: the windows of one app show theirs together."""
    activated = Signal()
    """The window is in front now: folders and files may have changed meanwhile."""
    first_frame = Signal()
    stop_offered = Signal(bool)
    """The agent runs and Esc was pressed: a second one stops it; False when it is too late for that."""
    page_shown = Signal(str)
    settings_left = Signal()
    """The settings are not on screen any more, and the keyboard is where it is to stay."""

    def __init__(self, layout_store: LayoutStore) -> None:
        super().__init__()
        self.setWindowTitle(APP_NAME)
        self.setMinimumSize(*_MIN_SIZE)
        self.layout_store = layout_store
        self._may_close = False
        self._has_painted = False
        self._second_esc = QTimer(self, singleShot=True, interval=_SECOND_ESC_MS)
        self._second_esc.timeout.connect(lambda: self.stop_offered.emit(False))
        self._center_page: CenterPage = "opening"
        self._pages: Mapping[str, LazyPage[Any]] = {}
        self._is_settings_shown = False
        self._focused_before: QWidget | None = None  # the settings
        self._workspace_lists: tuple[tuple[WorkspaceRow, ...], tuple[str, ...]] | None = None
        self.intents = IntentHandlers()
        self.commands = WindowCommands(self)
        self.key_bindings = KeyBindings(self.commands)
        self.rail = Rail(self.commands)
        self.sidebar = Sidebar(self.commands)
        self.top_bar = TopBar(self.commands)
        self.notices = NoticeArea()
        self.jobs = JobLines()
        self.top_bar.add_button(self.notices.folded)
        self.waiting_sessions = WaitingSessionsLine()
        self._waiting: tuple[Sequence[WaitingSession], str] = ((), "")  # for the user, and which is on screen
        self._workspace_name = self._session_title = ""
        self.pages: WindowPages
        self.places: Places
        self.help_windows: HelpWindows
        self.cost_line: CostLine
        self._settings_names: QWidget
        self._settings_head: QWidget | None = None
        self.picker: Picker
        self.session: Session  # once it has one
        self._appearance: Appearance
        self._center = PageArea()
        self.panel_pane = QFrame()
        self._side = QWidget()  # the sidebar, or the settings' names
        self._main = PageArea()  # the center, or the settings' pages
        self.opening_page = OpeningPage()  # on screen until there is something to show
        self._center.addWidget(self.opening_page)
        self.session_pages = QStackedWidget()
        self._center.addWidget(self.session_pages)
        self._panes = self._arrange()
        self._layout_timer = QTimer(self, singleShot=True, interval=_LAYOUT_PAUSE_MS)
        self._layout_timer.timeout.connect(self._save_layout)
        self._panes.changed.connect(self._layout_timer.start)
        self.drops = WindowDrops(self, self._main)
        fill_menu_bar(self.menuBar(), self.commands)
        self._panes.panes_shown.connect(self._show_panes)
        self.intents.add(self)
        self.intents.add(self._panes)
        self.resize(*_FIRST_SIZE)
        geometry = layout_store.load("geometry")
        if geometry:
            self.restoreGeometry(QByteArray(geometry))
        self._panes.set_available(sidebar=True, panel=False)

    def add_pages(self, pages: WindowPages) -> None:
        """Put in the pages, the places without a session, and the panels; none of them is shown yet.

        Pages that are built in `session_pages` and `panel_pane` come in faster: Qt styles all that is
        in a widget again when that gets a parent.
        """
        from helix_desktop.ui.onboarding.pages import Places
        from helix_desktop.ui.window.command_list import HelpWindows
        from helix_desktop.ui.window.picker import Picker
        from helix_desktop.ui.window.session_cost import CostLine

        self.cost_line = CostLine()
        self._page_column.addWidget(self.cost_line)
        self.places = Places(self._center, self.commands.new_session)
        self.help_windows = HelpWindows(self, self.key_bindings, self.layout_store)
        self.intents.add(self.help_windows)
        self.picker = Picker(self, self.help_windows.command_list)
        self.intents.add(self.picker)
        self.sidebar.add_session_list()
        self.key_bindings.add_page(self.sidebar.session_list.keys)
        self.pages = pages
        self.session_pages.addWidget(pages.chat)
        self._pages = {
            "chat": LazyPage(lambda: pages.chat),
            "outputs": pages.outputs,
            "timeline": pages.timeline,
            "changes": pages.changes,
            "comparison": pages.comparison,
        }
        self._pages["chat"].get()
        for area, lazy_pages in ((self.session_pages, self._pages), (self._center, vars(self.places))):
            for lazy_page in lazy_pages.values():
                lazy_page.when_built(partial(self._add_page, area))
        self.panel_pane.setLayout(column(pages.panel))
        self.notices.appears.connect(lambda: self._place_news(self.page()))
        self.show_center_page("opening")
        self.help_windows.hide_followed_links()

    def _add_page(self, area: QStackedWidget, page: QWidget) -> None:
        area.addWidget(page)
        self.help_windows.hide_followed_links()

    def _arrange(self) -> Panes:
        center = QFrame()
        center.setObjectName("center")
        self._page_column = column(self._center, gap=0)
        self._main.addWidget(pane(self._page_column))
        # What comes and goes by itself lies over the page, and moves nothing.
        body = self._body = QGridLayout()
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(0)
        body.addWidget(self._main, 0, 0, 3, 2)
        body.setRowStretch(1, 1)
        body.setColumnStretch(0, 1)
        self._place_news("chat")
        self._center_column = column(self.top_bar, body, gap=0)
        center.setLayout(self._center_column)
        self._main.lower()
        center.setMinimumWidth(356)
        self.panel_pane.setObjectName("panel_pane")
        self.panel_pane.setMinimumWidth(264)
        self._side.setLayout(column(self.sidebar, gap=0))
        panes = Panes(self._side, center, self.panel_pane, self.layout_store)
        self.setCentralWidget(pane(row(self.rail, panes, gap=0, stretch=1)))
        return panes

    def perform(self, intent: Intent) -> None:
        """Do what the user wants: the one way up for all parts of the window, its dialogs and its keys."""
        if intent in SEEN_IN_SESSION:
            self.leave_settings()
        self.intents.perform(intent)

    @handles(intents.PressKey)
    def press_key(self, key: str) -> None:
        press_key(key)

    @handles(intents.FocusPane)
    def focus_pane(self, step: int) -> None:
        head = () if self._settings_head is None else (self._settings_head,)
        focus_pane((self.rail, self._side, *head, self._main, self.panel_pane), step)

    @handles(intents.RenameSession)
    def edit_title(self, title: str, session_id: str) -> None:
        """Let the user edit the session's title in its place, unless it was typed already."""
        if not title:
            self.top_bar.title.edit()

    def bind_appearance(self, appearance: Appearance) -> None:
        """Take theme and text size from the application's appearance, and let menus and rail choose them."""
        commands = self.commands
        modes = {"system": commands.theme_system, "light": commands.theme_light, "dark": commands.theme_dark}

        def take() -> None:
            modes[appearance.mode].setChecked(True)
            self._fit_panes()
            self.top_bar.shorten()  # no resize tells it of larger text

        self._appearance = appearance
        appearance.changed.connect(take)
        appearance.apply_stylesheet()
        if self.font().pixelSize() != appearance.text_px:
            # Built before the appearance: Qt sets such a window's font only under a style sheet.
            appearance.apply_stylesheet()

    @handles(intents.SetTheme)
    def choose_theme(self, mode: ThemeMode) -> None:
        self._appearance.set_mode(mode)

    @handles(intents.Zoom)
    def zoom(self, steps: int) -> None:
        """Make all texts larger (1) or smaller (-1), or of normal size (0)."""
        self._appearance.zoom(steps)

    def show_workspaces(self, workspaces: Sequence[WorkspaceRow], recent_ids: Sequence[str] = ()) -> None:
        """Show the workspaces in rail, header and picker: there those of `recent_ids` first."""
        lists = (tuple(workspaces), tuple(recent_ids))
        if lists == self._workspace_lists:
            return  # every event of a session asks for it
        self._workspace_lists = lists
        self.rail.show_workspaces(workspaces)
        self.picker.show_workspaces(workspaces, recent_ids)
        active = next((workspace for workspace in workspaces if workspace.active), None)
        self.sidebar.show_workspace(active.name if active else "")
        for place in (self.sidebar, self.top_bar):
            place.show_git(active.git if active else NO_GIT)
        self._workspace_name = active.name if active else ""
        self.title_changed.emit()
        self.layout_store.save("workspace", active.name.encode() if active else b"")
        self._layout_timer.start()

    def show_waiting_sessions(self, sessions: Sequence[WaitingSession], on_screen: str) -> None:
        """Say in the title and below the center which sessions wait for the user.

        `on_screen` is the session that the user sees, or its parent: its own card says that it waits.
        """
        self._waiting = sessions, on_screen
        self._show_waiting()
        self.title_changed.emit()

    def _show_waiting(self) -> None:
        sessions, on_screen = self._waiting
        self.waiting_sessions.show_sessions(
            [session for session in sessions if self._is_settings_shown or session.session_id != on_screen]
        )

    def show_session(self, state: TopBarState | None) -> None:
        """Say in the top bar and the title which session is on screen; None: none is."""
        self.top_bar.show_session(state)
        self._session_title = ellipsize_title(state.title) if state is not None else ""
        self.title_changed.emit()

    def title(self, *, names_session: bool) -> str:
        """Return what the window's title says, with the session where other windows are open."""
        name = self._workspace_name
        count = len(self._waiting[0])
        title = tr("{workspace} — Helix Desktop", workspace=name) if name else APP_NAME
        parts = (waiting_text(count) if count else "", self._session_title if names_session else "", title)
        return " · ".join(filter(None, parts))

    def number_title(self, title: str, number: int) -> None:
        """Tell this window from others with the same title; the first of them has the number 1."""
        self.setWindowTitle(tr("{title} ({number})", title=title, number=number) if number > 1 else title)

    def last_workspace(self) -> str:
        return self.layout_store.load("workspace").decode(errors="ignore")

    @property
    def is_opening(self) -> bool:
        return self._center_page == "opening"

    def announce(self, workspace_name: str) -> None:
        """Say in the first frame which workspace is being opened; empty if that is not known."""
        self.opening_page.show_workspace(workspace_name)
        if workspace_name:
            self.sidebar.announce(workspace_name)

    def show_opening(self, workspace_name: str, repairing: bool = False) -> None:
        self.opening_page.show_workspace(workspace_name, repairing)
        self.show_center_page("opening")

    def show_center_page(self, center_page: CenterPage) -> None:
        self._center_page = center_page
        built = {"opening": self.opening_page, "work": self.session_pages}
        self._center.setCurrentWidget(built.get(center_page) or vars(self.places)[center_page].get())
        self.commands.set_met(OPEN_SESSION, center_page == "work")
        self.commands.set_met(OPEN_WORKSPACE, center_page in {"empty", "work"})
        self._enable_close_page()
        self._panes.set_available(sidebar=center_page != "welcome", panel=center_page == "work")

    @handles(intents.ShowPage)
    def show_page(self, name: str) -> None:
        """Show chat, outputs, timeline, changes or comparison, with which the next start doesn't begin."""
        self.session_pages.setCurrentWidget(self._pages[name].get())
        self.top_bar.show_page(name)
        leaves_settings = self._is_settings_shown
        self._set_settings_shown(False)
        self._enable_close_page()
        if name != "comparison":
            self.layout_store.save("page", name.encode())
        self._place_news(self.page())
        self._layout_timer.start()
        self.page_shown.emit(name)
        if leaves_settings:
            self.settings_left.emit()

    def _place_news(self, page: str) -> None:
        """Keep jobs, waiting sessions and notices off a toolbar or a chart that a page begins with.

        A notice comes at the top there if the mouse is at the bottom: the user may be about to click again.
        """
        is_text = page in ("chat", "settings")
        top = Qt.AlignmentFlag.AlignTop
        bottom = Qt.AlignmentFlag.AlignBottom
        edge = top if is_text else bottom
        line = 0 if is_text else 2
        self._body.addWidget(self.jobs, line, 0)
        self._body.addWidget(self.waiting_sessions, line, 1, edge)
        mouse = self._center.mapFromGlobal(QCursor.pos())
        high = self.notices.heightForWidth(self._center.width()) + _NEAR_PX
        is_low = self._center.rect().contains(mouse) and mouse.y() > self._center.height() - high
        notices_edge = top if is_text or is_low else bottom
        self._body.addWidget(self.notices, 1, 0, 1, 2, Qt.AlignmentFlag.AlignHCenter | notices_edge)

    def focus_page(self, name: str) -> None:
        """Give the keyboard to a page that is shown, or Qt hands it to whatever comes next."""
        page: QWidget = self._pages[name].get()
        if name == "chat":
            page = self.pages.chat.composer.editor
        elif name == "outputs":
            page = self.pages.outputs.get().table
        page.setFocus(Qt.FocusReason.OtherFocusReason)

    def take_typed_text(self) -> None:
        """Give the keyboard to the page of a session that was chosen in the list, and what was typed."""
        typed = self.sidebar.session_list.take_typed_text()
        page = self.page()
        if typed is None or page == "settings":
            return
        self.focus_page(page)
        if page == "chat":
            self.pages.chat.composer.editor.type_text(typed)

    def last_page(self) -> str:
        name = self.layout_store.load("page").decode("ascii", "ignore")
        return name if name in self._pages else "chat"

    def page(self) -> str:
        return "settings" if self._is_settings_shown else self._session_page()

    def _session_page(self) -> str:
        shown = self.session_pages.currentWidget()
        return next(name for name, page in self._pages.items() if page.find() is shown)

    def add_settings(self, names: QWidget, head: QWidget, pages: QWidget) -> None:
        """Put in the settings: the names of their pages at the place of the sidebar, and the pages.

        Where there is no room for a sidebar, `head` above the pages leads to them.
        """
        names.hide()
        side = self._side.layout()
        assert side is not None
        side.addWidget(names)
        head.hide()
        self._center_column.insertWidget(0, head)  # no notice covers it
        self._main.addWidget(pages)
        self._settings_names = names
        self._settings_head = head

    def show_settings(self) -> None:
        """Show the settings in place of the session; the keyboard is nowhere then."""
        if not self._is_settings_shown:
            focused = self.focusWidget()
            self._focused_before = focused if focused is not self else None
            self._set_settings_shown(True)

    def leave_settings(self) -> None:
        """Show what was on screen before the settings, with the keyboard where it was."""
        if not self._is_settings_shown:
            return
        before = self._focused_before
        self._focused_before = None
        self._set_settings_shown(False)
        if self._center_page == "work":
            self.page_shown.emit(self._session_page())
        refocus(before)
        self.settings_left.emit()

    def _set_settings_shown(self, is_shown: bool) -> None:
        if is_shown == self._is_settings_shown:
            return
        self._is_settings_shown = is_shown
        self.setFocus(Qt.FocusReason.OtherFocusReason)  # else it goes to any control that stays in sight
        self.sidebar.setVisible(not is_shown)
        self._settings_names.setVisible(is_shown)
        self._main.setCurrentIndex(int(is_shown))
        self.top_bar.setVisible(not is_shown)
        self._panes.show_sidebar_alone(is_shown)
        self.rail.settings_button.setChecked(is_shown)
        self.commands.set_met(OUTSIDE_SETTINGS, not is_shown)
        self._enable_close_page()
        self._place_news(self.page())
        self._show_waiting()

    @handles(intents.ClosePage)
    def close_page(self) -> None:
        if self._is_settings_shown:
            self.leave_settings()
        else:
            self.show_page("chat")

    def _enable_close_page(self) -> None:
        is_side_page = self._center_page == "work" and self._session_page() != "chat"
        self.commands.set_met(OTHER_PAGE, self._is_settings_shown or is_side_page)

    def allow_close(self) -> None:
        """Close and end: everything that the window showed has ended."""
        self._may_close = True
        self.close()

    def event(self, event: QEvent) -> bool:
        """Show the guide's topic that a "What is this?" in the window or one of its dialogs asks for."""
        if isinstance(event, QWhatsThisClickedEvent):
            self.help_windows.show_topic(event.href())
            return True
        return super().event(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._save_layout()
        if self._may_close:
            self._layout_timer.stop()
            if self._pages:  # it may close before it has any
                self.help_windows.close()
            event.accept()
            return
        event.ignore()
        self.closing.emit()

    def _save_layout(self) -> None:
        self.layout_store.save("geometry", bytes(self.saveGeometry().data()))
        self._panes.save()
        self.layout_changed.emit()

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._layout_timer.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kind = event.type()
        if kind == QEvent.Type.WindowStateChange:
            self._layout_timer.start()
        elif kind == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.activated.emit()

    def showEvent(self, event: QShowEvent) -> None:
        """Keep the first focus off the rail, where Qt would put it and paint a ring that nobody asked for."""
        super().showEvent(event)
        if self.focusWidget() is None:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Escape or event.isAutoRepeat():
            super().keyPressEvent(event)
            return
        if self._is_settings_shown:
            self.leave_settings()
            return
        if not self.commands.stop.isEnabled():
            return
        is_second = self._second_esc.isActive()
        self.stop_offered.emit(not is_second)
        if is_second:
            self._second_esc.stop()
            self.perform(intents.StopAgent())
        else:
            self._second_esc.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._has_painted:
            self._has_painted = True
            self.first_frame.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_panes()
        self._layout_timer.start()

    def _fit_panes(self) -> None:
        """Show what there is room for; the keyboard goes along from the names of the settings' pages."""
        focused = self.focusWidget()
        self._panes.fit(self.width())
        if focused is None or self._settings_head is None:
            return
        names = self._settings_names
        head = self._settings_head
        for left, other in ((names, head), (head, names)):
            if left.isAncestorOf(focused) and not left.isVisible():
                other.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_panes(self, sidebar: bool, panel: bool) -> None:
        if self._settings_head is not None:
            self._settings_head.setVisible(self._is_settings_shown and not sidebar)
        self.top_bar.show_sidebar_button(not sidebar and self._center_page != "welcome")
        self.commands.toggle_sidebar.setChecked(sidebar)
        self.commands.toggle_inspector.setChecked(panel)
