"""The dialogs that compare handovers and edit one, with every kind of difference."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from helix_desktop.context.summaries.handover_revision import ComparedSection, compare_handovers, to_fields
from helix_desktop.domain.events.summary import Bullet, Section
from helix_desktop.ui.handover.compare_data import NOTHING, ComparedPair, HandoverChoice
from helix_desktop.ui.handover.compare_dialog import CompareDialog
from helix_desktop.ui.handover.edit_data import EditedField, EditRefusal, RevisionCheck
from helix_desktop.ui.handover.edit_dialog import EditDialog
from helix_desktop.ui.timeline.card_data import PREVIEW
from helix_desktop.words.summary_coverage import MissingText

_BEFORE = (
    Section("Project Background", (Bullet("The chat renders Markdown while it streams.", (4,)),)),
    Section(
        "Technical Details",
        (
            Bullet("`stream.py` parses the whole message again for every token: 18 ms at 40 KB.", (12, 31)),
            Bullet("The cache key is the block's SHA-256, `9f3a1c04`, in /home/mara/code/helix/" + "x" * 90),
            Bullet("Tests run with pytest -q -n 3.", (44,)),
        ),
    ),
    Section("Current Issues", (Bullet("Scrolling stalls in messages above 300 KB.", (52,)),)),
)
_AFTER = (
    Section("Project Background", (Bullet("The chat renders Markdown while it streams.", (4,)),)),
    Section(
        "Technical Details",
        (Bullet("`stream.py` parses the whole message again for every block: 2 ms at 40 KB.", (12, 88)),),
    ),
    Section("Completed Work", (Bullet("Scrolling stalls in messages above 300 KB.", (52,)),)),
    Section("TODO Items", (Bullet("Measure the renderer with images.", (91,)),)),
)


def compared_sections() -> tuple[ComparedSection, ...]:
    """Return every kind of difference."""
    return compare_handovers(_BEFORE, _AFTER)


def compare_dialog(parent: QWidget, reason: str = "") -> CompareDialog:
    """Return the dialog with two handovers, and why nothing can be put back, or nothing."""
    dialog = CompareDialog(parent)
    choices = [
        HandoverChoice(PREVIEW, "As it would be now"),
        HandoverChoice(492, "Handover 3 (active, e492)"),
        HandoverChoice(210, "Handover 1, edited (undone, e210)"),
        HandoverChoice(NOTHING, "Nothing"),
    ]
    dialog.show_choices(choices, 210, 492)
    summary = "2 dropped · 1 changed · 1 moved · 1 added · 1 unchanged"
    dialog.show_pair(ComparedPair(compared_sections(), summary, reason, not reason))
    if not reason:
        dialog.show_notice("Put back into Technical Details.", has_undo=True)
    return dialog


def edit_dialog(parent: QWidget, reason: str = "", *, comparing: bool = False) -> EditDialog:
    """Return the dialog with an edited handover, its differences, or why it cannot be edited."""
    dialog, original = EditDialog(parent), to_fields(_BEFORE)
    fields = [EditedField(title, text, original[title]) for title, text in to_fields(_AFTER).items()]
    dialog.show_handover("Handover 3, edited", fields)
    missing = MissingText(
        "Added below it",
        (
            ("Instructions", "Never push to main"),
            ("Files", "docs/plan.md · src/helix/margin.py"),
            ("Commands", "make bench"),
        ),
    )
    dialog.show_check(RevisionCheck("1.4k tokens (+212)", missing))
    if reason:
        dialog.show_refusal(EditRefusal(reason, "redo", 210, "Redo"))
    if comparing:
        dialog.show_comparison(compared_sections())
    elif not reason:
        dialog.sections[0].editor.insertPlainText("- A sentence more.\n")
        dialog.confirm_discard()
    return dialog
