"""One revert on the disk: staged beside, swapped operation by operation, and taken back from any point on.

Whether an operation was made is seen on the disk: a revert may be cut off at any point, and some of what was
done may not have reached the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from helix_desktop.file_history.revert.current_paths import is_alike, read_bytes, read_path_state
from helix_desktop.file_history.revert.folders import (
    Folder,
    Folders,
    FolderUnreachable,
    JournalEntry,
    PathChanged,
    RevertOperation,
)
from helix_desktop.file_history.tables import ContentRows
from helix_desktop.system.file_syscalls import CAN_SYNC_DISK


def give_attributes(
    staging: Folder, name: str, mode: int, place: Folder | None, replaced: str, *, syncs: bool
) -> None:
    """Give a staged file its permissions and what the file has that it replaces; durable if it `syncs`.

    What its user may not give is left out. One that replaces none (an empty name) gets the group of the
    folder that it comes to, if new files there do; None: that is still to be made.
    """
    descriptor = staging.open_to_write(name)
    try:
        if place is not None and replaced:
            with suppress(OSError), place.open_file(replaced) as origin:  # else nothing of it is known
                _copy(origin, descriptor)
        elif place is not None and hasattr(os, "fchown"):
            file_stat = place.own_stat()
            if file_stat.st_mode & stat.S_ISGID:
                with suppress(OSError):
                    os.fchown(descriptor, -1, file_stat.st_gid)
        needs_mode = stat.S_IMODE(os.fstat(descriptor).st_mode) != mode  # some disks know none
        if needs_mode and hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        if syncs:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if needs_mode and not hasattr(os, "fchmod"):
        staging.set_mode(name, mode)


def _copy(origin: int, descriptor: int) -> None:
    original = os.fstat(origin)
    own = os.fstat(descriptor)
    if hasattr(os, "fchown") and (original.st_uid, original.st_gid) != (own.st_uid, own.st_gid):
        try:
            os.fchown(descriptor, original.st_uid, original.st_gid)
        except OSError:
            with suppress(OSError):
                os.fchown(descriptor, -1, original.st_gid)
    if hasattr(os, "listxattr"):
        for attribute in os.listxattr(origin):
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(origin, attribute))


_MANY = 32  # operations from which the disk is synced as a whole: one takes as long as some ten files

_Stamp = tuple[int, int, int]


class RevertExecutor:
    """Carries out the operations of an entry, or takes them back. Every method may raise OSError."""

    def __init__(self, folders: Folders, entry: JournalEntry, on_operation: Callable[[str], None]) -> None:
        """`on_operation` is called with the name of each operation before it."""
        self.entry = entry
        self._folders = folders
        self._on_operation = on_operation
        self._stamps: dict[str, _Stamp] = {}
        self._syncs_once = CAN_SYNC_DISK and len(entry.operations) >= _MANY
        self._staging: Folder | None = None
        self._staging_folders = Folders(folders.root)

    def close(self) -> None:
        self._staging = None
        self._staging_folders.close()
        self._folders.close()

    def stage(self, contents: ContentRows) -> None:
        """Make the staging folder, and in it everything that is to come; all of it is durable then.

        Raises StoreError.
        """
        root = self._folders.open("")
        root.new_folder(self.entry.folder)
        staging = self._open_staging()
        for number, operation in self._staged_operations():
            self._on_operation(f"stage {number}")
            assert operation.target is not None
            if operation.target.kind == "link":
                staging.new_link(str(number), operation.target.target)
            else:
                _write(staging, str(number), contents.get(operation.target.digest))
        for number, operation in self._staged_operations():
            if operation.target is not None and operation.target.kind == "file":
                place = None
                replaced = ""
                with suppress(FolderUnreachable):  # it may be still to be made
                    place, replaced = self._parent(operation)
                is_swap = operation.kind == "swap"
                give_attributes(
                    staging,
                    str(number),
                    operation.target.mode,
                    place,
                    replaced if is_swap else "",
                    syncs=not self._syncs_once,
                )
        staging.sync()
        self._folders.open("").sync()
        if self._syncs_once:
            staging.sync_disk()

    def run(self) -> None:
        """Make all operations; all are durable then. Raises PathChanged, FolderUnreachable."""
        is_synced = False
        for number, operation in enumerate(self.entry.operations):
            if operation.kind == "mode" and not is_synced and not self._syncs_once:
                self.sync()  # a folder may not be opened any more once it has its mode
                is_synced = True
            self._on_operation(f"{operation.kind} {number}")
            self._make(number, operation)
        if not is_synced:
            self.sync()

    def store_replaced(self, contents: ContentRows) -> None:
        """Store the contents of the files that were replaced or removed. Raises PathChanged, StoreError."""
        staging = self._open_staging()
        for number, operation in enumerate(self.entry.operations):
            if (
                operation.kind in ("aside", "swap")
                and operation.present is not None
                and operation.present.kind == "file"
            ):
                if contents.has(operation.present.digest):
                    continue
                data = read_bytes(staging, self._former_name(number, operation))
                if contents.put(data) != operation.present.digest:
                    raise PathChanged(operation.path)

    def check(self) -> None:
        """Check that no program went on writing into what was moved aside. Raises PathChanged.

        What it writes there after this check goes with the file; no system call prevents that.
        """
        staging = self._open_staging()
        for number, operation in enumerate(self.entry.operations):
            name = self._former_name(number, operation)
            file_stat = staging.stat(name) if name in self._stamps else None
            if file_stat is not None and _stamp(file_stat) != self._stamps[name]:
                raise PathChanged(operation.path)

    def roll_back(self) -> list[RevertOperation]:
        """Take back the operations; return those whose path somebody else changed since, and which stay."""
        lost: list[RevertOperation] = []
        if not self._is_staged():
            return lost
        for number, operation in reversed(list(enumerate(self.entry.operations))):
            self._on_operation(f"back {number}")
            try:
                if not self._take_back(number, operation):
                    lost.append(operation)
            except FolderUnreachable:
                if operation.kind in ("aside", "swap") and self._has_former(number, operation):
                    lost.append(operation)
        self.sync()
        return lost

    def read_former(self, operation: RevertOperation) -> bytes:
        number = self.entry.operations.index(operation)
        return read_bytes(self._open_staging(), self._former_name(number, operation))

    def clean(self) -> None:
        if not self._is_staged():
            return
        staging = self._open_staging()
        for number, operation in enumerate(self.entry.operations):
            self._on_operation(f"clean {number}")
            for name in (str(number), f"{number}.former"):
                self._remove(staging, name, operation)
        root = self._folders.open("")
        root.remove(self.entry.folder, is_folder=True)
        root.sync()

    def sync(self) -> None:
        if self._syncs_once:
            self._open_staging().sync_disk()
            return
        for parent in sorted({operation.path.rpartition("/")[0] for operation in self.entry.operations}):
            with suppress(FolderUnreachable):
                self._folders.open(parent).sync()
        self._open_staging().sync()

    def _staged_operations(self) -> Iterator[tuple[int, RevertOperation]]:
        return (
            (n, operation)
            for n, operation in enumerate(self.entry.operations)
            if operation.kind in ("place", "swap")
        )

    def _is_staged(self) -> bool:
        """Return False if there is no staging folder: nothing was done yet, or all is removed."""
        try:
            self._open_staging()
        except FolderUnreachable as error:
            if error.problem:
                raise
            return False
        return True

    def _open_staging(self) -> Folder:
        if self._staging is None:
            self._staging = self._staging_folders.open(self.entry.folder)
        return self._staging

    def _parent(self, operation: RevertOperation) -> tuple[Folder, str]:
        """Return the folder that an operation's path is in, and its name there. Raises FolderUnreachable."""
        parent, _, name = operation.path.rpartition("/")
        return self._folders.open(parent), name

    def _make(self, number: int, operation: RevertOperation) -> None:
        staging = self._open_staging()
        folder, name = self._parent(operation)
        with _missing_as_changed(operation):
            match operation.kind:
                case "open":
                    self._set_mode(operation, folder, name)
                case "mode":
                    found = read_path_state(folder, name)
                    if found is not None and found.kind == "file" and not is_alike(found, operation.present):
                        raise PathChanged(operation.path)
                    self._set_mode(operation, folder, name)
                case "folder":
                    folder.new_folder(name)
                case "place":
                    staging.move(str(number), folder, name)
                case "aside":
                    self._move_aside(number, operation, folder, name)
                case "swap":
                    if not folder.exchange(name, staging, str(number)):
                        self._move_aside(number, operation, folder, name)
                        staging.move(str(number), folder, name)
                    self._verify(number, operation)

    def _move_aside(self, number: int, operation: RevertOperation, folder: Folder, name: str) -> None:
        is_folder = operation.present is not None and operation.present.kind == "folder"
        if is_folder:
            self._folders.close()  # none of its descriptors may outlive it
            folder, name = self._parent(operation)
        try:
            folder.move(name, self._open_staging(), f"{number}.former")
        except OSError as error:
            if not is_folder or error.errno != errno.EXDEV:
                raise
            folder.remove(name, is_folder=True)  # overlay file systems move no folder of a lower layer
            return
        self._verify(number, operation)

    def _verify(self, number: int, operation: RevertOperation) -> None:
        """Check that what was moved aside is what was planned for."""
        staging = self._open_staging()
        name = self._former_name(number, operation)
        before = staging.stat(name)
        found = read_path_state(staging, name)
        if found is not None and found.kind == "folder":
            aside = self._folders.open(f"{self.entry.folder}/{name}")
            if operation.present is not None and operation.present.kind == "folder" and not aside.names():
                return
        elif before is not None and is_alike(found, operation.present):
            self._stamps[name] = _stamp(before)
            return
        raise PathChanged(operation.path)

    def _former_name(self, number: int, operation: RevertOperation) -> str:
        """Return the name of what was moved aside: an exchange leaves it where the staged one was."""
        name = f"{number}.former"
        if operation.kind == "swap" and self._open_staging().stat(name) is None:
            return str(number)
        return name

    def _has_former(self, number: int, operation: RevertOperation) -> bool:
        """Return True if what stood at an operation's path is in the staging folder."""
        staging = self._open_staging()
        name = self._former_name(number, operation)
        if name == str(number) and is_alike(read_path_state(staging, name), operation.target):
            return False  # it was not exchanged
        return staging.stat(name) is not None

    def _take_back(self, number: int, operation: RevertOperation) -> bool:
        """Take back an operation if it was made; return False if its path is somebody else's now."""
        folder, name = self._parent(operation)
        match operation.kind:
            case "open" | "mode":
                self._restore_mode(operation, folder, name)
            case "folder":
                self._folders.close()
                with suppress(OSError):  # not empty: somebody else's files are in it
                    self._parent(operation)[0].remove(name, is_folder=True)
            case "place":
                if self._open_staging().stat(str(number)) is None:
                    self._take_out(number, operation, folder, name)
            case "aside":
                return self._put_back(number, operation, folder, name)
            case "swap":
                return self._swap_back(number, operation, folder, name)
        return True

    def _set_mode(self, operation: RevertOperation, folder: Folder, name: str) -> None:
        file_stat = folder.stat(name)
        if file_stat is None or operation.target is None or operation.present is None:
            raise PathChanged(operation.path)
        mode = stat.S_IMODE(file_stat.st_mode)
        if stat.S_ISDIR(file_stat.st_mode):  # a new one may have bits of the folder it is in, or of its disk
            is_same = operation.present.kind == "folder"
        else:
            is_same = stat.S_ISREG(file_stat.st_mode) and mode == operation.present.mode
        if not is_same:
            raise PathChanged(operation.path)
        if mode != operation.target.mode:  # some disks know no permissions, and refuse to set any
            folder.set_mode(name, operation.target.mode, syncs=not self._syncs_once)

    @staticmethod
    def _restore_mode(operation: RevertOperation, folder: Folder, name: str) -> None:
        file_stat = folder.stat(name)
        if file_stat is None or operation.present is None or operation.target is None:
            return
        if not stat.S_ISLNK(file_stat.st_mode) and stat.S_IMODE(file_stat.st_mode) == operation.target.mode:
            folder.set_mode(name, operation.present.mode)

    def _take_out(self, number: int, operation: RevertOperation, folder: Folder, name: str) -> bool:
        """Move what was placed back into the staging folder; return False if it is not what was placed."""
        if not is_alike(read_path_state(folder, name), operation.target):
            return False
        staging = self._open_staging()
        folder.move(name, staging, str(number))
        if is_alike(read_path_state(staging, str(number)), operation.target):
            return True
        staging.move(str(number), folder, name)
        return False

    def _put_back(self, number: int, operation: RevertOperation, folder: Folder, name: str) -> bool:
        staging = self._open_staging()
        if staging.stat(f"{number}.former") is None:
            present = operation.present
            if present is not None and present.kind == "folder" and folder.stat(name) is None:
                folder.new_folder(name)
                folder.set_mode(name, present.mode)
            return True
        try:
            staging.move(f"{number}.former", folder, name)
        except FileExistsError:
            return False
        return True

    def _swap_back(self, number: int, operation: RevertOperation, folder: Folder, name: str) -> bool:
        staging = self._open_staging()
        if staging.stat(f"{number}.former") is not None:
            if folder.stat(name) is not None and not self._take_out(number, operation, folder, name):
                return False
            return self._put_back(number, operation, folder, name)
        if not self._has_former(number, operation):
            return True
        if not is_alike(read_path_state(folder, name), operation.target):
            return False
        folder.exchange(name, staging, str(number))
        if is_alike(read_path_state(staging, str(number)), operation.target):
            return True
        folder.exchange(name, staging, str(number))  # written to in that moment
        return False

    def _remove(self, staging: Folder, name: str, operation: RevertOperation) -> None:
        file_stat = staging.stat(name)
        if file_stat is None:
            return
        is_folder = stat.S_ISDIR(file_stat.st_mode)
        try:
            staging.remove(name, is_folder)
        except OSError as error:
            if not is_folder or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # A program whose working folder it is wrote into it.
            folder, own_name = self._parent(operation)
            staging.move(name, folder, own_name)


@contextmanager
def _missing_as_changed(operation: RevertOperation) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, FileExistsError) as error:
        raise PathChanged(operation.path) from error


def _write(folder: Folder, name: str, data: bytes) -> None:
    with os.fdopen(folder.new_file(name), "wb") as file:
        file.write(data)


def _stamp(file_stat: os.stat_result) -> _Stamp:
    return file_stat.st_size, file_stat.st_mtime_ns, file_stat.st_ctime_ns
