"""What a window shows on request to find one's way: the guide, its list of keys, the palette of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow

from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.help_link import HelpLink
from helix_desktop.ui.kit.intents import OpenSwitcher, ShowCommands, ShowGuide, handles
from helix_desktop.ui.kit.window_commands import WindowCommands
from helix_desktop.ui.window.command_list import CommandList
from helix_desktop.ui.window.key_bindings import COMMANDS, KeyBindings, command_title
from helix_desktop.ui.window.panes import LayoutStore
from helix_desktop.words.translation import Translator, translate

if TYPE_CHECKING:
    from helix_desktop.ui.help.guide import GuideDialog
    from helix_desktop.ui.window.command_list import CommandPalette

tr = Translator("Window")
text = TextContext("Window")

_OPENED_TOPICS = "opened_topics"

_OUTSIDE_MENUS = (
    (text("Send message"), "Enter, Ctrl+Enter"),
    (text("New line in message"), "Shift+Enter"),
    (text("Earlier message, next message"), "Up, Down"),
    (text("Complete a file, cached output or command"), "Ctrl+Space"),
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
    """Guide and palette are made when they are asked for: the first paint does not wait for them."""

    def __init__(
        self,
        window: QMainWindow,
        commands: WindowCommands,
        key_bindings: KeyBindings,
        layout_store: LayoutStore,
    ) -> None:
        """`layout_store` remembers which topics the user has opened."""
        self._window, self._layout_store = window, layout_store
        self._key_bindings = key_bindings
        self.guide: GuideDialog | None = None
        self.command_palette: CommandPalette | None = None
        self.command_list = CommandList(window.menuBar(), (commands.all_commands, commands.switch_workspace))
        self._topic_actions: list[QAction] = []

    @handles(ShowCommands)
    def show_commands(self) -> None:
        from helix_desktop.ui.window.command_list import CommandPalette

        self._offer_topics()
        if self.command_palette is None:
            self.command_palette = CommandPalette(self._window, self.command_list)
        self.command_palette.open()

    @handles(OpenSwitcher)
    def _offer_topics(self) -> None:
        """Offer each topic of the guide as a command, from the first time on that commands are listed."""
        from helix_desktop.ui.help.guide import guide_pages

        if self._topic_actions:
            return
        for topic, page in guide_pages().items():
            action = QAction(page.title, self._window)
            action.setObjectName(f"guide:{topic}")
            action.triggered.connect(lambda _=False, topic=topic: self.show_topic(topic))
            self._topic_actions.append(action)
        self.command_list.offer(tr("Guide"), self._topic_actions)

    @handles(ShowGuide)
    def show_topic(self, topic: str) -> None:
        """Show a topic of the guide; the links to it have done their work then."""
        from helix_desktop.ui.help.guide import GuideDialog

        if self.guide is None:
            self.guide = GuideDialog(self._window, shortcuts(self._key_bindings))
        self.guide.show_topic(topic)
        self._layout_store.save(_OPENED_TOPICS, ",".join(sorted({*self._opened_topics(), topic})).encode())
        self.hide_followed_links()

    def update_shortcuts(self) -> None:
        if self.guide is not None:
            self.guide.show_shortcuts(shortcuts(self._key_bindings))

    def hide_followed_links(self) -> None:
        opened_topics = self._opened_topics()
        for link in self._window.findChildren(HelpLink):
            link.setVisible(link.topic not in opened_topics)

    def close(self) -> None:
        """Take the guide along when the window closes."""
        if self.guide is not None:
            self.guide.close()

    def _opened_topics(self) -> set[str]:
        return set(self._layout_store.load(_OPENED_TOPICS).decode("ascii", "ignore").split(","))
