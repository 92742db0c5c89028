"""The git checkouts of workspaces: their state, kept fresh, and what differs from the last commit."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NamedTuple, TypeGuard

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.errors import DigestUnknown, HelixError, InvalidInput, WorkspaceUntrusted
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import FileDiff, PatchFile, diff_states, patch_text
from helix_desktop.domain.git import LINK_MODE, SUBMODULE_MODE, GitEntry, GitProblem, GitStatus
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.environment import WorkspaceEnvironment
from helix_desktop.tools.git import (
    MAX_CONTENT_BYTES,
    SHA1_DIGITS,
    CheckoutState,
    GitProgram,
    WorkingTreeFile,
    WorkingTreeFiles,
    blob_id,
    read_checkout_state,
    read_contents,
    read_converted,
    read_sizes,
    read_status,
    read_submodule,
)
from helix_desktop.workspaces.registry import WorkspaceRegistry

log = logging.getLogger(__name__)

_text = TextContext("Git")

_SMALL = 512  # bytes of a content that may be where a link leads, or stand for one of LFS
_MAX_READ = 64 * 1024 * 1024  # bytes of changed files that are read to list them; of others the size is said
_LFS_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?"
    rb"oid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n"
)
_MAX_TOGETHER = 500  # contents that one process reads
_FILE_MODE = 0o644
_BITS = 0o777


class _StoredContents(NamedTuple):
    """What is known of contents of the last commit: sizes, and those that are small."""

    sizes: dict[str, int]
    small: dict[str, bytes]


States = tuple[FileState | None, FileState | None]
"""What stood at a path in the last commit, and what does now."""


class GitChanges:
    """The changes of one workspace since the last commit. Digests are git's own ids of contents.

    Every method may raise HelixError: git failed, or the workspace is in no checkout or not trusted.
    """

    def __init__(self, environment: WorkspaceEnvironment, is_trusted: Callable[[], bool]) -> None:
        """`environment` is that of the workspace's commands."""
        self._git = environment.git
        self._jail = environment.jail
        self._is_trusted = is_trusted
        self._prefix = ""
        self._texts: dict[str, bytes] = {}  # contents that no file has: the commits of submodules

    async def list(self) -> tuple[FileChange, ...]:
        """Return what differs now, by path; a path that moved is one removed and one created."""
        state = await self._read_state()
        submodules = {
            entry.path: await self._submodule(entry.path, state.status.has_commit)
            for entry in state.entries
            if SUBMODULE_MODE in (entry.before_mode, entry.after_mode)
        }
        files = [entry for entry in state.entries if entry.path not in submodules]
        ids = list(dict.fromkeys(entry.before for entry in files if entry.before))
        sizes = await read_sizes(self._git, ids)
        small = {content_id: size for content_id, size in sizes.items() if size <= _SMALL}
        stored = _StoredContents(sizes, await read_contents(self._git, small))
        present = WorkingTreeFiles(self._jail, _MAX_READ, len(ids[0]) if ids else SHA1_DIGITS)
        changes = [FileChange(path, *states) for path, states in submodules.items()]
        changes += await asyncio.to_thread(_file_changes, files, stored, present)
        return tuple(sorted(changes, key=lambda change: change.path))

    async def diff(self, path: str, before: FileState | None, after: FileState | None) -> FileDiff:
        """Return what differs between a path in the last commit and on disk, as it is there now."""
        return await self._diff(path, before, await self._content(before), after)

    async def diffs(self, changes: Iterable[FileChange]) -> tuple[PatchFile, ...]:
        """Return changes with what differs; files that cannot be read are only known to differ."""
        files: list[PatchFile] = []
        for portion in _portions(changes):
            sizes = {
                change.before.digest: change.before.size for change in portion if _is_stored(change.before)
            }
            contents = self._texts | await read_contents(self._git, sizes)
            for change in portion:
                before_data = contents.get(change.before.digest) if _is_stored(change.before) else None
                try:
                    diff = await self._diff(change.path, change.before, before_data, change.after)
                except InvalidInput:
                    diff = FileDiff("hash_only", change.before, change.after)
                files.append(PatchFile(change, diff))
        return tuple(files)

    async def _diff(
        self, path: str, before: FileState | None, before_data: bytes | None, after: FileState | None
    ) -> FileDiff:
        after_data: bytes | None = None
        if after is not None and after.digest in self._texts:
            after_data = self._texts[after.digest]
        elif after is not None:
            digits = len(before.digest) if before is not None and before.digest else SHA1_DIGITS
            present = WorkingTreeFiles(self._jail, digits=digits)
            after, after_data = await asyncio.to_thread(present.read, path, after.mode)
        if after is not None and not after.stored:
            raise InvalidInput(
                _text("Couldn't read {file}.", file=escape_hidden_name(path)),
                _text("Its permissions or the ignore file don't allow it."),
                _text("Change these, or look at another file."),
            )
        if (
            before is not None
            and before_data is not None
            and b"\r\n" in (after_data or b"")
            and b"\r\n" not in before_data
        ):
            before_data = await read_converted(self._git, before.digest, self._prefix + path) or before_data
        return await asyncio.to_thread(diff_states, before, before_data, after, after_data)

    async def content(self, digest: str) -> bytes:
        """Return a content of the last commit. Raises DigestUnknown."""
        data = await self._content(FileState(digest=digest))
        if data is None:
            raise DigestUnknown(
                _text("Git has no content {id} here.", id=digest), fix=_text("List the changes again.")
            )
        return data

    async def patch(self, paths: Sequence[str] = ()) -> str:
        """Return the changes of these files or folders, or (none named) of all, as a patch."""
        return patch_text(await self.diffs(select_paths(await self.list(), paths)))

    async def _read_state(self) -> CheckoutState:
        if not self._is_trusted():
            raise WorkspaceUntrusted(
                _text("Git isn't run here."),
                _text("This folder isn't trusted."),
                _text("Trust the folder first."),
            )
        state = await read_checkout_state(self._git)
        if state is None:
            raise InvalidInput(
                _text("Couldn't find a git checkout to compare with."),
                _text("The folder isn't in one, or git isn't installed."),
                _text("Create one with git init, or look at a session's changes."),
            )
        if not state.status.is_known:
            raise HelixError(
                _text("Couldn't read the git checkout."),
                _reason(state.status.problem),
                _text("Run git status in the folder to see what is wrong."),
            )
        self._prefix = state.prefix
        return state

    async def _submodule(self, path: str, has_commit: bool) -> States:
        before, after = await read_submodule(self._git, path, has_commit)
        return self._text_state(before), self._text_state(after)

    def _text_state(self, data: bytes | None) -> FileState | None:
        if data is None:
            return None
        digest = blob_id(data)
        self._texts[digest] = data
        return FileState(digest=digest, size=len(data), mode=_FILE_MODE)

    async def _content(self, state: FileState | None) -> bytes | None:
        """Return a content of the last commit; None: there is none, or it cannot be read."""
        if not _is_stored(state):
            return None
        if state.digest in self._texts:
            return self._texts[state.digest]
        sizes = await read_sizes(self._git, [state.digest])
        return (await read_contents(self._git, sizes)).get(state.digest)


def _is_stored(state: FileState | None) -> TypeGuard[FileState]:
    """Return True for a file whose content git has."""
    return state is not None and state.kind == "file" and state.stored


def _portions(changes: Iterable[FileChange]) -> Iterator[list[FileChange]]:
    """Yield changes whose former contents are read together."""
    portion: list[FileChange] = []
    size = 0
    for change in changes:
        size += change.before.size if change.before is not None else 0
        portion.append(change)
        if len(portion) >= _MAX_TOGETHER or size > MAX_CONTENT_BYTES:
            yield portion
            portion = []
            size = 0
    if portion:
        yield portion


def select_paths(changes: Iterable[FileChange], paths: Sequence[str]) -> list[FileChange]:
    """Return the changes of these files, and of those in these folders; none named: all."""
    names = tuple(path.rstrip("/") for path in paths)
    folders = tuple(f"{name}/" for name in names)
    return [
        change for change in changes if not names or change.path in names or change.path.startswith(folders)
    ]


def _file_changes(
    entries: Iterable[GitEntry], stored: _StoredContents, present: WorkingTreeFiles
) -> list[FileChange]:
    """Return the changes of files and links; blocks."""
    changes: list[FileChange] = []
    for entry in entries:
        before = _before(entry, stored)
        after, data = (
            WorkingTreeFile() if entry.letter == "D" else present.read(entry.path, entry.after_mode & _BITS)
        )
        if before is not None and not before.stored and data is not None and before.digest == digest_of(data):
            after = before  # LFS would store it as the same
        if entry.moved_from:
            is_same = before is not None and after is not None and before.digest == after.digest
            changes.append(FileChange(entry.moved_from, before, None))
            changes.append(FileChange(entry.path, None, after, entry.moved_from if is_same else ""))
        elif before != after:
            changes.append(FileChange(entry.path.rstrip("/"), before, after))
    return changes


def _before(entry: GitEntry, stored: _StoredContents) -> FileState | None:
    """Return what a path was in the last commit; what LFS keeps elsewhere is known by its hash."""
    if not entry.before:
        return None
    small = stored.small.get(entry.before, b"")
    size = stored.sizes.get(entry.before)
    if entry.before_mode == LINK_MODE:
        return FileState("link", target=small.decode(errors="surrogateescape"))
    mode = entry.before_mode & _BITS
    pointer = _LFS_POINTER.match(small)
    if pointer:
        return FileState("file", pointer[1].decode(), int(pointer[2]), mode, stored=False)
    return FileState("file", entry.before, size or 0, mode, stored=size is not None)


def _reason(problem: GitProblem) -> TranslatableText:
    match problem:
        case "slow":
            return _text("Git didn't answer in time.")
        case "owner":
            return _text("Another user owns this folder, and git doesn't read it.")
        case "too_many":
            return _text("Too many files differ from the last commit.")
    return _text("Git reported an error.")


DEBOUNCE_S = 0.3  # calls that follow one another are one change
_REST = 5  # a checkout that takes long to read rests so many times longer before it is read again
_AT_ONCE = 2  # checkouts that are read at the same time
Listener = Callable[[str], None]


@dataclass
class _WatchedCheckout:
    """One workspace, and what was read of it; `rest_until` is a time of `monotonic`."""

    git: GitProgram | None = None
    status: GitStatus | None = None
    is_due: bool = False
    rest_until: float = 0.0
    task: asyncio.Task[None] | None = None


class GitCheckouts:
    """The states of workspaces; nothing is read before somebody listens, nor of a folder without trust."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        find_environment: Callable[[str, Path], WorkspaceEnvironment],
        debounce_s: float = DEBOUNCE_S,
    ) -> None:
        """`find_environment` returns what the commands of a workspace in a folder run with."""
        self._debounce_s = debounce_s
        self._registry = registry
        self._find_environment = find_environment
        self._watched: dict[str, _WatchedCheckout] = {}
        self._changes: dict[str, GitChanges] = {}
        self._listeners: Listeners[[str], None] = Listeners()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._scope = TaskScope()

    def status(self, workspace_id: str) -> GitStatus | None:
        """Return the state of a workspace as last read; None: it is in no checkout, or was not read yet."""
        watched = self._watched.get(workspace_id)
        return watched.status if watched is not None else None

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with a workspace's id when its state changed; return a function to unsubscribe."""
        return self._listeners.listen(listener)

    def refresh(self, workspace_id: str) -> None:
        """Read the state of a workspace soon: once for many calls, and never twice at the same time."""
        if not self._listeners or not self._may_read(workspace_id):
            return
        watched = self._watched.setdefault(workspace_id, _WatchedCheckout())
        watched.is_due = True
        if watched.task is None or watched.task.done():
            watched.task = self._scope.start(self._read_while_due(workspace_id, watched), "git status")

    def changes(self, workspace_id: str) -> GitChanges:
        """Return what differs between a workspace's files and the last commit: always the same object."""
        if workspace_id not in self._changes:
            self._changes[workspace_id] = GitChanges(
                self._environment(workspace_id), lambda: self._registry.get(workspace_id).trusted
            )
        return self._changes[workspace_id]

    def forget(self, workspace_id: str) -> None:
        """Read nothing more of a workspace; its folder or the user's trust has changed."""
        self._changes.pop(workspace_id, None)
        watched = self._watched.pop(workspace_id, None)
        if watched is not None and watched.task is not None:
            watched.task.cancel()
        self._listeners.notify(workspace_id)

    async def close(self) -> None:
        await self._scope.close(for_good=True)

    def _environment(self, workspace_id: str) -> WorkspaceEnvironment:
        return self._find_environment(workspace_id, Path(self._registry.get(workspace_id).path))

    def _may_read(self, workspace_id: str) -> bool:
        return any(
            record.id == workspace_id and record.trusted for record in self._registry.list_workspaces()
        )

    async def _read_while_due(self, workspace_id: str, watched: _WatchedCheckout) -> None:
        while watched.is_due:
            await asyncio.sleep(max(self._debounce_s, watched.rest_until - monotonic()))
            async with self._places:
                watched.is_due = False
                started = monotonic()
                status = await self._read(workspace_id, watched)
                ended = monotonic()
                watched.rest_until = ended + _REST * (ended - started)
            if status != watched.status:
                watched.status = status
                self._listeners.notify(workspace_id)

    async def _read(self, workspace_id: str, watched: _WatchedCheckout) -> GitStatus | None:
        try:
            if watched.git is None:
                watched.git = await asyncio.to_thread(lambda: self._environment(workspace_id).git)
            return await read_status(watched.git)
        except (HelixError, OSError) as error:  # the folder is gone, or there is no room for a temporary one
            log.warning("the state of a checkout could not be read: %s", error)
            return None
