"""The app's services: creates every concrete part behind the window and the command line. No Qt here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from helix_desktop.agent.model_roles import SlowModels
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.agent.ports import Approver
from helix_desktop.agent.session_services import SessionServices
from helix_desktop.agent.subagents import DELEGATE, delegate_spec
from helix_desktop.config.paths import DataDir, load_prompts, resources_dir
from helix_desktop.config.secrets import ApiKey, KeySource, SecretStore
from helix_desktop.config.settings import ModelEntry, Provider, Settings
from helix_desktop.config.settings_file import SettingsFile
from helix_desktop.config.view_states import VIEWS_FILE, ViewStates
from helix_desktop.context.policy_numbers import ContextPolicy
from helix_desktop.domain.choices import Effort, SamplePlace
from helix_desktop.domain.errors import HelixError, SettingsDamaged, StoreFormatUnknown, WorkspaceMissing
from helix_desktop.domain.events.recorded_event import RecordedEvent
from helix_desktop.domain.listeners import OnProgress, no_progress
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.model_spec import LearnedWindow
from helix_desktop.domain.private_details import PrivateDetails
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.file_history.history import WorkspaceFileHistory
from helix_desktop.providers.demo.script import read_scripts
from helix_desktop.providers.retry import PATIENCE_S
from helix_desktop.providers.tiktoken_counter import TiktokenCounter
from helix_desktop.services.backup import BackupService
from helix_desktop.services.build_info import BuildInfoService
from helix_desktop.services.cache_server import CacheEndpoints
from helix_desktop.services.closed_workspaces import ClosedSessions, check_data_is_there
from helix_desktop.services.file_history import FileHistories, WorkspaceHistoryStorage
from helix_desktop.services.foreign_import import ForeignSessions
from helix_desktop.services.foreign_servers import ForeignServerReader
from helix_desktop.services.git import GitCheckouts
from helix_desktop.services.instructions import (
    ALL_INSTRUCTIONS,
    RunInstructions,
    UserInstructions,
    WorkspaceInstructions,
)
from helix_desktop.services.mcp_servers import McpServerService
from helix_desktop.services.model_service import DEMO_PAUSE_S, ModelService, WorkspaceModels
from helix_desktop.services.prompt_files import PromptFiles
from helix_desktop.services.redaction import WorkspaceRedaction
from helix_desktop.services.samples import SAMPLES, add_sample, play_session
from helix_desktop.services.search_everything import SearchService
from helix_desktop.services.sharing import SharingService, texts_in
from helix_desktop.services.tool_service import ToolService
from helix_desktop.store.remote.client import RemoteStore, open_store
from helix_desktop.store.remote.server import SharedStore
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.home import find_home
from helix_desktop.tools.tool import ToolRegistry, parse_description
from helix_desktop.words.translation import Translator
from helix_desktop.workspaces.registry import MODEL_ROLES, WorkspaceRecord, WorkspaceRegistry
from helix_desktop.workspaces.saved_rules import SavedRules

log = logging.getLogger(__name__)

tr = Translator("Models")
text = TextContext("Services")


class KeyStatus(msgspec.Struct, frozen=True):
    """Where a key comes from, or would be kept; `text` says it."""

    source: KeySource
    text: str

    @classmethod
    def from_key(cls, key: ApiKey, keychain: str, problem: str) -> KeyStatus:
        """Describe a key; `keychain` names the one that answers, `problem` says why none does."""
        reason = problem or tr("the keychain didn't store it")
        match key.source:
            case "keychain":
                text = tr("Kept in {keychain}.", keychain=key.name)
            case "environment":
                text = tr("From the environment variable {name}.", name=key.name)
            case "run":
                text = tr("Kept until Helix Desktop closes: {reason}.", reason=reason)
            case _ if keychain:
                text = tr("Will be kept in {keychain}.", keychain=keychain)
            case _:
                text = tr("Will be kept until Helix Desktop closes: {reason}.", reason=reason)
        return cls(key.source, text)


_MODEL_SETTINGS = ("providers", "background_effort", *MODEL_ROLES)
"""The settings that open workspaces make their models from."""


class AppServices:
    """The services of the app: opens each workspace once, and closes them all."""

    def __init__(
        self,
        data_dir: DataDir,
        environ: Mapping[str, str],
        approver: Approver | None = None,
        demo_pause_s: float = DEMO_PAUSE_S,
        use_existing_owner: bool = False,
        response_timeout_s: float = PATIENCE_S,
        run_instructions: RunInstructions = ALL_INSTRUCTIONS,
    ) -> None:
        """`use_existing_owner`: a workspace that another process has open is used through that process.

        `response_timeout_s` is how long a turn waits for a model's server that does not answer, in seconds.
        """
        self.data_dir = data_dir
        self.data_folder = data_dir.root
        self._open_store = partial(open_store, as_owner=not use_existing_owner)
        self._settings_file = SettingsFile(data_dir.settings_file, data_dir.workspaces_dir)
        self.settings, damaged = self._settings_file.load()
        self._models_in_use = self.settings
        self.settings_listeners: list[Callable[[Settings, Settings], object]] = []
        """Are called with the settings before and after each change."""
        self.registry = WorkspaceRegistry(data_dir.workspaces_dir, wall_clock_ms)
        self.models_error = None if self._settings_file.knows_models else damaged
        """Why it is not known which models the user chose; None if it is."""
        self.problems: list[HelixError] = [*([damaged] if damaged else []), *self.registry.problems]
        self.secrets = SecretStore(environ)
        vocabulary = resources_dir() / "tokenizers" / "o200k_base.tiktoken"
        self.counter = TiktokenCounter(vocabulary)
        self.models = ModelService(
            lambda: self.settings,
            self.secrets,
            demo_pause_s,
            response_timeout_s=response_timeout_s,
            save_learned=self._save_learned_window,
            save_refused=self._save_refused_parts,
        )
        self.tools = ToolService(
            data_dir,
            self.registry,
            self.counter.count,
            lambda: self.settings.home_names,
            lambda: self.settings.reading_lines,
        )
        self.git = GitCheckouts(self.registry, self.tools.environment)
        self.prompt_files = PromptFiles(data_dir.prompt_files_dir, self.registry, self.tools.open_jail)
        self.cache_endpoints = CacheEndpoints(
            data_dir.root, self.registry, self.secrets, self.borrow_store, self.counter.count
        )
        self.file_histories = FileHistories(self.registry, data_dir.root)
        self.mcp_servers = McpServerService(
            self.registry, self.secrets, environ, self.counter, self.file_histories
        )
        self.foreign_servers = ForeignServerReader(self.registry, self.tools.open_jail)
        self._approver = approver
        self._run_instructions = run_instructions
        self.user_instructions = UserInstructions(data_dir)
        self.open_workspaces: dict[str, OpenWorkspace] = {}
        self._stores: dict[str, SharedStore | RemoteStore] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._token_ratios: dict[str, float] = {}  # they belong to the model, not to a workspace
        self.slow_models = SlowModels(wall_clock_ms)
        self._sample_lock = asyncio.Lock()
        self.build_info = BuildInfoService()
        self.view_states = ViewStates(data_dir.root / VIEWS_FILE)
        self.closed_sessions = ClosedSessions(
            self.registry, self.borrow_store, self.open_workspaces.__contains__
        )
        self.search = SearchService(self.registry, lambda: self.open_workspaces, self.closed_sessions)
        self.foreign_sessions = ForeignSessions(vocabulary, self.borrow_store, wall_clock_ms)
        self.backup = BackupService(data_dir.root, self.registry, self.borrow_store, wall_clock_ms)
        self.sharing = SharingService(self.borrow_store, self._shared_redaction, self._find_log)

    async def save_settings(self, settings: Settings) -> None:
        """Save changed settings; if the disk refuses, they still hold for this run. Raises HelixError then.

        If other models are set now, the open workspaces use them from the next step on.
        """
        self.use_settings(settings)
        await self._apply_changed_models()
        await self._exchange_settings()
        await self._apply_changed_models()

    async def read_settings(self) -> SettingsDamaged | None:
        """Take over what was changed in the file; return what is wrong there, which does not count."""
        error = await asyncio.to_thread(self._settings_file.find_error)
        try:
            await self._exchange_settings()
        except SettingsDamaged as unread:
            return unread
        except HelixError as unsaved:
            log.warning("settings could not be read again: %s", unsaved)
        await self._apply_changed_models()
        return error

    async def settings_path(self, comment: str) -> Path:
        """Return the settings file, which is made with a comment if it is missing. Raises HelixError."""
        await asyncio.to_thread(self._settings_file.create, comment)
        return self._settings_file.path

    async def _exchange_settings(self) -> None:
        """Write what has changed here, and take over what has changed in the file. Raises HelixError."""
        saved = await self._settings_file.save(self.settings)
        current = saved.current(self.settings)
        if current != self.settings:
            self.use_settings(current)

    async def _apply_changed_models(self) -> None:
        before = self._models_in_use
        self._models_in_use = self.settings
        if any(getattr(before, field) != getattr(self.settings, field) for field in _MODEL_SETTINGS):
            for workspace_id in tuple(self.open_workspaces):
                await self._apply_models(workspace_id)

    def use_settings(self, settings: Settings) -> None:
        """Use changed settings from now on; models and the disk follow with `save_settings`."""
        before = self.settings
        self.settings = settings
        for listener in self.settings_listeners:
            listener(before, settings)

    async def _save_learned_window(self, provider_name: str, model: str, learned: LearnedWindow) -> None:
        """Save the window that a model's error said: its models know it already."""
        provider = self.settings.provider(provider_name)
        if provider is None:
            return
        await self._save_entry(provider, msgspec.structs.replace(provider.entry(model), learned=learned))

    async def _save_refused_parts(self, provider_name: str, model: str, refused: Mapping[str, str]) -> None:
        """Save which parts of requests a model's server refuses: its models know it already."""
        provider = self.settings.provider(provider_name)
        if provider is None:
            return
        await self._save_entry(
            provider, msgspec.structs.replace(provider.entry(model), refused=dict(refused))
        )

    async def _save_entry(self, provider: Provider, entry: ModelEntry) -> None:
        """Save what was learned of a model; if that fails, it holds for this run."""
        self.use_settings(self.settings.with_provider(provider.with_entry(entry)))
        self._models_in_use = self.settings
        try:
            await self._exchange_settings()
        except HelixError as error:
            log.warning("what was learned of a model holds for this run only: %s", error)

    async def open_workspace(
        self, workspace_id: str, read_only: bool = False, on_progress: OnProgress = no_progress
    ) -> OpenWorkspace:
        """Open a workspace, once; `read_only` opens one whose folder is gone, without tools.

        `on_progress` gets the progress of repairing a damaged store, on another thread.
        Raises WorkspaceMissing when its folder is gone, StoreLocked when another process owns its store.
        """
        async with self._locks.setdefault(workspace_id, asyncio.Lock()):
            if workspace_id not in self.open_workspaces:
                self.open_workspaces[workspace_id] = await self._open(workspace_id, read_only, on_progress)
            return self.open_workspaces[workspace_id]

    async def _open(self, workspace_id: str, read_only: bool, on_progress: OnProgress) -> OpenWorkspace:
        record = self.registry.get(workspace_id)
        await asyncio.to_thread(check_data_is_there, self.registry, workspace_id)
        read_only = read_only or self.data_dir.refusal is not None
        root = None if read_only else _workspace_folder(record)
        auto_run = self.tools.auto_run(workspace_id) if root else None
        if auto_run is not None:  # before anything of this program runs there
            await auto_run.unreported()
        policy, policy_error = self._load_policy(workspace_id)
        roles = await self.models.roles(record)
        store = await self._open_named_store(record, on_progress)
        delegate_spec = _delegate_tool()
        tools = (
            self.mcp_servers.create_toolset(
                workspace_id, root, self.tools.create_tools(workspace_id, root, store), delegate_spec
            )
            if root
            else None
        )
        if tools:
            self.tools.register(workspace_id, tools)
        session_services = SessionServices(
            store=store,
            tools=tools or ToolRegistry(),
            counter=self.counter,
            permissions=SavedRules(self.registry, workspace_id),
            clock=wall_clock_ms,
            prompts=load_prompts(),
            approver=self._approver,
            is_trusted=lambda: self.registry.get(workspace_id).trusted,
            delegate_spec=delegate_spec if root else None,
            file_checker=self.tools.create_file_checker(root) if root else None,
            file_reader=self.tools.create_file_reader(root) if root else None,
            instructions=self._instructions(workspace_id, root) if root else None,
            file_history=self._file_history(workspace_id, root),
            line_search=self.tools.create_line_search(),
            slow_models=self.slow_models,
            auto_run=auto_run,
            wants_titles=lambda: self.settings.titles,
            find_policy_error=lambda: self._find_policy_error(workspace_id),
            create_session_tools=(
                (lambda session: self.tools.create_session_tools(store, session)) if root else None
            ),
        )
        self._stores[workspace_id] = store
        configured_models = WorkspaceModels(self.models, lambda: self.registry.get(workspace_id))
        workspace = OpenWorkspace(
            workspace_id,
            session_services,
            policy,
            roles,
            read_only,
            configured_models,
            self._token_ratios,
            policy_error,
        )
        if tools:
            tools.listen(workspace.refresh_tools)
        if isinstance(store, SharedStore):
            store.set_open_sessions(
                lambda session_id: any(
                    conversation.session.id == session_id for conversation in workspace.conversations
                )
            )
            store.on_external_change(workspace.publish_external_change)
            store.on_refused_commit(workspace.catch_up_changes)
        return workspace

    def _load_policy(self, workspace_id: str) -> tuple[ContextPolicy, SettingsDamaged | None]:
        """Return a workspace's policy; the default one, and what is wrong, if its file is damaged."""
        try:
            return self.registry.load_policy(workspace_id), None
        except SettingsDamaged as error:
            log.warning("a workspace is opened without its policy: %s", error)
            return ContextPolicy(), error

    def _find_log(self, workspace_id: str, session_id: str) -> list[RecordedEvent] | None:
        workspace = self.open_workspaces.get(workspace_id)
        conversation = workspace.find_open(session_id) if workspace is not None else None
        return conversation.session.log if conversation is not None else None

    def _find_policy_error(self, workspace_id: str) -> SettingsDamaged | None:
        workspace = self.open_workspaces.get(workspace_id)
        return workspace.policy_error if workspace is not None else None

    def _file_history(self, workspace_id: str, root: Path | None) -> WorkspaceFileHistory | None:
        """Return the file history of a workspace; also of a copy of the data, to be read."""
        folder = Path(self.registry.get(workspace_id).path)
        if root is None and (self.data_dir.refusal is None or not folder.is_dir()):
            return None
        return self.file_histories.open(workspace_id, root or folder, starts=root is not None)

    def _instructions(self, workspace_id: str, root: Path) -> WorkspaceInstructions:
        return WorkspaceInstructions(
            self.tools.environment(workspace_id, root),
            {
                "personal": self.user_instructions.path(),
                "workspace": self.user_instructions.path(workspace_id),
            },
            lambda: self.registry.get(workspace_id).trusted,
            self.counter.count,
            self._run_instructions,
        )

    async def _open_named_store(
        self, record: WorkspaceRecord, on_progress: OnProgress = no_progress
    ) -> SharedStore | RemoteStore:
        """Open a workspace's store. One of another format is refused by the workspace's name."""
        folder = self.registry.store_folder(record.id)
        try:
            return await self._open_store(folder, record.id, wall_clock_ms, on_progress=on_progress)
        except StoreFormatUnknown as error:
            what = text("{name} was written by another version of Helix Desktop.", name=record.name)
            raise StoreFormatUnknown(what, error.why, error.fix) from error

    @asynccontextmanager
    async def borrow_store(self, workspace_id: str) -> AsyncIterator[SharedStore | RemoteStore]:
        """Yield the store of a workspace; if the workspace is not open, open it and close it after."""
        if workspace_id in self.open_workspaces:
            yield self._stores[workspace_id]
            return
        async with self._locks.setdefault(workspace_id, asyncio.Lock()):
            await asyncio.to_thread(check_data_is_there, self.registry, workspace_id)
            store = await self._open_named_store(self.registry.get(workspace_id))
            try:
                yield store
            finally:
                await store.close()

    async def use_model(self, workspace_id: str, label: str, role: str = "model") -> None:
        """Use another model in a workspace, or for one role there, from its next step on."""
        if role == "model":
            await self.models.by_label(label)  # raises before anything is changed
        self.registry.change(workspace_id, **{role: label})
        await self._apply_models(workspace_id)

    async def use_effort(self, workspace_id: str, effort: Effort) -> None:
        """Let a workspace's main model think so much from its next step on; empty: as is set for it."""
        self.registry.change(workspace_id, effort=effort)
        await self._apply_models(workspace_id)

    async def _apply_models(self, workspace_id: str) -> None:
        """Set the models of an open workspace to those that its record and the settings name now."""
        try:
            roles = await self.models.roles(self.registry.get(workspace_id))
        except HelixError as error:  # the previous ones stay; opening the workspace again shows the error
            log.warning("the models of a workspace stay as they are: %s", error)
            return
        if workspace_id in self.open_workspaces:
            await self.open_workspaces[workspace_id].set_models(roles)

    async def set_trusted(self, workspace_id: str, trusted: bool) -> None:
        """Save the user's decision on a folder and start its MCP servers; without trust, stop what runs."""
        self.registry.change(workspace_id, trusted=trusted)
        self.git.forget(workspace_id)
        self.git.refresh(workspace_id)
        self.mcp_servers.start(workspace_id)
        self.file_histories.start(workspace_id)
        workspace = self.open_workspaces.get(workspace_id)
        if workspace is not None and not trusted:
            for conversation in workspace.conversations:
                await conversation.stop()

    async def sample_workspace(self, on_progress: OnProgress = no_progress) -> WorkspaceRecord:
        """Add the guided sample as a workspace, copied into the data directory, with a session to try.

        Raises HelixError.
        """
        folder = self.data_dir.root / "samples"
        async with self._sample_lock:  # two clicks, or two starts, ask for one copy
            is_new = not (folder / SAMPLES[0]).exists()
            record = await asyncio.to_thread(add_sample, self.registry, folder, SAMPLES[0])
            if is_new:
                await self._prepare_sample(record, on_progress)
            return record

    async def _prepare_sample(self, record: WorkspaceRecord, on_progress: OnProgress) -> None:
        """Play the beginning of a sample's script; without it the sample begins with an empty session."""
        try:
            workspace = await self.open_workspace(record.id)
            if await workspace.sessions():
                return
            await self.file_histories.wait_for_first_copy(record.id)
            folder = resources_dir() / "demo"
            scripts = await asyncio.to_thread(read_scripts, folder)
            script = next(script for script in scripts if script.name == Path(record.path).name)
            root = Path(record.path)
            await play_session(record.id, workspace.services, folder, script, root, on_progress)
        except (HelixError, OSError, ValueError) as error:
            log.warning("the sample's session could not be prepared: %s", error)

    async def sample_messages(self, workspace_id: str) -> dict[str, SamplePlace]:
        """Return the messages of a sample's script, in order, each with where to look; none elsewhere."""
        record = self.registry.get(workspace_id)
        if not record.demo:
            return {}
        scripts = await asyncio.to_thread(read_scripts, resources_dir() / "demo")
        tasks = next((script.task for script in scripts if script.name == Path(record.path).name), ())
        return {task.ask: task.look_at for task in tasks}

    async def key_status(self, provider: str) -> KeyStatus:
        key = await self.secrets.get(provider)
        return KeyStatus.from_key(key, await self.secrets.keychain_name(), self.secrets.problem)

    async def save_key(self, provider: str, key: str) -> None:
        """Save a provider's key; an empty one is deleted. Open workspaces use it from the next step on.

        The settings record if it lasts for this run only, so that the next run can say that it is gone.
        """
        saved = await self.secrets.set(provider, key)
        names = tuple(name for name in self.settings.run_keys if name != provider)
        if saved.source == "run":
            names = (*names, provider)
        for workspace_id in tuple(self.open_workspaces):
            await self._apply_models(workspace_id)
        if names != self.settings.run_keys:
            await self.save_settings(msgspec.structs.replace(self.settings, run_keys=names))

    async def secret_values(self) -> tuple[str, ...]:
        """Return stored keys, and whatever the user added to requests and MCP servers."""
        providers = self.settings.providers
        extras = [*(entry.extras() for entry in providers), *(m.extras for p in providers for m in p.models)]
        values = [value for extra in extras for value in (*extra.headers.values(), *texts_in(extra.body))]
        for record in self.registry.list_workspaces(include_removed=True):
            for server in record.servers:
                values += [*server.env.values(), *server.headers.values()]
        return (*await self.secrets.all_values(), *values)

    async def _shared_redaction(self) -> PrivateDetails:
        return PrivateDetails(str(find_home()), await self.secret_values())

    async def missing_keys(self) -> tuple[str, ...]:
        """List the providers whose key was entered for an earlier run only and is nowhere now."""
        names = [name for name in self.settings.run_keys if self.settings.provider(name) is not None]
        return tuple([name for name in names if not (await self.secrets.get(name)).value])

    def redaction(self, workspace_id: str) -> WorkspaceRedaction:
        return WorkspaceRedaction(
            self.registry,
            self.data_dir.logs_dir,
            self.open_workspaces[workspace_id],
            self.file_histories.maintenance(workspace_id),
            self.tools.guard(workspace_id),
        )

    def history_storage(self, workspace_id: str) -> WorkspaceHistoryStorage:
        return WorkspaceHistoryStorage(
            self.file_histories.maintenance(workspace_id),
            self.open_workspaces[workspace_id].store,
            self.registry.get(workspace_id).history_quota,
            self.tools.guard(workspace_id).saved_copies_size,
        )

    async def close_workspace(self, workspace_id: str) -> None:
        await self.cache_endpoints.stop(workspace_id)
        self.git.forget(workspace_id)
        workspace = self.open_workspaces.pop(workspace_id, None)
        self.tools.unregister(workspace_id)
        if workspace is not None:
            await workspace.close()
        await self.file_histories.close(workspace_id)
        await self.mcp_servers.stop(workspace_id)

    async def close(self) -> None:
        await self.git.close()
        await self.closed_sessions.release()
        for workspace_id in tuple(self.open_workspaces):
            await self.close_workspace(workspace_id)
        await self.cache_endpoints.close()
        await self.mcp_servers.close()
        try:
            await self._settings_file.flush()
        except HelixError as error:  # there is no window to show it any more, and closing must go on
            log.warning("settings were not kept: %s", error)
        await asyncio.to_thread(self.view_states.save)
        await self.models.close()
        self.secrets.close()


def _delegate_tool() -> ToolSpec:
    text = (resources_dir() / "prompts" / "tools" / f"{DELEGATE}.md").read_text(encoding="utf-8")
    return delegate_spec(*parse_description(text))


def _workspace_folder(record: WorkspaceRecord) -> Path:
    root = Path(record.path)
    if not root.is_dir():
        raise WorkspaceMissing(
            text("Folder {folder} not found.", folder=str(root)),
            text("It may have been moved, renamed or deleted. Sessions and outputs are safe."),
            text("Locate it, or remove the workspace from the list."),
        )
    return root
