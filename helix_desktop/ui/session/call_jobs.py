"""Running calls of the session on screen as jobs, once they take long, each with a way to stop it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.session import CallStarted
from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.agent.tool_calls.runner import RunningCall
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design.shell_data import JobRow
from helix_desktop.ui.session.background_jobs import CALL_JOB, stop_call
from helix_desktop.ui.session.controller import SessionController
from helix_desktop.ui.session.controller_context import ControllerContext
from helix_desktop.words.times import format_elapsed
from helix_desktop.words.translation import Translator

tr = Translator("Session")

_GROUP = "calls"
_LONG_MS = 1_000  # that a call runs before it has a line
_POLL_MS = 250
_MAX_CHARS = 80  # of a target


class CallJobs(QObject):
    """Looks while calls run; a subagent has a line that says more, and is stopped here too."""

    def __init__(self, context: ControllerContext, session_controller: SessionController) -> None:
        super().__init__(context.window)
        self._jobs, self._session_controller = context.window.jobs, session_controller
        self._poll_timer = QTimer(self, interval=_POLL_MS)
        self._poll_timer.timeout.connect(self._show)
        session_controller.session_changed.connect(self._poll_timer.start)
        session_controller.on(CallStarted, lambda _: self._poll_timer.isActive() or self._poll_timer.start())

    def _show(self) -> None:
        conversation = self._session_controller.conversation
        rows = []
        if conversation is None or not conversation.running_calls.running:
            self._poll_timer.stop()
        else:
            now_ms = wall_clock_ms()
            rows = [
                _row(conversation, call, now_ms)
                for call in conversation.running_calls.running
                if call.call.name != DELEGATE and now_ms - call.started_at_ms >= _LONG_MS
            ]
        self._jobs.show_jobs(rows, _GROUP)


def _row(conversation: Conversation, running: RunningCall, now_ms: int) -> JobRow:
    call = running.call
    parts = (
        tr("Running {tool}", tool=display_name(call.name)),
        ellipsize(" ".join(call_target(call.arguments).split()), _MAX_CHARS),
        format_elapsed((now_ms - running.started_at_ms) // 1_000),
    )
    words = " · ".join(filter(None, parts))
    effect = tr("Stop this command only. Its output so far is kept.")
    return JobRow(CALL_JOB + call.id, words, running.share, stop_call(conversation, call.id, effect))
