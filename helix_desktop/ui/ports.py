"""What the window needs of the process behind it, on one page; app implements it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from helix_desktop.agent.room import Room
from helix_desktop.config.build import Build
from helix_desktop.config.catalogue import Catalogue
from helix_desktop.config.licences import Part
from helix_desktop.config.settings import Provider, Settings
from helix_desktop.config.view_states import ViewStates
from helix_desktop.context.archive import Exported, Imported, Inside, Progress, silent
from helix_desktop.context.errors import HelixError
from helix_desktop.context.figures import Figures, Said
from helix_desktop.context.forgetting import Finds, Wanted
from helix_desktop.context.mcp_pasted import Draft
from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.context.release import Release
from helix_desktop.context.sharing import Sharing
from helix_desktop.context.trial import Tick
from helix_desktop.workspaces.record import Grant, WorkspaceRecord
from helix_desktop.workspaces.registry import Registry


class KeyState(Protocol):
    """Where a provider's key is kept; both texts are for people."""

    @property
    def place(self) -> str:
        """`keychain`, `environment`, `run` or `none`."""
        ...

    @property
    def text(self) -> str:
        """Its keychain or variable by name, and why it is not in a keychain if it is not."""
        ...


class FoundModel(Protocol):
    """A model of a server that was found."""

    @property
    def name(self) -> str:
        """As it stands in requests."""
        ...

    @property
    def figures(self) -> Figures:
        """What the server says of it."""
        ...

    @property
    def source(self) -> str:
        """Where the server says so, for people."""
        ...

    @property
    def loaded(self) -> bool | None:
        """Whether it is in memory; None when the server does not say."""
        ...


class FoundServer(Protocol):
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
    def models(self) -> Sequence[FoundModel]:
        """The models that it has."""
        ...


class ModelServers(Protocol):
    """Servers of models, and what is published of them."""

    @property
    def catalogue(self) -> Catalogue:
        """What is published of models."""
        ...

    async def offered(self, provider: Provider, key: str) -> Mapping[str, Said]:
        """The models that a server offers, and what it says of each; `key` empty: the kept one.

        Raises ModelError.
        """
        ...

    async def nearby(self) -> Sequence[FoundServer]:
        """The model servers that answer on this machine's usual ports."""
        ...

    async def test(
        self, provider: Provider, model: str, key: str, told: Callable[[tuple[Tick, ...]], None]
    ) -> bool:
        """Try a provider and one model of it out; `told` hears every change. Whether all went well."""
        ...


class Carrier(Protocol):
    """Carries workspaces into files, and back."""

    def file_name(self, identity: str) -> str:
        """A name for a file of a workspace."""
        ...

    async def export(self, identity: str, path: Path, progress: Progress) -> Exported:
        """Write a workspace to a file. Raises HelixError."""
        ...

    async def look(self, path: Path) -> Inside:
        """What a file says of itself. Raises HelixError."""
        ...

    async def take_in(self, identity: str, path: Path, progress: Progress) -> Imported:
        """Merge a file into a workspace. Raises HelixError."""
        ...

    async def back_up(self, identity: str, folder: Path, progress: Progress) -> Exported:
        """Write a workspace to a new file in a folder. Raises HelixError."""
        ...

    def stored(self) -> list[WorkspaceRecord]:
        """The workspaces in which anything was ever stored."""
        ...


class Forgetting(Protocol):
    """Removes a secret from a workspace and from all that is kept beside its store."""

    async def preview(self, wanted: Wanted, told: Callable[[int, int], None]) -> Finds:
        """Where it stands; changes nothing. Raises HelixError."""
        ...

    async def carry_out(self, wanted: Wanted, told: Callable[[int, int], None]) -> Finds:
        """Remove it; what was changed. Raises HelixError."""
        ...


class McpServers(Protocol):
    """The MCP servers of workspaces. Changes hold at once; all may raise HelixError."""

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Hear of the workspace whose servers have changed. Call the returned function to stop."""
        ...

    def begin(self, identity: str) -> None:
        """Start the servers of an open workspace beside everything else; without trust end them."""
        ...

    async def reports(self, identity: str) -> tuple[ServerReport, ...]:
        """How the servers of a workspace are doing, in order."""
        ...

    async def keeping(self) -> str:
        """Where secrets are kept, for people."""
        ...

    async def add(self, identity: str, drafts: Sequence[Draft]) -> None:
        """Add servers and start them."""
        ...

    async def change(self, identity: str, name: str, draft: Draft) -> None:
        """Change a server and start it so; secrets left empty stay."""
        ...

    async def agree(self, identity: str, name: str, fingerprint: str) -> None:
        """Let a server start as the person has just seen it."""
        ...

    async def switch(self, identity: str, name: str, on: bool) -> None:
        """Switch a server on or off."""
        ...

    async def switch_tools(self, identity: str, name: str, off: Sequence[str]) -> None:
        """Say which tools of a server are not told."""
        ...

    async def restart(self, identity: str, name: str) -> None:
        """Start a server anew."""
        ...

    async def remove(self, identity: str, name: str) -> Callable[[], Awaitable[None]]:
        """Remove a server; the returned function brings it back."""
        ...

    async def test(self, identity: str, name: str, draft: Draft) -> ServerReport:
        """Start a server once as it would be kept, and end it again; `name`: the one whose secrets it has."""
        ...


class Tooling(Protocol):
    """How far the tools of workspaces reach."""

    async def confines(self, identity: str) -> bool:
        """Whether commands of a workspace stay in its folder and off the network."""
        ...

    async def walls(self, identity: str) -> tuple[str, bool]:
        """What holds commands of a workspace back, in a sentence for people, and whether anything does."""
        ...

    async def grant(self, identity: str, name: Grant, on: bool) -> None:
        """Let a workspace's agent have one thing more, or less, from its next call on. Raises HelixError."""
        ...


class CacheEndpoints(Protocol):
    """The caches of open workspaces, served to other programs; all may raise HelixError."""

    def command(self, identity: str) -> tuple[str, ...]:
        """What another program runs to have a workspace's cache served through its pipes."""
        ...

    async def sharing(self, identity: str) -> Sharing:
        """How a workspace's cache is shared now."""
        ...

    async def begin(self, identity: str) -> None:
        """Start the endpoint of a workspace that has it switched on."""
        ...

    async def switch(self, identity: str, on: bool) -> None:
        """Serve a workspace's cache from now on, or no longer."""
        ...

    async def renew(self, identity: str) -> None:
        """Make a new token: who holds the former one is shut out."""
        ...


class Origin(Protocol):
    """What runs here: the build, what it stands on, and its terms."""

    @property
    def build(self) -> Build:
        """Which build it is."""
        ...

    @property
    def trouble(self) -> str:
        """What is wrong with the build's own word of itself; empty when nothing is."""
        ...

    async def facts(self) -> Sequence[tuple[str, str]]:
        """What it stands on, by name and version."""
        ...

    async def parts(self) -> Sequence[Part]:
        """What is shipped, with its terms. Raises HelixError."""
        ...

    async def newest(self) -> Release:
        """Ask for the newest release; only when a person wants it. Raises HelixError, which says why not."""
        ...


class Desk(Protocol):
    """Workspaces, settings and models."""

    @property
    def tooling(self) -> Tooling:
        """The tools of workspaces, and what holds them back."""
        ...

    @property
    def endpoints(self) -> CacheEndpoints:
        """What serves caches to other programs."""
        ...

    @property
    def origin(self) -> Origin:
        """What runs here."""
        ...

    @property
    def views(self) -> ViewStates:
        """Where the user was in each session."""
        ...

    @property
    def data_folder(self) -> Path:
        """Where everything is kept."""
        ...

    @property
    def carrier(self) -> Carrier:
        """Exports and imports."""
        ...

    @property
    def servers(self) -> McpServers:
        """The workspaces' MCP servers."""
        ...

    @property
    def registry(self) -> Registry:
        """The workspaces and their records."""
        ...

    @property
    def settings(self) -> Settings:
        """What holds for all workspaces."""
        ...

    @property
    def problems(self) -> Sequence[HelixError]:
        """What was wrong with files at the start, to be told once."""
        ...

    @property
    def rooms(self) -> Mapping[str, Room]:
        """The workspaces that are open."""
        ...

    async def room(self, identity: str, reading: bool = False, told: Progress = silent) -> Room:
        """Open a workspace, once; `reading`: although its folder is gone. Raises HelixError."""
        ...

    async def close_room(self, identity: str) -> None:
        """End what runs in a workspace and let go of its store."""
        ...

    def forgetting(self, identity: str) -> Forgetting:
        """How a secret is removed from an open workspace and from all that is kept beside its store."""
        ...

    async def sample(self) -> WorkspaceRecord:
        """The guided sample as a workspace, copied into the data directory. Raises HelixError."""
        ...

    async def proposals(self, identity: str) -> Sequence[str]:
        """What a person may say to the agent there, in order; empty where nothing is prepared."""
        ...

    async def use_model(self, identity: str, label: str, role: str = "model") -> None:
        """Let the model of a label (empty: the default) answer in a workspace, or do a role there.

        Raises HelixError.
        """
        ...

    async def save_settings(self, settings: Settings) -> None:
        """Keep changed settings; open workspaces follow when they name other models. Raises HelixError."""
        ...

    async def key_state(self, provider: str) -> KeyState:
        """Where a provider's key is kept."""
        ...

    async def keep_key(self, provider: str, key: str) -> None:
        """Keep a provider's key; an empty one is forgotten."""
        ...

    async def missing_keys(self) -> tuple[str, ...]:
        """List the providers whose key was entered for an earlier run only and is nowhere now."""
        ...

    @property
    def models(self) -> ModelServers:
        """What is known of models, and their servers, asked."""
        ...
