"""The facts of a report, as plain values: settings without secrets, policies, what the stores take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from helix_desktop.config.settings import Provider, Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.services.diagnostics.report_names import ReportNames
from helix_desktop.workspaces.registry import MODEL_ROLES, WorkspaceRecord, WorkspaceRegistry

_PLAIN = ("theme", "text_size", "enter_sends", "titles", "notify", "background_effort")
_WORKSPACE_PLAIN = (
    "listed", "demo", "trusted", "sandbox", "network", "fetch", "quota", "unused_ms", "effort", "demo_calls",
    "history_max_file", "history_quota", "history_paused",
)  # fmt: skip


def settings_facts(
    settings: Settings, records: list[WorkspaceRecord], key_places: Mapping[str, str], names: ReportNames
) -> dict[str, Any]:
    """Return settings of app and workspaces; of headers, fields, rules and servers their number only.

    `key_places` says where each provider's key is.
    """
    return {
        **{name: getattr(settings, name) for name in _PLAIN},
        **{role: names.label(getattr(settings, role)) for role in MODEL_ROLES},
        "recent_workspaces": len(settings.recent),
        "providers": [
            {**_provider(entry, names), "key_place": key_places.get(entry.name, "none")}
            for entry in settings.providers
        ],
        "workspaces": [_workspace(record, names) for record in records],
    }


def _provider(entry: Provider, names: ReportNames) -> dict[str, Any]:
    return {
        "name": names.provider(entry.name),
        "address": names.address(entry.base_url),
        "dialect": entry.dialect,
        "default_model": names.model(entry.name, entry.default_model) if entry.default_model else "",
        "headers": len(entry.headers),
        "secret_headers": len(entry.secret_headers),
        "body_fields": len(entry.body),
        "models": [
            {
                "name": names.model(entry.name, model.name),
                "window": entry.resolved_spec(model.name).number("window"),
                "effort": model.effort,
                "headers": len(model.headers) + len(model.secret_headers),
                "body_fields": len(model.body),
            }
            for model in entry.models
        ],
    }


def _workspace(record: WorkspaceRecord, names: ReportNames) -> dict[str, Any]:
    return {
        "name": names.workspace(record),
        "id": record.id,
        **({"folder": record.path} if names.as_they_are else {}),
        "folder_exists": Path(record.path).is_dir(),
        **{name: getattr(record, name) for name in _WORKSPACE_PLAIN},
        **{role: names.label(getattr(record, role)) for role in MODEL_ROLES},
        "rules": len(record.rules),
        "mcp_servers": {
            "by_command": sum(not server.url for server in record.servers),
            "by_url": sum(bool(server.url) for server in record.servers),
            "enabled": sum(server.enabled for server in record.servers),
        },
        "included_places": len(record.history_included),
        "cache_is_shared": bool(record.share_port),
    }


def policy_facts(registry: WorkspaceRegistry, records: list[WorkspaceRecord], names: ReportNames) -> Any:
    """Return every value of each workspace's policy, or why it can't be read. Blocks: reads files."""

    def values(record: WorkspaceRecord) -> Any:
        try:
            return msgspec.to_builtins(registry.load_policy(record.id))
        except HelixError as error:
            return {"error": join_sentences(error.what, error.why)}

    return {names.workspace(record): values(record) for record in records}


def folder_sizes(folder: Path) -> dict[str, dict[str, int]]:
    """Return what is directly in a folder, each with its files and bytes on disk. Blocks; follows no link."""
    sizes: dict[str, dict[str, int]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                sizes[entry.name] = _measure(entry)
    except OSError:  # what is gone, or not to be read, has no size
        return sizes
    return sizes


def _measure(entry: os.DirEntry[str]) -> dict[str, int]:
    files = size = 0
    if entry.is_dir(follow_symlinks=False):
        for parent, _, names in os.walk(entry.path):
            for name in names:
                files, size = files + 1, size + _size(os.path.join(parent, name))
    else:
        files, size = 1, _size(entry.path)
    return {"files": files, "bytes": size}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
