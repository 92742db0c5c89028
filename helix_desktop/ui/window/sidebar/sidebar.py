"""The pane next to the rail: the workspace's name, its sessions, and the size of its cache."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QFrame, QStackedWidget, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import mark_pane_stop
from helix_desktop.ui.design.git_label import GitLabel
from helix_desktop.ui.design.key_names import tip_with_key
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import column, pane, row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.commands import WindowCommands, action_shortcut, command_button
from helix_desktop.ui.kit.intents import SearchEverything, perform
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:
    from helix_desktop.ui.window.sidebar.session_list import SessionItem, SessionList

tr = Translator("Window")

_LIST, _EMPTY, _NOTHING_FOUND, _CLOSED, _UNKNOWN = range(5)


class _NameButton(PushButton):
    def __init__(self, switch: QAction) -> None:
        super().__init__("", "name")
        self._switch = switch
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._title = ""
        switch.changed.connect(self._update_tip)

    def show_name(self, name: str) -> None:
        self.setAccessibleName(
            tr("Workspace {name}. Switch workspace", name=name) if name else tr("Choose workspace")
        )
        self._title = title = name or tr("No workspace")
        self.setText(self.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, 150))
        self.show()
        self._update_tip()

    def _update_tip(self) -> None:
        self.setToolTip(
            f"{self._title}\n{tip_with_key(tr('Switch workspace'), action_shortcut(self._switch))}"
        )

    def apply_theme(self) -> None:
        side = scaled(15)
        self.setIcon(icon("chevron-down", self._theme.muted, side))
        self.setIconSize(QSize(side, side))


class Sidebar(QFrame):
    def __init__(self, commands: WindowCommands) -> None:
        """Start without a workspace, and without the session list: see `add_session_list`."""
        super().__init__()
        self.setObjectName("sidebar")
        self.setMinimumWidth(200)
        self.commands = commands
        self._name = _NameButton(commands.switch_workspace)
        self._name.clicked.connect(commands.switch_workspace.trigger)
        self._git = GitLabel()
        self._git.clicked.connect(commands.commit_changes.trigger)
        self.show_git = self._git.show_text
        self.announce = self._name.show_name
        folder = command_button(commands.open_folder, "folder-open", tr("Open folder"))
        self._new = command_button(commands.new_session, "plus", tr("New session"), px=18)
        self.search = SearchField(tr("Filter by title"))
        self.session_list: SessionList
        self._stack = QStackedWidget()
        self._closed_reason = label("", "muted", wrap=True)
        head = row(self._name, None, folder, self._new, margins=(11, 13, 8, 0), gap=2)
        git = row(self._git, None, margins=(19, 8, 12, 12))  # below: nothing moves when it comes
        search = row(self.search, margins=(12, 10, 12, 4))
        self._workspace_name = ""
        words = tr("Search everything")
        everything = PushButton(words, "link", name="search_messages", on_click=self._search_all)
        self._search_bar = pane(row(everything, None, margins=(19, 8, 12, 8)))
        self._search_bar.hide()
        self.setLayout(column(head, search, self._stack, self._search_bar, git, gap=0))
        self.show_workspace("")
        self._name.hide()  # not known yet

    def add_session_list(self) -> None:
        """Put in the session list, which the window's first frame does not wait for."""
        from helix_desktop.ui.window.sidebar.session_list import SessionList

        self.session_list = SessionList()
        mark_pane_stop(self.session_list)
        self.search.textChanged.connect(self._filter)
        nothing = label(tr("No session has this in its title."), "muted", wrap=True)
        empty = label(tr("Your sessions appear here."), "muted", wrap=True)
        new = self.commands.new_session.trigger
        begin = PushButton(tr("New session"), "", "plus", name="new_session", on_click=new)
        clear = PushButton(tr("Clear search"), name="clear_search", on_click=self.search.clear)
        self._stack.addWidget(self.session_list)
        for words, button in ((empty, begin), (nothing, clear), (self._closed_reason, None)):
            buttons = (row(button, None),) if button is not None else ()
            self._stack.addWidget(pane(column(words, *buttons, None, margins=(20, 18, 20, 0), gap=10)))
        self._stack.addWidget(QWidget())  # until the sessions are known
        self._stack.setCurrentIndex(_UNKNOWN)

    def _search_all(self) -> None:
        """Go on with the words where messages of all workspaces are searched; here the search is over."""
        words = self.search.text().strip()
        self.search.clear()
        perform(self, SearchEverything(words))

    def show_workspace(self, name: str) -> None:
        """Show a workspace's name; empty when none is open."""
        self._name.show_name(name)
        if name != self._workspace_name:
            self._workspace_name = name
            self.search.clear()  # its words were for the sessions of another one
        self._new.setEnabled(bool(name))
        self.search.setEnabled(bool(name))

    def show_opening(self) -> None:
        """Show no sessions until those of the workspace that is being opened are known."""
        self._stack.setCurrentIndex(_UNKNOWN)

    def show_sessions(self, items: Sequence[SessionItem], now: datetime) -> None:
        self.session_list.show_sessions(items, now)
        self._choose_page()

    def show_closed(self, reason: str) -> None:
        """Say why this workspace is not open, instead of its sessions; empty when it is open."""
        self._closed_reason.setText(reason)
        self.search.setVisible(not reason)
        self._choose_page()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if not self.search.hasFocus():
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Down:
            self.session_list.focus_first()
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.session_list.sessions():
            self.session_list.open_first()
        elif key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
        else:
            super().keyPressEvent(event)

    def _filter(self, needle: str) -> None:
        self.session_list.set_filter(needle)
        self._search_bar.setVisible(bool(needle.strip()))
        self._choose_page()

    def _choose_page(self) -> None:
        if self._closed_reason.text():
            self._stack.setCurrentIndex(_CLOSED)
        elif self.session_list.rows:
            self._stack.setCurrentIndex(_LIST)
        elif self.session_list.session_count():
            self._stack.setCurrentIndex(_NOTHING_FOUND)
        else:
            self._stack.setCurrentIndex(_EMPTY)
