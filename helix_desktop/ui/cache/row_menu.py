"""The menu of the selected entries: everything that keys, buttons and other menus do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from helix_desktop.ui.cache.entry_actions import EntryActions, undamaged, untrashed
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.filter_options import target_option, tool_option
from helix_desktop.ui.cache.rows import CacheRow, CacheState

_NOT_IN_WINDOW: tuple[CacheState, ...] = ("stored", "in_trash", "damaged")
_REWRITTEN: tuple[CacheState, ...] = ("marker", "folded", "observed", "handed_over", "left_out", "index")


def row_menu(actions: EntryActions, bar: CacheFilterBar) -> QMenu:
    """Return what can be done with the selected rows; what does not apply to them is disabled."""
    menu = QMenu(actions.table)
    menu.setAccessibleName("Selected entries")
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    rows = actions.table.selected_rows()
    _add_content(menu, actions, rows)
    menu.addSeparator()
    _add_copies(menu, actions, rows)
    menu.addSeparator()
    _add_navigation(menu, actions, _single(rows))
    _add_filters(menu, bar, _single(rows))
    menu.addSeparator()
    _add_retention(menu, actions, rows)
    menu.addSeparator()
    menu.addAction("Forget…", partial(actions.redact_requested.emit, actions.table.current_digest()))
    return menu


def _single(rows: Sequence[CacheRow]) -> CacheRow | None:
    return rows[0] if len(rows) == 1 else None


def _add(menu: QMenu, name: str, text: str, callback: Callable[[], object], enabled: bool = True) -> QAction:
    """Add an action; its name is what tests and screen readers' scripts find it by."""
    action = menu.addAction(text, callback)
    action.setObjectName(f"cache-{name}")
    action.setEnabled(enabled)
    return action


def _add_content(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    preview, single, sound = actions.preview, _single(rows), undamaged(rows)
    here = single is not None and preview.digest == single.digest
    _add(menu, "open", "Open preview\tEnter", actions.table.opened.emit, single is not None)
    recall_all = partial(actions.recall_whole, sound)
    if here and preview.lines[1]:
        _add(menu, "recall-lines", f"{preview.recall_text}\tCtrl+Enter", preview.recall, bool(sound))
        _add(menu, "recall", "Recall whole output", recall_all, bool(sound))
    else:
        _add(menu, "recall", "Recall into chat\tCtrl+Enter", recall_all, bool(sound))
    _add(menu, "find", "Find in content…\tCtrl+F", preview.content.open_find, _is_readable(single))
    _add(menu, "verify", "Verify\tV", actions.verify, bool(rows))
    if single is not None:
        export = partial(actions.export_requested.emit, single.digest)
        _add(menu, "export", "Save as…\tCtrl+S", export, bool(sound))
    else:
        export = partial(actions.export_all_requested.emit, [row.digest for row in sound])
        _add(menu, "export", "Save to folder…", export, bool(sound))


def _add_copies(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    some, copy_content = bool(rows), actions.preview.content.copy_content
    _add(menu, "copy-content", "Copy content\tCtrl+Shift+C", copy_content, _is_readable(_single(rows)))
    _add(menu, "copy-hash", "Copy SHA-256\tCtrl+C", actions.copy_digests, some)
    _add(menu, "copy-marker", "Copy marker", actions.copy_markers, some)
    _add(
        menu,
        "copy-link",
        "Copy link",
        partial(actions.link_requested.emit, [row.digest for row in rows]),
        some,
    )


def _add_navigation(menu: QMenu, actions: EntryActions, single: CacheRow | None) -> None:
    state, digest = (single.state, single.digest) if single is not None else ("stored", "")
    in_session = state not in (*_NOT_IN_WINDOW, "index")
    _add(menu, "show-chat", "Show in chat", partial(actions.chat_requested.emit, digest), in_session)
    show_in_timeline = partial(actions.timeline_requested.emit, digest)
    _add(menu, "show-timeline", "Show in timeline", show_in_timeline, state in _REWRITTEN)


def _add_filters(menu: QMenu, bar: CacheFilterBar, single: CacheRow | None) -> None:
    offered = []
    if single is not None and single.tool and single.tool != "argument":
        offered.append(tool_option(single.tool))
    if single is not None and single.target and single.state != "index":
        offered.append(target_option(single.target))
    for choice in offered:
        words = choice.label.replace(": ", " ", 1).replace("&", "&&")
        text = f"Only {words[:1].lower()}{words[1:]}"
        _add(menu, f"only-{choice.slot}", text, partial(bar.toggle, choice))


def _add_retention(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    stored = untrashed(rows)
    trashed = [row.digest for row in rows if row.state == "in_trash"]
    digests, on = [row.digest for row in stored], not all(row.is_pinned for row in stored)
    pin = partial(actions.pin_requested.emit, digests, on)
    _add(menu, "pin", "Pin\tP" if on else "Unpin\tP", pin, bool(stored))
    if trashed:
        _add(menu, "restore", "Restore", partial(actions.restore_requested.emit, trashed))
    if stored or not trashed:
        trash = partial(actions.trash_requested.emit, digests)
        _add(menu, "trash", "Move to trash\tDel", trash, bool(stored))


def _is_readable(row: CacheRow | None) -> bool:
    """Return True if a content can be read; the preview of one that was just chosen is still on its way."""
    return row is not None and row.state != "damaged"
