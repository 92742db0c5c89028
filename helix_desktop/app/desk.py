"""The desk: every concrete part behind the window and the command line, named in one place. No Qt here."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from helix_desktop.agent.conversation import Parts
from helix_desktop.agent.delegate import DELEGATE, delegate_spec
from helix_desktop.agent.ports import Approver
from helix_desktop.agent.room import Room
from helix_desktop.app.cache_endpoints import CacheEndpoints
from helix_desktop.app.carrier import Carrier
from helix_desktop.app.forgetting import Everywhere
from helix_desktop.app.key_state import KeyState
from helix_desktop.app.mcp_servers import McpServers
from helix_desktop.app.models import DEMO_PAUSE_S, Models
from helix_desktop.app.origin import Origin
from helix_desktop.app.samples import SAMPLES, add_sample
from helix_desktop.app.tooling import Tooling
from helix_desktop.config.paths import DataDir, resources_dir
from helix_desktop.config.prompts import prompts
from helix_desktop.config.secrets import THIS_RUN, Secrets
from helix_desktop.config.settings import Settings, SettingsFile
from helix_desktop.config.toml_file import TomlFiles
from helix_desktop.config.view_states import VIEWS_FILE, ViewStates
from helix_desktop.context.archive import Progress, silent
from helix_desktop.context.errors import HelixError, WorkspaceMissing
from helix_desktop.context.message import ToolSpec
from helix_desktop.providers.demo_script import read_scripts
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.providers.token_counter import TokenCounter
from helix_desktop.store.remote.client import RemoteStore
from helix_desktop.store.remote.opening import open_store, own_store
from helix_desktop.store.remote.shared import SharedStore
from helix_desktop.tools.box import describe
from helix_desktop.tools.none import NoTools
from helix_desktop.workspaces.record import MODEL_ROLES, WorkspaceRecord
from helix_desktop.workspaces.registry import Registry
from helix_desktop.workspaces.saved_rules import SavedRules

log = logging.getLogger(__name__)


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Desk:
    """Opens workspaces as rooms, each once, and closes them all."""

    def __init__(
        self,
        data: DataDir,
        environ: Mapping[str, str],
        approver: Approver | None = None,
        pause_s: float = DEMO_PAUSE_S,
        beside: bool = False,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`beside` says that a workspace which another process has open is used through that process.

        `patience_s` is how long a turn waits for a model's server that does not answer, in seconds.
        """
        self.data = data
        self._open_store = open_store if beside else own_store
        self._settings_file = SettingsFile(data.settings_file)
        self.settings, damaged = self._settings_file.load()
        self.registry = Registry(data.workspaces_dir, TomlFiles(), now_ms)
        self.settings_damaged = damaged
        self.problems: list[HelixError] = [*([damaged] if damaged else []), *self.registry.problems]
        self.secrets = Secrets(environ)
        self.counter = TokenCounter(resources_dir() / "tokenizers" / "o200k_base.tiktoken")
        self.models = Models(lambda: self.settings, self.secrets, pause_s, patience_s=patience_s)
        self.tooling = Tooling(data, self.registry, self.counter.count)
        self.servers = McpServers(self.registry, self.secrets, environ, self.counter)
        self.endpoints = CacheEndpoints(data.root, self.registry, self.secrets, self.lend, self.counter.count)
        self._approver = approver
        self._rooms: dict[str, Room] = {}
        self._stores: dict[str, SharedStore | RemoteStore] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._copying = asyncio.Lock()
        self.origin = Origin()
        self.views = ViewStates(data.root / VIEWS_FILE)
        self.carrier = Carrier(self.registry, self.lend, now_ms)

    async def save_settings(self, settings: Settings) -> None:
        """Keep changed settings; they hold for this run even if the disk refuses. Raises HelixError then.

        Where other models are named now, these work in the open workspaces from the next step on.
        """
        before, self.settings = self.settings, settings
        if any(getattr(before, field) != getattr(settings, field) for field in ("providers", *MODEL_ROLES)):
            for identity in tuple(self._rooms):
                await self._recast(identity)
        await self._settings_file.save(settings)

    @property
    def rooms(self) -> dict[str, Room]:
        """The rooms that are open, by workspace."""
        return self._rooms

    async def room(self, identity: str, reading: bool = False, told: Progress = silent) -> Room:
        """The open room of a workspace; `reading` opens one whose folder is gone, without tools.

        `told` hears how far it is when a damaged store is mended, on another thread.
        Raises WorkspaceMissing when its folder is gone, StoreLocked when another process owns its store.
        """
        async with self._locks.setdefault(identity, asyncio.Lock()):
            if identity not in self._rooms:
                self._rooms[identity] = await self._open(identity, reading, told)
            return self._rooms[identity]

    async def _open(self, identity: str, reading: bool, told: Progress) -> Room:
        record = self.registry.get(identity)
        root = None if reading else _folder(record)
        policy = self.registry.policy(identity)
        roles = await self.models.roles(record)
        folder = self.registry.store_folder(identity)
        store = await self._open_store(folder, identity, now_ms, told=told)
        tools = self.servers.tools(identity, root, self.tooling.box(identity, root, store)) if root else None
        if tools:
            self.tooling.opened(identity, tools)
        parts = Parts(
            store=store,
            tools=tools or NoTools(),
            counter=self.counter,
            permissions=SavedRules(self.registry, identity),
            clock=now_ms,
            prompts=prompts(),
            approver=self._approver,
            trusted=lambda: self.registry.get(identity).trusted,
        )
        parts.delegate = _delegate() if root else None
        self._stores[identity] = store
        room = Room(identity, parts, policy, roles, reading)
        room.roles_for = lambda label: self.models.roles(self.registry.get(identity), label)
        if tools:
            tools.listen(room.retool)
        if isinstance(store, SharedStore):
            store.reserve(lambda session: any(one.session.id == session for one in room.conversations))
            store.hear_guests(room.changed_outside)
        return room

    @asynccontextmanager
    async def lend(self, identity: str) -> AsyncIterator[SharedStore | RemoteStore]:
        """The store of a workspace, opened if no room of it is open, and closed then."""
        if identity in self._rooms:
            yield self._stores[identity]
            return
        async with self._locks.setdefault(identity, asyncio.Lock()):
            store = await self._open_store(self.registry.store_folder(identity), identity, now_ms)
            try:
                yield store
            finally:
                await store.close()

    async def use_model(self, identity: str, label: str, role: str = "model") -> None:
        """Let another model answer in a workspace, or do a role there, from its next step on."""
        if role == "model":
            await self.models.named(label)  # says so before anything is changed when it is not to be had
        self.registry.change(identity, **{role: label})
        await self._recast(identity)

    async def _recast(self, identity: str) -> None:
        """Let the models work in an open workspace that its record and the settings name now."""
        try:
            roles = await self.models.roles(self.registry.get(identity))
        except HelixError as error:  # the former ones go on; whoever opens the workspace again is told
            log.warning("the models of a workspace stay as they are: %s", error)
            return
        if identity in self._rooms:
            await self._rooms[identity].use(roles)

    @property
    def data_folder(self) -> Path:
        """Where everything is kept."""
        return self.data.root

    async def sample(self) -> WorkspaceRecord:
        """The guided sample as a workspace, its folder copied into the data directory. Raises HelixError."""
        async with self._copying:  # two clicks, or two starts, ask for one copy
            return await asyncio.to_thread(add_sample, self.registry, self.data.root / "samples", SAMPLES[0])

    async def proposals(self, identity: str) -> tuple[str, ...]:
        """The messages of a sample's script, in order; none in other workspaces."""
        record = self.registry.get(identity)
        if not record.demo:
            return ()
        scripts = await asyncio.to_thread(read_scripts, resources_dir() / "demo")
        return next((script.asks for script in scripts if script.name == Path(record.path).name), ())

    async def key_state(self, provider: str) -> KeyState:
        """Where a provider's key is kept."""
        key = await self.secrets.get(provider)
        return KeyState.of(key.source, await self.secrets.backend(), self.secrets.problem)

    async def keep_key(self, provider: str, key: str) -> None:
        """Keep a provider's key; an empty one is forgotten. Open workspaces use it from the next step on.

        The settings note that it lasts for this run only, so that the next one can say that it is gone.
        """
        kept = await self.secrets.set(provider, key)
        names = tuple(name for name in self.settings.run_keys if name != provider)
        if kept.source == THIS_RUN:
            names = (*names, provider)
        for identity in tuple(self._rooms):
            await self._recast(identity)
        if names != self.settings.run_keys:
            await self.save_settings(msgspec.structs.replace(self.settings, run_keys=names))

    async def missing_keys(self) -> tuple[str, ...]:
        """List the providers whose key was entered for an earlier run only and is nowhere now."""
        names = [name for name in self.settings.run_keys if self.settings.provider(name) is not None]
        return tuple([name for name in names if not (await self.secrets.get(name)).value])

    def forgetting(self, identity: str) -> Everywhere:
        """How a secret is removed from an open workspace and from all that is kept beside its store."""
        return Everywhere(self, self._rooms[identity])

    async def close_room(self, identity: str) -> None:
        """End what runs in a workspace and let go of its store."""
        await self.endpoints.end(identity)
        room = self._rooms.pop(identity, None)
        self.tooling.close(identity)
        if room is not None:
            await room.close()
        await self.servers.shut(identity)

    async def close(self) -> None:
        """End everything, in every room, and close the models' connections."""
        for identity in tuple(self._rooms):
            await self.close_room(identity)
        await self.endpoints.close()
        await self.servers.close()
        try:
            await self._settings_file.settle()
        except HelixError as error:  # nobody can be told any more, and closing must go on
            log.warning("settings were not kept: %s", error)
        await asyncio.to_thread(self.views.save)
        await self.models.close()
        self.secrets.close()


def _delegate() -> ToolSpec:
    text = (resources_dir() / "prompts" / "tools" / f"{DELEGATE}.md").read_text(encoding="utf-8")
    return delegate_spec(*describe(text))


def _folder(record: WorkspaceRecord) -> Path:
    root = Path(record.path)
    if not root.is_dir():
        raise WorkspaceMissing(
            f"The folder {root} is not there.",
            "It was moved, renamed or deleted; sessions and cache are safe.",
            "Say where it is now, or remove the workspace from the list.",
        )
    return root
