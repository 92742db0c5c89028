"""The content of one cache entry in the views that make sense for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from helix_desktop.domain.file_history.diff import FileDiff
from helix_desktop.domain.image import identify_image
from helix_desktop.system.clock import ClockMs, wall_clock_ms
from helix_desktop.ui.cache.rows import CacheRow, PreviewState
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.diff.view import DiffView
from helix_desktop.ui.design.themed import retint
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.design.viewer.json_tree import MAX_JSON_BYTES, JsonNode, may_be_json, parse_json
from helix_desktop.ui.design.viewer.json_view import JsonView
from helix_desktop.ui.design.viewer.picture import ImageView
from helix_desktop.ui.design.viewer.view_switch import ViewSwitch
from helix_desktop.words.numbers import format_size
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator

tr = Translator("Cache")

_MEMORY_KEY = "cache_views"
_WRAPS, _COLUMNS = "wrap", "columns"  # among the choices by what a content is
_GAP_PX = 8
_INLINE_JSON_BYTES = 16 * 1024  # bytes that are parsed without a thread, in less than a millisecond
_IN_TEXT = ("", "text", "hex")  # views that show the rows of the text


class EntryContent(ContentViewer):
    """Shows the bytes of an entry; which view the user chose last is remembered by what the content is."""

    diff_requested = Signal(str, str)
    """The digests of a previous version and of the entry on show: `show_diff` is to show their diff."""

    part_built = Signal(QWidget)
    """A part that takes keys was built, when its view was first needed."""

    min_facts_px = 44  # a word of them

    def __init__(self, start: StartCoroutine, clock: ClockMs = wall_clock_ms) -> None:
        super().__init__(start)
        self._begin, self._clock = start, clock
        self._row: CacheRow | None = None
        self._previous: CacheRow | None = None
        self._has_diff = False
        self._root: JsonNode | None = None
        self._parsed: bytes | None = None  # what the tree is of, or was looked for in
        self._facts = self._view = ""
        self._choices: dict[str, str] = {}  # what a content is, and the view that was chosen for such
        self._save: Callable[[str, bytes], None] = lambda _key, _value: None
        names = {"image": tr("Image"), "text": tr("Text"), "tree": tr("Tree"), "hex": tr("Hex")}
        self.switch = ViewSwitch(tr("View"), {**names, "diff": tr("Diff")})
        self.head.insertWidget(2, self.switch)
        self.head.insertSpacing(3, _GAP_PX)
        self.switch.view_selected.connect(self.choose)
        self.wrap_button.clicked.connect(lambda on: self._choose(_WRAPS, "on" if on else ""))
        self.indexed.connect(self._find_tree)

    @cached_property
    def diff(self) -> DiffView:
        """What differs from the previous version."""
        view = DiffView(self._begin)
        view.set_side_by_side(bool(self._choices.get(_COLUMNS)))
        view.side_by_side_changed.connect(lambda on: self._choose(_COLUMNS, "two" if on else ""))
        self._add_views(view, view.text)
        return view

    @cached_property
    def tree(self) -> JsonView:
        """The content as a tree."""
        view = JsonView()
        self._add_views(view)
        return view

    @cached_property
    def image(self) -> ImageView:
        """The content as a picture."""
        view = ImageView(self._begin)
        self._add_views(view)
        return view

    def _add_views(self, page: QWidget, *parts: QWidget) -> None:
        self.pages.addWidget(page)
        retint(page, self._theme)
        for part in (page, *parts):
            self.part_built.emit(part)

    @property
    def view(self) -> str:
        """Return the name of the view on screen; empty without a content."""
        return self._view

    @property
    def page(self) -> QWidget:
        """Return what shows the content, and takes keys."""
        match self._view:
            case "diff":
                return self.diff.text
            case "tree":
                return self.tree
            case "image":
                return self.image
            case _:
                return self.text

    def remember(self, load: Callable[[str], bytes], save: Callable[[str, bytes], None]) -> None:
        """Take the choices of the last run, and save those of this one."""
        self._save = save
        try:
            self._choices = msgspec.json.decode(load(_MEMORY_KEY) or b"{}", type=dict[str, str])
        except msgspec.DecodeError:
            self._choices = {}
        self.wrap_button.setChecked(bool(self._choices.get(_WRAPS)))

    def show_entry(self, state: PreviewState, name: str, facts: str) -> None:
        """Show an entry; `name` is its file's, for the colors, `facts` stand above it."""
        if self._row is None or self._row.digest != state.row.digest:
            self._view, self._previous, self._has_diff = "", None, False
        if state.previous is not None and self._previous != state.previous:
            self._previous, self._has_diff = state.previous, False
        self._row, self._facts = state.row, facts
        self.show_data(state.data, name, state.error)
        self._update_views()

    def set_facts(self, facts: str) -> None:
        """Show other facts of the same entry: they say how long ago it was stored."""
        self._facts = facts
        self._write_facts(self._diff_facts() if self._view == "diff" else facts)

    def clear(self) -> None:
        """Show nothing."""
        self._row = self._previous = self._root = self._parsed = None
        self._view = ""
        self.show_data(None)
        self._update_views()

    def choose(self, view: str) -> None:
        """Show one of the views that make sense, and remember that for contents like this one."""
        if view not in self._views():
            return
        self._choose(self._kind(), view)
        self._show_view(view)
        self.page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose(self, what: str, choice: str) -> None:
        self._choices = {**self._choices, what: choice}
        self._save(_MEMORY_KEY, msgspec.json.encode(self._choices))

    def show_diff(self, previous: str, digest: str, diff: FileDiff) -> None:
        """Show what differs between two versions, if they still are those on screen."""
        if self._is_pair(previous, digest):
            self._has_diff = True
            self.diff.show_diff(diff, self._name)

    def show_diff_error(self, previous: str, digest: str, text: str) -> None:
        """Say why there is no diff of two versions, if they still are those on screen."""
        if self._is_pair(previous, digest):
            self.diff.show_diff(None)
            self.diff.show_text(text)

    def open_find(self) -> None:
        """Open find in the view on screen; a tree or an image is searched as text."""
        if self._view == "diff":
            self.diff.open_find()
            return
        if self._view not in _IN_TEXT and self._views():
            self._show_view("text" if self.text.content.is_text else "hex")
        super().open_find()

    def find_text(self, text: str) -> None:
        """Mark these words in the text; the keyboard stays where it is."""
        super().find_text(text)
        if self._view not in _IN_TEXT:
            self.find_bar.hide()

    def _is_pair(self, previous: str, digest: str) -> bool:
        if self._row is None or self._previous is None:
            return False
        return (self._previous.digest, self._row.digest) == (previous, digest)

    def _kind(self) -> str:
        if self._root is not None:
            return "json"
        return "text" if self.text.content.is_text else "image" if self._is_image() else "binary"

    def _is_image(self) -> bool:
        return identify_image(self._data or b"", "") is not None

    def _find_tree(self) -> None:
        """Parse what may be JSON, in a thread where it is long."""
        data = self._data
        if data is not None and data is not self._parsed:
            self._root, self._parsed = None, data
            if len(data) <= _INLINE_JSON_BYTES:
                self._show_tree(data, parse_json(data))
            elif may_be_json(data):
                self._begin(self._parse(data), "parse")
        self._update_views()

    async def _parse(self, data: bytes) -> None:
        self._show_tree(data, await asyncio.to_thread(parse_json, data))
        self._update_views()

    def _show_tree(self, data: bytes, root: JsonNode | None) -> None:
        if data is self._parsed and root is not None:
            self.tree.show_root(root)
            self._root = root

    def _views(self) -> tuple[str, ...]:
        """Return the views that make sense for the content on show, the first choice first."""
        if self._row is None or self._data is None or self.text.content.data is not self._data:
            return ()
        previous = ("diff",) if self._previous is not None else ()
        if not self.text.content.is_text:
            return ("image", "hex", *previous) if self._is_image() else ("hex", *previous)
        tree = ("tree",) if self._root is not None else ()
        return ("text", *tree, "hex", *previous)

    def _obstacles(self) -> dict[str, str]:
        """Return why views that a user may look for are not there."""
        obstacles = {}
        if self._previous is None:
            obstacles["diff"] = tr("No previous version of this output is stored.")
        data = self._data or b""
        if len(data) > MAX_JSON_BYTES and self.text.content.is_text and may_be_json(data):
            obstacles["tree"] = tr("Too large for a tree (over {size}).", size=format_size(MAX_JSON_BYTES))
        return obstacles

    def _write_facts(self, facts: str) -> None:
        self.meta.set_text(facts)
        self._shorten_head()

    def _update_views(self) -> None:
        """Show the chosen view, as soon as it is known to make sense."""
        views = self._views()
        if not views:
            self.switch.hide()
            self.pages.setCurrentWidget(self.text)
            self._write_facts(self._facts)
            return
        choice = self._choices.get(self._kind(), "")
        self._show_view(choice if choice in views else self._view or views[0])

    def _show_view(self, view: str) -> None:
        self._view = view
        in_text = view in _IN_TEXT
        self.switch.show()
        self.switch.show_views(self._views(), view, self._obstacles())
        self._show_text_parts(in_text)
        self._write_facts(self._diff_facts() if view == "diff" else self._facts)
        self.pages.setCurrentWidget(self.diff if view == "diff" else self.page)
        if in_text:
            self.set_hex(view == "hex")
        elif view == "diff":
            self._request_diff()
        elif view == "image":
            self.image.show_data(self._data or b"")

    def _request_diff(self) -> None:
        if self._has_diff or self._row is None or self._previous is None:
            return
        self.diff.show_diff(None)
        self.diff.show_text(tr("Comparing…"))
        self.diff_requested.emit(self._previous.digest, self._row.digest)

    def _diff_facts(self) -> str:
        """Return with which version this one is compared."""
        previous = self._previous
        if previous is None:
            return ""
        time = format_relative_time(previous.created_at_ms, self._clock(), with_time=True)
        size = format_size(previous.size)
        return tr("Compared with the previous version · {time} · {size}", time=time, size=size)
