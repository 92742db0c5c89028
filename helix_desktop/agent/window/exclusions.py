"""Exclusions: the user leaves something out of the requests that follow."""

from __future__ import annotations

from helix_desktop.agent.session_runtime import SessionRuntime
from helix_desktop.agent.window.rewriter import WindowRewriter
from helix_desktop.context.window.exclusion import (
    Exclusion,
    excluded_event,
    plan_exclusion,
    plan_opening_exclusion,
)
from helix_desktop.domain.errors import OutputFormUnavailable
from helix_desktop.domain.events.recorded_event import Event
from helix_desktop.domain.events.rewrite import Excluded
from helix_desktop.domain.translatable_text import TextContext

_text = TextContext("Agent")


class Exclusions:
    """Records what the user excludes; what stood there is stored first."""

    def __init__(self, runtime: SessionRuntime, rewriter: WindowRewriter) -> None:
        self._runtime, self._rewriter = runtime, rewriter

    async def exclude(self, seq: int, part: int = 0) -> None:
        """Exclude what `seq` put into the window, with a `part` that text of the opening.

        Raises OutputFormUnavailable if it stands there no more or cannot be excluded, StoreError.
        """
        planned = self._plan(seq, part)
        tokens = await self._tokens_of(planned)

        def decide() -> tuple[Event, ...]:
            return (self._event(planned, tokens),) if self._plan(seq, part) == planned else ()

        await self._runtime.session.record_decided(decide, planned.contents)

    async def savings(self, seq: int, part: int = 0) -> int:
        """Return the tokens that `exclude` would save. Raises OutputFormUnavailable."""
        planned = self._plan(seq, part)
        return self._event(planned, await self._tokens_of(planned)).saved

    def _event(self, planned: Exclusion, tokens: int) -> Excluded:
        runtime = self._runtime
        return excluded_event(planned, tokens, runtime.transcript, runtime.policy, runtime.frame)

    async def _tokens_of(self, planned: Exclusion) -> int:
        return sum(await self._runtime.counter.count(list(planned.counted_texts)))

    def _plan(self, seq: int, part: int) -> Exclusion:
        transcript, digits = self._runtime.transcript, self._runtime.policy.handle_digits
        if part:
            planned = plan_opening_exclusion(transcript, seq, part, digits)
        else:
            planned = plan_exclusion(self._rewriter.measure()[0], transcript, seq, digits)
        if planned is None:
            raise OutputFormUnavailable(
                _text("This can't be excluded now."),
                _text("It is pinned, left the context, or the agent is working on it."),
                _text("Unpin it, or wait for the answer."),
            )
        return planned
