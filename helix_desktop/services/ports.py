"""What the window needs of the process behind it, on one page; app implements it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.config.build_info import Build
from helix_desktop.config.licenses import LicensedComponent
from helix_desktop.config.model_catalog import ModelCatalog
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.config.view_states import ViewStates
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.model_spec import ModelSpec, SourcedSpec
from helix_desktop.domain.redaction.redaction import RedactionMatches, RedactionRequest
from helix_desktop.domain.store.archive_report import (
    ArchiveInfo,
    ExportResult,
    ImportResult,
    Progress,
    no_progress,
)
from helix_desktop.services.cache_server.config_snippets import SharingState
from helix_desktop.services.mcp.config_import import ServerDraft
from helix_desktop.services.mcp.status import McpServerStatus
from helix_desktop.services.provider_check_result import CheckStep
from helix_desktop.services.update_check import Release
from helix_desktop.workspaces.record import Grant, WorkspaceRecord
from helix_desktop.workspaces.registry import WorkspaceRegistry


class KeyStatus(Protocol):
    """Where a provider's key is kept; both texts are for people."""

    @property
    def place(self) -> str:
        """`keychain`, `environment`, `run` or `none`."""
        ...

    @property
    def text(self) -> str:
        """Its keychain or variable by name, and why it is not in a keychain if it is not."""
        ...


class LocalModel(Protocol):
    """A model of a server that was found."""

    @property
    def name(self) -> str:
        """As it stands in requests."""
        ...

    @property
    def spec(self) -> ModelSpec:
        """What the server says of it."""
        ...

    @property
    def source(self) -> str:
        """Where the server says so, for people."""
        ...

    @property
    def is_loaded(self) -> bool | None:
        """Whether it is in memory; None when the server does not say."""
        ...


class LocalServer(Protocol):
    """A model server that answers on this machine."""

    @property
    def title(self) -> str:
        """What it is, for people."""
        ...

    @property
    def base_url(self) -> str:
        """Where its models are asked."""
        ...

    @property
    def models(self) -> Sequence[LocalModel]:
        """The models that it has."""
        ...


class ModelService(Protocol):
    """Servers of models, and what is published of them."""

    @property
    def catalog(self) -> ModelCatalog:
        """What is published of models."""
        ...

    async def list_models(self, provider: Provider, key: str) -> Mapping[str, SourcedSpec]:
        """The models that a server offers, and what it says of each; `key` empty: the kept one.

        Raises ModelError.
        """
        ...

    async def find_local_servers(self) -> Sequence[LocalServer]:
        """The model servers that answer on this machine's usual ports."""
        ...

    async def test(
        self, provider: Provider, model: str, key: str, on_step: Callable[[tuple[CheckStep, ...]], None]
    ) -> bool:
        """Try a provider and one model of it out; `on_step` gets every change; True if all went well."""
        ...


class BackupService(Protocol):
    """Carries workspaces into files, and back."""

    def file_name(self, workspace_id: str) -> str:
        """A name for a file of a workspace."""
        ...

    async def export(self, workspace_id: str, path: Path, on_progress: Progress) -> ExportResult:
        """Write a workspace to a file. Raises HelixError."""
        ...

    async def inspect(self, path: Path) -> ArchiveInfo:
        """What a file says of itself. Raises HelixError."""
        ...

    async def import_file(self, workspace_id: str, path: Path, on_progress: Progress) -> ImportResult:
        """Merge a file into a workspace. Raises HelixError."""
        ...

    async def back_up(self, workspace_id: str, folder: Path, on_progress: Progress) -> ExportResult:
        """Write a workspace to a new file in a folder. Raises HelixError."""
        ...

    def stored_workspaces(self) -> list[WorkspaceRecord]:
        """The workspaces in which anything was ever stored."""
        ...


class WorkspaceRedaction(Protocol):
    """Removes a secret from a workspace, in its store and outside it."""

    async def preview(
        self, request: RedactionRequest, on_progress: Callable[[int, int], None]
    ) -> RedactionMatches:
        """Where it stands; changes nothing. Raises HelixError."""
        ...

    async def carry_out(
        self, request: RedactionRequest, on_progress: Callable[[int, int], None]
    ) -> RedactionMatches:
        """Remove it; what was changed. Raises HelixError."""
        ...


class McpServerService(Protocol):
    """The MCP servers of workspaces. Changes hold at once; all may raise HelixError."""

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the workspace whose servers changed; return a function to unsubscribe."""
        ...

    def start(self, workspace_id: str) -> None:
        """Start the servers of an open workspace in the background; without trust, stop them."""
        ...

    async def statuses(self, workspace_id: str) -> tuple[McpServerStatus, ...]:
        """How the servers of a workspace are doing, in order."""
        ...

    async def secret_storage_text(self) -> str:
        """Where secrets are kept, for people."""
        ...

    async def add(self, workspace_id: str, drafts: Sequence[ServerDraft]) -> None:
        """Add servers and start them."""
        ...

    async def change(self, workspace_id: str, name: str, draft: ServerDraft) -> None:
        """Change a server and start it so; secrets left empty stay."""
        ...

    async def consent(self, workspace_id: str, name: str, fingerprint: str) -> None:
        """Let a server start as the user has just seen it."""
        ...

    async def set_enabled(self, workspace_id: str, name: str, enabled: bool) -> None:
        """Switch a server on or off."""
        ...

    async def set_disabled_tools(self, workspace_id: str, name: str, tool_names: Sequence[str]) -> None:
        """Set the tools of a server that are not exposed to the model."""
        ...

    async def restart(self, workspace_id: str, name: str) -> None:
        """Restart a server."""
        ...

    async def remove(self, workspace_id: str, name: str) -> Callable[[], Awaitable[None]]:
        """Remove a server; the returned function brings it back."""
        ...

    async def test(self, workspace_id: str, name: str, draft: ServerDraft) -> McpServerStatus:
        """Start a server once as it would be kept, and end it again; `name`: the one whose secrets it has."""
        ...


class ToolService(Protocol):
    """How far the tools of workspaces reach."""

    async def is_sandboxed(self, workspace_id: str) -> bool:
        """Whether commands of a workspace stay in its folder and off the network."""
        ...

    async def sandbox_status(self, workspace_id: str) -> tuple[str, bool]:
        """What holds commands of a workspace back, in a sentence for people, and whether anything does."""
        ...

    async def set_grant(self, workspace_id: str, grant: Grant, allowed: bool) -> None:
        """Let a workspace's agent have one thing more, or less, from its next call on. Raises HelixError."""
        ...


class CacheEndpoints(Protocol):
    """The caches of open workspaces, served to other programs; all may raise HelixError."""

    def stdio_command(self, workspace_id: str) -> tuple[str, ...]:
        """What another program runs to have a workspace's cache served through its pipes."""
        ...

    async def sharing_state(self, workspace_id: str) -> SharingState:
        """How a workspace's cache is shared now."""
        ...

    async def start(self, workspace_id: str) -> None:
        """Start the endpoint of a workspace that has it switched on."""
        ...

    async def set_enabled(self, workspace_id: str, enabled: bool) -> None:
        """Serve a workspace's cache from now on, or no longer."""
        ...

    async def rotate_token(self, workspace_id: str) -> None:
        """Make a new token: the previous one is no longer valid."""
        ...


class BuildInfoService(Protocol):
    """What runs here: the build, what it stands on, and its terms."""

    @property
    def build(self) -> Build:
        """Which build it is."""
        ...

    @property
    def problem(self) -> str:
        """What is wrong with the build's own word of itself; empty when nothing is."""
        ...

    async def environment(self) -> Sequence[tuple[str, str]]:
        """What it stands on, by name and version."""
        ...

    async def licenses(self) -> Sequence[LicensedComponent]:
        """What is shipped, with its terms. Raises HelixError."""
        ...

    async def check_for_updates(self) -> Release:
        """Ask for the newest release; only when the user wants it. Raises HelixError, which says why not."""
        ...


class AppServices(Protocol):
    """Workspaces, settings and models."""

    @property
    def tools(self) -> ToolService:
        """The tools of workspaces, and what holds them back."""
        ...

    @property
    def cache_endpoints(self) -> CacheEndpoints:
        """What serves caches to other programs."""
        ...

    @property
    def build_info(self) -> BuildInfoService:
        """What runs here."""
        ...

    @property
    def view_states(self) -> ViewStates:
        """Where the user was in each session."""
        ...

    @property
    def data_folder(self) -> Path:
        """Where everything is kept."""
        ...

    @property
    def backup(self) -> BackupService:
        """Exports and imports."""
        ...

    @property
    def mcp_servers(self) -> McpServerService:
        """The workspaces' MCP servers."""
        ...

    @property
    def registry(self) -> WorkspaceRegistry:
        """The workspaces and their records."""
        ...

    @property
    def settings(self) -> Settings:
        """What holds for all workspaces."""
        ...

    @property
    def problems(self) -> Sequence[HelixError]:
        """What was wrong with files at the start, to be shown once."""
        ...

    @property
    def open_workspaces(self) -> Mapping[str, OpenWorkspace]:
        """The workspaces that are open."""
        ...

    async def open_workspace(
        self, workspace_id: str, read_only: bool = False, on_progress: Progress = no_progress
    ) -> OpenWorkspace:
        """Open a workspace, once; `read_only`: although its folder is gone. Raises HelixError."""
        ...

    async def close_workspace(self, workspace_id: str) -> None:
        """End what runs in a workspace and let go of its store."""
        ...

    def redaction(self, workspace_id: str) -> WorkspaceRedaction:
        """Return the redaction of an open workspace, in its store and outside it."""
        ...

    async def sample_workspace(self) -> WorkspaceRecord:
        """The guided sample as a workspace, copied into the data directory. Raises HelixError."""
        ...

    async def sample_messages(self, workspace_id: str) -> Sequence[str]:
        """Return the prepared messages of a sample, in order; empty in other workspaces."""
        ...

    async def use_model(self, workspace_id: str, label: str, role: str = "model") -> None:
        """Let the model of a label (empty: the default) answer in a workspace, or do a role there.

        Raises HelixError.
        """
        ...

    async def save_settings(self, settings: Settings) -> None:
        """Keep changed settings; open workspaces follow when they name other models. Raises HelixError."""
        ...

    async def key_status(self, provider: str) -> KeyStatus:
        """Where a provider's key is kept."""
        ...

    async def save_key(self, provider: str, key: str) -> None:
        """Keep a provider's key; an empty one is forgotten."""
        ...

    async def missing_keys(self) -> tuple[str, ...]:
        """List the providers whose key was entered for an earlier run only and is nowhere now."""
        ...

    @property
    def models(self) -> ModelService:
        """What is known of models, and their servers, asked."""
        ...
