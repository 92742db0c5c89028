"""What a workspace's cache may hold: how much there is, what could go, and the rule it keeps to by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtWidgets import QLineEdit, QWidget

from helix_desktop.domain.file_history.changes import FileHistoryCleanup, FileHistoryTotals
from helix_desktop.domain.retention import TRASH_DAYS, CleanupPlan, RetentionRule
from helix_desktop.domain.store import StoreTotals
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.services.diagnostics import folder_sizes
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.dialogs import confirm
from helix_desktop.ui.design.labels import TextLine, label, show_text
from helix_desktop.ui.design.layout import FlowBox, ResponsiveRow, card, clear_layout, column, pane, row
from helix_desktop.ui.kit.forms import Choice, CustomField, Form, Group, Values
from helix_desktop.ui.kit.intents import (
    EmptyTrash,
    Export,
    Intent,
    RemoveSecret,
    ShowTrash,
    ShowUnused,
    TrashUnused,
    perform,
)
from helix_desktop.ui.kit.session import Session
from helix_desktop.ui.settings.about_page import DataFolder
from helix_desktop.ui.settings.page_layout import scrolling_page
from helix_desktop.words.numbers import format_size
from helix_desktop.words.store_reports import (
    history_cleanup_lines,
    history_totals_lines,
    shortfall_text,
)
from helix_desktop.words.translation import Translator, translate

tr = Translator("Settings: Data")
text = TextContext("Settings: Data")

_MB = 1024 * 1024
_MAX_FILES = (1, 5, 20, 100, 500)  # MB
_PLACES = "history_included"
_RULES = ("quota", "unused_days", "history_quota")
_AGES = (
    (7, text("Not used for a week")),
    (30, text("Not used for a month")),
    (90, text("Not used for 3 months")),
    (365, text("Not used for a year")),
)
_SIZES = (
    (0, text("No limit")),
    (100 * _MB, text("{number} MB", number=100)),
    (500 * _MB, text("{number} MB", number=500)),
    (1_024 * _MB, text("{number} GB", number=1)),
    (2_048 * _MB, text("{number} GB", number=2)),
    (5_120 * _MB, text("{number} GB", number=5)),
    (20_480 * _MB, text("{number} GB", number=20)),
)


class _Places(QWidget):
    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form
        self.place = QLineEdit()
        self.place.setPlaceholderText("build/output")
        self.place.setAccessibleName(tr("Also include"))
        add = PushButton(tr("Add"), name="include_place", on_click=self._add)
        self._rows = column(gap=4)
        self.setLayout(column(row(self.place, add, gap=6, stretch=0), self._rows, gap=4))
        self.place.returnPressed.connect(self._add)
        self.place.textEdited.connect(lambda _: form.show_error(_PLACES, ""))

    def show_places(self, places: Sequence[str]) -> None:
        self.place.clear()
        clear_layout(self._rows)
        for place in places:
            words = tr("Remove {place}", place=place)
            remove = PushButton(tr("Remove"), "link", name=f"exclude:{place}", words=words)
            others = tuple(other for other in places if other != place)
            remove.clicked.connect(lambda _=False, others=others: self._form.write(_PLACES, others))
            self._rows.addWidget(pane(row(TextLine(place, 13), remove, gap=6, stretch=0)))

    def _add(self) -> None:
        places = self._form.values.get(_PLACES)
        self._form.write(_PLACES, tuple(dict.fromkeys((*places, self.place.text()))))


CACHED_OUTPUTS = (
    Group(text("Outputs"), (
        Choice("unused_days", text("Move to trash"),
               text("When the workspace opens, outputs that no session uses move to the trash."),
               choices=((0, text("Never")), *_AGES),
               format=lambda days: tr.plural(days, "After %n day", "After %n days")),
        Choice("quota", text("Maximum size"), choices=_SIZES, format=format_size),
    )),
)  # fmt: skip
FILE_HISTORY = (
    Group(text("File history"), (
        Choice("history_max_file", text("Largest file"), text("Changes to larger files can't be undone."),
               choices=tuple((size * _MB, text("{number} MB", number=size)) for size in _MAX_FILES),
               format=format_size),
        Choice("history_quota", text("Maximum size"),
               text("When it is reached, the oldest versions are removed first."),
               choices=_SIZES, format=format_size),
        CustomField(_PLACES, text("Also include"),
            text("A file or folder in the workspace that git ignores, or that contains secrets."), room=2,
            control=_Places, display=lambda control, places: control.show_places(places)),
    )),
)  # fmt: skip


class DataPage(QWidget):
    def __init__(self, session: Session, settings: Values) -> None:
        super().__init__()
        self._session = session
        self.stored = label("", "strong", wrap=True)
        self.removable = label("", "note", wrap=True)
        self.trashed = label("", "note", wrap=True)
        self.shortfall = label("", "warn", wrap=True)
        self.history = label("", "strong", wrap=True)
        self.old_versions = label("", "note", wrap=True)
        self.all_data = label("", "strong", wrap=True)
        start = self._start
        self.show_unused = PushButton(
            tr("Show"),
            "link",
            name="show_unused",
            words=tr("Show unused outputs"),
            on_click=lambda: start(ShowUnused()),
        )
        self.move_unused = PushButton(
            tr("Move to trash"),
            "link",
            name="trash_unused",
            words=tr("Move unused outputs to trash"),
            on_click=lambda: start(TrashUnused()),
        )
        self.show_trash = PushButton(
            tr("Show"), "link", name="trash", words=tr("Show trash"), on_click=lambda: start(ShowTrash())
        )
        self.empty_trash = PushButton(
            tr("Empty trash…"), "link", name="empty_trash", on_click=lambda: start(EmptyTrash())
        )
        self.remove_versions = PushButton(
            tr("Remove…"),
            "link",
            name="clean_history",
            words=tr("Remove previous versions"),
            on_click=lambda: session.start(self._remove_versions(), "clean up the file history"),
        )
        body = column(gap=12)
        page, self._lead = scrolling_page(tr("Data"), " ", body)
        totals = card(
            column(
                self.stored,
                ResponsiveRow(self.removable, [self.show_unused, self.move_unused]),
                ResponsiveRow(self.trashed, [self.show_trash, self.empty_trash]),
                self.shortfall,
                5,
                self.history,
                ResponsiveRow(self.old_versions, [self.remove_versions]),
                5,
                self.all_data,
                margins=(16, 12, 16, 13),
                gap=5,
            )
        )
        self.forms = [Form(fields, settings) for fields in (CACHED_OUTPUTS, FILE_HISTORY)]
        forget = PushButton(tr("Remove a secret…"), "danger", name="forget")
        forget.clicked.connect(lambda: start(RemoveSecret()))
        self._workspace_parts = (totals, *self.forms, FlowBox([forget], right_from=0))
        backup = PushButton(tr("Export…"), "", "save", name="export")
        backup.clicked.connect(lambda: perform(self, Export(all_workspaces=True)))
        words = tr("A backup is one file for each workspace. Each file is read again and checked.")
        note = label(words, "note", wrap=True)
        for part in self._workspace_parts:
            body.addWidget(part)
        body.addWidget(card(column(note, row(backup, None), margins=(16, 12, 16, 13), gap=9)))
        self.data_folder = DataFolder(session)
        title = label(tr("Data folder"), "strong")
        body.addWidget(card(column(title, self.data_folder, margins=(16, 12, 16, 13), gap=5)))
        self.setLayout(column(page))
        settings.changed.connect(self._on_setting)
        self.show_no_workspace()

    def _start(self, intent: Intent | None = None) -> None:
        """Do what a button wants, in a dialog, and then show what is left."""

        async def run() -> None:
            if intent is not None:
                await self._session.run(intent)
            await self.refresh()

        self._session.start(run(), "figures of the data")

    def _on_setting(self, name: str) -> None:
        if name in _RULES and self.isVisible():
            self._start()

    async def refresh(self) -> None:
        """Show the figures as they are now. Raises HelixError."""
        services = self._session.app
        workspace = self._session.opened
        if workspace is None:
            self.show_no_workspace()
            return
        record = services.registry.get(workspace.id)
        rule = RetentionRule(record.quota, record.unused_ms)
        totals = await workspace.store.totals()
        plan = await workspace.store.retention.plan(rule)
        trash = await workspace.store.retention.trash()
        self.show_data(record.name, totals, plan, len(trash.session_rows))
        history = services.history_storage(workspace.id)
        self.show_history(await history.totals(), await history.plan(), history.quota)
        sizes = await asyncio.to_thread(folder_sizes, services.registry.data_folder(workspace.id))
        self.show_all_data(sum(part["bytes"] for part in sizes.values()))

    def show_no_workspace(self) -> None:
        self._lead.setText(tr("Open a workspace to see its data."))
        for part in self._workspace_parts:
            part.hide()

    async def _remove_versions(self) -> None:
        """Remove what the file history may lose, after a question."""
        history = self._session.app.history_storage(self._session.workspace.id)
        why = " ".join(history_cleanup_lines(await history.plan(), history.quota))
        if await confirm(self, tr("Remove previous versions?"), why, "delete", tr("Remove")):
            await history.clean_up()
            await self.refresh()

    def show_data(
        self, workspace_name: str, totals: StoreTotals, plan: CleanupPlan, trashed_sessions: int = 0
    ) -> None:
        """Show a workspace's figures and its settings; `plan` is that of its rule."""
        self._lead.setText(tr("What {workspace} stores, and for how long.", workspace=workspace_name))
        trashed = plan.trashed
        live = tr.plural(
            totals.entries - trashed.entries,
            "Outputs: %n entry, {size} on disk, compressed",
            "Outputs: %n entries, {size} on disk, compressed",
            size=format_size(totals.stored_size - trashed.stored_size),
        )
        self.stored.setText(live)
        entries = len(plan.to_trash) + plan.spared.entries
        size = plan.freed + plan.spared.stored_size
        removable = tr.plural(
            entries,
            "Used by no session: %n output, {size} on disk",
            "Used by no session: %n outputs, {size} on disk",
            size=format_size(size),
        )
        self.removable.setText(removable if entries else tr("No output is unused"))
        self.show_unused.setVisible(entries > 0)
        self.move_unused.setVisible(entries > 0)
        counts = (
            tr.plural(trashed_sessions, "%n session", "%n sessions") if trashed_sessions else "",
            tr.plural(trashed.entries, "%n output", "%n outputs") if trashed.entries else "",
            tr("{size} on disk", size=format_size(trashed.stored_size)) if trashed.entries else "",
        )
        held = ", ".join(filter(None, counts))
        self.trashed.setText(tr("In the trash, for {days} days: {held}", days=TRASH_DAYS, held=held))
        self.trashed.setVisible(bool(held))
        self.show_trash.setVisible(bool(held))
        self.empty_trash.setVisible(bool(held))
        show_text(self.shortfall, translate(shortfall_text(plan)))
        self.history.hide()
        self.old_versions.hide()
        self.remove_versions.hide()
        for form in self.forms:
            form.refresh()
        for part in self._workspace_parts:
            part.show()

    def show_all_data(self, size: int) -> None:
        words = tr("All data with session logs and search index: {size} on disk", size=format_size(size))
        self.all_data.setText(words)

    def show_history(self, totals: FileHistoryTotals, plan: FileHistoryCleanup, quota: int) -> None:
        """Say what the file history takes, and what of it may go; nothing where there is none."""
        self.history.setText("\n".join(history_totals_lines(totals, quota)))
        self.history.setVisible(bool(totals.contents or totals.saved_copies_size))
        show_text(self.old_versions, "\n".join(history_cleanup_lines(plan, quota)))
        self.remove_versions.setVisible(bool(plan.stored_size))
