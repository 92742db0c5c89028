"""Async actions that a click starts; failures are shown where the user looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from helix_desktop.domain.errors import HelixError
from helix_desktop.system.task_scope import TaskScope

StartCoroutine: TypeAlias = Callable[[Coroutine[Any, Any, None], str], object]
"""Starts a named coroutine in a scope that owns it: TaskScope.start."""

ReportOutcome: TypeAlias = Callable[[str, HelixError | None], None]
"""Says how an action ended, by its name: with an error, or well."""


class AsyncActions:
    """Starts the window's coroutines in one task scope; a HelixError goes to `show_error`."""

    def __init__(
        self,
        scope: TaskScope,
        show_error: Callable[[HelixError], None],
        bind_place: Callable[[], ReportOutcome] | None = None,
    ) -> None:
        """`bind_place` returns what reports outcomes at what is on screen at the time of the call."""
        self.scope = scope
        self.show_error = show_error
        self._bind_place = bind_place or (lambda: self._report)

    def start(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = self.scope.start(self._run_guarded(coroutine, name, self._bind_place()), name)
        # Canceled before its first step, the task would leave the coroutine inside it unawaited.
        task.add_done_callback(lambda _: coroutine.close())
        return task

    def _report(self, name: str, error: HelixError | None) -> None:
        if error is not None:
            self.show_error(error)

    @staticmethod
    async def _run_guarded(coroutine: Coroutine[Any, Any, None], name: str, report: ReportOutcome) -> None:
        try:
            await coroutine
        except HelixError as error:
            report(name, error)
        else:
            report(name, None)
