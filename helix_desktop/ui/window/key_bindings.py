"""Keys: those of every command, by default and by the user, editing keys of the menu, and panes by key."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QKeyCombination, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QApplication, QScrollArea, QWidget

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.focus import is_pane_stop, tab_stops
from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.kit.commands import (
    CacheCommands,
    ChangesCommands,
    ContextCommands,
    PageKeys,
    SessionCommands,
    WindowCommands,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")
text = TextContext("Window")
_log = logging.getLogger(__name__)

_PORTABLE = QKeySequence.SequenceFormat.PortableText
_FIXED_KEYS = frozenset({"Ctrl+Space", "F3", "Shift+F3", "F7", "Shift+F7"})
"""Keys of the completer, the find bar and diffs."""
PAGES = (CacheCommands, ChangesCommands, ContextCommands, SessionCommands)
_PAGE_OF = {command: page for page in PAGES for command in page.commands}
"""The page of each command that has one; all others are the window's."""
COMMANDS = dict(WindowCommands.commands) | {name: page.commands[name] for name, page in _PAGE_OF.items()}
DEFAULT_KEYS = {name: command.keys for name, command in COMMANDS.items()}
_Standard = QKeySequence.StandardKey
_TEXT_KEYS = (
    _Standard.Undo, _Standard.Redo, _Standard.Cut, _Standard.Copy, _Standard.Paste, _Standard.SelectAll,
    _Standard.MoveToNextWord, _Standard.MoveToPreviousWord, _Standard.SelectNextWord,
    _Standard.SelectPreviousWord, _Standard.MoveToStartOfDocument, _Standard.MoveToEndOfDocument,
    _Standard.SelectStartOfDocument, _Standard.SelectEndOfDocument, _Standard.DeleteStartOfWord,
    _Standard.DeleteEndOfWord,
)  # fmt: skip
_RESERVED_KEYS = {
    Qt.Key.Key_Escape: text("Esc always stops or closes."),
    Qt.Key.Key_Tab: text("Tab always goes to the next control."),
    Qt.Key.Key_Backtab: text("Tab always goes to the next control."),
    Qt.Key.Key_Return: text("Enter always belongs to the message input and to lists."),
    Qt.Key.Key_Enter: text("Enter always belongs to the message input and to lists."),
}
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MOVING_KEYS = frozenset(
    {
        Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End,
        Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Menu,
    }
)  # fmt: skip
_OTHER_KEYS = 0x0100_0000  # Qt's codes from here on are of keys that type no sign


class KeyBindings(QObject):
    """The keys in force, of the window's commands and of its pages; `stored` is what differs from defaults.

    Keys of a page work while the keyboard is in it, so two pages can have the same.
    """

    changed = Signal()

    def __init__(self, commands: WindowCommands) -> None:
        super().__init__()
        self.commands = commands
        self._page_keys: list[PageKeys] = []
        self._stored: dict[str, Any] = {}
        self._keys = dict(DEFAULT_KEYS)

    def add_page(self, page_keys: PageKeys) -> None:
        """Put the keys of a page in force, now and whenever they change."""
        self._page_keys.append(page_keys)
        page_keys.use(self._keys)

    @property
    def stored(self) -> dict[str, Any]:
        """Return what to store: the keys of changed commands, and what was not understood, as it was."""
        return dict(self._stored)

    def use(self, stored: Mapping[str, Any]) -> None:
        self._stored = dict(stored)
        self._keys = resolve_keys(stored)
        for command in WindowCommands.commands:
            self.commands.set_keys(command, self._keys[command])
        for page_keys in self._page_keys:
            page_keys.use(self._keys)
        self.changed.emit()

    def keys(self, command: str) -> tuple[str, ...]:
        return self._keys[command]

    def is_changed(self, command: str) -> bool:
        return self._keys[command] != DEFAULT_KEYS[command]

    def owners(self, command: str, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the other commands that have one of these keys where this one is."""
        sought = set(keys)
        owners = (other for other, theirs in self._keys.items() if sought & set(theirs))
        return tuple(other for other in owners if _meet(command, other))

    def change(self, command: str, keys: tuple[str, ...]) -> None:
        """Give a command these keys alone, and take them from every other where it is."""
        changed = {command: keys}
        for other in self.owners(command, keys):
            changed[other] = tuple(key for key in self._keys[other] if key not in keys)
        stored = {name: value for name, value in self._stored.items() if name not in changed}
        for name, own in changed.items():
            if own != DEFAULT_KEYS[name]:
                stored[name] = list(own)
        self.use(stored)

    def reset_all(self) -> None:
        """Give every command its defaults; what belongs to no command stays stored."""
        self.use({name: value for name, value in self._stored.items() if name not in DEFAULT_KEYS})


def _meet(command: str, other: str) -> bool:
    """Return True if one key could mean both commands: they share a page, or one is the window's."""
    pages = _PAGE_OF.get(command), _PAGE_OF.get(other)
    return command != other and (None in pages or pages[0] is pages[1])


def command_title(command: str) -> str:
    page = _PAGE_OF.get(command)
    own = translate(COMMANDS[command].words)
    return own if page is None else tr("{page}: {command}", page=translate(page.title), command=own)


def resolve_keys(stored: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return every command's keys; none is that of two that meet: the user's go before defaults.

    What is not understood is ignored with a line in the log.
    """
    for name in stored.keys() - DEFAULT_KEYS.keys():
        _log.warning("shortcuts in settings.toml: unknown command %r ignored", name)
    own = {
        command: keys
        for command in DEFAULT_KEYS
        if command in stored and (keys := _parse(command, stored[command])) is not None
    }
    owners: dict[str, list[str]] = {}
    result = dict(DEFAULT_KEYS)
    for command in (*own, *(command for command in DEFAULT_KEYS if command not in own)):
        keys = own.get(command, result[command])
        result[command] = tuple(
            key for key in keys if not any(_meet(command, other) for other in owners.get(key, ()))
        )
        for key in result[command]:
            owners.setdefault(key, []).append(command)
        if command in own and result[command] != keys:
            _log.warning("shortcuts in settings.toml: a key of %s is that of another command", command)
    return result


def _parse(command: str, value: object) -> tuple[str, ...] | None:
    """Return stored keys as portable text, the valid ones; None if there are some and none is valid."""
    entries = value if isinstance(value, list | tuple) else [value]
    keys: list[str] = []
    for entry in entries:
        key = portable_key(entry) if isinstance(entry, str) else ""
        if not key or why_reserved(key, command):
            _log.warning("shortcuts in settings.toml: %r can't be a key of %s", entry, command)
        elif key not in keys:
            keys.append(key)
    return tuple(keys) if keys or not entries else None


def portable_key(text: str) -> str:
    """Return one key with its modifiers as Qt writes it in every system; empty if it is none."""
    sequence = QKeySequence.fromString(text, _PORTABLE)
    if sequence.count() != 1 or _combination(text).key() in {Qt.Key.Key_unknown, Qt.Key(0)}:
        return ""
    return sequence.toString(_PORTABLE)


def why_reserved(key: str, command: str) -> str:
    """Return why a key can't be that of a command, as a sentence; empty if it can. `key` is portable text."""
    combination = _combination(key)
    code = combination.key()
    modifiers = combination.keyboardModifiers()
    modifier = Qt.KeyboardModifier
    is_in_page = command in _PAGE_OF
    control = "⌘" if sys.platform == "darwin" else tr("Ctrl", "key")
    has_control = bool(modifiers & (modifier.ControlModifier | modifier.MetaModifier))
    if code in _RESERVED_KEYS and not (is_in_page and has_control and code in _ENTER_KEYS):
        return translate(_RESERVED_KEYS[code])
    if key in _FIXED_KEYS:
        return tr("{keys} has a fixed meaning inside pages and lists.", keys=native_key(key))
    if any(key == own.toString(_PORTABLE) for kind in _TEXT_KEYS for own in QKeySequence.keyBindings(kind)):
        return tr("{keys} edits text in text fields.", keys=native_key(key))
    if has_control or (not is_in_page and Qt.Key.Key_F1 <= code <= Qt.Key.Key_F35):
        return ""
    if modifiers & modifier.AltModifier:
        words = tr("Alt with a letter opens menus or types signs. Add {control}.", control=control)
        return words if int(code) < _OTHER_KEYS else ""
    if is_in_page:
        return tr("{keys} moves in lists.", keys=native_key(key)) if code in _MOVING_KEYS else ""
    return tr("Keys without {control} or Alt are for typing. Add {control} or Alt.", control=control)


def _combination(key: str) -> QKeyCombination:
    sequence = QKeySequence.fromString(key, _PORTABLE)
    combination: QKeyCombination = sequence[0]  # type: ignore[index]  # Qt's stubs leave out __getitem__
    return combination


def focus_pane(panes: Sequence[QWidget], step: int) -> None:
    """Move the keyboard to the next (1) or previous (-1) stop in the visible panes.

    Those are their lists and the field to write in; of a pane without any the first thing that takes Tab.
    """
    stops = list[QWidget]()
    for pane in panes:
        if pane.isVisible():
            tabs = list(tab_stops(pane, is_pane_stop))
            stops += [widget for widget in tabs if is_pane_stop(widget)] or tabs[:1]
    focused = QApplication.focusWidget()
    if not stops:
        return
    here = _place_of(focused, stops, panes)
    place = 0 if step > 0 else -1
    if here >= 0:
        place = (here + step) % len(stops)
    target = stops[place]
    if isinstance(target, QAbstractItemView):
        _choose_line(target)
    target.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _place_of(focused: QWidget | None, stops: Sequence[QWidget], panes: Sequence[QWidget]) -> int:
    """Return the stop that the keyboard is at, in, or else in the pane of; -1 for none."""
    if focused is None:
        return -1
    inside = (at for at, stop in enumerate(stops) if stop is focused or stop.isAncestorOf(focused))
    pane = next((pane for pane in panes if pane.isAncestorOf(focused)), None)
    in_same_pane = (at for at, stop in enumerate(stops) if pane is not None and pane.isAncestorOf(stop))
    return next(inside, next(in_same_pane, -1))


def _choose_line(view: QAbstractItemView) -> None:
    """Let a list have a current line, where the ring is, and bring it into sight."""
    model = view.model()
    current = view.currentIndex()
    if not current.isValid() and model is not None:
        lines = (model.index(place, 0) for place in range(model.rowCount()))
        current = next((line for line in lines if line.flags() & Qt.ItemFlag.ItemIsSelectable), current)
        view.setCurrentIndex(current)
    view.scrollTo(current)
    around = view.parentWidget()
    while around is not None:
        content = around.widget() if isinstance(around, QScrollArea) else None
        if isinstance(around, QScrollArea) and content is not None:  # a list at its full height
            line = view.visualRect(current)
            middle = view.viewport().mapTo(content, line.center())
            around.ensureVisible(middle.x(), middle.y(), 0, line.height())
        around = around.parentWidget()


def press_key(key: str) -> None:
    """Press a key, as portable text, on the widget in focus, so that each widget answers in its own way."""
    target = QApplication.focusWidget()
    if target is None:
        return
    pressed = _combination(key)
    code = pressed.key()
    modifiers = pressed.keyboardModifiers()
    action = None if _takes(target, code, modifiers) else _action_with(target, code, modifiers)
    if action is not None:
        action.trigger()
        return
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(target, QKeyEvent(kind, code, modifiers))


def _takes(target: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> bool:
    """Return True if a widget answers a key itself, whatever actions have it: as Qt asks it."""
    override = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifiers)
    override.ignore()
    QApplication.sendEvent(target, override)
    return override.isAccepted()


def _action_with(target: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier) -> QAction | None:
    """Return the action that has a key where the focus is; Qt looks for it only at keys that were typed."""
    chord = QKeySequence(QKeyCombination(modifiers, key))
    contexts = {Qt.ShortcutContext.WidgetShortcut, Qt.ShortcutContext.WidgetWithChildrenShortcut}
    widget: QWidget | None = target
    while widget is not None:
        for action in widget.actions():
            if action.shortcutContext() in contexts and action.isEnabled() and chord in action.shortcuts():
                return action
        contexts = {Qt.ShortcutContext.WidgetWithChildrenShortcut}
        widget = widget.parentWidget()
    return None
