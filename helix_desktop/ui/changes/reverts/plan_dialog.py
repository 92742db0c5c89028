"""The plan of a revert, as the user looks at it and decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.file_history.changes import (
    FileChange,
    FileState,
    PlannedFile,
    RevertPlan,
    RevertStatus,
    folders_of,
)
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.changes.change_groups import KINDS, LineCounts, RowKind, counts_texts, files_text
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.choice_fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout import (
    DIALOG_MARGINS,
    FlowBox,
    ListScrollArea,
    ResponsiveRow,
    clear_layout,
    column,
    pane,
    row,
)
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.words.file_changes import plan_status_text, problem_text, revert_effect_text
from helix_desktop.words.lines import dotted
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")
text = TextContext("Changes")

_SIZE = (700, 520)
_MIN_SIZE = (460, 320)

_CHOICES: dict[RevertChoice, TranslatableText] = {
    "merged": text("Merge both"),
    "present": text("Keep current"),
    "former": text("Restore previous"),
}


def choices_of(file: PlannedFile) -> tuple[RevertChoice, ...]:
    """Return what can be chosen for a file, the suggested one first."""
    match file.status:
        case "merge":
            return ("merged", "present", "former")
        case "conflict":
            return ("present", "former")
    return ()


def plan_lead(plan: RevertPlan) -> str:
    """Return what is special about a plan, and what is to be done."""
    ready = sum(not change.is_folder for change in plan.counted_files("ready"))
    blocked = len(plan.counted_files("blocked"))
    open_files = len(plan.counted_files("merge", "conflict"))
    parts = (
        tr.plural(ready, "%n file is ready.", "%n files are ready.") if ready else "",
        tr.plural(
            open_files,
            "%n file was changed since: choose what it becomes.",
            "%n files were changed since: choose what each becomes.",
        )
        if open_files
        else "",
        tr.plural(blocked, "%n file can't be reverted.", "%n files can't be reverted.") if blocked else "",
        tr("Nothing is lost: you can undo this."),
    )
    return " ".join(filter(None, parts))


def revert_button_text(plan: RevertPlan, changes: Sequence[FileChange]) -> str:
    if changes and all(change.is_folder for change in changes):
        return tr("Redo") if plan.is_redo else tr("Revert")
    if plan.is_redo:
        return tr.plural(len(changes), "Redo %n file", "Redo %n files")
    return tr.plural(len(changes), "Revert %n file", "Revert %n files")


_ORDER: tuple[RevertStatus, ...] = ("conflict", "merge", "blocked", "ready")
MAX_ROWS = 100  # files of a section with a row of their own; the others get the section's first choice
_PATH_PX = 220


class PlanView(QWidget):
    changed = Signal()
    open_requested = Signal(str)
    """The path of a file whose two versions the user wants to see in an editor."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = RevertPlan(())
        self._combos: dict[str, ComboBox] = {}
        self._lines: dict[str, tuple[TextLine, TextLine]] = {}
        self._effects: list[TextLine] = []  # of the section that is being added
        self._column = column(margins=(0, 0, 6, 0), gap=4)
        self.setLayout(column(ListScrollArea(self._column, tr("Files"))))

    @property
    def choices(self) -> dict[str, RevertChoice]:
        """What was chosen, by path; only where there is a choice."""
        choices: dict[str, RevertChoice] = {}
        for file in self.plan.files:
            options = choices_of(file)
            if options:
                combo = self._combos.get(file.path)
                choices[file.path] = options[0] if combo is None else combo.currentData()
        return choices

    def show_plan(self, plan: RevertPlan) -> None:
        previous = self.choices
        self.plan = plan
        self._combos = {}
        self._lines = {}
        clear_layout(self._column)
        implied = folders_of(file.path for file in plan.files if file.status == "ready")
        for status in _ORDER:
            files = [file for file in plan.files if file.status == status and file.path not in implied]
            if files:
                self._add_section(status, files, previous)
        self._column.addStretch(1)
        self.changed.emit()

    def show_counts(self, counts: Mapping[str, LineCounts]) -> None:
        for path, lines in counts.items():
            for part, words in zip(self._lines.get(path, ()), counts_texts(lines), strict=False):
                part.set_text(words)
                part.setVisible(bool(words))

    def keep_current(self, path: str) -> None:
        """Choose that a file stays as it is."""
        combo = self._combos[path]
        combo.setCurrentIndex(combo.findData("present"))

    def _add_section(
        self, status: RevertStatus, files: Sequence[PlannedFile], previous: Mapping[str, RevertChoice]
    ) -> None:
        count = "" if status == "ready" else files_text(len(self.plan.counted_files(status)))
        heading = label(dotted((plan_status_text(status), count)), "strong", wrap=True)
        heading.setContentsMargins(0, 8 if self._column.count() else 0, 0, 2)
        self._column.addWidget(heading)
        self._effects.clear()
        for file in files[:MAX_ROWS]:
            self._column.addWidget(self._row(file, previous.get(file.path)))
        widest = max((effect.sizeHint().width() for effect in self._effects), default=0)
        for effect in self._effects:
            effect.setMinimumWidth(widest)  # so that the counts before them stand in columns
        if len(files) > MAX_ROWS:
            more = tr.plural(len(files) - MAX_ROWS, "and %n more file", "and %n more files")
            if options := choices_of(files[0]):
                more = tr("{files}: {choice}", files=more, choice=translate(_CHOICES[options[0]]))
            self._column.addWidget(label(more, "muted", wrap=True))

    def _row(self, file: PlannedFile, choice: RevertChoice | None) -> QWidget:
        icon = "shield-alert"
        color = "warn"
        if file.status != "blocked":
            kind: RowKind = "changed" if file.present else "created"
            if file.former is None:
                kind = "deleted"
            _, icon, color = KINDS[kind]
        path = TextLine(escape_hidden_name(file.path), 13, mono=True)
        counts = TextLine("", 11, 500, "ok"), TextLine("", 11, 500, "error")
        for part in counts:
            part.is_fixed_width = True
            part.hide()
        self._lines[file.path] = counts
        if file.status == "blocked":
            words = TextLine(problem_text(file.problem), 12, role="warn")
        else:
            words = TextLine(revert_effect_text(file), 12, role="muted")
            self._effects.append(words)
        name = pane(row(IconLabel(icon, px=15, color_token=color), path, *counts, gap=8, stretch=1))
        name.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        options = choices_of(file)
        others = self._choice(file, options, choice) if options else [words]
        return ResponsiveRow(name, others, _PATH_PX)

    def _choice(
        self, file: PlannedFile, options: Sequence[RevertChoice], choice: RevertChoice | None
    ) -> Sequence[QWidget]:
        combo = ComboBox(words=tr("What {file} becomes", file=escape_hidden_name(file.path)))
        combo.setObjectName(f"choice:{file.path}")
        for option in options:
            combo.addItem(translate(_CHOICES[option]), option)
        combo.setCurrentIndex(options.index(choice) if choice in options else 0)
        combo.currentIndexChanged.connect(lambda _: self.changed.emit())
        self._combos[file.path] = combo
        if not (_can_be_opened(file.present) and _can_be_opened(file.former)):
            return (combo,)
        both = PushButton(tr("Open both"), name=f"open:{file.path}")
        both.setToolTip(tr("Open the file and a copy of its previous version. What you save stays."))
        both.clicked.connect(lambda: self.open_requested.emit(file.path))
        return combo, both


def _can_be_opened(state: FileState | None) -> bool:
    return state is not None and state.kind == "file" and state.stored


class PlanDialog(SizedDialog):
    """Accepted: the plan is to be carried out with `files.choices`."""

    def __init__(self, parent: QWidget, plan: RevertPlan) -> None:
        title = tr("Redo changes") if plan.is_redo else tr("Revert changes")
        super().__init__(parent, title, _SIZE, _MIN_SIZE)
        self.files = PlanView()
        self.files.changed.connect(self._update_button)
        self.revert_button = PushButton("", "primary", name="revert", on_click=self.accept)
        cancel = PushButton(tr("Cancel"), name="cancel", on_click=self.reject)
        lead = label(plan_lead(plan), "muted", wrap=True)
        words = column(label(title, "title", wrap=True), lead, gap=5)
        buttons = FlowBox([cancel, self.revert_button], right_from=0)
        self.setLayout(column(words, self.files, buttons, margins=DIALOG_MARGINS, gap=12, stretch=1))
        self.files.show_plan(plan)

    def _update_button(self) -> None:
        changes = self.files.plan.counted_changes(self.files.choices)
        self.revert_button.setText(revert_button_text(self.files.plan, changes))
        self.revert_button.setEnabled(bool(changes))
