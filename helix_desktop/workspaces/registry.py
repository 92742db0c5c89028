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

from helix_desktop.context.errors import HelixError, SettingsDamaged, WorkspaceMissing
from helix_desktop.context.policy import Policy
from helix_desktop.workspaces.files import Files, not_saved
from helix_desktop.workspaces.policy_file import PolicyFile
from helix_desktop.workspaces.record import WorkspaceRecord

RECORD_FILE = "workspace.toml"
STORE_FOLDER = "store"
_LONGEST_WAIT_S = 5.0


class Registry:
    """The workspaces under one folder, in the order they were added."""

    def __init__(self, folder: Path, files: Files, clock: Callable[[], int]) -> None:
        self._folder, self._files, self.clock = folder, files, clock
        self._records: dict[str, WorkspaceRecord] = {}
        self.problems: list[HelixError] = []
        self._load()

    def _load(self) -> None:
        for place in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            # A copy that somebody made beside the original is named otherwise, and is not a workspace.
            if _is_identity(place.name) and (place / RECORD_FILE).is_file():
                self._load_one(place)
        self._records = dict(sorted(self._records.items(), key=lambda pair: (pair[1].added, pair[0])))

    def _trouble(self, error: HelixError) -> None:
        if str(error) not in map(str, self.problems):
            self.problems.append(error)

    def _load_one(self, place: Path) -> None:
        try:
            fields = self._files.read(place / RECORD_FILE)
            self._records[place.name] = msgspec.convert({**fields, "id": place.name}, WorkspaceRecord)
        except SettingsDamaged as error:
            self._trouble(error)
        except msgspec.ValidationError as error:
            self._trouble(
                SettingsDamaged(
                    f"The workspace record {place / RECORD_FILE} is not usable.",
                    str(error),
                    "Correct the file; the workspace's sessions and cache are untouched.",
                )
            )

    def listed(self, removed: bool = False) -> list[WorkspaceRecord]:
        """The workspaces that stand in the list, or also those that were taken off it."""
        return [record for record in self._records.values() if record.listed or removed]

    def get(self, identity: str) -> WorkspaceRecord:
        """One workspace. Raises WorkspaceMissing."""
        try:
            return self._records[identity]
        except KeyError:
            raise WorkspaceMissing("There is no such workspace.", identity, "Add its folder again.") from None

    def at(self, path: Path) -> WorkspaceRecord | None:
        """The workspace of a folder, listed or not."""
        wanted = _real(path)
        return next((one for one in self._records.values() if _real(Path(one.path)) == wanted), None)

    def add(self, path: Path, demo: bool = False, name: str = "", trusted: bool = False) -> WorkspaceRecord:
        """Make a folder a workspace, or list it again, once also when two processes do it together.

        `trusted` says that the person trusts it; a trust that was given before stays.
        Raises WorkspaceMissing when it is no folder, HelixError when it holds the app's own data.
        """
        _check_folder(path, self._folder)
        with self._alone():
            return self._added(path, demo, name, trusted)

    def _added(self, path: Path, demo: bool, name: str, trusted: bool) -> WorkspaceRecord:
        self._load()  # another process may have added it since
        known = self.at(path)
        if known is not None:
            wanted = msgspec.structs.replace(known, listed=True, trusted=known.trusted or trusted)
            return known if wanted == known else self._keep(wanted)
        real = _real(path)
        named = name or os.path.basename(real) or real
        record = WorkspaceRecord(
            id=str(uuid.uuid4()), path=real, name=named, added=self.clock(), demo=demo, trusted=trusted
        )
        _make(self.place(record.id))
        self.save_policy(record.id, Policy())  # visible from the start, to be edited by hand as well
        return self._keep(record)

    def change(self, identity: str, **fields: Any) -> WorkspaceRecord:
        """Change some fields of a record and keep it. Raises WorkspaceMissing, HelixError."""
        known = self.get(identity)
        with self._alone():
            if (self.place(identity) / RECORD_FILE).is_file():  # what another process changed stays changed
                self._load_one(self.place(identity))
            return self._keep(msgspec.structs.replace(self._records.get(identity, known), **fields))

    def remove(self, identity: str) -> None:
        """Take a workspace off the list; its data stays. Raises WorkspaceMissing."""
        self.change(identity, listed=False)

    def relocate(self, identity: str, path: Path) -> WorkspaceRecord:
        """Say where a workspace's folder lies now, which is to be trusted anew.

        The rules of a sample hold for its own copy only.
        Raises WorkspaceMissing when that is no folder, HelixError when it is another workspace's.
        """
        _check_folder(path, self._folder)
        record, other = self.get(identity), self.at(path)
        if other is not None and other.id != identity:
            raise HelixError(
                f"{path} is the folder of the workspace {other.name}.",
                "Two workspaces of one folder would hide each other's sessions.",
                "Choose the folder's new place, or open that workspace.",
            )
        moved = record.path != _real(path)
        own = {"rules": (), "demo": False, "demo_calls": "ask"} if record.demo and moved else {}
        return self.change(identity, path=_real(path), trusted=record.trusted and not moved, **own)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the list against other processes. Raises HelixError when one does not let go."""
        lock = self._folder.with_name(f"{self._folder.name}.lock")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(lock, timeout=_LONGEST_WAIT_S):
                yield
        except Timeout as error:
            raise HelixError(
                "The list of workspaces was not changed.",
                f"Another process has held {lock} for {_LONGEST_WAIT_S:g} s.",
                "Try again; if it stays so, end the other Helix Desktop.",
            ) from error
        except OSError as error:
            raise not_saved("The list of workspaces", self._folder, error) from error

    def _keep(self, record: WorkspaceRecord) -> WorkspaceRecord:
        place = self.place(record.id)
        _make(place)
        fields = {name: value for name, value in msgspec.to_builtins(record).items() if name != "id"}
        self._files.write(place / RECORD_FILE, fields)
        self._records[record.id] = record
        return record

    def place(self, identity: str) -> Path:
        """The folder of a workspace's own data."""
        return self._folder / str(uuid.UUID(identity))

    def store_folder(self, identity: str) -> Path:
        """The folder of a workspace's store."""
        return self.place(identity) / STORE_FOLDER

    def policy_file(self, identity: str) -> PolicyFile:
        """The file of a workspace's policy."""
        return PolicyFile(self.place(identity), self._files)

    def policy(self, identity: str) -> Policy:
        """A workspace's policy. Raises SettingsDamaged naming the line and field that are wrong."""
        return self.policy_file(identity).load()

    def save_policy(self, identity: str, policy: Policy) -> None:
        """Keep a workspace's policy. Raises HelixError; then the former one is as it was."""
        self.policy_file(identity).save(policy)


def _check_folder(path: Path, data: Path) -> None:
    """Raises WorkspaceMissing for what is no folder, HelixError for one inside the app's own data."""
    if not os.path.isdir(path):  # unlike Path.is_dir, it has an answer to a name that is too long
        raise WorkspaceMissing(
            f"{path} is not a folder.", "It does not exist, or is a file.", "Choose an existing folder."
        )
    if Path(_real(path)).is_relative_to(_real(data)):
        raise HelixError(
            f"{path} cannot be a workspace.",
            "It holds what Helix Desktop keeps of workspaces: an agent there could read and change it.",
            "Choose a folder of your own.",
        )


def _make(place: Path) -> None:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_identity(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _real(path: Path) -> str:
    return os.path.realpath(path)
