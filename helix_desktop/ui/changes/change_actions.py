"""What the user does with changes, by menu, key or button."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from helix_desktop.domain.file_history.changes import RecordedChanges, RevertSelection, SessionChanges
from helix_desktop.ui.changes.change_list_view import ChangeListView
from helix_desktop.ui.changes.rows import (
    Entry,
    FileRow,
    agent_capture_ids,
    can_accept,
    can_change,
    capture_selection,
    file_of,
    is_redoable,
    session_selection,
    turn_selection,
)
from helix_desktop.ui.changes.texts import files_text
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys
from helix_desktop.ui.kit.intents import CopyText, Intent, ShowEvent, perform
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

# What entries of the page of changes want.
# fmt: off

class AcceptChanges(Intent, frozen=True):  # no paths: all
    paths: tuple[str, ...] = ()
class RevertChanges(Intent, frozen=True):
    selection: RevertSelection
# of captures that were taken back, or that took something back; no paths: all
class RedoChanges(Intent, frozen=True):
    capture_id: str
    paths: tuple[str, ...]
# a hunk of the diff of one capture, by its number (from 0); one that was taken back is done again
class RevertHunk(Intent, frozen=True):
    file: FileRow
    hunk: int
    is_redo: bool
class OpenInEditor(Intent, frozen=True):
    path: str
class CopyPatch(Intent, frozen=True):
    selection: RevertSelection
class ShowUncoveredPlaces(Intent, frozen=True): ...  # what can't be undone

# fmt: on


class ChangeActions(QObject):
    def __init__(self, change_list: ChangeListView, keys: PageKeys) -> None:
        super().__init__(change_list)
        self.list, self.keys = change_list, keys
        self.changes: SessionChanges | None = None
        """All that the session changed."""

    @property
    def entry(self) -> Entry | None:
        return self.list.selected

    def perform(self, intent: Intent) -> None:
        perform(self.list, intent)

    def accept(self) -> None:
        entry = self.entry
        if entry is not None and can_accept(entry):
            self.perform(AcceptChanges(entry.paths))

    def revert(self) -> None:
        """Ask to take back what is selected; what was taken back already, to do it again."""
        entry = self.entry
        if entry is None or not can_change(entry):
            return
        file = file_of(entry)
        if file is not None and not file.is_covered:
            return
        if entry.status != "reverted":
            self.perform(RevertChanges(entry.selection))
        else:
            self._redo(entry)

    def _redo(self, entry: Entry) -> None:
        """Ask to do again what was taken back: of several captures what the last revert of them took back."""
        file = file_of(entry)
        paths = file.paths if file is not None else ()
        ids = agent_capture_ids(entry.captures)
        if len(ids) == 1:
            self.perform(RedoChanges(ids[0], paths))
            return
        reverts = [
            capture.capture_id
            for capture in (self.changes.captures if self.changes is not None else ())
            if capture.source == "revert"
            and not set(ids).isdisjoint(capture.reverts)
            and _has_standing(capture, paths)
        ]
        if reverts:
            self.perform(RedoChanges(reverts[-1], paths))

    def open_in_editor(self) -> None:
        file = file_of(self.entry)
        if file is not None and file.is_there:
            self.perform(OpenInEditor(file.path))

    def copy_patch(self) -> None:
        if self.entry is not None:
            self.perform(CopyPatch(self.entry.selection))

    def entry_menu(self, entry: Entry) -> QMenu:
        menu, file, key_of = EntryMenu(self.list), file_of(entry), self.keys.shown_key
        is_open = can_accept(entry) and entry.status == "open"
        menu.add("accept", tr("Mark as reviewed"), self.accept, key_of("changes_accept"), is_enabled=is_open)
        can_revert = can_change(entry) and (file is None or file.is_covered)
        name, words = ("redo", tr("Redo")) if is_redoable(entry) else ("revert", tr("Revert"))
        can_revert = can_revert or (is_redoable(entry) and entry.status == "reverted")
        menu.add(name, words, self.revert, key_of("changes_revert"), is_enabled=can_revert)
        if self.changes is not None and file is not None and can_change(entry):
            _add_reverts(menu, file, self.changes)
        menu.addSeparator()
        if file is not None:
            key = key_of("changes_open")
            menu.add("open", tr("Open in editor"), self.open_in_editor, key, is_enabled=file.is_there)
            menu.add("copy-path", tr("Copy path"), CopyText(file.path))
        menu.add("copy-patch", tr("Copy as patch"), self.copy_patch, "Ctrl+C")
        seq = file.last.place if file is not None else entry.captures[0].turn_seq
        menu.add("show-chat", tr("Show in chat"), ShowEvent(seq), is_enabled=bool(seq))
        return menu

    def page_menu(self) -> QMenu:
        menu = EntryMenu(self.list)
        if self.changes is not None:
            everything = session_selection(self.changes)
            words, can_revert = tr("Revert everything in this session"), bool(everything.capture_ids)
            menu.add("accept-all", tr("Mark all as reviewed"), AcceptChanges())
            menu.add("revert-session", words, RevertChanges(everything), is_enabled=can_revert)
            menu.add("copy-all", tr("Copy all as patch"), CopyPatch(everything))
            menu.addSeparator()
            menu.add("coverage", tr("What can't be undone…"), ShowUncoveredPlaces())
        return menu


def _add_reverts(menu: EntryMenu, file: FileRow, changes: SessionChanges) -> None:
    """Offer to take back more than a file: its step, its turn."""
    step, turn = file.last, turn_selection(changes, file.last.turn)
    if len(file.captures) == 1 and len(step.changes) > 1:
        words = tr("Revert this step ({files})", files=files_text(len(step.changes)))
        menu.add("revert-step", words, RevertChanges(capture_selection(step)))
    if len(turn.capture_ids) > 1:
        captures = [capture for capture in changes.captures if capture.turn == step.turn]
        count = len({change.path for capture in captures for change in capture.changes})
        words = tr("Revert this turn ({files})", files=files_text(count))
        menu.add("revert-turn", words, RevertChanges(turn))


def _has_standing(capture: RecordedChanges, paths: tuple[str, ...]) -> bool:
    """Return True if a capture changed one of these paths (none: any), and that was not taken back."""
    standing = {change.path for change in capture.changes} - set(capture.reverted)
    return bool(standing.intersection(paths) if paths else standing)
