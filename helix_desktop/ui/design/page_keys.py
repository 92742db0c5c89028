"""The keys of one page or list: its commands with their defaults, and what the user changed."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QKeyCombination, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.translatable_text import TranslatableText
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_PORTABLE, _NATIVE = QKeySequence.SequenceFormat.PortableText, QKeySequence.SequenceFormat.NativeText
_KEYPAD = Qt.KeyboardModifier.KeypadModifier
_ASCII_SIGNS = frozenset(map(ord, string.punctuation))  # their codes are those of Qt's keys


@dataclass(frozen=True, slots=True)
class PageCommand:
    """Something that a key does in one page: its words, and the default key as portable text."""

    text: TranslatableText
    default_key: str


@dataclass(frozen=True, slots=True)
class PageCommands:
    """The commands of one page by name, under the page's title. No two pages share a name."""

    title: TranslatableText
    commands: Mapping[str, PageCommand]


class PageKeys(QObject):
    """The keys in force in one page; what shows or answers them follows `changed`."""

    changed = Signal()

    def __init__(self, page_commands: PageCommands, parent: QObject | None = None) -> None:
        """Start with the defaults."""
        super().__init__(parent)
        self._keys: dict[str, tuple[str, ...]] = {
            name: (command.default_key,) for name, command in page_commands.commands.items()
        }

    def use(self, keys: Mapping[str, Sequence[str]]) -> None:
        """Put keys of commands in force at once, as portable text; those of other pages are left out."""
        own = {name: tuple(keys.get(name, previous)) for name, previous in self._keys.items()}
        if own != self._keys:
            self._keys = own
            self.changed.emit()

    def shown_key(self, command: str) -> str:
        """Return the first key of a command as the system writes it; empty if it has none."""
        return native_key(self._keys[command][0]) if self._keys[command] else ""

    def command_of(self, event: QKeyEvent) -> str:
        """Return the command that a pressed key belongs to; empty if it is none's."""
        pressed = pressed_key(event)
        return next((command for command, keys in self._keys.items() if pressed in keys), "")

    def add_shortcut(
        self, command: str, widget: QWidget, callback: Callable[[], object], context: Qt.ShortcutContext
    ) -> None:
        """Let the keys of a command call something where `context` says, as an action of the widget."""
        action = QAction(widget)
        action.setShortcutContext(context)
        action.triggered.connect(lambda _: callback())
        widget.addAction(action)
        self._follow(lambda: action.setShortcuts(_sequences(self._keys[command])))

    def keep_tip(self, command: str, text: str, set_tip: Callable[[str], object]) -> None:
        """Set a tooltip now and whenever the keys change: its words, and the key in parentheses."""
        self._follow(lambda: set_tip(self.tip(command, text)))

    def tip(self, command: str, text: str) -> str:
        """Return a tooltip's words with the key of a command in parentheses; alone if it has none."""
        return tip_with_key(text, self.shown_key(command))

    def _follow(self, update: Callable[[], object]) -> None:
        update()
        self.changed.connect(update)


def tip_with_key(text: str, key: str) -> str:
    """Return a tooltip's words with a key, as the system writes it, in parentheses; alone without one."""
    return tr("{words} ({keys})", words=text, keys=key) if key else text


def native_key(key: str) -> str:
    """Return portable text as the system writes it; what is no key stays.

    The large Enter, Return to Qt, is Enter to users, except on macOS, where it has a sign.
    """
    name = key if sys.platform == "darwin" else key.replace("Return", "Enter")
    return QKeySequence(name).toString(_NATIVE) or key


def pressed_key(event: QKeyEvent) -> str:
    """Return the key of an event with its modifiers, as portable text; the keypad's are as all others.

    Shift made the sign of a key that types one: Ctrl+?, not Ctrl+Shift+?.
    """
    key, modifiers = Qt.Key(event.key()), event.modifiers() & ~_KEYPAD
    if key is Qt.Key.Key_Enter:
        key = Qt.Key.Key_Return
    if int(key) in _ASCII_SIGNS:
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(QKeyCombination(modifiers, key)).toString(_PORTABLE)


def _sequences(keys: Sequence[str]) -> list[QKeySequence]:
    """Return what a shortcut listens to: Enter of the keypad is as Return."""
    variants = [variant for key in keys for variant in dict.fromkeys((key, key.replace("Return", "Enter")))]
    return [QKeySequence(key) for key in variants]
