"""The registry: which project folders are workspaces. One folder of TOML files per workspace."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from helix_desktop.context.errors import HelixError, SettingsDamaged, WorkspaceMissing
from helix_desktop.context.policy import Policy, fields_of, policy_from
from helix_desktop.context.tool import Rule
from helix_desktop.workspaces.record import WorkspaceRecord

RECORD_FILE = "workspace.toml"
POLICY_FILE = "policy.toml"
STORE_FOLDER = "store"


class Files(Protocol):
    """Reads and writes TOML files: durably, atomically, a damaged file kept aside."""

    def read(self, path: Path) -> dict[str, Any]:
        """The file's content; empty when there is none. Raises SettingsDamaged."""
        ...

    def write(self, path: Path, fields: Mapping[str, Any]) -> None:
        """Replace the file. Raises OSError."""
        ...


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

    def _load_one(self, place: Path) -> None:
        try:
            fields = self._files.read(place / RECORD_FILE)
            self._records[place.name] = msgspec.convert({**fields, "id": place.name}, WorkspaceRecord)
        except SettingsDamaged as error:
            self.problems.append(error)
        except msgspec.ValidationError as error:
            self.problems.append(
                SettingsDamaged(
                    f"The workspace record {place / RECORD_FILE} is not usable.",
                    str(error),
                    "Correct the file; the workspace's sessions and cache are untouched.",
                )
            )

    def listed(self) -> list[WorkspaceRecord]:
        """The workspaces that stand in the list."""
        return [record for record in self._records.values() if record.listed]

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

    def add(self, path: Path, demo: bool = False, name: str = "") -> WorkspaceRecord:
        """Make a folder a workspace, or list it again. Raises WorkspaceMissing when it is no folder."""
        if not os.path.isdir(path):  # unlike Path.is_dir, it has an answer to a name that is too long
            raise WorkspaceMissing(
                f"{path} is not a folder.", "It does not exist, or is a file.", "Choose an existing folder."
            )
        known = self.at(path)
        if known is not None and known.listed:
            return known
        if known is not None:
            return self._keep(msgspec.structs.replace(known, listed=True))
        real = _real(path)
        named = name or os.path.basename(real) or real
        record = WorkspaceRecord(id=str(uuid.uuid4()), path=real, name=named, added=self.clock(), demo=demo)
        self._keep(record)
        self.save_policy(record.id, Policy())  # visible from the start, to be edited by hand as well
        return record

    def change(self, identity: str, **fields: Any) -> WorkspaceRecord:
        """Change some fields of a record and keep it. Raises WorkspaceMissing."""
        return self._keep(msgspec.structs.replace(self.get(identity), **fields))

    def remove(self, identity: str) -> None:
        """Take a workspace off the list; its data stays. Raises WorkspaceMissing."""
        self.change(identity, listed=False)

    def relocate(self, identity: str, path: Path) -> WorkspaceRecord:
        """Say where a workspace's folder lies now. Raises WorkspaceMissing when that is no folder."""
        if not path.is_dir():
            raise WorkspaceMissing(f"{path} is not a folder.", fix="Choose the folder's new place.")
        return self.change(identity, path=_real(path))

    def _keep(self, record: WorkspaceRecord) -> WorkspaceRecord:
        place = self.place(record.id)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
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

    def policy(self, identity: str) -> Policy:
        """A workspace's policy. Raises SettingsDamaged naming the field that is wrong."""
        path = self.place(identity) / POLICY_FILE
        try:
            return policy_from(self._files.read(path))
        except ValueError as error:
            raise SettingsDamaged(
                f"The policy file {path} is not usable.", f"{error}.", "Correct or delete it."
            ) from error

    def save_policy(self, identity: str, policy: Policy) -> None:
        """Keep a workspace's policy."""
        self._files.write(self.place(identity) / POLICY_FILE, fields_of(policy))


class SavedRules:
    """The saved approvals of one workspace."""

    def __init__(self, registry: Registry, identity: str) -> None:
        self._registry, self._identity = registry, identity

    def rules(self) -> tuple[Rule, ...]:
        """All saved rules, in order."""
        return self._registry.get(self._identity).rules

    async def add(self, rule: Rule) -> None:
        """Save a rule, once."""
        if all(one.text != rule.text for one in self.rules()):
            kept = msgspec.structs.replace(rule, saved=self._registry.clock())
            self._registry.change(self._identity, rules=(*self.rules(), kept))

    def revoke(self, rule: Rule) -> None:
        """Forget a rule."""
        self._registry.change(self._identity, rules=tuple(one for one in self.rules() if one != rule))


def _is_identity(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _real(path: Path) -> str:
    return os.path.realpath(path)
