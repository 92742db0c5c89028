"""The files that go with a message: what `@` completes in it, and what is attached by its place on disk.

No link is followed.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from helix_desktop.agent.attachments import MAX_FILE_BYTES
from helix_desktop.agent.content_access import ContentAccess
from helix_desktop.domain.errors import HelixError, InvalidInput, ToolError
from helix_desktop.domain.events.conversation import Attachment
from helix_desktop.domain.files.mention import FuzzyPaths, Mention, PathMatch, find_mentions
from helix_desktop.domain.text_format import format_bytes
from helix_desktop.domain.translatable_text import OptionalText, TextContext, system_reason, verbatim
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.home import find_home
from helix_desktop.tools.files.find import list_files
from helix_desktop.tools.files.jail import Jail
from helix_desktop.tools.process import Ripgrep, normalize_path

_text = TextContext("Services")


MAX_FILES = 200_000
"""Files that are indexed; of larger workspaces the first of them, the others can be typed by hand."""


class MentionedFiles(NamedTuple):
    """What a message mentions: files, each once, and paths and names of nothing."""

    files: tuple[Mention, ...] = ()
    missing: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    """They do not look like a path: of a colleague or a decorator, or of a file that is elsewhere."""
    folders: tuple[str, ...] = ()

    @property
    def missing_text(self) -> OptionalText:
        """Say which paths name nothing; empty for none."""
        return _text("File not found: {files} (sent as text)", files=self.missing) if self.missing else ""


class FileIndex:
    """Lists the files on a thread, and searches the list while the next one is made."""

    def __init__(self, jail: Jail, ripgrep: Ripgrep) -> None:
        self._jail = jail
        self._ripgrep = ripgrep
        self._output: bytes | None = None  # the list as ripgrep printed it
        self._paths = FuzzyPaths(())
        self._requests = self._answered = 0
        self._refresh_lock = asyncio.Lock()
        self._search_lock = asyncio.Lock()

    async def refresh(self) -> None:
        """List the files again; calls meanwhile share one list made after them. Raises HelixError.

        Watching the folders would cost more than this does at each `@`.
        """
        self._requests += 1
        request = self._requests
        async with self._refresh_lock:
            if self._answered >= request:
                return
            latest = self._requests
            try:
                _, result = await list_files(self._jail, self._ripgrep, ".")
            except ToolError as error:
                raise HelixError(
                    _text("Couldn't list the files of this workspace."), verbatim(f"{error.what} {error.why}")
                ) from error
            await asyncio.to_thread(self._read, result.output)
            self._answered = latest

    async def search(self, query: str, limit: int, recent: Sequence[str] = ()) -> list[PathMatch]:
        """Return the best matches of what is listed, best first; waits for the first list. Raises HelixError.

        Folders end with a slash. `recent` are paths used lately, newest first.
        """
        if self._output is None:
            await self.refresh()
        async with self._search_lock:  # a search that was canceled while it waited never takes the processor
            return await asyncio.to_thread(self._paths.search, query, limit, recent)

    async def kind(self, path: str) -> Literal["file", "folder"] | None:
        """Return what a path names inside the workspace, listed or not; None for nothing that may be read."""
        return await asyncio.to_thread(self._kind, path)

    async def look_up(self, text: str) -> MentionedFiles:
        files: dict[Mention, None] = {}
        missing: dict[str, None] = {}
        others: dict[str, None] = {}
        folders: dict[str, None] = {}
        for mention in find_mentions(text):
            kind = await self.kind(mention.path)
            if kind is not None and mention.is_reversed:
                missing[f"{mention.path}:{mention.first_line}-{mention.last_line}"] = None
            elif kind == "file":
                files[mention._replace(start=0, end=0)] = None
            elif kind == "folder":
                folders[mention.path] = None
            else:
                (missing if mention.looks_like_path else others)[mention.path] = None
        return MentionedFiles(tuple(files), tuple(missing), tuple(others), tuple(folders))

    def _kind(self, path: str) -> Literal["file", "folder"] | None:
        try:
            with self._jail.hold_folder(path) as root:
                return "file" if root.file_name else "folder"
        except ToolError:
            return None

    def _read(self, output: bytes) -> None:
        if output != self._output:
            self._paths = FuzzyPaths(_with_folders(output.split(b"\0")[:MAX_FILES]))
            self._output = output


def _with_folders(names: Sequence[bytes]) -> Iterator[str]:
    """Yield the paths, and each folder on the way to them once, with a slash at its end.

    A name that no message can hold is left out: no text, or with characters that cannot be seen.
    """
    folders: set[str] = set()
    for name in names:
        path = normalize_path(name.decode(errors="surrogateescape"))
        if not path or not path.isprintable():
            continue
        yield path
        end = path.rfind("/")
        while end > 0 and (folder := path[: end + 1]) not in folders:
            folders.add(folder)
            yield folder
            end = path.rfind("/", 0, end)


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
    absolute = Path(os.path.abspath(path))
    home = find_home()
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
    lines = list[str]()
    folders = deque([folder])
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
