"""The registry of workspaces: one folder of TOML files per workspace, with the record of each."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from filelock import FileLock, Timeout

from helix_desktop.config.toml_file import read_fields, write_fields
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.choices import Effort
from helix_desktop.domain.decoding_faults import decoding_fault
from helix_desktop.domain.errors import (
    HelixError,
    InvalidInput,
    SettingsDamaged,
    SettingsUnreadable,
    WorkspaceMissing,
)
from helix_desktop.domain.file_history.changes import MAX_FILE, QUOTA
from helix_desktop.domain.mcp_server import McpServerConfig, ServerState, in_file, state_of, with_state
from helix_desktop.domain.store import SavedFilter
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.system.clock import ClockMs
from helix_desktop.workspaces.mcp_file import McpFile
from helix_desktop.workspaces.policy_file import PolicyFile, check_replaceable, gone_error, save_error

text = TextContext("Workspaces")

Grant = Literal["sandbox", "network", "fetch"]
"""What the user grants a workspace's agent: see the fields of these names."""

DemoCalls = Literal["ask", "once", "allow"]
"""How calls of the demo model in a sample's copy are approved: ask for each, for the first, or for none."""

MAIN = "main"
"""Value of a role's model: use the main model, regardless of the app's choice."""


MODEL_ROLES = ("model", "fast", "summary", "long")
"""The fields that name models: the main one, and those of the roles; the settings have them too."""


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace as it is stored. Its identity is the UUID; the path is where its folder was last found.

    `model` is PROVIDER/NAME (empty: the app's default); `listed` is false once it was removed from the list,
    which keeps its data. `added` is in milliseconds since 1970. `demo` marks the guided demo's own copy.
    `trusted` says that the user trusts the folder's content: until then nothing runs and nothing is sent.
    `sandbox` confines commands where the system can, `network` lets them use the network nevertheless, and
    `fetch` gives the agent a tool for web pages.
    `quota` (bytes on disk) and `unused_ms` clean up its cache whenever it is opened; 0: they do not.
    `fast`, `summary` and `long` name models for roles, as `model` does: empty is the app's choice, MAIN the
    main model. `server_states` are those of its MCP servers, also of some that left `mcp.json`.
    `demo_calls` says what happens to calls of the offline demo model in a sample, not of other models: it
    asks, it asks and each card offers to allow all at once, or they run.
    `share_port` is where its cache is served to other programs while the app runs; 0: it is not.
    `effort` is how much the main model thinks here; empty: as is set for the model.
    `history_included` are places whose former versions are stored though they would be left out,
    `history_max_file` (bytes) is the largest file that is, `history_quota` (bytes on disk) what all may take.
    While `history_paused` the first copy of its files waits.
    `cache_filters` has the Outputs page's last filter, without a name.
    `git_folders` are git folders outside that commands may change as ordinary work does; `git_asked` are
    those that the user was asked about.
    `interrupted`: the app ended during a turn here that the user has not looked at since, or one runs.
    """

    id: str
    path: str
    name: str
    added: int = 0
    listed: bool = True
    model: str = ""
    session: str = ""
    interrupted: bool = False
    demo: bool = False
    rules: tuple[PermissionRule, ...] = ()
    quota: int = 0
    unused_ms: int = 0
    trusted: bool = False
    sandbox: bool = True
    network: bool = False
    fetch: bool = False
    server_states: tuple[ServerState, ...] = ()
    share_port: int = 0
    fast: str = ""
    summary: str = ""
    long: str = ""
    demo_calls: DemoCalls = "ask"
    effort: Effort = ""
    history_included: tuple[str, ...] = ()
    history_max_file: int = MAX_FILE
    history_quota: int = QUOTA
    history_paused: bool = False
    cache_filters: tuple[SavedFilter, ...] = ()
    git_folders: tuple[str, ...] = ()
    git_asked: tuple[str, ...] = ()


class WorkspaceRecord(StoredRecord, frozen=True, kw_only=True):
    """One workspace, with its MCP servers: as `mcp.json` has them, each with its state."""

    servers: tuple[McpServerConfig, ...] = ()

    @property
    def former_servers(self) -> tuple[ServerState, ...]:
        """The states of servers that left `mcp.json`."""
        names = {server.name for server in self.servers}
        return tuple(state for state in self.server_states if state.name not in names)

    @property
    def servers_awaiting_consent(self) -> tuple[str, ...]:
        """The MCP servers that start once the user consents, by name; none in an untrusted folder."""
        waiting = (server.name for server in self.servers if server.enabled and not server.is_consented)
        return tuple(waiting) if self.trusted else ()


ChangeServers = Callable[[tuple[McpServerConfig, ...]], Iterable[McpServerConfig]]

RECORD_FILE = "workspace.toml"
STORE_FOLDER = "store"
_LOCK_TIMEOUT_S = 5.0
_NOT_SAVED = text("The list of workspaces wasn't saved.")
_RECORD_FIX = text("Correct the file. The workspace's sessions and outputs are unchanged.")


class WorkspaceRegistry:
    """The workspaces under one folder, in the order they were added."""

    def __init__(self, folder: Path, clock: ClockMs) -> None:
        self._folder = folder
        self.clock = clock
        self._records: dict[str, WorkspaceRecord] = {}
        self.problems: list[HelixError] = []
        self.server_errors: dict[str, SettingsDamaged] = {}
        """What is wrong with a workspace's `mcp.json`: the servers that were read before are still in use."""
        self._has_folder = folder.is_dir()
        self._load()

    def _load(self) -> None:
        for folder in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            # A manual copy of a workspace's folder has another name, and is not a workspace.
            if _is_workspace_id(folder.name) and _has_record(folder):
                self._load_record(folder)
        self._records = dict(sorted(self._records.items(), key=lambda pair: (pair[1].added, pair[0])))

    def _add_problem(self, error: HelixError) -> None:
        if str(error) not in map(str, self.problems):
            self.problems.append(error)

    def _load_record(self, folder: Path) -> None:
        try:
            fields = read_fields(folder / RECORD_FILE)
            stored = msgspec.convert({**fields, "id": folder.name}, StoredRecord)
            self._records[folder.name] = self._with_servers(stored)
        except SettingsUnreadable as error:
            self._add_problem(error)
        except SettingsDamaged as error:  # to delete the file, as it says, would lose which folder it is
            self._add_problem(SettingsDamaged(error.what, error.why, _RECORD_FIX))
        except msgspec.ValidationError as error:
            what = text("The workspace file {file} is invalid.", file=folder / RECORD_FILE)
            self._add_problem(SettingsDamaged(what, decoding_fault(error), _RECORD_FIX))

    def _with_servers(self, stored: StoredRecord) -> WorkspaceRecord:
        """Return a record with the servers that `mcp.json` has now: those of before while it has an error."""
        try:
            configs = self.mcp_file(stored.id).load()
        except SettingsDamaged as error:
            self.server_errors[stored.id] = error
            previous = self._records.get(stored.id)
            configs = () if previous is None else previous.servers
        else:
            self.server_errors.pop(stored.id, None)
        states = {state.name: state for state in stored.server_states}
        servers = [
            with_state(config, states.get(config.name, ServerState(name=config.name))) for config in configs
        ]
        fields = {name: getattr(stored, name) for name in StoredRecord.__struct_fields__}
        return _with_states(WorkspaceRecord(**fields, servers=tuple(servers)), ())

    def read_servers(self, workspace_id: str) -> bool:
        """Read `mcp.json` again; return True if its servers, or its error, are other ones now."""
        before = self.get(workspace_id)
        error_before = self.server_errors.get(workspace_id)
        record = self._with_servers(before)
        self._records[workspace_id] = record
        error = self.server_errors.get(workspace_id)
        return record != before or str(error) != str(error_before)

    def list_workspaces(self, include_removed: bool = False) -> list[WorkspaceRecord]:
        return [record for record in self._records.values() if record.listed or include_removed]

    def get(self, workspace_id: str) -> WorkspaceRecord:
        """Return a workspace's record. Raises WorkspaceMissing."""
        try:
            return self._records[workspace_id]
        except KeyError:
            raise WorkspaceMissing(
                text("Workspace {id} not found.", id=workspace_id), fix=text("Add its folder again.")
            ) from None

    def find_by_path(self, path: Path) -> WorkspaceRecord | None:
        """Return the workspace of a folder, listed or not; None if there is none."""
        real = _real_path(path)
        records = self._records.values()
        exact = next((record for record in records if _real_path(Path(record.path)) == real), None)
        if exact is not None:
            return exact
        return next((record for record in records if _is_same_folder(record.path, real)), None)

    def add(self, path: Path, demo: bool = False, name: str = "", trusted: bool = False) -> WorkspaceRecord:
        """Add a folder as a workspace, or list it again; safe if two processes do it concurrently.

        `trusted` says that the user trusts it; trust from before stays.
        Raises WorkspaceMissing if it is not a folder, HelixError if it is inside the app's own data.
        """
        _check_folder(path, self._folder)
        with self._locked():
            return self._add(path, demo, name, trusted)

    def _add(self, path: Path, demo: bool, name: str, trusted: bool) -> WorkspaceRecord:
        self._load()  # another process may have added it since
        existing = self.find_by_path(path)
        if existing is not None:
            updated = msgspec.structs.replace(existing, listed=True, trusted=existing.trusted or trusted)
            return existing if updated == existing else self._write_record(updated)
        real = _real_path(path)
        display_name = name or os.path.basename(real) or real
        record = WorkspaceRecord(
            id=str(uuid.uuid4()), path=real, name=display_name, added=self.clock(), demo=demo, trusted=trusted
        )
        _make_folder(self.data_folder(record.id))
        self.save_policy(record.id, ContextPolicy())  # there from the start, so that it can be edited by hand
        return self._write_record(record)

    def change(self, workspace_id: str, **fields: Any) -> WorkspaceRecord:
        """Change some fields of a record and save it, if that is new. Raises WorkspaceMissing, HelixError."""
        record = self.get(workspace_id)
        with self._locked():
            if _has_record(self.data_folder(workspace_id)):  # keep another process's changes
                self._load_record(self.data_folder(workspace_id))
            current = self._records.get(workspace_id, record)
            changed = msgspec.structs.replace(current, **fields)
            is_read = current is not record  # neither missing nor damaged
            return current if is_read and changed == current else self._write_record(changed)

    def change_servers(self, workspace_id: str, change: ChangeServers) -> WorkspaceRecord:
        """Save what `change` makes of the servers as their files have them now. Raises HelixError."""
        self.get(workspace_id)
        with self._locked():
            self._load_record(self.data_folder(workspace_id))
            record = self.get(workspace_id)
            changed = msgspec.structs.replace(record, servers=tuple(change(record.servers)))
            return record if changed == record else self._write_record(changed)

    def remove(self, workspace_id: str) -> None:
        """Remove a workspace from the list; its data stays. Raises WorkspaceMissing."""
        self.change(workspace_id, listed=False)

    def relocate(self, workspace_id: str, path: Path) -> WorkspaceRecord:
        """Set the new path of a workspace's folder, which must be trusted again.

        The rules of a sample apply to its own copy only.
        Raises WorkspaceMissing if that is not a folder, HelixError if it is another workspace's.
        """
        _check_folder(path, self._folder)
        record = self.get(workspace_id)
        other = self.find_by_path(path)
        if other is not None and other.id != workspace_id:
            raise HelixError(
                text("{folder} is the folder of the workspace {name}.", folder=path, name=other.name),
                text("Two workspaces in one folder would hide each other's sessions."),
                text("Choose the folder's new location, or open that workspace."),
            )
        moved = record.path != _real_path(path)
        changed_fields = {"rules": (), "demo": False, "demo_calls": "ask"} if record.demo and moved else {}
        return self.change(
            workspace_id, path=_real_path(path), trusted=record.trusted and not moved, **changed_fields
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the inter-process lock of the list. Raises HelixError if another process keeps it."""
        lock = self._folder.with_name(f"{self._folder.name}.lock")
        if self._has_folder:
            _check_exists(self._folder, _NOT_SAVED)
        try:
            _make_folder(self._folder)
            self._has_folder = True
            with FileLock(lock, timeout=_LOCK_TIMEOUT_S):
                yield
        except Timeout as error:
            raise HelixError(
                text("The list of workspaces wasn't changed."),
                text(
                    "Another process has locked {file} for {seconds} s.",
                    file=lock,
                    seconds=round(_LOCK_TIMEOUT_S),
                ),
                text("Try again. If this keeps happening, quit the other Helix Desktop."),
            ) from error
        except OSError as error:
            raise save_error(_NOT_SAVED, self._folder, error) from error

    def _write_record(self, record: WorkspaceRecord) -> WorkspaceRecord:
        folder = self.data_folder(record.id)
        not_saved = text("The settings of {workspace} weren't saved.", workspace=record.name)
        if record.id in self._records:
            _check_exists(folder, not_saved)
        check_replaceable(folder / RECORD_FILE, not_saved)
        previous = self._records.get(record.id)
        servers_before = () if previous is None else previous.servers
        record = _with_states(record, servers_before)
        configs = tuple(map(in_file, record.servers))
        if configs != tuple(map(in_file, servers_before)):
            self.mcp_file(record.id).save(configs)  # first: without its state a server asks for consent
        stored = msgspec.to_builtins(record)
        fields = {name: stored[name] for name in StoredRecord.__struct_fields__ if name != "id"}
        write_fields(folder / RECORD_FILE, {**self._unknown_fields(folder), **fields})
        self._records[record.id] = record
        return record

    def _unknown_fields(self, folder: Path) -> dict[str, Any]:
        """Return what a record's file has that this version does not know."""
        with suppress(SettingsDamaged):  # it would be replaced as a whole
            own = StoredRecord.__struct_fields__
            stored = read_fields(folder / RECORD_FILE, back_up=False)
            return {name: value for name, value in stored.items() if name not in own}
        return {}

    def data_folder(self, workspace_id: str) -> Path:
        return self._folder / str(uuid.UUID(workspace_id))

    def store_folder(self, workspace_id: str) -> Path:
        return self.data_folder(workspace_id) / STORE_FOLDER

    def policy_file(self, workspace_id: str) -> PolicyFile:
        return PolicyFile(self.data_folder(workspace_id))

    def mcp_file(self, workspace_id: str) -> McpFile:
        return McpFile(self.data_folder(workspace_id))

    def load_policy(self, workspace_id: str) -> ContextPolicy:
        """Load a workspace's policy. Raises SettingsDamaged naming the line and field that are wrong."""
        return self.policy_file(workspace_id).load()

    def save_policy(self, workspace_id: str, policy: ContextPolicy) -> None:
        """Save a workspace's policy. Raises HelixError; then the previous one is unchanged."""
        self.policy_file(workspace_id).save(policy)


def _with_states(record: WorkspaceRecord, servers_before: Iterable[McpServerConfig]) -> WorkspaceRecord:
    """Return a record with the states of its servers, and of those that left `mcp.json` by another hand."""
    names = {server.name for server in servers_before}
    former = [state for state in record.former_servers if state.name not in names]
    servers = tuple(with_state(server, state_of(server)) for server in record.servers)
    states = (*map(state_of, servers), *former)
    return msgspec.structs.replace(record, servers=servers, server_states=states)


def check_is_folder(path: Path) -> None:
    """Raise WorkspaceMissing for what is not a folder."""
    if not os.path.isdir(path):  # unlike Path.is_dir, it does not raise for a name that is too long
        raise WorkspaceMissing(
            text("{path} isn't a folder.", path=path),
            text("It doesn't exist, or is a file."),
            text("Choose an existing folder."),
        )


def _check_folder(path: Path, workspaces_dir: Path) -> None:
    """Raise WorkspaceMissing for what is not a folder, HelixError for one that can't be a workspace."""
    check_is_folder(path)
    real = Path(_real_path(path))
    own = Path(_real_path(workspaces_dir))
    try:
        str(real).encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            text("{folder} can't be a workspace.", folder=escape_hidden_name(str(real))),
            text("Its path isn't valid UTF-8."),
            text("Rename the folder, and those that it is in."),
        ) from error
    if real == own.parent or real.is_relative_to(own):
        raise HelixError(
            text("{folder} can't be a workspace.", folder=path),
            text("It belongs to Helix Desktop's own data, which an agent could change."),
            text("Choose a folder of your own."),
        )


def _check_exists(folder: Path, what: TranslatableText) -> None:
    """Raise HelixError, which says `what` was not saved, if a folder of the app's own data is gone.

    Made again, it would have nothing but what is saved now, in place of all that may come back.
    """
    if not os.path.isdir(folder):  # unlike Path.is_dir, it does not raise where it may not look
        raise gone_error(what, folder)


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _has_record(folder: Path) -> bool:
    """Return True if a workspace's folder has a record, even one that can't be read."""
    try:
        (folder / RECORD_FILE).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_workspace_id(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _is_same_folder(first: str, second: str) -> bool:
    """Return True if two paths lead to one folder, as those that differ in case do on some systems."""
    try:
        return os.path.samefile(first, second)
    except OSError:  # one of them is not there
        return False


def _real_path(path: Path) -> str:
    return os.path.realpath(path)
