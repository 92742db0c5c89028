"""The conversation: a virtual list that keeps only the visible messages alive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QPushButton, QWidget

from helix_desktop.ui.chat.actions import (
    AnswerQuestion,
    ApprovalAnswer,
    CopyAnswer,
    CopyCode,
    Decide,
    MarkOption,
    OpenInWindow,
    OpenMenu,
    ReadContent,
    ReadingAction,
    RowKey,
    RowSection,
    ScrollText,
    ToggleSection,
)
from helix_desktop.ui.chat.items.approval import ApprovalItem
from helix_desktop.ui.chat.items.item import RowItem
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
    needs_original,
)
from helix_desktop.ui.chat.style import MEDIUM, SMALL, ChatStyle
from helix_desktop.ui.chat.viewport.finder import ChatFinder
from helix_desktop.ui.chat.viewport.interactions import (
    MouseHandler,
    add_groups,
    branch_groups,
    fill_rule_menu,
    menu_groups,
    text_under,
)
from helix_desktop.ui.chat.viewport.item_cache import ChatViewport, ItemCache
from helix_desktop.ui.design import accessibility
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import EnterActivates, PushButton, popup_below
from helix_desktop.ui.design.diff.view import DiffsDialog
from helix_desktop.ui.design.highlight import Highlighter
from helix_desktop.ui.design.style.fonts import scale, scaled
from helix_desktop.ui.design.style.icons import icon
from helix_desktop.ui.design.style.theme import Theme, set_style_sheet
from helix_desktop.ui.design.viewer.content_viewer import TextsDialog
from helix_desktop.ui.kit.boxes import HitArea, PaintState, TextMark
from helix_desktop.ui.kit.intents import CopyMarkdown, Intent, LookAtStep, perform
from helix_desktop.ui.rows.item import ListItem
from helix_desktop.ui.rows.list_view import AreaId, RowListView, name_in
from helix_desktop.words.translation import Translator

tr = Translator("Chat")

_COPIED_MS = 1_600
_PAGE = 0.8  # of the visible width
_BOTTOM_MARGIN = 14  # pixels above the lower edge
_EDGE = 60  # pixels of a card that are too few to see what it asks


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
        """Show the button above the lower edge of an area while a viewport does not follow.

        It leads to a card that waits out of sight, else to the end.
        """
        chat_viewport.layout_changed.connect(lambda: self._update(chat_viewport, area))
        self.clicked.connect(
            lambda: (
                chat_viewport.show_first_ask()
                if self._hidden_ask(chat_viewport) is not None
                else chat_viewport.go_to_end()
            )
        )

    @staticmethod
    def _hidden_ask(chat_viewport: ChatViewport) -> AskRow | None:
        asks = chat_viewport.model.asks()
        first = chat_viewport.model.first_ask
        edge = scaled(_EDGE)
        is_shown = any(
            row.row_index >= first and row.y < chat_viewport.height - edge and row.y + row.height > edge
            for row in chat_viewport.scroll_layout.placed
        )
        return asks[0] if asks and not is_shown else None

    def _update(self, chat_viewport: ChatViewport, area: QWidget) -> None:
        unseen_count = chat_viewport.unseen_count
        ask = self._hidden_ask(chat_viewport)
        words = tr.plural(unseen_count, "%n new", "%n new") if unseen_count else tr("Latest")
        name = tr("{label}: go to the end of the conversation", label=words)
        if ask is not None:
            words = tr("Approval needed") if isinstance(ask, ApprovalRow) else tr("The agent asks")
            name = tr("{label}: go to what waits for you", label=words)
        if words != self.text():
            self.setText(words)
            self.setAccessibleName(name)
        at_end = chat_viewport.is_following or chat_viewport.is_at_end
        size = self.sizeHint()
        corner = area.geometry()
        left = corner.x() + (corner.width() - size.width()) // 2
        place = QRect(left, corner.bottom() - size.height() - _BOTTOM_MARGIN, size.width(), size.height())
        top = place.top() - corner.top()
        bottom = place.bottom() - corner.top()
        covers_ask = any(
            isinstance(chat_viewport.model.raw_row(row.row_index), AskRow)
            and row.y < bottom
            and row.y + row.height > top
            for row in chat_viewport.scroll_layout.placed
        )
        is_shown = not at_end and (ask is not None or not covers_ask)
        if is_shown:
            self.setGeometry(place)
            self.raise_()
        self.setVisible(is_shown)


class ChatView(RowListView):
    typed = Signal(str)  # signs that are meant for the composer

    def __init__(
        self,
        model: ChatModel,
        theme: Theme,
        parent: QWidget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(tr("Conversation"), tr("Messages"), parent)
        self.highlighter = Highlighter(self)
        style = ChatStyle(theme, scale(QApplication.font()), self.devicePixelRatioF())
        self._formulas = FormulaDrawings(self)
        items = ItemCache(model, style, self.highlighter, self._formulas)
        self.chat_viewport = ChatViewport(model, items, self._area, self.verticalScrollBar())
        self.finder = ChatFinder(self.chat_viewport)
        mouse = MouseHandler(self.chat_viewport, self.viewport(), clock)
        self._guard = mouse.guard
        self.use(self.chat_viewport, mouse)
        pool = self.chat_viewport.widget_pool
        self.chat_viewport.is_in_use = lambda: (
            mouse.is_pointing or bool(self._selection) or pool.focused_widget() is not None
        )
        self._copied: AreaId | None = None
        self._copied_timer = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._copied_timer.timeout.connect(lambda: self._show_copied(None))
        self._read_keys: set[RowKey] = set()  # of what is read from the cache, or being read
        self._new_rows_button = NewRowsButton(self)
        self.is_past = False
        self.start: StartCoroutine | None = None  # what takes long to read; else it is read at once
        self._connect()
        self._show_style()
        self.chat_viewport.reset()

    def apply_theme(self) -> None:
        """Show everything in the theme and at the text size in force, at the same place."""
        style = ChatStyle(self._theme, scale(QApplication.font()), self.devicePixelRatioF())
        if style == self.chat_viewport.style:
            return
        self.chat_viewport.item_cache.set_style(style)
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
                placed = viewport.placed_row(index)
                focused = viewport.widget_pool.focused_widget()
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
            self.focus_area(key, arrow, *VERSION_ARROWS)

    def find_text(self, text: str, direction: int = 1) -> None:
        """Go to the next (1) or previous (-1) row with a text; `finder.finished` is emitted at the end.

        An empty text ends finding and takes the marks away.
        """
        self.finder.find(text, direction)
        self.chat_viewport.repaint()

    def mark_text(self, text: str) -> None:
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
        if located is not None and row is not None:
            rows = self.chat_viewport.model.raw_rows()[: located.row_index + 1]
            add_groups(menu, branch_groups(rows, row), self._theme)
        if isinstance(row, ToolRow) and has_menu(row):
            add_groups(menu, menu_groups(row), self._theme)

    def _open_menu(self, index: int, area: HitArea) -> None:
        row = self.chat_viewport.model.row(index)
        menu = QMenu(self._area)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if isinstance(row, ApprovalRow):
            fill_rule_menu(menu, row, self.perform)
        elif isinstance(row, ToolRow):
            add_groups(menu, menu_groups(row), self._theme)
        popup_below(menu, self._area, self.chat_viewport.place_of(index, area))

    def _open_in_window(self, index: int) -> None:
        """Show all of what a card asks about, with its answers, until it is answered."""
        item = self.chat_viewport.item(index)
        model = self.chat_viewport.model
        row = model.raw_row(index)
        assert isinstance(item, ApprovalItem)
        assert isinstance(row, ApprovalRow)
        areas = (item.hit_area(f"decide:{answer}") for answer in ("deny", "once"))
        buttons = [self._answer_button(row.key, area) for area in areas if area is not None]
        if row.request.edits:
            diffs = [(edit.path, edit.diff) for edit in row.request.edits]
            dialog: QDialog = DiffsDialog(self, row.summary, diffs, buttons, self.start)
        else:
            dialog = TextsDialog(self, item.title, (), {"": item.detail_text()}, buttons=buttons)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def close_if_answered() -> None:
            if model.index_of(row.key) is None:
                dialog.reject()

        for changed in (model.row_removed, model.rows_reset):
            connection = changed.connect(close_if_answered)
            dialog.finished.connect(lambda _, connection=connection: model.disconnect(connection))
        self._guard.note_shown(row.key)
        dialog.show()

    def _answer_button(self, key: RowKey, area: HitArea) -> PushButton:
        def answer() -> None:
            index = self.chat_viewport.model.index_of(key)
            if index is not None:
                self._guard.note_click(key, area.action, QPointF(QCursor.pos()))
                self._activate(index, area)

        button = PushButton(area.label, name=area.name, tip=area.tip, on_click=answer)
        button.setShortcut(QKeySequence(area.tip, QKeySequence.SequenceFormat.NativeText))
        return button

    def _connect(self) -> None:
        viewport = self.chat_viewport
        viewport.model.rows_reset.connect(self._reset)
        viewport.model.row_removed.connect(self._selection.clear)
        viewport.model.row_added.connect(self._selection.on_row_added)
        self.finder.finished.connect(viewport.repaint)
        self.highlighter.highlighted.connect(viewport.repaint)
        self._formulas.drawn.connect(self._show_formulas)
        viewport.layout_changed.connect(self._read_contents)
        items = viewport.item_cache
        items.form_cards.answered.connect(self._answer)
        items.form_cards.resized.connect(self._fit_row)
        viewport.model.row_removed.connect(
            lambda: items.drop_answers({row.key for row in viewport.model.raw_rows()})
        )
        self._new_rows_button.watch(viewport, self.viewport())

    def _show_formulas(self, formulas: frozenset[Formula]) -> None:
        if self.chat_viewport.item_cache.drop_awaiting(formulas):
            self.chat_viewport.refresh()
            self.chat_viewport.repaint()

    def _paint_state(self, index: int, item: ListItem) -> PaintState:
        state = super()._paint_state(index, item)
        state.copied = name_in(item.key, self._copied)
        return state

    def toggle(self, key: RowKey, section: RowSection) -> None:
        index = self.chat_viewport.model.index_of(key)
        if index is not None:
            self._toggle(index, section)

    def _activate(self, index: int, area: HitArea) -> None:
        key = self.chat_viewport.model.raw_row(index).key
        match area.action:
            case ToggleSection(section=section):
                self._toggle(index, section)
            case OpenMenu():
                self._open_menu(index, area)
            case OpenInWindow():
                self._open_in_window(index)
            case CopyCode(text_number=number):
                self._copy(key, self.chat_viewport.item(index).copy_text(number), area)
            case ScrollText(text_number=number):
                text = self.chat_viewport.item(index).text(number)
                if not text.scroll_to(text.offset + _PAGE * text.width):  # from the end back
                    text.scroll_to(0.0)
                self.chat_viewport.repaint()
            case MarkOption(number=number):
                self.mark_option(index, number)
            case CopyAnswer():
                self._copy(key, self._answer_above(index), area)
            case Intent() as action if self._guard.accepts(key, action):
                self.perform(action)
            case _:
                pass

    @property
    def takes_denial(self) -> bool:
        """Return True if a card has stood long enough to be seen: what is typed denies those that wait."""
        keys = (row.key for row in self.chat_viewport.model.asks() if isinstance(row, ApprovalRow))
        return any(self._guard.accepts(key, Decide(key.call_id, "deny")) for key in keys)

    def answer_first(self, answer: ApprovalAnswer) -> None:
        """Answer the first approval that waits; where its buttons are out of sight, only show it."""
        viewport = self.chat_viewport
        asks = enumerate(viewport.model.asks(), viewport.model.first_ask)
        index = next((at for at, row in asks if isinstance(row, ApprovalRow)), None)
        if index is None:
            return
        placed = viewport.placed_row(index)
        areas = self.visible_areas(placed) if placed is not None else []
        area = next((area for area in areas if area.name == f"decide:{answer}"), None)
        if area is not None:
            self._activate(index, area)
        else:
            viewport.show_ask(index)

    def mark_option(self, index: int, number: int) -> None:
        """Choose an option of the question of a row, or no longer; the keyboard goes along on its card."""
        viewport = self.chat_viewport
        row = viewport.model.raw_row(index)
        focused = viewport.widget_pool.focused_widget()
        assert isinstance(row, QuestionRow)
        viewport.item_cache.mark(row, number)
        viewport.relayout_in_place(index)
        if focused is not None and focused.index == index:  # where Enter presses the one that has it
            self.focus_area(row.key, f"option:{number}")

    def answer_with_marked(self, index: int) -> None:
        area = self.chat_viewport.item(index).hit_area("answer")
        if area is not None:
            self._activate(index, area)

    def _answer(self, key: RowKey, action: AnswerQuestion) -> None:
        if self._guard.accepts(key, action):
            self.perform(action)

    def _fit_row(self, key: RowKey) -> None:
        self.chat_viewport.item_cache.drop(key)
        self.chat_viewport.refresh()

    def _toggle(self, index: int, section: RowSection) -> None:
        row = self.chat_viewport.model.row(index)
        items = self.chat_viewport.item_cache
        items.toggle(row.key, section)
        self._read_keys.discard(row.key)
        self.chat_viewport.relayout_in_place(index)
        if isinstance(row, ToolRow) and section == "changes" and row.changes and row.changed_files is None:
            self.perform(ReadContent(row.key, "changes"))
        if isinstance(row, ApprovalRow) and items.is_open(row.key, section):
            self._keep_answers_in_sight(index, section)

    def _keep_answers_in_sight(self, index: int, section: RowSection) -> None:
        """Show all of an opened card, with its answers; details without room for both in a window."""
        item = self.chat_viewport.item(index)
        if item.height <= self.viewport().height():
            whole = QRectF(0, 0, item.width, item.height)
            self.chat_viewport.ensure_visible(index, HitArea("", None, "", whole))
        elif section == "detail":
            self._toggle(index, section)
            self._open_in_window(index)

    def _read_contents(self) -> None:
        """Have read what rows in sight show from the cache: originals of open cards, images."""
        items = self.chat_viewport.item_cache
        for placed in self.chat_viewport.scroll_layout.placed:
            row = self.chat_viewport.model.raw_row(placed.row_index)
            match row:
                case _ if row.key in self._read_keys:
                    continue
                case UserRow(attachments=notes):
                    is_missing = any(note.attachment.image and note.thumbnail is None for note in notes)
                case ToolRow():  # find opens cards, too
                    is_missing = needs_original(row) and items.is_open(row.key, "card")
                case _:
                    continue
            if is_missing:
                self._read_keys.add(row.key)
                self.perform(ReadContent(row.key))

    def _reset(self) -> None:
        self._read_keys.clear()
        self._selection.clear()
        self.finder.clear()
        self._mouse.last_index = -1
        self.chat_viewport.reset()

    def _answer_above(self, index: int) -> str | None:
        """Return the last answer above a row as Markdown, None if its turn has none."""
        for row in reversed(self.chat_viewport.model.raw_rows()[:index]):
            if isinstance(row, AssistantRow) and row.text:
                return text_of_row(row)
            if isinstance(row, UserRow):
                break
        return None

    def _copy(self, key: RowKey, source: str | None, area: HitArea) -> None:
        if source is not None:
            QGuiApplication.clipboard().setText(source)
            self._copied_timer.start()
            self._show_copied((key, area.name))

    def _show_copied(self, area: AreaId | None) -> None:
        self._copied = area
        self.chat_viewport.repaint()

    def _marks(self, index: int, item: ListItem) -> dict[int, list[TextMark]]:
        assert isinstance(item, RowItem)
        style = self.chat_viewport.style
        theme = self.chat_viewport.style.theme
        marks: dict[int, list[TextMark]] = {}
        for number, ranges in self.finder.matches(item).items():
            marks[number] = [TextMark(*span, style.color(theme.warn_soft)) for span in ranges]
        current = self.finder.current
        if current is not None and current[0].row == index:
            spot, length = current
            hit = TextMark(spot.position, spot.position + length, style.color(theme.text_selection))
            marks.setdefault(spot.text, []).append(hit)
        for number, selected in super()._marks(index, item).items():
            marks.setdefault(number, []).extend(selected)
        return marks

    def perform(self, action: Intent) -> None:
        """Hand up what a row wants: in the past only what leaves the session as it is."""
        is_refused = self.is_past and not isinstance(action, ReadingAction)
        perform(self.parent(), LookAtStep(0) if is_refused else action)


def is_typed(event: QKeyEvent) -> bool:
    keys = Qt.KeyboardModifier
    modifiers = event.modifiers() & (keys.ControlModifier | keys.AltModifier | keys.MetaModifier)
    # AltGr is Control and Alt at once on some systems, and writes.
    writes = modifiers in (keys.NoModifier, keys.ControlModifier | keys.AltModifier)
    return writes and event.text().isprintable() and bool(event.text().strip())
