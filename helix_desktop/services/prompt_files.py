"""The prompt files and skills of a workspace and of the user, read when they are listed or used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.slash_command import (
    SLASH,
    WORKSPACE_FOLDERS,
    PromptFile,
    PromptSource,
    SlashInput,
    command_key,
    expand_prompt,
    nearest_command,
    parse_slash_input,
)
from helix_desktop.domain.translatable_text import OptionalText, TextContext
from helix_desktop.domain.unicode_safety import repair_surrogates
from helix_desktop.tools.files.attach import PromptFolder, UnusableFile
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.files.skills import SkillCatalog, read_skills
from helix_desktop.words.slash_commands import SLASH_COMMANDS, find_slash_command
from helix_desktop.workspaces.registry import WorkspaceRegistry

text = TextContext("Prompt files")


class HiddenFile(msgspec.Struct, frozen=True):
    """A prompt file whose command is another one's: `by` is that file's path, empty for a built-in one.

    A built-in one always wins: a workspace could else change what `/undo` does.
    """

    file: PromptFile
    by: str = ""


class PromptCatalog(msgspec.Struct, frozen=True):
    """The prompt files that there are: those whose command can be typed, by its key, and the others."""

    files: dict[str, PromptFile]
    hidden: tuple[HiddenFile, ...] = ()
    unusable: tuple[UnusableFile, ...] = ()
    is_untrusted: bool = False
    """True if the workspace's own were not read, because the user does not trust its folder."""
    skills: SkillCatalog = SkillCatalog({})
    """The skills: each is a command too, after the prompt files."""

    def is_skill(self, file: PromptFile) -> bool:
        skill = self.skills.skills.get(file.name)
        return skill is not None and skill.path == file.path

    def find(self, name: str) -> PromptFile | None:
        return self.files.get(command_key(name))

    @property
    def names(self) -> list[str]:
        return [*(command.name for command in SLASH_COMMANDS), *(file.name for file in self.files.values())]


class ExpandedPrompt(msgspec.Struct, frozen=True):
    """A typed command as the message that is sent, the file it is made from, and what is recorded of that."""

    text: str
    file: PromptFile
    source: PromptSource


class PromptFiles:
    """Reads the prompt files; nothing is kept from one time to the next."""

    def __init__(
        self, user_folder: Path, registry: WorkspaceRegistry, open_jail: Callable[[Path], Jail]
    ) -> None:
        self.user_folder = user_folder
        self._registry = registry
        self._open_jail = open_jail

    async def read(self, workspace_id: str = "") -> PromptCatalog:
        """Return the prompt files of a workspace, if the user trusts it, and those of the user."""
        record = self._registry.get(workspace_id) if workspace_id else None
        root = Path(record.path) if record is not None and record.trusted else None
        return await asyncio.to_thread(self._read, root, record is not None and root is None)

    async def expand(self, workspace_id: str, typed: SlashInput) -> ExpandedPrompt:
        """Return the message of a typed command, from its file as it is now.

        Raises InvalidInput if there is no such file, or nothing to send in it.
        """
        catalog = await self.read(workspace_id)
        file = catalog.find(typed.name)
        if file is None:
            raise _unknown_command(typed.name, catalog)
        message = expand_prompt(file.text, typed.arguments)
        if not message:
            raise InvalidInput(
                text("{command} is empty.", command=SLASH + file.name),
                text("{file} has no text.", file=file.path),
                text("Write a prompt in it."),
            )
        source = PromptSource(file.name, file.path, file.sha256, repair_surrogates(typed.arguments))
        return ExpandedPrompt(message, file, source)

    async def preview(self, workspace_id: str, message: str) -> str:
        """Return what would be sent of a typed message; empty for a built-in command, or what is refused."""
        typed = parse_slash_input(message)
        if typed is None:
            return message
        if find_slash_command(typed.name) is not None:
            return ""
        try:
            return (await self.expand(workspace_id, typed)).text
        except InvalidInput:
            return ""

    def _read(self, root: Path | None, is_untrusted: bool) -> PromptCatalog:
        files: dict[str, PromptFile] = {}
        hidden: list[HiddenFile] = []
        unusable: list[UnusableFile] = []
        for folder in self._folders(root):
            for found in folder.read_all():
                if isinstance(found, UnusableFile):
                    unusable.append(found)
                elif find_slash_command(found.name) is not None:
                    hidden.append(HiddenFile(found))
                elif (winner := files.setdefault(command_key(found.name), found)) is not found:
                    hidden.append(HiddenFile(found, winner.path))
        skills = read_skills(self._open_jail(root or self.user_folder), root is not None)
        for command in (skill.command for skill in skills.skills.values()):
            if find_slash_command(command.name) is not None:
                hidden.append(HiddenFile(command))
            elif (winner := files.setdefault(command.name, command)) is not command:
                hidden.append(HiddenFile(command, winner.path))
        hidden += [HiddenFile(other.skill.command, other.by) for other in skills.hidden]
        return PromptCatalog(files, tuple(hidden), (*unusable, *skills.unusable), is_untrusted, skills)

    def _folders(self, root: Path | None) -> Iterator[PromptFolder]:
        if root is not None and root.is_dir():
            jail = self._open_jail(root)
            yield from (PromptFolder(jail, folder, "workspace") for folder in WORKSPACE_FOLDERS)
        if self.user_folder.is_dir():
            yield PromptFolder(self._open_jail(self.user_folder), "", "user", self.user_folder.name)


def _unknown_command(name: str, catalog: PromptCatalog) -> InvalidInput:
    """Return the error for a command that does not exist, with the nearest name."""
    command = SLASH + name
    unusable = next((file for file in catalog.unusable if file.name == command_key(name)), None)
    if unusable is not None:
        what = text("{command} can't be used: {file}.", command=command, file=unusable.path)
        return InvalidInput(what, unusable.why, unusable.fix)
    nearest = nearest_command(name, catalog.names)
    why: OptionalText = text("Did you mean {command}?", command=SLASH + nearest) if nearest else ""
    if catalog.is_untrusted:
        why = text("Prompt files and skills of this folder aren't read until you trust it.")
    return InvalidInput(
        text("{command} isn't a command.", command=command),
        why,
        text("To send it as a message, put a space before the slash."),
        remedies=("send_as_message",),
    )
