"""The toolset: several sources of tools as one, in a stable order, with unique names, routed by name."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable

from helix_desktop.agent.ports import Tools
from helix_desktop.domain.errors import UnknownTool
from helix_desktop.domain.listeners import Listeners
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.question import Question
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output

log = logging.getLogger(__name__)


class SessionTools:
    """A workspace's tools as one session calls them: some are answered by tools that know this session.

    What the model is offered, and what needs approval, is the same in every session.
    """

    def __init__(self, tools: Tools, session_tools: Tools) -> None:
        """`session_tools` answer the calls of their names."""
        self._tools = tools
        self._session_tools = session_tools
        self._names = frozenset(spec.name for spec in session_tools.specs)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._tools.specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        return await self._tools.approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        tools = self._session_tools if call.name in self._names else self._tools
        return await tools.run(call, on_output)


Listener = Callable[[], Awaitable[None]]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what every known provider takes


class Toolset:
    """The tools of all sources, in the order of the sources and then each source's own.

    The first source to use a name owns it: a later tool with that name, or one easily mistaken for it, is
    left out and cannot be called. The specs change only with `refresh`.
    """

    def __init__(self, *sources: Tools) -> None:
        self._sources = sources
        self._listeners: Listeners[[], Awaitable[None]] = Listeners()
        self._specs: tuple[ToolSpec, ...] = ()
        self._source_by_name: dict[str, Tools] = {}
        self._reload()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | Question | None:
        return await self._source_for(call).approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        return await self._source_for(call).run(call, on_output)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Subscribe to changes of `specs`; each listener is awaited. Call the result to unsubscribe."""
        return self._listeners.listen(listener)

    async def refresh(self) -> None:
        """Read the sources' tools again; return once all listeners have handled a change."""
        before = self._specs
        self._reload()
        if self._specs != before:
            for listener in self._listeners:
                await listener()

    def _reload(self) -> None:
        names_by_likeness: dict[str, str] = {}
        self._source_by_name = {}
        specs = []
        for source, spec in ((tools, each) for tools in self._sources for each in tools.specs):
            likeness = spec.name.casefold().replace("-", "_")
            if not _NAME.fullmatch(spec.name) or likeness in names_by_likeness:
                log.info("a tool called %.80r is left out: the name is taken or not usable", spec.name)
                continue
            names_by_likeness[likeness] = spec.name
            self._source_by_name[spec.name] = source
            specs.append(spec)
        self._specs = tuple(specs)

    def _source_for(self, call: ToolCall) -> Tools:
        try:
            return self._source_by_name[call.name]
        except KeyError:
            raise UnknownTool(call.name, self._source_by_name) from None
