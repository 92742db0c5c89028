"""The menu of the selected entries: everything that keys, buttons and other menus do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from helix_desktop.ui.cache.entry_actions import (
    EntryActions,
    RecallIntoContext,
    RestoreEntries,
    SaveEntry,
    ShowEntryInChat,
    ShowEntryInTimeline,
    is_readable,
    is_untrashed,
)
from helix_desktop.ui.cache.filter_bar import CacheFilterBar
from helix_desktop.ui.cache.filter_options import target_option, tool_option
from helix_desktop.ui.cache.rows import SAME_STATES, CacheRow, CacheState
from helix_desktop.ui.design.key_names import native_key
from helix_desktop.ui.kit.intents import RemoveSecret
from helix_desktop.words.translation import Translator, translate

tr = Translator("Cache")

_NOT_IN_WINDOW: tuple[CacheState, ...] = ("elsewhere", "in_trash", "damaged")
_REWRITTEN = (*SAME_STATES["cached"], *SAME_STATES["excluded"], *SAME_STATES["handed_over"], "index")


def row_menu(actions: EntryActions, bar: CacheFilterBar) -> QMenu:
    """Return what can be done with the selected rows; what does not apply to them is disabled."""
    menu = QMenu(actions.table)
    menu.setAccessibleName(tr("Selected entries"))
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setToolTipsVisible(True)
    rows = actions.table.selected_rows()
    _add_content(menu, actions, rows)
    menu.addSeparator()
    _add_copies(menu, actions, rows)
    menu.addSeparator()
    _add_navigation(menu, actions, _single(actions, rows))
    _add_filters(menu, bar, _single(actions, rows))
    menu.addSeparator()
    _add_retention(menu, actions, rows)
    menu.addSeparator()
    menu.addAction(
        tr("Remove a secret…"), partial(actions.perform, RemoveSecret(actions.table.current_digest()))
    )
    return menu


def _single(actions: EntryActions, rows: Sequence[CacheRow]) -> CacheRow | None:
    return rows[0] if rows and actions.table.selected_count() == 1 else None


def _add(
    menu: QMenu, name: str, text: str, callback: Callable[[], object], enabled: bool = True, key: str = ""
) -> QAction:
    """Add an action and show its key; its name is what tests and screen readers' scripts find it by."""
    action = menu.addAction(f"{text}\t{native_key(key)}" if key else text, callback)
    action.setObjectName(f"cache-{name}")
    action.setEnabled(enabled)
    return action


def _add_content(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    preview, single = actions.preview, _single(actions, rows)
    key_of = actions.keys.shown_key
    recall_key = key_of("cache_recall")
    sound = actions.count_of(is_readable)
    here = single is not None and preview.digest == single.digest
    _add(menu, "open", tr("Open preview"), actions.table.opened.emit, single is not None, key="Enter")
    if here and preview.lines[1]:
        _add(menu, "recall-lines", preview.recall_text, actions.recall, bool(sound), recall_key)
        _add(menu, "recall", tr("Recall whole output"), actions.recall_whole, bool(sound))
    else:
        words = tr("Recall into message")
        if sound > 1:
            selection = actions.recall_selection
            words = " · ".join(filter(None, (selection.words, selection.cost)))
        _add(menu, "recall", words, actions.recall_whole, bool(sound), recall_key)
    if single is not None:
        why_not = _why_not_in_context(single)
        recall = partial(actions.perform, RecallIntoContext(single.digest))
        action = _add(menu, "recall-context", tr("Recall into context…"), recall, not why_not)
        action.setToolTip(why_not or tr("All of it is sent again where it was. You can undo this."))
    _add(menu, "find", tr("Find in content"), preview.content.open_find, _is_sound(single), key="Ctrl+F")
    _add(menu, "verify", tr("Verify"), actions.verify, True, key=key_of("cache_verify"))
    if actions.table.selected_count() > 1:
        _add(menu, "export", tr("Export…"), actions.export, bool(sound), key=key_of("cache_save"))
    elif single is not None:
        export = partial(actions.perform, SaveEntry(single.digest))
        _add(menu, "export", tr("Save as…"), export, bool(sound), key=key_of("cache_save"))


def _why_not_in_context(row: CacheRow) -> str:
    """Return why a content can't be sent in full again where it stands, and what to do; empty: it can."""
    whole = tr("All of it is in the context.")
    reasons: dict[CacheState, str] = {
        "in_window": whole,
        "pinned": whole,
        "damaged": tr("It's damaged. Run the tool again to restore it."),
        "in_trash": tr("It's in the trash. Restore it first."),
        "elsewhere": tr("It isn't part of this session. Recall it into the message."),
        "index": tr("It lists what was compacted. Recall it into the message."),
    }
    if row.state in SAME_STATES["handed_over"]:
        return tr("It was compacted. Recall it into the message, or undo the compaction.")
    if row.tool == "argument" and row.state not in reasons:
        return tr("It's an argument of a call. Recall it into the message, or undo the caching.")
    return reasons.get(row.state, "")


def _add_copies(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    copy_content, single = actions.preview.content.copy_content, _single(actions, rows)
    copy_key = actions.keys.shown_key("cache_copy")
    _add(menu, "copy-content", tr("Copy content"), copy_content, _is_sound(single), key=copy_key)
    _add(menu, "copy-hash", tr("Copy SHA-256"), actions.copy_digests, key="Ctrl+C")
    _add(menu, "copy-table", tr("Copy as table"), actions.copy_table, bool(rows))
    _add(menu, "copy-marker", tr("Copy marker"), actions.copy_markers, bool(rows))
    _add(menu, "copy-link", tr("Copy link"), actions.copy_links)


def _add_navigation(menu: QMenu, actions: EntryActions, single: CacheRow | None) -> None:
    state, digest = (single.state, single.digest) if single is not None else ("elsewhere", "")
    in_session = state not in (*_NOT_IN_WINDOW, "index")
    _add(menu, "show-chat", tr("Show in chat"), partial(actions.perform, ShowEntryInChat(digest)), in_session)
    show_in_timeline = partial(actions.perform, ShowEntryInTimeline(digest))
    _add(menu, "show-timeline", tr("Show in timeline"), show_in_timeline, state in _REWRITTEN)


def _add_filters(menu: QMenu, bar: CacheFilterBar, single: CacheRow | None) -> None:
    if single is None:
        return
    if single.tool and single.tool != "argument":
        option = tool_option(single.tool)
        tool = tr("Show only {tool}", tool=translate(option.name).replace("&", "&&"))
        _add(menu, "only-tool", tool, partial(bar.toggle, option))
    if single.target and single.state != "index":
        option = target_option(single.target)
        target = tr("Show only target {target}", target=option.name.replace("&", "&&"))
        _add(menu, "only-path", target, partial(bar.toggle, option))


def _add_retention(menu: QMenu, actions: EntryActions, rows: Sequence[CacheRow]) -> None:
    stored, key_of = actions.count_of(is_untrashed) > 0, actions.keys.shown_key
    trashed = tuple(row.digest for row in rows if not is_untrashed(row))
    is_pinned = stored and all(row.is_pinned for row in rows if is_untrashed(row))
    _add(
        menu,
        "pin",
        tr("Unpin") if is_pinned else tr("Pin"),
        actions.toggle_pin,
        stored,
        key=key_of("cache_pin"),
    )
    if trashed:
        _add(menu, "restore", tr("Restore"), partial(actions.perform, RestoreEntries(trashed)))
    if stored or not trashed:
        _add(menu, "trash", tr("Move to trash"), actions.move_to_trash, stored, key=key_of("cache_trash"))


def _is_sound(row: CacheRow | None) -> bool:
    """Return True if a content can be read; the preview of one that was just chosen is still on its way."""
    return row is not None and row.state != "damaged"
