"""One line per running job, with its progress and a way to cancel it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.focus import FocusReturn
from helix_desktop.ui.design.labels import ElidedLabel, IconLabel
from helix_desktop.ui.design.layout.boxes import row
from helix_desktop.ui.design.motion import is_motion_reduced
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.ui.design.window_state import JobRow
from helix_desktop.words.translation import Translator

tr = Translator("Window")

_PARTS = 1000


class _JobLine(QWidget):
    """Icon, text, progress bar, cancel."""

    cancelled = Signal(str)

    def __init__(self, job: JobRow) -> None:
        super().__init__()
        self._id = job.id
        self._text = ElidedLabel(role="note")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(120)
        self._cancel = PushButton(tr("Cancel"), "link", name="cancel_job")
        policy = self._cancel.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the bars of all lines stand below each other
        self._cancel.setSizePolicy(policy)
        self._cancel.clicked.connect(lambda: self.cancelled.emit(self._id))
        face = IconLabel("loader-circle", px=14)
        line = row(face, self._text, self._bar, self._cancel, margins=(20, 3, 12, 3), gap=9)
        line.setStretch(1, 1)
        self.setLayout(line)
        self.show_job(job)

    def show_job(self, job: JobRow) -> None:
        self._text.set_full_text(job.text)
        # Without a known share the bar says "busy" (Qt's range 0..0, which moves), never a made-up figure.
        self._bar.setVisible(job.progress is not None or not is_motion_reduced())
        self._bar.setRange(0, 0 if job.progress is None else _PARTS)
        if job.progress is not None:
            self._bar.setValue(round(job.progress * _PARTS))
        self._bar.setAccessibleName(job.text)
        self._cancel.setVisible(job.cancellable)
        self._cancel.setToolTip(job.on_cancel)
        self._cancel.setAccessibleDescription(job.on_cancel)
        self._cancel.setAccessibleName(tr("Cancel: {job}", job=job.text))


class JobLines(Themed, QWidget):
    """The strip below the center; hidden while nothing runs."""

    cancel_requested = Signal(str)

    def __init__(self) -> None:
        """Start empty and hidden."""
        super().__init__()
        self.setObjectName("jobs")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._lines: dict[str, _JobLine] = {}
        self._focus_return = FocusReturn(self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 2, 0, 2)
        self._column.setSpacing(0)
        self._groups: dict[str, tuple[JobRow, ...]] = {}
        self.hide()

    def show_jobs(self, jobs: Sequence[JobRow], group: str = "") -> None:
        """Show exactly these jobs of a group; a line that stays keeps its widget and its focus."""
        self._groups[group] = tuple(jobs)
        self._show([job for group in sorted(self._groups) for job in self._groups[group]])

    def _show(self, jobs: Sequence[JobRow]) -> None:
        job_ids = {job.id for job in jobs}
        for gone in self._lines.keys() - job_ids:
            line = self._lines.pop(gone)
            self._focus_return.give_back_from(line)
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        for job in jobs:
            if job.id in self._lines:
                self._lines[job.id].show_job(job)
            else:
                self._add(job)
        self.setVisible(bool(jobs))

    def job_ids(self) -> tuple[str, ...]:
        """Return the jobs that are shown, oldest first."""
        return tuple(self._lines)

    def _add(self, job: JobRow) -> None:
        line = _JobLine(job)
        line.cancelled.connect(self.cancel_requested)
        retint(line, self._theme)
        self._lines[job.id] = line
        self._column.addWidget(line)
