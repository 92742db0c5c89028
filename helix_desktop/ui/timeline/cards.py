"""The cards of the timeline: sweeps, failures, undo marks, and what is under way."""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from helix_desktop.ui.elements import (
    Card,
    Line,
    Pill,
    Role,
    Words,
    scaled,
    ui_font,
    when_text,
)
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.icons import pixmap
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.timeline.flow import FlowBox
from helix_desktop.ui.timeline.rows import (
    PHASES,
    FailureCard,
    MarkCard,
    Phase,
    RunningCard,
    SweepCard,
    title_of,
)
from helix_desktop.ui.widgets import IconButton, IconLabel, PushButton, retint

_SHOWN_DIGESTS = 24
_TAIL = 420  # characters of the running summary that stay in sight


class Wishes(QObject):
    """What the person asks of a card; seqs name events."""

    undo = Signal(int)
    redo = Signal(int)
    show_in_chat = Signal(int)
    source = Signal(int)
    digest = Signal(str)
    export = Signal(int)
    cancel = Signal()
    unfolded = Signal(int, bool)


def undo_button(wishes: Wishes, seq: int, undone: bool) -> PushButton:
    """Undo, or Redo when it is undone already."""
    button = PushButton(" Redo" if undone else " Undo", "link", "redo-2" if undone else "undo-2", px=14)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    wish = wishes.redo if undone else wishes.undo
    button.clicked.connect(lambda: wish.emit(seq))
    return button


def moment(at_ms: int, now_ms: int) -> Line:
    """When a card's event was."""
    words = Line(when_text(at_ms, now_ms, clock=True), 12, role="faint")
    words.stiff = True
    return words


class SweepView(Card):
    """A sweep in one line; unfolds to the hashes of what became markers."""

    def __init__(self, card: SweepCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__((14, 5, 8, 5), 8)
        self._wishes, self._digests = wishes, card.digests
        self._hashes: FlowBox | None = None
        ink: Role = "faint" if card.undone else "text"
        noun = "output became a marker" if card.outputs == 1 else "outputs became markers"
        said = f"Sweep · {card.outputs} {noun} · {tokens_text(-card.saved)} tokens"
        if card.reason and card.reason != "batch":
            said += f" · {card.reason}"
        self.words = Words(said, 13, ink, weight=500)
        self.setAccessibleName(said)
        row = QHBoxLayout()
        row.setSpacing(9)
        row.addWidget(IconLabel("layers", px=15, ink="faint" if card.undone else "muted"))
        row.addWidget(self.words, 1)
        if card.undone:
            row.addWidget(Pill("undone", "warn"))
        row.addWidget(moment(card.at_ms, now_ms))
        row.addWidget(undo_button(wishes, card.seq, card.undone))
        self.unfold_button = IconButton("chevron-down", "Show the hashes", px=15, edge=28)
        self.unfold_button.setVisible(bool(card.digests))
        self.unfold_button.clicked.connect(self.unfold)
        row.addWidget(self.unfold_button)
        self.body.addLayout(row)

    def unfold(self) -> None:
        """Show the hashes, or hide them again."""
        if self._hashes is None:
            pills: list[QWidget] = []
            for digest in self._digests[:_SHOWN_DIGESTS]:
                pill = Pill(digest[:8], glyph="database", mono=True, clickable=True)
                pill.setToolTip("Show in the cache browser")
                pill.clicked.connect(lambda _=False, one=digest: self._wishes.digest.emit(one))
                pills.append(pill)
            if len(self._digests) > _SHOWN_DIGESTS:
                pills.append(Pill(f"and {len(self._digests) - _SHOWN_DIGESTS} more"))
            self._hashes = FlowBox(pills)
            self.body.addWidget(self._hashes)
            self.body.setContentsMargins(14, 5, 8, 10)
            retint(self._hashes, self._theme)
        else:
            self._hashes.setVisible(self._hashes.isHidden())
        shown = not self._hashes.isHidden()
        self.unfold_button.set_icon("chevron-up" if shown else "chevron-down")
        self.unfold_button.set_tip("Hide the hashes" if shown else "Show the hashes")


class FailureView(Card):
    """A handover that was not made."""

    def __init__(self, card: FailureCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__((14, 10, 14, 10), 3)
        row = QHBoxLayout()
        row.setSpacing(9)
        row.addWidget(IconLabel("circle-alert", px=15, ink="error"))
        row.addWidget(Line(card.what, 13, 500), 1)
        row.addWidget(moment(card.at_ms, now_ms))
        self.body.addLayout(row)
        if card.why:
            why = Words(card.why, 12, "muted")
            why.setContentsMargins(24, 0, 0, 0)
            self.body.addWidget(why)
        self.setAccessibleName(f"{card.what} {card.why}")


class MarkView(QWidget):
    """An undo or redo, in one quiet line."""

    def __init__(self, card: MarkCard, wishes: Wishes, now_ms: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 2, 14, 2)
        row.setSpacing(8)
        row.addWidget(IconLabel("undo-2" if card.kind == "undo" else "redo-2", px=13, ink="faint"))
        row.addWidget(Line(title_of(card), 12, role="muted"))
        row.addStretch(1)
        row.addWidget(moment(card.at_ms, now_ms))
        self.setAccessibleName(title_of(card))


class Steps(QWidget):
    """Read → Summarise → Check → Write: what is done, what runs, what comes."""

    def __init__(self) -> None:
        super().__init__()
        self._theme, self._phase = LIGHT, PHASES[0]
        self.setFixedHeight(scaled(24))

    def set_phase(self, phase: Phase) -> None:
        """Say which phase runs."""
        self._phase = phase
        self.setAccessibleName(f"{phase}, step {PHASES.index(phase) + 1} of {len(PHASES)}")
        self.update()

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.setFixedHeight(scaled(24))
        self.update()

    def sizeHint(self) -> QSize:
        """Room for all four."""
        return QSize(420, scaled(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the four steps and the lines between them."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x, middle, running = 1.0, self.height() / 2, PHASES.index(self._phase)
        # Four steps of about 85 pixels each; what is left is for the lines between them.
        between = max(4.0, min(22.0, (self.width() - scaled(345)) / 3))
        for at, phase in enumerate(PHASES):
            font = ui_font(12, 600 if at == running else 500)
            ink = (
                self._theme.text
                if at == running
                else self._theme.muted
                if at < running
                else self._theme.faint
            )
            self._paint_dot(painter, QPointF(x + 8, middle), at - running)
            x += 23
            painter.setFont(font)
            painter.setPen(QColor(ink))
            width = QFontMetricsF(font).horizontalAdvance(phase)
            painter.drawText(QRectF(x, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, phase)
            x += width + 10
            if at + 1 < len(PHASES):
                painter.setPen(QPen(QColor(self._theme.border_strong), 1.5))
                painter.drawLine(QPointF(x, middle), QPointF(x + between, middle))
                x += between + 10

    def _paint_dot(self, painter: QPainter, centre: QPointF, order: int) -> None:
        if order < 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.ok_soft))
            painter.drawEllipse(centre, 8, 8)
            picture = pixmap("check", self._theme.ok, 10, self.devicePixelRatioF())
            painter.drawPixmap(centre - QPointF(5, 5), picture)
            return
        painter.setPen(QPen(QColor(self._theme.accent if order == 0 else self._theme.border_strong), 2))
        painter.setBrush(QColor(self._theme.accent_soft) if order == 0 else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(centre, 6.5, 6.5)
        if order == 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.accent))
            painter.drawEllipse(centre, 3, 3)


class RunningView(Card):
    """A compaction under way, with what the model writes and a Cancel that changes nothing."""

    def __init__(self, wishes: Wishes) -> None:
        super().__init__((16, 12, 12, 13), 9)
        self._title = Line("", 14, 600)
        self.steps = Steps()
        self.text = Words("", 13, "muted")
        cancel = PushButton("Cancel")
        cancel.setToolTip("Stop; nothing changes")
        cancel.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        cancel.clicked.connect(wishes.cancel)
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(cancel)
        below = QVBoxLayout()
        below.setContentsMargins(0, 0, 4, 0)
        below.setSpacing(9)
        below.addWidget(self.steps)
        below.addWidget(self.text)
        self.body.addLayout(head)
        self.body.addLayout(below)

    def show_card(self, card: RunningCard) -> None:
        """Show how far it is."""
        self._title.set_text(f"{card.what} under way")
        self.setAccessibleName(f"{card.what} under way, {card.phase}")
        self.steps.set_phase(card.phase)
        tail = card.text[-_TAIL:]
        if len(card.text) > _TAIL:
            tail = "… " + tail.split(" ", 1)[-1]
        self.text.setText(tail)
        self.text.setVisible(bool(tail))
