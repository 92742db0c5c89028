"""The dialogs that clean up a workspace's cache and show its trash: what would go, what can be restored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from helix_desktop.domain.file_history.changes import FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.retention import (
    DAY_MS,
    GRACE_HOURS,
    TRASH_DAYS,
    CleanupPlan,
    RetentionRule,
    TrashContents,
)
from helix_desktop.domain.store import SessionSummary, SessionVersions
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.cards import EmptyState
from helix_desktop.ui.design.choice_fields import Index
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    VerticalScrollArea,
    card,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.theme import Themed, current_theme
from helix_desktop.ui.kit.forms import Choice, Draft, Form, Toggle
from helix_desktop.words.call_targets import call_title
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_size
from helix_desktop.words.sessions import session_title
from helix_desktop.words.store_reports import (
    history_cleanup_lines,
    history_totals_lines,
    kept_lines,
    shortfall_text,
)
from helix_desktop.words.times import format_date
from helix_desktop.words.translation import Translator, translate

text = TextContext("Clean up")
tr = Translator("Clean up")

KEY_ROLE = int(Qt.ItemDataRole.UserRole)
_CELLS_ROLE = KEY_ROLE + 1
_GAP_PX = 16  # between columns
_PADDING_PX = 8  # before and behind a line's words, as in the style sheet


class EntryList(Themed, QListWidget):
    """Lines as wide as the list: the name is elided, the columns behind it are as wide as their values."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setProperty("kind", "cards")
        self.setAccessibleName(name)
        self.widest: list[str] = []  # value of each column
        self.setItemDelegate(_CellDelegate(self))

    def clear(self) -> None:
        super().clear()
        self.widest = []

    def add(self, name: str, values: Sequence[str] = (), key: object = None) -> None:
        """Add a line; a value may be empty. `key` is its KEY_ROLE."""
        text = dotted((name, *filter(None, values)))
        item = QListWidgetItem(text, self)
        item.setToolTip(plain_tooltip(text))
        item.setData(KEY_ROLE, key)
        item.setData(_CELLS_ROLE, (name, *values))
        pairs = zip_longest(self.widest, values, fillvalue="")
        self.widest = [max(pair, key=self.fontMetrics().horizontalAdvance) for pair in pairs]


class _CellDelegate(QStyledItemDelegate):
    def __init__(self, view: EntryList) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, super().sizeHint(option, index).height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        name, *values = index.data(_CELLS_ROLE)
        line = QStyleOptionViewItem(option)
        self.initStyleOption(line, index)
        line.text = ""
        view = self._view
        view.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, line, painter, view)
        painter.save()
        painter.setFont(option.font)
        metrics, room = option.fontMetrics, option.rect.adjusted(_PADDING_PX, 0, -_PADDING_PX, 0)
        painter.setPen(QColor(current_theme().muted))
        for value, widest in zip(reversed(values), reversed(view.widest), strict=False):
            width = metrics.horizontalAdvance(widest)
            cell = QRect(room.right() + 1 - width, room.top(), width, room.height())
            painter.drawText(cell, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, value)
            room.setRight(cell.left() - _GAP_PX)
        painter.setPen(QColor(current_theme().text))
        text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()


AGES = (
    (text("Any age"), 0),
    (text("Not used for a week"), 7),
    (text("Not used for a month"), 30),
    (text("Not used for 3 months"), 90),
    (text("Not used for a year"), 365),
)
_MB = 1024 * 1024
QUOTAS = (
    (text("No limit"), 0),
    (text("{number} MB", number=100), 100 * _MB),
    (text("{number} MB", number=500), 500 * _MB),
    (text("{number} GB", number=1), 1024 * _MB),
    (text("{number} GB", number=2), 2048 * _MB),
    (text("{number} GB", number=5), 5120 * _MB),
    (text("{number} GB", number=20), 20480 * _MB),
)
RULE = (
    Choice("age", text("Age"), choices=[(days, age) for age, days in AGES]),
    Choice("quota", text("Maximum size"), format=format_size, choices=[
        (0, text("No limit: remove everything unused")), *((size, quota) for quota, size in QUOTAS if size),
    ]),
)  # fmt: skip
AUTOMATIC = (Toggle("automatic", words=text("Clean up automatically when this workspace opens")),)
_MAX_LISTED = 200  # entries that are listed; more are counted
_SIZE, _EMPTY_PX = (620, 700), 480  # pixels; the height with nothing to list


class CleanupDialog(SizedDialog):
    rule_changed = Signal()

    def __init__(self, parent: QWidget, rule: RetentionRule) -> None:
        """`rule` is that of the workspace, which is cleaned up automatically if it says something."""
        super().__init__(parent, tr("Clean up"), _SIZE, (520, _EMPTY_PX))
        days = rule.unused_ms // DAY_MS
        self.values = Draft({"age": days, "quota": rule.quota, "automatic": rule != RetentionRule()})
        self.leads_to_trash = False  # once it is closed
        self.summary = label("", "strong", wrap=True)
        self._reasons = column(gap=3)
        self.shortfall = label("", "warn", wrap=True)
        self.entry_list = EntryList(tr("Entries to move to the trash"))
        self.entry_list.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.collect_button = PushButton(tr("Move to trash"), "primary", name="collect")
        self._history_lines = column(gap=3)
        self.history_button = PushButton(tr("Remove previous versions"), "danger", name="clean_history")
        self._history_card = card(
            column(self._history_lines, row(self.history_button, None), margins=(16, 12, 16, 13), gap=9)
        )
        self._history_card.hide()
        self._lay_out()
        self.values.changed.connect(self._on_changed)
        self.collect_button.setEnabled(False)

    @property
    def rule(self) -> RetentionRule:
        return RetentionRule(quota=self.values.get("quota"), unused_ms=self.values.get("age") * DAY_MS)

    def show_plan(self, plan: CleanupPlan) -> None:
        count = len(plan.to_trash)
        self.summary.setText(
            tr.plural(
                count,
                "%n entry can be removed: {size} on disk",
                "%n entries can be removed: {size} on disk",
                size=format_size(plan.freed),
            )
            if count
            else tr("Nothing to clean up")
        )
        clear_layout(self._reasons)
        for line in kept_lines(plan):
            self._reasons.addWidget(label(line, "note", wrap=True))
        show_text(self.shortfall, translate(shortfall_text(plan)))
        self.entry_list.clear()
        for entry in plan.to_trash[:_MAX_LISTED]:
            name = call_title(entry.tool, entry.target) or entry.digest[:12]
            self.entry_list.add(name, (format_size(entry.size),))
        if count > _MAX_LISTED:
            self.entry_list.add(tr.plural(count - _MAX_LISTED, "and %n more", "and %n more", "entries"))
        self.entry_list.setVisible(bool(count))
        self.fit_height(_SIZE[1] if count else _EMPTY_PX)
        self.collect_button.setEnabled(bool(count))

    def show_history(self, totals: FileHistoryTotals, plan: FileHistoryCleanup, quota: int) -> None:
        """Say what the file history takes, and what of it may go; nothing where there is none."""
        clear_layout(self._history_lines)
        self.history_button.setEnabled(True)
        total, *details = history_totals_lines(totals, quota)
        self._history_lines.addWidget(label(total, "strong", wrap=True))
        for line in (*details, *history_cleanup_lines(plan, quota)):
            self._history_lines.addWidget(label(line, "note", wrap=True))
        self.history_button.setVisible(bool(plan.stored_size))
        self._history_card.setVisible(bool(totals.stored_size or totals.saved_copies_size))

    def _on_changed(self, name: str) -> None:
        if name != "automatic":
            self.collect_button.setEnabled(False)
            self.rule_changed.emit()

    def _go_to_trash(self) -> None:
        self.leads_to_trash = True
        self.reject()

    def _lay_out(self) -> None:
        lead = tr(
            "Moves unused outputs to the trash. Outputs that a session uses, pinned outputs and outputs used "
            "in the last {hours} hours are kept.",
            hours=GRACE_HOURS,
        )
        words = column(label(tr("Clean up"), "title"), label(lead, "muted", wrap=True), gap=5)
        choice = card(
            column(
                Form(RULE, self.values, is_dialog=True, gap=9),
                Form(AUTOMATIC, self.values, labels=False),
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        results = column(self.summary, self._reasons, self.shortfall, gap=6)
        trash = PushButton(tr("Trash…"), "", "trash-2", name="trash", on_click=self._go_to_trash)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        buttons = FlowBox([trash, cancel, self.collect_button], right_from=1)
        parts = column(
            words, choice, results, self.entry_list, self._history_card, None,
            margins=(22, 20, 22, 12), gap=12,
        )  # fmt: skip
        parts.setStretch(3, 100)  # the gap at the bottom is for when there is nothing to list
        scroll, below = VerticalScrollArea(pane(parts, "page")), row(buttons, margins=(22, 12, 22, 16))
        self.setLayout(column(scroll, below, gap=0, stretch=0))


_TRASH_SIZE, _MIN_TRASH_SIZE = (600, 560), (460, 360)


class TrashDialog(SizedDialog):
    restore_requested, delete_requested = Signal(list, list), Signal(list, list)
    """With digests, and sessions."""

    def __init__(self, parent: QWidget, workspace_name: str) -> None:
        super().__init__(parent, tr("Trash"), _TRASH_SIZE, _MIN_TRASH_SIZE)
        self.summary = label("", "strong", wrap=True)
        self.entry_list = EntryList(tr("Items in the trash"))
        self.entry_list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.empty_state = EmptyState(
            "trash-2", tr("The trash is empty. Deleted outputs and sessions of this workspace appear here.")
        )
        self.restore_button = PushButton(
            tr("Restore"), "primary", "archive-restore", name="bring_back", on_click=self._restore
        )
        self.delete_button = PushButton(
            tr("Delete permanently…"), "danger", "trash-2", name="delete_permanently", on_click=self._delete
        )
        self.empty_button = PushButton(tr("Empty trash…"), "danger", name="empty_trash", on_click=self._empty)
        lead = tr(
            "Items here can still be read and recalled. After {days} days they are deleted permanently. "
            "Storing or recalling an output restores it.",
            days=TRASH_DAYS,
        )
        title = tr("Trash for “{workspace}”", workspace=workspace_name)
        words = column(label(title, "title", wrap=True), label(lead, "muted", wrap=True), gap=5)
        close = PushButton(tr("Close"), name="close", on_click=self.reject)
        buttons = FlowBox([self.empty_button, self.delete_button, close, self.restore_button], right_from=2)
        pages = (self.entry_list, self.empty_state)  # one of them is in sight
        layout = column(words, self.summary, *pages, buttons, margins=DIALOG_MARGINS, gap=12)
        for page in pages:
            layout.setStretchFactor(page, 1)
        self.setLayout(layout)
        self.entry_list.itemSelectionChanged.connect(self._selected)
        self.entry_list.itemActivated.connect(lambda _: self._restore())

    def show_trash(self, trash: TrashContents) -> None:
        self.entry_list.clear()
        versions = SessionVersions(trash.sessions)
        groups = {versions.ids_of(session.id): versions.row_of(session) for session in trash.sessions}
        for ids, session in groups.items():
            name = _session_text(session, len(ids))
            self.entry_list.add(name, ("", _deleted_text(session.trashed)), ("session", ids))
        for entry in trash.entries:
            name = call_title(entry.tool, entry.target) or entry.digest[:12]
            values = (format_size(entry.size), _deleted_text(entry.trashed))
            self.entry_list.add(name, values, ("", entry.digest))
        entries, sessions = len(trash.entries), len(groups)
        has_items = bool(entries or sessions)
        counts = (
            tr.plural(sessions, "%n session", "%n sessions") if sessions else "",
            tr.plural(entries, "%n output", "%n outputs") if entries else "",
            tr("{size} on disk", size=format_size(trash.stored_size)) if entries else "",
        )
        self.summary.setText(" · ".join(filter(None, counts)))
        buttons = (self.empty_button, self.delete_button, self.restore_button)
        for widget in (self.summary, self.entry_list, *buttons):
            widget.setVisible(has_items)
        self.empty_state.setVisible(not has_items)
        if has_items:  # Enter restores it
            self.entry_list.setCurrentRow(0)
            self.entry_list.setFocus()
        self._selected()
        self.fit_height((_TRASH_SIZE if has_items else _MIN_TRASH_SIZE)[1])

    def _selected(self) -> None:
        for button in (self.restore_button, self.delete_button):
            button.setEnabled(bool(self.entry_list.selectedItems()))

    def _restore(self) -> None:
        self.restore_requested.emit(*_ids(self.entry_list.selectedItems()))

    def _delete(self) -> None:
        self.delete_requested.emit(*_ids(self.entry_list.selectedItems()))

    def _empty(self) -> None:
        items = [self.entry_list.item(row) for row in range(self.entry_list.count())]
        self.delete_requested.emit(*_ids(items))


def _ids(items: Iterable[QListWidgetItem]) -> tuple[list[str], list[str]]:
    """Return the digests and the ids of the sessions among items, those of all their versions."""
    keys = [item.data(KEY_ROLE) for item in items]
    sessions = [session_id for kind, key in keys if kind for session_id in key]
    return [key for kind, key in keys if not kind], sessions


def _session_text(session: SessionSummary, versions: int) -> str:
    """Name a session, with how many versions it has; what is one version of another session says so."""
    title = session_title(session.title)
    if versions > 1:
        return tr.plural(
            versions, "Session “{title}”, %n version", "Session “{title}”, %n versions", title=title
        )
    branches = {
        "edit": tr("Session “{title}”, version with an edited message", title=title),
        "retry": tr("Session “{title}”, version with another answer", title=title),
        "rewind": tr("Session “{title}”, rewound", title=title),
    }
    return branches.get(session.branch_how, tr("Session “{title}”", title=title))


def _deleted_text(trashed_ms: int) -> str:
    return tr("deleted {date}", date=format_date(trashed_ms))
