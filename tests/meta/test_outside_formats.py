"""Files that users, backups and other versions have: no field, tag, type or default changes unnoticed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from helix_desktop.agent.session_services import split_version
from helix_desktop.app.crash_recovery import LastRun
from helix_desktop.app.single_instance import LOCK_FILE
from helix_desktop.app.window_state import WINDOW_STATE_FILE, WindowStateFile
from helix_desktop.config.build_info import BUILD_FILE, current_build
from helix_desktop.config.licenses import LICENSES_FOLDER as TERMS_FOLDER
from helix_desktop.config.licenses import PARTS_FILE as TERMS_LIST
from helix_desktop.config.model_catalog import Vendor
from helix_desktop.config.paths import (
    APP_DIR_NAME,
    LOG_FILE,
    STACKS_FILE,
    DataDir,
    load_prompts,
    resources_dir,
)
from helix_desktop.config.secrets import ITEM, SERVICE, SecretStore
from helix_desktop.config.settings import Settings
from helix_desktop.config.view_states import VIEWS_FILE, ViewState
from helix_desktop.context.policy_numbers import PROFILES, ContextPolicy, policy_fields
from helix_desktop.domain.choices import ARCHIVE_SUFFIX
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.events.recorded_event import Event, RecordedEvent
from helix_desktop.domain.file_history.changes import Capture, ChangeList, FileChange
from helix_desktop.domain.store import BranchPoint, Draft, EntryRecord, SessionSummary, StoreTotals
from helix_desktop.domain.store_reports import RepairReport
from helix_desktop.domain.tools import PermissionRule
from helix_desktop.file_history.revert.folders import JournalEntry
from helix_desktop.file_history.tables import RunningCallRow
from helix_desktop.providers.demo.script import Script
from helix_desktop.services.mcp_config import parse_server_configs
from helix_desktop.services.mcp_servers import ServerSecrets
from helix_desktop.store import kinds
from helix_desktop.store.archive_file import ArchiveManifest, SessionHeader
from helix_desktop.store.files import CleanState, StoreFiles, StoreFormat
from helix_desktop.store.kinds import PendingDeletion, Tombstone
from helix_desktop.workspaces.mcp_file import MCP_FILE, McpEntry
from helix_desktop.workspaces.policy_file import POLICY_FILE
from helix_desktop.workspaces.registry import RECORD_FILE, STORE_FOLDER, StoredRecord
from tests.support.interface_golden import assert_matches_golden, fields_of_type, to_json
from tests.support.memory_keychain import MemoryKeychain

FILES: dict[str, Any] = {
    "settings.toml": Settings,
    "workspace.toml": StoredRecord,
    "a server in mcp.json": McpEntry,
    "a saved rule": PermissionRule,
    "policy.toml": ContextPolicy,
    "the view of a session in views.json": ViewState,
    "a vendor in models.toml": Vendor,
    "a script of a sample project": Script,
    "the marker of an open window": LastRun,
    "manifest.json of an archive": ArchiveManifest,
    "session.json of an archive": SessionHeader,
    "the file format of a store": StoreFormat,
    "the file clean of a store": CleanState,
    "the file untold of a store": RepairReport,
    "the row of a content": EntryRecord,
    "the row of a forgotten content": Tombstone,
    "the row of work that forgetting left": PendingDeletion,
    "the row of a session": SessionSummary,
    "the row of a branch": BranchPoint,
    "the row of a draft": str | Draft,
    "the row of the totals": StoreTotals,
}
"""What each kind of file or row is decoded as."""

LETTERS = {
    "contents": kinds.CONTENTS,
    "chunks": kinds.CHUNKS,
    "events": kinds.EVENTS,
    "references": kinds.REFERENCES,
    "records": kinds.RECORDS,
    "newest": kinds.TIME_INDEX,
    "summaries": kinds.SUMMARIES,
    "handovers": kinds.HANDOVERS,
    "checkpoints": kinds.CHECKPOINTS,
    "branches": kinds.BRANCHES,
    "drafts": kinds.DRAFTS,
    "last events": kinds.LAST_EVENTS,
}
SINGLE_ROWS = {
    "schema": kinds.SCHEMA_KEY,
    "workspace": kinds.IDENTITY_KEY,
    "sequence": kinds.SEQUENCE_KEY,
    "totals": kinds.TOTALS_KEY,
    "scour": kinds.PENDING_DELETION_KEY,
}
PASTED = (
    "npx -y some-server --flag",
    "TOKEN=x uvx some-server",
    "https://example.test/mcp",
    '{"mcpServers": {"a": {"command": "c", "args": ["b"], "env": {"E": "1"}, "cwd": "d"}}}',
    '{"servers": {"a": {"url": "https://example.test/mcp", "headers": {"X": "1"}}}}',
    '{"mcp_servers": {"a": {"serverUrl": "https://example.test/mcp"}}}',
    '{"a": {"httpUrl": "https://example.test/mcp"}}',
    '{"command": "c", "args": []}',
)
PEOPLE = "People's files"


def test_fields_of_files() -> None:
    """Every field of the files that are read again: its type, default and place."""
    now = {name: fields_of_type(kind) for name, kind in FILES.items()}
    assert_matches_golden("files", now, PEOPLE)


def test_fields_of_events() -> None:
    """Every field of every event of the log, under the event's tag."""
    kinds = [fields_of_type(kind) for kind in get_args(Event)]
    now = {re.sub(r".*kind=([\w-]+).*", r"\1", rows["(whole)"]): rows for rows in kinds}
    assert len(now) == len(kinds)
    assert_matches_golden(
        "events", {"an event in its place": fields_of_type(RecordedEvent), **now}, "Logs of sessions"
    )


def test_rows_of_the_file_history() -> None:
    """Every field of what it stores: an update may come between a cut-off revert and its repair."""
    kinds: dict[str, Any] = {
        "a capture": Capture,
        "a list of changes": ChangeList,
        "a running call": RunningCallRow,
        "a change during a running call": FileChange,
        "the journal of a revert": JournalEntry,
    }
    now = {name: fields_of_type(kind) for name, kind in kinds.items()}
    assert_matches_golden("file_history", now, "File histories, and reverts that were cut off")


def test_profiles_of_policies() -> None:
    now = {
        name: {field: to_json(value) for field, value in policy_fields(policy).items()}
        | {field: to_json(getattr(policy, field)) for field in _unlike_default(policy)}
        for name, policy in PROFILES.items()
    }
    assert_matches_golden("profiles", now, "Policies that people chose")


def _unlike_default(policy: ContextPolicy) -> list[str]:
    default = ContextPolicy()
    fields = ContextPolicy.__struct_fields__
    return [name for name in fields if getattr(policy, name) != getattr(default, name)]


def test_files_keep_their_names_in_the_data_directory(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    store = {path.relative_to(tmp_path).as_posix(): "a file or folder" for path in _places_of_store(tmp_path)}
    now = {
        "the data directory": {
            "(its own name)": APP_DIR_NAME,
            "settings": _inside(data.settings_file, tmp_path),
            "workspaces": _inside(data.workspaces_dir, tmp_path),
            "logs": _inside(data.logs_dir, tmp_path),
            "log": LOG_FILE,
            "crash stacks": STACKS_FILE,
            "view states": VIEWS_FILE,
            "layout": WINDOW_STATE_FILE,
            "lock of the window": LOCK_FILE,
        },
        "the folder of a workspace": {
            "record": RECORD_FILE,
            "policy": POLICY_FILE,
            "MCP servers": MCP_FILE,
            "store": STORE_FOLDER,
        },
        "the folder of a store": store,
        "archives": {"(ending)": ARCHIVE_SUFFIX},
        "the keychain": {"service": SERVICE, "item": ITEM},
    }
    assert_matches_golden("file_names", now, PEOPLE)


def _inside(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _places_of_store(folder: Path) -> list[Path]:
    """List the places that a store's layout names, without their names in the code."""
    layout = StoreFiles(folder)
    names = [name for name, value in vars(StoreFiles).items() if isinstance(value, property)]
    values = [getattr(layout, name) for name in names]
    return sorted(value for value in values if isinstance(value, Path) and value != folder)


async def test_items_of_the_keychain() -> None:
    keychain = MemoryKeychain()
    secrets = SecretStore({}, lambda: keychain)
    await secrets.set("openai", "a key")
    await ServerSecrets(secrets, "WORKSPACE").save(parse_server_configs("TOKEN=x uvx some-server")[0])
    few = dict(keychain.items)
    await secrets.set("long", "x" * 1_500)
    head = json.loads(keychain.items[f"{SERVICE} {ITEM}"])
    many = {"names": ", ".join(sorted(keychain.items)), "fields": ", ".join(sorted(head))}
    secrets.close()
    assert_matches_golden("keychain", {"few keys": few, "many keys": many}, "Keys that people entered")


def test_rows_of_the_store() -> None:
    spans = {name: f"{first!r} to {end!r}" for name, (first, end) in LETTERS.items()}
    now = {"kinds of rows": spans, "single rows": {name: repr(key) for name, key in SINGLE_ROWS.items()}}
    assert_matches_golden("rows", now, "Stores")


def test_a_layout_is_read_and_written_under_these_names(tmp_path: Path) -> None:
    path = tmp_path / "window.toml"
    path.write_text('theme = "dark"\ntext_px = 15\ngeometry = "AQI="\n', encoding="utf-8")
    layout = WindowStateFile(path)
    assert (layout.appearance(), layout.get("geometry")) == (("dark", 15), b"\1\2")
    layout.set_appearance("light", 14)
    layout.put("splitter", b"\3")
    layout.save()
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    assert fields == {"theme": "light", "text_px": 14, "geometry": "AQI=", "splitter": "Aw=="}


@pytest.mark.parametrize("field", ["version", "commit", "date", "target", "python", "releases"])
def test_a_build_is_read_under_these_names(field: str, tmp_path: Path) -> None:
    """The packages write build.toml; nothing else would notice a field that is not read."""
    assert BUILD_FILE == "build.toml"
    (tmp_path / "build.toml").write_text(f"{field} = 5\n", encoding="utf-8")
    with pytest.raises(Exception, match=rf"{field} must be a line of text"):
        current_build(tmp_path)


def test_servers_that_people_paste() -> None:
    now = {text: _texts_by_name(text) for text in PASTED}
    assert_matches_golden("pasted_servers", now, "Settings of other programs that people paste")


def _texts_by_name(text: str) -> dict[str, str]:
    try:
        drafts = parse_server_configs(text)
    except HelixError:
        return {"refused": "whole"}
    return {f"{number}.{name}": value for number, draft in enumerate(drafts) for name, value in _items(draft)}


def _items(draft: object) -> list[tuple[str, str]]:
    """Return the encoded fields that are not empty."""
    fields = msgspec.to_builtins(draft)
    entry = next(value for value in fields.values() if isinstance(value, dict) and "name" in value)
    secrets = next(value for value in fields.values() if value is not entry)
    return [
        *((name, to_json(value)) for name, value in entry.items() if value),
        *((f"secret {name}", to_json(value)) for name, value in secrets.items()),
    ]


def test_files_in_packages() -> None:
    root = resources_dir()
    terms = tomllib.loads((root / TERMS_FOLDER / TERMS_LIST).read_text(encoding="utf-8"))
    project = tomllib.loads((root.parent / "pyproject.toml").read_text(encoding="utf-8"))
    hatch = project["tool"]["hatch"]
    now = {
        "resources": _listed(root),
        "samples": _listed(root / "demo"),
        "tokenizers": _listed(root / "tokenizers"),
        "prompts": {name: _prompt(name, text) for name, text in sorted(load_prompts().items())},
        "descriptions of tools": _listed(root / "prompts" / "tools"),
        "list of terms": {f"{TERMS_FOLDER}/{TERMS_LIST}": ", ".join(sorted(terms))}
        | {"a part": ", ".join(sorted({name for part in terms["part"] for name in part}))},
        "the wheel": {
            "resources": hatch["build"]["targets"]["wheel"]["force-include"]["resources"],
            "version": hatch["version"]["path"],
        },
    }
    assert_matches_golden("resources", now, "Packages and saved sessions")


def _listed(folder: Path) -> dict[str, str]:
    """Return the files of a folder, except those that a builder adds."""
    paths = sorted(path for path in folder.iterdir() if path.name != BUILD_FILE)
    return {path.name: "folder" if path.is_dir() else "file" for path in paths}


def _prompt(name: str, text: str) -> str:
    """Say whether events name a prompt with its version, and which places of it are filled in."""
    body, name_in_events = split_version(name, text)
    places = sorted(set(re.findall(r"\{\w+\}|\{\{\w+\}\}|<\w+>|\$\w+", body)))
    version = "with" if name_in_events != name else "without"
    return f"{version} a version; {', '.join(places) or 'nothing filled in'}"
