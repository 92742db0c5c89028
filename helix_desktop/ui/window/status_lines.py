"""Lines over the page: running jobs, and sessions that wait for the user."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple, TypeVar, overload

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QProgressBar, QWidget

from helix_desktop.domain.listeners import OnProgress
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import FocusReturn
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, is_motion_reduced
from helix_desktop.ui.kit.intents import ShowWaitingSession, perform
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.translation import Translator

tr = Translator("Window")
T = TypeVar("T")

_PARTS = 1000
_GROUP = "carrying"
_POLL_MS = 100
_PAIR_PX = 640  # width of the strip, at 100 %, from which two jobs are in a line

STATUS_LINE_PX = 30
"""Height of the line at 100 %, and of a job's line."""


class JobAction(NamedTuple):
    """The button of a running job: a model's work or a call is stopped, other work canceled or paused.

    `effect` says what is kept then, or that nothing changes.
    """

    verb: Literal["cancel", "stop", "pause", "resume"]
    run: Callable[[], object]
    effect: str = ""


class JobRow(NamedTuple):
    """One running job: verb and count as text, progress 0..1 or None when unknown.

    `short_text` says the same where there is little room.
    """

    id: str
    text: str
    progress: float | None = None
    action: JobAction | None = None
    short_text: str = ""


class _JobButton(PushButton):
    """Cancels, stops, pauses or resumes; as wide with each word: the bars stand below each other."""

    def __init__(self) -> None:
        self._words = {
            "cancel": tr("Cancel"),
            "stop": tr("Stop"),
            "pause": tr("Pause"),
            "resume": tr("Resume"),
        }
        super().__init__(self._words["cancel"], "link")
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)

    def show_job(self, job: JobRow) -> None:
        self.setVisible(job.action is not None)
        if job.action is None:
            return
        word = self._words[job.action.verb]
        self.setObjectName(f"{job.action.verb}_job")
        self.setText(word)
        self.setToolTip(job.action.effect)
        self.setAccessibleDescription(job.action.effect)
        self.setAccessibleName(tr("{action}: {job}", action=word, job=job.text))

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        width = self.fontMetrics().horizontalAdvance
        widest = max(width(word) for word in self._words.values())
        return QSize(hint.width() - width(self.text()) + widest, hint.height())


class OneLine(Themed):
    """As high as one line around the page."""

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(STATUS_LINE_PX))


class _JobLine(OneLine, QWidget):
    def __init__(self, job: JobRow) -> None:
        super().__init__()
        self.apply_theme()
        self._job = job
        self._text = ElidedLabel(role="note")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self.set_paired(False)
        self._button = _JobButton()
        self._button.clicked.connect(lambda: self._job.action.run() if self._job.action is not None else None)
        self._icon = IconLabel("loader-circle", px=14)
        line = row(self._icon, self._text, self._bar, self._button, margins=(20, 0, 12, 0), gap=9)
        line.setStretch(1, 1)
        self.setLayout(line)
        self.show_job(job)

    def set_paired(self, is_paired: bool) -> None:
        """Leave the words more room where another job is in the line."""
        self._bar.setFixedWidth(56 if is_paired else 120)

    def needed_width(self) -> int:
        """Return the width in pixels at which its words are whole."""
        layout = self.layout()
        return self._text.full_width() + (layout.minimumSize().width() if layout is not None else 0)

    def show_job(self, job: JobRow) -> None:
        self._job = job
        self._text.set_full_text(job.text)
        is_paused = job.action is not None and job.action.verb == "resume"
        self._icon.show_icon("pause" if is_paused else "loader-circle", "muted")
        # Without a known share the bar says "busy" (Qt's range 0..0, which moves), never a made-up figure.
        self._bar.setVisible(job.progress is not None or not is_motion_reduced())
        self._bar.setRange(0, 0 if job.progress is None else _PARTS)
        if job.progress is not None:
            self._bar.setValue(round(job.progress * _PARTS))
        self._bar.setAccessibleName(job.text)
        self._button.show_job(job)


def _left_share(room: int, left: int, right: int) -> int:
    """Return how much of the room the left one of two gets: half, but what the other has no use for, too."""
    half = room // 2
    if left > half >= right:
        return min(left, room - right)
    if right > half >= left:
        return max(room - right, left)
    return half


class _Job:
    """What `run` runs: its words, and its progress, reported from another thread."""

    def __init__(self, words: str, cancel: str) -> None:
        self.words = words
        self._cancel = cancel
        self._done_and_total: tuple[int, int] | None = None
        from asyncio import timeout

        self.limit = timeout(None)

    def report_progress(self, done: int, total: int) -> None:
        self._done_and_total = done, total

    @property
    def has_line(self) -> bool:
        return bool(self._cancel) or self._done_and_total is not None

    @property
    def row(self) -> JobRow:
        done, total = self._done_and_total or (0, 0)
        share = min(1.0, done / total) if total else None
        words = self.words if share is None else f"{self.words} · {format_whole_percent(share)}"
        cancel = JobAction("cancel", lambda: self.limit.reschedule(0), self._cancel)
        return JobRow(f"{_GROUP}-{id(self)}", words, share, cancel if self._cancel else None)


class JobLines(QWidget):
    ended = Signal(str, float)
    """Words and seconds of a job of `run` that had a line and wasn't canceled."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("jobs")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._lines: dict[str, _JobLine] = {}
        self._focus_return = FocusReturn(self)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(0)
        for place in (0, 1):
            self._grid.setColumnStretch(place, 1)
        self._groups: dict[str, tuple[JobRow, ...]] = {}
        self._jobs: list[_Job] = []
        self._poll_timer = QTimer(self, interval=_POLL_MS)
        self._poll_timer.timeout.connect(self._show_progress)
        self.hide()

    @overload
    async def run(self, words: str, work: Callable[[OnProgress], Awaitable[T]]) -> T: ...

    @overload
    async def run(self, words: str, work: Callable[[OnProgress], Awaitable[T]], cancel: str) -> T | None: ...

    async def run(self, words: str, work: Callable[[OnProgress], Awaitable[T]], cancel: str = "") -> T | None:
        """Do what takes long, with a line that shows its progress; return None if the user has canceled it.

        `cancel` says what is kept then. Without it the work can't be canceled, and has a line only once it
        reports progress: of 0 where it isn't known how much there is. Its errors are raised here.
        """
        job = _Job(words, cancel)
        self._jobs.append(job)
        self._show_progress()
        self._poll_timer.start()
        started_s = time.monotonic()
        try:
            async with job.limit:
                result = await work(job.report_progress)
            if job.has_line:
                self.ended.emit(words, time.monotonic() - started_s)
            return result
        except TimeoutError:
            if not job.limit.expired():
                raise
            return None
        finally:
            self._jobs.remove(job)
            if not self._jobs:
                self._poll_timer.stop()
            self._show_progress()

    def _show_progress(self) -> None:
        self.show_jobs([job.row for job in self._jobs if job.has_line], _GROUP)

    def show_jobs(self, jobs: Sequence[JobRow], group: str = "") -> None:
        """Show exactly these jobs of a group; a line that stays keeps its widget and its focus."""
        self._groups[group] = tuple(jobs)
        jobs = [job for name in sorted(self._groups) for job in self._groups[name]]
        job_ids = {job.id for job in jobs}
        for gone in self._lines.keys() - job_ids:
            line = self._lines.pop(gone)
            self._focus_return.give_back_from(line)
            self._grid.removeWidget(line)
            line.hide()
            line.deleteLater()
        for job in jobs:
            if job.id in self._lines:
                self._lines[job.id].show_job(job)
            else:
                self._lines[job.id] = _JobLine(job)
        self._place()
        self.setVisible(bool(jobs))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        lines = tuple(self._lines.values())
        columns = 2 if len(lines) > 1 and self.width() >= scaled(_PAIR_PX) else 1
        for index, line in enumerate(lines):
            is_alone = columns == 1 or (index == len(lines) - 1 and not index % columns)
            line.set_paired(columns > 1)
            self._grid.addWidget(line, index // columns, index % columns, 1, 2 if is_alone else 1)
        if columns > 1:
            paired = lines[: len(lines) // 2 * 2]
            left, right = (max(line.needed_width() for line in paired[at::2]) for at in range(2))
            share = _left_share(self.width(), left, right)
            self._grid.setColumnStretch(0, share)
            self._grid.setColumnStretch(1, self.width() - share)


class WaitingSession(NamedTuple):
    """A session with an approval request or a question, and the workspace it is in."""

    workspace_id: str
    session_id: str
    title: str


class WaitingSessionsLine(OneLine, QWidget):
    """Says how many other sessions wait for the user; a click asks for the first. Hidden while none does."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("waiting")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._sessions: tuple[WaitingSession, ...] = ()
        self.button = PushButton(
            "", "link", "shield-alert", px=13, name="waiting-sessions",
            on_click=lambda: perform(self, ShowWaitingSession(*self._sessions[0][:2])),
        )  # fmt: skip
        self.setLayout(row(None, self.button, margins=(8, 1, 12, 0)))
        self.apply_theme()
        self.hide()

    def show_sessions(self, sessions: Sequence[WaitingSession]) -> None:
        """Show those that wait now; a screen reader announces when others do."""
        if tuple(sessions) == self._sessions:
            return
        is_more = bool(set(sessions) - set(self._sessions))
        self._sessions = tuple(sessions)
        self.setVisible(bool(sessions))
        words = waiting_text(len(sessions)) if sessions else ""
        self.button.setText(words)
        self.button.setToolTip(plain_tooltip("\n".join(session.title for session in sessions)))
        self.button.setAccessibleName(": ".join((words, *(session.title for session in sessions[:1]))))
        if is_more:
            announce(self.button, self.button.accessibleName())


def waiting_text(count: int) -> str:
    return tr.plural(count, "%n session waits for you", "%n sessions wait for you")
