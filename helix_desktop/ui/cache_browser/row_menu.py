"""The menu of the selected entries: everything that keys, buttons and other menus do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu

from helix_desktop.context.digest import handle, marker
from helix_desktop.ui.cache_browser.choices import of_path, of_tool
from helix_desktop.ui.cache_browser.filter_bar import FilterBar
from helix_desktop.ui.cache_browser.preview import Preview
from helix_desktop.ui.cache_browser.rows import CacheRow, CacheState
from helix_desktop.ui.cache_browser.table import CacheTable

_ELSEWHERE: tuple[CacheState, ...] = ("stored", "in the trash", "damaged")
_REWRITTEN: tuple[CacheState, ...] = ("marker", "folded", "observed", "handed over", "left out", "index")


def row_menu(table: CacheTable, bar: FilterBar, preview: Preview) -> QMenu:
    """What can be done with the selected rows; what does not apply to them is disabled."""
    menu = QMenu(table)
    menu.setAccessibleName("Selected entries")
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    rows = table.selected_rows()
    one = rows[0] if len(rows) == 1 else None
    _add_content(menu, table, preview, rows, one)
    menu.addSeparator()
    _add_copies(menu, table, preview, rows, one)
    menu.addSeparator()
    _add_places(menu, table, one)
    _add_filters(menu, bar, one)
    menu.addSeparator()
    _add_keeping(menu, table, rows)
    return menu


def _add(menu: QMenu, name: str, text: str, deed: Callable[[], object], enabled: bool = True) -> QAction:
    """Add an action; its name is what tests and screen readers' scripts find it by."""
    action = menu.addAction(text, deed)
    action.setObjectName(f"cache-{name}")
    action.setEnabled(enabled)
    return action


def _add_content(
    menu: QMenu, table: CacheTable, preview: Preview, rows: Sequence[CacheRow], one: CacheRow | None
) -> None:
    here = one is not None and preview.digest == one.digest
    sound = _sound(rows)
    _add(menu, "open", "Open preview\tEnter", table.opened.emit, one is not None)
    whole = partial(_recall, preview, sound)
    if here and preview.lines[1]:
        _add(menu, "recall-lines", f"{preview.recall_text}\tCtrl+Enter", preview.recall, bool(sound))
        _add(menu, "recall", "Recall whole output", whole, bool(sound))
    else:
        _add(menu, "recall", "Recall into chat\tCtrl+Enter", whole, bool(sound))
    _add(menu, "find", "Find in content…\tCtrl+F", preview.content.open_find, _readable(one))
    _add(menu, "verify", "Verify\tV", partial(verify_selected, table, preview), bool(rows))
    export = (
        partial(preview.export_requested.emit, one.digest)
        if one is not None
        else partial(table.export_requested.emit, [row.digest for row in sound])
    )
    _add(menu, "export", "Save as…\tCtrl+S" if one is not None else "Save to folder…", export, bool(sound))


def _add_copies(
    menu: QMenu, table: CacheTable, preview: Preview, rows: Sequence[CacheRow], one: CacheRow | None
) -> None:
    some, digests = bool(rows), [row.digest for row in rows]
    _add(menu, "copy-content", "Copy content\tCtrl+Shift+C", preview.content.copy_content, _readable(one))
    _add(menu, "copy-hash", "Copy SHA-256\tCtrl+C", partial(copy_digests, table, preview), some)
    _add(menu, "copy-marker", "Copy marker", partial(_copy, [marker_of(row) for row in rows]), some)
    _add(menu, "copy-link", "Copy link", partial(table.link_requested.emit, digests), some)


def _add_places(menu: QMenu, table: CacheTable, one: CacheRow | None) -> None:
    state = one.state if one is not None else "stored"
    said = state not in (*_ELSEWHERE, "index")
    for name, text, wanted, enabled in (
        ("show-chat", "Show in chat", table.chat_requested, said),
        ("show-timeline", "Show in timeline", table.timeline_requested, state in _REWRITTEN),
    ):
        _add(menu, name, text, partial(wanted.emit, one.digest if one is not None else ""), enabled)


def _add_filters(menu: QMenu, bar: FilterBar, one: CacheRow | None) -> None:
    offered = []
    if one is not None and one.tool and one.tool != "argument":
        offered.append(of_tool(one.tool))
    if one is not None and one.target and one.state != "index":
        offered.append(of_path(one.target))
    for choice in offered:
        words = choice.words.replace(": ", " ", 1).replace("&", "&&")
        text = f"Only {words[:1].lower()}{words[1:]}"
        _add(menu, f"only-{choice.slot}", text, partial(bar.toggle, choice))


def _add_keeping(menu: QMenu, table: CacheTable, rows: Sequence[CacheRow]) -> None:
    stored = [row for row in rows if row.state != "in the trash"]
    trashed = [row.digest for row in rows if row.state == "in the trash"]
    on = not all(row.kept for row in stored)
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


def _readable(one: CacheRow | None) -> bool:
    """Whether a content can be read; the preview of one that was just chosen is still on its way."""
    return one is not None and one.state != "damaged"


def marker_of(row: CacheRow) -> str:
    """The marker of a content as it stands in the context; of what is no output, its way back alone."""
    if row.state == "index" or row.tool == "argument":
        return handle(row.digest)
    return marker(row.digest, row.tool, row.target, row.size, row.first_line)


def recall_selected(table: CacheTable, preview: Preview) -> None:
    """Recall the selected lines of the preview, or all of each selected content."""
    rows = table.selected_rows()
    if len(rows) > 1:
        _recall(preview, _sound(rows))
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


def _sound(rows: Sequence[CacheRow]) -> list[CacheRow]:
    return [row for row in rows if row.state not in ("damaged", "in the trash")]


def _recall(preview: Preview, rows: Sequence[CacheRow]) -> None:
    for row in rows:
        preview.recall_requested.emit(row.digest, 0, 0)


def _copy(lines: Sequence[str]) -> None:
    QGuiApplication.clipboard().setText("\n".join(lines))
