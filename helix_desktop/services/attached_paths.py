"""Attaches files by their place on disk, and folders as a list of what is in them; no link followed."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from pathlib import Path

from helix_desktop.agent.attachments import MAX_FILE_BYTES
from helix_desktop.agent.content_recall import ContentAccess
from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.translatable_text import TextContext, system_reason
from helix_desktop.domain.unicode_safety import escape_hidden_name

_text = TextContext("Services")
_NOT_REGULAR = _text("It isn't a regular file")


async def attach_path(
    contents: ContentAccess, session_id: str, root: Path, path: Path, first_line: int = 0, last_line: int = 0
) -> Attachment:
    """Return a file, or its lines, attached; in the workspace at `root` its changes are followed.

    A relative path is looked for in the current folder, then in the workspace. Raises InvalidInput,
    StoreError.
    """
    path = await asyncio.to_thread(_find, root, path)
    if inside := path_inside(root, path):
        return await contents.attach_file(session_id, inside, first_line, last_line)
    try:
        data = await asyncio.to_thread(_read, path)
    except OSError as error:
        raise InvalidInput(
            _text("Couldn't read {file}.", file=escape_hidden_name(str(path))),
            _text("{reason}.", reason=error.strerror or str(error)),
            _text("Choose another file."),
        ) from error
    return await contents.attach_data(session_id, data, _name_outside(path), first_line, last_line)


def path_inside(root: Path, path: Path) -> str:
    """Return a path in the workspace, following no link; empty if it lies elsewhere, or is all of it."""
    absolute = Path(os.path.abspath(path))
    inside = absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else ""
    return "" if inside == "." else inside


def _find(root: Path, path: Path) -> Path:
    in_workspace = root / path
    is_only_there = not os.path.lexists(path) and os.path.lexists(in_workspace)
    return in_workspace if is_only_there and path_inside(root, in_workspace) else path.absolute()


def _name_outside(path: Path) -> str:
    """Return a file's path, with ~ for the user's folder: its name alone tells no two of one name apart."""
    absolute, home = Path(os.path.abspath(path)), Path.home()
    return f"~/{absolute.relative_to(home).as_posix()}" if absolute.is_relative_to(home) else str(absolute)


def _read(path: Path) -> bytes:
    if not path.is_file():  # a pipe or a device may never end
        path.stat()
        raise IsADirectoryError(None, _NOT_REGULAR)
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES + 1)


MAX_LISTED = 1_000
"""Lines of a list: some 10,000 tokens, of which a message has a preview."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


async def attach_folder(contents: ContentAccess, session_id: str, root: Path, folder: Path) -> Attachment:
    """Return a list of what is in a folder, attached; one of the workspace at `root` by its path in it.

    Raises InvalidInput if it cannot be read, StoreError.
    """
    name = escape_hidden_name(path_inside(root, folder) or folder.name or "folder")
    try:
        listing = await asyncio.to_thread(list_folder, folder)
    except OSError as error:
        raise InvalidInput(
            _text("Couldn't read {file}.", file=name), system_reason(error), _text("Choose another folder.")
        ) from error
    return await contents.attach_data(session_id, listing.encode("utf-8", "replace"), f"{name}/")


def list_folder(folder: Path) -> str:
    """Return what is in a folder, nearest first, a line each; a link is named, never followed.

    What version control and package managers put there is named without what is in it. Raises OSError.
    """
    lines, folders = list[str](), deque([folder])
    while folders and len(lines) < MAX_LISTED:
        present = folders.popleft()
        try:
            entries = sorted(os.scandir(present), key=lambda entry: entry.name)
        except OSError:
            if present == folder:
                raise
            continue
        for entry in entries:
            path = Path(entry.path)
            lines.append(_line(entry, escape_hidden_name(path.relative_to(folder).as_posix())))
            if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED:
                folders.append(path)
    more = len(lines) > MAX_LISTED or folders
    del lines[MAX_LISTED:]
    if more:
        lines.append("… and more")
    return "".join(f"{line}\n" for line in lines or ["(empty)"])


def _line(entry: os.DirEntry[str], name: str) -> str:
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    try:
        return f"{name} ({format_bytes(entry.stat(follow_symlinks=False).st_size)})"
    except OSError:
        return name
