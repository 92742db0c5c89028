"""On disk: what commands changed that runs by itself, so that it can be restored, and what a crash left open.

What was taken out has a folder each, with its bytes as they were. What commands still run, and what they are
compared with, lies beside in one file of each process, which it holds locked: its death releases it.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from helix_desktop.domain.errors import InvalidInput
from helix_desktop.domain.redaction import Redaction
from helix_desktop.domain.retention import DAY_MS, TRASH_DAYS
from helix_desktop.domain.tools import AutoRunChange, AutoRunOutcome
from helix_desktop.domain.translatable_text import TextContext, plain_text
from helix_desktop.system.files import read_regular, read_start
from helix_desktop.system.folders import NEW_FILE, Handle, OpenFolders, link_in, open_in, stat_in
from helix_desktop.tools.shell.outer_git import OuterGitState

text = TextContext("Tools")
log = logging.getLogger(__name__)

_FILE_CAP = 16 * 1024 * 1024  # bytes that are read of one file
_Form = Literal["", "file", "link", "hard link", "special"]


class Content(msgspec.Struct, frozen=True):
    """What is at a path: nothing (``), the bytes of a file, where a link leads, or another kind of file.

    Of a hard link to a file with keys, `data` is the name of that file in the same folder.
    """

    form: _Form = ""
    data: bytes = b""
    mode: int = 0
    stamp: tuple[int, ...] = ()
    """Of a file that is not copied, without `data`: a digest if it may hold keys, else it is too large."""

    @property
    def is_executable(self) -> bool:
        return self.form == "link" or bool(self.mode & 0o111)


NOTHING = Content()


def read_through(path: str) -> bytes:
    """Return the bytes of a file, also behind links; none of what is no file."""
    return read_start(path, _FILE_CAP)


def read_content(path: str) -> Content:
    """Return what is at a path; a link is not followed."""
    folder, name = os.path.split(path)
    try:
        with OpenFolders(folder) as folders:
            return read_content_at(folders.folder, name)
    except OSError:
        return NOTHING


def read_content_at(parent: Handle, name: str) -> Content:
    """Return what has a name in a folder that is held open; a link is not followed."""
    try:
        status = stat_in(parent, name)
        if stat.S_ISLNK(status.st_mode):
            return Content("link", os.fsencode(link_in(parent, name)))
        if not stat.S_ISREG(status.st_mode):
            return Content("special", mode=stat.S_IFMT(status.st_mode))
        mode = stat.S_IMODE(status.st_mode)
        if status.st_size > _FILE_CAP:
            return Content(
                "file",
                mode=mode,
                stamp=(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns),
            )
        with os.fdopen(open_in(parent, name), "rb") as file:
            return Content("file", file.read(_FILE_CAP), mode)
    except OSError:
        return NOTHING


@contextmanager
def held_parent(root: Path, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Hold the folder of a path of the workspace open, never through a link. Raises OSError."""
    *parts, name = path.split("/")
    with OpenFolders(root, follows_link=False) as folders:
        for part in parts:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folders.descriptor)
            folders.enter(part)
        yield folders.descriptor, name


def is_link_to(parent: int, name: str, content: Content) -> bool:
    """Return True if a name still leads to the hidden file: its bytes are copied nowhere."""
    with suppress(FileNotFoundError):
        there, key = (stat_in(parent, each) for each in (name, os.fsdecode(content.data)))
        return os.path.samestat(there, key)
    return False


def write_content(parent: int, name: str, content: Content) -> None:
    """Make a name in a folder what a content says, at once; nothing if it is not copied. Raises OSError."""
    if not content.form or content.stamp:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        return
    temporary = f".{name[:100]}.{secrets.token_hex(4)}"
    if content.form == "link":
        os.symlink(os.fsdecode(content.data), temporary, dir_fd=parent)
    elif content.form == "hard link":
        os.link(
            os.fsdecode(content.data), temporary, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False
        )
    elif content.form == "special":
        os.mkfifo(temporary, dir_fd=parent)  # of other kinds only root could make one
    else:
        fd = os.open(temporary, NEW_FILE, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb") as file:
            file.write(content.data)
            file.flush()
            os.fchmod(fd, content.mode)
            os.fsync(fd)
    os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)


if sys.platform != "win32":
    import fcntl


MAX_SAVED_BYTES = 256 * 1024 * 1024
"""Above that, what is older than the trash may be is removed."""
_OPEN = "open-"
_DAMAGED = "damaged-"
_CHANGE_ID = re.compile("[0-9a-f]{16}")
_CHANGE = "change.json"
_CONTENT = "content"
_SAFE_CONTENT = "safe-content"
_RESTORED = "restored"
_ALLOWED = "allowed"
_CLOCK_NS = 20_000_000  # by which the time of a file may lie before that of the clock

Kind = Literal[
    "config", "hook", "pointer", "commondir", "todo", "strategy", "folder", "program", "other", "key"
]


class SavedChange(msgspec.Struct, frozen=True):
    """A change with what the command left, and what stands in its place without it."""

    path: str
    kind: Kind
    reasons: tuple[str, ...]
    at_ms: int
    content: Content
    safe_content: Content


class AutoRunState(msgspec.Struct):
    """What runs by itself in a workspace, by its path: at one moment."""

    git: dict[str, tuple[Kind, Content]] = {}
    other: dict[str, Content] = {}
    tops: dict[str, str] = {}
    """Git folders with the folder that each belongs to."""
    hidden: tuple[str, ...] = ()
    """Files and folders of the workspace that commands must not read."""
    key_links: dict[str, str] = {}
    """Other names of hidden files in their folder, with the names that they have there."""
    reported: dict[str, Content] = {}
    """What has changed since, and a command has reported."""
    outer_git: dict[str, OuterGitState] = {}
    """Git folders outside of the workspace that commands may change, by their paths."""
    at_ns: int = 0
    """When it was so, in nanoseconds since 1970."""


class OpenState(msgspec.Struct, frozen=True):
    """What a crash must not lose.

    `before` is there while a command runs in the sandbox. Nobody has decided on `undecided` yet, and no
    command has reported `unreported`.
    """

    before: AutoRunState | None = None
    undecided: tuple[AutoRunChange, ...] = ()
    unreported: tuple[AutoRunChange, ...] = ()


class SavedChanges:
    """The folder of one workspace. Everything blocks; one thread at a time."""

    def __init__(self, folder: Path | None) -> None:
        """Without a folder, a new temporary one is used, which stays; and no crash is provided for."""
        self._folder = folder
        self._survives = folder is not None
        self._open: tuple[Path, int] | None = None  # this process's file, and its descriptor
        self._saved = OpenState()

    @property
    def folder(self) -> Path:
        """Where it is. Raises OSError."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="helix-desktop-taken-out-"))
        return self._folder

    def place(self, change_id: str) -> Path:
        """Return the file that holds what was taken out."""
        return self.folder / change_id / _CONTENT

    def save(self, entry: SavedChange) -> str:
        """Save a change durably; return its id. Raises OSError."""
        change_id = secrets.token_hex(8)
        folder = self.folder / change_id
        folder.mkdir(mode=0o700, parents=True)
        _store(folder / _CONTENT, entry.content.data)
        _store(folder / _SAFE_CONTENT, entry.safe_content.data)
        bare = msgspec.structs.replace(
            entry, content=_bare(entry.content), safe_content=_bare(entry.safe_content)
        )
        _store(folder / _CHANGE, msgspec.json.encode(bare))
        return change_id

    def save_replaced(self, change_id: str, content: Content) -> None:
        """Save what stood in the place of a change that is put back or taken out again. Raises OSError."""
        _store(self.folder / change_id / f"replaced-{time.time_ns()}", content.data)

    def entry(self, change_id: str) -> SavedChange:
        """Return a change. Raises InvalidInput if it is no longer saved."""
        folder = self.folder / change_id
        try:
            entry = self._bare_entry(change_id)
            content, safe_content = map(read_regular, (folder / _CONTENT, folder / _SAFE_CONTENT))
        except (OSError, msgspec.MsgspecError) as error:
            raise InvalidInput(
                text("What was taken out is no longer kept."),
                fix=text("It was in {folder}.", folder=str(self.folder)),
            ) from error
        return msgspec.structs.replace(
            entry,
            content=msgspec.structs.replace(entry.content, data=content),
            safe_content=msgspec.structs.replace(entry.safe_content, data=safe_content),
        )

    def entries(self) -> list[tuple[str, SavedChange]]:
        """Return all changes that can be read with their ids, without contents, the oldest first.

        Raises OSError.
        """
        found = []
        for folder in self._folders():
            try:
                found.append((folder.name, self._bare_entry(folder.name)))
            except (OSError, msgspec.MsgspecError):
                log.warning("%s can't be read", folder, exc_info=True)
        return sorted(found, key=lambda pair: pair[1].at_ms)

    def _bare_entry(self, change_id: str) -> SavedChange:
        """Return a change without contents. Raises OSError and msgspec.MsgspecError."""
        if not _CHANGE_ID.fullmatch(change_id):
            raise FileNotFoundError
        return msgspec.json.decode(read_regular(self.folder / change_id / _CHANGE), type=SavedChange)

    def note_put(self, change_id: str, *, restored: bool) -> None:
        """Note what became of a change last. Raises OSError."""
        (self.folder / change_id / _RESTORED).write_bytes(b"1" if restored else b"0")

    def note_allowed(self, change_id: str) -> None:
        """Note that a change stays as a command left it, on the user's word. Raises OSError."""
        (self.folder / change_id / _ALLOWED).touch()

    def undone_content(self, change_id: str, entry: SavedChange) -> Content:
        """Return what stands in the place of a change without it: nothing that another undone change left.

        Raises OSError, and InvalidInput for one that is no longer saved.
        """
        others = [
            self.entry(other_id)
            for other_id, other in self.entries()
            if (other.path, other.kind) == (entry.path, entry.kind)
            and other_id != change_id
            and self.outcome(other_id) == "removed"
        ]
        content = entry.safe_content
        while left := next((other for other in others if other.content == content), None):
            others.remove(left)
            content = left.safe_content
        return content

    def decisions_since(self, at_ns: int) -> list[tuple[SavedChange, Content]]:
        """Return what was decided on since a time, by any process, with what stands there on its word.

        The oldest decision first. Raises OSError.
        """
        decided = []
        for folder in self._folders():
            for name in (_RESTORED, _ALLOWED):
                note = folder / name
                with suppress(FileNotFoundError, InvalidInput):
                    noted_ns = note.stat().st_mtime_ns
                    if noted_ns >= at_ns - _CLOCK_NS:
                        entry = self.entry(folder.name)
                        is_restored = name == _ALLOWED or read_regular(note) == b"1"
                        undone = self.undone_content(folder.name, entry)
                        decided.append((noted_ns, entry, entry.content if is_restored else undone))
        decided.sort(key=lambda decision: decision[0])
        return [(entry, content) for _, entry, content in decided]

    def outcomes(self, change_ids: Iterable[str]) -> dict[str, bool]:
        """Return which changes were put back last (True), or taken out again (False), by their ids."""
        noted = {}
        for change_id in filter(_CHANGE_ID.fullmatch, change_ids):
            with suppress(OSError):
                noted[change_id] = read_regular(self.folder / change_id / _RESTORED) == b"1"
        return noted

    def outcome(self, change_id: str) -> AutoRunOutcome:
        """Return what became of a change last, as it was noted; `named`: nothing was decided on yet."""
        put = self.outcomes([change_id]).get(change_id)
        if put is None:
            return "kept" if (self.folder / change_id / _ALLOWED).exists() else "named"
        return "kept" if put else "removed"

    # What a crash must not lose, and other processes have to know

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Have no other process begin or end a command inside, where the disk has locks; blocks."""
        held = -1
        try:
            if self._survives and sys.platform != "win32":
                with suppress(OSError):
                    self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
                    fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            if held >= 0:
                os.close(held)

    def running_elsewhere(self) -> Iterator[AutoRunState]:
        """Yield what the commands that run in other processes are compared with. Raises OSError."""
        for path, file in self._others():
            if not _lock(file):
                with suppress(msgspec.MsgspecError), os.fdopen(os.dup(file), "rb") as stream:
                    state = msgspec.msgpack.decode(stream.read(), type=OpenState)
                    if state.before is not None and path.exists():
                        yield state.before

    def save_open(self, state: OpenState) -> None:
        """Have this on disk, instead of what was there before. Raises OSError: then that is there still."""
        if not self._survives or state == self._saved == OpenState():
            return
        former = self._open
        if state == OpenState():
            self._open = None
        else:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.folder / f"{_OPEN}{secrets.token_hex(8)}"
            temporary = path.with_name(f".{path.name}")
            file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                _lock(file)
                with os.fdopen(os.dup(file), "wb") as stream:
                    stream.write(msgspec.msgpack.encode(state, enc_hook=plain_text))
                    stream.flush()
                    os.fsync(file)
                temporary.rename(path)  # with the lock
            except OSError:
                os.close(file)
                temporary.unlink(missing_ok=True)
                raise
            self._open = path, file
        self._saved = state
        if former is not None:
            former[0].unlink(missing_ok=True)
            os.close(former[1])

    def left_open(self) -> Iterator[OpenState]:
        """Yield what processes left that have ended; it is removed once the caller goes on.

        What the caller has to keep of it, it saves before. Raises OSError.
        """
        for path, file in self._others():
            if not _lock(file) or not path.exists():
                continue
            try:
                with os.fdopen(os.dup(file), "rb") as stream:
                    state = msgspec.msgpack.decode(stream.read(), type=OpenState)
            except msgspec.MsgspecError:
                log.exception("%s can't be read", path)
                path.rename(path.with_name(f"{_DAMAGED}{path.name}"))
                continue
            yield state
            path.unlink(missing_ok=True)

    def _others(self) -> Iterator[tuple[Path, int]]:
        """Yield the files of other processes, each open while the caller looks at it. Raises OSError."""
        if not self._survives or not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob(f"{_OPEN}*")):
            if self._open is not None and path == self._open[0]:
                continue
            try:
                if not stat.S_ISREG(path.lstat().st_mode):  # a pipe would wait for ever
                    log.warning("%s is not a file", path)
                    continue
                file = os.open(path, os.O_RDWR)
            except FileNotFoundError:  # its process has gone on meanwhile
                continue
            try:
                yield path, file
            finally:
                os.close(file)

    # Bounds, and secrets

    def clean_up(self, now_ms: int, max_bytes: int = MAX_SAVED_BYTES) -> int:
        """Remove the oldest while more than `max_bytes` are saved; return the bytes that were removed.

        What is younger than the trash may be stays. Raises OSError.
        """
        sized = [(self._at_ms(folder), folder, _size(folder)) for folder in self._folders()]
        total = sum(size for _, _, size in sized)
        removed = 0
        for at_ms, folder, size in sorted(sized):
            if total - removed <= max_bytes or now_ms - at_ms < TRASH_DAYS * DAY_MS:
                break
            shutil.rmtree(folder)
            removed += size
        return removed

    def size(self) -> int:
        """Return the bytes of all that is saved. Raises OSError."""
        return sum(map(_size, self._folders()))

    def containing(self, redaction: Redaction) -> tuple[str, ...]:
        """Return the paths of the changes that contain a secret. Raises OSError."""
        return tuple(
            redaction.redact_text(self._path(folder))
            for folder in self._folders()
            if any(redaction.matches(read_regular(file)) for file in folder.iterdir())
        )

    def redact(self, redaction: Redaction) -> None:
        """Remove a secret from all that is saved, in place. Raises OSError."""
        for folder in self._folders():
            for path in folder.iterdir():
                with path.open("r+b") as file:
                    data = file.read()
                    clean = redaction.redact_data(data)
                    if clean != data:
                        file.seek(0)
                        file.write(clean)
                        file.truncate()
                        os.fsync(file.fileno())

    def _folders(self) -> list[Path]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return [path for path in sorted(self._folder.iterdir()) if _CHANGE_ID.fullmatch(path.name)]

    def _at_ms(self, folder: Path) -> int:
        try:
            return self._bare_entry(folder.name).at_ms
        except (OSError, msgspec.MsgspecError):
            return folder.stat().st_mtime_ns // 1_000_000

    def _path(self, folder: Path) -> str:
        try:
            return self._bare_entry(folder.name).path
        except (OSError, msgspec.MsgspecError):
            return folder.name


def _bare(content: Content) -> Content:
    return msgspec.structs.replace(content, data=b"")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _lock(file: int) -> bool:
    """Lock a file until it is closed; return False if another process has."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _store(path: Path, data: bytes) -> None:
    """Write a new file durably. Raises OSError."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
