"""The running calls of a session: the latest output of each, and how to stop a single one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from helix_desktop.agent.ports import Clock
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import STOPPED, ToolResult

_MAX_TAIL = 16_384  # characters kept of a call's latest output, for a view opened later
HALTED = "The user stopped this call before it had an answer. Ask what to do instead, or go on without it."


class RunningCall:
    """A running call; `started_at_ms` is in milliseconds since 1970, `tail` the end of its output so far."""

    def __init__(self, call: ToolCall, started_at_ms: int) -> None:
        self.call, self.started_at_ms, self.tail = call, started_at_ms, ""
        self.stopped = False

    def append_output(self, text: str) -> None:
        """Append a chunk of its output to the tail."""
        self.tail = (self.tail + text)[-_MAX_TAIL:]


class RunningCalls:
    """The running calls, from start to end. Stopping one does not affect its turn or other calls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, tuple[RunningCall, asyncio.Task[ToolResult]]] = {}

    def find(self, call_id: str) -> RunningCall | None:
        """Return a running call; None if it does not run."""
        running = self._running.get(call_id)
        return running[0] if running else None

    @property
    def running(self) -> tuple[RunningCall, ...]:
        """Return those that run now, the first started first."""
        return tuple(call for call, _ in self._running.values())

    def create(self, call: ToolCall) -> RunningCall:
        """Return a record for a call that is about to run."""
        return RunningCall(call, self._clock())

    async def run(self, running: RunningCall, work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        """Await a call's work. Raises what it raises; ToolError if it was stopped without a result."""
        key = running.call.id
        try:
            async with asyncio.TaskGroup() as group:
                task = group.create_task(work, name=f"call {key}")
                self._running[key] = running, task
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        finally:
            del self._running[key]
        if task.cancelled():
            raise ToolError(HALTED)
        return task.result()

    def stop(self, call_id: str) -> bool:
        """Stop one call; its output so far is its answer. Return False if it does not run."""
        running = self._running.get(call_id)
        if running is None or not running[1].cancel(STOPPED):
            return False
        running[0].stopped = True
        return True
