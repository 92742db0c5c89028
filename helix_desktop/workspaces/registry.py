"""The registry: which project folders are workspaces. One folder of TOML files per workspace."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import HelixError, SettingsDamaged, WorkspaceMissing
from helix_desktop.workspaces.policy_file import PolicyFile
from helix_desktop.workspaces.record import WorkspaceRecord
from helix_desktop.workspaces.toml_storage import TomlStorage, save_error

RECORD_FILE = "workspace.toml"
STORE_FOLDER = "store"
_LOCK_TIMEOUT_S = 5.0


class WorkspaceRegistry:
    """The workspaces under one folder, in the order they were added."""

    def __init__(self, folder: Path, files: TomlStorage, clock: Callable[[], int]) -> None:
        self._folder, self._files, self.clock = folder, files, clock
        self._records: dict[str, WorkspaceRecord] = {}
        self.problems: list[HelixError] = []
        self._load()

    def _load(self) -> None:
        for place in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            # A copy that somebody made beside the original is named otherwise, and is not a workspace.
            if _is_workspace_id(place.name) and (place / RECORD_FILE).is_file():
                self._load_record(place)
        self._records = dict(sorted(self._records.items(), key=lambda pair: (pair[1].added, pair[0])))

    def _add_problem(self, error: HelixError) -> None:
        if str(error) not in map(str, self.problems):
            self.problems.append(error)

    def _load_record(self, folder: Path) -> None:
        try:
            fields = self._files.read(folder / RECORD_FILE)
            self._records[folder.name] = msgspec.convert({**fields, "id": folder.name}, WorkspaceRecord)
        except SettingsDamaged as error:
            self._add_problem(error)
        except msgspec.ValidationError as error:
            self._add_problem(
                SettingsDamaged(
                    f"The workspace record {folder / RECORD_FILE} is not usable.",
                    str(error),
                    "Correct the file; the workspace's sessions and cache are untouched.",
                )
            )

    def list_workspaces(self, include_removed: bool = False) -> list[WorkspaceRecord]:
        """The workspaces that stand in the list, or also those that were taken off it."""
        return [record for record in self._records.values() if record.listed or include_removed]

    def get(self, workspace_id: str) -> WorkspaceRecord:
        """One workspace. Raises WorkspaceMissing."""
        try:
            return self._records[workspace_id]
        except KeyError:
            raise WorkspaceMissing(
                "There is no such workspace.", workspace_id, "Add its folder again."
            ) from None

    def find_by_path(self, path: Path) -> WorkspaceRecord | None:
        """The workspace of a folder, listed or not."""
        wanted = _real_path(path)
        return next((one for one in self._records.values() if _real_path(Path(one.path)) == wanted), None)

    def add(self, path: Path, demo: bool = False, name: str = "", trusted: bool = False) -> WorkspaceRecord:
        """Make a folder a workspace, or list it again, once also when two processes do it together.

        `trusted` says that the person trusts it; a trust that was given before stays.
        Raises WorkspaceMissing when it is no folder, HelixError when it holds the app's own data.
        """
        _check_folder(path, self._folder)
        with self._locked():
            return self._add(path, demo, name, trusted)

    def _add(self, path: Path, demo: bool, name: str, trusted: bool) -> WorkspaceRecord:
        self._load()  # another process may have added it since
        known = self.find_by_path(path)
        if known is not None:
            wanted = msgspec.structs.replace(known, listed=True, trusted=known.trusted or trusted)
            return known if wanted == known else self._write_record(wanted)
        real = _real_path(path)
        named = name or os.path.basename(real) or real
        record = WorkspaceRecord(
            id=str(uuid.uuid4()), path=real, name=named, added=self.clock(), demo=demo, trusted=trusted
        )
        _make_folder(self.data_folder(record.id))
        self.save_policy(record.id, ContextPolicy())  # visible from the start, to be edited by hand as well
        return self._write_record(record)

    def change(self, workspace_id: str, **fields: Any) -> WorkspaceRecord:
        """Change some fields of a record and keep it. Raises WorkspaceMissing, HelixError."""
        known = self.get(workspace_id)
        with self._locked():
            if (
                self.data_folder(workspace_id) / RECORD_FILE
            ).is_file():  # what another process changed stays changed
                self._load_record(self.data_folder(workspace_id))
            return self._write_record(
                msgspec.structs.replace(self._records.get(workspace_id, known), **fields)
            )

    def remove(self, workspace_id: str) -> None:
        """Take a workspace off the list; its data stays. Raises WorkspaceMissing."""
        self.change(workspace_id, listed=False)

    def relocate(self, workspace_id: str, path: Path) -> WorkspaceRecord:
        """Say where a workspace's folder lies now, which is to be trusted anew.

        The rules of a sample hold for its own copy only.
        Raises WorkspaceMissing when that is no folder, HelixError when it is another workspace's.
        """
        _check_folder(path, self._folder)
        record, other = self.get(workspace_id), self.find_by_path(path)
        if other is not None and other.id != workspace_id:
            raise HelixError(
                f"{path} is the folder of the workspace {other.name}.",
                "Two workspaces of one folder would hide each other's sessions.",
                "Choose the folder's new place, or open that workspace.",
            )
        moved = record.path != _real_path(path)
        own = {"rules": (), "demo": False, "demo_calls": "ask"} if record.demo and moved else {}
        return self.change(workspace_id, path=_real_path(path), trusted=record.trusted and not moved, **own)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the list against other processes. Raises HelixError when one does not let go."""
        lock = self._folder.with_name(f"{self._folder.name}.lock")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(lock, timeout=_LOCK_TIMEOUT_S):
                yield
        except Timeout as error:
            raise HelixError(
                "The list of workspaces was not changed.",
                f"Another process has held {lock} for {_LOCK_TIMEOUT_S:g} s.",
                "Try again; if it stays so, end the other Helix Desktop.",
            ) from error
        except OSError as error:
            raise save_error("The list of workspaces", self._folder, error) from error

    def _write_record(self, record: WorkspaceRecord) -> WorkspaceRecord:
        place = self.data_folder(record.id)
        _make_folder(place)
        fields = {name: value for name, value in msgspec.to_builtins(record).items() if name != "id"}
        self._files.write(place / RECORD_FILE, fields)
        self._records[record.id] = record
        return record

    def data_folder(self, workspace_id: str) -> Path:
        """The folder of a workspace's own data."""
        return self._folder / str(uuid.UUID(workspace_id))

    def store_folder(self, workspace_id: str) -> Path:
        """The folder of a workspace's store."""
        return self.data_folder(workspace_id) / STORE_FOLDER

    def policy_file(self, workspace_id: str) -> PolicyFile:
        """The file of a workspace's policy."""
        return PolicyFile(self.data_folder(workspace_id), self._files)

    def load_policy(self, workspace_id: str) -> ContextPolicy:
        """A workspace's policy. Raises SettingsDamaged naming the line and field that are wrong."""
        return self.policy_file(workspace_id).load()

    def save_policy(self, workspace_id: str, policy: ContextPolicy) -> None:
        """Keep a workspace's policy. Raises HelixError; then the former one is as it was."""
        self.policy_file(workspace_id).save(policy)


def _check_folder(path: Path, data_root: Path) -> None:
    """Raises WorkspaceMissing for what is no folder, HelixError for one inside the app's own data."""
    if not os.path.isdir(path):  # unlike Path.is_dir, it has an answer to a name that is too long
        raise WorkspaceMissing(
            f"{path} is not a folder.", "It does not exist, or is a file.", "Choose an existing folder."
        )
    if Path(_real_path(path)).is_relative_to(_real_path(data_root)):
        raise HelixError(
            f"{path} cannot be a workspace.",
            "It holds what Helix Desktop keeps of workspaces: an agent there could read and change it.",
            "Choose a folder of your own.",
        )


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_workspace_id(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _real_path(path: Path) -> str:
    return os.path.realpath(path)
