"""The preview below the table: what a cached content is, its text, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from helix_desktop.context.intake.descriptions import number_of_first_line
from helix_desktop.domain.builtin_tools import BUILTIN_TOOLS
from helix_desktop.domain.image import identify_image
from helix_desktop.system.clock import ClockMs
from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import IconButton, PushButton, ViewSwitch
from helix_desktop.ui.design.cards import EmptyState, Pill
from helix_desktop.ui.design.labels import IconLabel, TextLine, show_text
from helix_desktop.ui.design.layout import column
from helix_desktop.ui.design.layout import row as row_of
from helix_desktop.ui.design.minute_clock import MinuteClock
from helix_desktop.ui.design.style.theme import TextRole, Themed, restyle
from helix_desktop.ui.design.tool_icons import tool_icon
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.design.viewer.json_text import MAX_JSON_BYTES, indent_json, may_be_json
from helix_desktop.ui.design.viewer.picture import ImageView
from helix_desktop.ui.kit.commands import PageKeys
from helix_desktop.ui.outputs.rows import CacheRow, CacheState, PreviewState, target_name, tool_name
from helix_desktop.words.call_targets import target_title
from helix_desktop.words.numbers import format_size, format_token_count
from helix_desktop.words.state_words import OUTDATED, explain_outdated
from helix_desktop.words.times import format_relative_time
from helix_desktop.words.translation import Translator, translate

tr = Translator("Outputs")

MAX_RECALLED = 20
"""Contents that are recalled whole without a question."""


class RecallSelection(msgspec.Struct, frozen=True):
    """How many of the selected entries can be recalled, and their tokens (None: not all are known yet)."""

    count: int
    tokens: int | None = None

    @property
    def asks_first(self) -> bool:
        """Return True if they are so many that the user is asked which part of them to recall."""
        return self.count > MAX_RECALLED

    @property
    def words(self) -> str:
        if self.asks_first:
            return tr.plural(self.count, "Recall %n entry into message…", "Recall %n entries into message…")
        return tr.plural(self.count, "Recall %n entry into message", "Recall %n entries into message")

    @property
    def short_words(self) -> str:
        if self.asks_first:
            return tr.plural(self.count, "Recall %n entry…", "Recall %n entries…")
        return tr.plural(self.count, "Recall %n entry", "Recall %n entries")

    @property
    def cost(self) -> str:
        if self.tokens is None:
            return ""
        return tr("≈ {tokens}", tokens=format_token_count(self.tokens))


_COPIED_MS = 1_200  # how long a button says that it has copied
_MARGINS_PX = (18, 10, 14, 14)
_TITLE_PX = 150
"""Room that the title keeps, as far as it needs it, before the tool and then the tokens give way."""
_SHORT_TITLE_PX = 60
"""The same once both have given way, before Recall gets shorter still."""
_IN_CONTEXT: tuple[CacheState, ...] = ("in_window", "pinned")
_COMPACT_STEPS = (
    (True, True, 0, _TITLE_PX),
    (False, True, 0, _TITLE_PX),
    (False, False, 1, _TITLE_PX),
    (False, False, 1, _SHORT_TITLE_PX),
    (False, False, 2, 0),
    (False, False, 3, 0),
)
"""How words give way: if the lesser buttons have theirs, if the tool's name shows, how short Recall is, and
the room of the title.
"""

_MEMORY_KEY = "cache_views"
_WRAPS = "wrap"  # among the choices by what a content is
_GAP_PX = 8
_INLINE_JSON_BYTES = 16 * 1024  # bytes that are indented without a thread
_IN_TEXT = ("", "text", "indented", "hex")  # views that show the rows of the text


class EntryContent(ContentViewer):
    """Shows the bytes of an entry; which view the user chose last is remembered by what the content is."""

    min_facts_px = 44  # a word of them

    def __init__(self, start: StartCoroutine) -> None:
        super().__init__(start)
        self._begin = start
        self._row: CacheRow | None = None
        self._indented: bytes | None = None
        self._parsed: bytes | None = None  # what was indented, or was found to be no JSON
        self._facts = ""
        self.view = ""
        """The name of the view on screen; empty without a content."""
        self._choices: dict[str, str] = {}  # what a content is, and the view that was chosen for such
        self._save: Callable[[str, bytes], None] = lambda _key, _value: None
        names = {"image": tr("Image"), "text": tr("Text"), "indented": tr("Indented"), "hex": tr("Hex")}
        self.switch = ViewSwitch(tr("View"), names)
        self.head.insertWidget(2, self.switch)
        self.head.insertSpacing(3, _GAP_PX)
        self.switch.view_selected.connect(self.choose)
        self.wrap_button.clicked.connect(lambda on: self._choose(_WRAPS, "on" if on else ""))
        self.indexed.connect(self._find_json)

    @cached_property
    def image(self) -> ImageView:
        view = ImageView(self._begin)
        self.pages.addWidget(view)
        return view

    @property
    def page(self) -> QWidget:
        return self.image if self.view == "image" else self.text

    @property
    def is_as_stored(self) -> bool:
        """Return True if the lines on screen are those of the stored text, so that they can be recalled."""
        return self.view == "text"

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
            self.view = ""
        self._row = state.row
        self._facts = facts
        first = number_of_first_line(state.row.tool, state.data or b"")
        self.show_data(state.data, name, state.error, first)
        self._update_views()

    def set_facts(self, facts: str) -> None:
        """Show other facts of the same entry: they say how long ago it was stored."""
        self._facts = facts
        self._write_facts(facts)

    def clear(self) -> None:
        self._row = self._indented = self._parsed = None
        self.view = ""
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

    def open_find(self) -> None:
        """Open find in the view on screen; an image is searched as bytes."""
        if self.view not in _IN_TEXT and self._views():
            self._show_view("text" if self.text.content.is_text else "hex")
        super().open_find()

    def find_text(self, text: str, line: int = 0) -> None:
        super().find_text(text, line)
        if self.view not in _IN_TEXT:
            self.find_bar.hide()

    def _kind(self) -> str:
        if self._indented is not None:
            return "json"
        if self.text.content.is_text:
            return "text"
        return "image" if self._is_image() else "binary"

    def _is_image(self) -> bool:
        return identify_image(self._data or b"", "") is not None

    def _find_json(self) -> None:
        """Indent what may be JSON, in a thread where it is long."""
        data = self._data
        if data is not None and data is not self._parsed:
            self._indented = None
            self._parsed = data
            if len(data) <= _INLINE_JSON_BYTES:
                self._indented = indent_json(data)
            elif may_be_json(data):
                self._begin(self._indent(data), "indent")
        self._update_views()

    async def _indent(self, data: bytes) -> None:
        indented = await asyncio.to_thread(indent_json, data)
        if data is self._parsed:
            self._indented = indented
            self._update_views()

    def _views(self) -> tuple[str, ...]:
        """Return the views that make sense for the content on show, the first choice first."""
        if self._row is None or self._data is None or self.text.content.data is not self._shown_data:
            return ()
        if not self.text.content.is_text:
            return ("image", "hex") if self._is_image() else ("hex",)
        return ("text", "hex") if self._indented is None else ("text", "indented", "hex")

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
        self._show_view(choice if choice in views else self.view or views[0])

    def _show_view(self, view: str) -> None:
        self.view = view
        in_text = view in _IN_TEXT
        data = self._data or b""
        obstacles = {}  # of views that a user may look for
        if len(data) > MAX_JSON_BYTES and self.text.content.is_text and may_be_json(data):
            limit = format_size(MAX_JSON_BYTES)
            obstacles["indented"] = tr("Too large to be indented (over {size}).", size=limit)
        self.switch.show()
        self.switch.show_views(self._views(), view, obstacles)
        self._show_text_parts(in_text)
        self._write_facts(self._facts)
        self.pages.setCurrentWidget(self.page)
        if in_text:
            self.show_form(self._indented if view == "indented" else None)
            self.set_hex(view == "hex")
        elif view == "image":
            self.image.show_data(data)


class Preview(Themed, QWidget):
    matches_found = Signal(str)
    """Words that find has in the text: `show_matches` is to say what recalling their lines costs."""
    matches_requested = Signal()
    """The lines that `show_matches` spoke of are to be recalled."""

    def __init__(self, start: StartCoroutine, clock: ClockMs, keys: PageKeys) -> None:
        super().__init__()
        self._clock = clock
        self._keys = keys
        self._state: PreviewState | None = None
        self.lines = (0, 0)
        """The first and the last selected line, from 1; (0, 0) without a selection."""
        self._selection: RecallSelection | None = None
        self.content = EntryContent(start)
        self._tool_icon = IconLabel("file-text", px=16, color_token="muted")
        self._target = TextLine("", 13, 600)
        self._target.elide = Qt.TextElideMode.ElideMiddle
        self._tool = Pill("", "accent")
        self._is_tool_the_title = False
        self._outdated = Pill(translate(OUTDATED), "warn")
        self._outdated.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)  # for its tooltip
        self._outdated.setToolTip(explain_outdated())
        self._sha = TextLine("", 11, role="faint", mono=True)
        self._shield = IconLabel("shield", px=15, color_token="muted")
        self.verified = TextLine("", 12, role="muted")
        self.verified.is_fixed_width = True
        self.recall_button = PushButton("", "primary", "corner-down-left", name="recall")
        self.export_button = PushButton("", "", "download", name="save_as", words=tr("Save as…"))
        self.matches_button = PushButton("", "link", "corner-down-left", px=13, name="recall_matches")
        self.matches_button.hide()
        self.copy_hash_button = IconButton("copy", tr("Copy SHA-256 (Ctrl+C)"), px=13, edge=22)
        for button in (self.recall_button, self.export_button):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.matches_button.clicked.connect(self.matches_requested)
        below_find = self.content.body.indexOf(self.content.find_bar) + 1
        self.content.body.insertLayout(below_find, row_of(self.matches_button, None, margins=(6, 0, 0, 0)))
        self.content.find_bar.found.connect(self._on_found)
        self.copy_hash_button.clicked.connect(self.copy_digest)
        self._stack = QStackedLayout(self)
        self.empty = EmptyState("database", tr("Select an entry to preview it."))
        content = QWidget(self)
        buttons = (self.export_button, self.recall_button)
        self._head = row_of(self._tool_icon, self._target, self._tool, self._outdated, None, *buttons, gap=9)
        address = row_of(self._sha, self.copy_hash_button, None, self._shield, self.verified, gap=5)
        content.setLayout(column(self._head, address, self.content, margins=_MARGINS_PX, gap=7, stretch=2))
        self._stack.addWidget(self.empty)
        self._stack.addWidget(content)
        self.content.text.lines_selected.connect(self._on_lines_selected)
        self._keys.changed.connect(self._update_tips)
        self._update_tips()
        MinuteClock(self).ticked.connect(self._update_facts)
        self.apply_theme()

    @property
    def digest(self) -> str:
        return self._state.row.digest if self._state else ""

    def show_state(self, state: PreviewState | None) -> None:
        again = state is not None and state.row.digest == self.digest
        self._state = state
        self._stack.setCurrentIndex(0 if state is None else 1)
        if state is None:
            self.content.clear()
            return
        self._show_row(state.row)
        if not again:
            self.lines = (0, 0)
            self.set_verified("shield", "", "muted")
        if state.row.state == "damaged":
            self.set_verified("shield-alert", tr("Damaged"), "error")
        # Only a file's name says which language its text is in.
        builtin = BUILTIN_TOOLS.get(state.row.tool)
        name = state.row.target if builtin is not None and builtin.is_of_file else ""
        self.content.show_entry(state, name, self._facts(state.row))
        self._update_recall_button()

    def update_row(self, row: CacheRow) -> None:
        if self._state is not None and row != self._state.row and row.digest == self.digest:
            self._state = replace(self._state, row=row)
            self._update_facts()
            self._update_recall_button()

    def set_verified(self, icon_name: str, text: str, role: TextRole) -> None:
        """Show whether the bytes match their digest, or nothing yet; `role` is the color's token."""
        self._shield.show_icon(icon_name, role)
        self._shield.setVisible(bool(text))
        self.verified.set_text(text)
        self.verified.set_role(role)

    def show_selection(self, selection: RecallSelection | None) -> None:
        """Let the buttons stand for several selected entries, or for the one on show again."""
        if selection != self._selection:
            self._selection = selection
            self._update_tips()

    def _update_tips(self) -> None:
        save = tr("Save the exact bytes to a file")
        if self._selection is not None:
            save = tr("Save the exact bytes of each to a folder or a zip")
        self.export_button.setToolTip(self._keys.tip("cache_save", save))
        self.export_button.setAccessibleName(self._save_text)
        self._update_recall_button()

    def copy_digest(self) -> None:
        if self._state is not None:
            QGuiApplication.clipboard().setText(self.digest)
            self.copy_hash_button.set_icon("check")
            QTimer.singleShot(
                _COPIED_MS, self.copy_hash_button, lambda: self.copy_hash_button.set_icon("copy")
            )

    def apply_theme(self) -> None:
        super().apply_theme()
        QTimer.singleShot(0, self, self._fit)  # after the parts have taken it too

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.side))
        line = self._theme.accent if self.hasFocus() else self._theme.border
        painter.fillRect(0, 0, self.width(), 2 if self.hasFocus() else 1, QColor(line))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _show_row(self, row: CacheRow) -> None:
        self._tool_icon.show_icon(tool_icon(row.tool), "muted")
        tool = tool_name(row) or tr("Output")
        title = target_title(target_name(row)) or tool
        self._target.set_text(title)
        self.setAccessibleName(tr("Preview of {title}", title=title))
        self._tool.set_text(tool)
        self._is_tool_the_title = title == tool
        self._sha.set_text(f"sha256 {row.digest}")

    def _update_facts(self) -> None:
        if self._state is not None:
            self.content.set_facts(self._facts(self._state.row))

    def _facts(self, row: CacheRow) -> str:
        parts = (
            format_size(row.size),
            tr.plural(row.recalls, "recalled once by the agent", "recalled %n times by the agent")
            if row.recalls
            else "",
            format_relative_time(row.last_used, self._clock(), with_time=True),
            tr("pinned") if row.pinned else "",
        )
        return " · ".join(filter(None, parts))

    def _on_lines_selected(self, first: int, last: int) -> None:
        self.lines = (first, last) if self.content.is_as_stored else (0, 0)
        self._update_recall_button()

    def show_matches(self, words: str) -> None:
        """Offer to recall the lines that find has, in these words; none: there are no such lines."""
        show_text(self.matches_button, words)

    def _on_found(self, words: str) -> None:
        self.matches_button.hide()
        if words and self.content.text.content.is_text and self.content.is_as_stored:
            self.matches_found.emit(words)

    def _update_recall_button(self) -> None:
        if self._state is None:
            return
        restyle(self.recall_button, "kind", "" if self._is_in_context else "primary")
        self.recall_button.apply_theme()
        words, cost = self.recall_texts()
        self.recall_button.setAccessibleName(", ".join(filter(None, (words, cost))))
        adds = tr("Adds it to the next message")
        can_recall = self._state.data is not None
        if self._selection is not None:
            adds = tr("Adds them to the next message")
            can_recall = self._selection.count > 0
        tip = self._keys.tip("cache_recall", adds)
        self.recall_button.setToolTip(f"{_joined(words, cost)}\n{tip}")
        self.recall_button.setEnabled(can_recall)
        self._fit()

    @property
    def _save_text(self) -> str:
        return tr("Save as…") if self._selection is None else tr("Export…")

    @property
    def _is_in_context(self) -> bool:
        """Return True if one entry is shown and all of it is in the context: nothing is missing there."""
        return self._selection is None and self._state is not None and self._state.row.state in _IN_CONTEXT

    def recall_texts(self) -> tuple[str, str]:
        """Return what would be recalled, and what it costs, as text."""
        if self._selection is not None:
            return self._selection.words, self._selection.cost
        tokens = self._state.row.tokens if self._state else 0
        first, last = self.lines
        words = tr("Recall into your message")
        if last:
            tokens = max(1, round(tokens * self.content.text.content.byte_share(first, last)))
            words = tr("Recall line {line}", line=first)
            if last > first:
                words = tr("Recall lines {first}–{last}", first=first, last=last)
        return words, tr("≈ {tokens}", tokens=format_token_count(tokens))

    def _fit(self) -> None:
        """Shorten the buttons' texts, the least needed first, until the title fits."""
        words, cost = self.recall_texts()
        short = tr("Recall") if self._selection is None else self._selection.short_words
        self._outdated.setVisible(self._state is not None and self._state.row.changed_since > 0)
        recall_texts = (_joined(words, cost), _joined(short, cost), short, "")
        for button in (self.export_button, self.recall_button):
            button.ensurePolished()  # what was never on screen would tell a width without its style
        for lesser, tool, recall, title_px in _COMPACT_STEPS:
            self.export_button.setText(self._save_text if lesser else "")
            self._tool.setVisible(tool and not self._is_tool_the_title)
            self.recall_button.setText(recall_texts[recall])
            rest = sum(
                widget.sizeHint().width() + self._head.spacing()
                for widget in (self._tool_icon, self._tool, self._outdated, self.export_button)
                if not widget.isHidden()
            )
            rest += self.recall_button.sizeHint().width() + self._head.spacing()
            title = min(title_px, self._target.sizeHint().width())
            if rest + title <= self.width() - sum(_MARGINS_PX[::2]):
                return


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))
