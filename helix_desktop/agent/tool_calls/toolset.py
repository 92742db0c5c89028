"""Several sources of tools as one: told in a stable order, each under a name of its own, and routed."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator

from helix_desktop.agent.ports import Tools
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall, ToolSpec
from helix_desktop.domain.tools import ApprovalRequest, OutputCallback, ToolResult, ignore_output

Listener = Callable[[], Awaitable[None]]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what every known provider takes
log = logging.getLogger(__name__)


class Toolset:
    """The tools of all sources, in the sources' order and then each source's own.

    The first source to use a name has it: a later tool of that name, or of one that a reader could take for
    it, is told to nobody and cannot be called. What is told changes with `refresh` alone.
    """

    def __init__(self, *sources: Tools) -> None:
        self._sources = sources
        self._listeners: list[Listener] = []
        self._specs: tuple[ToolSpec, ...] = ()
        self._source_by_name: dict[str, Tools] = {}
        self._reload()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order."""
        return self._specs

    async def approval(self, call: ToolCall) -> ApprovalRequest | None:
        """The question a call raises before it may run; None when it needs no approval.

        Raises ToolError when the call is refused whatever the person says.
        """
        return await self._source_for(call).approval(call)

    async def run(self, call: ToolCall, on_output: OutputCallback = ignore_output) -> ToolResult:
        """Run a call; `told` hears its output while it runs. Raises ToolError with what the agent is told.

        Cancelling ends what was started; with the message STOPPED, what there is so far may be the answer.
        """
        return await self._source_for(call).run(call, on_output)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be awaited after each change of `specs`. Call the returned function to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def refresh(self) -> None:
        """Ask the sources again what they have; returns when all listeners have followed a change."""
        before = self._specs
        self._reload()
        if self._specs != before:
            for listener in tuple(self._listeners):
                await listener()

    def _reload(self) -> None:
        names_by_likeness: dict[str, str] = {}
        self._source_by_name, specs = {}, []
        for source, spec in self._all_specs():
            likeness = spec.name.casefold().replace("-", "_")
            if not _NAME.fullmatch(spec.name) or likeness in names_by_likeness:
                log.info("a tool called %.80r is left out: the name is taken or not usable", spec.name)
                continue
            names_by_likeness[likeness] = spec.name
            self._source_by_name[spec.name] = source
            specs.append(spec)
        self._specs = tuple(specs)

    def _all_specs(self) -> Iterator[tuple[Tools, ToolSpec]]:
        return ((source, spec) for source in self._sources for spec in source.specs)

    def _source_for(self, call: ToolCall) -> Tools:
        try:
            return self._source_by_name[call.name]
        except KeyError:
            names = ", ".join(self._source_by_name)
            raise ToolError(f"There is no tool {call.name[:80]!r}.", fix=f"The tools are: {names}.") from None
