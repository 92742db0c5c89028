"""What a workspace's cache may hold: how much there is, what could go, and the rule it keeps to by itself."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from helix_desktop.context.content import StoreTotals
from helix_desktop.context.digest import count_text, size_text
from helix_desktop.context.keeping import DAY_MS, TRASH_DAYS, CleanUp, Plan
from helix_desktop.ui.field import Field
from helix_desktop.ui.settings.form import page
from helix_desktop.ui.tidying.clean_dialog import AGES, QUOTAS
from helix_desktop.ui.widgets import Combo, PushButton, card, column, label, row

_RULE = "What no session names goes to the trash by itself when the workspace is opened."


_BACKUP = "A backup is one file for each workspace, read again and checked once it is written."


class DataPage(QWidget):
    """Figures, the rule, and deeds that have windows of their own."""

    rule_chosen = Signal(object)  # CleanUp
    clean_requested = Signal()
    trash_requested = Signal()
    forget_requested = Signal()
    backup_requested = Signal()

    def __init__(self) -> None:
        """Start without figures."""
        super().__init__()
        self.held, self.could_go, self.trashed = label("", "strong"), label("", "note"), label("", "note")
        self.shortfall = label("", "warn", wrap=True)
        self.age, self.quota = Combo(), Combo()
        for text, days in AGES:
            self.age.addItem(f"Not used for {text}" if days else "Nothing by its age", days)
        for text, size in QUOTAS:
            self.quota.addItem(text, size)
        body = QVBoxLayout()
        body.setSpacing(12)
        whole, self._lead = page("Data", " ", body)
        self._figures = card(
            column(self.held, self.could_go, self.trashed, self.shortfall, margins=(16, 12, 16, 13), gap=5)
        )
        self._rule = card(
            column(
                Field("Move to the trash", self.age, note=_RULE), Field("Keep at most", self.quota),
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        clean, trash = PushButton("Clean up…"), PushButton("Trash…", "", "trash-2")
        forget = PushButton("Forget a secret…", "danger")
        self._deeds = QWidget()
        self._deeds.setLayout(row(clean, trash, None, forget))
        self.backup = PushButton("Back up all workspaces…", "", "save")
        for part in (self._figures, self._rule, self._deeds, self._kept_safe()):
            body.addWidget(part)
        self.setLayout(column(whole))
        self.age.activated.connect(lambda _: self.rule_chosen.emit(self.rule))
        self.quota.activated.connect(lambda _: self.rule_chosen.emit(self.rule))
        clean.clicked.connect(self.clean_requested)
        trash.clicked.connect(self.trash_requested)
        forget.clicked.connect(self.forget_requested)
        self.backup.clicked.connect(self.backup_requested)
        self.show_nothing()

    @property
    def rule(self) -> CleanUp:
        """What is chosen."""
        return CleanUp(self.quota.currentData(), self.age.currentData() * DAY_MS)

    def _kept_safe(self) -> QWidget:
        said = label(_BACKUP, "note", wrap=True)
        return card(column(said, row(self.backup, None), margins=(16, 12, 16, 13), gap=9))

    def show_nothing(self) -> None:
        """No workspace is open."""
        self._lead.setText("Open a workspace to see what its cache holds.")
        for part in (self._figures, self._rule, self._deeds):
            part.hide()

    def show_data(self, workspace: str, rule: CleanUp, totals: StoreTotals, plan: Plan) -> None:
        """Show a workspace's figures and rule; `plan` is the rule's."""
        self._lead.setText(f"What {workspace} keeps, and for how long.")
        trashed = plan.trashed
        count = totals.entries - trashed.entries
        held = totals.stored_size - trashed.stored_size
        self.held.setText(f"{count_text(count, 'entry', 'entries')}, {size_text(held)} on disk")
        going, size = len(plan.going) + plan.spared.entries, plan.freed + plan.spared.stored_size
        could = f"{going:,} of them could go: {size_text(size)} on disk"
        self.could_go.setText(could if going else "Nothing of it could go now")
        lying = f"{trashed.entries:,} more, {size_text(trashed.stored_size)} on disk, lie in the trash"
        self.trashed.setText(f"{lying}, each for {TRASH_DAYS} days" if trashed.entries else "")
        self.trashed.setVisible(bool(trashed.entries))
        self.shortfall.setText(plan.shortfall)
        self.shortfall.setVisible(bool(plan.shortfall))
        self.age.setCurrentIndex(max(0, self.age.findData(rule.unused_ms // DAY_MS)))
        self.quota.setCurrentIndex(max(0, self.quota.findData(rule.quota)))
        for part in (self._figures, self._rule, self._deeds):
            part.show()
