"""What running calls printed so far, saved while they run: a crash may take a second of it at most."""

from __future__ import annotations

import asyncio
import logging

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.tool_calls.running_calls import RunningCall
from helix_desktop.domain.errors import StoreError
from helix_desktop.domain.store.commit import PartialOutput

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
