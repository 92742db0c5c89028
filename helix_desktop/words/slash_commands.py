"""The built-in slash commands: each is a command of the window, typed as the first word of a message."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.slash_command import command_key
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Slash commands")


class SlashCommand(msgspec.Struct, frozen=True):
    """A built-in command: what it does, and what may stand behind its name.

    `arguments` is empty where nothing may. `also` are other names that users of other agents type.
    """

    name: str
    summary: TranslatableText
    arguments: str = ""
    also: tuple[str, ...] = ()


SLASH_COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("archive", text("Archive or unarchive this session")),
    SlashCommand("branch", text("Start a branch of this session")),
    SlashCommand("btw", text("Ask something that stays out of the context"), "[QUESTION]"),
    SlashCommand(
        "budget",
        text("Set what this session may spend; {no_limit}: no limit", no_limit="off, none, 0, $0"),
        "[TOKENS] [$USD] | off",
    ),
    SlashCommand("cache", text("Search the stored outputs"), "[WORDS]"),
    SlashCommand("changes", text("Show the files that this session changed"), also=("diff",)),
    SlashCommand("compact", text("Replace older messages by a handover summary"), "[FOCUS]"),
    SlashCommand("context", text("Show or hide what the next request contains")),
    SlashCommand("effort", text("Choose how much the model thinks"), "[LEVEL]"),
    SlashCommand("export", text("Export this session, outputs, the workspace or all of them")),
    SlashCommand("find", text("Find words in this session"), "[WORDS]"),
    SlashCommand("help", text("Show all commands")),
    SlashCommand("import", text("Import a Helix file, or sessions of other agents")),
    SlashCommand("keys", text("Show keyboard shortcuts")),
    SlashCommand("mode", text("Change how freely the agent acts"), "[ask|plan|auto]"),
    SlashCommand("model", text("Choose the model for this session"), "[NAME]"),
    SlashCommand("new", text("Start a new session"), also=("clear",)),
    SlashCommand("observe", text("Compact older turns now")),
    SlashCommand("pin", text("Pin this session to the top of the list, or unpin it")),
    SlashCommand("quit", text("Close Helix Desktop"), also=("exit",)),
    SlashCommand("redo", text("Redo the last context change that was undone")),
    SlashCommand("rename", text("Rename this session"), "[TITLE]"),
    SlashCommand("rewind", text("Go back to before a message: files, conversation or both")),
    SlashCommand("search", text("Search the sessions of all workspaces"), "[WORDS]"),
    SlashCommand("settings", text("Open settings"), also=("config",)),
    SlashCommand("stop", text("Stop the agent")),
    SlashCommand("survives", text("Compare this session with and without Helix")),
    SlashCommand("timeline", text("Show what was cached and compacted")),
    SlashCommand("undo", text("Undo the last context change")),
)
"""All of them, by name. A test compares them with the window's commands."""

_BY_NAME = {
    command_key(name): command for command in SLASH_COMMANDS for name in (command.name, *command.also)
}


def find_slash_command(name: str) -> SlashCommand | None:
    return _BY_NAME.get(command_key(name))
