"""The page of all keys in the settings: what each command has, and recording others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.key_names import native_key, pressed_key
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import ResponsiveRow, VerticalScrollArea, card, column, pane, row
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import restyle
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.commands import MENUS, WindowCommands, action_words
from helix_desktop.ui.kit.forms import Values
from helix_desktop.ui.settings.page_layout import UndoLine, page_column
from helix_desktop.ui.window.command_list import without_mnemonic
from helix_desktop.ui.window.key_bindings import (
    COMMANDS,
    DEFAULT_KEYS,
    PAGES,
    KeyBindings,
    command_title,
    why_reserved,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Keyboard")

_Key = Qt.Key
_MODIFIER_KEYS = frozenset(
    {
        _Key.Key_Control, _Key.Key_Shift, _Key.Key_Alt, _Key.Key_Meta, _Key.Key_AltGr, _Key.Key_CapsLock,
        _Key.Key_NumLock, _Key.Key_Super_L, _Key.Key_Super_R, _Key.Key_Hyper_L, _Key.Key_Hyper_R,
        _Key.Key_unknown, _Key(0),
    }
)  # fmt: skip
_MODIFIERS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.ShiftModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)

_HEIGHT_PX = 30  # at 100 %, with keys and without


class KeyRecorder(PushButton):
    """Pressed, it waits for keys: Esc cancels, Backspace removes, others are handed on as portable text."""

    def __init__(self, command: str, title: str, page: KeyboardPage) -> None:
        """`title` are the words of the command that has the keys."""
        super().__init__("", name=f"keys:{command}", on_click=page.hide_notice)
        self.setCheckable(True)  # down while it waits
        self.setMinimumHeight(scaled(_HEIGHT_PX))
        self.setProperty("search_title", title)
        self._command = command
        self._title = title
        self._page = page
        self.toggled.connect(self.show_state)

    @property
    def keys(self) -> str:
        return _names(self._page.bindings.keys(self._command))

    def show_state(self) -> None:
        waits = self.isChecked()
        keys = self.keys
        self.setText(tr("Press keys…") if waits else keys or tr("Add keys"))
        restyle(self, "kind", "" if waits or keys else "link")  # the keys that there are stand out
        self.setAccessibleName(
            tr("{command}: press new keys. Esc cancels, Backspace removes.", command=self._title)
            if waits
            else tr("Keys for {command}: {keys}", command=self._title, keys=keys or tr("none"))
        )
        if waits:
            announce(self, self.accessibleName())

    def event(self, event: QEvent) -> bool:
        """Take every key while it waits, also Tab and those of the window's commands."""
        if self.isChecked() and isinstance(event, QKeyEvent):
            event.accept()
            if event.type() == QEvent.Type.KeyPress and not event.isAutoRepeat():
                self._take(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.setChecked(False)
        super().focusOutEvent(event)

    def _take(self, event: QKeyEvent) -> None:
        key = event.key()
        modifiers = event.modifiers() & _MODIFIERS
        if key in _MODIFIER_KEYS:
            return
        self.setChecked(False)
        if not modifiers and key == _Key.Key_Backspace:
            self._page.assign(self._command, ())
        elif modifiers or key != _Key.Key_Escape:
            self._page.assign(self._command, (pressed_key(event),))


class _CommandLine(QWidget):
    def __init__(self, command: str, title: str, menu: str, page: KeyboardPage) -> None:
        super().__init__()
        self.setObjectName(f"command:{command}")
        self._command = command
        self._words = f"{title} {menu}"
        self._bindings = page.bindings
        self._fixed_keys = native_key(COMMANDS[command].fixed_key)
        self.recorder = KeyRecorder(command, title, page)
        reset = DEFAULT_KEYS[command]
        tip = tr("Reset keys for {command}", command=title)
        self.reset = IconButton("rotate-ccw", tip, edge=28, name=f"reset:{command}")
        self.reset.clicked.connect(partial(page.assign, command, reset))
        fixed = [label(tr("Always {keys}", keys=self._fixed_keys), "faint")] if self._fixed_keys else []
        ends = pane(row(self.reset, *fixed, self.recorder, gap=6))
        self.below = column(ResponsiveRow(label(title, wrap=True), [ends], 120), gap=6)
        self.setLayout(self.below)

    def refresh(self) -> None:
        self.recorder.show_state()
        is_changed = self._bindings.is_changed(self._command)
        if not is_changed and self.reset.hasFocus():
            self.recorder.setFocus()
        self.reset.setVisible(is_changed)

    def matches(self, words: Sequence[str]) -> bool:
        text = f"{self._words} {self.recorder.keys} {self._fixed_keys}".casefold()
        return all(word in text for word in words)


def _names(keys: Sequence[str]) -> str:
    return ", ".join(map(native_key, keys))


def _command_groups(commands: WindowCommands) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the title of each menu of a window, and of each page, with name and title of its commands."""
    for menu in MENUS:
        names = [name for name, own in commands.commands.items() if own.menu is menu]
        yield (
            without_mnemonic(translate(menu)),
            [(name, action_words(commands.action(name))) for name in names],
        )
    for page in PAGES:
        title = tr("In {page}", page=translate(page.title))
        yield title, [(name, translate(own.words)) for name, own in page.commands.items()]


class _Notice(QFrame):
    """What keeps a key from a command: the command that has it, or why it can't be."""

    def __init__(self, page: KeyboardPage) -> None:
        super().__init__(page)
        self.setProperty("role", "card")
        self.text = label("", wrap=True)
        self.replace = PushButton(tr("Replace"), "primary", name="replace_keys", on_click=page.replace)
        self.cancel = PushButton(tr("Cancel"), name="cancel_keys", on_click=page.cancel)
        self.setLayout(column(ResponsiveRow(self.text, [self.replace, self.cancel]), margins=(12, 8, 8, 8)))
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.cancel.click()
        else:
            super().keyPressEvent(event)


class KeyboardPage(QWidget):
    """Changes the keys of a window's commands, for all windows; every change can be undone."""

    def __init__(self, bindings: KeyBindings, settings: Values) -> None:
        super().__init__()
        self.bindings = bindings
        self._settings = settings
        self._previous = bindings.stored
        self._waiting: tuple[str, tuple[str, ...]] | None = None
        """The command and keys that a conflict keeps apart."""
        self._lines: dict[str, _CommandLine] = {}
        self._groups: list[tuple[QWidget, list[_CommandLine]]] = []
        self.filter = SearchField(tr("Find a command or a key"))
        self.filter.textChanged.connect(self._apply_filter)
        all_reset = tr("All commands have their default keys.")
        self.reset_all = PushButton(tr("Reset all"), name="reset_all_keys")
        self.reset_all.clicked.connect(lambda: self._save(bindings.reset_all, all_reset))
        self._undo_line = UndoLine(lambda: self._save(lambda: bindings.use(self._previous), ""), "undo_keys")
        self._nothing = label(tr("No command or key matches."), "muted", wrap=True)
        self._nothing.hide()
        self.notice = _Notice(self)
        self._notice_line: _CommandLine | None = None
        body = column(gap=14)
        lead = tr("Choose a command's keys, then press new ones. Esc cancels, Backspace removes.")
        tools = row(self.filter, self.reset_all, stretch=0)
        head = column(
            label(tr("Keyboard"), "heading"), label(lead, "muted", wrap=True), 4, tools,
            margins=(28, 24, 40, 10), gap=6,
        )  # fmt: skip
        foot = column(self._undo_line, margins=(28, 6, 40, 12))  # below the list: none of its lines moves
        fixed = tr(
            "Keys that move, open or edit text, such as the arrows, Enter and Ctrl+C, can't be changed."
        )
        inner = pane(
            column(
                self._nothing, body, 10, label(fixed, "note", wrap=True), None,
                margins=(28, 6, 28, 24), gap=6,
            ),
            "page",
        )  # fmt: skip
        self.setLayout(page_column(column(head, VerticalScrollArea(inner), foot, gap=0)))
        for title, commands in _command_groups(bindings.commands):
            lines = {command: _CommandLine(command, words, title, self) for command, words in commands}
            inside = card(column(*lines.values(), margins=(14, 8, 14, 8), gap=4))
            frame = pane(column(label(title, "strong"), inside, gap=6))
            body.addWidget(frame)
            self._groups.append((frame, list(lines.values())))
            self._lines |= lines
        self.bindings.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        self._waiting = None
        for line in self._lines.values():
            line.refresh()
        self.reset_all.setEnabled(any(map(self.bindings.is_changed, self._lines)))
        self.hide_notice()
        self._apply_filter()

    def assign(self, command: str, keys: tuple[str, ...]) -> None:
        """Give a command keys, unless they can't be, or are those of another command: then say so."""
        reason = next(filter(None, (why_reserved(key, command) for key in keys)), "")
        owners = self.bindings.owners(command, keys)
        if reason:
            self.show_notice(command, reason, can_replace=False)
        elif owners:
            self._waiting = command, keys
            commands = ", ".join(map(command_title, owners))
            message = tr("{keys} is used by {command}", keys=_names(keys), command=commands)
            self.show_notice(command, message, can_replace=True)
        elif keys != self.bindings.keys(command):
            self._change(command, keys)
        else:
            self._refresh()

    def replace(self) -> None:
        if self._waiting is not None:
            self._change(*self._waiting)

    def _change(self, command: str, keys: tuple[str, ...]) -> None:
        title = command_title(command).rstrip("…")
        done = tr("{command}: now {keys}", command=title, keys=_names(keys))
        done = done if keys else tr("{command}: no keys", command=title)
        self._save(partial(self.bindings.change, command, keys), done)

    def _save(self, change: Callable[[], object], message: str) -> None:
        """Change keys, store what is in force then, and offer to undo it."""
        before = self.bindings.stored
        change()
        self._previous = before
        self._settings.set("shortcuts", self.bindings.stored)
        self.show_undo(message)

    def show_undo(self, message: str) -> None:
        """Say what was changed and offer to undo it; empty: no longer."""
        if not message and self._undo_line.button.hasFocus():
            self.filter.setFocus()
        self._undo_line.say(message)
        if message:
            announce(self, message)

    def show_notice(self, command: str, message: str, *, can_replace: bool) -> None:
        """Say what keeps keys from a command; `can_replace`: another one that they can be taken from."""
        self._notice_line = self._lines[command]
        self._notice_line.below.addWidget(self.notice)
        self.notice.text.setText(message)
        self.notice.replace.setVisible(can_replace)
        self.notice.cancel.setText(tr("Cancel") if can_replace else tr("OK"))
        self.notice.show()
        first = self.notice.replace if can_replace else self.notice.cancel
        first.setFocus()
        announce(self, message)

    def cancel(self) -> None:
        if self._notice_line is not None:
            self._notice_line.recorder.setFocus()
        self.hide_notice()

    def hide_notice(self) -> None:
        if self._notice_line is not None and self.notice.isAncestorOf(self.focusWidget() or self):
            self._notice_line.recorder.setFocus()
        self.notice.hide()
        self._notice_line = None

    def _apply_filter(self) -> None:
        words = self.filter.text().casefold().split()
        found = False
        for frame, lines in self._groups:
            for line in lines:
                line.setVisible(line.matches(words))
            frame.setVisible(not all(line.isHidden() for line in lines))
            found = found or not frame.isHidden()
        self._nothing.setVisible(not found)
