"""The calls of a session that run right now: what each has put out lately, and how one alone is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from helix_desktop.agent.ports import Clock
from helix_desktop.domain.errors import ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.tools import STOPPED, ToolResult

_MAX_TAIL = 16_384  # characters kept of what a call put out lately, for who looks at it late
HALTED = "The user stopped this call before it had an answer. Ask what to do instead, or go on without it."


class RunningCall:
    """One call that runs; `began` is in milliseconds since 1970, `tail` the end of its output so far."""

    def __init__(self, call: ToolCall, started_at_ms: int) -> None:
        self.call, self.started_at_ms, self.tail = call, started_at_ms, ""
        self.stopped = False

    def append_output(self, text: str) -> None:
        """Take a piece of its output."""
        self.tail = (self.tail + text)[-_MAX_TAIL:]


class RunningCalls:
    """Follows calls from start to end. Stopping one leaves its turn and all other calls alone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, tuple[RunningCall, asyncio.Task[ToolResult]]] = {}

    def find(self, call_id: str) -> RunningCall | None:
        """A call that runs; None when it does not."""
        running = self._running.get(call_id)
        return running[0] if running else None

    def create(self, call: ToolCall) -> RunningCall:
        """A call that is about to run."""
        return RunningCall(call, self._clock())

    async def run(self, running: RunningCall, work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        """Do the work of a call. Raises what it raises; ToolError when it was stopped without an answer."""
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
        """End one call; it is answered with what it has. False when it does not run."""
        running = self._running.get(call_id)
        if running is None or not running[1].cancel(STOPPED):
            return False
        running[0].stopped = True
        return True
