"""The built-in commands are actions of the window, each under names of its own."""

from __future__ import annotations

from helix_desktop.domain.slash_command import is_command_name
from helix_desktop.ui.kit.window_commands import WindowCommands
from helix_desktop.words.slash_commands import SLASH_COMMANDS, find_slash_command


def test_each_command_is_an_action_and_its_names_are_its_own() -> None:
    """Menus, palette and commands do the same thing; no two commands share a name."""
    names = [name for command in SLASH_COMMANDS for name in (command.name, *command.also)]
    assert len(set(names)) == len(names)
    assert all(map(is_command_name, names))
    table = [command for command in WindowCommands.commands.values() if command.slash]
    assert sorted(command.slash for command in table) == [command.name for command in SLASH_COMMANDS]
    takes_arguments = {command.name for command in SLASH_COMMANDS if command.arguments}
    assert {command.slash for command in table if command.with_arguments} == takes_arguments
    assert [command.name for command in SLASH_COMMANDS] == sorted(command.name for command in SLASH_COMMANDS)
    clear = find_slash_command("CLEAR")
    assert clear is not None
    assert clear.name == "new"
