"""Commands: what the user can do, with words, keys, place in the menus, slash command, and what it needs.

Each page, and the window, has one table of them: a class whose attributes are its commands. From the tables
come menu bar, palette, slash commands, tooltips, the keys in force, the settings of keys and their list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, overload

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QHelpEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from helix_desktop.domain.translatable_text import TranslatableText
from helix_desktop.ui.design.buttons import IconButton
from helix_desktop.ui.design.key_names import native_key, pressed_key, tip_with_key
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.words.translation import translate


class Need:
    """What must be there for a command to be used; and what is said of the command while it is not."""

    def __init__(self, reason: TranslatableText) -> None:
        self.reason = reason


class Command:
    """One thing to do, as it stands in a table; the table's instance in a window has its QAction.

    `keys` are the defaults as portable text, which the user can change; `fixed_key` is one that the widget in
    focus answers, not the command. `menu` and `group` say where the command stands in the menu bar, where
    groups are parted by lines, and in other lists; with `is_in_menu` False only there. `slash` names its
    slash command, which `with_arguments` makes an intent of what is typed behind it. `one_of` names commands
    of which one is checked.
    """

    def __init__(
        self,
        words: TranslatableText,
        intent: Intent | None = None,
        *keys: str,
        menu: TranslatableText | None = None,
        group: int = 0,
        needs: tuple[Need, ...] = (),
        slash: str = "",
        with_arguments: Callable[[str], Intent] | None = None,
        also: TranslatableText | None = None,
        fixed_key: str = "",
        is_checkable: bool = False,
        one_of: str = "",
        is_in_menu: bool = True,
    ) -> None:
        """`also` are words by which users may look for it, too. Without an intent its page does it."""
        self.id = ""
        """Under which the user's keys are stored: the attribute of its table."""
        self.words, self.intent, self.keys, self.fixed_key = words, intent, keys, fixed_key
        self.menu, self.group, self.needs, self.is_in_menu = menu, group, needs, is_in_menu
        self.slash, self.with_arguments, self.also = slash, with_arguments, also
        self.is_checkable, self.one_of = is_checkable or bool(one_of), one_of

    def __set_name__(self, table: type, name: str) -> None:
        self.id = name

    @overload
    def __get__(self, window_commands: None, table: type) -> Command: ...
    @overload
    def __get__(self, window_commands: WindowCommandTable, table: type) -> QAction: ...
    def __get__(self, window_commands: WindowCommandTable | None, table: type) -> Command | QAction:
        return self if window_commands is None else window_commands.action(self.id)


class CommandTable:
    """The commands of one page; their keys work while the keyboard is there. No two tables share a name."""

    title: ClassVar[TranslatableText]
    commands: ClassVar[Mapping[str, Command]]

    def __init_subclass__(cls) -> None:
        cls.commands = {name: own for name, own in vars(cls).items() if isinstance(own, Command)}


class _CommandAction(QAction):
    """A command whose keys count as use of the keyboard: what it opens shows where the focus is."""

    def event(self, event: QEvent) -> bool:
        """Tell the window before the command runs; Qt does so for Tab alone."""
        window = self.parent()
        if event.type() == QEvent.Type.Shortcut and isinstance(window, QWidget):
            window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        return super().event(event)


class WindowCommandTable(CommandTable):
    """Commands that work everywhere in a window: each is an action that performs its intent."""

    def __init__(self, window: QWidget) -> None:
        """The window owns the actions; by their keys they are reachable in it."""
        self._actions: dict[str, QAction] = {}
        self._met: set[Need] = set()
        choices: dict[str, QActionGroup] = {}
        for name, command in self.commands.items():
            action = self._actions[name] = _CommandAction(translate(command.words), window)
            action.setObjectName(name)
            action.setCheckable(command.is_checkable)
            if command.one_of:
                choices.setdefault(command.one_of, QActionGroup(window)).addAction(action)
            if command.intent is not None:
                action.triggered.connect(lambda _=False, intent=command.intent: perform(window, intent))
            self.set_keys(name, command.keys)
            window.addAction(action)
        self._enable()

    def action(self, name: str) -> QAction:
        return self._actions[name]

    def set_keys(self, name: str, keys: Sequence[str]) -> None:
        """Give a command these keys, as portable text, in place of those that it had."""
        action, command = self._actions[name], self.commands[name]
        action.setShortcuts([QKeySequence(key) for key in keys])
        # Where keys would stand it shows those that the widget in focus, not the menu, has to answer.
        hint = "" if keys else native_key(command.fixed_key)
        action.setText("\t".join(filter(None, (action_words(action), hint))))

    def set_met(self, need: Need, is_met: bool) -> None:
        """Let the commands that have this need be used, as far as they have no other; or say why not."""
        if is_met != (need in self._met):
            self._met ^= {need}
            self._enable()

    def actions_needing(self, need: Need) -> tuple[QAction, ...]:
        return tuple(self._actions[name] for name, command in self.commands.items() if need in command.needs)

    def _enable(self) -> None:
        for name, command in self.commands.items():
            missing = next((need for need in command.needs if need not in self._met), None)
            self._actions[name].setEnabled(missing is None)
            self._actions[name].setStatusTip(translate(missing.reason) if missing is not None else "")

    def menu_groups(self, menu: TranslatableText) -> Iterator[list[QAction]]:
        groups: dict[int, list[QAction]] = {}
        for name, command in self.commands.items():
            if command.menu is menu and command.is_in_menu:
                groups.setdefault(command.group, []).append(self._actions[name])
        yield from groups.values()


class CommandMenu(QMenu):
    """Groups of commands, a line between them; at the pointer it says why an entry is off: its status tip."""

    def __init__(self, parent: QWidget, *groups: Sequence[QAction], title: str = "") -> None:
        super().__init__(title, parent)
        for place, group in enumerate(groups):
            if place:
                self.addSeparator()
            self.addActions(list(group))

    def event(self, event: QEvent) -> bool:
        """Show the reason in place of Qt's tooltip, which would repeat the words of each entry."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            action = self.actionAt(event.pos())
            reason = "" if action is None or action.isEnabled() else action.statusTip()
            QToolTip.showText(event.globalPos(), reason, self)
            return True
        return super().event(event)


class EntryMenu(QMenu):
    """A menu that is made each time it opens, with what can be done to what it is of."""

    def __init__(self, parent: QWidget, title: str = "") -> None:
        super().__init__(title, parent)
        # One inside another menu is closed, and opened again, as the mouse goes by.
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, not isinstance(parent, QMenu))

    def add(
        self,
        name: str,
        words: str,
        deed: Intent | Callable[[], object],
        key: str = "",
        *,
        is_enabled: bool = True,
        is_checked: bool | None = None,
    ) -> QAction:
        """Add an entry; `name` finds it, `key` stands beside it. With `is_checked` it can be checked."""
        action = self.addAction("\t".join(filter(None, (words, native_key(key)))))
        action.setObjectName(name)
        action.setEnabled(is_enabled)
        if is_checked is not None:
            action.setCheckable(True)
            action.setChecked(is_checked)
        action.triggered.connect(lambda _: perform(self, deed) if isinstance(deed, Intent) else deed())
        return action

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do the entry that the key stands beside; Space and those that walk through a menu stay its own."""
        keys = native_key(pressed_key(event)) if event.text().strip() else ""
        entries = (entry for entry in self.actions() if entry.isEnabled() and action_shortcut(entry) == keys)
        if keys and (entry := next(entries, None)) is not None:
            self.close()
            entry.trigger()
        else:
            super().keyPressEvent(event)


def action_words(action: QAction) -> str:
    """Return the words of a menu entry, without the keys that may stand behind them."""
    return action.text().partition("\t")[0]


def set_action_words(action: QAction, words: str) -> None:
    """Let a menu entry have other words, and the hint for its keys that it had."""
    action.setText("\t".join((words, *action.text().split("\t")[1:])))


def action_shortcut(action: QAction) -> str:
    """Return the keys of a menu entry as the system writes them; empty when it has none."""
    return native_key(action.shortcut().toString()) or action.text().partition("\t")[2]


def keep_tip(action: QAction, text: str, set_tip: Callable[[str], object]) -> None:
    """Set a tooltip now and whenever the action's keys change: its words, and the keys in parentheses."""

    def update() -> None:
        set_tip(tip_with_key(text, action_shortcut(action)))

    action.changed.connect(update)
    update()


def command_button(
    action: QAction, icon_name: str, words: str, *, px: int = 17, edge: int = 30
) -> IconButton:
    """Return a button that does a command; sizes are those of `IconButton`."""
    button = IconButton(icon_name, "", px=px, edge=edge)
    keep_tip(action, words, button.set_tip)
    button.clicked.connect(action.trigger)
    return button


class PageKeys(QObject):
    """The keys in force in one page; what shows or answers them follows `changed`."""

    changed = Signal()

    def __init__(self, table: type[CommandTable], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._keys = {name: command.keys for name, command in table.commands.items()}

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
        pressed = pressed_key(event)
        return next((command for command, keys in self._keys.items() if pressed in keys), "")

    def add_shortcut(
        self, command: str, widget: QWidget, callback: Callable[[], object], context: Qt.ShortcutContext
    ) -> None:
        """Let the keys of a command call something where `context` says, as an action of the widget."""
        action = add_shortcut(widget, "", callback, context)
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


def _sequences(keys: Sequence[str]) -> list[QKeySequence]:
    """Return what a shortcut listens to: Enter of the keypad is as Return."""
    variants = [variant for key in keys for variant in dict.fromkeys((key, key.replace("Return", "Enter")))]
    return [QKeySequence(key) for key in variants]


def add_shortcut(
    widget: QWidget, key: str, callback: Callable[[], object], context: Qt.ShortcutContext
) -> QAction:
    """Let a key call something where `context` says, as an action of the widget."""
    action = QAction(widget)
    action.setShortcut(QKeySequence(key))
    action.setShortcutContext(context)
    action.triggered.connect(lambda _: callback())
    widget.addAction(action)
    return action


def move_keys(action: QAction, window: QWidget, page: QWidget) -> None:
    """Let the keys of a window's action work only where the focus is in a page of it."""
    window.removeAction(action)
    page.addAction(action)
    action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
