"""Keeps the cards of calls at work in step with what these put out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.ui.chat.rows.running_output import RunningOutput

_DELAY_MS = 1_000


class RunningOutputUpdates:
    """Calls `on_update` with the newest state of calls: on each output, and after a second in any case."""

    def __init__(
        self,
        get_conversation: Callable[[], Conversation | None],
        on_update: Callable[[str, RunningOutput], None],
    ) -> None:
        """`get_conversation` returns the conversation on screen."""
        self._get_conversation, self._on_update = get_conversation, on_update
        self._delay_timer = QTimer()  # a call that is over by then needs no clock
        self._delay_timer.setSingleShot(True)
        self._delay_timer.setInterval(_DELAY_MS)
        self._delay_timer.timeout.connect(self._update_all)

    def on_started(self) -> None:
        """A call has begun."""
        self._delay_timer.start()

    def on_output(self, call_id: str) -> None:
        """A call has put something out, or is seen for the first time."""
        conversation = self._get_conversation()
        running = conversation.running_calls.find(call_id) if conversation is not None else None
        if running is not None:
            self._on_update(call_id, RunningOutput.from_output(running.started_at_ms, running.tail))

    def _update_all(self) -> None:
        conversation = self._get_conversation()
        for call_id in tuple(conversation.session.transcript.open_calls) if conversation is not None else ():
            self.on_output(call_id)
