"""The keys of every command: the defaults, what the user changed, and what can't be changed."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import QKeyCombination, QObject, Qt, Signal
from PySide6.QtGui import QKeySequence

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.shell.actions import SPECS, WindowActions, set_action_keys
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")
text = TextContext("Window")
_log = logging.getLogger(__name__)

_PORTABLE, _NATIVE = QKeySequence.SequenceFormat.PortableText, QKeySequence.SequenceFormat.NativeText
_PAGE_KEYS = frozenset({"Ctrl+S", "Ctrl+Shift+C", "Ctrl+Space", "F3", "Shift+F3", "F7", "Shift+F7"})
"""Keys of pages and lists: see cache/shortcuts.py, changes/shortcuts.py, the completer and the find bar."""
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
_OTHER_KEYS = 0x0100_0000  # Qt's codes from here on are of keys that type no sign


class KeyBindings(QObject):
    """The keys in force, on the window's actions; `stored` is what differs from the defaults."""

    changed = Signal()

    def __init__(self, actions: WindowActions) -> None:
        """Start with the defaults, which the actions have."""
        super().__init__()
        self._actions = actions
        self._stored: dict[str, Any] = {}
        self._keys = {command: spec.keys for command, spec in SPECS.items()}

    @property
    def stored(self) -> dict[str, Any]:
        """Return what to store: the keys of changed commands, and what was not understood, as it was."""
        return dict(self._stored)

    def use(self, stored: Mapping[str, Any]) -> None:
        """Put stored keys in force at once."""
        self._stored = dict(stored)
        self._keys = resolve_keys(stored)
        for command, keys in self._keys.items():
            set_action_keys(getattr(self._actions, command), SPECS[command], keys)
        self.changed.emit()

    def keys(self, command: str) -> tuple[str, ...]:
        """Return a command's keys as portable text."""
        return self._keys[command]

    def is_changed(self, command: str) -> bool:
        """Return True if a command's keys are not its defaults."""
        return self._keys[command] != SPECS[command].keys

    def owners(self, command: str, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the other commands that have one of these keys."""
        conflicting = set(keys)
        return tuple(
            other for other, theirs in self._keys.items() if other != command and conflicting & set(theirs)
        )

    def change(self, command: str, keys: tuple[str, ...]) -> None:
        """Give a command these keys alone, and take them from every other."""
        changed = {command: keys}
        for other in self.owners(command, keys):
            changed[other] = tuple(key for key in self._keys[other] if key not in keys)
        stored = {name: value for name, value in self._stored.items() if name not in changed}
        for name, own in changed.items():
            if own != SPECS[name].keys:
                stored[name] = list(own)
        self.use(stored)

    def reset_all(self) -> None:
        """Give every command its defaults; what belongs to no command stays stored."""
        self.use({name: value for name, value in self._stored.items() if name not in SPECS})


def resolve_keys(stored: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return every command's keys; no key is that of two: the user's go before defaults.

    What is not understood is ignored with a line in the log.
    """
    for name in stored.keys() - SPECS.keys():
        _log.warning("shortcuts in settings.toml: unknown command %r ignored", name)
    own = {
        command: keys
        for command in SPECS
        if command in stored and (keys := _parse(command, stored[command])) is not None
    }
    owners: dict[str, str] = {}
    result = {command: spec.keys for command, spec in SPECS.items()}
    for command in (*own, *(command for command in SPECS if command not in own)):
        keys = own.get(command, result[command])
        result[command] = tuple(key for key in keys if owners.setdefault(key, command) == command)
        if command in own and result[command] != keys:
            _log.warning("shortcuts in settings.toml: a key of %s is that of another command", command)
    return result


def _parse(command: str, value: object) -> tuple[str, ...] | None:
    """Return stored keys as portable text, the valid ones; None if there are some and none is valid."""
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        entries = [entries]
    keys: list[str] = []
    for entry in entries:
        key = portable_key(entry) if isinstance(entry, str) else ""
        if not key or why_reserved(key):
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


def native_key(key: str) -> str:
    """Return portable text as the system writes it; what is no key stays."""
    return QKeySequence(key).toString(_NATIVE) or key


def why_reserved(key: str) -> str:
    """Return why a key can't be that of a command, as a sentence; empty if it can. `key` is portable text."""
    combination = _combination(key)
    code, modifiers = combination.key(), combination.keyboardModifiers()
    modifier = Qt.KeyboardModifier
    control = "⌘" if sys.platform == "darwin" else tr("Ctrl", "key")
    reason = ""
    if code in _RESERVED_KEYS:
        reason = translate(_RESERVED_KEYS[code])
    elif key in _PAGE_KEYS:
        reason = tr("{keys} has a fixed meaning inside pages and lists.", keys=native_key(key))
    elif any(key == own.toString(_PORTABLE) for kind in _TEXT_KEYS for own in QKeySequence.keyBindings(kind)):
        reason = tr("{keys} edits text in text fields.", keys=native_key(key))
    elif modifiers & (modifier.ControlModifier | modifier.MetaModifier):
        reason = ""
    elif modifiers & modifier.AltModifier:
        if int(code) < _OTHER_KEYS:
            reason = tr("Alt with a letter opens menus or types signs. Add {control}.", control=control)
    elif not Qt.Key.Key_F1 <= code <= Qt.Key.Key_F35:
        reason = tr("Keys without {control} or Alt are for typing. Add {control} or Alt.", control=control)
    return reason


def _combination(key: str) -> QKeyCombination:
    sequence = QKeySequence.fromString(key, _PORTABLE)
    combination: QKeyCombination = sequence[0]  # type: ignore[index]  # Qt's stubs leave out __getitem__
    return combination
