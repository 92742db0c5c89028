"""A handover's card: tokens before and after, six sections with their sources, the ledger, undo and redo."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from helix_desktop.ui.elements import Card, Line, Pill, Role, Words, scaled, ui_font
from helix_desktop.ui.figures import tokens_text
from helix_desktop.ui.icons import pixmap
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.timeline.cards import Wishes, moment, undo_button
from helix_desktop.ui.timeline.flow import BulletView, FlowBox
from helix_desktop.ui.timeline.rows import HandoverCard, Section, title_of
from helix_desktop.ui.widgets import IconButton, line, retint

_SUMMARY = 2  # bullets that a folded card shows
_SUMMARY_FROM = ("Current Issues", "TODO Items", "Completed Work", "Technical Details")


def duration_text(milliseconds: int) -> str:
    """How long something took: `340 ms`, `1.2 s`, `3 min 10 s`."""
    if milliseconds < 1_000:  # noqa: PLR2004 - milliseconds of a second
        return f"{milliseconds} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def model_text(card: HandoverCard) -> str:
    """Who wrote the summary."""
    if card.demo:
        return "demo model"
    return card.model or "no model (ledger and extracts)"


class FoldHead(QAbstractButton):
    """A heading that opens and closes what is below it."""

    def __init__(self, title: str, note: str = "", role: Role = "text") -> None:
        super().__init__()
        self._theme, self._note, self._role = LIGHT, note, role
        self.setText(title)
        self.setAccessibleName(f"{title}, {note}" if note else title)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedHeight(scaled(26))

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.setFixedHeight(scaled(26))
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(240, scaled(26))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw chevron, title and note."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 1.5))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 6, 6)
        name = "chevron-down" if self.isChecked() else "chevron-right"
        ink = self._theme.text if self.underMouse() else self._theme.faint
        painter.drawPixmap(
            QPoint(0, (self.height() - 14) // 2), pixmap(name, ink, 14, self.devicePixelRatioF())
        )
        room = self.rect().adjusted(20, 0, 0, 0)
        painter.setFont(ui_font(13, 600))
        painter.setPen(QColor(str(getattr(self._theme, self._role))))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())
        room.setLeft(room.left() + painter.fontMetrics().horizontalAdvance(self.text()) + 8)
        painter.setFont(ui_font(12))
        painter.setPen(QColor(self._theme.faint))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self._note)


class Fold(QWidget):
    """A heading with a body that is built when it is first opened."""

    def __init__(self, head: FoldHead, build: Callable[[], QWidget]) -> None:
        super().__init__()
        self._theme, self._build = LIGHT, build
        self._inside: QWidget | None = None
        self.head = head
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self._column.addWidget(head)
        head.toggled.connect(self._toggle)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme, also for what is built later."""
        self._theme = theme

    def _toggle(self, opened: bool) -> None:
        if self._inside is None:
            self._inside = self._build()
            self._column.addWidget(self._inside)
            retint(self._inside, self._theme)
        self._inside.setVisible(opened)
        self.updateGeometry()


def section_fold(section: Section, role: Role, wishes: Wishes) -> Fold:
    """One of the six sections, its bullets one below the other."""

    def build() -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(20, 0, 0, 6)
        column.setSpacing(3)
        for bullet in section.bullets:
            view = BulletView(bullet, role)
            view.source_clicked.connect(wishes.source)
            column.addWidget(view)
        return body

    count = len(section.bullets)
    fold = Fold(FoldHead(section.title, str(count) if count else "nothing", role), build)
    fold.head.setEnabled(count > 0)
    return fold


def ledger_fold(ledger: str, role: Role) -> Fold:
    """The ledger, word for word, on a code surface."""

    def build() -> QWidget:
        card = Card((12, 9, 12, 10), 0)
        card.holds_code = True
        card.body.addWidget(Words(ledger, 12, "text", mono=True))
        return card

    lines = ledger.count("\n") + 1
    return Fold(FoldHead("Ledger", f"{lines} lines" if lines > 1 else "1 line", role), build)


class HandoverView(Card):
    """Folded it says the gist; unfolded it shows everything."""

    def __init__(self, card: HandoverCard, wishes: Wishes, now_ms: int, *, unfolded: bool = False) -> None:
        super().__init__((16, 9, 12, 12), 7)
        self._card, self._wishes = card, wishes
        self._ink: Role = "faint" if card.undone else "text"
        self.folds: list[Fold] = []
        self._everything: QWidget | None = None
        self.setAccessibleName(
            f"{title_of(card)}, {card.before:,} to {card.after:,} tokens, {card.messages} messages"
            + (", undone" if card.undone else "")
        )
        self.body.addLayout(self._heading(now_ms))
        self._gist = self._summary()
        self.body.addWidget(self._gist)
        self.body.addWidget(FlowBox(self._pills()))
        points = sum(len(section.bullets) for section in card.sections)
        self.fold_head = FoldHead(
            "Sections and ledger", f"{len(card.sections)} sections · {points} points", "muted"
        )
        self.body.addWidget(self.fold_head)
        self.fold_head.toggled.connect(self._unfold)
        if unfolded:
            self.fold_head.setChecked(True)

    def _heading(self, now_ms: int) -> QHBoxLayout:
        card, row = self._card, QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(Line(title_of(card), 14, 600, self._ink))
        if card.undone:
            row.addWidget(Pill("undone", "warn"))
        row.addStretch(1)
        row.addWidget(moment(card.at_ms, now_ms))
        row.addWidget(undo_button(self._wishes, card.seq, card.undone))
        more = IconButton("ellipsis", "More", px=15, edge=28)
        more.clicked.connect(lambda: self._menu().popup(more.mapToGlobal(QPoint(0, more.height() + 4))))
        row.addWidget(more)
        return row

    def _summary(self) -> QWidget:
        gist, column = QWidget(), QVBoxLayout()
        gist.setLayout(column)
        column.setContentsMargins(0, 0, 4, 0)
        column.setSpacing(3)
        by_title = {section.title: section.bullets for section in self._card.sections}
        bullets = [bullet for title in _SUMMARY_FROM for bullet in by_title.get(title, ())[:1]]
        for bullet in bullets[:_SUMMARY]:
            view = BulletView(bullet, "faint" if self._card.undone else "muted")
            view.source_clicked.connect(self._wishes.source)
            column.addWidget(view)
        gist.setVisible(bool(bullets))
        return gist

    def _pills(self) -> list[QWidget]:
        card = self._card
        change = f"{tokens_text(card.before)} → {tokens_text(card.after)} tokens"
        pills: list[QWidget] = [
            Pill(change, "neutral" if card.undone else "accent", "gauge"),
            Pill("1 message" if card.messages == 1 else f"{card.messages} messages", glyph="message-square"),
            Pill(model_text(card), "warn" if card.fallback else "neutral", "bot" if card.model else "list"),
            Pill(f"at {card.trigger}" if card.trigger[:1].isdigit() else card.trigger, glyph="zap"),
            Pill(duration_text(card.duration_ms), glyph="clock"),
        ]
        pills[2].setToolTip(card.fallback)
        if card.focus:
            pills.append(Pill(f"focus: {card.focus[:40]}", glyph="search"))
        if card.index:
            index = Pill(card.index[:8], glyph="database", mono=True, clickable=True)
            index.setToolTip(f"Index of {card.index_entries} cached outputs: show it in the cache browser")
            index.clicked.connect(lambda: self._wishes.digest.emit(card.index))
            pills.append(index)
        return pills

    def _unfold(self, opened: bool) -> None:
        if self._everything is None:
            self._everything = self._build_everything()
            self.body.addWidget(self._everything)
            retint(self._everything, self._theme)
        self._everything.setVisible(opened)
        self._gist.setVisible(not opened)
        self._wishes.unfolded.emit(self._card.seq, opened)

    def _build_everything(self) -> QWidget:
        everything, column = QWidget(), QVBoxLayout()
        everything.setLayout(column)
        column.setContentsMargins(0, 0, 4, 0)
        column.setSpacing(2)
        column.addWidget(line())
        column.addSpacing(4)
        self.folds = [section_fold(section, self._ink, self._wishes) for section in self._card.sections]
        for fold in self.folds:
            fold.head.setChecked(fold.head.isEnabled())
        if self._card.ledger:
            self.folds.append(ledger_fold(self._card.ledger, self._ink))
        for fold in self.folds:
            column.addWidget(fold)
        return everything

    def _menu(self) -> QMenu:
        menu, seq = QMenu(self), self._card.seq
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for words, deed in (
            ("Show in chat", lambda: self._wishes.show_in_chat.emit(seq)),
            ("Export as Markdown…", lambda: self._wishes.export.emit(seq)),
        ):
            action = QAction(words, menu)
            action.triggered.connect(deed)
            menu.addAction(action)
        return menu
