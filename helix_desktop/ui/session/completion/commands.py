"""`/` at the beginning of a message: built-in commands, and the prompt files of the workspace on screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.files.fuzzy_search import FuzzyPaths
from helix_desktop.domain.slash_command import FOLDER_MARK, SLASH, command_key, is_command_name
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.services.prompt_files import PromptCatalog, PromptFiles
from helix_desktop.ui.chat.composer.completion import CompletionItem
from helix_desktop.ui.session.slash_commands import SlashCommands
from helix_desktop.words.slash_commands import SLASH_COMMANDS, SlashCommand
from helix_desktop.words.translation import Translator, translate

tr = Translator("Slash commands")

_MAX_ROWS = 50
_UNUSABLE_ICON = "triangle-alert"
_FRESH_S = 2.0  # prompt files read this long ago are read again


class CommandCompletions:
    """Commands by a few letters of their names; prompt files come first while nothing is typed."""

    trigger = SLASH
    only_at_start = True

    def __init__(
        self,
        prompt_files: PromptFiles,
        slash_commands: SlashCommands,
        workspace: Callable[[], OpenWorkspace | None],
    ) -> None:
        """`workspace` returns the one on screen."""
        self._prompt_files, self._slash_commands, self._workspace = prompt_files, slash_commands, workspace
        self._catalog: PromptCatalog | None = None
        self._read_for, self._read_at = "", 0.0

    @property
    def name(self) -> str:
        """What is completed."""
        return tr("Commands")

    @property
    def hint(self) -> str:
        """Return nothing: each row says what can follow it."""
        return ""

    @property
    def empty_text(self) -> str:
        """What is said when nothing matches."""
        return tr("No matching commands")

    def takes(self, query: str) -> bool:
        """Return False for a path."""
        return not query or is_command_name(query.rstrip(FOLDER_MARK))

    async def completions(self, query: str) -> Sequence[CompletionItem]:
        """Return the commands that match, best first; a name that is typed out is one of them."""
        catalog = await self._read()
        rows = {
            file.name: _row(file.name, "file-text", file.argument_hint, file.description, file.path)
            for file in catalog.files.values()
        }
        for command in filter(self._slash_commands.is_available, SLASH_COMMANDS):
            rows |= {row.text.removeprefix(SLASH): row for row in _built_in_rows(command, query)}
        for unusable in catalog.unusable:
            if unusable.name and unusable.name not in map(command_key, rows):
                reason = tr("Can't be used: {reason}", reason=unusable.why)
                rows[unusable.name] = _row(unusable.name, _UNUSABLE_ICON, reason, unusable.path)
        if not query:
            return tuple(rows.values())[:_MAX_ROWS]
        paths = {name.replace(FOLDER_MARK, "/"): name for name in rows}
        matches = FuzzyPaths(paths).search(query.replace(FOLDER_MARK, "/"), _MAX_ROWS)
        found = [
            replace(rows[paths[match.path]], title_matches=tuple(at + len(SLASH) for at in match.positions))
            for match in matches
        ]
        return sorted(found, key=lambda row: row.icon == _UNUSABLE_ICON)

    async def _read(self) -> PromptCatalog:
        """Return the prompt files, as they were a moment ago while the user types on."""
        workspace = self._workspace()
        workspace_id = workspace.id if workspace is not None else ""
        if self._catalog is None or self._read_for != workspace_id or monotonic() - self._read_at > _FRESH_S:
            self._catalog = await self._prompt_files.read(workspace_id)
            self._read_for, self._read_at = workspace_id, monotonic()
        return self._catalog

    def accept(self, completion: CompletionItem) -> None:
        """Do nothing more: the command is run when the message is sent."""


def _built_in_rows(command: SlashCommand, query: str) -> Iterator[CompletionItem]:
    """Yield a command by its name, and by another one that is being typed."""
    others = (name for name in command.also if query and name.startswith(query.casefold()))
    for name in (command.name, *others):
        yield _row(name, "square-terminal", command.arguments, translate(command.summary))


def _row(name: str, icon: str, *details: str) -> CompletionItem:
    """Return the row of a command; `details` are what files say, too."""
    detail = escape_hidden_name(" · ".join(filter(None, details)))
    return CompletionItem(SLASH + name, SLASH + name, detail, icon)
