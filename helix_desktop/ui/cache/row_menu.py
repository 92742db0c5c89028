"""The menu of the selected entries: everything that keys, buttons and other menus do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from helix_desktop.domain.digest import bare_marker, marker
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.filter_options import target_option, tool_option
from helix_desktop.ui.cache.preview import Preview
from helix_desktop.ui.cache.rows import CacheRow, CacheState
from helix_desktop.ui.cache.table import CacheTable

_NOT_IN_WINDOW: tuple[CacheState, ...] = ("stored", "in the trash", "damaged")
_REWRITTEN: tuple[CacheState, ...] = ("marker", "folded", "observed", "handed over", "left out", "index")


def row_menu(table: CacheTable, bar: CacheFilterBar, preview: Preview) -> QMenu:
    """Return what can be done with the selected rows; what does not apply to them is disabled."""
    menu = QMenu(table)
    menu.setAccessibleName("Selected entries")
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    rows = table.selected_rows()
    row = rows[0] if len(rows) == 1 else None
    _add_content(menu, table, preview, rows, row)
    menu.addSeparator()
    _add_copies(menu, table, preview, rows, row)
    menu.addSeparator()
    _add_navigation(menu, table, row)
    _add_filters(menu, bar, row)
    menu.addSeparator()
    _add_retention(menu, table, rows)
    return menu


def _add(menu: QMenu, name: str, text: str, callback: Callable[[], object], enabled: bool = True) -> QAction:
    """Add an action; its name is what tests and screen readers' scripts find it by."""
    action = menu.addAction(text, callback)
    action.setObjectName(f"cache-{name}")
    action.setEnabled(enabled)
    return action


def _add_content(
    menu: QMenu, table: CacheTable, preview: Preview, rows: Sequence[CacheRow], single: CacheRow | None
) -> None:
    here = single is not None and preview.digest == single.digest
    sound = _undamaged(rows)
    _add(menu, "open", "Open preview\tEnter", table.opened.emit, single is not None)
    recall_all = partial(_recall, preview, sound)
    if here and preview.lines[1]:
        _add(menu, "recall-lines", f"{preview.recall_text}\tCtrl+Enter", preview.recall, bool(sound))
        _add(menu, "recall", "Recall whole output", recall_all, bool(sound))
    else:
        _add(menu, "recall", "Recall into chat\tCtrl+Enter", recall_all, bool(sound))
    _add(menu, "find", "Find in content…\tCtrl+F", preview.content.open_find, _is_readable(single))
    _add(menu, "verify", "Verify\tV", partial(verify_selected, table, preview), bool(rows))
    export = (
        partial(preview.export_requested.emit, single.digest)
        if single is not None
        else partial(table.export_requested.emit, [row.digest for row in sound])
    )
    _add(menu, "export", "Save as…\tCtrl+S" if single is not None else "Save to folder…", export, bool(sound))


def _add_copies(
    menu: QMenu, table: CacheTable, preview: Preview, rows: Sequence[CacheRow], single: CacheRow | None
) -> None:
    some, digests = bool(rows), [row.digest for row in rows]
    _add(
        menu, "copy-content", "Copy content\tCtrl+Shift+C", preview.content.copy_content, _is_readable(single)
    )
    _add(menu, "copy-hash", "Copy SHA-256\tCtrl+C", partial(copy_digests, table, preview), some)
    _add(menu, "copy-marker", "Copy marker", partial(_copy, [marker_text(row) for row in rows]), some)
    _add(menu, "copy-link", "Copy link", partial(table.link_requested.emit, digests), some)


def _add_navigation(menu: QMenu, table: CacheTable, single: CacheRow | None) -> None:
    state = single.state if single is not None else "stored"
    in_session = state not in (*_NOT_IN_WINDOW, "index")
    for name, text, signal, enabled in (
        ("show-chat", "Show in chat", table.chat_requested, in_session),
        ("show-timeline", "Show in timeline", table.timeline_requested, state in _REWRITTEN),
    ):
        _add(menu, name, text, partial(signal.emit, single.digest if single is not None else ""), enabled)


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


def _add_retention(menu: QMenu, table: CacheTable, rows: Sequence[CacheRow]) -> None:
    stored = [row for row in rows if row.state != "in the trash"]
    trashed = [row.digest for row in rows if row.state == "in the trash"]
    on = not all(row.is_pinned for row in stored)
    digests = [row.digest for row in stored]
    _add(
        menu, "pin", "Pin\tP" if on else "Unpin\tP", partial(table.pin_requested.emit, digests, on),
        bool(stored),
    )  # fmt: skip
    if trashed:
        _add(menu, "restore", "Restore", partial(table.restore_requested.emit, trashed))
    if stored or not trashed:
        trash = partial(table.trash_requested.emit, digests)
        _add(menu, "trash", "Move to trash\tDel", trash, bool(stored))


def _is_readable(row: CacheRow | None) -> bool:
    """Return True if a content can be read; the preview of one that was just chosen is still on its way."""
    return row is not None and row.state != "damaged"


def marker_text(row: CacheRow) -> str:
    """The marker of a content as it stands in the context; of what is no output, its way back alone."""
    if row.state == "index" or row.tool == "argument":
        return bare_marker(row.digest)
    return marker(row.digest, row.tool, row.target, row.size, row.first_line)


def recall_selected(table: CacheTable, preview: Preview) -> None:
    """Recall the selected lines of the preview, or all of each selected content."""
    rows = table.selected_rows()
    if len(rows) > 1:
        _recall(preview, _undamaged(rows))
    else:
        preview.recall()


def verify_selected(table: CacheTable, preview: Preview) -> None:
    """Ask for the selected contents to be verified."""
    digests = table.selected_digests()
    if len(digests) > 1:
        table.verify_requested.emit(digests)
    else:
        for digest in digests:
            preview.verify_requested.emit(digest)


def copy_digests(table: CacheTable, preview: Preview) -> None:
    """Copy the SHA-256 of each selected content, one per line."""
    digests = table.selected_digests()
    if digests == [preview.digest]:
        preview.copy_digest()  # its button shows it
    elif digests:
        _copy(digests)


def _undamaged(rows: Sequence[CacheRow]) -> list[CacheRow]:
    return [row for row in rows if row.state not in ("damaged", "in the trash")]


def _recall(preview: Preview, rows: Sequence[CacheRow]) -> None:
    for row in rows:
        preview.recall_requested.emit(row.digest, 0, 0)


def _copy(lines: Sequence[str]) -> None:
    QGuiApplication.clipboard().setText("\n".join(lines))
