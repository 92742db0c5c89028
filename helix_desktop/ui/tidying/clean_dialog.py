"""The dialog that cleans up a workspace's cache: what would go, why the rest stays, and the word to do it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QListWidget, QWidget

from helix_desktop.context.digest import size_text
from helix_desktop.context.keeping import DAY_MS, CleanUp, Plan, Share
from helix_desktop.ui.field import Field
from helix_desktop.ui.widgets import Combo, PushButton, Switch, card, column, empty_layout, label, row

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
_LISTED = 200  # entries that are listed; more are counted
_SIZE = (620, 640)
_LEAD = (
    "Moves outputs to the trash that no session names, that nobody pinned, and that were not used for 24 "
    "hours. What a session names always stays."
)


class CleanDialog(QDialog):
    """Shows the plan for what is chosen; what it asks for comes out as signals."""

    plan_requested = Signal(object)  # CleanUp
    collect_requested = Signal(bool)  # also whenever the workspace is opened
    trash_requested = Signal()

    def __init__(self, parent: QWidget, asked: CleanUp, by_itself: bool) -> None:
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
        self.age.setCurrentIndex(max(0, self.age.findData(asked.unused_ms // DAY_MS)))
        self.quota.setCurrentIndex(max(0, self.quota.findData(asked.quota)))
        self.quota.setItemText(0, "No limit to keep to: all that may go goes")
        self.by_itself = Switch("Do this by itself whenever the workspace is opened", on=by_itself)
        self.verdict = label("", "strong", wrap=True)
        self._reasons = column(gap=3)
        self.shortfall = label("", "warn", wrap=True)
        self.list = QListWidget()
        self.list.setProperty("kind", "cards")
        self.list.setAccessibleName("What would go to the trash")
        self.list.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.trash, self.leave = PushButton("Trash…", "", "trash-2"), PushButton("Cancel")
        self.collect = PushButton("Move to the trash", "primary")
        self._lay_out()
        self.age.currentIndexChanged.connect(self._choose)
        self.quota.currentIndexChanged.connect(self._choose)
        self.collect.clicked.connect(lambda: self.collect_requested.emit(self.by_itself.isChecked()))
        self.trash.clicked.connect(self.trash_requested)
        self.leave.clicked.connect(self.reject)
        self.collect.setEnabled(False)

    @property
    def asked(self) -> CleanUp:
        """What is chosen."""
        return CleanUp(quota=self.quota.currentData(), unused_ms=self.age.currentData() * DAY_MS)

    def show_plan(self, plan: Plan) -> None:
        """Say what would go, and why the rest stays."""
        count = len(plan.going)
        self.verdict.setText(
            f"{_entries(count)} would go: {size_text(plan.freed)} on disk." if count else "Nothing would go."
        )
        empty_layout(self._reasons)
        for share, why in (
            (plan.named, "named by sessions"),
            (plan.indexed, "reached through index entries"),
            (plan.pinned, "pinned"),
            (plan.young, "used in the last 24 hours"),
            (plan.spared, "may go, but not by what is chosen here"),
            (plan.trashed, "in the trash already"),
        ):
            if share.entries:
                self._reasons.addWidget(label(_stays(share, why), "note", wrap=True))
        self.shortfall.setText(plan.shortfall)
        self.shortfall.setVisible(bool(plan.shortfall))
        self.list.clear()
        for entry in plan.going[:_LISTED]:
            name = f"{entry.tool} {entry.target}".strip() or entry.digest[:12]
            self.list.addItem(f"{name}  ·  {size_text(entry.size)}")
        if count > _LISTED:
            self.list.addItem(f"and {count - _LISTED:,} more")
        self.list.setVisible(bool(count))
        self.collect.setEnabled(bool(count))

    def _choose(self) -> None:
        self.collect.setEnabled(False)
        self.plan_requested.emit(self.asked)

    def _lay_out(self) -> None:
        words = column(label("Clean up", "title"), label(_LEAD, "muted", wrap=True), gap=5)
        choice = card(
            column(
                Field("What", self.age), Field("Keep at most", self.quota), self.by_itself,
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        told = column(self.verdict, self._reasons, self.shortfall, gap=6)
        buttons = row(self.trash, None, self.leave, self.collect, gap=8)
        whole = column(words, choice, told, self.list, None, buttons, margins=(22, 20, 22, 16), gap=12)
        whole.setStretch(3, 100)  # the gap below it is for when there is nothing to list
        self.setLayout(whole)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _stays(share: Share, why: str) -> str:
    stay = "stays" if share.entries == 1 else "stay"
    return f"{_entries(share.entries)} {stay}, {size_text(share.stored_size)} on disk: {why}"
