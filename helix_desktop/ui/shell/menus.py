"""The menu bar and the "More" menu, built from the window's actions."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QAction, QActionGroup, QHelpEvent
from PySide6.QtWidgets import QMenu, QMenuBar, QToolTip, QWidget

from helix_desktop.ui.shell.actions import WindowActions
from helix_desktop.words.translation import Translator

tr = Translator("Window")


class _MenuWithReasons(QMenu):
    """A menu that says at the pointer why an entry is off: its status tip."""

    def event(self, event: QEvent) -> bool:
        """Show the reason in place of Qt's tooltip, which would repeat the words of each entry."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            action = self.actionAt(event.pos())
            reason = "" if action is None or action.isEnabled() else action.statusTip()
            QToolTip.showText(event.globalPos(), reason, self)
            return True
        return super().event(event)


def fill_menu_bar(bar: QMenuBar, actions: WindowActions) -> None:
    """Build File, Edit, View, Session and Help."""
    a = actions
    for alike in ((a.theme_system, a.theme_light, a.theme_dark), (a.mode_ask, a.mode_plan, a.mode_auto)):
        group = QActionGroup(bar)
        for action in alike:
            group.addAction(action)
    for title, groups in (
        (
            tr("&File"),
            (
                (a.open_folder, a.new_session, a.new_window, a.switch_workspace),
                (a.clean_up, a.trash, a.forget),
                (a.export, a.import_file),
                (a.settings,),
                (a.quit,),
            ),
        ),
        (
            tr("&Edit"),
            (
                (a.undo, a.redo),
                (a.cut, a.copy, a.paste),
                (a.find, a.search_messages),
                (a.previous_message, a.next_message, a.focus_composer),
            ),
        ),
        (
            tr("&View"),
            (
                (a.show_chat, a.show_cache, a.show_timeline, a.show_changes, a.commit_changes, a.close_page),
                (a.toggle_sidebar, a.toggle_inspector, a.show_request, a.next_pane, a.previous_pane),
                (a.theme_system, a.theme_light, a.theme_dark),
                (a.zoom_in, a.zoom_out, a.zoom_reset),
            ),
        ),
        (
            tr("&Session"),
            (
                (a.stop, a.steer, a.side_question),
                (a.allow_call, a.deny_call),
                (a.mode_ask, a.mode_plan, a.mode_auto, a.next_mode),
                (a.choose_model, a.choose_effort, a.set_budget, a.change_policy),
                (a.compact_now, a.undo_compaction, a.redo_compaction, a.hold_compaction),
                (a.branch_session, a.rewind),
                (a.rename_session, a.pin_session, a.archive_session),
            ),
        ),
        (tr("&Help"), ((a.guide, a.keys, a.commands_help, a.all_commands), (a.about,))),
    ):
        menu = _MenuWithReasons(title, bar)
        _fill_menu(menu, groups)
        bar.addMenu(menu)


def more_menu(parent: QWidget, actions: WindowActions) -> QMenu:
    """Return the menu at the end of the top bar: what is done with the session on screen as a whole."""
    menu = _MenuWithReasons(parent)
    a = actions
    _fill_menu(menu, ((a.find, a.rename_session), (a.branch_session, a.rewind), (a.export,)))
    return menu


def mode_menu(parent: QWidget, actions: WindowActions) -> QMenu:
    """Return the menu behind the mode in the composer."""
    menu = _MenuWithReasons(parent)
    a = actions
    _fill_menu(menu, ((a.mode_ask, a.mode_plan, a.mode_auto),))
    return menu


def _fill_menu(menu: QMenu, groups: tuple[tuple[QAction, ...], ...]) -> None:
    """Put groups of actions into a menu, a line between groups."""
    for place, group in enumerate(groups):
        if place:
            menu.addSeparator()
        menu.addActions(list(group))
