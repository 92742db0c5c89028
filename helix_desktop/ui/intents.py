"""Intents: what a click starts, with its failure told where the person looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from helix_desktop.agent.tasks import TaskScope
from helix_desktop.context.errors import HelixError

Start: TypeAlias = Callable[[Coroutine[Any, Any, None], str], object]
"""Starts a named coroutine in a scope that owns it: TaskScope.start."""


class Intents:
    """Starts the coroutines of the window in one scope; a HelixError goes to `tell`."""

    def __init__(
        self,
        scope: TaskScope,
        tell: Callable[[HelixError], None],
        tell_here: Callable[[], Callable[[HelixError], None]] | None = None,
    ) -> None:
        """`tell_here` gives a `tell` for what is on screen at this moment, whatever is by then."""
        self.scope, self.tell = scope, tell
        self._tell_here = tell_here or (lambda: tell)

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Begin; returns at once."""
        task = self.scope.start(self._guarded(work, self._tell_here()), name)
        # Cancelled before its first step, the task would leave the coroutine inside it unawaited.
        task.add_done_callback(lambda _: work.close())
        return task

    @staticmethod
    async def _guarded(work: Coroutine[Any, Any, None], tell: Callable[[HelixError], None]) -> None:
        try:
            await work
        except HelixError as error:
            tell(error)
