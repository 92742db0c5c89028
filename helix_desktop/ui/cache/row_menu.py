"""The menu of the selected entries: everything that keys, buttons and other menus do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from helix_desktop.ui.cache.entry_actions import EntryActions, undamaged, untrashed
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.filter_options import target_option, tool_option
from helix_desktop.ui.cache.rows import CacheRow, CacheState
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_NOT_IN_WINDOW: tuple[CacheState, ...] = ("stored", "in_trash", "damaged")
_REWRITTEN: tuple[CacheState, ...] = ("marker", "noted", "handed_over", "left_out", "index")


def row_menu(actions: EntryActions, bar: CacheFilterBar) -> QMenu:
    """Return what can be done with the selected rows; what does not apply to them is disabled."""
    menu = QMenu(actions.table)
    menu.setAccessibleName(tr("Selected entries"))
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
    menu.addAction(
        tr("Remove a secret…"), partial(actions.redact_requested.emit, actions.table.current_digest())
    )
    return menu


def _single(rows: Sequence[CacheRow]) -> CacheRow | None:
    return rows[0] if len(rows) == 1 else None


def _add(
    menu: QMenu, name: str, text: str, callback: Callable[[], object], enabled: bool = True, key: str = ""
) -> QAction:
    """Add an action and show its key; its name is what tests and screen readers' scripts find it by."""
    shown_key = QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
    action = menu.addAction(f"{text}\t{shown_key}" if key else text, callback)
    action.setObjectName(f"cache-{name}")
    action.setEnabled(enabled)
    return action


def _add_content(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    preview, single, sound = actions.preview, _single(rows), undamaged(rows)
    here = single is not None and preview.digest == single.digest
    _add(menu, "open", tr("Open preview"), actions.table.opened.emit, single is not None, key="Enter")
    quick_look = actions.table.quick_look_requested.emit
    _add(menu, "quick-look", tr("Quick look"), quick_look, single is not None, key="Space")
    recall_all = partial(actions.recall_whole, sound)
    if here and preview.lines[1]:
        _add(menu, "recall-lines", preview.recall_text, preview.recall, bool(sound), key="Ctrl+Enter")
        _add(menu, "recall", tr("Recall whole output"), recall_all, bool(sound))
    else:
        _add(menu, "recall", tr("Recall into message"), recall_all, bool(sound), key="Ctrl+Enter")
    _add(menu, "recall-part", tr("Recall a part…"), actions.recall_part, bool(sound), key="R")
    _add(menu, "find", tr("Find in content"), preview.content.open_find, _is_readable(single), key="Ctrl+F")
    _add(menu, "verify", tr("Verify"), actions.verify, bool(rows), key="V")
    if single is not None:
        export = partial(actions.export_requested.emit, single.digest)
        _add(menu, "export", tr("Save as…"), export, bool(sound), key="Ctrl+S")
    else:
        export = partial(actions.export_all_requested.emit, [row.digest for row in sound])
        _add(menu, "export", tr("Save to folder…"), export, bool(sound))


def _add_copies(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    some, copy_content = bool(rows), actions.preview.content.copy_content
    single = _single(rows)
    _add(menu, "copy-content", tr("Copy content"), copy_content, _is_readable(single), key="Ctrl+Shift+C")
    _add(menu, "copy-hash", tr("Copy digest"), actions.copy_digests, some, key="Ctrl+C")
    _add(menu, "copy-marker", tr("Copy marker"), actions.copy_markers, some)
    _add(
        menu,
        "copy-link",
        tr("Copy link"),
        partial(actions.link_requested.emit, [row.digest for row in rows]),
        some,
    )


def _add_navigation(menu: QMenu, actions: EntryActions, single: CacheRow | None) -> None:
    state, digest = (single.state, single.digest) if single is not None else ("stored", "")
    in_session = state not in (*_NOT_IN_WINDOW, "index")
    _add(menu, "show-chat", tr("Show in chat"), partial(actions.chat_requested.emit, digest), in_session)
    show_in_timeline = partial(actions.timeline_requested.emit, digest)
    _add(menu, "show-timeline", tr("Show in timeline"), show_in_timeline, state in _REWRITTEN)


def _add_filters(menu: QMenu, bar: CacheFilterBar, single: CacheRow | None) -> None:
    if single is None:
        return
    if single.tool and single.tool != "argument":
        option = tool_option(single.tool)
        tool = tr("Show only tool {tool}", tool=option.name.replace("&", "&&"))
        _add(menu, "only-tool", tool, partial(bar.toggle, option))
    if single.target and single.state != "index":
        option = target_option(single.target)
        target = tr("Show only target {target}", target=option.name.replace("&", "&&"))
        _add(menu, "only-path", target, partial(bar.toggle, option))


def _add_retention(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    stored = untrashed(rows)
    trashed = [row.digest for row in rows if row.state == "in_trash"]
    digests, on = [row.digest for row in stored], not all(row.is_pinned for row in stored)
    pin = partial(actions.pin_requested.emit, digests, on)
    _add(menu, "pin", tr("Pin") if on else tr("Unpin"), pin, bool(stored), key="P")
    if trashed:
        _add(menu, "restore", tr("Restore"), partial(actions.restore_requested.emit, trashed))
    if stored or not trashed:
        trash = partial(actions.trash_requested.emit, digests)
        _add(menu, "trash", tr("Move to trash"), trash, bool(stored), key="Del")


def _is_readable(row: CacheRow | None) -> bool:
    """Return True if a content can be read; the preview of one that was just chosen is still on its way."""
    return row is not None and row.state != "damaged"
