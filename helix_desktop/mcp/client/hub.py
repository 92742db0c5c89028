"""The MCP servers of one workspace: started with the user's consent, and offered as one source of tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import msgspec

from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.mcp_server import McpServerConfig
from helix_desktop.domain.messages import AllowedCall, ToolCall, ToolSpec
from helix_desktop.domain.permissions.rules import suggest_server_rules
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output
from helix_desktop.domain.translatable_text import OptionalText
from helix_desktop.domain.unicode_safety import escape_hidden
from helix_desktop.mcp.client.connection_errors import error_reason
from helix_desktop.mcp.client.exposed_tool import ExposedTool
from helix_desktop.mcp.client.server_actor import ConsentEnded, ServerActor, ServerContext, ServerStatus

TaskStarter = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]
"""Starts an owned task under a name."""


async def _ignore_change() -> None:
    """Do nothing: the default for `on_tools_changed`."""


class Hub:
    """The lifecycle of servers as they are configured, and the routing of their tool calls.

    `start_task` starts and owns the tasks, `on_change` is called whenever anything about a server has
    changed, `on_tools_changed` is awaited when the tools have.
    """

    def __init__(
        self, context: ServerContext, start_task: TaskStarter, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._context, self._start_task, self._on_change = context, start_task, on_change
        self.on_tools_changed: Callable[[], Awaitable[None]] = _ignore_change
        self._configs: tuple[McpServerConfig, ...] = ()
        self._trusted = True
        self._actors: dict[str, ServerActor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._servers_lock = asyncio.Lock()

    async def set_servers(self, configs: Sequence[McpServerConfig], trusted: bool, restart: str = "") -> None:
        """Set the servers; unchanged ones keep running, the one named `restart` is started again.

        In a folder that is not `trusted` nothing runs.
        """
        async with self._servers_lock:
            self._configs, self._trusted = tuple(configs), trusted
            runnable = {config.name: config for config in configs if self._may_run(config)}
            previous_tools: dict[str, tuple[ExposedTool, ...]] = {}
            for name, actor in tuple(self._actors.items()):
                unchanged = name in runnable and _can_keep_running(runnable[name], actor.config)
                if not unchanged or name == restart:
                    tools = await self._stop_server(name)
                    previous_tools[name] = tools if unchanged else ()
            for name, config in runnable.items():
                if name in self._actors:
                    self._actors[name].config = config
                else:
                    self._start_server(config, previous_tools.get(name, ()))
        self._on_change()
        await self.on_tools_changed()

    def _may_run(self, config: McpServerConfig) -> bool:
        return self._trusted and config.enabled and config.is_consented

    def _start_server(self, config: McpServerConfig, known_tools: tuple[ExposedTool, ...]) -> None:
        """Start a server; offer `known_tools` until it lists its tools."""
        actor = ServerActor(config, self._context, self._forward_tools_changed, self._on_change)
        actor.tools = known_tools
        self._actors[config.name] = actor
        self._tasks[config.name] = self._start_task(actor.run(), f"mcp server {config.name}")

    async def _forward_tools_changed(self) -> None:
        await self.on_tools_changed()

    async def _stop_server(self, name: str) -> tuple[ExposedTool, ...]:
        """Stop a server and return the tools that it offered."""
        task, actor = self._tasks.pop(name), self._actors.pop(name)
        task.cancel()
        await asyncio.wait([task])
        return actor.tools

    async def close(self) -> None:
        """Stop all servers concurrently and wait until their processes are gone."""
        async with self._servers_lock:
            tasks = list(self._tasks.values())
            self._tasks.clear()
            self._actors.clear()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    @property
    def configs(self) -> tuple[McpServerConfig, ...]:
        """The servers, running or not, in the order of the record."""
        return self._configs

    @property
    def configs_with_tools(self) -> tuple[McpServerConfig, ...]:
        """The servers, each with the tools that it offers now; one that offers none keeps those it had."""
        return tuple(map(self._with_tools, self._configs))

    def _with_tools(self, config: McpServerConfig) -> McpServerConfig:
        actor = self._actors.get(config.name)
        names = actor.tool_names if actor is not None else ()
        return msgspec.structs.replace(config, known_tools=names) if names else config

    def replace_configs(self, configs: tuple[McpServerConfig, ...]) -> None:
        """Replace the servers by the same with other known tools: nothing is started or ended."""
        self._configs = configs
        for config in configs:
            if config.name in self._actors:
                self._actors[config.name].config = config

    def actor(self, name: str) -> ServerActor | None:
        """Return the actor of a server that runs or is to run; None if there is none."""
        return self._actors.get(name)

    def status(self, config: McpServerConfig) -> ServerStatus:
        """Return the status of a server."""
        actor = self._actors.get(config.name)
        if actor is not None:
            return actor.status
        if not config.enabled:
            return ServerStatus("off")
        return ServerStatus(
            "unapproved" if not config.is_consented else "untrusted" if not self._trusted else "waiting"
        )

    @property
    def servers_lacking_secrets(self) -> tuple[str, ...]:
        """The servers that did not start, since a secret has no value, by name."""
        return tuple(name for name, actor in self._actors.items() if actor.status.lacks_secret)

    @property
    def failures(self) -> tuple[tuple[str, OptionalText], ...]:
        """The servers that should run and don't, by name, each with the reason."""
        return tuple(
            (config.name, actor.failure_reason if actor else error_reason(ConsentEnded.of(config)))
            for config in self._configs
            if ((actor := self._actors.get(config.name)) is not None and not actor.is_up)
            or (actor is None and self._trusted and config.enabled and config.consent_changes)
        )

    @property
    def rejected_tools(self) -> tuple[tuple[str, str, OptionalText], ...]:
        """The tools that can't be offered: the server, the tool, and why."""
        return tuple(
            (name, tool.tool, tool.rejection)
            for name, actor in self._actors.items()
            for tool in actor.tools
            if tool.rejection
        )

    @property
    def later_tools(self) -> dict[str, tuple[str, ...]]:
        """The tools that servers came to offer while they were known, by server."""
        return {name: actor.later_tools for name, actor in self._actors.items() if actor.later_tools}

    async def wait_settled(self, timeout_s: float) -> None:
        """Wait until every server is ready or has failed once, at most `timeout_s` seconds."""
        await asyncio.gather(
            *(actor.wait_ready(timeout_s, restart_failed=False) for actor in tuple(self._actors.values()))
        )

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are switched on, server by server."""
        return tuple(tool.spec for _, tool in self._exposed_tools())

    def _exposed_tools(self) -> Iterator[tuple[ServerActor, ExposedTool]]:
        for config in self._configs:
            actor = self._actors.get(config.name)
            for tool in actor.tools if actor else ():
                if actor and not tool.rejection and tool.tool not in config.off:
                    yield actor, tool

    def _find_tool(self, call: ToolCall) -> tuple[ServerActor, ExposedTool]:
        for actor, tool in self._exposed_tools():
            if tool.spec.name == call.name:
                return actor, tool
        raise ToolError(
            f"The tool {call.name[:80]!r} is not there any more.",
            "Its MCP server was switched off, or does not offer it now.",
            "Go on without it.",
        )

    async def approval(self, call: ToolCall) -> ApprovalRequest:
        """Return the approval request that every call needs, about the tool as its server describes it now.

        Raises ToolError for a tool that is gone, or whose server is.
        """
        actor, _ = self._find_tool(call)
        await actor.ensure_ready()
        actor, tool = self._find_tool(call)
        config = actor.config
        rules = suggest_server_rules(call.name, config.name, config.fingerprint, actor.tool_digests)
        if not tool.claims_read_only:  # a claim is no proof: it only limits the suggestions
            rules = rules[:1]
        return ApprovalRequest(
            call.id,
            call.name,
            f"{config.name}: {tool.tool}",
            summary=f"{config.name}: {tool.title}",
            detail=_format_arguments(call.arguments),
            rule=rules[0],
            kind="mcp",
            suggested_rules=rules,
            server=config.name,
            definition=config.fingerprint,
            description=tool.description,
            description_digest=tool.digest,
            claims_read_only=tool.claims_read_only,
        )

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call at its server, if that describes the tool as it did when the call was allowed.

        Raises ToolError. Canceling cancels it at the server.
        """
        actor, tool = self._find_tool(call)
        digest = call.digest if isinstance(call, AllowedCall) else tool.digest
        return await actor.call_tool(tool.tool, digest, call.arguments, on_output)


def _can_keep_running(config: McpServerConfig, running_config: McpServerConfig) -> bool:
    """Return True if a running server can keep running with a changed configuration."""
    return config.fingerprint == running_config.fingerprint and config.quiet_s == running_config.quiet_s


def _format_arguments(arguments: str) -> str:
    """Format a call's arguments for the user, with hidden characters escaped."""
    try:
        return escape_hidden(msgspec.json.format(arguments, indent=2))
    except (msgspec.DecodeError, RecursionError):
        return escape_hidden(arguments)
