"""Running calls of the session on screen as jobs, once they take long, each with a way to stop it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from helix_desktop.agent.session import CallStarted, Update
from helix_desktop.agent.subagents import DELEGATE
from helix_desktop.agent.tool_calls.runner import RunningCall
from helix_desktop.domain.files.file_use import call_target
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.system.clock import wall_clock_ms
from helix_desktop.ui.design.shell_data import JobRow
from helix_desktop.ui.session.background_jobs import CALL_JOB, call_job_id
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
        session_controller.updated.connect(self._on_update)
        context.window.jobs.cancel_requested.connect(self._stop)

    def _on_update(self, update: Update) -> None:
        if isinstance(update, CallStarted) and not self._poll_timer.isActive():
            self._poll_timer.start()

    def _show(self) -> None:
        conversation = self._session_controller.conversation
        running = conversation.running_calls.running if conversation is not None else ()
        if not running:
            self._poll_timer.stop()
        now_ms = wall_clock_ms()
        self._jobs.show_jobs(
            [
                _row(call, now_ms)
                for call in running
                if call.call.name != DELEGATE and now_ms - call.started_at_ms >= _LONG_MS
            ],
            _GROUP,
        )

    def _stop(self, job_id: str) -> None:
        conversation = self._session_controller.conversation
        if job_id.startswith(CALL_JOB) and conversation is not None:
            conversation.running_calls.stop(job_id.removeprefix(CALL_JOB))


def _row(running: RunningCall, now_ms: int) -> JobRow:
    call = running.call
    parts = (
        tr("Running {tool}", tool=display_name(call.name)),
        ellipsize(" ".join(call_target(call.arguments).split()), _MAX_CHARS),
        format_elapsed((now_ms - running.started_at_ms) // 1_000),
    )
    words = " · ".join(filter(None, parts))
    return JobRow(
        call_job_id(call.id),
        words,
        running.share,
        True,
        tr("Stop this command only. Its output so far is kept."),
        cancel_action="stop",
    )
