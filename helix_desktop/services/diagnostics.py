"""The diagnostics bundle: what a bug report needs, redacted, without what belongs to the user."""

from __future__ import annotations

import asyncio
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from helix_desktop.config.languages import LANGUAGE_VARIABLE, unknown_language
from helix_desktop.config.paths import LOG_FILE, STACKS_FILE, resources_dir
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.private_details import PrivateDetails
from helix_desktop.domain.translatable_text import TextContext, join_sentences, plain_text, system_reason
from helix_desktop.providers.http import is_loopback
from helix_desktop.services.app_command import app_command
from helix_desktop.services.app_services import AppServices
from helix_desktop.words.translation import current_language
from helix_desktop.workspaces.registry import MAIN, MODEL_ROLES, WorkspaceRecord, WorkspaceRegistry

text = TextContext("Diagnostics")

_MIN_NAME = 3  # characters: in free text a shorter name would be found in words that mean something else


class ReportNames:
    """Names of workspaces, providers and models as a report shows them: as they are, or numbered."""

    def __init__(self, settings: Settings, records: Sequence[WorkspaceRecord], *, as_they_are: bool) -> None:
        self.as_they_are = as_they_are
        self._workspaces = {record.id: f"workspace {n}" for n, record in enumerate(records, 1)}
        self._providers = {entry.name: f"provider {n}" for n, entry in enumerate(settings.providers, 1)}
        self._models = {
            (entry.name, model.name): f"model {n}"
            for entry in settings.providers
            for n, model in enumerate(entry.models, 1)
        }
        self._settings = settings
        self._records = records

    def workspace(self, record: WorkspaceRecord) -> str:
        return record.name if self.as_they_are else self._workspaces[record.id]

    def provider(self, name: str) -> str:
        """Return a provider's name; of one that is not set up any more, that it is not."""
        return name if self.as_they_are else self._providers.get(name, "a provider that isn't set up")

    def model(self, provider: str, name: str) -> str:
        return name if self.as_they_are else self._models.get((provider, name), "another model")

    def label(self, label: str) -> str:
        """Return the label PROVIDER/NAME of a model; what names none stays as it is."""
        provider, slash, model = label.partition("/")
        if not label or label == MAIN:
            return label
        return f"{self.provider(provider)}{slash}{self.model(provider, model) if model else ''}"

    def address(self, url: str) -> str:
        """Return an address without login, query and fragment; without names only if it is local."""
        parts = urlsplit(url)
        if not (self.as_they_are or is_loopback(url)):
            return f"{parts.scheme}://[host]"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def in_text(self) -> dict[str, str]:
        """Return what stands for names and places in free text, such as a log."""
        if self.as_they_are:
            return {}
        found: dict[str, str] = {}
        for entry in self._settings.providers:
            provider = self._providers[entry.name]
            host = "" if is_loopback(entry.base_url) else urlsplit(entry.base_url).hostname or ""
            found |= {host: f"host of {provider}", entry.name: provider}
            found |= {
                model.name: f"{self._models[entry.name, model.name]} of {provider}" for model in entry.models
            }
        for record in self._records:
            workspace = self._workspaces[record.id]
            servers = enumerate(record.servers, 1)
            found |= {server.name: f"MCP server {n} of {workspace}" for n, server in servers}
            found |= {record.name: workspace, record.path: f"[folder of {workspace}]"}
        return {name: other for name, other in found.items() if len(name) >= _MIN_NAME}


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
                files = files + 1
                size = size + _size(os.path.join(parent, name))
    else:
        files = 1
        size = _size(entry.path)
    return {"files": files, "bytes": size}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


SELF_CHECK_FILE = "self-check.json"
FILE_NAMES = (
    "versions.txt", SELF_CHECK_FILE, "settings.json", "policies.json", "storage.json", "crash.txt", "log.txt"
)  # fmt: skip
"""The files of a bundle, in order."""
MAX_LOG_LINES = 2_000
_MAX_STACK_LINES = 400
_MAX_READ = 2_000_000  # bytes of the end of a log file; a file of the log is rotated at half of that
_SELF_CHECK_TIMEOUT_S = 180.0  # three children of up to 60 s each


class DiagnosticsFile(msgspec.Struct, frozen=True):
    name: str
    text: str


class Diagnostics:
    """Reads what a bug report needs from the app's services and logs. Changes nothing."""

    def __init__(self, services: AppServices, home: Path, interface: Sequence[tuple[str, str]] = ()) -> None:
        """`interface` names what the services do not know, such as Qt, with its version."""
        self._services = services
        self._home = home
        self._interface = interface

    @property
    def keychain_problem(self) -> str:
        """Return why stored keys can be recognized by their form only; empty if their values are known."""
        return self._services.secrets.problem

    async def collect(self, *, with_names: bool) -> tuple[DiagnosticsFile, ...]:
        """Return every file but the self-check's."""
        names = self._names(with_names)
        records = self._records()
        versions = await self._versions()
        settings, policies, storage = await self._facts(records, names)
        stacks, log = await asyncio.to_thread(self._read_logs)
        texts = {
            "versions.txt": versions,
            "settings.json": settings,
            "policies.json": policies,
            "storage.json": storage,
            "crash.txt": stacks,
            "log.txt": log,
        }
        redaction = await self._redaction(names)
        return await asyncio.to_thread(
            lambda: tuple(DiagnosticsFile(name, redaction.redact(raw)) for name, raw in texts.items())
        )

    async def self_check_file(self, report: str, *, with_names: bool) -> DiagnosticsFile:
        redaction = await self._redaction(self._names(with_names))
        return DiagnosticsFile(SELF_CHECK_FILE, await asyncio.to_thread(redaction.redact, report))

    async def run_self_check(self) -> str:
        """Run the self-check in a process of its own and return its report; a failure is a report too.

        What it tries may crash.
        """
        try:
            child = await asyncio.create_subprocess_exec(
                *app_command("self-check", "--json", "--data-dir", str(self._services.data_folder)),
                env={**os.environ, LANGUAGE_VARIABLE: "en"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        except OSError as error:
            return f"The self-check didn't start: {error}"
        try:
            async with asyncio.timeout(_SELF_CHECK_TIMEOUT_S):
                output, _ = await child.communicate()
        except TimeoutError:
            return f"The self-check didn't end within {_SELF_CHECK_TIMEOUT_S:g} s."
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return output.decode("utf-8", "replace") or f"The self-check ended with code {child.returncode}."

    def _records(self) -> list[WorkspaceRecord]:
        return self._services.registry.list_workspaces(include_removed=True)

    def _names(self, with_names: bool) -> ReportNames:
        return ReportNames(self._services.settings, self._records(), as_they_are=with_names)

    async def _redaction(self, names: ReportNames) -> PrivateDetails:
        secrets = await self._services.secret_values()
        return PrivateDetails(str(self._home), secrets, names.in_text())

    async def _versions(self) -> str:
        info = self._services.build_info
        facts = [*self._interface, *await info.environment()]
        try:
            components = [f"{part.name} {part.version}".strip() for part in await info.licenses()]
        except HelixError as error:
            components = [error.what]
        head = [info.build.text, *(f"{name}: {value}" for name, value in facts)]
        problem = [info.problem] if info.problem else []
        folder = f"Data folder: {self._services.data_folder}"
        unknown = unknown_language(os.environ, resources_dir() / "languages")
        choice = f" (unknown in {LANGUAGE_VARIABLE}: {unknown})" if unknown else ""
        language = f"Language: {current_language().code}{choice}"
        return "\n".join([*head, language, folder, *problem, "", "Components", *components]) + "\n"

    async def _facts(self, records: list[WorkspaceRecord], names: ReportNames) -> tuple[str, str, str]:
        services = self._services
        places = {
            entry.name: (await services.secrets.get(entry.name)).source
            for entry in services.settings.providers
        }
        counts = {record.id: await self._counts(record) for record in records}

        def read() -> tuple[str, str, str]:
            storage = {
                names.workspace(record): {
                    **counts[record.id],
                    "disk": folder_sizes(services.registry.data_folder(record.id)),
                }
                for record in records
            }
            return (
                _json(settings_facts(services.settings, records, places, names)),
                _json(policy_facts(services.registry, records, names)),
                _json(storage),
            )

        return await asyncio.to_thread(read)

    async def _counts(self, record: WorkspaceRecord) -> dict[str, Any]:
        """Return what an open workspace's stores hold; others are not opened, which could repair them."""
        workspace = self._services.open_workspaces.get(record.id)
        if workspace is None:
            return {"is_open": False}
        try:
            totals = await workspace.store.totals()
            history = await self._services.history_storage(record.id).totals()
        except HelixError as error:
            return {"is_open": True, "error": error.what}
        return {
            "is_open": True,
            "sessions": totals.sessions,
            "cache": {"entries": totals.entries, "bytes": totals.size, "stored_bytes": totals.stored_size},
            "file_history": {
                "contents": history.contents,
                "bytes": history.size,
                "stored_bytes": history.stored_size,
            },
        }

    def _read_logs(self) -> tuple[str, str]:
        """Return the newest crash stacks, and the end of the log with its last rotated file. Blocks."""
        logs = self._services.data_dir.logs_dir
        stacks, changed = _tail(logs / STACKS_FILE, _MAX_STACK_LINES)
        lines, _ = _tail(logs / LOG_FILE, MAX_LOG_LINES)
        if len(lines) < MAX_LOG_LINES:
            lines = [*_tail(logs / f"{LOG_FILE}.1", MAX_LOG_LINES - len(lines))[0], *lines]
        crash = [f"Last written {changed:%Y-%m-%d %H:%M:%S}", *stacks] if stacks else ["No crash recorded."]
        return "\n".join(crash) + "\n", "\n".join(lines or ["No log yet."]) + "\n"


def write_bundle(path: Path, files: Iterable[DiagnosticsFile]) -> None:
    """Write a zip, replaced whole or not at all. Blocks. Raises HelixError."""
    part = path.with_name(f".{path.name}.part")
    try:
        try:
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle:
                for file in files:
                    bundle.writestr(file.name, file.text.encode("utf-8", "replace"))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise HelixError(
            text("The diagnostics couldn't be saved."), system_reason(error), text("Choose another folder.")
        ) from error


def _tail(path: Path, count: int) -> tuple[list[str], datetime]:
    """Return the last lines of a file, and when it changed; no lines when it can't be read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            changed = os.fstat(file.fileno()).st_mtime
            file.seek(max(0, size - _MAX_READ))
            data = file.read(_MAX_READ)
    except OSError:
        return [], datetime.min
    return data.decode("utf-8", "replace").splitlines()[-count:], datetime.fromtimestamp(changed)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=plain_text) + "\n"
