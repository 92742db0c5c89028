"""The running calls of a session: what each printed so far, saved while it runs, and how to stop one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.domain.errors import StoreError, ToolError
from helix_desktop.domain.messages import ToolCall
from helix_desktop.domain.store.commit import PartialOutput
from helix_desktop.domain.tools import STOPPED, TURN_ENDED, ProgressText, ToolResult
from helix_desktop.system.clock import ClockMs

_MAX_TAIL = 16_384  # characters kept of a call's latest output, for a view opened later
HALTED = "The user stopped this call before it had an answer. Ask what to do instead, or go on without it."


class RunningCall:
    """A running call; `started_at_ms` is in milliseconds since 1970, `tail` the end of its output so far.

    `share`: how much of it is done, from 0 to 1, if it says so.
    """

    def __init__(self, call: ToolCall, started_at_ms: int) -> None:
        self.call, self.started_at_ms, self.tail = call, started_at_ms, ""
        self.share: float | None = None
        self.stopped = self.is_cut_off = False  # by the user alone, or with its turn

    def append_output(self, text: str) -> None:
        """Append a chunk of its output to the tail."""
        self.tail = (self.tail + text)[-_MAX_TAIL:]
        if isinstance(text, ProgressText):
            self.share = text.share


class RunningCalls:
    """The running calls, from start to end. Stopping one does not affect its turn or other calls."""

    def __init__(self, clock: ClockMs) -> None:
        self._clock = clock
        self._running: dict[str, tuple[RunningCall, asyncio.Task[ToolResult]]] = {}
        self._is_step_stopped = False

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
        """Await a call's work. Raises what it raises; ToolError if it was stopped without a result.

        Canceling ends the work. If it has a result even so, that is returned, and the call `is_cut_off`.
        """
        if self._is_step_stopped:
            work.close()
            running.stopped = True
            raise ToolError(HALTED)
        key = running.call.id
        task = asyncio.create_task(work, name=f"call {key}")  # noqa: TID251 - awaited here, whatever happens
        self._running[key] = running, task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            running.is_cut_off = True
            if not running.stopped:  # else it is ending already, and would lose its output
                task.cancel(TURN_ENDED)
            await _wait_for_end(task, task.cancel)
            if task.cancelled():
                raise
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

    def begin_step(self) -> None:
        """Let calls run again after `stop_step`."""
        self._is_step_stopped = False

    def stop_step(self) -> None:
        """Stop all running calls; those that would start before `begin_step` aren't run."""
        self._is_step_stopped = True
        for call_id in tuple(self._running):
            self.stop(call_id)


async def run_to_end(work: Coroutine[Any, Any, None], on_cancel: Callable[[], object]) -> None:
    """Await work to its end, also when canceled: each cancel calls `on_cancel`, and is raised afterwards.

    Raises what the work raises.
    """
    task = asyncio.create_task(work)  # noqa: TID251 - awaited here, whatever happens
    is_canceled = await _wait_for_end(task, on_cancel)
    task.result()
    if is_canceled:
        raise asyncio.CancelledError


async def _wait_for_end(task: asyncio.Task[Any], on_cancel: Callable[[], object]) -> bool:
    """Wait until a task has ended; each cancel meanwhile calls `on_cancel`. Return True if one came."""
    is_canceled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            is_canceled = True
            on_cancel()
    return is_canceled


_SAVE_EVERY_S = 1.0  # quicker calls are never saved
_log = logging.getLogger(__name__)


class PartialOutputs:
    """Saves the outputs of a session's calls until they are answered, and reads what a crash left of them."""

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime
        self._calls: dict[str, RunningCall] = {}
        self._saved: dict[str, str] | None = {}  # None: not known, for saving failed
        self._task: asyncio.Task[None] | None = None

    def start(self, running: RunningCall) -> None:
        """Save each second from now on, a call's output too, until `end`."""
        self._calls[running.call.id] = running
        if self._task is None or self._task.done():
            name = f"save outputs {self._runtime.session.id}"
            self._task = self._runtime.scope.start(self._save_each_second(), name)

    async def end(self) -> None:
        """Delete what was saved, but of calls whose answer could not be recorded."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        await self._save()

    async def read_unanswered(self) -> list[PartialOutput]:
        """Return what was saved of the outputs of calls that never had an answer."""
        try:
            saved = await self._runtime.session.partial_outputs()
        except StoreError as error:  # a damaged draft must not keep its session closed
            _log.warning("what a crash left of outputs cannot be read: %s", error)
            return []
        self._saved = {output.call_id: output.text for output in saved}
        return [output for output in saved if self._is_unanswered(output.call_id)]

    def _is_unanswered(self, call_id: str) -> bool:
        transcript = self._runtime.transcript
        return call_id in transcript.open_calls and call_id not in transcript.pending_outputs

    async def _save_each_second(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_EVERY_S)
            await self._save()

    async def _save(self) -> None:
        self._calls = {key: running for key, running in self._calls.items() if self._is_unanswered(key)}
        outputs = {key: running.tail for key, running in self._calls.items() if running.tail}
        if outputs == self._saved:
            return
        is_first_try = self._saved is not None
        self._saved = outputs  # also if this is canceled meanwhile: the store goes on
        elapsed_ms = self._runtime.elapsed_ms
        saved = [
            PartialOutput(key, text, elapsed_ms(self._calls[key].started_at_ms))
            for key, text in outputs.items()
        ]
        try:
            await self._runtime.session.save_partial_outputs(saved)
        except StoreError as error:  # the call goes on; recording its answer reports what is wrong
            self._saved = None
            if is_first_try:
                _log.warning("the output of running calls was not saved: %s", error)
