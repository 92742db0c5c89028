"""The conversation: a virtual list that keeps only the visible messages alive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QPointF, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QGuiApplication,
    QKeyEvent,
)
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget

from helix_desktop.ui.chat.actions import ApprovalAnswer, ReadingAction, RowKey
from helix_desktop.ui.chat.items.assistant_message import AssistantMessageItem
from helix_desktop.ui.chat.items.tool_card import has_menu
from helix_desktop.ui.chat.items.user_message import VERSION_ARROWS
from helix_desktop.ui.chat.markdown.formulas import Formula, FormulaDrawings
from helix_desktop.ui.chat.rows.row_texts import text_of_row
from helix_desktop.ui.chat.rows.row_types import (
    ApprovalRow,
    AskRow,
    AssistantRow,
    ChatModel,
    QuestionRow,
    ToolRow,
    TurnFooterRow,
    UserRow,
)
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.chat.viewport.finder import ChatFinder
from helix_desktop.ui.chat.viewport.interactions import (
    ApprovalClickGuard,
    MouseHandler,
    RowInteractions,
    text_under,
)
from helix_desktop.ui.chat.viewport.item_cache import ChatViewport, ItemCache
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.buttons import EnterActivates
from helix_desktop.ui.design.highlight import Highlighter
from helix_desktop.ui.design.style.fonts import scale
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme, set_style_sheet
from helix_desktop.ui.kit.intents import CopyMarkdown, Intent, LookAtStep, perform
from helix_desktop.ui.rows.list_view import RowListView
from helix_desktop.ui.rows.selection import Selection
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

FLUSH_MS = 33
_PAUSE_FACTOR = 4  # a flush that costs n ms is followed by a pause of at least 4 n ms


class ModelUpdates(QObject):
    """Listens to the model of a viewport for as long as the viewport lives."""

    def __init__(self, chat_viewport: ChatViewport) -> None:
        super().__init__(chat_viewport)
        self._chat_viewport = chat_viewport
        self._pending_keys: set[RowKey] = set()
        self._pause_ms = FLUSH_MS
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.flush)
        model = chat_viewport.model
        model.row_added.connect(self._on_row_added)
        model.row_removed.connect(self._on_row_removed)
        model.rows_changed.connect(self._on_rows_changed)
        model.row_streamed.connect(self._on_row_streamed)

    def flush(self) -> None:
        """Render the text that has arrived."""
        start = time.perf_counter()
        waiting, self._pending_keys = self._pending_keys, set()
        for key in waiting:
            index = self._chat_viewport.model.index_of(key)
            if index is not None and self._update_in_place(index, key):
                self._repaint(key)
        if waiting:
            self._chat_viewport.refresh()
        spent_ms = (time.perf_counter() - start) * 1000
        self._pause_ms = max(FLUSH_MS, round(spent_ms * _PAUSE_FACTOR))

    def _on_row_added(self, index: int) -> None:
        viewport = self._chat_viewport
        viewport.scroll_layout.insert(index, viewport.item_cache.estimate(index))
        if not viewport.is_following:
            viewport.unseen_count += 1
        viewport.refresh()

    def _on_row_removed(self, index: int) -> None:
        self._chat_viewport.scroll_layout.remove(index)
        self._chat_viewport.unseen_count = max(0, self._chat_viewport.unseen_count - 1)
        self._chat_viewport.refresh()

    def _on_rows_changed(self, indexes: list[int]) -> None:
        for index in indexes:
            key = self._chat_viewport.model.raw_row(index).key
            if not self._update_in_place(index, key):
                self._chat_viewport.item_cache.drop(key)
            self._repaint(key)
        self._chat_viewport.refresh()

    def _on_row_streamed(self, index: int, _delta: str) -> None:
        self._pending_keys.add(self._chat_viewport.model.raw_row(index).key)
        if not self._timer.isActive():
            self._timer.start(self._pause_ms)

    def _update_in_place(self, index: int, key: RowKey) -> bool:
        """Let the item of an answer grow in place; False when it has to be created again."""
        row = self._chat_viewport.model.row(index)
        item = self._chat_viewport.item_cache.find(key)
        if not (isinstance(row, AssistantRow) and isinstance(item, AssistantMessageItem)):
            return False
        try:
            return item.try_update(row)
        except Exception as error:  # noqa: BLE001 - of one row, which must not take the others with it
            self._chat_viewport.column.show_plain(index, error)
            return True

    def _repaint(self, key: RowKey) -> None:
        widget = self._chat_viewport.widget_pool.visible.get(key)
        if widget is not None:
            widget.update()


_BOTTOM_MARGIN = 14  # pixels above the lower edge


class NewRowsButton(EnterActivates, QPushButton):
    """Shown while the end is out of sight; counts the rows that came meanwhile. Covers no card that asks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()

    def set_style(self, style: ChatStyle) -> None:
        theme = style.theme
        self.setFont(style.font(SMALL, MEDIUM))
        self.setIcon(icon("arrow-down", theme.accent_text, 14))
        self.setIconSize(QSize(14, 14))
        set_style_sheet(
            self,
            f"QPushButton {{ background: {theme.surface}; color: {theme.accent_text};"
            f" border: 1px solid {theme.border_strong}; border-radius: 15px; padding: 0 13px;"
            " min-height: 28px;"
            f" font-size: {round(style.px(SMALL))}px; font-weight: 500; }}"
            f"QPushButton:hover {{ background: {theme.accent_soft}; border-color: {theme.accent}; }}"
            f"QPushButton:focus {{ background: {theme.accent_soft}; border: 2px solid {theme.accent};"
            " padding: 0 12px; min-height: 26px; }",
        )

    def watch(self, chat_viewport: ChatViewport, area: QWidget) -> None:
        """Show the button above the lower edge of an area while a viewport does not follow."""
        chat_viewport.layout_changed.connect(lambda: self._update(chat_viewport, area))
        self.clicked.connect(chat_viewport.go_to_end)

    def _update(self, chat_viewport: ChatViewport, area: QWidget) -> None:
        unseen_count = chat_viewport.unseen_count
        words = tr.plural(unseen_count, "%n new", "%n new") if unseen_count else tr("Latest")
        if words != self.text():
            self.setText(words)
            self.setAccessibleName(tr("{label}: go to the end of the conversation", label=words))
        at_end = chat_viewport.is_following or chat_viewport.is_at_end
        size, corner = self.sizeHint(), area.geometry()
        left = corner.x() + (corner.width() - size.width()) // 2
        place = QRect(left, corner.bottom() - size.height() - _BOTTOM_MARGIN, size.width(), size.height())
        is_shown = not at_end and not _covers_ask(chat_viewport, place.translated(-corner.topLeft()))
        if is_shown:
            self.setGeometry(place)
            self.raise_()
        self.setVisible(is_shown)


def _covers_ask(chat_viewport: ChatViewport, place: QRect) -> bool:
    """Return True if a rectangle of the viewport lies on a card that waits for the user."""
    return any(
        isinstance(chat_viewport.model.raw_row(row.row_index), AskRow)
        and row.y < place.bottom()
        and row.y + row.height > place.top()
        for row in chat_viewport.scroll_layout.placed
    )


class ChatView(RowListView):
    typed = Signal(str)  # signs that are meant for the composer

    def __init__(
        self,
        model: ChatModel,
        theme: Theme,
        parent: QWidget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` gives seconds."""
        super().__init__(tr("Conversation"), tr("Messages"), parent)
        self.highlighter = Highlighter(self)
        style = ChatStyle(theme, scale(QApplication.font()), self.devicePixelRatioF())
        self._formulas = FormulaDrawings(self)
        items = ItemCache(model, style, self.highlighter, self._formulas)
        self.chat_viewport = ChatViewport(model, items, self._area, self.verticalScrollBar())
        self.model_updates = ModelUpdates(self.chat_viewport)
        selection = Selection(items)
        self.finder = ChatFinder(self.chat_viewport)
        guard = ApprovalClickGuard(self.chat_viewport, clock)
        mouse = MouseHandler(self.chat_viewport, selection, self.viewport(), guard)
        self.interactions: RowInteractions = RowInteractions(
            self.chat_viewport, mouse, selection, self.finder
        )
        self.use(self.chat_viewport, selection, mouse, self.interactions)
        self._new_rows_button = NewRowsButton(self)
        self.is_past = False
        self._connect()
        self._show_style()
        self.chat_viewport.reset()

    def apply_theme(self) -> None:
        """Show everything in the theme and at the text size in force, at the same place."""
        current = self.chat_viewport.style
        look = (self._theme, scale(QApplication.font()), self.devicePixelRatioF())
        if look == (current.theme, current.zoom, current.ratio):
            return
        self.chat_viewport.item_cache.set_style(ChatStyle(*look))
        self._show_style()
        self.chat_viewport.refresh()
        self.chat_viewport.repaint()

    def _show_style(self) -> None:
        style = self.chat_viewport.style
        self._new_rows_button.set_style(style)
        self.show_style(style.theme)

    def show_answer_tips(self, tips: frozenset[tuple[ApprovalAnswer, str]]) -> None:
        if tips != self.chat_viewport.item_cache.answer_tips:
            self.chat_viewport.item_cache.answer_tips = tips
            self.chat_viewport.refresh()

    def show_message(self, is_reason: bool, is_answer: bool) -> None:
        """Say on cards that wait whether a denial, or an answer, can take along what is typed."""
        takes_message = (ApprovalRow,) * is_reason + (QuestionRow,) * is_answer
        if takes_message != self.chat_viewport.item_cache.takes_message:
            self.chat_viewport.item_cache.takes_message = takes_message
            self.chat_viewport.refresh()

    def jump_to(self, key: RowKey) -> bool:
        """Bring the row of a key to the top; False when there is no such row."""
        index = self.chat_viewport.model.index_of(key)
        if index is not None:
            self.chat_viewport.show_row(index)
        return index is not None

    def version_place(self, versions: Sequence[str]) -> tuple[RowKey | None, float, str]:
        """Return the row that has these versions, its top in pixels, and the name of its arrow in focus."""
        viewport = self.chat_viewport
        for index, row in enumerate(viewport.model.raw_rows()):
            if isinstance(row, UserRow | TurnFooterRow) and row.versions is not None:
                if row.versions.session_ids != tuple(versions):
                    continue
                placed, focused = viewport.placed_row(index), viewport.widget_pool.focused_widget()
                has_focus = focused is not None and focused.index == index
                name = focused.stop_name if focused is not None and has_focus else ""
                return row.key, placed.y if placed is not None else viewport.style.px(8), name
        return None, 0.0, ""

    def show_version(self, versions: Sequence[str], top: float, arrow: str) -> None:
        """Bring the row that has these versions to a place, with the keyboard on an arrow if it is named."""
        key, _, _ = self.version_place(versions)
        index = self.chat_viewport.model.index_of(key) if key is not None else None
        if key is None or index is None:
            return
        self.chat_viewport.show_row(index, top)
        if arrow:
            self.interactions.focus.focus_area(key, arrow, *VERSION_ARROWS)

    def find_text(self, text: str, direction: int = 1) -> None:
        """Go to the next (1) or previous (-1) row with a text; `finder.finished` is emitted at the end.

        An empty text ends finding and takes the marks away.
        """
        self.finder.find(text, direction)
        self.chat_viewport.repaint()

    def mark_text(self, text: str) -> None:
        """Mark a text where it stands, and scroll nowhere."""
        self.finder.mark(text)
        self.chat_viewport.repaint()

    def selected_seqs(self) -> tuple[int, int] | None:
        """Return the first and the last event of the selected messages; None where none are."""
        bounds = self._selection.bounds()
        if bounds is None:
            return None
        model = self.chat_viewport.model
        rows = [model.row(at) for at in range(bounds[0].row, min(bounds[1].row + 1, len(model)))]
        seqs = [row.key.seq for row in rows if row.key.part in ("event", "call") and row.key.seq]
        seqs += [row.answer_seq for row in rows if isinstance(row, ToolRow) and row.answer_seq]
        return (min(seqs), max(seqs)) if seqs else None

    def announce(self, text: str) -> None:
        accessibility.announce(self, text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll, copy, select; what is typed here goes where messages are written."""
        if is_typed(event):
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    def fill_menu(self, menu: QMenu, place: QPointF) -> None:
        if self._selection:
            menu.addAction(tr("Copy"), self.copy)
            if self.selected_seqs() is not None:
                menu.addAction(tr("Copy messages as Markdown"), lambda: perform(self, CopyMarkdown()))
        link = self._mouse.link_at(place)
        clipboard = QGuiApplication.clipboard()
        if link:
            menu.addAction(tr("Copy link"), lambda: clipboard.setText(link))
        located = self.chat_viewport.hit_test(place)
        text = text_under(located)
        if located is not None and text is not None:
            formula = text.image_source(text.position_at(located.x, located.y))
            if formula:
                copy = menu.addAction(tr("Copy formula"), lambda: clipboard.setText(formula))
                copy.setObjectName("copy-formula")
        row = self.chat_viewport.model.row(located.row_index) if located is not None else None
        if row is not None:
            menu.addAction(tr("Copy message"), lambda: clipboard.setText(text_of_row(row)))
        menu.addAction(tr("Select all"), self.select_all)
        if located is not None:
            self.interactions.menu.fill_branches(menu, located.row_index)
        if isinstance(row, ToolRow) and has_menu(row):
            menu.addSeparator()
            self.interactions.menu.fill(menu, row)

    def _connect(self) -> None:
        viewport = self.chat_viewport
        viewport.model.rows_reset.connect(self.interactions.reset)
        viewport.model.row_removed.connect(self._selection.clear)
        viewport.model.row_added.connect(self._selection.on_row_added)
        self.finder.finished.connect(viewport.repaint)
        self.highlighter.highlighted.connect(viewport.repaint)
        self._formulas.drawn.connect(self._show_formulas)
        self._new_rows_button.watch(viewport, self.viewport())

    def _show_formulas(self, formulas: frozenset[Formula]) -> None:
        if self.chat_viewport.item_cache.drop_awaiting(formulas):
            self.chat_viewport.refresh()
            self.chat_viewport.repaint()

    def perform(self, action: Intent) -> None:
        """Hand up what a row wants: in the past only what leaves the session as it is."""
        is_refused = self.is_past and not isinstance(action, ReadingAction)
        perform(self.parent(), LookAtStep(0) if is_refused else action)


def is_typed(event: QKeyEvent) -> bool:
    """Return True if a key writes a sign; Space presses buttons."""
    keys = Qt.KeyboardModifier
    modifiers = event.modifiers() & (keys.ControlModifier | keys.AltModifier | keys.MetaModifier)
    # AltGr is Control and Alt at once on some systems, and writes.
    writes = modifiers in (keys.NoModifier, keys.ControlModifier | keys.AltModifier)
    return writes and event.text().isprintable() and bool(event.text().strip())
