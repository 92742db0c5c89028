"""Finds and reads prompt files below the folders of a jail; nothing in them is run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.slash_command import (
    FOLDER_MARK,
    MAX_PROMPT_BYTES,
    SUFFIX,
    PromptFile,
    PromptScope,
    command_key,
    is_command_name,
    name_of,
    parse_prompt_file,
)
from helix_desktop.domain.translatable_text import (
    ByteSize,
    OptionalText,
    TextContext,
    TranslatableText,
    verbatim,
)
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.tools.errors import PathRefused
from helix_desktop.tools.files.jail import DirEntry, Jail

text = TextContext("Prompt files")

MAX_FILES = 500
_MAX_DEPTH = 6  # folders within folders
_MAX_ENTRIES = 5_000  # of all folders, that are looked at


class UnusableFile(msgspec.Struct, frozen=True):
    """A file among the prompt files that cannot be used, and why."""

    path: str
    why: TranslatableText
    fix: OptionalText = ""
    name: str = ""
    """The key of its command, if it could be typed."""


class PromptFolder:
    """The prompt files below a folder of a jail; all methods block."""

    def __init__(self, jail: Jail, folder: str, scope: PromptScope, display_folder: str = "") -> None:
        """`folder` is a path in the jail, empty for all of it; `display_folder` is what the user calls it."""
        self._jail, self._folder, self._scope = jail, folder, scope
        self._display_folder = display_folder or folder

    def read_all(self) -> Iterator[PromptFile | UnusableFile]:
        """Yield every prompt file below the folder, by path, and what cannot be used."""
        count = 0
        for found in self._find():
            if isinstance(found, UnusableFile):
                yield found
                continue
            count += 1
            if count > MAX_FILES:
                yield UnusableFile(
                    self._display(found),
                    text("Only the first {count} prompt files of a folder are read.", count=MAX_FILES),
                    text("Move files that you don't need elsewhere."),
                )
                return
            yield self._read(found)

    def _find(self) -> Iterator[str | UnusableFile]:
        """Yield the paths of what may be a prompt file, by name, those of subfolders later."""
        pending, room = [""], _MAX_ENTRIES
        while pending:
            folder = pending.pop(0)
            entries = self._list(folder)
            if isinstance(entries, UnusableFile):
                yield entries
                continue
            for entry in entries[:room]:
                path = f"{folder}/{entry.name}".lstrip("/")
                if entry.name.endswith(SUFFIX):
                    yield path
                elif entry.kind in ("folder", "link") and path.count("/") < _MAX_DEPTH:
                    pending.append(path)
            room -= min(room, len(entries))

    def _list(self, folder: str) -> list[DirEntry] | UnusableFile:
        """Return what is in a folder, by name; nothing if it is not there, or a file."""
        try:
            _, entries = self._jail.list_entries(self._inside(folder))
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError) or self._is_file(folder):
                return []
            return self._refused(folder, error)
        return sorted(entries, key=lambda entry: entry.name)

    def _is_file(self, path: str) -> bool:
        with suppress(ToolError), self._jail.open_file(self._inside(path)):
            return True
        return False

    def _read(self, path: str) -> PromptFile | UnusableFile:
        name = name_of(path)
        if FOLDER_MARK in path or not is_command_name(name):
            return UnusableFile(
                self._display(path),
                text("Its name can't be typed as a command."),
                text("Use letters, digits, “-” and “_” in the names of files and folders."),
            )
        try:
            with self._jail.open_file(self._inside(path)) as opened:
                data = opened.file.read(MAX_PROMPT_BYTES + 1)
                size = max(opened.stamp.size, len(data))
        except ToolError as error:
            return replace(self._refused(path, error), name=command_key(name))
        if size > MAX_PROMPT_BYTES:
            size_limit = ByteSize(MAX_PROMPT_BYTES)
            why = text("It has {size}; the limit is {limit}.", size=ByteSize(size), limit=size_limit)
            fix = text("Shorten it.")
        else:
            try:
                return parse_prompt_file(data, name, self._scope, self._display(path))
            except UnicodeDecodeError:
                why, fix = text("It isn't UTF-8 text."), text("Save it as UTF-8 text.")
        return UnusableFile(self._display(path), why, fix, command_key(name))

    def _refused(self, path: str, error: ToolError) -> UnusableFile:
        """Return what the jail, or the system, does not let us read."""
        fix: OptionalText = (
            text("Replace it with a file or folder of its own, not a link.")
            if isinstance(error, PathRefused)
            else ""
        )
        return UnusableFile(self._display(path), verbatim(error.why or error.what), fix)

    def _inside(self, path: str) -> str:
        return f"{self._folder}/{path}".strip("/")

    def _display(self, path: str) -> str:
        return escape_hidden_name(f"{self._display_folder}/{path}".strip("/"))
