"""Puts the user's keys in force, fills the page about them, and does what it asks for."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from PySide6.QtCore import QObject

from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.kit.commands import action_words
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.ui.settings.keyboard_page import CommandGroup, CommandKeys, KeyboardPage
from helix_desktop.ui.shell.commands import MENUS
from helix_desktop.ui.shell.key_bindings import (
    COMMANDS,
    DEFAULT_KEYS,
    PAGES,
    KeyBindings,
    command_title,
    why_reserved,
)
from helix_desktop.ui.shell.main_window import MainWindow
from helix_desktop.ui.shell.switcher.commands import without_mnemonic
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Keyboard")


class KeyboardPresenter(QObject):
    """Binds the page to the window's keys and the settings; every change can be undone."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context.window)
        self._window, self._services = context.window, context.services
        self._bindings, self._async_actions = context.window.key_bindings, context.async_actions
        self._page: KeyboardPage | None = None
        self._previous = self._bindings.stored
        self._waiting: tuple[str, tuple[str, ...]] | None = None
        """The command and keys that a conflict keeps apart."""

    def attach(self, page: KeyboardPage) -> None:
        """Serve the page, which is built when it is first needed."""
        self._page = page
        page.keys_recorded.connect(lambda command, keys: self._assign(command, (keys,)))
        page.keys_removed.connect(lambda command: self._assign(command, ()))
        page.reset_requested.connect(lambda command: self._assign(command, DEFAULT_KEYS[command]))
        page.reset_all_requested.connect(self._reset_all)
        page.replace_confirmed.connect(self._replace)
        page.undo_requested.connect(self._undo)

    def show(self) -> None:
        """Show the keys that commands have now."""
        self._waiting = None
        if self._page is not None:
            self._page.show_commands(tuple(command_groups(self._window)))

    def _assign(self, command: str, keys: tuple[str, ...]) -> None:
        """Give a command keys, unless they can't be, or are those of another command: then say so."""
        if self._page is None:
            return
        names = ", ".join(map(native_key, keys))
        reason = next(filter(None, (why_reserved(key, command) for key in keys)), "")
        owners = self._bindings.owners(command, keys)
        if reason:
            self._page.show_refusal(command, reason)
        elif owners:
            self._waiting = command, keys
            commands = ", ".join(map(command_title, owners))
            self._page.show_conflict(command, tr("{keys} is used by {command}", keys=names, command=commands))
        elif keys != self._bindings.keys(command):
            self._change(command, keys)
        else:
            self.show()

    def _replace(self) -> None:
        if self._waiting is not None:
            self._change(*self._waiting)

    def _change(self, command: str, keys: tuple[str, ...]) -> None:
        self._previous = self._bindings.stored
        self._bindings.change(command, keys)
        title, names = command_title(command).rstrip("…"), ", ".join(map(native_key, keys))
        self._save(
            tr("{command}: now {keys}", command=title, keys=names)
            if keys
            else tr("{command}: no keys", command=title)
        )

    def _reset_all(self) -> None:
        self._previous = self._bindings.stored
        self._bindings.reset_all()
        self._save(tr("All commands have their default keys."))

    def _undo(self) -> None:
        self._bindings.use(self._previous)
        self._save("")

    def _save(self, message: str) -> None:
        """Show and store what is in force, and offer to undo it."""
        self.show()
        if self._page is not None:
            self._page.show_undo(message)
        settings = msgspec.structs.replace(self._services.settings, shortcuts=self._bindings.stored)
        self._async_actions.start(self._services.save_settings(settings), "save keyboard shortcuts")


def command_groups(window: MainWindow) -> Iterator[CommandGroup]:
    """Yield the commands of each menu of a window with their keys, then those of each page."""
    bindings = window.key_bindings
    for menu in MENUS:
        commands = (action for group in window.commands.menu_groups(menu) for action in group)
        entries = (_entry(bindings, action.objectName(), action_words(action)) for action in commands)
        yield CommandGroup(without_mnemonic(translate(menu)), tuple(entries))
    for page in PAGES:
        title = tr("In {page}", page=translate(page.title))
        entries = (_entry(bindings, name, translate(own.words)) for name, own in page.commands.items())
        yield CommandGroup(title, tuple(entries))


def _entry(bindings: KeyBindings, command: str, title: str) -> CommandKeys:
    keys = ", ".join(map(native_key, bindings.keys(command)))
    return CommandKeys(
        command, title, keys, native_key(COMMANDS[command].fixed_key), bindings.is_changed(command)
    )
