"""What running calls printed so far, saved while they run: a crash may take a second of it at most."""

from __future__ import annotations

import asyncio
import logging

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.tool_calls.running_calls import RunningCalls
from helix_desktop.domain.errors import StoreError

_SAVE_EVERY_S = 1.0  # quicker calls are never saved
_log = logging.getLogger(__name__)


class PartialOutputs:
    """Saves the outputs of one session's running calls, and reads what a crash left of them."""

    def __init__(self, runtime: SessionRuntime, running_calls: RunningCalls) -> None:
        self._runtime, self._running_calls = runtime, running_calls
        self._saved: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Save each second from now on, until `end`."""
        if self._task is None or self._task.done():
            name = f"save outputs {self._runtime.session.id}"
            self._task = self._runtime.scope.start(self._save_each_second(), name)

    async def end(self) -> None:
        """Delete what was saved: no call runs any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        await self._save()

    async def read_unanswered(self) -> dict[str, str]:
        """Return what was saved of the outputs of calls that never had an answer, by call id."""
        transcript = self._runtime.transcript
        try:
            self._saved = await self._runtime.session.partial_outputs()
        except StoreError as error:  # a damaged draft must not keep its session closed
            _log.warning("what a crash left of outputs cannot be read: %s", error)
        return {
            call_id: text
            for call_id, text in self._saved.items()
            if call_id in transcript.open_calls and call_id not in transcript.pending_outputs
        }

    async def _save_each_second(self) -> None:
        while True:
            await asyncio.sleep(_SAVE_EVERY_S)
            await self._save()

    async def _save(self) -> None:
        outputs = {running.call.id: running.tail for running in self._running_calls.running if running.tail}
        if outputs == self._saved:
            return
        self._saved = outputs  # also if this is canceled meanwhile: the store goes on
        try:
            await self._runtime.session.save_partial_outputs(outputs)
        except StoreError as error:  # the call goes on; recording its answer reports what is wrong
            _log.warning("the output of running calls was not saved: %s", error)
