"""The built-in slash commands: each is an action of the window, typed as the first word of a message."""

from __future__ import annotations

import msgspec

from helix_desktop.domain.slash_command import command_key
from helix_desktop.domain.translatable_text import TextContext, TranslatableText

text = TextContext("Slash commands")


class SlashCommand(msgspec.Struct, frozen=True):
    """A built-in command: the window's `action` that it is, what it does, and what may stand behind its name.

    `arguments` is empty where nothing may. `also` are other names that users of other agents type.
    """

    name: str
    action: str
    summary: TranslatableText
    arguments: str = ""
    also: tuple[str, ...] = ()


SLASH_COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("archive", "archive_session", text("Archive or unarchive this session")),
    SlashCommand("branch", "branch_session", text("Start a branch of this session")),
    SlashCommand("btw", "side_question", text("Ask something that stays out of the context"), "[QUESTION]"),
    SlashCommand(
        "budget",
        "set_budget",
        text("Set what this session may spend; {no_limit}: no limit", no_limit="off, none, 0, $0"),
        "[TOKENS] [$USD] | off",
    ),
    SlashCommand("cache", "show_cache", text("Search the cached outputs"), "[WORDS]", ("search",)),
    SlashCommand("changes", "show_changes", text("Show the files that this session changed"), also=("diff",)),
    SlashCommand("compact", "compact_now", text("Replace older messages by a handover"), "[FOCUS]"),
    SlashCommand("context", "toggle_inspector", text("Show or hide what the next request contains")),
    SlashCommand("effort", "choose_effort", text("Choose how much the model thinks"), "[LEVEL]"),
    SlashCommand("export", "export", text("Export this session, the workspace or all of them")),
    SlashCommand("find", "find", text("Find words in this session"), "[WORDS]"),
    SlashCommand("help", "commands_help", text("Show all commands")),
    SlashCommand("keys", "keys", text("Show keyboard shortcuts")),
    SlashCommand("mode", "next_mode", text("Change how freely the agent acts"), "[ask|plan|auto]"),
    SlashCommand("model", "choose_model", text("Choose the model for this session"), "[NAME]"),
    SlashCommand("new", "new_session", text("Start a new session"), also=("clear",)),
    SlashCommand("observe", "observe_now", text("Write down facts about older messages now")),
    SlashCommand("pin", "pin_session", text("Pin this session to the top of the list, or unpin it")),
    SlashCommand("quit", "quit", text("Close Helix Desktop"), also=("exit",)),
    SlashCommand("redo", "redo_compaction", text("Redo the last context change that was undone")),
    SlashCommand("rename", "rename_session", text("Rename this session"), "[TITLE]"),
    SlashCommand("rewind", "rewind", text("Go back to before a message: files, conversation or both")),
    SlashCommand("settings", "settings", text("Open settings"), also=("config",)),
    SlashCommand("stop", "stop", text("Stop the agent")),
    SlashCommand("timeline", "show_timeline", text("Show what was cached and compacted")),
    SlashCommand("undo", "undo_compaction", text("Undo the last context change")),
)
"""All of them, by name. A test compares `action` with the window's actions."""

_BY_NAME = {
    command_key(name): command for command in SLASH_COMMANDS for name in (command.name, *command.also)
}


def find_slash_command(name: str) -> SlashCommand | None:
    """Return the built-in command of a name; None if there is none."""
    return _BY_NAME.get(command_key(name))
