"""The dialog that cleans up a workspace's cache: what would go, why the rest stays, and the word to do it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.changes import FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.messages import display_name
from helix_desktop.domain.retention import DAY_MS, CleanupPlan, RetentionRule
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.cleanup.entry_list import EntryList
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.scrolling import VerticalScrollArea
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.kit.forms import Choice, Draft, Form, Toggle
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import (
    history_cleanup_lines,
    history_totals_lines,
    kept_lines,
    shortfall_text,
)
from helix_desktop.words.translation import Translator, translate

text = TextContext("Clean up")
tr = Translator("Clean up")

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
    plan_requested = Signal(object)  # RetentionRule
    collect_requested = Signal(bool)  # also whenever the workspace is opened
    trash_requested = Signal()
    history_requested = Signal()  # to clean up the file history

    def __init__(self, parent: QWidget, rule: RetentionRule, automatic: bool) -> None:
        super().__init__(parent, _SIZE, (520, _EMPTY_PX))
        self.setWindowTitle(tr("Clean up"))
        self.setModal(True)
        days = rule.unused_ms // DAY_MS
        self.values = Draft({"age": days, "quota": rule.quota, "automatic": automatic})
        self.summary = label("", "strong", wrap=True)
        self._reasons = column(gap=3)
        self.shortfall = label("", "warn", wrap=True)
        self.entry_list = EntryList(tr("Entries to move to the trash"))
        self.entry_list.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.trash_button, self.cancel_button = (
            PushButton(tr("Trash…"), "", "trash-2", name="trash"),
            PushButton(tr("Cancel"), name="cancel"),
        )
        self.collect_button = PushButton(tr("Move to trash"), "primary", name="collect")
        self._history_lines = column(gap=3)
        self.history_button = PushButton(tr("Remove previous versions"), "danger", name="clean_history")
        self._history_card = card(
            column(self._history_lines, row(self.history_button, None), margins=(16, 12, 16, 13), gap=9)
        )
        self._history_card.hide()
        self._lay_out()
        self.values.changed.connect(self._on_changed)
        self.collect_button.clicked.connect(lambda: self.collect_requested.emit(self.values.get("automatic")))
        self.trash_button.clicked.connect(self.trash_requested)
        self.history_button.clicked.connect(self.history_requested)
        self.cancel_button.clicked.connect(self.reject)
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
        shortfall = translate(shortfall_text(plan))
        show_text(self.shortfall, shortfall)
        self.entry_list.clear()
        for entry in plan.to_trash[:_MAX_LISTED]:
            name = f"{display_name(entry.tool)} {entry.target}".strip() or entry.digest[:12]
            self.entry_list.add(name, (format_size(entry.size),))
        if count > _MAX_LISTED:
            self.entry_list.add(tr.plural(count - _MAX_LISTED, "and %n more", "and %n more", "entries"))
        self.entry_list.setVisible(bool(count))
        self.fit_height(_SIZE[1] if count else _EMPTY_PX)
        self.collect_button.setEnabled(bool(count))

    def show_history(self, totals: FileHistoryTotals, plan: FileHistoryCleanup, quota: int) -> None:
        """Say what the file history takes, and what of it may go; nothing where there is none."""
        clear_layout(self._history_lines)
        total, *details = history_totals_lines(totals, quota)
        self._history_lines.addWidget(label(total, "strong", wrap=True))
        for line in (*details, *history_cleanup_lines(plan, quota)):
            self._history_lines.addWidget(label(line, "note", wrap=True))
        self.history_button.setVisible(bool(plan.stored_size))
        self._history_card.setVisible(bool(totals.stored_size or totals.saved_copies_size))

    def _on_changed(self, name: str) -> None:
        if name != "automatic":
            self.collect_button.setEnabled(False)
            self.plan_requested.emit(self.rule)

    def _lay_out(self) -> None:
        lead = tr(
            "Moves unused outputs to the trash. Outputs that a session uses, pinned outputs and outputs used "
            "in the last 24 hours are kept."
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
        buttons = FlowBox([self.trash_button, self.cancel_button, self.collect_button], right_from=1)
        parts = column(
            words, choice, results, self.entry_list, self._history_card, None,
            margins=(22, 20, 22, 12), gap=12,
        )  # fmt: skip
        parts.setStretch(3, 100)  # the gap at the bottom is for when there is nothing to list
        page = QWidget()
        page.setObjectName("page")
        page.setLayout(parts)
        scroll, below = VerticalScrollArea(page), row(buttons, margins=(22, 12, 22, 16))
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = column(scroll, below, gap=0)
        layout.setStretch(0, 1)
        self.setLayout(layout)
