"""Keeps the cards of calls at work in step with what these put out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui.chat.live_strip import Live

_LATE_MS = 1_000


class LiveCalls:
    """Tells `show` the newest state of calls: when they put something out, and after a second in any case."""

    def __init__(self, talk: Callable[[], Conversation | None], show: Callable[[str, Live], None]) -> None:
        """`talk` is the conversation on screen."""
        self._talk, self._show = talk, show
        self._late = QTimer()  # a call that is over by then needs no clock
        self._late.setSingleShot(True)
        self._late.setInterval(_LATE_MS)
        self._late.timeout.connect(self._all)

    def started(self) -> None:
        """A call has begun."""
        self._late.start()

    def moved(self, call_id: str) -> None:
        """A call has put something out, or is seen for the first time."""
        talk = self._talk()
        running = talk.calls.of(call_id) if talk is not None else None
        if running is not None:
            self._show(call_id, Live.of(running.began, running.tail))

    def _all(self) -> None:
        talk = self._talk()
        for call_id in tuple(talk.session.transcript.open_calls) if talk is not None else ():
            self.moved(call_id)
