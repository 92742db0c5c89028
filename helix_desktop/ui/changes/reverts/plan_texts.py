"""Words for plans of reverts: what each is called, how it stands, what the user can choose."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.domain.choices import RevertChoice
from helix_desktop.domain.file_history.changes import PlannedFile, RevertPlan, is_folder
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden_name
from helix_desktop.words.file_changes import changed_files_text
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


def plan_title(plan: RevertPlan) -> str:
    if plan.is_redo:
        return tr("Redo changes")
    return tr("Revert changes")


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
    return next((file.path for file in plan.files if file.status != "same"), "")


def done_text(plan: RevertPlan, count: int, undone: RevertPlan | None = None) -> str:
    """Return what was done to so many files; `undone` is the plan of a revert that this one undid."""
    if undone is not None:
        return _undone_text(undone, changed_files_text(count, _first_path(plan)))
    file = escape_hidden_name(_first_path(plan))
    match plan.scope:
        case "hunk" if plan.is_redo:
            return tr("Part of {file} redone.", file=file)
        case "hunk":
            return tr("Part of {file} reverted.", file=file)
        case "rewind":
            return tr.plural(count, "%n file rewound.", "%n files rewound.")
        case _ if plan.is_redo:
            return tr.plural(count, "%n file redone.", "%n files redone.")
    return tr.plural(count, "%n file reverted.", "%n files reverted.")
