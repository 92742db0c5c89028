"""Messages on top of the center: what happened, why, and what can be done about it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QCursor, QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QVBoxLayout, QWidget

from helix_desktop.domain.errors import HelixError, StoreError
from helix_desktop.domain.translatable_text import join_sentences
from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.async_actions import ReportOutcome
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.focus import FocusReturn, refocus
from helix_desktop.ui.design.labels import IconLabel, label
from helix_desktop.ui.design.layout.boxes import column, row
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.shell_data import Banner, error_banner
from helix_desktop.ui.design.themed import Themed, retint
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")

_ICONS = {
    "error": ("circle-alert", "error"),
    "warning": ("triangle-alert", "warn"),
    "info": ("info", "accent_text"),
}
_TEXT_PX = 440  # that a longer text keeps beside its buttons; else they stand below it
_MOST = 2  # banners at once, unless more are required
_LOW_LINES = 48  # of text in a window's height: in a lower one a single banner leaves room for the work
_BRIEF_MS, _MORE_MS = 15_000, 3_000  # until a brief one goes, and then while it can't
_MAX_WAITS = 5  # for a pointer that moves: that of a user at work always does


class _BannerCard(QFrame):
    """One message with its buttons."""

    action_clicked = Signal(str, str)
    dismissed = Signal(str)

    def __init__(self, banner: Banner) -> None:
        super().__init__()
        self.setProperty("role", "banner")
        self.setProperty("level", banner.level)
        self.setAccessibleName(translate(join_sentences(banner.what, banner.why, banner.fix)))
        self._pointer, self._waits = QCursor.pos(), 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(lambda: self._expire(banner.id))
        self._is_brief = banner.is_brief
        self._is_announced = False
        words = column(label(banner.what, "strong", wrap=True), gap=3)
        rest = translate(join_sentences(banner.why, banner.fix))
        if rest:
            words.addWidget(label(rest, "note", wrap=True))
        text = QWidget()
        text.setLayout(words)
        message = ResponsiveRow(text, self._buttons(banner), _TEXT_PX) if banner.actions else text
        close = IconButton("x", tr("Dismiss"), px=15, edge=26)
        close.clicked.connect(lambda: self.dismissed.emit(banner.id))
        if not banner.dismissable:
            close.hide()
        face, color = _ICONS[banner.level]
        line = row(IconLabel(face, px=17, color_token=color), message, close, margins=(14, 10, 8, 10), gap=11)
        line.setStretch(1, 1)
        sides = (line.itemAt(0), line.itemAt(2)) if rest else ()  # beside a single line they are centered
        for item in filter(None, sides):
            item.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to wait, if it goes by itself: one of another session is not seen yet."""
        super().showEvent(event)
        if self._is_brief:
            self._timer.start(_BRIEF_MS)

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop to wait."""
        super().hideEvent(event)
        self._timer.stop()

    def announce_once(self) -> None:
        """Tell screen readers when it is first on screen; one of another session waits until then."""
        if self.isVisible() and not self._is_announced:
            self._is_announced = True
            announce(self, self.accessibleName())

    def _expire(self, banner_id: str) -> None:
        """Go, unless the user is at it, or can't have seen it, or may be about to click what would move."""
        moved = QCursor.pos() != self._pointer and self._waits < _MAX_WAITS
        self._pointer, self._waits = QCursor.pos(), self._waits + 1
        is_used = self.underMouse() or self.isAncestorOf(QApplication.focusWidget() or self.window())
        if is_used or moved or not self.window().isActiveWindow() or QAccessible.isActive():
            self._timer.start(_MORE_MS)
        else:
            self.dismissed.emit(banner_id)

    def _buttons(self, banner: Banner) -> list[QWidget]:
        buttons: list[QWidget] = []
        for action in banner.actions:
            button = PushButton(action.text)
            button.setObjectName(f"{banner.id}:{action.id}")
            button.clicked.connect(
                lambda _=False, action_id=action.id: self.action_clicked.emit(banner.id, action_id)
            )
            buttons.append(button)
        return buttons


class BannerArea(Themed, QWidget):
    """The banners of the workspace and session on screen, newest last; hidden while there is none.

    Those of other workspaces and sessions wait until these are on screen again, and older ones for room. In
    a low window the newest is shown, which answers what the user just did, and the others on request.
    """

    action_clicked = Signal(str, str)
    """Banner id and action id."""
    dismissed = Signal(str)

    def __init__(self) -> None:
        """Start empty and hidden."""
        super().__init__()
        self._cards: dict[tuple[str, str, str], tuple[Banner, _BannerCard]] = {}
        self._context_ids = ("", "")
        self._focus_return = FocusReturn(self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(20, 10, 20, 4)
        self._column.setSpacing(8)
        self._all = PushButton("", "link", name="all-notices")
        self._all.clicked.connect(self._show_all)
        self._shows_all = False
        self._column.addWidget(self._all, alignment=Qt.AlignmentFlag.AlignLeft)
        self.hide()

    @property
    def context_ids(self) -> tuple[str, str]:
        """Return the workspace and the session on screen, by id."""
        return self._context_ids

    def set_context(self, workspace_id: str, session_id: str) -> None:
        """Show the banners of a workspace and session; those of others wait."""
        self._context_ids = workspace_id, session_id
        self._show_cards()

    def show_banner(self, banner: Banner) -> None:
        """Show a banner where it belongs; one with the same id there is replaced."""
        self._remove(banner.key)
        card = _BannerCard(banner)
        card.action_clicked.connect(self.action_clicked)
        card.dismissed.connect(lambda _: self._dismiss(banner))
        retint(card, self._theme)
        self._cards[banner.key] = banner, card
        self._column.insertWidget(self._column.count() - 1, card)
        self._show_cards()

    def remove(self, banner_id: str, workspace_id: str = "") -> None:
        """Take a banner of the place on screen away, or of a workspace; unknown ids are no error."""
        for banner in [banner for banner, _ in self._cards.values() if banner.id == banner_id]:
            if banner.workspace_id == workspace_id if workspace_id else banner.applies_to(*self._context_ids):
                self._remove(banner.key)
        self._show_cards()

    def withdraw(self, banner: Banner) -> None:
        """Take a banner away wherever it belongs: what it was about is over."""
        self._remove(banner.key)
        self._show_cards()

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the height of the window, which decides how many are shown."""
        super().showEvent(event)
        self.window().installEventFilter(self)
        self._show_cards()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show as many as the window's new height has room for."""
        if watched is self.window() and event.type() == QEvent.Type.Resize:
            self._show_cards()
        return super().eventFilter(watched, event)

    def _is_in_low_window(self) -> bool:
        return self.window().height() < _LOW_LINES * self.fontMetrics().lineSpacing()

    def _show_all(self) -> None:
        self._shows_all = True
        self._show_cards()

    def _keys_with_room(self) -> list[tuple[str, str, str]]:
        """Return those that are required and, as far as there is room, the newest others; the newest last."""
        here = [banner for banner, _ in self._cards.values() if banner.applies_to(*self._context_ids)]
        required = [banner for banner in here if banner.is_required]
        others = [banner for banner in here if not banner.is_required]
        room = max(1, _MOST - len(required))
        fitting = (*others[-room:], *required)
        return [banner.key for banner in here if banner in fitting]

    def banner_ids(self) -> tuple[str, ...]:
        """Return the banners of the place on screen, oldest first."""
        return tuple(banner.id for banner, _ in self._cards.values() if banner.applies_to(*self._context_ids))

    def _remove(self, key: tuple[str, str, str]) -> None:
        _, card = self._cards.pop(key, (None, None))
        if card is not None:
            self._focus_return.give_back_from(card)
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()

    def _show_cards(self) -> None:
        was_at_all = self._all.hasFocus()
        keys = self._keys_with_room()
        self._shows_all = self._shows_all and len(keys) > 1
        is_folded = len(keys) > 1 and self._is_in_low_window() and not self._shows_all
        self._all.setVisible(is_folded)
        self._all.setText(tr("Show all {number} notices", number=len(keys)))
        visible = keys[-1:] if is_folded else keys
        for banner, card in self._cards.values():
            if banner.key not in visible:
                self._focus_return.give_back_from(card)
            card.setVisible(banner.key in visible)
        self.setVisible(bool(self.banner_ids()))
        if was_at_all and self._all.isHidden():  # Qt moved the keyboard out of the banners
            buttons = self.findChildren(QAbstractButton)
            refocus(next((button for button in buttons if button.isVisible()), None))
        for _, card in self._cards.values():
            card.announce_once()

    def _dismiss(self, banner: Banner) -> None:
        self._remove(banner.key)
        self._show_cards()
        self.dismissed.emit(banner.id)


class ErrorBanners:
    """Shows why an action failed, until the same action succeeds in the same place.

    A store's errors stay: that another action worked does not say that the store does.
    """

    def __init__(self, banners: BannerArea) -> None:
        self._banners = banners
        self._failed: dict[tuple[tuple[str, str], str], Banner] = {}  # by place and action

    def bind_place(self) -> ReportOutcome:
        """Return what reports outcomes in the workspace and session on screen now."""
        place = self._banners.context_ids
        return lambda name, error: self._report(place, name, error)

    def _report(self, place: tuple[str, str], name: str, error: HelixError | None) -> None:
        former = self._failed.pop((place, name), None)
        if former is not None:
            self._banners.withdraw(former)
        if error is not None:
            banner = error_banner(error, *place)
            self._banners.show_banner(banner)
            if not isinstance(error, StoreError):
                self._failed[place, name] = banner
