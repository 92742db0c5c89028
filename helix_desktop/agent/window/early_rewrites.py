"""Early rewrites: those that are due when an answer comes, made while its tools run."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.policy import ContextPolicy
from helix_desktop.domain.errors import HelixError

# Model calls and observations so far, and whether rewrites are on hold.
_Conditions = tuple[int, int, bool]


class EarlyRewrites:
    """Makes the due rewrites of one session without delaying a request: the outputs are awaited anyway.

    They are decided without the outputs, which are among the protected newest messages.
    """

    def __init__(self, runtime: SessionRuntime, rewriter: WindowRewriter) -> None:
        self._runtime, self._rewriter = runtime, rewriter
        self._task: asyncio.Task[None] | None = None
        self._made_for: tuple[_Conditions, ContextPolicy] | None = None
        self._last_rewrite_seq = 0  # after they were made

    def start(self) -> None:
        """Start them; `wait` awaits their end."""
        if self._task is None or self._task.done():
            self._task = self._runtime.scope.start(self.make(), f"rewrites {self._runtime.session.id}")

    async def make(self) -> None:
        """Make them. A failure is left to the next request, which makes them again."""
        conditions, policy = self._conditions(), self._runtime.policy
        with suppress(HelixError):
            await self._rewriter.apply_due_rewrites()
            self._made_for = conditions, policy
            self._last_rewrite_seq = self._runtime.transcript.window.last_rewrite_seq

    async def wait(self) -> None:
        """Wait for those that are being made."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def interrupt(self) -> None:
        """Cancel those that are being made: what is not recorded by now comes before the next request."""
        if self._task is not None:
            self._task.cancel()

    async def cancel(self) -> None:
        """Cancel those that are being made, and wait for their end."""
        self.interrupt()
        await self.wait()

    def suffice(self) -> bool:
        """Return True if the next request needs no others.

        It does after another model call, rewrite or policy, after new observations or a change of the hold,
        with a cold provider cache, and under pressure.
        """
        if (
            self._made_for is None
            or self._last_rewrite_seq != self._runtime.transcript.window.last_rewrite_seq
        ):
            return False
        conditions, policy = self._made_for
        is_same = conditions == self._conditions() and policy is self._runtime.policy
        return is_same and not self._rewriter.is_cold() and self._rewriter.gauge().pressure == "none"

    def _conditions(self) -> _Conditions:
        transcript = self._runtime.transcript
        return transcript.messages.steps, len(transcript.rewrites.observations), transcript.on_hold
