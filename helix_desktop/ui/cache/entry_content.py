"""The content of one cache entry in the views that make sense for it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.rows import CacheRow, PreviewState
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.design.viewer.view_switch import ViewSwitch
from helix_desktop.words.numbers import format_size
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_MEMORY_KEY = "cache_views"
_GAP_PX = 8


class EntryContent(ContentViewer):
    """Shows the bytes of an entry; which view the user chose last is remembered by what the content is."""

    diff_requested = Signal(str, str)
    """The digests of a former version and of the entry on show, of which `show_diff` is to show the diff."""

    def __init__(self, start: StartCoroutine, now: ClockMs = wall_clock_ms) -> None:
        super().__init__(start)
        self._now = now
        self._row: CacheRow | None = None
        self._former: CacheRow | None = None
        self._has_diff = False
        self._facts = ""
        self._view = ""
        self._choices: dict[str, str] = {}  # what a content is, and the view that was chosen for such
        self._save: Callable[[str, bytes], None] = lambda _key, _value: None
        self.switch = ViewSwitch(tr("View"), {"text": tr("Text"), "hex": tr("Hex"), "diff": tr("Diff")})
        self.diff = DiffView(start)
        self.pages.addWidget(self.diff)
        self.head.insertWidget(2, self.switch)
        self.head.insertSpacing(3, _GAP_PX)
        self.switch.chosen.connect(self.choose)
        self.indexed.connect(self._update_views)

    @property
    def view(self) -> str:
        """Return the name of the view on screen; empty without a content."""
        return self._view

    def remember(self, load: Callable[[str], bytes], save: Callable[[str, bytes], None]) -> None:
        """Take the choices of the last run, and save those of this one."""
        self._save = save
        try:
            self._choices = msgspec.json.decode(load(_MEMORY_KEY) or b"{}", type=dict[str, str])
        except msgspec.DecodeError:
            self._choices = {}

    def show_entry(self, state: PreviewState, name: str, facts: str) -> None:
        """Show an entry; `name` is its file's, for the colors, `facts` stand above it."""
        if self._row is None or self._row.digest != state.row.digest:
            self._view, self._former, self._has_diff = "", None, False
        if state.former is not None and self._former != state.former:
            self._former, self._has_diff = state.former, False
        self._row, self._facts = state.row, facts
        self.show_data(state.data, name, state.error)
        self._update_views()

    def clear(self) -> None:
        """Show nothing."""
        self._row = self._former = None
        self.show_data(None)
        self._update_views()

    def choose(self, view: str) -> None:
        """Show one of the views that make sense, and remember that for contents like this one."""
        if view not in self._views():
            return
        self._choices = {**self._choices, self._kind(): view}
        self._save(_MEMORY_KEY, msgspec.json.encode(self._choices))
        self._show_view(view)
        self._page().setFocus(Qt.FocusReason.OtherFocusReason)

    def show_diff(self, former: str, digest: str, diff: FileDiff) -> None:
        """Show what differs between two versions, if they still are those on screen."""
        if self._is_pair(former, digest):
            self._has_diff = True
            self.diff.show_diff(diff, self._name)

    def show_diff_error(self, former: str, digest: str, words: str) -> None:
        """Say why there is no diff of two versions, if they still are those on screen."""
        if self._is_pair(former, digest):
            self.diff.show_diff(None)
            self.diff.show_words(words)

    def open_find(self) -> None:
        """Open find in the view on screen."""
        if self._view == "diff":
            self.diff.open_find()
        else:
            super().open_find()

    def find_text(self, text: str) -> None:
        """Mark these words in the text; the keyboard stays where it is."""
        super().find_text(text)
        if self._view == "diff":
            self.find_bar.hide()

    def _is_pair(self, former: str, digest: str) -> bool:
        on_show = self._row.digest if self._row is not None else "", self._former and self._former.digest
        return on_show == (digest, former)

    def _page(self) -> QWidget:
        return self.diff.text if self._view == "diff" else self.text

    def _kind(self) -> str:
        return "text" if self.text.content.is_text else "binary"

    def _views(self) -> tuple[str, ...]:
        """Return the views that make sense for the content on show, the first choice first."""
        if self._row is None or self._data is None or self.text.content.data is not self._data:
            return ()
        former = ("diff",) if self._former is not None else ()
        return ("text", "hex", *former) if self.text.content.is_text else ("hex", *former)

    def _update_views(self) -> None:
        """Show the chosen view, as soon as it is known to make sense."""
        views = self._views()
        if not views:
            self.switch.hide()
            self.pages.setCurrentWidget(self.text)
            self.meta.set_text(self._facts)
            return
        choice = self._choices.get(self._kind(), "")
        self._show_view(choice if choice in views else self._view or views[0])

    def _show_view(self, view: str) -> None:
        self._view = view
        obstacles = (
            {} if self._former is not None else {"diff": tr("No previous version of this output is stored.")}
        )
        self.switch.show()
        self.switch.show_views(self._views(), view, obstacles)
        is_diff = view == "diff"
        self.pages.setCurrentWidget(self.diff if is_diff else self.text)
        self._show_text_parts(not is_diff)
        self.meta.set_text(self._diff_facts() if is_diff else self._facts)
        if is_diff:
            self._request_diff()
        else:
            self.set_hex(view == "hex")

    def _request_diff(self) -> None:
        if self._has_diff or self._row is None or self._former is None:
            return
        self.diff.show_diff(None)
        self.diff.show_words(tr("Comparing…"))
        self.diff_requested.emit(self._former.digest, self._row.digest)

    def _diff_facts(self) -> str:
        """Return with which version this one is compared."""
        former = self._former
        if former is None:
            return ""
        time = format_relative_time(former.created_at_ms, self._now(), with_time=True)
        return tr(
            "Compared with the previous version · {time} · {size}", time=time, size=format_size(former.size)
        )
