"""One revert on the disk: staged beside, swapped step by step, and taken back from any point on.

Whether a step was made is seen on the disk: a revert may be cut off at any point, and some of what was done
may not have reached the disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from helix_desktop.file_history.database.contents import ContentRows
from helix_desktop.file_history.revert.attributes import give_attributes
from helix_desktop.file_history.revert.current_paths import is_alike, read_bytes, read_path_state
from helix_desktop.file_history.revert.folders import Folder, Folders, FolderUnreachable
from helix_desktop.file_history.revert.refusals import PathChanged
from helix_desktop.file_history.revert.steps import JournalEntry, RevertStep
from helix_desktop.system.disk_sync import CAN_SYNC_DISK

_MANY = 32  # steps from which the disk is synced as a whole: one takes as long as some ten files

_Stamp = tuple[int, int, int]


class Swap:
    """Carries out the steps of an entry, or takes them back. Every method may raise OSError."""

    def __init__(self, folders: Folders, entry: JournalEntry, on_step: Callable[[str], None]) -> None:
        """`on_step` is called with the name of each step before it."""
        self.entry = entry
        self._folders, self._on_step = folders, on_step
        self._stamps: dict[str, _Stamp] = {}
        self._syncs_once = CAN_SYNC_DISK and len(entry.steps) >= _MANY
        self._staging: Folder | None = None
        self._staging_folders = Folders(folders.root)

    def close(self) -> None:
        """Close all folders."""
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
        for number, step in self._staged_steps():
            self._on_step(f"stage {number}")
            assert step.target is not None
            if step.target.kind == "link":
                staging.new_link(str(number), step.target.target)
            else:
                _write(staging, str(number), contents.get(step.target.digest))
        for number, step in self._staged_steps():
            if step.target is not None and step.target.kind == "file":
                place, replaced = None, ""
                with suppress(FolderUnreachable):  # it may be still to be made
                    place, replaced = self._parent(step)
                is_swap = step.kind == "swap"
                give_attributes(
                    staging,
                    str(number),
                    step.target.mode,
                    place,
                    replaced if is_swap else "",
                    syncs=not self._syncs_once,
                )
        staging.sync()
        self._folders.open("").sync()
        if self._syncs_once:
            staging.sync_disk()

    def run(self) -> None:
        """Make all steps; all are durable then. Raises PathChanged, FolderUnreachable."""
        is_synced = False
        for number, step in enumerate(self.entry.steps):
            if step.kind == "mode" and not is_synced and not self._syncs_once:
                self.sync()  # a folder may not be opened any more once it has its mode
                is_synced = True
            self._on_step(f"{step.kind} {number}")
            self._make(number, step)
        if not is_synced:
            self.sync()

    def store_replaced(self, contents: ContentRows) -> None:
        """Store the contents of the files that were replaced or removed. Raises PathChanged, StoreError."""
        staging = self._open_staging()
        for number, step in enumerate(self.entry.steps):
            if step.kind in ("aside", "swap") and step.present is not None and step.present.kind == "file":
                if contents.has(step.present.digest):
                    continue
                data = read_bytes(staging, self._former_name(number, step))
                if contents.put(data) != step.present.digest:
                    raise PathChanged(step.path)

    def check(self) -> None:
        """Check that no program went on writing into what was moved aside. Raises PathChanged.

        What it writes there after this check goes with the file; no system call prevents that.
        """
        staging = self._open_staging()
        for number, step in enumerate(self.entry.steps):
            name = self._former_name(number, step)
            file_stat = staging.stat(name) if name in self._stamps else None
            if file_stat is not None and _stamp(file_stat) != self._stamps[name]:
                raise PathChanged(step.path)

    def roll_back(self) -> list[RevertStep]:
        """Take back the steps; return those whose path somebody else changed since, and which stay."""
        lost: list[RevertStep] = []
        if not self._is_staged():
            return lost
        for number, step in reversed(list(enumerate(self.entry.steps))):
            self._on_step(f"back {number}")
            try:
                if not self._take_back(number, step):
                    lost.append(step)
            except FolderUnreachable:
                if step.kind in ("aside", "swap") and self._has_former(number, step):
                    lost.append(step)
        self.sync()
        return lost

    def read_former(self, step: RevertStep) -> bytes:
        """Return the content of a file that a step moved aside."""
        number = self.entry.steps.index(step)
        return read_bytes(self._open_staging(), self._former_name(number, step))

    def clean(self) -> None:
        """Remove the staging folder with all that the revert put there."""
        if not self._is_staged():
            return
        staging = self._open_staging()
        for number, step in enumerate(self.entry.steps):
            self._on_step(f"clean {number}")
            for name in (str(number), f"{number}.former"):
                self._remove(staging, name, step)
        root = self._folders.open("")
        root.remove(self.entry.folder, is_folder=True)
        root.sync()

    def sync(self) -> None:
        """Make what was moved durable."""
        if self._syncs_once:
            self._open_staging().sync_disk()
            return
        for parent in sorted({step.path.rpartition("/")[0] for step in self.entry.steps}):
            with suppress(FolderUnreachable):
                self._folders.open(parent).sync()
        self._open_staging().sync()

    def _staged_steps(self) -> Iterator[tuple[int, RevertStep]]:
        return ((n, step) for n, step in enumerate(self.entry.steps) if step.kind in ("place", "swap"))

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

    def _parent(self, step: RevertStep) -> tuple[Folder, str]:
        """Return the folder that a step's path is in, and its name there. Raises FolderUnreachable."""
        parent, _, name = step.path.rpartition("/")
        return self._folders.open(parent), name

    def _make(self, number: int, step: RevertStep) -> None:
        staging = self._open_staging()
        folder, name = self._parent(step)
        with _missing_as_changed(step):
            match step.kind:
                case "open":
                    self._set_mode(step, folder, name)
                case "mode":
                    found = read_path_state(folder, name)
                    if found is not None and found.kind == "file" and not is_alike(found, step.present):
                        raise PathChanged(step.path)
                    self._set_mode(step, folder, name)
                case "folder":
                    folder.new_folder(name)
                case "place":
                    staging.move(str(number), folder, name)
                case "aside":
                    self._move_aside(number, step, folder, name)
                case "swap":
                    if not folder.exchange(name, staging, str(number)):
                        self._move_aside(number, step, folder, name)
                        staging.move(str(number), folder, name)
                    self._verify(number, step)

    def _move_aside(self, number: int, step: RevertStep, folder: Folder, name: str) -> None:
        is_folder = step.present is not None and step.present.kind == "folder"
        if is_folder:
            self._folders.close()  # none of its descriptors may outlive it
            folder, name = self._parent(step)
        try:
            folder.move(name, self._open_staging(), f"{number}.former")
        except OSError as error:
            if not is_folder or error.errno != errno.EXDEV:
                raise
            folder.remove(name, is_folder=True)  # overlay file systems move no folder of a lower layer
            return
        self._verify(number, step)

    def _verify(self, number: int, step: RevertStep) -> None:
        """Check that what was moved aside is what was planned for."""
        staging, name = self._open_staging(), self._former_name(number, step)
        before = staging.stat(name)
        found = read_path_state(staging, name)
        if found is not None and found.kind == "folder":
            aside = self._folders.open(f"{self.entry.folder}/{name}")
            if step.present is not None and step.present.kind == "folder" and not aside.names():
                return
        elif before is not None and is_alike(found, step.present):
            self._stamps[name] = _stamp(before)
            return
        raise PathChanged(step.path)

    def _former_name(self, number: int, step: RevertStep) -> str:
        """Return the name of what was moved aside: an exchange leaves it where the staged one was."""
        name = f"{number}.former"
        if step.kind == "swap" and self._open_staging().stat(name) is None:
            return str(number)
        return name

    def _has_former(self, number: int, step: RevertStep) -> bool:
        """Return True if what stood at a step's path is in the staging folder."""
        staging, name = self._open_staging(), self._former_name(number, step)
        if name == str(number) and is_alike(read_path_state(staging, name), step.target):
            return False  # it was not exchanged
        return staging.stat(name) is not None

    def _take_back(self, number: int, step: RevertStep) -> bool:
        """Take back a step if it was made; return False if its path is somebody else's now."""
        folder, name = self._parent(step)
        match step.kind:
            case "open" | "mode":
                self._restore_mode(step, folder, name)
            case "folder":
                self._folders.close()
                with suppress(OSError):  # not empty: somebody else's files are in it
                    self._parent(step)[0].remove(name, is_folder=True)
            case "place":
                if self._open_staging().stat(str(number)) is None:
                    self._take_out(number, step, folder, name)
            case "aside":
                return self._put_back(number, step, folder, name)
            case "swap":
                return self._swap_back(number, step, folder, name)
        return True

    def _set_mode(self, step: RevertStep, folder: Folder, name: str) -> None:
        file_stat = folder.stat(name)
        if file_stat is None or step.target is None or step.present is None:
            raise PathChanged(step.path)
        mode = stat.S_IMODE(file_stat.st_mode)
        if stat.S_ISDIR(file_stat.st_mode):  # a new one may have bits of the folder it is in, or of its disk
            is_same = step.present.kind == "folder"
        else:
            is_same = stat.S_ISREG(file_stat.st_mode) and mode == step.present.mode
        if not is_same:
            raise PathChanged(step.path)
        if mode != step.target.mode:  # some disks know no permissions, and refuse to set any
            folder.set_mode(name, step.target.mode, syncs=not self._syncs_once)

    @staticmethod
    def _restore_mode(step: RevertStep, folder: Folder, name: str) -> None:
        file_stat = folder.stat(name)
        if file_stat is None or step.present is None or step.target is None:
            return
        if not stat.S_ISLNK(file_stat.st_mode) and stat.S_IMODE(file_stat.st_mode) == step.target.mode:
            folder.set_mode(name, step.present.mode)

    def _take_out(self, number: int, step: RevertStep, folder: Folder, name: str) -> bool:
        """Move what was placed back into the staging folder; return False if it is not what was placed."""
        if not is_alike(read_path_state(folder, name), step.target):
            return False
        staging = self._open_staging()
        folder.move(name, staging, str(number))
        if is_alike(read_path_state(staging, str(number)), step.target):
            return True
        staging.move(str(number), folder, name)
        return False

    def _put_back(self, number: int, step: RevertStep, folder: Folder, name: str) -> bool:
        staging = self._open_staging()
        if staging.stat(f"{number}.former") is None:
            is_gone = step.present is not None and step.present.kind == "folder" and folder.stat(name) is None
            if is_gone and step.present is not None:
                folder.new_folder(name)
                folder.set_mode(name, step.present.mode)
            return True
        try:
            staging.move(f"{number}.former", folder, name)
        except FileExistsError:
            return False
        return True

    def _swap_back(self, number: int, step: RevertStep, folder: Folder, name: str) -> bool:
        staging = self._open_staging()
        if staging.stat(f"{number}.former") is not None:
            if folder.stat(name) is not None and not self._take_out(number, step, folder, name):
                return False
            return self._put_back(number, step, folder, name)
        if not self._has_former(number, step):
            return True
        if not is_alike(read_path_state(folder, name), step.target):
            return False
        folder.exchange(name, staging, str(number))
        if is_alike(read_path_state(staging, str(number)), step.target):
            return True
        folder.exchange(name, staging, str(number))  # written to in that moment
        return False

    def _remove(self, staging: Folder, name: str, step: RevertStep) -> None:
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
            folder, own_name = self._parent(step)
            staging.move(name, folder, own_name)


@contextmanager
def _missing_as_changed(step: RevertStep) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, FileExistsError) as error:
        raise PathChanged(step.path) from error


def _write(folder: Folder, name: str, data: bytes) -> None:
    with os.fdopen(folder.new_file(name), "wb") as file:
        file.write(data)


def _stamp(file_stat: os.stat_result) -> _Stamp:
    return file_stat.st_size, file_stat.st_mtime_ns, file_stat.st_ctime_ns
