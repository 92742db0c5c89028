"""The page of changes and its dialogs in their states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.merge import merge
from helix_desktop.ui.changes.change_groups import ChangesState, LineCounts
from helix_desktop.ui.changes.coverage import UncoveredPlacesDialog
from helix_desktop.ui.changes.page import ChangesPage
from helix_desktop.ui.changes.reverts.merge_dialog import MergeDialog
from helix_desktop.ui.changes.reverts.revert_dialog import PlanDialog
from helix_desktop.ui.changes.reverts.rewind_dialog import RewindDialog
from helix_desktop.ui.design.style.theme import Theme
from tests.support.galleries import changes_samples as samples
from tests.support.galleries.panes_samples import NOW_MS

Shot = Callable[[Theme], QWidget]


def make_page(theme: Theme, state: ChangesState, width: int = 826, height: int = 760) -> ChangesPage:
    """Return the page on screen, the lines of each file counted."""
    page = ChangesPage(clock=lambda: NOW_MS)
    page.resize(width, height)
    page.show()
    samples.show_sample_diffs(page)
    page.set_state(state)
    page.show_counts(samples.line_counts(state))
    return page


def _by_file(theme: Theme, width: int = 826) -> ChangesPage:
    page = make_page(theme, samples.changes_state(), width)
    page.filter_bar.group_by("file")
    return page


def _page(state: ChangesState, theme: Theme) -> ChangesPage:
    return make_page(theme, state)


def make_plan_dialog(parent: QWidget) -> PlanDialog:
    """The dialog about files that were changed since."""
    dialog = PlanDialog(parent, samples.plan())
    dialog.files.show_counts(
        {file.path: LineCounts(4, 3) for file in samples.plan().files if file.status != "blocked"}
    )
    return dialog


def make_merge_dialog(parent: QWidget) -> MergeDialog:
    """The three-way view of a file with a conflict."""
    merged = merge(samples.AFTER, samples.NOW, samples.BEFORE)
    assert merged is not None
    return MergeDialog(parent, "src/helix/ui/chat/stream.py", merged)


def make_rewind_dialog(parent: QWidget) -> RewindDialog:
    """The preview of going back to before a message."""
    messages = {
        9: "Re-render only what changed while the answer streams in",
        25: "Move the parser into its own module, and delete the old one",
    }
    dialog = RewindDialog(parent, messages, 9)
    dialog.show_plan(samples.plan("rewind"))
    dialog.files.show_counts(
        {file.path: LineCounts(4, 3) for file in samples.plan().files if file.status != "blocked"}
    )
    return dialog


def make_uncovered_places_dialog(parent: QWidget) -> UncoveredPlacesDialog:
    dialog = UncoveredPlacesDialog(parent)
    dialog.show_coverage(samples.COVERAGE)
    return dialog


_PARENT: list[QWidget] = []


def _on_screen(make: Callable[[QWidget], QWidget], theme: Theme) -> QWidget:
    _PARENT.append(QWidget())
    widget = make(_PARENT[-1])
    widget.show()
    return widget


SHOTS: dict[str, Shot] = {
    "turns": lambda theme: make_page(theme, samples.changes_state()),
    "turns-wide": lambda theme: make_page(theme, samples.changes_state(), 1300, 860),
    "turns-narrow": lambda theme: make_page(theme, samples.changes_state(), 480, 760),
    "files": _by_file,
    "commit": partial(_page, samples.commit_state()),
    "dialog-plan": partial(_on_screen, make_plan_dialog),
    "dialog-merge": partial(_on_screen, make_merge_dialog),
    "dialog-rewind": partial(_on_screen, make_rewind_dialog),
    "dialog-places": partial(_on_screen, make_uncovered_places_dialog),
    "many": lambda theme: make_page(theme, samples.many_changes()),
    **{
        name.partition(", ")[2]: partial(_page, state)
        for name, state in samples.STATES.items()
        if name.startswith("changes, ") and name != "changes, many"
    },
}
