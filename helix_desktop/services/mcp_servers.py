"""The MCP servers of all workspaces: in their mcp.json, secrets in the keychain, running while open.

What they run of their workspace needs consent: noted when the user agrees, checked at each start.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from helix_desktop.agent.ports import TokenCounter, Tools
from helix_desktop.agent.run_settings import schema_json
from helix_desktop.agent.tool_calls.toolset import Toolset
from helix_desktop.config.paths import resources_dir
from helix_desktop.config.secrets import SecretStore
from helix_desktop.domain.deferred_tools import defers_tools, tool_line
from helix_desktop.domain.errors import HelixError, InvalidInput, WorkspaceMissing
from helix_desktop.domain.events.session import McpServerFailed
from helix_desktop.domain.file_history.changes import AgentChanges
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.mcp_server import (
    MAX_SERVERS,
    SIGN_IN_SECRETS,
    FilledPrompt,
    McpServerConfig,
    ServerPrompt,
    ServerResource,
    SignIn,
    validate_server,
)
from helix_desktop.domain.messages import ToolSpec
from helix_desktop.domain.tools import ANY, McpChange, PermissionRule
from helix_desktop.domain.translatable_text import OptionalText, TextContext, join_sentences
from helix_desktop.mcp.client.servers import ConsentEnded, Hub, ServerActor, ServerContext
from helix_desktop.mcp.client.start_files import FolderState, StartFiles, find_start_files, read_folders
from helix_desktop.permissions.rules import mcp_change
from helix_desktop.services.file_history import FileHistories
from helix_desktop.services.mcp_config import McpServerStatus, McpToolStatus, ServerDraft
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.system.folders import WorkspaceRoot
from helix_desktop.system.task_scope import TaskScope
from helix_desktop.tools.find_tools import CallTool, FindTools
from helix_desktop.tools.tool import ToolRegistry
from helix_desktop.words.translation import Translator, translate
from helix_desktop.workspaces.registry import WorkspaceRegistry

tr = Translator("MCP")
text = TextContext("MCP")
log = logging.getLogger(__name__)

replace = msgspec.structs.replace

_FILE_COMMENT = text(
    "The MCP servers of this workspace, by name, each with “command” and “args”, or with “url”. “secrets” "
    "names variables and headers whose values are in the keychain, never here. The guide has an example."
)

MAX_NAMED = 20  # changed paths that a record keeps
_EVERYWHERE = frozenset({""})
_BYTECODE_FOLDER = "bytecode"


class StartConsent:
    """What the user agreed to besides a server's configuration: the files of the workspace that it runs.

    Their digests belong to the consent, whoever changes them. Where a program can load more from a folder,
    the consent ends with any change by the agent in it, as the file history knows them; of places that the
    history does not see, with any change.
    """

    def __init__(
        self,
        registry: WorkspaceRegistry,
        histories: FileHistories,
        inherited_env: Mapping[str, str],
        on_change: Callable[[str], None],
    ) -> None:
        """`on_change` is called with the workspace in whose record a check changed a server's consent."""
        self._registry = registry
        self._histories = histories
        self._inherited_env = inherited_env
        self._on_change = on_change

    async def give(self, workspace_id: str, config: McpServerConfig) -> McpServerConfig:
        now_ms = wall_clock_ms()
        start_files, states = await self._look(workspace_id, config)
        return msgspec.structs.replace(
            config,
            approved=config.fingerprint,
            approved_ms=now_ms,
            approved_files={**start_files.files, **_digests(states)},
            consent_changes=(),
        )

    async def start_files(self, workspace_id: str, config: McpServerConfig) -> tuple[str, ...]:
        """Return what a server runs of its workspace: files, and folders with a `/` at their end."""
        found = await asyncio.to_thread(
            find_start_files, config, self._root(workspace_id), self._inherited_env
        )
        return (*found.files, *(f"{folder or '.'}/" for folder in found.folders))

    async def check(
        self, workspace_id: str, config: McpServerConfig, opened_root: WorkspaceRoot
    ) -> Mapping[str, str]:
        """Return variables for a server that is about to start: Python's bytecode goes where no agent writes.

        Raises ConsentEnded if what it runs is not what the user agreed to: the record says so from now on.
        Raises WorkspaceMissing while the workspace's folder is away: that says nothing of its files.
        """
        await asyncio.to_thread(_check_in_place, opened_root)
        start_files, states = await self._look(workspace_id, config)
        await asyncio.to_thread(_check_in_place, opened_root)
        changes = await self._changes(workspace_id, config, start_files, states)
        if changes:
            ended = msgspec.structs.replace(config, approved="", consent_changes=changes)
            self._save(workspace_id, config, ended)
            raise ConsentEnded.of(ended)
        if not start_files or start_files.reads_bytecode:
            return {}
        return {"PYTHONPYCACHEPREFIX": str(self._registry.data_folder(workspace_id) / _BYTECODE_FOLDER)}

    async def _changes(
        self,
        workspace_id: str,
        config: McpServerConfig,
        start_files: StartFiles,
        states: Mapping[str, FolderState],
    ) -> tuple[str, ...]:
        """Return what of a server's files changed since the consent: a few of the paths, files first."""
        before = config.approved_files
        present = {**start_files.files, **_digests(states)}
        paths = dict.fromkeys(
            path
            for path in (*before, *present)
            if not path.endswith("/") and before.get(path) != present.get(path)
        )
        by_agent = await self._agent_changes(workspace_id, config.approved_ms, tuple(states))
        paths |= dict.fromkeys(by_agent.paths)
        for folder, state in states.items():
            name = f"{folder or '.'}/"
            covered, _, uncovered = before.get(name, "").partition(" ")
            if not state.covered or state.uncovered != uncovered:
                is_newer = state.newest_ms >= config.approved_ms
                paths[state.newest if is_newer and state.newest else name] = None
            elif not by_agent.is_certain and state.covered != covered:
                paths[name] = None
        return tuple(paths)[:MAX_NAMED]

    async def _agent_changes(
        self, workspace_id: str, since_ms: int, folders: tuple[str, ...]
    ) -> AgentChanges:
        history = self._histories.of(workspace_id)
        if not folders:
            return AgentChanges()
        if history is not None:
            with suppress(HelixError):
                return await history.agent_changes(since_ms, folders)
        return AgentChanges(is_certain=False)

    async def _look(
        self, workspace_id: str, config: McpServerConfig
    ) -> tuple[StartFiles, dict[str, FolderState]]:
        root = self._root(workspace_id)
        start_files = await asyncio.to_thread(find_start_files, config, root, self._inherited_env)
        if not start_files.folders:
            return start_files, {}
        history = self._histories.of(workspace_id)
        uncovered = _EVERYWHERE
        if history is not None:
            with suppress(HelixError):  # too many files, say: then any change counts
                uncovered = await history.uncovered_places()
        states, start_files = await asyncio.to_thread(read_folders, root, start_files, uncovered)
        return start_files, states

    def _save(self, workspace_id: str, config: McpServerConfig, other: McpServerConfig) -> None:
        """Save another state of a server, if the record still has it as it was checked. Raises HelixError."""
        self._registry.change_servers(
            workspace_id,
            lambda servers: (other if _is_same(server, config) else server for server in servers),
        )
        self._on_change(workspace_id)

    def _root(self, workspace_id: str) -> Path:
        return Path(self._registry.get(workspace_id).path)


def _check_in_place(root: WorkspaceRoot) -> None:
    try:
        root.check()
    except OSError as error:
        raise WorkspaceMissing(
            text("The workspace's folder is missing."),
            text("It was moved, renamed or deleted, or its drive was removed."),
            text("Put it back, then restart the server."),
        ) from error


def _is_same(server: McpServerConfig, config: McpServerConfig) -> bool:
    return (server.name, server.fingerprint, server.approved, server.approved_ms) == (
        config.name, config.fingerprint, config.approved, config.approved_ms,
    )  # fmt: skip


def _digests(states: Mapping[str, FolderState]) -> dict[str, str]:
    return {f"{folder or '.'}/": f"{state.covered} {state.uncovered}" for folder, state in states.items()}


SIGN_IN_DETAILS = "sign-in:details"  # with a colon: no variable and no header has such a name
_TOKENS = {name: f"sign-in:{name}" for name in SIGN_IN_SECRETS}


class ServerSecrets:
    def __init__(self, secrets: SecretStore, workspace_id: str) -> None:
        self._secrets = secrets
        self._identity = workspace_id

    async def load(self, config: McpServerConfig) -> dict[str, str]:
        keys = {
            name: await self._secrets.get(self._key_name(config.name, name)) for name in config.secret_names
        }
        return {name: key.value for name, key in keys.items() if key.value}

    async def save(self, draft: ServerDraft) -> None:
        values = {name: value.strip() for name, value in draft.secrets.items()}
        await self._save(draft.config.name, {name: value for name, value in values.items() if value})

    async def delete(self, server: str, names: Sequence[str]) -> None:
        await self._save(server, dict.fromkeys(names, ""))

    async def stored(self, server: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of these names that have a value now."""
        keys = {name: await self._secrets.get(self._key_name(server, name)) for name in names}
        return tuple(name for name, key in keys.items() if key.value)

    async def load_sign_in(self, config: McpServerConfig) -> SignIn | None:
        """Return the sign-in at the server's present address; None if there is none."""
        if not config.url:
            return None
        details = (await self._secrets.get(self._key_name(config.name, SIGN_IN_DETAILS))).value
        if not details:
            return None
        tokens = [await self._secrets.get(self._key_name(config.name, key)) for key in _TOKENS.values()]
        values = {field: token.value for field, token in zip(_TOKENS, tokens, strict=True)}
        try:
            sign_in = msgspec.convert({**msgspec.json.decode(details), **values}, SignIn)
        except (msgspec.MsgspecError, TypeError):
            return None
        return sign_in if sign_in.url == config.url and sign_in.access_token else None

    async def reload_sign_in(self, config: McpServerConfig) -> SignIn | None:
        """Return the sign-in as the keychain has it now: another run of Helix may have refreshed it."""
        await self._secrets.set_all({})
        return await self.load_sign_in(config)

    async def save_sign_in(self, config: McpServerConfig, sign_in: SignIn | None) -> None:
        """Save a sign-in, or delete it."""
        values = dict.fromkeys((SIGN_IN_DETAILS, *_TOKENS.values()), "")
        if sign_in is not None:
            facts = msgspec.structs.asdict(sign_in)
            values = {key: facts.pop(field) for field, key in _TOKENS.items()}
            values[SIGN_IN_DETAILS] = msgspec.json.encode(facts).decode()
        await self._save(config.name, values)

    async def _save(self, server: str, values: Mapping[str, str]) -> None:
        await self._secrets.set_all({self._key_name(server, name): value for name, value in values.items()})

    def _key_name(self, server: str, name: str) -> str:
        return f"mcp/{self._identity}/{server}/{name}"


class StatusBuilder:
    """Builds the status of servers. The tokens of a schema are counted once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._token_counts: dict[str, int] = {}

    async def build(
        self,
        hub: Hub | None,
        config: McpServerConfig,
        missing_secrets: tuple[str, ...] = (),
        *,
        defers_tools: bool = False,
    ) -> McpServerStatus:
        """Build the status of a server; `hub` is None while its workspace is not open."""
        if hub is None:
            return McpServerStatus(
                config, "waiting" if config.enabled else "off", missing_secrets=missing_secrets
            )
        condition = hub.status(config)
        actor = hub.actor(config.name)
        sent_text = _line_json if defers_tools else schema_json
        tools = await self._tool_statuses(actor, config, sent_text) if actor else ()
        return McpServerStatus(
            config,
            condition.state,
            condition.reason,
            condition.retry_in_s,
            reported_name=actor.server_title if actor else "",
            tools=tools,
            log=actor.stderr_log.text if actor else "",
            missing_secrets=missing_secrets,
            defers_tools=defers_tools,
        )

    async def _tool_statuses(
        self, actor: ServerActor, config: McpServerConfig, sent_text: Callable[[ToolSpec], str]
    ) -> tuple[McpToolStatus, ...]:
        texts = [sent_text(tool.spec) for tool in actor.tools]
        new = [text for text in texts if text not in self._token_counts]
        self._token_counts.update(zip(new, await self._counter.count(new), strict=True))
        return tuple(
            McpToolStatus(
                tool.tool,
                tool.spec.description.partition("] ")[2],
                self._token_counts[text],
                is_enabled=tool.tool not in config.off,
                is_read_only=tool.claims_read_only,
                refusal=tool.rejection,
            )
            for tool, text in zip(actor.tools, texts, strict=True)
        )


def _line_json(spec: ToolSpec) -> str:
    """Return what names a tool in a request, for counting."""
    return json.dumps(f"{tool_line(spec)}\n").strip('"')


class McpServerService:
    """Runs the servers as the workspaces' records say; a change holds at once, the record is saved first."""

    def __init__(
        self,
        registry: WorkspaceRegistry,
        secrets: SecretStore,
        inherited_env: Mapping[str, str],
        counter: TokenCounter,
        histories: FileHistories,
    ) -> None:
        """`inherited_env` is the environment of which programs get what they need."""
        self._registry = registry
        self._secrets = secrets
        self._inherited_env = inherited_env
        self._status_builder = StatusBuilder(counter)
        self._scope = TaskScope()
        self._hubs: dict[str, Hub] = {}
        self._defers_tools: dict[str, Callable[[], bool]] = {}
        self._listeners: Listeners[[str], None] = Listeners()
        self._consent = StartConsent(registry, histories, inherited_env, self._on_consent_change)

    def _on_consent_change(self, workspace_id: str) -> None:
        """Have the hub see the record's new state; not here, in the task of the server that starts."""
        self._scope.start(self._apply(workspace_id), f"mcp consent {workspace_id}")

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with the workspace whose servers changed; return a function to unsubscribe."""
        return self._listeners.listen(listener)

    def create_toolset(
        self, workspace_id: str, root: Path, own_tools: Tools, delegate_spec: ToolSpec
    ) -> Toolset:
        """Return our own tools of a workspace that is being opened, then those of its servers.

        None of them starts before `start` or `wait_until_ready`. Requests hold `delegate_spec`, too.
        """
        opened_root = WorkspaceRoot(root)
        context = ServerContext(
            root,
            self._inherited_env,
            self._secrets_of(workspace_id).load,
            lambda config: self._consent.check(workspace_id, config, opened_root),
            self._secrets_of(workspace_id).reload_sign_in,
            self._secrets_of(workspace_id).save_sign_in,
        )
        hub = self._hubs[workspace_id] = Hub(
            context, self._scope.start, lambda: self._listeners.notify(workspace_id)
        )

        def mcp_specs() -> list[ToolSpec]:
            return [spec for spec in tools.specs if spec.is_mcp]

        tool_search = ToolRegistry(
            [FindTools(mcp_specs), CallTool(mcp_specs)], resources_dir() / "prompts" / "tools"
        )
        tools = Toolset(own_tools, hub, tool_search)
        self._defers_tools[workspace_id] = lambda: defers_tools((*tools.specs, delegate_spec))

        async def on_tools_changed() -> None:
            await tools.refresh()
            self._remember_tools(workspace_id, hub)

        hub.on_tools_changed = on_tools_changed
        return tools

    def _remember_tools(self, workspace_id: str, hub: Hub) -> None:
        """Save which tools the servers offer, so that new ones are told apart at the next start."""
        if hub.configs != self.configs(workspace_id):
            return  # somebody else has changed the record: it is read soon
        with_tools = hub.configs_with_tools
        if with_tools == hub.configs:
            return
        known = {config.name: config.known_tools for config in with_tools}
        try:
            self._registry.change_servers(
                workspace_id,
                lambda servers: (
                    replace(server, known_tools=known.get(server.name, ())) for server in servers
                ),
            )
        except HelixError as error:
            log.warning("the tools of the MCP servers are not remembered: %s", error)
            return
        hub.replace_configs(with_tools)

    def start(self, workspace_id: str) -> None:
        """Start the servers of an open workspace in the background; without trust, stop them."""
        self._registry.read_servers(workspace_id)
        if self._registry.get(workspace_id).servers:
            self._scope.start(self._apply(workspace_id), f"mcp begin {workspace_id}")

    async def wait_until_ready(self, workspace_id: str, timeout_s: float) -> None:
        """Wait until every server is ready or has failed, at most so many seconds."""
        self._registry.read_servers(workspace_id)
        await self._apply(workspace_id)
        if workspace_id in self._hubs:
            await self._hubs[workspace_id].wait_settled(timeout_s)

    async def stop(self, workspace_id: str) -> None:
        hub = self._hubs.pop(workspace_id, None)
        self._defers_tools.pop(workspace_id, None)
        if hub is not None:
            await hub.close()

    async def close(self) -> None:
        for workspace_id in tuple(self._hubs):
            await self.stop(workspace_id)
        await self._scope.close()

    def configs(self, workspace_id: str) -> tuple[McpServerConfig, ...]:
        return self._registry.get(workspace_id).servers

    async def add(self, workspace_id: str, drafts: Sequence[ServerDraft]) -> None:
        """Add servers and start them: who adds one has seen what it starts. Raises HelixError."""
        self._registry.read_servers(workspace_id)
        configs = self.configs(workspace_id)
        if len(configs) + len(drafts) > MAX_SERVERS:
            raise InvalidInput(
                text("A workspace can have at most {count} servers.", count=MAX_SERVERS),
                fix=text("Remove some first."),
            )
        if workspace_id in self._registry.server_errors:
            raise self._registry.server_errors[workspace_id]
        added: list[McpServerConfig] = []
        for draft in drafts:
            _check(draft.config, tuple(config.name for config in (*configs, *added)))
            await self._secrets_of(workspace_id).save(draft)
            added.append(await self._consent.give(workspace_id, draft.config))
        self._registry.change_servers(workspace_id, lambda servers: (*servers, *added))
        await self._apply(workspace_id)

    async def read(self, workspace_id: str) -> None:
        """Use the servers in `mcp.json` if it was edited: a command that changed needs the user's consent."""
        if self._registry.read_servers(workspace_id):
            await self._apply(workspace_id)

    def file_error(self, workspace_id: str) -> OptionalText:
        """Return what is wrong with `mcp.json`, with its line; the servers in use are those read before."""
        error = self._registry.server_errors.get(workspace_id)
        return error.why if error is not None else ""

    def create_file(self, workspace_id: str) -> Path:
        """Return the path of `mcp.json`; a missing one is made, with a comment. Raises HelixError."""
        file = self._registry.mcp_file(workspace_id)
        file.create(translate(_FILE_COMMENT))
        return file.path

    async def set_secret(self, workspace_id: str, name: str, secret: str, value: str) -> None:
        """Store the value of a secret that a server names, and restart the server. Raises HelixError."""
        self._registry.read_servers(workspace_id)
        config = self._config(workspace_id, name)
        if secret not in config.secret_names:
            raise InvalidInput(
                text("{name} was changed in the meantime.", name=name), fix=text("Review it again.")
            )
        await self._secrets_of(workspace_id).save(ServerDraft(config, {secret: value}))
        await self._apply(workspace_id, name)

    async def unused_secrets(self, workspace_id: str) -> dict[str, tuple[str, ...]]:
        """Return the secrets in the keychain that no server in `mcp.json` names any more, by server."""
        record = self._registry.get(workspace_id)
        secrets = self._secrets_of(workspace_id)
        unused: dict[str, tuple[str, ...]] = {}
        for config in record.servers:
            names = [name for name in config.stored_secrets if name not in config.secret_names]
            unused[config.name] = await secrets.stored(config.name, names)
        for state in record.former_servers:
            unused[state.name] = await secrets.stored(state.name, (*state.stored_secrets, SIGN_IN_DETAILS))
        return {server: names for server, names in unused.items() if names}

    async def delete_unused_secrets(self, workspace_id: str) -> None:
        """Delete the secrets that no server in `mcp.json` has any more. Raises HelixError."""
        self._registry.read_servers(workspace_id)
        unused = await self.unused_secrets(workspace_id)
        for server, names in unused.items():
            await self._secrets_of(workspace_id).delete(server, names)
            if SIGN_IN_DETAILS in names:
                await self._secrets_of(workspace_id).delete(server, tuple(_TOKENS.values()))
        self._registry.change_servers(
            workspace_id, lambda servers: (replace(server, stored_secrets=()) for server in servers)
        )
        self._registry.change(workspace_id, server_states=())
        self._listeners.notify(workspace_id)

    async def consent(self, workspace_id: str, name: str, fingerprint: str) -> None:
        """Let a server start as the user has just seen it. Raises InvalidInput if it changed since."""
        self._registry.read_servers(workspace_id)
        config = self._config(workspace_id, name)
        if config.fingerprint != fingerprint:
            raise InvalidInput(
                text("{name} was changed in the meantime.", name=name), fix=text("Review it again.")
            )
        is_same = config.approved in ("", config.fingerprint)
        known_tools = config.known_tools if is_same else ()
        approved = await self._consent.give(workspace_id, replace(config, known_tools=known_tools))
        await self._change(workspace_id, name, lambda now: approved if _is_same(now, config) else now)

    async def set_enabled(self, workspace_id: str, name: str, enabled: bool) -> None:
        await self._change(workspace_id, name, lambda config: replace(config, enabled=enabled))

    async def set_disabled_tools(self, workspace_id: str, name: str, tool_names: Sequence[str]) -> None:
        off = tuple(sorted(tool_names))
        await self._change(workspace_id, name, lambda config: replace(config, off=off))

    async def restart(self, workspace_id: str, name: str) -> None:
        await self._apply(workspace_id, name)

    async def sign_in(self, workspace_id: str, name: str, on_address: Callable[[str], None]) -> None:
        """Sign in at a server and start it; `on_address` gets the address to open in a browser.

        Raises HelixError if that fails, or the browser brings no answer in time.
        """
        config = self._config(workspace_id, name)
        oauth = await asyncio.to_thread(importlib.import_module, "helix_desktop.mcp.client.oauth")
        headers = {**config.headers, **await self._secrets_of(workspace_id).load(config)}
        earlier = await self._secrets_of(workspace_id).load_sign_in(config)
        needed_scope = earlier.needed_scope if earlier is not None else ""
        sign_in = await oauth.sign_in(config.url, headers, on_address, translate, needed_scope)
        if self._config(workspace_id, name).url != config.url:
            raise InvalidInput(
                text("{name} was changed in the meantime.", name=name), fix=text("Sign in again.")
            )
        await self._secrets_of(workspace_id).save_sign_in(config, sign_in)
        await self._apply(workspace_id, name)

    async def sign_out(self, workspace_id: str, name: str) -> None:
        """Delete a sign-in. Raises HelixError if the keychain still has it."""
        config = self._config(workspace_id, name)
        secrets = self._secrets_of(workspace_id)
        await secrets.save_sign_in(config, None)
        problem = self._secrets.problem
        if await secrets.load_sign_in(config) is not None:
            raise HelixError(
                text("You're still signed in at {name}.", name=name),
                text("The keychain couldn't be changed: {reason}.", reason=problem),
                text("Unlock it, then sign out again."),
            )
        await self._apply(workspace_id, name)

    async def remove(self, workspace_id: str, name: str) -> Callable[[], Awaitable[None]]:
        """Remove a server with its secrets; the returned function restores it."""
        self._registry.read_servers(workspace_id)
        before = self.configs(workspace_id)
        config = self._config(workspace_id, name)
        values = await self._secrets_of(workspace_id).load(config)
        sign_in = await self._secrets_of(workspace_id).load_sign_in(config)
        self._registry.change_servers(
            workspace_id, lambda servers: (server for server in servers if server.name != name)
        )
        await self._apply(workspace_id)
        await self._secrets_of(workspace_id).delete(name, config.secret_names)
        await self._secrets_of(workspace_id).save_sign_in(config, None)

        async def restore() -> None:
            self._registry.read_servers(workspace_id)
            now = self.configs(workspace_id)
            if any(server.name == name for server in now):
                raise InvalidInput(
                    text("Another server is now named {name}.", name=name),
                    fix=text("Rename or remove it first."),
                )
            await self._secrets_of(workspace_id).save(ServerDraft(config, dict(values)))
            await self._secrets_of(workspace_id).save_sign_in(config, sign_in)
            index = before.index(config)
            self._registry.change_servers(
                workspace_id, lambda servers: (*servers[:index], config, *servers[index:])
            )
            await self._apply(workspace_id)

        return restore

    async def _change(
        self, workspace_id: str, name: str, change: Callable[[McpServerConfig], McpServerConfig]
    ) -> None:
        """Change the state of a server. Raises InvalidInput if it doesn't exist."""
        self._config(workspace_id, name)
        self._registry.change_servers(
            workspace_id,
            lambda servers: (change(server) if server.name == name else server for server in servers),
        )
        await self._apply(workspace_id)

    def _config(self, workspace_id: str, name: str) -> McpServerConfig:
        for config in self.configs(workspace_id):
            if config.name == name:
                return config
        raise InvalidInput(
            text("The server {name} doesn't exist anymore.", name=name), fix=text("Add it again.")
        )

    async def statuses(self, workspace_id: str) -> tuple[McpServerStatus, ...]:
        hub = self._hubs.get(workspace_id)
        statuses = []
        # Somebody else may have changed the record.
        if hub is not None and hub.configs != self.configs(workspace_id):
            await self._apply(workspace_id)
        for config in self.configs(workspace_id):
            values = await self._secrets_of(workspace_id).load(config)
            missing = tuple(name for name in config.secret_names if name not in values)
            status = await self._status_builder.build(
                hub, config, missing, defers_tools=self._defers_tools.get(workspace_id, bool)()
            )
            is_signed_in = await self._secrets_of(workspace_id).load_sign_in(config) is not None
            status = replace(status, is_signed_in=is_signed_in)
            if status.state == "unapproved":
                files = await self._consent.start_files(workspace_id, config)
                status = replace(status, start_files=files)
            statuses.append(status)
        return tuple(statuses)

    def servers_lacking_secrets(self, workspace_id: str) -> tuple[str, ...]:
        """Return the servers that did not start, since a secret has no value, by name."""
        hub = self._hubs.get(workspace_id)
        return hub.servers_lacking_secrets if hub is not None else ()

    def failures(self, workspace_id: str) -> tuple[McpServerFailed, ...]:
        """Return the servers that should run and don't, each with the reason and its last line."""
        hub = self._hubs.get(workspace_id)
        return tuple(McpServerFailed(*failure) for failure in hub.failures) if hub is not None else ()

    def rejected_tools(self, workspace_id: str) -> tuple[tuple[str, str, OptionalText], ...]:
        """Return the tools that can't be offered: the server, the tool, and why."""
        hub = self._hubs.get(workspace_id)
        return hub.rejected_tools if hub is not None else ()

    def prompts(self, workspace_id: str) -> tuple[ServerPrompt, ...]:
        hub = self._hubs.get(workspace_id)
        return hub.prompts if hub is not None else ()

    def resources(self, workspace_id: str) -> tuple[ServerResource, ...]:
        hub = self._hubs.get(workspace_id)
        return hub.resources if hub is not None else ()

    async def get_prompt(
        self, workspace_id: str, prompt: ServerPrompt, arguments: dict[str, str]
    ) -> FilledPrompt:
        """Return a prompt as its server fills it in. Raises InvalidInput."""
        return await self._actor(workspace_id, prompt.server).get_prompt(prompt, arguments)

    async def read_resource(self, workspace_id: str, resource: ServerResource) -> bytes:
        """Return the bytes of a resource. Raises InvalidInput."""
        return await self._actor(workspace_id, resource.server).read_resource(resource)

    def _actor(self, workspace_id: str, name: str) -> ServerActor:
        hub = self._hubs.get(workspace_id)
        actor = hub.actor(name) if hub is not None else None
        if actor is None:
            raise InvalidInput(
                text("The server {name} isn't running.", name=name),
                fix=text("Check it in Settings → MCP servers."),
            )
        return actor

    def is_starting(self, workspace_id: str, name: str) -> bool:
        """Return True if a server is about to start, or is being started."""
        hub = self._hubs.get(workspace_id)
        actor = hub.actor(name) if hub is not None else None
        return actor is not None and actor.status.state in ("waiting", "starting")

    def later_tools(self, workspace_id: str) -> dict[str, tuple[str, ...]]:
        """Return the tools that servers came to offer while the workspace was open, by server."""
        hub = self._hubs.get(workspace_id)
        return hub.later_tools if hub is not None else {}

    def rule_change(self, workspace_id: str, rule: PermissionRule) -> McpChange:
        """Return what is known to have changed in a server and its tools since a rule was saved."""
        if rule.kind != "server" or rule.effect != "allow":
            return ""
        configs = {config.name: config for config in self.configs(workspace_id)}
        config = configs.get(rule.subject)
        hub = self._hubs.get(workspace_id)
        if config is None:
            return "server"
        actor = hub.actor(config.name) if hub is not None else None
        digests = actor.tool_digests if actor is not None else {}
        return mcp_change(
            rule,
            config.fingerprint,
            {tool: digest for tool, digest in digests.items() if rule.tool in (ANY, tool)},
        )

    async def secret_storage_text(self) -> str:
        keychain = await self._secrets.keychain_name()
        if keychain:
            return tr("Kept in {keychain}.", keychain=keychain)
        reason = self._secrets.problem or tr("this system has no keychain")
        return tr("Kept until Helix Desktop closes: {reason}.", reason=reason)

    def _secrets_of(self, workspace_id: str) -> ServerSecrets:
        return ServerSecrets(self._secrets, workspace_id)

    async def _apply(self, workspace_id: str, restart_name: str = "") -> None:
        hub = self._hubs.get(workspace_id)
        if hub is not None:
            record = self._registry.get(workspace_id)
            await hub.set_servers(record.servers, record.trusted, restart_name)
        self._listeners.notify(workspace_id)


def _check(config: McpServerConfig, used_names: tuple[str, ...] = ()) -> None:
    faults = validate_server(config, used_names)
    if faults:
        what = (
            text("The server {name} isn't complete yet.", name=config.name)
            if config.name
            else text("The server isn't complete yet.")
        )
        raise InvalidInput(what, join_sentences(*faults.values()))
