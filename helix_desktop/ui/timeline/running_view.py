"""A compaction under way: its phases, what the model writes, and Stop."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import Card
from helix_desktop.ui.design.labels import SelectableText, TextLine, show_text
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.mirror import draw_pixmap, draw_text, mirror
from helix_desktop.ui.design.style.fonts import scaled, ui_font
from helix_desktop.ui.design.style.icons import pixmap
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.ui.kit.intents import CancelCompaction, perform
from helix_desktop.ui.timeline.card_data import PHASES, Phase, RunningCard, phase_text, running_text
from helix_desktop.words.translation import Translator

tr = Translator("Timeline")

_SHORTEST_LINE = 4.0  # pixels between two phases
_TAIL_CHARS = 420  # characters of the running summary that stay in sight


class PhaseSteps(Themed, QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._phase = PHASES[0]
        self.setFixedHeight(scaled(24))

    def set_phase(self, phase: Phase) -> None:
        self._phase = phase
        number, count = PHASES.index(phase) + 1, len(PHASES)
        self.setAccessibleName(
            tr("{phase}, step {number} of {count}", phase=phase_text(phase), number=number, count=count)
        )
        self.update()

    def tint(self, theme: Theme) -> None:
        super().tint(theme)
        self.setFixedHeight(scaled(24))

    def sizeHint(self) -> QSize:
        return QSize(420, scaled(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        mirror(painter, self.rect())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x, middle, running = 1.0, self.height() / 2, PHASES.index(self._phase)
        steps, between = self._fitting_steps(running)
        for at, (text, font, width) in enumerate(steps):
            color = self._theme.text if at == running else self._theme.muted
            self._paint_dot(painter, QPointF(x + 8, middle), at - running)
            x += 23
            painter.setFont(font)
            painter.setPen(QColor(color if at <= running else self._theme.faint))
            draw_text(painter, QRectF(x, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, text)
            x += width + 10
            if at + 1 < len(PHASES):
                painter.setPen(QPen(QColor(self._theme.border_strong), 1.5))
                painter.drawLine(QPointF(x, middle), QPointF(x + between, middle))
                x += between + 10

    def _fitting_steps(self, running: int) -> tuple[list[tuple[str, QFont, float]], float]:
        """Return name, font and width of each step, and the length of the lines between them.

        Where the names of all are too long, only the one that runs has its name.
        """
        steps: list[tuple[str, QFont, float]] = []
        for at, phase in enumerate(PHASES):
            font = ui_font(12, 600 if at == running else 500)
            steps.append((phase_text(phase), font, QFontMetricsF(font).horizontalAdvance(phase_text(phase))))
        lines = len(steps) - 1
        room = self.width() - sum(width + 23 for _, _, width in steps) - 20 * lines
        if room < _SHORTEST_LINE * lines:
            steps = [step if at == running else ("", step[1], 0.0) for at, step in enumerate(steps)]
        return steps, max(_SHORTEST_LINE, min(22.0, room / lines))

    def _paint_dot(self, painter: QPainter, center: QPointF, order: int) -> None:
        if order < 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.ok_soft))
            painter.drawEllipse(center, 8, 8)
            picture = pixmap("check", self._theme.ok, 10, self.devicePixelRatioF())
            draw_pixmap(painter, center.x() - 5, center.y() - 5, picture)
            return
        painter.setPen(QPen(QColor(self._theme.accent if order == 0 else self._theme.border_strong), 2))
        painter.setBrush(QColor(self._theme.accent_soft) if order == 0 else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(center, 6.5, 6.5)
        if order == 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.accent))
            painter.drawEllipse(center, 3, 3)


class RunningView(Card):
    """A compaction under way, with what the model writes and a Stop that changes nothing."""

    def __init__(self) -> None:
        super().__init__((14, 12, 12, 13), 9)
        self._title = TextLine("", 14, 600)
        self._usage = TextLine("", 12, role="muted")
        self.steps = PhaseSteps()
        self.text = SelectableText("", 13, "muted")
        stop = PushButton(tr("Stop"), name="stop")
        stop.setToolTip(tr("Stop without changing anything"))
        stop.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        stop.clicked.connect(lambda: perform(self, CancelCompaction()))
        below = QVBoxLayout()
        below.setContentsMargins(0, 0, 4, 0)
        below.setSpacing(9)
        below.addWidget(self.steps)
        below.addWidget(self._usage)
        below.addWidget(self.text)
        self.body.addWidget(ResponsiveRow(self._title, [stop]))
        self.body.addLayout(below)

    def show_card(self, card: RunningCard) -> None:
        title = running_text(card.what)
        self._title.set_text(title)
        self._usage.set_text(card.usage_text)
        self._usage.setVisible(bool(card.usage_text))
        parts = (title, phase_text(card.phase), card.usage_text)
        self.setAccessibleName(" · ".join(filter(None, parts)))
        self.steps.set_phase(card.phase)
        tail = card.text[-_TAIL_CHARS:]
        if len(card.text) > _TAIL_CHARS:
            tail = "… " + tail.split(" ", 1)[-1]
        show_text(self.text, tail)
