"""The files and folders of a workspace by name, as its tools see them: what `@` in a message completes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from helix_desktop.domain.errors import HelixError, ToolError
from helix_desktop.domain.files.mention import FuzzyPaths, Mention, PathMatch, find_mentions
from helix_desktop.domain.translatable_text import OptionalText, TextContext, verbatim
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
        self._jail, self._ripgrep = jail, ripgrep
        self._output: bytes | None = None  # the list as ripgrep printed it
        self._paths = FuzzyPaths(())
        self._requests = self._answered = 0
        self._refresh_lock, self._search_lock = asyncio.Lock(), asyncio.Lock()

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
