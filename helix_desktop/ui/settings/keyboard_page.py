"""Every command with its keys: to find, to change, to reset; conflicts stand below the command."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.fields import SearchField
from helix_desktop.ui.design.key_names import pressed_key
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import LayoutItem, card, column, row
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.themed import restyle
from helix_desktop.ui.settings.page_layout import page_column
from helix_desktop.words.translation import Translator

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
    """Pressed, it waits for keys: Esc cancels, Backspace removes, others are emitted as portable text."""

    recorded = Signal(str)
    removed = Signal()

    def __init__(self, command: str) -> None:
        """`command` are the words of the command that has the keys."""
        super().__init__("")
        self.setCheckable(True)  # down while it waits
        self.setMinimumHeight(scaled(_HEIGHT_PX))
        self._command = command
        self._keys = ""
        self.toggled.connect(self._show_state)

    def show_keys(self, keys: str) -> None:
        """Show keys as the system writes them; empty: none."""
        self._keys = keys
        self._show_state()

    def _show_state(self) -> None:
        waits = self.isChecked()
        self.setText(tr("Press keys…") if waits else self._keys or tr("Add keys"))
        restyle(self, "kind", "" if waits or self._keys else "link")  # the keys that there are stand out
        self.setAccessibleName(
            tr("{command}: press new keys. Esc cancels, Backspace removes.", command=self._command)
            if waits
            else tr("Keys for {command}: {keys}", command=self._command, keys=self._keys or tr("none"))
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
        """Stop waiting when the keyboard goes elsewhere."""
        self.setChecked(False)
        super().focusOutEvent(event)

    def _take(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers() & _MODIFIERS
        if key in _MODIFIER_KEYS:
            return
        self.setChecked(False)
        if not modifiers and key == _Key.Key_Escape:
            return
        if not modifiers and key == _Key.Key_Backspace:
            self.removed.emit()
            return
        self.recorded.emit(pressed_key(event))


class CommandKeys(msgspec.Struct, frozen=True):
    """A command and its keys, as the system writes them; `fixed_keys` can't be changed."""

    command: str
    title: str
    keys: str
    fixed_keys: str = ""
    is_changed: bool = False


class CommandGroup(msgspec.Struct, frozen=True):
    """The commands of one menu."""

    title: str
    commands: tuple[CommandKeys, ...]


class _CommandLine(QWidget):
    """One command: its words, its keys, and a button that resets them."""

    def __init__(self, entry: CommandKeys) -> None:
        super().__init__()
        self.setObjectName(f"command:{entry.command}")
        self.recorder = KeyRecorder(entry.title)
        self.recorder.setObjectName(f"keys:{entry.command}")
        self.reset = IconButton("rotate-ccw", tr("Reset keys for {command}", command=entry.title), edge=28)
        self.reset.setObjectName(f"reset:{entry.command}")
        fixed = label(tr("Always {keys}", keys=entry.fixed_keys), "faint") if entry.fixed_keys else None
        ends = QWidget()
        ends.setLayout(row(self.reset, *([fixed] if fixed else []), self.recorder, gap=6))
        self._entry = entry
        self.below = column(ResponsiveRow(label(entry.title, wrap=True), [ends], 120), gap=6)
        self.setLayout(self.below)
        self.show_entry(entry)

    def show_entry(self, entry: CommandKeys) -> None:
        self._entry = entry
        self.recorder.show_keys(entry.keys)
        if not entry.is_changed and self.reset.hasFocus():
            self.recorder.setFocus()
        self.reset.setVisible(entry.is_changed)

    def matches(self, words: Sequence[str], menu: str) -> bool:
        entry = self._entry
        text = f"{entry.title} {menu} {entry.keys} {entry.fixed_keys}".casefold()
        return all(word in text for word in words)


class _Notice(QFrame):
    """What keeps a key from a command: the command that has it, or why it can't be."""

    replace_confirmed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.text = label("", wrap=True)
        self.replace = PushButton(tr("Replace"), "primary", name="replace_keys")
        self.replace.clicked.connect(self.replace_confirmed)
        self.cancel = PushButton(tr("Cancel"), name="cancel_keys")
        parts = column(ResponsiveRow(self.text, [self.replace, self.cancel]), margins=(12, 8, 8, 8))
        self.setLayout(parts)
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc answers the question, and does not close the settings."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancel.click()
        else:
            super().keyPressEvent(event)


class KeyboardPage(QWidget):
    """Emits what the user asks for; keys are portable text."""

    keys_recorded = Signal(str, str)
    """A command, and its new keys."""
    keys_removed = Signal(str)
    reset_requested = Signal(str)
    reset_all_requested = Signal()
    replace_confirmed = Signal()
    undo_requested = Signal()

    def __init__(self) -> None:
        """Start without commands: see `show_commands`."""
        super().__init__()
        self._lines: dict[str, _CommandLine] = {}
        self._groups: list[tuple[str, QWidget, tuple[_CommandLine, ...]]] = []
        self.filter = SearchField(tr("Find a command or a key"))
        self.filter.textChanged.connect(self._apply_filter)
        self.reset_all = PushButton(tr("Reset all"), name="reset_all_keys")
        self.reset_all.clicked.connect(self.reset_all_requested)
        self._undo_text, undo = self._undo_line()
        self._nothing = label(tr("No command or key matches."), "muted", wrap=True)
        self._nothing.hide()
        self.notice = _Notice()
        self.notice.setParent(self)
        self.notice.replace_confirmed.connect(self.replace_confirmed)
        self.notice.cancel.clicked.connect(self._cancel)
        self._notice_line: _CommandLine | None = None
        self._body = column(gap=14)
        lead = tr("Choose a command's keys, then press new ones. Esc cancels, Backspace removes.")
        tools = row(self.filter, self.reset_all)
        tools.setStretch(0, 1)
        head = column(
            label(tr("Keyboard"), "heading"), label(lead, "muted", wrap=True), 4, tools,
            margins=(28, 24, 40, 10), gap=6,
        )  # fmt: skip
        self._foot = QWidget()  # below the list: no line moves under the mouse
        self._foot.setLayout(column(undo, margins=(28, 6, 40, 12)))
        self._foot.hide()
        self.setLayout(page_column(column(head, self._scrolling_list(), self._foot, gap=0)))

    def _scrolling_list(self) -> QWidget:
        fixed = tr(
            "Keys that move, open or edit text, such as the arrows, Enter and Ctrl+C, can't be changed."
        )
        inner = QWidget()
        inner.setObjectName("page")
        parts: list[LayoutItem] = [self._nothing, self._body, 10, label(fixed, "note", wrap=True), None]
        inner.setLayout(column(*parts, margins=(28, 6, 28, 24), gap=6))
        scroll = VerticalScrollArea(inner)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return scroll

    def _undo_line(self) -> tuple[QLabel, QFrame]:
        words = label("", "muted", wrap=True)
        back = PushButton(tr("Undo"), "link", name="undo_keys")
        back.clicked.connect(self.undo_requested)
        parts = row(words, back, margins=(14, 4, 8, 4))
        parts.setStretch(0, 1)
        return words, card(parts)

    def show_commands(self, groups: Sequence[CommandGroup]) -> None:
        """Show all commands with the keys that they have now."""
        if not self._lines:
            for group in groups:
                self._add_group(group)
        for group in groups:
            for entry in group.commands:
                self._lines[entry.command].show_entry(entry)
        self.reset_all.setEnabled(any(entry.is_changed for group in groups for entry in group.commands))
        self._hide_notice()
        self._apply_filter()

    def show_conflict(self, command: str, message: str) -> None:
        """Say which command has the keys, and offer to take them from it."""
        self._show_notice(command, message, can_replace=True)

    def show_refusal(self, command: str, message: str) -> None:
        """Say why keys can't be those of a command."""
        self._show_notice(command, message, can_replace=False)

    def show_undo(self, message: str) -> None:
        """Say what was changed and offer to undo it; empty: no longer."""
        if not message and self._foot.isAncestorOf(self.focusWidget() or self):
            self.filter.setFocus()
        self._undo_text.setText(message)
        self._foot.setVisible(bool(message))
        if message:
            announce(self, message)

    def _add_group(self, group: CommandGroup) -> None:
        lines: list[_CommandLine] = []
        parts: list[LayoutItem] = []
        for entry in group.commands:
            command_line = _CommandLine(entry)
            self._connect(entry.command, command_line)
            lines.append(command_line)
            parts.append(command_line)
        frame = QWidget()
        frame.setLayout(
            column(label(group.title, "strong"), card(column(*parts, margins=(14, 8, 14, 8), gap=4)), gap=6)
        )
        self._body.addWidget(frame)
        self._groups.append((group.title, frame, tuple(lines)))

    def _connect(self, command: str, command_line: _CommandLine) -> None:
        self._lines[command] = command_line
        recorder = command_line.recorder
        recorder.clicked.connect(self._hide_notice)
        recorder.recorded.connect(lambda keys: self.keys_recorded.emit(command, keys))
        recorder.removed.connect(lambda: self.keys_removed.emit(command))
        command_line.reset.clicked.connect(lambda: self.reset_requested.emit(command))

    def _show_notice(self, command: str, message: str, *, can_replace: bool) -> None:
        self._notice_line = self._lines[command]
        self._notice_line.below.addWidget(self.notice)
        self.notice.text.setText(message)
        self.notice.replace.setVisible(can_replace)
        self.notice.cancel.setText(tr("Cancel") if can_replace else tr("OK"))
        self.notice.show()
        (self.notice.replace if can_replace else self.notice.cancel).setFocus()
        announce(self, message)

    def _cancel(self) -> None:
        if self._notice_line is not None:
            self._notice_line.recorder.setFocus()
        self._hide_notice()

    def _hide_notice(self) -> None:
        if self._notice_line is not None and self.notice.isAncestorOf(self.focusWidget() or self):
            self._notice_line.recorder.setFocus()
        self.notice.hide()
        self._notice_line = None

    def _apply_filter(self) -> None:
        words = self.filter.text().casefold().split()
        found = False
        for menu, frame, lines in self._groups:
            matches = [(command_line, command_line.matches(words, menu)) for command_line in lines]
            for command_line, is_match in matches:
                command_line.setVisible(is_match)
            frame.setVisible(any(is_match for _, is_match in matches))
            found = found or frame.isVisibleTo(self)
        self._nothing.setVisible(bool(self._groups) and not found)
