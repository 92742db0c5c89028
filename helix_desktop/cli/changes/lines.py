"""Changes and plans as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helix_desktop.domain.file_history.changes import ChangeKind, RecordedChanges, SessionChanges
from helix_desktop.domain.file_history.revert import PlannedFile, RevertPlan
from helix_desktop.domain.text_format import ellipsize
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.domain.translatable_text import TextContext, TranslatableText
from helix_desktop.domain.unicode_safety import escape_hidden, escape_hidden_name
from helix_desktop.words.file_changes import changed_lines_text
from helix_desktop.words.revert_plans import plan_status_text, problem_text, revert_effect_text
from helix_desktop.words.translation import Translator, translate

tr = Translator("Command line")
text = TextContext("Command line")

_SHORT_ID = 8  # digits of a capture's id
_KINDS: dict[ChangeKind, TranslatableText] = {
    "created": text("created"),
    "deleted": text("deleted"),
    "changed": text("changed"),
    "moved": text("moved"),
    "mode": text("permissions"),
}


def changes_lines(changes: SessionChanges, rows: Sequence[RecordedChanges]) -> Iterator[str]:
    """Yield the captures by turn, with the files of each, and how the files of the session stand."""
    statuses = {file.path: file.status for file in changes.files}
    turn = None
    for row in rows:
        if row.turn != turn:
            turn = row.turn
            yield _turn_line(row)
        yield f"  {_step_line(row)}"
        for change in row.changes:
            name = escape_hidden_name(change.path)
            if change.kind == "moved":
                name = f"{escape_hidden_name(change.moved_from)} -> {name}"
            parts = [f"{translate(_KINDS[change.kind]):<12}{name}"]
            if change.path in row.reverted:
                parts.append(tr("reverted"))
            elif statuses.get(change.path) == "accepted":
                parts.append(tr("accepted"))
            if not change.is_covered:
                parts.append(tr("can't be undone"))
            yield f"    {' · '.join(parts)}"
    if not rows:
        yield tr("No such changes") if changes.captures else tr("No changes yet")


def removed_auto_run_lines(changes: Sequence[AutoRunChange]) -> Iterator[str]:
    """Yield what was taken back after commands of the workspace, with the ids to restore it by."""
    if changes:
        yield tr(
            "Undone after commands, because other programs would run these files by themselves (all sessions)"
        )
    for change in changes:
        why = "; ".join(map(escape_hidden, change.reasons)) or translate(change.effect)
        parts = [f"{change.kept_id[:_SHORT_ID]}  {escape_hidden_name(change.path)}", why]
        yield f"  {' · '.join(filter(None, parts))}"


def _turn_line(row: RecordedChanges) -> str:
    if not row.turn:
        return tr("Before the first message")
    title = escape_hidden_name(ellipsize(row.turn_title))
    return tr("Turn {number}: {title}", number=row.turn, title=title)


def _step_line(row: RecordedChanges) -> str:
    lines = changed_lines_text(row.added_lines, row.removed_lines, row.binary, len(row.changes))
    parts = [
        f"{row.capture_id[:_SHORT_ID]}  {_maker(row)}",
        f"e{row.seq}" if row.seq else "",
        lines,
        tr("found after a crash") if row.is_after_crash else "",
        tr("reverted") if row.is_reverted else "",
        tr("its list isn't in the file history") if row.is_removed else "",
    ]
    return " · ".join(filter(None, parts))


def _maker(row: RecordedChanges) -> str:
    if row.source == "outside":
        return tr("You or another program")
    if row.source == "revert":
        return tr("Redo") if row.is_redo else tr("Revert")
    return escape_hidden_name(ellipsize(f"{row.tool} {row.target}".strip()))


def plan_lines(plan: RevertPlan) -> Iterator[str]:
    """Yield what a plan does, by file."""
    for file in plan.files:
        yield f"{escape_hidden_name(file.path)}: {_planned(file)}"
    if not plan.files:
        yield tr("Nothing to do")


def _planned(file: PlannedFile) -> str:
    if file.status == "ready":
        return revert_effect_text(file)
    if file.status == "blocked":
        return problem_text(file.problem)
    return plan_status_text(file.status)
