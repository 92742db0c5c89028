"""The event loop of the windows: Qt's and asyncio's are one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import qasync
from PySide6.QtCore import QCoreApplication, QEventLoop

T = TypeVar("T")


class QtLoop(qasync.QEventLoop):  # type: ignore[misc]  # qasync has no types
    """qasync's loop, in which all that Qt calls finds a running loop, also at the end of a run.

    qasync processes Qt's events once more without it: a timer that is due then could start no coroutine.
    """

    def run_until_complete(self, future: Coroutine[Any, Any, T] | asyncio.Future[T]) -> T:
        """As asyncio says; what Qt has still to do by then is done, too."""
        main = asyncio.ensure_future(future, loop=self)  # noqa: TID251 - it is awaited here
        main.add_done_callback(self._end)
        try:
            self.run_forever()
        finally:
            main.remove_done_callback(self._end)
        asyncio._set_running_loop(self)
        try:
            QCoreApplication.eventDispatcher().processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        finally:
            asyncio._set_running_loop(None)
        if not main.done():
            raise RuntimeError("Event loop stopped before Future completed.")
        return main.result()

    def _end(self, _: asyncio.Future[Any]) -> None:
        self.stop()
