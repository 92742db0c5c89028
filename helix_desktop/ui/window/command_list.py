"""Commands found by a few letters, for the picker; the guide with its list of keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from helix_desktop.domain.text_format import matches_query
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.ui.design.cards import HelpLink
from helix_desktop.ui.kit.boxes import Box, Frame, Row, Text, face
from helix_desktop.ui.kit.commands import WindowCommands, action_shortcut, action_words
from helix_desktop.ui.kit.intents import OpenPicker, ShowGuide, handles
from helix_desktop.ui.rows.quick_picker import Line, QuickPicker, line
from helix_desktop.ui.window.key_bindings import COMMANDS, KeyBindings, command_title
from helix_desktop.ui.window.panes import LayoutStore
from helix_desktop.words.translation import Translator, translate

if TYPE_CHECKING:
    from helix_desktop.ui.help.guide import GuideDialog

tr = Translator("Window")
text = TextContext("Search words")

PLACE_WORDS: dict[str, TranslatableText] = {
    "settings:providers": text("api key model server ollama openai anthropic"),
    "settings:roles": text("summarizer extracts fast main long texts"),
    "settings:appearance": text("appearance theme font size motion sound notifications"),
    "settings:keyboard": text("shortcuts hotkeys keys bindings"),
    "settings:instructions": text("agents.md rules prompt"),
    "settings:policy": text("threshold handover compaction cache profile"),
    "settings:permissions": text("approval allow deny rules sandbox"),
    "settings:mcp": text("tools plugins extensions"),
    "settings:data": text("storage disk retention backup folder"),
    "settings:about": text("version license diagnostics"),
    "guide:context": text("window tokens"),
    "guide:cached": text("short description output recall digest"),
    "guide:compacted": text("handover note summary summarize"),
    "guide:policy": text("profile threshold"),
    "guide:changes": text("revert diff files"),
}
"""By the names of the actions that lead to pages of the settings and topics of the guide."""


def matches_search_words(needle: str, action: QAction, own_words: str) -> bool:
    """Return True if every typed word is in a command's own words, or begins one of its search words."""
    name = action.objectName()
    command = WindowCommands.commands.get(name)
    also = PLACE_WORDS.get(name) if command is None else command.also
    search_words = translate(also or "").casefold().split()
    own = own_words.casefold()
    return all(
        typed in own or any(word.startswith(typed) for word in search_words)
        for typed in needle.casefold().split()
    )


_COMMAND_PX = 34
_RECENT = 5  # commands that were used last and stand first
_CHECK = "✓"
_MNEMONIC = re.compile(r"\(&\w\)|&(?!&)")


class CommandList(QObject):
    """What the menus and the table of commands offer now, and others in groups; the last used first."""

    changed = Signal()

    def __init__(self, menus: QMenuBar, table: WindowCommands) -> None:
        super().__init__(menus)
        self._menus = menus
        self._table = table
        self._hidden = frozenset((table.all_commands, table.switch_workspace))  # they open the picker
        self._recent_actions: list[QAction] = []
        self._groups: dict[str, list[QAction]] = {}

    def offer(self, group: str, commands: Iterable[tuple[str, str, Callable[[], object]]]) -> None:
        """Offer commands behind those of the menus, in place of the previous ones of their group.

        Each has a name that finds it, words, and what it does.
        """
        for action in self._groups.pop(group, []):
            action.deleteLater()
        self._groups[group] = actions = list[QAction]()
        for name, words, do in commands:
            actions.append(action := QAction(words, self))
            action.setObjectName(name)
            action.triggered.connect(lambda _=False, do=do: do())
        self.changed.emit()

    def find(self, needle: str) -> Iterator[Line]:
        """Return the commands that can be used now and are called so, by their menu's name, too.

        What has other words is found by them behind these.
        """
        commands = dict(self._commands())
        by_other_words = []
        for action in dict.fromkeys([*self._recent(commands), *commands]):
            own_words = f"{command_text(action)} {commands[action]}"
            if matches_query(needle, own_words):
                yield OfferedCommand(action, commands[action]).line()
            elif matches_search_words(needle, action, own_words):
                by_other_words.append(action)
        yield from (OfferedCommand(action, commands[action]).line() for action in by_other_words)

    def recent(self) -> Iterator[Line]:
        commands = dict(self._commands())
        return (OfferedCommand(action, commands[action]).line() for action in self._recent(commands))

    def run(self, action: QAction, picker: QuickPicker) -> None:
        """Do a command, with the keyboard where it was before the picker, and list it first from now on."""
        others = (recent for recent in self._recent_actions if recent is not action)
        self._recent_actions = [action, *others][:_RECENT]
        picker.dismiss()
        action.trigger()

    def _recent(self, commands: dict[QAction, str]) -> list[QAction]:
        return [action for action in self._recent_actions if action in commands]

    def _commands(self) -> Iterator[tuple[QAction, str]]:
        for top in self._menus.actions():
            menu = top.menu()
            for action in menu.actions() if isinstance(menu, QMenu) else ():
                if action.isEnabled() and not action.isSeparator() and action not in self._hidden:
                    yield action, without_mnemonic(top.text())
        for name, command in self._table.commands.items():
            action = self._table.action(name)
            if not command.is_in_menu and action.isEnabled() and command.menu is not None:
                yield action, without_mnemonic(translate(command.menu))
        for group, actions in self._groups.items():
            yield from ((action, group) for action in actions)


class OfferedCommand(NamedTuple):
    """A command in a picker, and the menu or group that it is in."""

    action: QAction
    menu: str

    def draw(self) -> Box:
        mark = Text(_CHECK, color="accent") if self.action.isChecked() else Text("")
        words = Text(command_text(self.action), shrink=True)
        menu = Text(self.menu, 12, "muted", grow=True, shrink=True)
        keys = Text(action_shortcut(self.action), 12, "muted")
        wide = face(13)[1].horizontalAdvance(_CHECK)
        return Frame(Row([Frame(mark, wide=wide), words, menu, keys], 10), (12, 0, 12, 0))

    def line(self) -> Line:
        words = command_text(self.action)
        state = tr("checked") if self.action.isChecked() else ""
        spoken = (words, state, self.menu, action_shortcut(self.action))
        return line(self, words, _COMMAND_PX, (words,), spoken)


def command_text(action: QAction) -> str:
    return without_mnemonic(action_words(action))


def without_mnemonic(text: str) -> str:
    """Return a menu's text without its mark for the keyboard: `&File`, or `(&F)` behind Chinese words."""
    return _MNEMONIC.sub("", text)


_OPENED_TOPICS = "opened_topics"

_OUTSIDE_MENUS = (
    (text("Send message"), "Enter, Ctrl+Enter"),
    (text("New line in message"), "Shift+Enter"),
    (text("Earlier message, next message"), "Up, Down"),
    (text("Complete a file, output or command"), "Ctrl+Space"),
    (text("Next or previous result"), "F3, Shift+F3"),
)


def shortcuts(bindings: KeyBindings) -> tuple[tuple[str, str], ...]:
    """Return each command with its keys as portable text; several keys are parted by ", "."""
    lines = [
        (command_title(name).rstrip("…"), ", ".join(filter(None, (*bindings.keys(name), command.fixed_key))))
        for name, command in COMMANDS.items()
    ]
    in_window = len(WindowCommands.commands)
    fixed = [(translate(words), keys) for words, keys in _OUTSIDE_MENUS]
    return tuple(line for line in (*lines[:in_window], *fixed, *lines[in_window:]) if line[1])


class HelpWindows:
    """The guide is made when it is opened: the first paint does not wait for it."""

    def __init__(self, window: QMainWindow, key_bindings: KeyBindings, layout_store: LayoutStore) -> None:
        """`layout_store` remembers which topics the user has opened."""
        self._window = window
        self._layout_store = layout_store
        self._key_bindings = key_bindings
        commands = key_bindings.commands
        self.guide: GuideDialog | None = None
        self.command_list = CommandList(window.menuBar(), commands)
        self._has_topics = False
        key_bindings.changed.connect(self._update_shortcuts)

    @handles(OpenPicker)
    def _offer_topics(self, typed: str) -> None:
        """Offer each topic of the guide as a command, from the first time on that commands are listed."""
        from helix_desktop.ui.help.guide import guide_pages

        if not self._has_topics:
            self._has_topics = True
            pages = guide_pages().items()
            topics = ((f"guide:{key}", page.title, partial(self.show_topic, key)) for key, page in pages)
            self.command_list.offer(tr("Guide"), topics)

    @handles(ShowGuide)
    def show_topic(self, topic: str) -> None:
        """Show a topic of the guide; the links to it have done their work then."""
        from helix_desktop.ui.help.guide import GuideDialog

        if self.guide is None:
            self.guide = GuideDialog(self._window, shortcuts(self._key_bindings))
        self.guide.show_topic(topic)
        self._layout_store.save(_OPENED_TOPICS, ",".join(sorted({*self._opened_topics(), topic})).encode())
        self.hide_followed_links()

    def _update_shortcuts(self) -> None:
        if self.guide is not None:
            self.guide.show_shortcuts(shortcuts(self._key_bindings))

    def hide_followed_links(self) -> None:
        opened_topics = self._opened_topics()
        for link in self._window.findChildren(HelpLink):
            link.setVisible(link.topic not in opened_topics)

    def close(self) -> None:
        if self.guide is not None:
            self.guide.close()

    def _opened_topics(self) -> set[str]:
        return set(self._layout_store.load(_OPENED_TOPICS).decode("ascii", "ignore").split(","))
