"""The menus of the page of changes: of a row, and of all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from helix_desktop.domain.file_history.changes import RevertSelection, SessionChanges
from helix_desktop.ui.changes.change_actions import (
    AcceptChanges,
    ChangeActions,
    CopyPatch,
    RevertChanges,
    ShowUncoveredPlaces,
)
from helix_desktop.ui.changes.rows import (
    Entry,
    FileRow,
    can_accept,
    can_change,
    capture_selection,
    file_of,
    is_redoable,
    session_selection,
    turn_selection,
)
from helix_desktop.ui.changes.texts import files_text
from helix_desktop.ui.kit.intents import ShowEvent
from helix_desktop.words.translation import Translator

tr = Translator("Changes")


def entry_menu(actions: ChangeActions, entry: Entry) -> QMenu:
    menu = _menu(actions.list)
    file = file_of(entry)
    is_own, key_of = can_change(entry), actions.keys.shown_key
    is_open = can_accept(entry) and entry.status == "open"
    _add(menu, "accept", tr("Accept"), actions.accept, is_open, key_of("changes_accept"))
    can_revert = is_own and (file is None or file.is_covered)
    if is_redoable(entry):
        is_reverted = entry.status == "reverted"
        _add(menu, "redo", tr("Redo"), actions.revert, is_reverted or can_revert, key_of("changes_revert"))
    else:
        _add(menu, "revert", tr("Revert"), actions.revert, can_revert, key_of("changes_revert"))
    changes = actions.changes
    if changes is not None and file is not None and is_own:
        _add_reverts(menu, actions, file, changes)
    menu.addSeparator()
    if file is not None:
        can_open = file.after is not None and file.after.kind == "file"
        _add(menu, "open", tr("Open in editor"), actions.open_in_editor, can_open, key_of("changes_open"))
        _add(menu, "copy-path", tr("Copy path"), partial(_copy, file.path))
    _add(menu, "copy-patch", tr("Copy as patch"), actions.copy_patch, True, "Ctrl+C")
    seq = file.last.place if file is not None else first_seq(entry)
    _add(menu, "show-chat", tr("Show in chat"), partial(actions.perform, ShowEvent(seq)), bool(seq))
    return menu


def page_menu(actions: ChangeActions) -> QMenu:
    menu, changes = _menu(actions.list), actions.changes
    if changes is None:
        return menu
    selection = session_selection(changes)
    _add(menu, "accept-all", tr("Accept all"), partial(actions.perform, AcceptChanges()))
    _add(
        menu,
        "revert-session",
        tr("Revert everything in this session"),
        partial(actions.perform, RevertChanges(selection)),
        bool(selection.capture_ids),
    )
    _add(menu, "copy-all", tr("Copy all as patch"), partial(actions.perform, CopyPatch(selection)))
    menu.addSeparator()
    _add(menu, "coverage", tr("What can't be undone…"), partial(actions.perform, ShowUncoveredPlaces()))
    return menu


def _add_reverts(menu: QMenu, actions: ChangeActions, file: FileRow, changes: SessionChanges) -> None:
    """Offer to take back more than a file: its capture, its turn, all."""
    capture = file.last
    turn = turn_selection(changes, capture.turn)
    turn_files = {
        change.path for other in changes.captures if other.turn == capture.turn for change in other.changes
    }
    wider: list[tuple[str, str, RevertSelection]] = []
    if len(file.captures) == 1 and len(capture.changes) > 1:
        words = tr("Revert this step ({files})", files=files_text(len(capture.changes)))
        wider.append(("revert-step", words, capture_selection(capture)))
    if len(turn.capture_ids) > 1:
        words = tr("Revert this turn ({files})", files=files_text(len(turn_files)))
        wider.append(("revert-turn", words, turn))
    for name, words, selection in wider:
        _add(menu, name, words, partial(actions.perform, RevertChanges(selection)))


def first_seq(entry: Entry) -> int:
    """Return the event that an entry begins with: of a turn the user's message."""
    return entry.last.place if isinstance(entry, FileRow) else entry.first.turn_seq


def _menu(parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return menu


def _add(
    menu: QMenu, name: str, text: str, callback: Callable[[], object], enabled: bool = True, keys: str = ""
) -> None:
    action = QAction("\t".join(filter(None, (text, keys))), menu)
    action.setObjectName(name)
    action.setEnabled(enabled)
    action.triggered.connect(lambda _=False: callback())
    menu.addAction(action)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
