"""Every command of the window as one QAction, with its words, its icon and its keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.page_keys import native_key, tip_with_key
from helix_desktop.words.translation import translate

text = TextContext("Window")

_JUMP = "Ctrl+Alt+" if sys.platform == "darwin" else "Alt+"
"""Between messages; with Alt alone, text fields of macOS go to the edges of a paragraph."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Words of a menu entry, its keys as portable text, if it can be checked, and a hint instead of keys."""

    text: TranslatableText
    keys: tuple[str, ...] = ()
    checkable: bool = False
    display_shortcut: str = ""


SPECS: dict[str, ActionSpec] = {
    "open_folder": ActionSpec(text("Open folder…"), ("Ctrl+O",)),
    "new_session": ActionSpec(text("New session"), ("Ctrl+N",)),
    "new_window": ActionSpec(text("New window"), ("Ctrl+Alt+N",)),
    "branch_session": ActionSpec(text("Branch session"), ("Ctrl+Shift+B",)),
    "switch_workspace": ActionSpec(text("Go to…"), ("Ctrl+K",)),
    "search_messages": ActionSpec(text("Search messages…"), ("Ctrl+Shift+F",)),
    "clean_up": ActionSpec(text("Clean up…")),
    "trash": ActionSpec(text("Trash…")),
    "forget": ActionSpec(text("Remove a secret…")),
    "export": ActionSpec(text("Export…")),
    "import_file": ActionSpec(text("Import…")),
    "settings": ActionSpec(text("Settings…"), ("Ctrl+,",)),
    "quit": ActionSpec(text("Quit"), ("Ctrl+Q",)),
    "undo": ActionSpec(text("Undo"), display_shortcut="Ctrl+Z"),
    "redo": ActionSpec(text("Redo"), display_shortcut="Ctrl+Shift+Z"),
    "cut": ActionSpec(text("Cut"), display_shortcut="Ctrl+X"),
    "copy": ActionSpec(text("Copy"), display_shortcut="Ctrl+C"),
    "paste": ActionSpec(text("Paste"), display_shortcut="Ctrl+V"),
    "find": ActionSpec(text("Find"), ("Ctrl+F",)),
    "previous_message": ActionSpec(text("Go to my previous message"), (f"{_JUMP}Up",)),
    "next_message": ActionSpec(text("Go to my next message"), (f"{_JUMP}Down",)),
    "show_chat": ActionSpec(text("Chat"), ("Ctrl+1",)),
    "show_cache": ActionSpec(text("Cache"), ("Ctrl+2",)),
    "show_timeline": ActionSpec(text("Timeline"), ("Ctrl+3",)),
    "show_changes": ActionSpec(text("Changes"), ("Ctrl+4",)),
    "commit_changes": ActionSpec(text("Changes since last commit")),
    "close_page": ActionSpec(text("Close page"), ("Ctrl+W",)),
    "toggle_sidebar": ActionSpec(text("Sidebar"), ("Ctrl+B",), checkable=True),
    "toggle_inspector": ActionSpec(text("Context panel"), ("Ctrl+I",), checkable=True),
    "show_request": ActionSpec(text("Show request"), ("Ctrl+Shift+I",)),
    "focus_composer": ActionSpec(text("Focus message input"), ("Ctrl+L",)),
    "next_pane": ActionSpec(text("Next pane"), ("F6",)),
    "previous_pane": ActionSpec(text("Previous pane"), ("Shift+F6",)),
    "theme_system": ActionSpec(text("System theme"), checkable=True),
    "theme_light": ActionSpec(text("Light theme"), checkable=True),
    "theme_dark": ActionSpec(text("Dark theme"), checkable=True),
    "zoom_in": ActionSpec(text("Larger text"), ("Ctrl++", "Ctrl+=")),
    "zoom_out": ActionSpec(text("Smaller text"), ("Ctrl+-",)),
    "zoom_reset": ActionSpec(text("Normal text size"), ("Ctrl+0",)),
    "mode_ask": ActionSpec(text("Ask before every change"), checkable=True),
    "mode_plan": ActionSpec(text("Plan only (read-only)"), checkable=True),
    "mode_auto": ActionSpec(text("Auto: edit files and run sandboxed commands"), checkable=True),
    "next_mode": ActionSpec(text("Switch mode"), ("Ctrl+.",)),
    "choose_effort": ActionSpec(text("Reasoning effort…"), ("Ctrl+Shift+E",)),
    "stop": ActionSpec(text("Stop agent"), display_shortcut="Esc Esc"),
    "steer": ActionSpec(text("Send during this turn"), display_shortcut="Ctrl+Shift+Enter"),
    "stop_and_send": ActionSpec(text("Stop command and send queued message")),
    "allow_call": ActionSpec(text("Allow call once"), ("Ctrl+Shift+Y",)),
    "deny_call": ActionSpec(text("Deny call"), ("Ctrl+Shift+N",)),
    "side_question": ActionSpec(text("Ask a side question…"), ("Ctrl+Shift+A",)),
    "compact_now": ActionSpec(text("Compact conversation…"), ("Ctrl+Shift+K",)),
    "observe_now": ActionSpec(text("Write down facts about older messages")),
    "undo_compaction": ActionSpec(text("Undo last context change"), ("Ctrl+Alt+Z",)),
    "redo_compaction": ActionSpec(text("Redo last context change"), ("Ctrl+Alt+Shift+Z",)),
    "hold_compaction": ActionSpec(text("Pause compaction"), checkable=True),
    "choose_model": ActionSpec(text("Choose model…")),
    "change_policy": ActionSpec(text("Change policy…")),
    "rewind": ActionSpec(text("Rewind…")),
    "rename_session": ActionSpec(text("Rename session"), ("F2",)),
    "pin_session": ActionSpec(text("Pin session")),
    "archive_session": ActionSpec(text("Archive session")),
    "set_budget": ActionSpec(text("Set session budget…")),
    "all_commands": ActionSpec(text("Command palette…"), ("Ctrl+Shift+P",)),
    "about": ActionSpec(text("About Helix Desktop")),
    "guide": ActionSpec(text("Guide"), ("F1",)),
    "keys": ActionSpec(text("Keyboard shortcuts"), ("Ctrl+/",)),
    "commands_help": ActionSpec(text("Slash commands")),
}


class WindowActions(NamedTuple):
    """The commands; connect to their `triggered`, enable and check them."""

    open_folder: QAction
    new_session: QAction
    new_window: QAction
    branch_session: QAction
    switch_workspace: QAction
    search_messages: QAction
    clean_up: QAction
    trash: QAction
    forget: QAction
    export: QAction
    import_file: QAction
    settings: QAction
    quit: QAction
    undo: QAction
    redo: QAction
    cut: QAction
    copy: QAction
    paste: QAction
    find: QAction
    previous_message: QAction
    next_message: QAction
    show_chat: QAction
    show_cache: QAction
    show_timeline: QAction
    show_changes: QAction
    commit_changes: QAction
    close_page: QAction
    toggle_sidebar: QAction
    toggle_inspector: QAction
    show_request: QAction
    focus_composer: QAction
    next_pane: QAction
    previous_pane: QAction
    theme_system: QAction
    theme_light: QAction
    theme_dark: QAction
    zoom_in: QAction
    zoom_out: QAction
    zoom_reset: QAction
    mode_ask: QAction
    mode_plan: QAction
    mode_auto: QAction
    next_mode: QAction
    choose_effort: QAction
    stop: QAction
    steer: QAction
    stop_and_send: QAction
    allow_call: QAction
    deny_call: QAction
    side_question: QAction
    compact_now: QAction
    observe_now: QAction
    undo_compaction: QAction
    redo_compaction: QAction
    hold_compaction: QAction
    choose_model: QAction
    change_policy: QAction
    rewind: QAction
    rename_session: QAction
    pin_session: QAction
    archive_session: QAction
    set_budget: QAction
    all_commands: QAction
    about: QAction
    guide: QAction
    keys: QAction
    commands_help: QAction

    def for_workspace(self) -> tuple[QAction, ...]:
        """Return those that need an open workspace."""
        return self.clean_up, self.trash, self.forget

    def for_session(self) -> tuple[QAction, ...]:
        """Return those that need an open session, and no more."""
        return (
            self.show_chat, self.show_cache, self.show_timeline, self.show_changes, self.commit_changes,
            self.show_request, self.focus_composer, self.find,
            self.previous_message, self.next_message,
            self.compact_now, self.observe_now,
            self.mode_ask, self.mode_plan, self.mode_auto, self.next_mode,
            self.hold_compaction, self.side_question,
            self.choose_model, self.choose_effort, self.set_budget, self.change_policy,
            self.branch_session, self.rewind, self.rename_session, self.pin_session, self.archive_session,
            self.toggle_inspector,
        )  # fmt: skip

    def seen_in_session(self) -> tuple[QAction, ...]:
        """Return those that change or open something that stands in the session's pages."""
        elsewhere = (self.change_policy, self.find, self.previous_message, self.next_message)
        return (
            *(action for action in self.for_session() if action not in elsewhere),
            self.undo_compaction,
            self.redo_compaction,
        )


def make_actions(window: QWidget) -> WindowActions:
    """Make all actions, owned by a window and reachable by their keys in it; those of Quit in all windows."""
    actions = WindowActions(*(_make(window, name, SPECS[name]) for name in WindowActions._fields))
    actions.quit.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)
    for action in (actions.undo_compaction, actions.redo_compaction):
        action.setEnabled(False)  # until a session has something to undo
    actions.new_window.setAutoRepeat(False)  # a key that is held down opens one window, not twenty
    return actions


class _Command(QAction):
    """A command whose keys count as use of the keyboard: what it opens shows where the focus is."""

    def event(self, event: QEvent) -> bool:
        """Tell the window before the command runs; Qt does so for Tab alone."""
        window = self.parent()
        if event.type() == QEvent.Type.Shortcut and isinstance(window, QWidget):
            window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        return super().event(event)


def _make(window: QWidget, name: str, spec: ActionSpec) -> QAction:
    action = _Command(window)
    action.setObjectName(name)
    action.setCheckable(spec.checkable)
    set_action_keys(action, spec, spec.keys)
    window.addAction(action)
    return action


def set_action_keys(action: QAction, spec: ActionSpec, keys: Sequence[str]) -> None:
    """Give an action these keys, as portable text, in place of those that it had."""
    # A hint is shown where keys would stand, for keys that the focused widget, not the menu, has to answer.
    hint = "" if keys else spec.display_shortcut
    action.setText("\t".join(filter(None, (translate(spec.text), native_key(hint)))))
    action.setShortcuts([QKeySequence(key) for key in keys])


def action_shortcut(action: QAction) -> str:
    """Return the keys of a menu entry as the system writes them; empty when it has none."""
    return native_key(action.shortcut().toString()) or action.text().partition("\t")[2]


def enable_action(action: QAction, is_enabled: bool, reason: str) -> None:
    """Let an action be used now, or say in its status tip why not."""
    action.setEnabled(is_enabled)
    action.setStatusTip("" if is_enabled else reason)


def keep_tip(action: QAction, text: str, set_tip: Callable[[str], object]) -> None:
    """Set a tooltip now and whenever the action's keys change: its words, and the keys in parentheses."""

    def update() -> None:
        set_tip(tip_with_keys(action, text))

    action.changed.connect(update)
    update()


def tip_with_keys(action: QAction, text: str) -> str:
    """Return a tooltip's words with the keys of an action in parentheses; alone when it has none."""
    return tip_with_key(text, action_shortcut(action))


def shortcut_lines(actions: WindowActions) -> tuple[tuple[str, str], ...]:
    """Words and keys of every action that has keys, for the page that lists them."""
    lines = []
    for name, spec in SPECS.items():
        own = [keys.toString() for keys in getattr(actions, name).shortcuts()]
        keys = ", ".join(filter(None, (*own, spec.display_shortcut)))
        if keys:
            lines.append((translate(spec.text).rstrip("…"), keys))
    return tuple(lines)
