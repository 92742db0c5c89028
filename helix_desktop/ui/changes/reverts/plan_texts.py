"""Words for plans of reverts: what each is called, how it stands, what the user can choose."""

from __future__ import annotations

from collections.abc import Mapping

from helix_desktop.domain.file_history.revert import PlannedFile, RevertPlan
from helix_desktop.domain.file_history.revert_choice import RevertChoice
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
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
    """Return a choice as a menu says it."""
    return translate(_CHOICES[choice])


def plan_title(plan: RevertPlan) -> str:
    """Return what a dialog about a plan is called."""
    if plan.scope == "redo":
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
    return any(state is not None and state.kind == "folder" for state in (file.present, file.former))


def revert_button_text(plan: RevertPlan, count: int) -> str:
    """Return what the button does to so many files."""
    if plan.scope == "redo":
        return tr.plural(count, "Redo %n file", "Redo %n files")
    return tr.plural(count, "Revert %n file", "Revert %n files")


def done_text(plan: RevertPlan, count: int) -> str:
    """Return what was done to so many files."""
    match plan.scope:
        case "redo":
            return tr.plural(count, "%n file redone.", "%n files redone.")
        case "rewind":
            return tr.plural(count, "%n file rewound.", "%n files rewound.")
        case "hunk":
            return tr("Part of a file reverted.")
    return tr.plural(count, "%n file reverted.", "%n files reverted.")
