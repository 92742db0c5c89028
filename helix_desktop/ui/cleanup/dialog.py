"""The dialog that cleans up a workspace's cache: what would go, why the rest stays, and the word to do it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QListWidget, QWidget

from helix_desktop.domain.store.retention import DAY_MS, CleanupPlan, EntryTotals, RetentionRule
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.ui.design.buttons import PushButton, Switch
from helix_desktop.ui.design.fields import Combo
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.words.store_reports import shortfall_text

AGES = (
    ("Whatever its age", 0),
    ("a week", 7),
    ("a month", 30),
    ("three months", 90),
    ("a year", 365),
)
_MB = 1024 * 1024
QUOTAS = (
    ("As much as there is", 0),
    ("100 MB", 100 * _MB),
    ("500 MB", 500 * _MB),
    ("1 GB", 1024 * _MB),
    ("2 GB", 2048 * _MB),
    ("5 GB", 5120 * _MB),
    ("20 GB", 20480 * _MB),
)
_MAX_LISTED = 200  # entries that are listed; more are counted
_SIZE = (620, 640)
_LEAD = (
    "Moves outputs to the trash that no session names, that nobody pinned, and that were not used for 24 "
    "hours. What a session names always stays."
)


class CleanupDialog(QDialog):
    """Shows the plan for what is chosen; what it asks for comes out as signals."""

    plan_requested = Signal(object)  # RetentionRule
    collect_requested = Signal(bool)  # also whenever the workspace is opened
    trash_requested = Signal()

    def __init__(self, parent: QWidget, rule: RetentionRule, automatic: bool) -> None:
        """Begin with what was chosen before."""
        super().__init__(parent)
        self.setWindowTitle("Clean up")
        self.setModal(True)
        self.resize(*_SIZE)
        self.setMinimumSize(520, 480)
        self.age, self.quota = Combo(), Combo()
        for text, days in AGES:
            self.age.addItem(f"Not used for {text}" if days else text, days)
        for text, size in QUOTAS:
            self.quota.addItem(text, size)
        self.age.setCurrentIndex(max(0, self.age.findData(rule.unused_ms // DAY_MS)))
        self.quota.setCurrentIndex(max(0, self.quota.findData(rule.quota)))
        self.quota.setItemText(0, "No limit to keep to: all that may go goes")
        self.automatic = Switch("Do this by itself whenever the workspace is opened", on=automatic)
        self.summary = label("", "strong", wrap=True)
        self._reasons = column(gap=3)
        self.shortfall = label("", "warn", wrap=True)
        self.entry_list = QListWidget()
        self.entry_list.setProperty("kind", "cards")
        self.entry_list.setAccessibleName("What would go to the trash")
        self.entry_list.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.trash_button, self.cancel_button = (
            PushButton("Trash…", "", "trash-2", name="trash"),
            PushButton("Cancel", name="cancel"),
        )
        self.collect_button = PushButton("Move to the trash", "primary", name="collect")
        self._lay_out()
        self.age.currentIndexChanged.connect(self._request_plan)
        self.quota.currentIndexChanged.connect(self._request_plan)
        self.collect_button.clicked.connect(lambda: self.collect_requested.emit(self.automatic.isChecked()))
        self.trash_button.clicked.connect(self.trash_requested)
        self.cancel_button.clicked.connect(self.reject)
        self.collect_button.setEnabled(False)

    @property
    def rule(self) -> RetentionRule:
        """Return what is chosen."""
        return RetentionRule(quota=self.quota.currentData(), unused_ms=self.age.currentData() * DAY_MS)

    def show_plan(self, plan: CleanupPlan) -> None:
        """Say what would go, and why the rest stays."""
        count = len(plan.to_trash)
        self.summary.setText(
            f"{pluralize(count, 'entry', 'entries')} would go: {format_bytes(plan.freed)} on disk."
            if count
            else "Nothing would go."
        )
        clear_layout(self._reasons)
        for share, why in (
            (plan.referenced, "named by sessions"),
            (plan.indexed, "reached through index entries"),
            (plan.pinned, "pinned"),
            (plan.young, "used in the last 24 hours"),
            (plan.spared, "may go, but not by what is chosen here"),
            (plan.trashed, "in the trash already"),
        ):
            if share.entries:
                self._reasons.addWidget(label(_kept_text(share, why), "note", wrap=True))
        self.shortfall.setText(shortfall_text(plan))
        self.shortfall.setVisible(bool(shortfall_text(plan)))
        self.entry_list.clear()
        for entry in plan.to_trash[:_MAX_LISTED]:
            name = f"{entry.tool} {entry.target}".strip() or entry.digest[:12]
            self.entry_list.addItem(f"{name}  ·  {format_bytes(entry.size)}")
        if count > _MAX_LISTED:
            self.entry_list.addItem(f"and {count - _MAX_LISTED:,} more")
        self.entry_list.setVisible(bool(count))
        self.collect_button.setEnabled(bool(count))

    def _request_plan(self) -> None:
        self.collect_button.setEnabled(False)
        self.plan_requested.emit(self.rule)

    def _lay_out(self) -> None:
        words = column(label("Clean up", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        choice = card(
            column(
                FormField("What", self.age), FormField("Keep at most", self.quota), self.automatic,
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        results = column(self.summary, self._reasons, self.shortfall, gap=6)
        buttons = row(self.trash_button, None, self.cancel_button, self.collect_button, gap=8)
        layout = column(
            words, choice, results, self.entry_list, None, buttons, margins=(22, 20, 22, 16), gap=12
        )
        layout.setStretch(3, 100)  # the gap below it is for when there is nothing to list
        self.setLayout(layout)


def _kept_text(totals: EntryTotals, reason: str) -> str:
    stay = "stays" if totals.entries == 1 else "stay"
    count = pluralize(totals.entries, "entry", "entries")
    return f"{count} {stay}, {format_bytes(totals.stored_size)} on disk: {reason}"
