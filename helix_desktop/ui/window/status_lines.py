"""Lines over the page: running jobs, and sessions that wait for the user; below it what is spent, if paid."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, overload

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QGridLayout, QProgressBar, QWidget

from helix_desktop.domain.listeners import OnProgress
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import EnterActivates, PushButton
from helix_desktop.ui.design.focus import FocusReturn
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.layout import row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.theme import Themed, is_motion_reduced
from helix_desktop.ui.kit.boxes import Box, Drawing, Frame, Icon, Pen, Row, Text
from helix_desktop.ui.kit.intents import SetBudget, ShowWaitingSession, perform
from helix_desktop.words.numbers import format_whole_percent
from helix_desktop.words.translation import Translator

if TYPE_CHECKING:  # the window's first frame needs the line, not the structs of costs
    from helix_desktop.words.costs import CostState

tr = Translator("Window")
_budget_tr = Translator("Budget")
T = TypeVar("T")

_PARTS = 1000
_GROUP, _POLL_MS = "carrying", 100
_PAIR_PX = 640  # width of the strip, at 100 %, from which two jobs are in a line
_ICON, _BAR = 13, 44  # pixels at 100 %; the bar has the same width at all sizes
_MARGIN, _END, _ICON_GAP, _GAP = 20, 12, 7, 14  # pixels

STATUS_LINE_PX = 30
"""Height of the line at 100 %, and of a job's line."""


@dataclass(frozen=True, slots=True)
class JobAction:
    """The button of a running job: a model's work or a call is stopped, other work canceled or paused.

    `effect` says what is kept then, or that nothing changes.
    """

    verb: Literal["cancel", "stop", "pause", "resume"]
    run: Callable[[], object]
    effect: str = ""


@dataclass(frozen=True, slots=True)
class JobRow:
    """One running job: verb and count as text, progress 0..1 or None when unknown."""

    id: str
    text: str
    progress: float | None = None
    action: JobAction | None = None


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
        hint, width = super().sizeHint(), self.fontMetrics().horizontalAdvance
        widest = max(width(word) for word in self._words.values())
        return QSize(hint.width() - width(self.text()) + widest, hint.height())


class _OneLine(Themed):
    """As high as one line around the page."""

    def apply_theme(self) -> None:
        super().apply_theme()
        self.setFixedHeight(scaled(STATUS_LINE_PX))


class _JobLine(_OneLine, QWidget):
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
        self.words, self._cancel = words, cancel
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

    def job_ids(self) -> tuple[str, ...]:
        return tuple(self._lines)


class WaitingSession(NamedTuple):
    """A session with an approval request or a question, and the workspace it is in."""

    workspace_id: str
    session_id: str
    title: str


class WaitingSessionsLine(_OneLine, QWidget):
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


class CostLine(EnterActivates, _OneLine, QAbstractButton):
    """A quiet line; a click asks for the budget. Hidden without a price and a budget."""

    def __init__(self) -> None:
        super().__init__()
        self._state: CostState | None = None
        self.tell_purposes: Callable[[], str] = str  # what was spent on what; asked when the tip comes
        self.apply_theme()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(self._tip())
        self.clicked.connect(lambda: perform(self, SetBudget()))
        self.hide()

    def _tip(self) -> str:
        tips = (
            self.text() if self.shown_text() != self.text() else "",
            self.tell_purposes(),
            _budget_tr(
                "Tokens sent and received in this session, with subagents, compaction and questions about "
                "large outputs."
            ),
            _budget_tr("The context gauge counts only the next request."),
            _budget_tr("Click to set a budget."),
        )
        return "\n".join(filter(None, tips))

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip:
            self.setToolTip(self._tip())
        return super().event(event)

    def show_cost(self, state: CostState | None) -> None:
        """Show what was spent; None hides the line."""
        if state is not None and state != self._state:
            self._state = state
            self.update()
        self.setVisible(state is not None and self._has_words)
        self.setAccessibleName(f"{self.text()} · {_budget_tr('Set session budget')}")

    @property
    def _has_words(self) -> bool:
        return self._state is not None and bool(self._state.spent.cost or self._state.budget_text)

    def text(self) -> str:
        """Return all that is shown, as words; empty before the first cost."""
        return " · ".join(filter(None, _texts(self._state))) if self._state is not None else ""

    def shown_text(self) -> str:
        """Return what is painted, as words: less than `text` where the line is narrow, or nothing."""
        if self._state is None or not self._has_words:
            return ""
        return " · ".join(filter(None, self._shown_texts(self._state)))

    def _shown_texts(self, state: CostState) -> tuple[str, str]:
        """Return the fullest texts that fit; what is left of the budget goes last."""
        usage, budget = _texts(state)
        forms = (
            (usage, budget),
            (state.text, budget),
            (state.short_text, budget),
            (state.short_text, state.short_budget_text),
        )
        room = self.width() - _MARGIN - _END
        return next((form for form in forms if _line(state, *form).width() <= room), forms[-1])

    def sizeHint(self) -> QSize:
        return QSize(120, scaled(STATUS_LINE_PX))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._state is None:
            return  # hidden until there is a cost
        pen = Pen.of_widget(self, self._theme)
        pen.fill(QRectF(self.rect()), "hover" if self.underMouse() else "canvas")
        pen.fill(QRectF(0, 0, self.width(), 1), "border")
        if self.hasFocus():
            pen.qt.setPen(QPen(pen.color("accent"), 2))
            pen.qt.drawRect(self.rect().adjusted(1, 1, -1, -1))
        line = _line(self._state, *self._shown_texts(self._state))
        pen.write(line, _MARGIN, QRectF(self.rect()).adjusted(0, 0, -_END, 0))
        pen.qt.end()


def _texts(state: CostState) -> tuple[str, str]:
    return _budget_tr("Session usage: {usage}", usage=state.text), state.budget_text


def _line(state: CostState, usage: str, budget: str) -> Row:
    color = "warn" if state.is_near_limit else "faint"
    groups: list[Box] = [Row([Icon("gauge", color, _ICON), Text(usage, 12, color, shrink=True)], _ICON_GAP)]
    if budget:
        bar = Frame(Drawing((_BAR, 1), partial(_paint_bar, state)), wide=_BAR)
        groups.append(Row([bar, Text(budget, 12, color, shrink=True)], _ICON_GAP))
    for group in groups:
        group.shrink = True
    return Row(groups, _GAP)


def _paint_bar(state: CostState, pen: Pen, rect: QRectF) -> None:
    bar = QRectF(rect.x(), rect.center().y() - 2, _BAR, 4)
    pen.box(bar, "seg_free", "", 2)
    bar.setWidth(max(4.0, _BAR * min(1.0, state.share)))
    pen.box(bar, "error" if state.share >= 1 else "seg_output" if state.is_near_limit else "accent", "", 2)
