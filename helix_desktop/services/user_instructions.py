"""The user's own instructions: a text for all workspaces, and one for each, in files of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from helix_desktop.config.paths import DataDir
from helix_desktop.domain.errors import HelixError, InvalidInput
from helix_desktop.domain.translatable_text import ByteSize, TextContext, system_reason
from helix_desktop.domain.unicode_safety import repair_surrogates
from helix_desktop.system.files import open_regular, write_text_durably
from helix_desktop.tools.environment import MAX_FILE_BYTES

text = TextContext("Services")

INSTRUCTIONS_FILE = "AGENTS.md"
_LIMIT = ByteSize(MAX_FILE_BYTES)
_MAX_EDITED = 8 * MAX_FILE_BYTES  # bytes


class UserInstructions:
    """Reads and saves the user's instructions; an empty workspace id stands for all workspaces."""

    def __init__(self, data_dir: DataDir) -> None:
        self._data_dir = data_dir

    def path(self, workspace_id: str = "") -> Path:
        """Return the file of the text for one workspace, or for all."""
        folder = self._data_dir.workspace_dir(workspace_id) if workspace_id else self._data_dir.root
        return folder / INSTRUCTIONS_FILE

    async def read(self, workspace_id: str = "") -> str:
        """Return the text; empty if there is none. Raises HelixError."""
        path = self.path(workspace_id)
        try:
            words = await asyncio.to_thread(_read, path)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _file_error(path, error) from error
        if len(words) > _MAX_EDITED:
            raise InvalidInput(
                text("{file} is too large to edit here.", file=path),
                fix=text("Edit it in another program; the first {limit} are sent.", limit=_LIMIT),
            )
        return words

    async def save(self, instructions: str, workspace_id: str = "") -> None:
        """Save the text; agents hear of it with their sessions' next messages. Raises HelixError."""
        instructions = repair_surrogates(instructions).strip()
        size = len(instructions.encode())
        if size > MAX_FILE_BYTES:
            raise InvalidInput(
                text("These instructions are too long."),
                text("They have {size}; {limit} are sent.", size=ByteSize(size), limit=_LIMIT),
                text("Shorten them, or move parts to files that the agent can read."),
            )
        path = self.path(workspace_id)
        try:
            if instructions:
                await asyncio.to_thread(write_text_durably, path, f"{instructions}\n")
            else:
                await asyncio.to_thread(path.unlink, missing_ok=True)
        except OSError as error:
            raise _file_error(path, error) from error


def _read(path: Path) -> str:
    with open_regular(path) as file:
        return file.read(_MAX_EDITED + 1).decode("utf-8-sig", errors="replace")


def _file_error(path: Path, error: OSError) -> HelixError:
    return HelixError(
        text("The instructions in {file} couldn't be read or saved.", file=path),
        system_reason(error),
        text("Check the file's permissions and the free space."),
    )
