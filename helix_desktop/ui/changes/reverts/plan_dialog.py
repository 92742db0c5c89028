"""A plan that takes changes back: each file with what it becomes, and the dialog that asks before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QWidget

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.file_history.changes import (
    PlannedFile,
    RevertPlan,
    RevertStatus,
    folders_of,
    is_folder,
)
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.ui.changes.rows import LineCounts
from helix_desktop.ui.changes.texts import KIND_ICONS, counts_texts, files_text, path_text
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import ComboBox
from helix_desktop.ui.design.labels import IconLabel, TextLine, label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, clear_layout, column, pane, row
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.layout.responsive_row import ResponsiveRow
from helix_desktop.ui.design.layout.scrolling import ListScrollArea
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.words.direction import dotted
from helix_desktop.words.file_changes import changed_files_text
from helix_desktop.words.revert_plans import plan_status_text, problem_text, revert_effect_text
from helix_desktop.words.translation import Translator, translate

text = TextContext("Changes")
tr = Translator("Changes")

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
            return ("present", "former", "merged") if file.merged is not None else ("present", "former")
    return ()


def choice_text(choice: RevertChoice) -> str:
    return translate(_CHOICES[choice])


def plan_lead(plan: RevertPlan) -> str:
    """Return what is special about a plan, and what is to be done."""
    ready = sum(file.status == "ready" and not _is_folder(file) for file in plan.files)
    blocked = sum(file.status == "blocked" for file in plan.files)
    open_files = sum(file.status in ("merge", "conflict") for file in plan.files)
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


def files_changed(plan: RevertPlan, choices: Mapping[str, RevertChoice]) -> int:
    """Return how many files a plan changes with these choices; of folders only if there are no files."""
    changed = [
        file for file in plan.files if file.status != "blocked" and plan.target(file, choices) != file.present
    ]
    return sum(not _is_folder(file) for file in changed) or len(changed)


def _is_folder(file: PlannedFile) -> bool:
    return is_folder(file.present) or is_folder(file.former)


def revert_button_text(plan: RevertPlan, count: int) -> str:
    if all(_is_folder(file) for file in plan.files if file.status not in ("same", "blocked")):
        return tr("Redo") if plan.is_redo else tr("Revert")
    if plan.is_redo:
        return tr.plural(count, "Redo %n file", "Redo %n files")
    return tr.plural(count, "Revert %n file", "Revert %n files")


def _undone_text(undone: RevertPlan, files: str) -> str:
    if undone.is_redo:
        return tr("Redo undone: {files}", files=files)
    if undone.scope == "rewind":
        return tr("Rewind undone: {files}", files=files)
    return tr("Revert undone: {files}", files=files)


def _first_path(plan: RevertPlan) -> str:
    """Return the path of a changed file; of a folder if only folders are."""
    changed = [file for file in plan.files if file.status not in ("same", "blocked")]
    return min(changed, key=_is_folder).path if changed else ""


def done_text(plan: RevertPlan, count: int, undone: RevertPlan | None = None) -> str:
    """Return what was done to so many files; `undone` is the plan of a revert that this one undid."""
    files = changed_files_text(count, _first_path(plan))
    if undone is not None:
        return _undone_text(undone, files)
    file = escape_hidden_name(_first_path(plan))
    match plan.scope:
        case "hunk" if plan.is_redo:
            return tr("Part of {file} redone.", file=file)
        case "hunk":
            return tr("Part of {file} reverted.", file=file)
        case "rewind":
            return tr("Rewound: {files}", files=files)
        case _ if plan.is_redo:
            return tr("Redone: {files}", files=files)
    return tr("Reverted: {files}", files=files)


_ORDER: tuple[RevertStatus, ...] = ("conflict", "merge", "blocked", "ready")
MAX_ROWS = 100  # files of a section with a row of their own; the others get the section's first choice
_PATH_PX = 220


class PlanView(QWidget):
    changed = Signal()
    merge_requested = Signal(str)
    """The path of a file that the user wants to merge by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = RevertPlan(())
        self._combos: dict[str, ComboBox] = {}
        self._merges: dict[str, PushButton] = {}
        self._lines: dict[str, tuple[TextLine, TextLine]] = {}
        self._effects: list[TextLine] = []  # of the section that is being added
        self._page = QWidget()
        self._page.setObjectName("page")
        self._column = column(margins=(0, 0, 6, 0), gap=4)
        self._page.setLayout(self._column)
        self.setLayout(column(ListScrollArea(self._page, tr("Files"))))

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

    def show_plan(self, plan: RevertPlan, choices: Mapping[str, RevertChoice] | None = None) -> None:
        """Show a plan; what was chosen before stays where it still can be."""
        previous = {**self.choices, **(choices or {})}
        self.plan = plan
        self._combos, self._lines, self._merges = {}, {}, {}
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

    def refuse_merge(self, path: str) -> None:
        """Say that a file is nothing that can be merged by lines."""
        if path in self._merges:
            self._merges[path].setEnabled(False)
            self._merges[path].setToolTip(tr("Only text can be merged."))

    def _add_section(
        self, status: RevertStatus, files: Sequence[PlannedFile], previous: Mapping[str, RevertChoice]
    ) -> None:
        count = "" if status == "ready" else files_text(len(files))  # with folders: those are said above
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
            options = choices_of(files[0])
            choice = tr("{files}: {choice}", files=more, choice=choice_text(options[0])) if options else more
            self._column.addWidget(label(choice, "muted", wrap=True))

    def _row(self, file: PlannedFile, choice: RevertChoice | None) -> QWidget:
        icon, color = _icon(file)
        path = TextLine(path_text(file.path), 13, mono=True)
        path.elide = Qt.TextElideMode.ElideMiddle
        counts = TextLine("", 11, 500, "ok"), TextLine("", 11, 500, "error")
        for part in counts:
            part.is_fixed_width = True
            part.hide()
        self._lines[file.path] = counts
        note = problem_text(file.problem) if file.status == "blocked" else revert_effect_text(file)
        words = TextLine(note, 12, role="warn" if file.status == "blocked" else "muted")
        if file.status != "blocked":
            self._effects.append(words)
        name = pane(row(IconLabel(icon, px=15, color_token=color), path, *counts, gap=8, stretch=1))
        name.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        options = choices_of(file)
        if not options:
            return ResponsiveRow(name, [words], _PATH_PX)
        return ResponsiveRow(name, [*self._choice(file, options, choice)], _PATH_PX)

    def _choice(
        self, file: PlannedFile, options: Sequence[RevertChoice], choice: RevertChoice | None
    ) -> Sequence[QWidget]:
        combo = ComboBox()
        combo.setObjectName(f"choice:{file.path}")
        combo.setAccessibleName(tr("What {file} becomes", file=path_text(file.path)))
        for option in options:
            combo.addItem(choice_text(option), option)
        combo.setCurrentIndex(options.index(choice) if choice in options else 0)
        combo.currentIndexChanged.connect(lambda _: self.changed.emit())
        self._combos[file.path] = combo
        if not _is_text_merge(file):
            return (combo,)
        merge = PushButton(tr("Compare…"), name=f"merge:{file.path}")
        merge.setToolTip(tr("Show all versions side by side and merge them yourself"))
        merge.clicked.connect(lambda: self.merge_requested.emit(file.path))
        self._merges[file.path] = merge
        return combo, merge


def _is_text_merge(file: PlannedFile) -> bool:
    """Return True if all three sides are files with contents: only these can be merged by hand."""
    return all(
        state is not None and state.kind == "file" and state.stored
        for state in (file.former, file.present, file.base)
    )


def _icon(file: PlannedFile) -> tuple[str, str]:
    """Return the icon of what becomes of a file, and the token of its color."""
    if file.status == "blocked":
        return "shield-alert", "warn"
    return KIND_ICONS["deleted" if file.former is None else "changed" if file.present else "created"]


_SIZE, _MIN_SIZE = (700, 520), (460, 320)


class PlanDialog(SizedDialog):
    """Accepted: the plan is to be carried out with `files.choices`."""

    def __init__(self, parent: QWidget, plan: RevertPlan) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        title = tr("Redo changes") if plan.is_redo else tr("Revert changes")
        self.setWindowTitle(title)
        self.files = PlanView()
        self.files.changed.connect(self._update_button)
        self.revert_button = PushButton("", "primary", name="revert")
        self.revert_button.clicked.connect(self.accept)
        cancel = PushButton(tr("Cancel"), name="cancel")
        cancel.clicked.connect(self.reject)
        lead = label(plan_lead(plan), "muted", wrap=True)
        words = column(label(title, "title", wrap=True), lead, gap=5)
        buttons = FlowBox([cancel, self.revert_button], right_from=0)
        self.setLayout(column(words, self.files, buttons, margins=DIALOG_MARGINS, gap=12, stretch=1))
        self.files.show_plan(plan)

    def _update_button(self) -> None:
        count = files_changed(self.files.plan, self.files.choices)
        self.revert_button.setText(revert_button_text(self.files.plan, count))
        self.revert_button.setEnabled(count > 0)
