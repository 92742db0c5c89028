"""Every command of the window as one QAction, with its words, its icon and its keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Words of a menu entry, its keys as portable text, if it can be checked, and a hint instead of keys."""

    text: str
    keys: tuple[str, ...] = ()
    checkable: bool = False
    display_shortcut: str = ""


SPECS: dict[str, ActionSpec] = {
    "open_folder": ActionSpec("Open folder…", ("Ctrl+O",)),
    "new_session": ActionSpec("New session", ("Ctrl+N",)),
    "switch_workspace": ActionSpec("Switch workspace…", ("Ctrl+K",)),
    "clean_up": ActionSpec("Clean up…"),
    "trash": ActionSpec("Trash…"),
    "forget": ActionSpec("Forget a secret…"),
    "back_up": ActionSpec("Back up all workspaces…"),
    "settings": ActionSpec("Settings…", ("Ctrl+,",)),
    "quit": ActionSpec("Quit", ("Ctrl+Q",)),
    "undo": ActionSpec("Undo", display_shortcut="Ctrl+Z"),
    "redo": ActionSpec("Redo", display_shortcut="Ctrl+Shift+Z"),
    "cut": ActionSpec("Cut", display_shortcut="Ctrl+X"),
    "copy": ActionSpec("Copy", display_shortcut="Ctrl+C"),
    "paste": ActionSpec("Paste", display_shortcut="Ctrl+V"),
    "find": ActionSpec("Find", ("Ctrl+F",)),
    "show_chat": ActionSpec("Chat", ("Ctrl+1",)),
    "show_cache": ActionSpec("Cache", ("Ctrl+2",)),
    "show_timeline": ActionSpec("Timeline", ("Ctrl+3",)),
    "close_page": ActionSpec("Close page", ("Ctrl+W",)),
    "toggle_sidebar": ActionSpec("Sidebar", ("Ctrl+B",), checkable=True),
    "toggle_inspector": ActionSpec("Context inspector", ("Ctrl+I",), checkable=True),
    "focus_composer": ActionSpec("Go to the message field", ("Ctrl+L",)),
    "next_pane": ActionSpec("Next pane", ("F6",)),
    "theme_system": ActionSpec("System theme", checkable=True),
    "theme_light": ActionSpec("Light theme", checkable=True),
    "theme_dark": ActionSpec("Dark theme", checkable=True),
    "zoom_in": ActionSpec("Larger text", ("Ctrl++", "Ctrl+=")),
    "zoom_out": ActionSpec("Smaller text", ("Ctrl+-",)),
    "zoom_reset": ActionSpec("Normal text size", ("Ctrl+0",)),
    "mode_ask": ActionSpec("Mode ask: asks before it changes or runs anything", checkable=True),
    "mode_plan": ActionSpec("Mode plan: only reads, and plans", checkable=True),
    "mode_auto": ActionSpec("Mode auto: edits, and commands in the sandbox, run unasked", checkable=True),
    "next_mode": ActionSpec("Next mode", ("Ctrl+.",)),
    "stop": ActionSpec("Stop the agent", display_shortcut="Esc Esc"),
    "steer": ActionSpec("Send into the running turn", display_shortcut="Ctrl+Shift+Enter"),
    "compact_now": ActionSpec("Hand over older messages…", ("Ctrl+Shift+K",)),
    "observe_now": ActionSpec("Observe older messages now"),
    "undo_compaction": ActionSpec("Undo the last compaction", ("Ctrl+Alt+Z",)),
    "set_budget": ActionSpec("Budget of this session…"),
    "all_commands": ActionSpec("All commands…", ("Ctrl+Shift+P",)),
    "about": ActionSpec("About Helix Desktop"),
    "keys": ActionSpec("Keys", ("F1",)),
}


class WindowActions(NamedTuple):
    """The commands; connect to their `triggered`, enable and check them."""

    open_folder: QAction
    new_session: QAction
    switch_workspace: QAction
    clean_up: QAction
    trash: QAction
    forget: QAction
    back_up: QAction
    settings: QAction
    quit: QAction
    undo: QAction
    redo: QAction
    cut: QAction
    copy: QAction
    paste: QAction
    find: QAction
    show_chat: QAction
    show_cache: QAction
    show_timeline: QAction
    close_page: QAction
    toggle_sidebar: QAction
    toggle_inspector: QAction
    focus_composer: QAction
    next_pane: QAction
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
    stop: QAction
    steer: QAction
    compact_now: QAction
    observe_now: QAction
    undo_compaction: QAction
    set_budget: QAction
    all_commands: QAction
    about: QAction
    keys: QAction

    def for_session(self) -> tuple[QAction, ...]:
        """Return those that need an open session."""
        return (
            self.show_chat, self.show_cache, self.show_timeline, self.focus_composer, self.find,
            self.compact_now, self.observe_now, self.undo_compaction, self.stop, self.steer,
            self.mode_ask, self.mode_plan, self.mode_auto, self.next_mode,
            self.set_budget,
        )  # fmt: skip


def make_actions(window: QWidget) -> WindowActions:
    """Make all actions, owned by a window and reachable by their keys in it."""
    return WindowActions(*(_make(window, name, SPECS[name]) for name in WindowActions._fields))


def _make(window: QWidget, name: str, spec: ActionSpec) -> QAction:
    # A hint is shown where keys would stand, for keys that the focused widget, not the menu, has to answer.
    action = QAction(f"{spec.text}\t{spec.display_shortcut}" if spec.display_shortcut else spec.text, window)
    action.setObjectName(name)
    action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
    action.setCheckable(spec.checkable)
    window.addAction(action)
    return action


def shortcut_lines() -> tuple[tuple[str, str], ...]:
    """Words and keys of every action that has keys, for the page that lists them."""
    return tuple(
        (spec.text.rstrip("…"), ", ".join(spec.keys) or spec.display_shortcut)
        for spec in SPECS.values()
        if spec.keys or spec.display_shortcut
    )
