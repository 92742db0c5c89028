"""The words for what a revert does to a file, and why it can't."""

from __future__ import annotations

from helix_desktop.domain.file_history.changes import PlannedFile, RevertProblem, RevertStatus
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.words.translation import Translator, translate

tr = Translator("Changes")
text = TextContext("Changes")

_PROBLEMS: dict[RevertProblem, TranslatableText] = {
    "not_covered": text("The previous content isn't saved."),
    "content_removed": text("The previous content isn't in the file history."),
    "folder_gone": text("Its folder is gone."),
    "not_a_folder": text("Its folder is something else now."),
    "not_empty": text("The folder holds other files."),
    "no_permission": text("You don't have permission to change it."),
    "disk_full": text("There isn't enough disk space."),
    "hard_links": text("It has other names (hard links) that would change too."),
    "outside": text("A link leads out of the workspace."),
    "busy": text("A command that may change it is running."),
}
_STATUSES: dict[RevertStatus, TranslatableText] = {
    "conflict": text("Changed since, in conflict"),
    "merge": text("Changed since in other lines"),
    "blocked": text("Can't be reverted"),
    "ready": text("Ready"),
    "same": text("Nothing to do"),
}


def problem_text(problem: RevertProblem) -> str:
    return translate(_PROBLEMS[problem]) if problem in _PROBLEMS else tr("It can't be changed now.")


def plan_status_text(status: RevertStatus) -> str:
    return translate(_STATUSES[status])


def revert_effect_text(file: PlannedFile) -> str:
    if file.former is None:
        return tr("Delete")
    if file.present is None:
        return tr("Create again")
    return tr("Restore")
