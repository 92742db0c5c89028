"""What a workspace's cache may hold: how much there is, what could go, and the rule it keeps to by itself."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLineEdit, QVBoxLayout, QWidget

from helix_desktop.domain.file_history.changes import FileCoverageSettings, FileHistoryTotals
from helix_desktop.domain.retention import DAY_MS, TRASH_DAYS, CleanupPlan, RetentionRule
from helix_desktop.domain.store import StoreTotals
from helix_desktop.ui.cleanup.dialog import AGES, QUOTAS
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.form_field import FormField
from helix_desktop.ui.design.labels import TextLine, label, show_text
from helix_desktop.ui.design.layout.boxes import card, clear_layout, column, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.settings.data_folder import DataFolder
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import history_totals_lines, shortfall_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Data")

_MB = 1024 * 1024
_MAX_FILES = (1, 5, 20, 100, 500)  # MB


class HistoryCard(QFrame):
    """Two limits and a list of places; what is chosen comes out as a signal."""

    settings_chosen = Signal(object)  # FileCoverageSettings

    def __init__(self) -> None:
        """Start with the defaults."""
        super().__init__()
        self._settings = FileCoverageSettings()
        self.max_file, self.quota = ComboBox(), ComboBox()
        for size in _MAX_FILES:
            self.max_file.addItem(tr("{number} MB", number=size), size * _MB)
        for words, size in QUOTAS:
            self.quota.addItem(translate(words), size)
        self.place = QLineEdit()
        self.place.setPlaceholderText("build/output")
        add = PushButton(tr("Add"), name="include_place")
        self._field = FormField(
            tr("Also include"),
            self.place,
            trailing=add,
            note=tr("A file or folder in the workspace that git ignores, or that contains secrets."),
        )
        self._places = QVBoxLayout()
        self._places.setSpacing(4)
        self.setLayout(
            column(
                card(
                    column(
                        label(tr("File history"), "strong"),
                        FormField(
                            tr("Largest file"),
                            self.max_file,
                            note=tr("Changes to larger files can't be undone."),
                        ),
                        FormField(
                            tr("Maximum size"),
                            self.quota,
                            note=tr("When it is reached, the oldest versions are removed first."),
                        ),
                        self._field,
                        self._places,
                        margins=(16, 12, 16, 13),
                        gap=9,
                    )
                )
            )
        )
        self.max_file.activated.connect(lambda _: self._choose(max_file=self.max_file.currentData()))
        self.quota.activated.connect(lambda _: self._choose(quota=self.quota.currentData()))
        self.place.returnPressed.connect(self._add)
        self.place.textChanged.connect(lambda _: self._field.show_error(""))
        add.clicked.connect(self._add)

    def show_settings(self, settings: FileCoverageSettings) -> None:
        """Show what holds now."""
        self._settings = settings
        self.place.clear()
        for combo, size in ((self.max_file, settings.max_file), (self.quota, settings.quota)):
            if combo.findData(size) < 0:  # chosen in the file
                combo.addItem(format_size(size), size)
            combo.setCurrentIndex(combo.findData(size))
        clear_layout(self._places)
        for place in settings.included:
            self._places.addWidget(self._line(place))

    def show_error(self, message: str) -> None:
        """Say why a place can't be added."""
        self._field.show_error(message)

    def _line(self, place: str) -> QWidget:
        remove = PushButton(tr("Remove"), "link", name=f"exclude:{place}")
        remove.setAccessibleName(tr("Remove {place}", place=place))
        others = tuple(other for other in self._settings.included if other != place)
        remove.clicked.connect(lambda: self._choose(included=others))
        line = QWidget()
        parts = row(TextLine(place, 13), remove, gap=6)
        parts.setStretch(0, 1)
        line.setLayout(parts)
        return line

    def _add(self) -> None:
        self._choose(included=tuple(dict.fromkeys((*self._settings.included, self.place.text()))))

    def _choose(self, **fields: object) -> None:
        self.settings_chosen.emit(msgspec.structs.replace(self._settings, **fields))


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
        self.stored, self.removable, self.trashed = (
            label("", role, wrap=True) for role in ("strong", "note", "note")
        )
        self.shortfall, self.history = label("", "warn", wrap=True), label("", "strong", wrap=True)
        self.all_data = label("", "strong", wrap=True)
        self.age, self.quota = ComboBox(), ComboBox()
        for age, days in AGES:
            self.age.addItem(translate(age) if days else tr("Never"), days)
        for quota, size in QUOTAS:
            self.quota.addItem(translate(quota), size)
        body = QVBoxLayout()
        body.setSpacing(12)
        page, self._lead = scrolling_page(tr("Data"), " ", body)
        self._totals_card = self._make_totals_card()
        self._rule_card = card(
            column(
                label(tr("Cached outputs"), "strong"),
                FormField(
                    tr("Move to trash"), self.age,
                    note=tr("When the workspace opens, outputs that no session uses move to the trash."),
                ),
                FormField(tr("Maximum size"), self.quota),
                margins=(16, 12, 16, 13), gap=9,
            )
        )  # fmt: skip
        clean, trash = (
            PushButton(tr("Clean up…"), name="clean_up"),
            PushButton(tr("Trash…"), "", "trash-2", name="trash"),
        )
        forget = PushButton(tr("Remove a secret…"), "danger", name="forget")
        self.history_card = HistoryCard()
        self._action_row = FlowBox([clean, trash, forget], right_from=2)
        self._workspace_parts = (
            self._totals_card, self._rule_card, self.history_card, self._action_row
        )  # fmt: skip
        self.backup = PushButton(tr("Export…"), "", "save", name="export")
        for part in self._workspace_parts:
            body.addWidget(part)
        body.addWidget(self._backup_card())
        self.data_folder = DataFolder()
        title = label(tr("Data folder"), "strong")
        body.addWidget(card(column(title, self.data_folder, margins=(16, 12, 16, 13), gap=5)))
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

    def _make_totals_card(self) -> QWidget:
        entries = (self.stored, self.removable, self.trashed, self.shortfall)
        return card(column(*entries, 5, self.history, 5, self.all_data, margins=(16, 12, 16, 13), gap=5))

    def _backup_card(self) -> QWidget:
        words = tr("A backup is one file for each workspace. Each file is read again and checked.")
        note = label(words, "note", wrap=True)
        return card(column(note, row(self.backup, None), margins=(16, 12, 16, 13), gap=9))

    def show_no_workspace(self) -> None:
        """No workspace is open."""
        self._lead.setText(tr("Open a workspace to see its data."))
        for part in self._workspace_parts:
            part.hide()

    def show_data(
        self, workspace_name: str, rule: RetentionRule, totals: StoreTotals, plan: CleanupPlan
    ) -> None:
        """Show a workspace's figures and rule; `plan` is the rule's."""
        self._lead.setText(tr("What {workspace} stores, and for how long.", workspace=workspace_name))
        trashed = plan.trashed
        count = totals.entries - trashed.entries
        live_size = totals.stored_size - trashed.stored_size
        self.stored.setText(
            tr.plural(
                count, "%n entry, {size} on disk", "%n entries, {size} on disk", size=format_size(live_size)
            )
        )
        entries, size = len(plan.to_trash) + plan.spared.entries, plan.freed + plan.spared.stored_size
        self.removable.setText(
            tr.plural(
                entries,
                "%n can be removed ({size} on disk)",
                "%n can be removed ({size} on disk)",
                size=format_size(size),
            )
            if entries
            else tr("Nothing can be removed now")
        )
        self.trashed.setText(
            tr.plural(
                trashed.entries,
                "%n more entry in the trash ({size} on disk), kept for {days} days",
                "%n more entries in the trash ({size} on disk), each kept for {days} days",
                size=format_size(trashed.stored_size),
                days=TRASH_DAYS,
            )
        )
        self.trashed.setVisible(bool(trashed.entries))
        show_text(self.shortfall, translate(shortfall_text(plan)))
        self.history.hide()
        self.age.setCurrentIndex(max(0, self.age.findData(rule.unused_ms // DAY_MS)))
        self.quota.setCurrentIndex(max(0, self.quota.findData(rule.quota)))
        for part in self._workspace_parts:
            part.show()

    def show_all_data(self, size: int) -> None:
        """Show what all data of the workspace takes on disk, in bytes."""
        self.all_data.setText(
            tr("All data with session logs and search index: {size} on disk", size=format_size(size))
        )

    def show_history(self, totals: FileHistoryTotals, quota: int) -> None:
        """Show what the file history takes, where there is one."""
        self.history.setText("\n".join(history_totals_lines(totals, quota)))
        self.history.setVisible(bool(totals.contents))
