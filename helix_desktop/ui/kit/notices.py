"""Notices: what happened, why, and what can be done about it, over the page that is on screen.

`notify(Notice(...))` shows one. A notice carries what its buttons do, and what ends it. It lies over the top
of the chat, over the bottom of other pages, and moves nothing; after a while it folds into a button of the
top bar, or goes if it is brief.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QCursor,
    QDesktopServices,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QSizePolicy, QWidget

from helix_desktop.domain.choices import Remedy
from helix_desktop.domain.errors import (
    AgentWorking,
    BudgetExhausted,
    CompactionRefused,
    ContentRedacted,
    DigestAmbiguous,
    DigestUnknown,
    HelixError,
    InvalidInput,
    ModelNotChosen,
    OutputFormUnavailable,
    RevertRefused,
    StoreError,
    StoreRepaired,
    StoreWriteFailed,
    SummaryRefused,
    WorkspaceClosed,
    WorkspaceUntrusted,
)
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import ICON_GAP_PX, IconButton, PushButton
from helix_desktop.ui.design.focus import FocusReturn, refocus
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout import ResponsiveRow, column, pane, row
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.style.fonts import scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.words.button_labels import action_label
from helix_desktop.words.translation import Translator, translate

if TYPE_CHECKING:
    from helix_desktop.domain.events.recorded_event import Event
    from helix_desktop.domain.events.session import EventBase
    from helix_desktop.ui.design.async_actions import ReportOutcome

tr = Translator("Window")

NoticeLevel = Literal["error", "warning", "info"]
End: TypeAlias = "type[EventBase] | Callable[[Event], bool]"
"""A type of event, or what tells one that ends a notice."""

_ICONS: dict[NoticeLevel, tuple[str, str]] = {
    "error": ("circle-alert", "error"),
    "warning": ("triangle-alert", "warn"),
    "info": ("info", "accent_text"),
}
_WIDTH_PX = 784  # at most, at 100 %
_GAP_PX = 12  # at least, at both sides
_TEXT_PX = 440  # that a longer text keeps beside its buttons; else they stand below it
_MOST = 2  # notices at once, unless more are required
_LOW_LINES = 48  # of text in a window's height: in a lower one a single notice leaves room for the work
_READ_MS = 10_000  # until one goes or folds
_CHAR_MS = 75  # more for each character of it
_MORE_MS = 3_000  # and then while it can't
_NEAR_PX = 90  # around one: who moves the pointer there may be on the way to it
_MAX_WAITS = 5  # for a pointer that moves elsewhere: that of a user at work always does
_QUIET_MS = 600  # in which a new one takes no click: it may be meant for what the notice covers, and reverse
_SHADOW_PX = 14
_MOVES = {QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.LayoutRequest}


class Answer(NamedTuple):
    """A button of a notice: its words, what it does, and what finds it.

    With `ends` the notice goes when it is pressed, else it folds.
    """

    words: str
    action: Callable[[], object]
    name: str = ""
    ends: bool = False


class Notice(NamedTuple):
    """What happened, why, and what can be done.

    It is shown with the workspace and the session it is about, by id; empty: with all of them. One with the
    same name and place takes its place. `is_brief`: it goes by itself, since all that it offers stands
    elsewhere too.
    """

    name: str
    what: str
    why: str = ""
    fix: str = ""
    answers: tuple[Answer, ...] = ()
    level: NoticeLevel = "info"
    is_brief: bool = False
    can_dismiss: bool = True
    workspace_id: str = ""
    session_id: str = ""
    ends_with: tuple[End, ...] = ()
    """Of the events of the session on screen: types, and what tells one."""
    on_dismiss: Callable[[], object] | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.workspace_id, self.session_id

    @property
    def is_required(self) -> bool:
        """Return True if it has to be seen until the user answers it or closes it."""
        return self.level != "info" or not self.can_dismiss

    def applies_to(self, workspace_id: str, session_id: str) -> bool:
        return self.workspace_id in {"", workspace_id} and self.session_id in {"", session_id}

    def is_ended_by(self, event: Event) -> bool:
        return any(isinstance(event, end) if isinstance(end, type) else end(event) for end in self.ends_with)


class _Card(QFrame):
    def __init__(self, notice: Notice, area: NoticeArea) -> None:
        super().__init__()
        self.notice = notice
        self._area = area
        self.setObjectName(notice.name)
        self.setProperty("role", "notice")
        self.setProperty("level", notice.level)
        self.setAccessibleName(translate(join_sentences(notice.what, notice.why, notice.fix)))
        self._pointer = QCursor.pos()
        self._waits = 0
        self._timer = QTimer(self)
        self._timer.setObjectName("read")
        self._timer.timeout.connect(self._leave_unless_used)
        self._quiet = QTimer(self, singleShot=True, interval=_QUIET_MS)
        self._quiet.setObjectName("quiet")
        self._quiet.timeout.connect(lambda: self._take_clicks(True))
        self.is_folded = self._is_announced = False
        words = column(label(notice.what, "strong", wrap=True), gap=3)
        if rest := translate(join_sentences(notice.why, notice.fix)):
            words.addWidget(label(rest, "note", wrap=True))
        buttons = []
        for answer in notice.answers:
            button = PushButton(answer.words, name=f"{notice.name}:{answer.name}")
            button.clicked.connect(lambda _=False, answer=answer: area.answer(notice, answer))
            buttons.append(button)
        text = pane(words)
        message = ResponsiveRow(text, buttons, _TEXT_PX) if buttons else text
        if notice.can_dismiss:
            close = IconButton("x", tr("Dismiss"), px=15, edge=26, name=f"{notice.name}:dismiss")
            close.clicked.connect(lambda: area.dismiss(notice))
        else:
            close = IconButton("chevron-up", tr("Hide"), px=15, edge=26, name=f"{notice.name}:fold")
            close.clicked.connect(lambda: area.fold(notice))
        face, color = _ICONS[notice.level]
        sign = IconLabel(face, px=17, color_token=color)
        top = (sign, close) if rest else ()  # beside a single line they are centered
        self.setLayout(row(sign, message, close, margins=(14, 10, 8, 10), gap=11, stretch=1, top=top))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._waits = 0
        self._timer.start(_READ_MS + _CHAR_MS * len(self.accessibleName()))
        self._take_clicks(False)
        self._quiet.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
        if self.isHidden():  # and not with the window
            self._area.cover(self.geometry())

    def announce_once(self) -> None:
        """Tell screen readers when it is first on screen; one of another session waits until then."""
        if self.isVisible() and not self._is_announced:
            self._is_announced = True
            announce(self, self.accessibleName())

    def takes_clicks(self) -> bool:
        return not self.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def _take_clicks(self, takes: bool) -> None:
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not takes)
        self._area.follow_cards()

    def _leave_unless_used(self) -> None:
        """Go, unless the user is at it, or can't have seen it, or may be about to click what would move."""
        pointer = QCursor.pos()
        near = self.rect().adjusted(-_NEAR_PX, -_NEAR_PX, _NEAR_PX, _NEAR_PX)
        is_near = near.contains(self.mapFromGlobal(pointer))
        moved = pointer != self._pointer and (is_near or self._waits < _MAX_WAITS)
        self._pointer = pointer
        self._waits = 0 if is_near else self._waits + 1
        is_used = self.underMouse() or self.isAncestorOf(QApplication.focusWidget() or self.window())
        if is_used or moved or not self.window().isActiveWindow() or QAccessible.isActive():
            self._timer.start(_MORE_MS)
        elif self.notice.is_brief:
            self._area.dismiss(self.notice)
        else:
            self._area.fold(self.notice)


class NoticeShadow(QWidget):
    """The shadow of the cards on the page; it takes no click."""

    def __init__(self, area: NoticeArea) -> None:
        super().__init__(area.parentWidget())
        self._area = area
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.stackUnder(area)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(0, 0, 0, 4))  # a shadow is black in both themes
        origin = self._area.pos() - self.pos()
        for card in self._area.visible_cards():
            around = QRectF(card.geometry().translated(origin))
            for px in range(_SHADOW_PX, 0, -2):
                painter.drawRoundedRect(around.adjusted(-px, 4 - px, px, px), 10 + px, 10 + px)


class NoticeCover(QWidget):
    """Takes clicks, unseen, where a notice has just gone."""


class NoticeArea(QWidget):
    """The notices of the workspace and session on screen, newest last; hidden while there is none.

    It shares a cell of a layout with the page, which it lies over. Those of other workspaces and sessions
    wait until these are on screen again, and older ones for room. In a low window the newest is shown, which
    answers what the user just did, and the others on request.
    """

    appears = Signal()
    """The first card comes: whoever lays the area out chooses the place."""

    def __init__(self) -> None:
        """Start empty and hidden; `folded` is a button for the top bar."""
        super().__init__()
        self._cards: dict[tuple[str, str, str], _Card] = {}
        self.context_ids = ("", "")
        self._focus_return = FocusReturn(self)
        self._shadow: NoticeShadow | None = None
        self._column = column(margins=(_GAP_PX, 8, _GAP_PX, _GAP_PX))
        self.setLayout(self._column)
        self._all = PushButton("", name="all-notices", on_click=self._show_all)
        self._shows_all = False
        self._column.addWidget(self._all, alignment=Qt.AlignmentFlag.AlignLeft)
        self.folded = _FoldedButton()
        self.folded.clicked.connect(self.unfold)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(scaled(_WIDTH_PX), super().sizeHint().height())

    def set_context(self, workspace_id: str, session_id: str) -> None:
        before = self.context_ids
        self.context_ids = (workspace_id, session_id)
        for card in self._cards.values():
            if not card.notice.applies_to(*before):
                card.is_folded = False  # it comes on screen now
        self._show_cards()

    def notify(self, notice: Notice) -> None:
        self._remove(notice.key)
        card = _Card(notice, self)
        self._cards[notice.key] = card
        self._column.insertWidget(self._column.count() - 1, card)
        self._show_cards()

    def notify_here(self, notice: Notice) -> None:
        workspace_id, session_id = self.context_ids
        self.notify(notice._replace(workspace_id=workspace_id, session_id=session_id))

    def end(self, name: str, workspace_id: str = "") -> None:
        """Take a notice of the place on screen away, or of a workspace; unknown names are no error."""
        for notice in [card.notice for card in self._cards.values() if card.notice.name == name]:
            if notice.workspace_id == workspace_id if workspace_id else notice.applies_to(*self.context_ids):
                self._remove(notice.key)
        self._show_cards()

    def withdraw(self, notice: Notice) -> None:
        """Take a notice away wherever it belongs: what it was about is over."""
        self._remove(notice.key)
        self._show_cards()

    def follow(self, event: Event) -> None:
        for notice in [notice for notice in self._here() if notice.is_ended_by(event)]:
            self.withdraw(notice)

    def answer(self, notice: Notice, answer: Answer) -> None:
        """Do it, with the notice away or folded: it may not cover what its own button opens."""
        if answer.ends:
            self.withdraw(notice)
        else:
            self.fold(notice)
        answer.action()

    def dismiss(self, notice: Notice) -> None:
        self.withdraw(notice)
        if notice.on_dismiss is not None:
            notice.on_dismiss()

    def fold(self, notice: Notice) -> None:
        """Leave the page to the user: the button in the top bar brings the notice back."""
        if notice.key in self._cards:
            self._cards[notice.key].is_folded = True
            self._show_cards()

    def unfold(self) -> None:
        """Show all that is folded, with the keyboard there if it came from the button."""
        has_keyboard = self.folded.hasFocus()
        for card in self._cards.values():
            card.is_folded = False
        self._show_cards()
        if has_keyboard:
            self._focus_first()

    def cover(self, place: QRect) -> None:
        """Take clicks where a notice has just gone: they were meant for it, not for what it covered."""
        if self.parentWidget() is None:
            return
        cover = NoticeCover(self.parentWidget())
        cover.setGeometry(place.translated(self.pos()))
        cover.show()
        QTimer.singleShot(_QUIET_MS, cover, cover.deleteLater)

    def names(self) -> tuple[str, ...]:
        """Return the notices of the place on screen, oldest first; folded ones too."""
        return tuple(notice.name for notice in self._here())

    def visible_cards(self) -> list[QWidget]:
        return [card for card in self._cards.values() if card.isVisible()]

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.window().installEventFilter(self)
        self._show_cards()

    def event(self, event: QEvent) -> bool:
        if event.type() in _MOVES:
            QTimer.singleShot(0, self, self._shape)
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.window() and event.type() == QEvent.Type.Resize:
            self._show_cards()
        return super().eventFilter(watched, event)

    def follow_cards(self) -> None:
        """Take clicks once a card does: until then they reach the page."""
        takes = any(card.takes_clicks() for card in self._cards.values() if not card.isHidden())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, not takes)

    def _shape(self) -> None:
        if self._shadow is None and self.parentWidget() is not None:
            self._shadow = NoticeShadow(self)
        if self._shadow is not None:
            self._shadow.stackUnder(self)  # which was raised over a page that came after it
            around = (-_SHADOW_PX, -_SHADOW_PX, _SHADOW_PX, _SHADOW_PX)
            self._shadow.setGeometry(self.geometry().adjusted(*around))
            self._shadow.setVisible(self.isVisible())
            self._shadow.update()
        region = QRegion()  # of the cards: what is between them is the page's
        for part in (*self.visible_cards(), *((self._all,) if self._all.isVisible() else ())):
            region = region.united(part.geometry())
        self.setMask(region)

    def _here(self) -> list[Notice]:
        notices = [card.notice for card in self._cards.values()]
        return [notice for notice in notices if notice.applies_to(*self.context_ids)]

    def _show_all(self) -> None:
        self._shows_all = True
        self._show_cards()

    def _with_room(self) -> list[Notice]:
        """Return those that are required and, as far as there is room, the newest others; the newest last."""
        here = [notice for notice in self._here() if not self._cards[notice.key].is_folded]
        required = [notice for notice in here if notice.is_required]
        others = [notice for notice in here if not notice.is_required]
        room = max(1, _MOST - len(required))
        fitting = (*others[-room:], *required)
        return [notice for notice in here if notice in fitting]

    def _remove(self, key: tuple[str, str, str]) -> None:
        card = self._cards.pop(key, None)
        if card is not None:
            self._focus_return.give_back_from(card)
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()

    def _show_cards(self) -> None:
        if not self._cards and self.isHidden() and self.folded.isHidden():
            return  # as nearly always, and each page that is shown ends some
        was_at_all = self._all.hasFocus()
        notices = self._with_room()
        self._shows_all = self._shows_all and len(notices) > 1
        is_low = self.window().height() < _LOW_LINES * self.fontMetrics().lineSpacing()
        is_stack = len(notices) > 1 and is_low and not self._shows_all
        self._all.setVisible(is_stack)
        self._all.setText(tr("Show all {number} notices", number=len(notices)))
        visible = notices[-1:] if is_stack else notices
        for card in self._cards.values():
            if card.notice not in visible:
                self._focus_return.give_back_from(card)
            card.setVisible(card.notice in visible)
        if visible and self.isHidden():
            self.appears.emit()
        self.setVisible(bool(visible))
        self.raise_()
        self.follow_cards()
        self.folded.show_notices([notice for notice in self._here() if self._cards[notice.key].is_folded])
        if was_at_all and self._all.isHidden():  # Qt moved the keyboard out of the notices
            self._focus_first()
        for card in self._cards.values():
            card.announce_once()

    def _focus_first(self) -> None:
        buttons = self.findChildren(QAbstractButton)
        refocus(next((button for button in buttons if button.isVisible()), None))


class _FoldedButton(PushButton):
    """How many notices are folded, and the gravest of them."""

    _level: NoticeLevel = "info"

    def __init__(self) -> None:
        super().__init__("", "link", _ICONS["info"][0], name="folded-notices")
        self.hide()

    def show_notices(self, notices: list[Notice]) -> None:
        levels = {notice.level for notice in notices}
        former = self._level
        self._level = next((level for level in _ICONS if level in levels), "info")
        self.setText(tr.plural(len(notices), "%n notice", "%n notices") if notices else "")
        words = tr.plural(len(notices), "Show %n notice", "Show %n notices")
        self.setToolTip(plain_tooltip("\n".join((words, *(notice.what for notice in notices)))))
        self.setAccessibleName(words)
        if self._level != former:
            self.apply_theme()
        self.setVisible(bool(notices))

    def apply_theme(self) -> None:
        super().apply_theme()
        face, token = _ICONS[self._level]
        self.setIcon(icon(face, str(getattr(self._theme, token)), scaled(15), gap=ICON_GAP_PX))


REFUSED_COMPACTION = "refused-compaction"
"""Of the notice that says why nothing is compacted: the next attempt or message ends it."""

FAILED_WRITE = "failed-write"
"""Of the notice that says that nothing can be saved: the next event that is saved ends it."""

UNDONE_CHANGES = "undone-changes"
"""Of the notice that says what was taken back after a crash: what restores it ends it."""

AGENT_WORKING = "agent-working"
"""Of the notice that says that something has to wait for the end of the turn, which ends it."""


def show_folder(folder: Path) -> Answer:
    return Answer(
        tr("Show folder"), lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))), "show"
    )


_ANSWERS = (CompactionRefused, ContentRedacted, OutputFormUnavailable, ModelNotChosen, WorkspaceUntrusted)
"""Nothing went wrong: what was asked for cannot be done now, and these say why."""
_NEEDS = (
    SummaryRefused, BudgetExhausted, DigestAmbiguous, DigestUnknown, InvalidInput, RevertRefused,
    StoreRepaired,
)  # fmt: skip
"""Something else is needed of the user or a model; nothing is broken."""
_LEVELS: dict[type, NoticeLevel] = {**dict.fromkeys(_ANSWERS, "info"), **dict.fromkeys(_NEEDS, "warning")}


def error_level(error: HelixError) -> NoticeLevel:
    """Return how an error is shown: as an alarm only where something is broken; its nearest class decides."""
    return next((_LEVELS[kind] for kind in type(error).__mro__ if kind in _LEVELS), "error")


def error_notice(
    error: HelixError, help_with: Callable[[Remedy], object], workspace_id: str = "", session_id: str = ""
) -> Notice:
    """Return what says what went wrong, or why what was asked for cannot be done.

    `help_with` does one of the error's remedies, by its name.
    """
    name, ends_with = _name_and_ends(error)
    answers = tuple(
        Answer(action_label(remedy), partial(help_with, remedy), remedy) for remedy in error.remedies
    )
    return Notice(
        name, translate(error.what), translate(error.why), translate(error.fix), answers, error_level(error),
        workspace_id=workspace_id, session_id=session_id, ends_with=ends_with,
    )  # fmt: skip


def _name_and_ends(error: HelixError) -> tuple[str, tuple[End, ...]]:
    # An error may be there before a session: the first frame need not wait for all kinds of events.
    from helix_desktop.domain.events.conversation import TurnEnded, UserSpoke
    from helix_desktop.domain.events.session import EventBase

    match error:
        case CompactionRefused():
            return REFUSED_COMPACTION, (UserSpoke,)
        case StoreWriteFailed():
            return FAILED_WRITE, (EventBase,)
        case AgentWorking():
            return AGENT_WORKING, (TurnEnded,)
    return error.what, ()


class ErrorNotices:
    """Shows why an action failed, until the same action succeeds in the same place.

    A store's errors stay: that another action worked does not say that the store does.
    """

    def __init__(self, area: NoticeArea, help_with: Callable[[Remedy], object]) -> None:
        self._area = area
        self._help_with = help_with
        self._failed: dict[tuple[tuple[str, str], str], Notice] = {}  # by place and action

    def show(self, error: HelixError) -> None:
        self._area.notify(error_notice(error, self._help_with, *self._area.context_ids))

    def bind_place(self) -> ReportOutcome:
        place = self._area.context_ids
        return lambda name, error: self._report(place, name, error)

    def _report(self, place: tuple[str, str], name: str, error: HelixError | None) -> None:
        former = self._failed.pop((place, name), None)
        if former is not None:
            self._area.withdraw(former)
        # What still read a workspace as the user closed it failed for nobody.
        if error is not None and not isinstance(error, WorkspaceClosed):
            notice = error_notice(error, self._help_with, *place)
            self._area.notify(notice)
            if not isinstance(error, StoreError):
                self._failed[place, name] = notice
