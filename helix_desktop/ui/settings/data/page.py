"""What a workspace's cache may hold: how much there is, what could go, and the rule it keeps to by itself."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.domain.store.entries import StoreTotals
from helix_desktop.domain.store.retention import DAY_MS, TRASH_DAYS, CleanupPlan, RetentionRule
from helix_desktop.domain.text_format import format_bytes, pluralize
from helix_desktop.ui.cleanup.dialog import AGES, QUOTAS
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import Combo
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import card, column, row
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.store_reports import shortfall_text
from helix_desktop.words.translation import translate

_RULE_NOTE = "What no session names goes to the trash by itself when the workspace is opened."


_BACKUP_NOTE = "A backup is one file for each workspace, read again and checked once it is written."


class DataPage(QWidget):
    """Figures, the rule, and deeds that have windows of their own."""

    rule_chosen = Signal(object)  # RetentionRule
    clean_requested = Signal()
    trash_requested = Signal()
    redact_requested = Signal()
    backup_requested = Signal()

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self.stored, self.removable, self.trashed = label("", "strong"), label("", "note"), label("", "note")
        self.shortfall = label("", "warn", wrap=True)
        self.age, self.quota = Combo(), Combo()
        for age, days in AGES:
            self.age.addItem(translate(age) if days else "Never", days)
        for quota, size in QUOTAS:
            self.quota.addItem(translate(quota), size)
        body = QVBoxLayout()
        body.setSpacing(12)
        page, self._lead = scrolling_page("Data", " ", body)
        self._totals_card = card(
            column(self.stored, self.removable, self.trashed, self.shortfall, margins=(16, 12, 16, 13), gap=5)
        )
        self._rule_card = card(
            column(
                FormField("Move to the trash", self.age, note=_RULE_NOTE),
                FormField("Keep at most", self.quota),
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        clean, trash = (
            PushButton("Clean up…", name="clean_up"),
            PushButton("Trash…", "", "trash-2", name="trash"),
        )
        forget = PushButton("Forget a secret…", "danger", name="forget")
        self._action_row = QWidget()
        self._action_row.setLayout(row(clean, trash, None, forget))
        self.backup = PushButton("Back up all workspaces…", "", "save", name="back_up")
        for part in (self._totals_card, self._rule_card, self._action_row, self._backup_card()):
            body.addWidget(part)
        self.setLayout(column(page))
        self.age.activated.connect(lambda _: self.rule_chosen.emit(self.retention_rule))
        self.quota.activated.connect(lambda _: self.rule_chosen.emit(self.retention_rule))
        clean.clicked.connect(self.clean_requested)
        trash.clicked.connect(self.trash_requested)
        forget.clicked.connect(self.redact_requested)
        self.backup.clicked.connect(self.backup_requested)
        self.show_no_workspace()

    @property
    def retention_rule(self) -> RetentionRule:
        """Return what is chosen."""
        return RetentionRule(self.quota.currentData(), self.age.currentData() * DAY_MS)

    def _backup_card(self) -> QWidget:
        note = label(_BACKUP_NOTE, "note", wrap=True)
        return card(column(note, row(self.backup, None), margins=(16, 12, 16, 13), gap=9))

    def show_no_workspace(self) -> None:
        """No workspace is open."""
        self._lead.setText("Open a workspace to see what its cache holds.")
        for part in (self._totals_card, self._rule_card, self._action_row):
            part.hide()

    def show_data(self, workspace: str, rule: RetentionRule, totals: StoreTotals, plan: CleanupPlan) -> None:
        """Show a workspace's figures and rule; `plan` is the rule's."""
        self._lead.setText(f"What {workspace} keeps, and for how long.")
        trashed = plan.trashed
        count = totals.entries - trashed.entries
        live_size = totals.stored_size - trashed.stored_size
        self.stored.setText(f"{pluralize(count, 'entry', 'entries')}, {format_bytes(live_size)} on disk")
        entries, size = len(plan.to_trash) + plan.spared.entries, plan.freed + plan.spared.stored_size
        could = f"{entries:,} of them could go: {format_bytes(size)} on disk"
        self.removable.setText(could if entries else "Nothing of it could go now")
        lying = f"{trashed.entries:,} more, {format_bytes(trashed.stored_size)} on disk, lie in the trash"
        self.trashed.setText(f"{lying}, each for {TRASH_DAYS} days" if trashed.entries else "")
        self.trashed.setVisible(bool(trashed.entries))
        self.shortfall.setText(translate(shortfall_text(plan)))
        self.shortfall.setVisible(bool(shortfall_text(plan)))
        self.age.setCurrentIndex(max(0, self.age.findData(rule.unused_ms // DAY_MS)))
        self.quota.setCurrentIndex(max(0, self.quota.findData(rule.quota)))
        for part in (self._totals_card, self._rule_card, self._action_row):
            part.show()
