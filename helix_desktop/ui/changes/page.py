"""The page of changes: the bar above it, the files that a session changed, and their diffs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from helix_desktop.agent.conversation import Conversation
from helix_desktop.agent.open_workspace import OpenWorkspace
from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.file_history.hunks import HunkState
from helix_desktop.domain.tools import AutoRunChange
from helix_desktop.services.git import GitCheckouts
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.changes.change_groups import (
    ChangeGroup,
    ChangesState,
    Contents,
    Entry,
    FileRow,
    GroupedChanges,
    Grouping,
    LineCounts,
    ListSource,
    Obstacle,
    changes_total_text,
    commit_changes,
    file_of,
    group_changes,
    narrow_groups,
    net_rows,
    place_text,
    visible_changes,
)
from helix_desktop.ui.changes.change_list import ChangeDetail, ChangeListView
from helix_desktop.ui.changes.coverage import UncoveredLine, UndoneChangesPanel
from helix_desktop.ui.chat.actions import OpenChanges
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, ViewSwitch, popup_below
from helix_desktop.ui.design.cards import EmptyState, ThemedBackground
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.layout import FLOW_GAP, FlowBox, column, pane, splitter
from helix_desktop.ui.design.layout import row as layout_row
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.kit.commands import ChangesCommands, PageKeys, add_shortcut
from helix_desktop.ui.kit.intents import ApplyRemedy, FocusComposer, ShowCommitChanges, handles, perform
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Changes")

_DEBOUNCE_MS = 150  # after the last key, before the list is filtered
_FIELD_PX = 190
_COUNTER_PX = 640  # width of the bar below which the counter goes


class ChangesFilterBar(QWidget):
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.grouping: Grouping = "turn"
        self.field = SearchField(tr("Filter by path or call"))
        self.field.setObjectName("change_filter")
        self.field.setFixedWidth(_FIELD_PX)
        self.counter = TextLine("", 12, role="muted")
        self.more = IconButton("ellipsis", tr("More actions"), name="changes_more")
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self.changed)
        self.field.textChanged.connect(lambda _: self._debounce.start())
        groupings: dict[Grouping, str] = {"turn": tr("By turn"), "file": tr("By file")}
        sources: dict[ListSource, str] = {"session": tr("Session"), "commit": tr("Since last commit")}
        self._grouping_switch = ViewSwitch(tr("Group by"), groupings, "group-by-")
        self._grouping_switch.view_selected.connect(self.group_by)
        self.source_switch = ViewSwitch(tr("What is listed"), sources, "changes-of-")
        self.source_switch.hide()
        end = pane(layout_row(self.counter, self.more, gap=FLOW_GAP))  # the button never stands alone
        parts = [self.source_switch, self._grouping_switch, self.field, end]
        self._controls = FlowBox(parts, right_from=3)
        self.setLayout(column(self._controls, margins=(18, 12, 12, 10)))

    @property
    def words(self) -> str:
        return self.field.text().strip()

    def group_by(self, grouping: Grouping) -> None:
        self._grouping_switch.mark(grouping)
        if grouping != self.grouping:
            self.grouping = grouping
            self.changed.emit()

    def clear(self) -> None:
        self.field.clear()
        self._debounce.stop()
        self.changed.emit()

    def show_total(self, grouped: GroupedChanges, counts: LineCounts | None) -> None:
        """Say how much changed; None: its lines are not counted yet, or too many."""
        words = changes_total_text(grouped, counts)
        if words != self.counter.text:
            self.counter.set_text(words)
            self._controls.rearrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.counter.setVisible(self.width() >= _COUNTER_PX)

    def show_source(self, source: ListSource, *, has_git: bool) -> None:
        """Show what is listed, and let the user choose where there are two."""
        self.source_switch.mark(source)
        self.counter.set_note(
            tr("Each file as it is now, compared with the last commit.")
            if source == "commit"
            else tr(
                "Each file as it is now, compared with what it was before this session changed it. By turn, "
                "each row shows the lines of its own change, so they may add up to more."
            )
        )
        self.source_switch.setVisible(has_git or source == "commit")
        self._grouping_switch.setVisible(source == "session")
        self._controls.rearrange()


_COUNTED_AT_ONCE = 8  # files whose lines are shown together
_SIDE_BY_SIDE_PX = 680  # width of the page from which the diff stands at the right of the list
_LOW_PX = 520  # height of the page; one that is lower is a low one
_LOW_SIDE_BY_SIDE_PX = 540  # the same width of a low page
_LIST_PX = 330
_DETAIL_PX = 500
_MOST_COUNTED = 500  # files whose lines are counted for a sum
_MOST_LIST_SHARE = 0.4  # of a small page
_LIST_SHARE = 0.28  # of a large page, until the user moves the handle
_WIDEST_LIST_PX = 520  # the most that this share is


class ChangesPage(ThemedBackground):
    """Without `start` it reads nothing, and shows what it is given."""

    _session: Session
    _git: GitCheckouts

    def __init__(
        self,
        start: StartCoroutine | None = None,
        clock: ClockMs = wall_clock_ms,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.state = ChangesState()
        self._line_counts: dict[Contents, LineCounts] = {}
        self._has_own_width = False  # of the list: the user moved the handle
        self._start = start
        self._source: ListSource = "session"
        self._workspace: OpenWorkspace | None = None  # whose coverage is followed
        self._conversation: Conversation | None = None  # whose changes are listed
        self._pending_reveal: tuple[str, str] | None = None
        self._pending_key = ""
        self._unsubscribe: Callable[[], None] = lambda: None
        self._diff_task: asyncio.Task[None] | None = None
        self._count_task: asyncio.Task[None] | None = None
        self.filter_bar = ChangesFilterBar()
        self.keys = PageKeys(ChangesCommands, self)
        self.list = ChangeListView(self.counts_of, self._place_of, clock, self.keys)
        self.detail = ChangeDetail(start, clock, self.keys)
        ages = MinuteClock(self, clock)
        ages.ticked.connect(self.list.viewport().update)
        ages.ticked.connect(self.detail.update_times)
        self.undone = UndoneChangesPanel(self)
        self.coverage = UncoveredLine(self)
        self.empty = EmptyState("diff", "", tr("Go to chat"))
        self.no_match = EmptyState("search", tr("No changes match this filter"), tr("Clear filter"))
        self._lists = QStackedWidget(self)
        for page in (self.list, self.no_match):
            self._lists.addWidget(page)
        self._lists.setMinimumSize(200, 110)
        self.detail.setMinimumWidth(240)
        self.splitter = splitter(self._lists, self.detail, sizes=(_LIST_PX, _DETAIL_PX), handle_px=1)
        self.splitter.setStretchFactor(1, 1)
        layout = column(self.filter_bar, self.splitter, self.empty, self.undone, self.coverage, gap=0)
        layout.setStretch(1, 1)
        layout.setStretch(2, 1)
        self.setLayout(layout)
        self.filter_bar.changed.connect(self._show_groups)
        self.filter_bar.source_switch.view_selected.connect(self._list_source)
        self.splitter.splitterMoved.connect(self._keep_width)
        self.list.entry_selected.connect(self._on_selected)
        self.list.visible_changed.connect(self._count_lines)
        self.list.opened.connect(self.detail.focus_body)
        more = self.filter_bar.more
        more.clicked.connect(lambda: popup_below(self.list.page_menu(), more))
        self.detail.more.clicked.connect(lambda: popup_below(self.list.entry_menu(), self.detail.more))
        self.detail.accept.clicked.connect(self.list.accept)
        self.detail.revert.clicked.connect(self.list.revert)
        self.detail.open.clicked.connect(self.list.open_in_editor)
        self.detail.patch.clicked.connect(self.list.copy_patch)
        self.no_match.button_clicked.connect(self.filter_bar.clear)
        self.empty.button_clicked.connect(self._on_empty_button)
        everywhere = Qt.ShortcutContext.WidgetWithChildrenShortcut
        here = Qt.ShortcutContext.WidgetShortcut
        field = self.filter_bar.field
        add_shortcut(self, "F7", lambda: self._go_to_change(1), everywhere)
        add_shortcut(self, "Shift+F7", lambda: self._go_to_change(-1), everywhere)
        self.keys.add_shortcut("changes_filter", self, field.setFocus, everywhere)
        for key in ("Down", "Return", "Enter"):
            add_shortcut(field, key, self.list.focus_list, here)
        add_shortcut(field, "Escape", field.clear, here)
        self.detail.diff_built.connect(lambda text: add_shortcut(text, "Escape", self.list.setFocus, here))
        self.set_state(self.state)

    @property
    def entry(self) -> Entry | None:
        return self.list.current

    def set_state(self, state: ChangesState) -> None:
        is_same = state == self.state and state.grouped is not None
        self.state = state
        self.list.changes = state.changes
        if is_same:
            return
        if state.grouped is not None:
            self._show_totals()
        self.filter_bar.show_source(state.source, has_git=state.has_git)
        error = error_text(state.undone_error) if state.undone_error is not None else ""
        self.undone.show_changes(state.undone, error)
        self.coverage.show_coverage(state.coverage, state.obstacle)
        self._show_groups()
        self._count_lines()

    def counts_of(self, row: FileRow) -> LineCounts | None:
        """Return the lines that a file gained and lost; None while nobody counted."""
        if row.kind == "same":
            return LineCounts(0, 0)
        if len(row.captures) == 1 and len(row.last.changes) == 1 and row.last.capture_id:
            return LineCounts(row.last.added_lines, row.last.removed_lines, bool(row.last.binary))
        return self._line_counts.get(row.contents)

    def _place_of(self, row: FileRow) -> str:
        """Return where a row changed its file, if others read the same; empty while nobody read the diff."""
        firsts = {place: counts.first for place in row.alike if (counts := self._line_counts.get(place))}
        return place_text(firsts.get(row.contents), firsts.values())

    def show_counts(self, counts: Mapping[Contents, LineCounts]) -> None:
        self._line_counts.update(counts)
        self.list.viewport().update()
        self._show_totals()

    def show_diff(self, row: FileRow, diff: FileDiff, states: Sequence[HunkState] = ()) -> None:
        """Show the diff of a file, if it is still the one that is selected; none named: all hunks stand."""
        if self._is_selected(row):
            self.detail.show_diff(row, diff, states)
        self.show_counts({row.contents: LineCounts.of(diff)})

    def _reveal(self, capture_id: str, path: str) -> bool:
        """Select what a capture did to a path (empty: any), by turn; False if it is not listed."""
        changes = self.state.changes
        captures = changes.captures if changes is not None else ()
        paths = [
            change.path
            for capture in captures
            if capture.capture_id == capture_id
            for change in visible_changes(capture)
        ]
        if not paths:
            return False
        self.filter_bar.group_by("turn")
        self.select(f"step:{capture_id}:{path if path in paths else paths[0]}")
        return True

    def select(self, key: str) -> None:
        """Bring a row into sight and select it, whatever is filtered."""
        if not self.list.select(key):
            self.filter_bar.clear()
            self.list.select(key)

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the disk: what changed outside all calls since the last one isn't known yet."""
        super().showEvent(event)
        if self._start is not None and not event.spontaneous() and self._session.has_conversation:
            self._session.conversation.changes.scan_in_background()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the diff below the list where it has no room beside it; a low page has less room below."""
        super().resizeEvent(event)
        is_wide = self.width() >= (_SIDE_BY_SIDE_PX if self.height() >= _LOW_PX else _LOW_SIDE_BY_SIDE_PX)
        across = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if across != self.splitter.orientation():
            self.splitter.setOrientation(across)
            self.splitter.setStretchFactor(0, 0 if is_wide else 2)
            self.splitter.setStretchFactor(1, 1 if is_wide else 3)
            self.splitter.setSizes([_LIST_PX, _DETAIL_PX] if is_wide else [2 * _DETAIL_PX, 3 * _DETAIL_PX])
        if is_wide and not self._has_own_width:
            least = min(_LIST_PX, round(self.width() * _MOST_LIST_SHARE))
            wide = max(least, min(_WIDEST_LIST_PX, round(self.width() * _LIST_SHARE)))
            self.splitter.setSizes([wide, self.width() - wide])

    def _is_selected(self, row: FileRow) -> bool:
        file = file_of(self.entry)
        return file is not None and (file.key, file.contents) == (row.key, file.contents)

    def _go_to_change(self, by: int) -> None:
        """Go to the next change (1) of the file, or of the next one; -1: to the previous."""
        if not self.detail.go_to_change(by):
            self.list.step(by)

    def _show_groups(self) -> None:
        changes = self.state.changes
        source = self.state.source
        bare = changes is None or not changes.captures or bool(self.state.removed_captures)
        had_focus = self.list.hasFocus() or self.empty.button.hasFocus()
        grouping = self.filter_bar.grouping if source == "session" else "file"
        groups = narrow_groups(self.state.grouped, grouping, self.filter_bar.words)
        self.list.show_groups(groups)
        answer = tr("Trust folder…") if self.state.obstacle == "untrusted" else tr("Go to chat")
        self.empty.set_content(_empty_text(self.state), answer)
        self.empty.setVisible(bare)
        self.filter_bar.setVisible(not bare or self.state.has_git or source == "commit")
        self.splitter.setVisible(not bare)
        self.setFocusProxy(self.empty.button if bare else self.list)
        if had_focus:  # else Qt gives the keyboard to whatever comes next
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._lists.setCurrentWidget(self.list if groups else self.no_match)

    def _keep_width(self) -> None:
        if self.splitter.orientation() == Qt.Orientation.Horizontal:
            self._has_own_width = True

    def _on_empty_button(self) -> None:
        if self.state.obstacle == "untrusted":
            perform(self, ApplyRemedy("trust_folder"))
        else:
            perform(self, FocusComposer())

    def _on_selected(self, entry: Entry | None) -> None:
        self.detail.show_entry(entry)
        self._show_totals()
        self._count_lines()
        file = file_of(entry)
        if file is not None and not self.detail.has_diff and self._start is not None:
            if self._diff_task is not None:
                self._diff_task.cancel()
            self._diff_task = self._session.start(self._show_diff(file), "diff")

    def _count_lines(self) -> None:
        """Count lines that are not yet, of the rows in sight first; of those that left it meanwhile later."""
        rows = {
            row.contents: row
            for row in (*self.list.visible_files(), *self._differing, *self._rows_of_turn)
            if self.counts_of(row) is None or (row.alike and row.contents not in self._line_counts)
        }
        if rows and self._start is not None:
            if self._count_task is not None:
                self._count_task.cancel()
            self._count_task = self._session.start(self.count([*rows.values()]), "count lines")

    @property
    def _differing(self) -> Sequence[FileRow]:
        return _not_too_many(self.state.grouped.differing if self.state.grouped is not None else ())

    @property
    def _rows_of_turn(self) -> Sequence[FileRow]:
        """The changes of the selected turn; none if they are too many, or no turn is selected."""
        entry = self.entry
        if not isinstance(entry, ChangeGroup) or entry.head is not None:
            return ()
        return _not_too_many(net_rows(entry.rows))

    def _show_totals(self) -> None:
        if self.state.grouped is not None:
            self.filter_bar.show_total(self.state.grouped, self._sum(self._differing))
        if self._rows_of_turn:
            self.detail.show_turn_lines(self._sum(self._rows_of_turn))

    def _sum(self, rows: Sequence[FileRow]) -> LineCounts | None:
        counts = [self.counts_of(row) for row in rows]
        counted = [lines for lines in counts if lines is not None]
        if len(counted) < len(counts):
            return None
        return LineCounts(sum(lines.added for lines in counted), sum(lines.removed for lines in counted))

    def follow(self, session: Session) -> None:
        """Show what the session on screen did to the files, from the next `refresh` on."""
        self._session = session
        self._git = session.app.git
        self._git.listen(self._show_git)
        session.changed.connect(self._leave)
        self._leave()
        session.on_refresh_page("changes", self.refresh)

    def _leave(self) -> None:
        """Show another session, or none, from the next `refresh` on."""
        workspace = self._session.workspace if self._session.has_workspace else None
        conversation = self._session.find_conversation()
        if workspace is not self._workspace:
            self._unsubscribe()
            self._unsubscribe = workspace.changes.listen(self._show_coverage) if workspace else lambda: None
            folder = Path(self._session.app.registry.get(workspace.id).path) if workspace else None
            self.list.folder = folder
        if conversation is not self._conversation:
            self.set_state(ChangesState())
            self._source = "session"
            self._pending_key = ""
        self._workspace = workspace
        self._conversation = conversation

    async def refresh(self) -> None:
        if not self._session.has_conversation:
            return
        workspace = self._session.workspace
        conversation = self._session.conversation
        source = self._source
        if source == "commit":
            changes = commit_changes(await self._git.changes(workspace.id).list())
        else:
            changes = await workspace.changes.of_session(conversation.session.id)
        undone, undone_error = await _undone_changes(workspace)
        grouped = self.state.grouped
        if grouped is None or grouped.changes != changes:
            grouped = await asyncio.to_thread(group_changes, changes)
        if self._session.shows(conversation) and source == self._source:
            self.set_state(
                ChangesState(
                    grouped,
                    workspace.changes.coverage,
                    _obstacle(workspace),
                    self._git.status(workspace.id) is not None,
                    source,
                    undone,
                    undone_error,
                )
            )
            if self._pending_key:
                self.list.select(self._pending_key)
                self._pending_key = ""
            if self._pending_reveal is not None and self._reveal(*self._pending_reveal):
                self._pending_reveal = None

    @handles(ShowCommitChanges)
    def show_commit(self) -> None:
        self._source = "commit"
        self._session.show_page("changes")

    def select_soon(self, key: str) -> None:
        """Select a row by its key at the next `refresh`, if it is there then."""
        self._pending_key = key

    def _list_source(self, source: ListSource) -> None:
        is_other = source != self._source
        self._source = source
        if is_other and self._start is not None:
            self._session.start(self.refresh(), "changes")

    async def _diff(self, workspace: OpenWorkspace, row: FileRow) -> FileDiff:
        if row.can_change:
            return await workspace.changes.diff(row.before, row.after)
        return await self._git.changes(workspace.id).diff(row.path, row.before, row.after)

    @handles(OpenChanges)
    def reveal(self, capture_id: str, path: str) -> None:
        """Show what a capture did to a path (empty: any) selected."""
        self._pending_reveal = (capture_id, path)
        self._source = "session"
        self._session.show_page("changes")

    def _show_coverage(self) -> None:
        coverage = self._session.workspace.changes.coverage
        self.state = replace(self.state, coverage=coverage)
        self.coverage.show_coverage(coverage, self.state.obstacle)
        if self.empty.isVisible():
            self._show_groups()

    def _show_git(self, workspace_id: str) -> None:
        """Offer what differs from the last commit once git, which is read in the background, is known."""
        if self.state.grouped is not None and self._session.workspace.id == workspace_id:
            has_git = self._git.status(workspace_id) is not None
            self.set_state(replace(self.state, has_git=has_git))

    async def _show_diff(self, row: FileRow) -> None:
        workspace = self._session.workspace
        try:
            diff = await self._diff(workspace, row)
            states = await workspace.changes.hunk_states(diff, row.present) if row.can_revert_hunks else ()
        except HelixError as error:
            if self._is_selected(row):
                self.detail.show_text(error_text(error))
            return
        if self._session.shows(workspace):
            self.show_diff(row, diff, states)

    async def count(self, rows: Sequence[FileRow]) -> None:
        """Count the lines of files, and show them, some at a time."""
        workspace = self._session.workspace
        counts: dict[Contents, LineCounts] = {}
        for file in rows:
            try:
                diff = await self._diff(workspace, file)
                counts[file.contents] = LineCounts.of(diff)
            except HelixError:  # its diff says why, where the user opens it
                counts[file.contents] = LineCounts(0, 0)
            if not self._session.shows(workspace):  # it was closed, or another one is on screen
                return
            if len(counts) >= _COUNTED_AT_ONCE:
                self.show_counts(counts)
                counts = {}
        self.show_counts(counts)


async def _undone_changes(workspace: OpenWorkspace) -> tuple[tuple[AutoRunChange, ...], HelixError | None]:
    """Return what is undone after commands, or why that can't be read: the rest is shown all the same."""
    store = workspace.services.auto_run
    try:
        changes = await store.auto_run_changes() if store is not None else ()
    except HelixError as error:
        return (), error
    return tuple(change for change in changes if change.outcome == "removed"), None


def _obstacle(workspace: OpenWorkspace) -> Obstacle:
    if workspace.is_read_only and not workspace.changes.is_available:
        return "missing"
    return "" if workspace.is_trusted() else "untrusted"


def _not_too_many(rows: Sequence[FileRow]) -> Sequence[FileRow]:
    return rows if len(rows) <= _MOST_COUNTED else ()


def _empty_text(state: ChangesState) -> str:
    match state.obstacle:
        case "untrusted":
            return tr("This folder isn't trusted, so the agent can't change files here.")
        case "missing":
            return tr("The folder of this workspace is missing. Its changes can't be read or undone.")
    if state.source == "commit":
        return tr("Nothing differs from the last commit.")
    if count := state.removed_captures:
        return tr.plural(
            count,
            "%n step of this session changed files. The file history of this computer doesn't have them: the "
            "session was imported, or they were removed.",
            "%n steps of this session changed files. The file history of this computer doesn't have them: "
            "the session was imported, or they were removed.",
        )
    coverage = state.coverage
    if not coverage.is_complete and not coverage.error:
        if coverage.is_paused:
            return tr("Copying files is paused. Changes to files that aren't copied yet can't be undone.")
        return tr(
            "Your files are being copied, so that every change can be undone. Changes appear here as the "
            "agent works."
        )
    return tr("No files changed yet. Files that the agent or its commands change appear here.")
