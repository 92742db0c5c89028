"""The list of a workspace's sessions: its rows and their order, and what mouse and keyboard do in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QModelIndex, QRect, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QLineEdit, QListView, QMenu, QStyle, QStyleOptionViewItem, QWidget

from helix_desktop.domain.store import ListPlace
from helix_desktop.domain.text_format import matches_query
from helix_desktop.ui.design.cards import Tone
from helix_desktop.ui.design.choice_fields import Index
from helix_desktop.ui.design.key_names import pressed_key
from helix_desktop.ui.design.labels import elide_title
from helix_desktop.ui.design.safe_text import plain_tooltip
from helix_desktop.ui.kit import intents
from helix_desktop.ui.kit.boxes import Box, Dot, Icon, PaintState, Pen, Pill, Row, Text, paint_box
from helix_desktop.ui.kit.commands import EntryMenu, PageKeys, SessionCommands
from helix_desktop.ui.kit.intents import Intent, perform
from helix_desktop.ui.rows.choice_list import ROW_ROLE, ChoiceList, RowDelegate
from helix_desktop.ui.window.workspace_badges import STATES, WORKING, WorkState, state_words
from helix_desktop.words.lines import dotted
from helix_desktop.words.numbers import format_integer, format_whole_percent
from helix_desktop.words.times import format_short_time, local_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Window")

ListGroup = Literal["pinned", "today", "yesterday", "earlier", "archived", "trash"]
_FOLDING: tuple[ListGroup, ...] = ("archived", "trash")
"""Groups that are folded until the user unfolds them, the last ones of the list."""

_DATED = ListPlace()


class SessionItem(msgspec.Struct, frozen=True):
    """One session in the list, of a subagent if it has a `parent`, a branch if it has a `branch_of`.

    `versions` are the ids of its versions with their titles, oldest first, where it has several: `id` is the
    one that the row opens, and what the others run or ask shows here.
    `depth` says below how many others it is listed, `below_updated_ms` when one listed below it changed.
    `reason` says why the newest turn failed, until the next one begins, or why a call is repeated.
    `began_as` says that it is a branch or was rewound. `is_trashed` says that it is in the trash, from which
    it can only be restored or deleted.
    `used` is the share of the context window that its next request would fill, also above 1. None: not known.
    """

    id: str
    title: str
    subtitle: str
    updated_ms: int
    used: float | None
    active: bool
    state: WorkState = ""
    reason: str = ""
    parent: str = ""
    created_ms: int = 0
    branch_of: str = ""
    depth: int = 0
    below_updated_ms: int = 0
    place: ListPlace = _DATED
    began_as: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    is_trashed: bool = False

    @property
    def key(self) -> str:
        """Return what stays the same whichever version the row opens."""
        return self.versions[0][0] if self.versions else self.id

    @property
    def all_ids(self) -> tuple[str, ...]:
        """Return the ids of its versions, oldest first; its own if it has one only."""
        return tuple(session_id for session_id, _ in self.versions) or (self.id,)

    @property
    def tree_updated_ms(self) -> int:
        return max(self.updated_ms, self.below_updated_ms)


def row_end(item: SessionItem, when: str) -> tuple[str, Tone | None]:
    """Return the last word of a session's row, the most urgent that there is, and the tone of its pill.

    `when` says when it changed. It is plain text, as what it began as: without a tone.
    """
    look = STATES[item.state]
    words = translate(look.word) if look.tone is not None or item.parent else ""
    return words or ("" if item.parent else item.began_as or when), look.tone


def _list_group(item: SessionItem, now: datetime) -> ListGroup:
    if item.is_trashed:
        return "trash"
    if item.place.archived:
        return "archived"
    return "pinned" if item.place.pinned else day_group(item.tree_updated_ms, now)


def day_group(updated_ms: int, now: datetime) -> ListGroup:
    """Return the day group of a moment (milliseconds since 1970), seen from a local `now`."""
    day = local_time(updated_ms).date()
    if day >= now.date():
        return "today"
    return "yesterday" if day == now.date() - timedelta(days=1) else "earlier"


def nested_sessions(items: Sequence[SessionItem], needle: str = "") -> list[SessionItem]:
    """Return the sessions to show, newest first, each followed by what is below it in the order it began.

    Those are its subagents' sessions and its branches. Subagents show where the user is, where one runs, and
    where the title of one has the words of `needle`; branches always, unless they are in another group
    (`ListPlace.is_below`). Pinned trees come first; archived ones, then those in the trash come last.
    """
    places = {item.id: item.place for item in items}
    above = {item.parent or item.branch_of for item in items}
    trees: list[list[SessionItem]] = []
    below: dict[str, list[SessionItem]] = {"": []}
    for item in items:
        parent = item.parent or item.branch_of
        if not parent and item.id not in above:  # as are most of 10,000
            if not needle or _is_found(item, needle):
                trees.append([item])
        else:
            is_below = parent in places and item.place.is_below(places[parent])
            below.setdefault(parent if item.parent or is_below else "", []).append(item)
    for siblings in below.values():
        siblings.sort(key=lambda item: (not item.parent, item.created_ms, item.title))
    trees += filter(None, _trees(below, needle))
    trees.sort(key=lambda tree: (tree[0].is_trashed, tree[0].place.rank, -tree[0].tree_updated_ms))
    return [item for tree in trees for item in tree]


def _is_found(item: SessionItem, needle: str) -> bool:
    return matches_query(needle, item.title, *(title for _, title in item.versions))


def _trees(below: Mapping[str, Sequence[SessionItem]], needle: str) -> list[list[SessionItem]]:
    """Return the trees of sessions, of any depth, each as the rows that are shown of it."""
    roots = [(root, 0) for root in below.get("", ())]
    descending = list(roots)
    for item, depth in descending:
        descending += [(child, depth + 1) for child in below.get(item.id, ()) if not child.parent]
    trees: dict[str, list[SessionItem]] = {}
    for item, depth in reversed(descending):
        children = below.get(item.id, ())
        branches = [row for child in children if not child.parent for row in trees.pop(child.id)]
        subagents = [child for child in children if child.parent]
        trees[item.id] = _tree(item, depth, subagents, branches, needle)
    return [trees[root.id] for root, _ in roots]


def _tree(
    item: SessionItem,
    depth: int,
    subagents: Sequence[SessionItem],
    branches: Sequence[SessionItem],
    needle: str,
) -> list[SessionItem]:
    """Return a session and what is shown below it; nothing if none of it matches a search."""
    if needle:
        subagents = [child for child in subagents if _is_found(child, needle)]
    elif not (item.active or any(child.active or child.state in WORKING for child in subagents)):
        subagents = []
    rows = [*(replace(child, depth=depth + 1) for child in subagents), *branches]
    if needle and not rows and not _is_found(item, needle):
        return []
    updated = max((row.tree_updated_ms for row in rows if not row.parent), default=0)
    # Most of 10,000 stay as they are: a copy of each would stop the window for a third of a second.
    if depth or updated:
        item = replace(item, depth=depth, below_updated_ms=updated)
    return [item, *rows]


class ListHeading(NamedTuple):
    group: ListGroup
    words: str
    accessible_text: str
    is_folded: bool | None = None  # of archive and trash, where they have a sign for that
    is_running: bool = False  # what is in the archive

    @property
    def key(self) -> str:
        return f"#{self.group}"


def _tooltip(item: SessionItem, when: str) -> str:
    state = "" if item.state == "running" else state_words(item.state)  # the row says it
    times = dotted((when, item.subtitle))
    parts = (item.title, item.began_as, state, times, _usage(item), item.reason)
    return plain_tooltip("\n".join(filter(None, parts)))


def _accessible_text(item: SessionItem) -> str:
    kind = tr("subagent") if item.parent else item.began_as
    place = _place_word(item)
    return ", ".join(filter(None, (kind, item.title, state_words(item.state), item.reason, place)))


def _place_word(item: SessionItem) -> str:
    if item.is_trashed:
        return tr("in the trash")
    if item.place.archived:
        return tr("archived")
    return tr("pinned") if item.place.pinned else ""


def _usage(item: SessionItem) -> str:
    share = item.used
    return "" if share is None else tr("{share} of the context used", share=format_whole_percent(share))


_RENAME_KEY = "F2"

_LINE_PX = 36  # height of a row
_INDENT_PX = 16
_MAX_DEPTH = 4
_MARK_PX = 13  # an icon before the title: archived, branch, subagent


class _TitleDelegate(RowDelegate):
    """Lets a title be written in its row."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        field = QLineEdit(parent)
        field.setMaxLength(1_000)
        field.setAccessibleName(tr("Session title"))
        return field

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        area: QRect = option.rect
        item = index.data(ROW_ROLE)
        indent = _indent(item) if isinstance(item, SessionItem) else 0
        place = area.adjusted(12 + indent, 1, -12, -1)
        editor.setGeometry(place)


def _heading(heading: ListHeading) -> Box:
    words = Text(heading.words, 11, "faint", 600, grow=True, shrink=True)
    if heading.is_folded is None:
        return words
    runs = [Dot("seg_turn", 7)] if heading.is_folded and heading.is_running else []
    return Row([words, *runs, Icon("chevron-right" if heading.is_folded else "chevron-down", "muted", 13)])


def _title(item: SessionItem, when: str) -> Box:
    """Return marks, title, and the row's last word, in a pill if it is urgent."""
    marks = {
        "trash-2": item.is_trashed,
        "archive": item.place.archived and not item.parent and not item.is_trashed,
        "bot": bool(item.parent),
        "split": bool(item.branch_of) and not item.parent,
    }
    icons = [Icon(name, "muted", _MARK_PX) for name, is_shown in marks.items() if is_shown]
    is_muted = bool(item.parent) and not item.active
    look = (12 if item.parent else 13, "muted" if is_muted else "text", 400 if is_muted else 500)
    title = Text(item.title, *look, cut=elide_title, grow=True, shrink=True)
    words, tone = row_end(item, when)
    end: list[Box] = []
    if tone is not None:
        # A soft ground would not stand out from that of the row on screen.
        end = [Pill(words, tone, high=18, fill="surface" if item.active else "")]
    elif words:
        end = [Text(words, 11, "muted" if item.active else "faint")]
    return Row([*icons, title, *end])


def _indent(item: SessionItem) -> int:
    return _INDENT_PX * min(item.depth, _MAX_DEPTH)


class SessionList(ChoiceList[SessionItem | ListHeading]):
    """Click or Enter opens a session, F2 renames it, `keys` have the others.

    Ctrl+Z restores the one that was deleted last. What is typed while a
    session is being opened is for it: see `take_typed_text`.

    Archived sessions are listed while the archive is unfolded, and where a search finds them: click, Enter,
    Space, Left and Right on its heading fold and unfold it. A changed title is performed, never kept here.
    """

    def __init__(self) -> None:
        super().__init__(tr("Sessions"))
        self.keys = PageKeys(SessionCommands, self)
        self._open_id = ""
        self._typed_text: str | None = None  # since a session was chosen, until it takes the keyboard
        self.chosen_id = ""  # of the session that was chosen last
        self._items: Sequence[SessionItem] = ()
        self._nested: Sequence[SessionItem] = ()
        self._needle = ""
        self._unfolded: set[ListGroup] = set()
        self._now = datetime.fromtimestamp(0)
        self.setItemDelegate(_TitleDelegate(self))
        self.setUniformItemSizes(True)  # else 10,000 rows are asked how high they are, which takes 50 ms
        self.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.clicked.connect(self._select)

    def update_time(self, now: datetime) -> None:
        self.show_sessions(self._items, now)

    def arrange(self, items: Sequence[SessionItem]) -> None:
        """Take the sessions that are shown next: for 10,000 that takes as long as to show them."""
        self._items = items
        self._nested = nested_sessions(items, self._needle)

    def show_sessions(self, items: Sequence[SessionItem], now: datetime) -> None:
        """Show these sessions, grouped as seen from a local `now`; one that was just opened is current."""
        if items is not self._items:
            self.arrange(items)
        self._now = now
        self._show()
        self.viewport().update()  # times and counts change also where no row does
        open_id = next((session.id for session in items if session.active), "")
        if open_id != self._open_id:
            self._open_id = open_id
            self.setCurrentIndex(self.index_of(open_id))

    def mark_open(self, session_id: str) -> None:
        """Show a session of the list, which is being opened, as the one on screen."""
        if any(session_id in item.all_ids for item in self._items):
            items = list(self._items)
            for at, item in enumerate(items):
                is_open = session_id in item.all_ids
                if is_open or item.active:  # not the other 10,000
                    items[at] = replace(item, id=session_id if is_open else item.id, active=is_open)
            self.arrange(items)
            self._show()

    def set_filter(self, needle: str) -> None:
        """Show only sessions whose title has every word."""
        self._needle = needle
        self.arrange(self._items)
        self._show()

    def _fold(self, group: ListGroup) -> None:
        """Fold a group, and stay on its heading; a search shows what it finds."""
        self._unfolded.discard(group)
        self._show_heading(group)

    def unfold(self, group: ListGroup) -> None:
        """Unfold a group, with its heading current."""
        self._unfolded.add(group)
        self._show_heading(group)

    def _show_heading(self, group: ListGroup) -> None:
        self._show()
        self.setCurrentIndex(self.index_of_key(f"#{group}"))

    def _show(self) -> None:
        """List headings and sessions; the current row stays that, if it is in sight."""
        current = self.current
        place = self.currentIndex()
        was_visible = self.viewport().rect().intersects(self.visualRect(place))
        rows: list[SessionItem | ListHeading] = []
        heading: ListGroup | None = None
        for item in self._nested:
            # Dates take long to compare. What comes after the first earlier one is earlier, or in the archive
            # or in the trash.
            is_same = item.depth or (heading == "earlier" and not (item.place.archived or item.is_trashed))
            group = heading if is_same else _list_group(item, self._now)
            if group is not None and group != heading:
                heading = group
                rows.append(self._heading(group))
            if heading not in _FOLDING or heading in self._unfolded or self._needle:
                rows.append(item)
        self.set_rows(rows)
        if isinstance(current, SessionItem) and was_visible and not self.currentIndex().isValid():
            index = self.index_of(current.id)
            if not index.isValid():  # else what is now where it was
                above = range(min(place.row(), len(rows) - 1), -1, -1)
                near = next((at for at in above if isinstance(rows[at], SessionItem)), -1)
                index = self.row_model.index(near)
            self.setCurrentIndex(index)

    def _heading(self, group: ListGroup) -> ListHeading:
        words = {
            "pinned": tr("Pinned"),
            "today": tr("Today"),
            "yesterday": tr("Yesterday"),
            "earlier": tr("Earlier"),
            "archived": tr("Archived"),
            "trash": tr("Trash"),
        }[group]
        if group not in _FOLDING:
            return ListHeading(group, words, words)
        put_away = [item for item in self._items if not item.parent and _folding_group(item) == group]
        is_running = any(item.state in WORKING for item in put_away)
        sessions = tr.plural(len(put_away), "%n session", "%n sessions")
        working = tr("working") if is_running else ""
        if self._needle:
            accessible_name = ", ".join(filter(None, (words, sessions, working)))
            return ListHeading(group, words, accessible_name, is_running=is_running)
        is_folded = group not in self._unfolded
        fold = tr("collapsed") if is_folded else tr("expanded")
        accessible_name = ", ".join(filter(None, (words, sessions, fold, working)))
        shown = f"{words} · {format_integer(len(put_away))}"
        return ListHeading(group, shown, accessible_name, is_folded, is_running)

    def sessions(self) -> list[SessionItem]:
        return [row for row in self.rows if isinstance(row, SessionItem)]

    def ids_in_view(self) -> list[str]:
        """Return the ids of the sessions whose rows are on screen now; none while the list is hidden."""
        if not self.isVisible():
            return []
        area = self.viewport().rect()
        top = self.indexAt(area.topLeft())
        bottom = self.indexAt(area.bottomLeft())
        if not top.isValid():
            return []
        end = bottom.row() + 1 if bottom.isValid() else len(self.rows)
        return [row.id for row in self.rows[top.row() : end] if isinstance(row, SessionItem)]

    def session_count(self) -> int:
        return sum(not item.parent for item in self._items)

    def index_of(self, session_id: str) -> QModelIndex:
        for at, row in enumerate(self.rows):
            if isinstance(row, SessionItem) and session_id in row.all_ids:
                return self.row_model.index(at)
        return QModelIndex()

    def key_of(self, row: SessionItem | ListHeading) -> str:
        return row.key

    def data_of(self, at: int, role: int) -> object:
        row = self.rows[at]
        roles = Qt.ItemDataRole
        if isinstance(row, ListHeading):
            words = row.words if role == roles.DisplayRole else None
            return row.accessible_text if role == roles.AccessibleTextRole else words
        if role in (roles.DisplayRole, roles.EditRole):
            return row.title
        if role == roles.AccessibleTextRole:
            return _accessible_text(row)
        if role == roles.AccessibleDescriptionRole:
            return ", ".join(filter(None, (self._when(row), row.subtitle, _usage(row))))
        return _tooltip(row, self._when(row)) if role == roles.ToolTipRole else None

    def flags_of(self, row: SessionItem | ListHeading) -> Qt.ItemFlag:
        """Sessions can be chosen and renamed; headings of archive and trash can be chosen, to fold them."""
        if isinstance(row, ListHeading):
            return super().flags_of(row) if row.group in _FOLDING else Qt.ItemFlag.NoItemFlags
        flags = super().flags_of(row)
        return flags if row.is_trashed else flags | Qt.ItemFlag.ItemIsEditable

    def rename(self, row: SessionItem | ListHeading, words: str) -> None:
        """Ask for a new title; the list shows it when the session says so."""
        if isinstance(row, SessionItem) and words and words != row.title:
            perform(self, intents.RenameSession(words, row.id))

    def height_of(self, row: SessionItem | ListHeading) -> int:
        return _LINE_PX

    def paint_row(self, painter: QPainter, box: QRectF, at: int, state: QStyle.StateFlag) -> None:
        row = self.rows[at]
        if isinstance(row, ListHeading):
            if row.is_folded is not None:
                self._paint_ground(painter, box.adjusted(8, 8, -8, -1), state)
            paint_box(painter, box.adjusted(20, 8, -20, 0), self._theme, _heading(row))
            return
        line = box.adjusted(8 + _indent(row), 1, -8, -1)
        self._paint_ground(painter, line, state, row.active)
        paint_box(painter, line.adjusted(12, 0, -12, 0), self._theme, _title(row, self._when(row)))

    def _paint_ground(
        self, painter: QPainter, box: QRectF, state: QStyle.StateFlag, is_active: bool = False
    ) -> None:
        flag = QStyle.StateFlag
        pen = Pen(painter, self._theme, PaintState(box))
        is_lit = state & (flag.State_MouseOver | flag.State_Selected)
        is_focused = bool(state & flag.State_HasFocus and state & flag.State_KeyboardFocusChange)
        ground = "hover" if is_lit else ""
        if is_active:
            ground = "selection"
        pen.box(box, ground, "accent" if is_focused else "", 9, 2)

    def _when(self, item: SessionItem) -> str:
        return format_short_time(item.updated_ms, self._now)

    def take_typed_text(self) -> str | None:
        """Return what was typed since a session was chosen, and let keys be commands; None: none was."""
        typed = self._typed_text
        self._typed_text = None
        return typed

    def open_first(self) -> None:
        for item in self.sessions()[:1]:
            self._select(self.index_of(item.id))

    def focus_first(self) -> None:
        """Take the focus, at the current or the first session; not where no session is shown."""
        if not self.isVisible():
            return  # else Qt gives it the focus once it appears, away from who types
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if not self.currentIndex().isValid():
            rows = (row for row in self.rows if isinstance(row, SessionItem) or row.group in _FOLDING)
            first = next((row.key for row in rows), "")
            self.setCurrentIndex(self.index_of_key(first))

    def menu_for(self, index: QModelIndex) -> QMenu:
        item: SessionItem = index.data(ROW_ROLE)
        menu = EntryMenu(self)
        key_of = self.keys.shown_key
        wants = _intents(item)
        if item.is_trashed:
            menu.add("restore", tr("Restore"), intents.RestoreSession(item.id))
            trash_key = key_of("session_trash")
            menu.add("delete", tr("Delete permanently…"), wants["session_trash"], trash_key)
            return menu
        menu.add("open", tr("Open", "verb"), lambda: self._select(index))
        menu.add("open_in_window", tr("Open in new window"), intents.OpenInNewWindow(item.id))
        menu.add("rename", tr("Rename…"), lambda: self.edit(index), _RENAME_KEY)
        menu.add("export", tr("Export…"), intents.Export(session_id=item.id))
        if not item.parent:  # a subagent's place goes with the one that it works for
            menu.addSeparator()
            pin = tr("Unpin from top") if item.place.pinned else tr("Pin to top")
            archive = tr("Unarchive") if item.place.archived else tr("Archive")
            menu.add("pin", pin, wants["session_pin"], key_of("session_pin"))
            menu.add("archive", archive, wants["session_archive"], key_of("session_archive"))
            menu.addSeparator()
            menu.add("trash", tr("Move to trash"), wants["session_trash"], key_of("session_trash"))
        return menu

    def event(self, event: QEvent) -> bool:
        """Keep the key that renames the current row from the window, where it renames the open session."""
        is_rename = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_F2
        if is_rename and event.type() == QEvent.Type.ShortcutOverride and self.currentIndex().isValid():
            event.accept()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._typed_text is not None and self._hold(event):
            return
        index = self.currentIndex()
        is_renaming = self.state() is QListView.State.EditingState  # its field passes Enter on
        if event.matches(QKeySequence.StandardKey.Undo) and not is_renaming:
            perform(self, intents.RestoreSession())
            return
        if is_renaming or not index.isValid() or not self._do(event, index):
            super().keyPressEvent(event)

    def _do(self, event: QKeyEvent, index: QModelIndex) -> bool:
        """Do what a key says with a row; return False if it says nothing."""
        item = self.row_at(index)
        is_heading = isinstance(item, ListHeading)
        command = self.keys.command_of(event)
        pressed = pressed_key(event)
        if isinstance(item, ListHeading) and pressed == "Left":
            self._fold(item.group)
        elif isinstance(item, ListHeading) and pressed == "Right":
            self.unfold(item.group)
        elif pressed == "Return" or (is_heading and pressed == "Space"):
            self._select(index)
        elif command and isinstance(item, SessionItem):
            intent = None if item.parent else _intents(item).get(command)
            if intent is not None:
                perform(self, intent)
        else:
            return False
        return True

    def _hold(self, event: QKeyEvent) -> bool:
        """Keep what is typed for the session that is being opened; False for keys that type nothing."""
        text = event.text()
        if event.key() == Qt.Key.Key_Backspace:
            self._typed_text = (self._typed_text or "")[:-1]
        elif text.isprintable():
            self._typed_text = (self._typed_text or "") + text
        return bool(text) or event.key() == Qt.Key.Key_Delete

    def _select(self, index: QModelIndex) -> None:
        item = self.row_at(index)
        if isinstance(item, SessionItem) and item.is_trashed:
            below = self.visualRect(index).bottomLeft()
            self.menu_for(index).popup(self.viewport().mapToGlobal(below))
        elif isinstance(item, SessionItem):
            self._typed_text = ""
            self.chosen_id = item.id
            perform(self, intents.OpenListedSession(item.id))
        elif isinstance(item, ListHeading) and item.is_folded:
            self.unfold(item.group)
        elif isinstance(item, ListHeading) and item.is_folded is not None:
            self._fold(item.group)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        index = self.indexAt(event.pos())
        if isinstance(self.row_at(index), SessionItem):
            self.menu_for(index).popup(event.globalPos())


def _folding_group(item: SessionItem) -> ListGroup | None:
    if item.is_trashed:
        return "trash"
    return "archived" if item.place.archived else None


def _intents(item: SessionItem) -> dict[str, Intent]:
    """Return what the keys of the list want with a session: of one in the trash, to delete it."""
    if item.is_trashed:
        return {"session_trash": intents.DeletePermanently(sessions=item.all_ids)}
    return {
        "session_pin": intents.PinSession(item.id, not item.place.pinned),
        "session_archive": intents.ArchiveSession(item.id, not item.place.archived),
        "session_trash": intents.TrashSession(item.id),
    }
