"""Keys as text: as they are stored, and as the system writes them."""

from __future__ import annotations

import string
import sys

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from helix_desktop.words.translation import Translator

tr = Translator("Window")

_PORTABLE = QKeySequence.SequenceFormat.PortableText
_NATIVE = QKeySequence.SequenceFormat.NativeText
_KEYPAD = Qt.KeyboardModifier.KeypadModifier
_ASCII_SIGNS = frozenset(map(ord, string.punctuation))  # their codes are those of Qt's keys


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
    key = Qt.Key(event.key())
    modifiers = event.modifiers() & ~_KEYPAD
    if key is Qt.Key.Key_Enter:
        key = Qt.Key.Key_Return
    if int(key) in _ASCII_SIGNS:
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(QKeyCombination(modifiers, key)).toString(_PORTABLE)
