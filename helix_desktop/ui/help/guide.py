"""The guide: the Markdown pages of resources/guide in a window, with their names at the left and a search.

`README.md` there is the table of contents: its headings are groups, its links are pages. It needs no network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from markdown_it import MarkdownIt
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import QTextBrowser, QTextEdit, QWidget

from helix_desktop.config.paths import resources_dir
from helix_desktop.ui.design.buttons import IconButton, PageName, PageNames, page_side
from helix_desktop.ui.design.focus import FocusRing
from helix_desktop.ui.design.key_names import native_key, tip_with_key
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout import VerticalScrollArea, column, row
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.fonts import MONO_FAMILY, scaled, ui_font
from helix_desktop.ui.design.style.stylesheet import read_style
from helix_desktop.ui.design.style.theme import Theme, Themed, set_style_sheet
from helix_desktop.ui.design.text_fields import SearchField
from helix_desktop.ui.design.viewer.content_viewer import FindShortcut
from helix_desktop.words.translation import Translator

tr = Translator("Guide")

KEYS_TOPIC = "keys"
"""The page whose table lists the keys that commands have now; the file has those of a new installation."""

_SIZE = (960, 800)
_MIN_SIZE = (560, 420)
_TEXT_PX = 14
_CODE_PX = 12
_COLUMN_PX = 640
_MARGIN_PX = 28
_ICONS = {
    "start": "play",
    "context": "layers",
    "cached": "archive",
    "compacted": "book-open",
    "undo": "undo-2",
    "policy": "filter",
    "survives": "gauge",
    "messages": "at-sign",
    "work": "message-square",
    "commands": "square-terminal",
    "changes": "diff",
    "permissions": "shield",
    "instructions": "info",
    "skills": "sparkles",
    "models": "cpu",
    "mcp": "plug",
    "data": "database",
    "other_agents": "download",
    "search": "search",
    "command_line": "terminal",
    "keys": "keyboard",
    "edge_cases": "circle-alert",
}
_GROUP = re.compile(r"^## (.+)$")
_ENTRY = re.compile(r"^- \[(.+?)\]\((\w+)\.md\)")
_COLORS = ("muted", "accent_text", "inline_code", "code_surface", "border", "border_strong")


def _read(name: str) -> str:
    return (resources_dir() / "guide" / f"{name}.md").read_text(encoding="utf-8")


@cache
def guide_contents() -> tuple[tuple[str, tuple[PageName, ...]], ...]:
    groups: list[tuple[str, list[PageName]]] = []
    for line in _read("README").splitlines():
        if group := _GROUP.match(line):
            groups.append((group[1], []))
        elif entry := _ENTRY.match(line):
            groups[-1][1].append(PageName(entry[2], entry[1], _ICONS.get(entry[2], "file-text")))
    return tuple((heading, tuple(pages)) for heading, pages in groups)


def guide_pages() -> dict[str, PageName]:
    return {page.key: page for _, pages in guide_contents() for page in pages}


def shortcut_table(shortcuts: Sequence[tuple[str, str]]) -> str:
    """Return a Markdown table of commands and their keys; several keys of one are parted by ", "."""
    rows = (f"| {words} | {', '.join(f'`{key}`' for key in keys.split(', '))} |" for words, keys in shortcuts)
    return "\n".join(("| Command | Keys |", "|---|---|", *rows)) + "\n"


class GuideDialog(Themed, SizedDialog):
    """Not modal, so that it can stay open beside the work."""

    def __init__(self, parent: QWidget, shortcuts: Sequence[tuple[str, str]]) -> None:
        """`shortcuts` are pairs of a command's words and its keys, several parted by ", "."""
        super().__init__(parent, tr("Guide"), _SIZE, _MIN_SIZE, modal=False)
        self._shortcuts = tuple(shortcuts)
        self._titles = {topic: page.title for topic, page in guide_pages().items()}
        self.topic = next(iter(self._titles))
        self._back: list[tuple[str, int]] = []  # topics and how far they were scrolled, pixels
        self._forward: list[tuple[str, int]] = []
        self._plain_texts: dict[str, str] = {}
        self._found: list[str] = []  # topics that have the searched words
        self._hits: list[QTextCursor] = []  # of these words on the page that is shown
        self._hit = 0

        self.browser = _Page(self._go_back, self._go_forward)
        self.browser.anchorClicked.connect(self._follow)
        self.search = SearchField(tr("Search the guide"))
        self.search.textChanged.connect(self._find)
        self.no_results = label(tr("No results"), "muted")
        self.no_results.hide()
        back, forward = (
            QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
            for key in (QKeySequence.StandardKey.Back, QKeySequence.StandardKey.Forward)
        )
        tips = tip_with_key(tr("Back"), back), tip_with_key(tr("Forward"), forward)
        self.back = IconButton("arrow-left", tips[0], px=15, edge=28, on_click=self._go_back)
        self.forward = IconButton("arrow-right", tips[1], px=15, edge=28, on_click=self._go_forward)
        self._names = PageNames(guide_contents())
        self._names.selected.connect(self._go_to)
        self._names_area = VerticalScrollArea(self._names)
        self._names_area.verticalScrollBar().rangeChanged.connect(self._reveal_name)
        for part in (self._names_area.viewport(), self._names):
            part.setAutoFillBackground(False)  # the frame around them has a color of its own
        head = row(label(tr("Guide"), "title"), None, self.back, self.forward, gap=2)
        side = page_side("page_list", head, 6, self.search, self.no_results, 10, self._names_area)
        self.setLayout(column(row(side, self.browser, gap=0, stretch=1)))
        FindShortcut(self, self._focus_search)
        FindShortcut(self.browser, self._focus_search)
        self._show(self.topic)

    def show_shortcuts(self, shortcuts: Sequence[tuple[str, str]]) -> None:
        self._shortcuts = tuple(shortcuts)
        self._plain_texts.pop(KEYS_TOPIC, None)
        if self.topic == KEYS_TOPIC:
            self._refresh()

    def show_topic(self, topic: str) -> None:
        """Show one topic; an unknown one shows the first."""
        self.search.clear()
        topic = topic if topic in self._titles else next(iter(self._titles))
        if self.isHidden():  # what was read when it was open last is no way back from here
            self._back.clear()
            self._forward.clear()
            self._show(topic)
        else:
            self._go_to(topic)
        self.show()
        self.raise_()
        self.activateWindow()
        if self.is_by_keyboard:
            self._names.current_button.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def apply_theme(self) -> None:
        super().apply_theme()
        self._refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        is_searching = bool(self.search.text())
        if is_searching and key == Qt.Key.Key_Escape:
            self.search.clear()
        elif key == Qt.Key.Key_F3 or (
            key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.search.hasFocus()
        ):
            self._step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.matches(QKeySequence.StandardKey.Back):
            self._go_back()
        elif event.matches(QKeySequence.StandardKey.Forward):
            self._go_forward()
        else:
            super().keyPressEvent(event)

    def _markdown(self, topic: str) -> str:
        text = _read(topic)
        if topic == KEYS_TOPIC:
            native = [
                (words, ", ".join(map(native_key, keys.split(", ")))) for words, keys in self._shortcuts
            ]
            text = text[: text.index("\n| ")] + "\n" + shortcut_table(native)
        return text

    def _show(self, topic: str, scrolled: int = 0) -> None:
        if self.search.text() and topic not in self._found:
            self.search.clear()  # a link leads out of what was found
        self.topic = topic
        self.browser.document().setDefaultStyleSheet(_style(self._theme))
        self.browser.setHtml(_html(self._markdown(topic)))
        self.browser.setAccessibleName(self._titles[topic])
        look = f"background: {self._theme.canvas}; color: {self._theme.text}; border: 0; padding: 0;"
        set_style_sheet(self.browser, f"QTextBrowser {{ {look} }}")
        self.browser.verticalScrollBar().setValue(scrolled)
        self._names.mark(topic)
        self._reveal_name()
        self.back.setEnabled(bool(self._back))
        self.forward.setEnabled(bool(self._forward))
        self._mark_hits()

    def _reveal_name(self) -> None:
        self._names_area.ensureWidgetVisible(self._names.current_button)

    def _refresh(self) -> None:
        self._show(*self._place())

    def _place(self) -> tuple[str, int]:
        return self.topic, self.browser.verticalScrollBar().value()

    def _go_to(self, topic: str) -> None:
        if topic != self.topic:
            self._back.append(self._place())
            self._forward.clear()
            self._show(topic)

    def _go_back(self) -> None:
        if self._back:
            self._forward.append(self._place())
            self._show(*self._back.pop())

    def _go_forward(self) -> None:
        if self._forward:
            self._back.append(self._place())
            self._show(*self._forward.pop())

    def _follow(self, link: QUrl) -> None:
        self._go_to(link.path().removesuffix(".md"))

    def _focus_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _find(self) -> None:
        """List the pages that have all typed words, and mark these; show the first one if need be."""
        words = self._words()
        self._found = [topic for topic in self._titles if all(word in self._plain(topic) for word in words)]
        self._names.show_only(self._found)
        self.no_results.setVisible(not self._found)
        if words and self._found and self.topic not in self._found:
            self._show(self._found[0])
        else:
            self._mark_hits()

    def _words(self) -> list[str]:
        return self.search.text().casefold().split()

    def _plain(self, topic: str) -> str:
        if topic not in self._plain_texts:
            page = QTextDocumentFragment.fromHtml(_html(self._markdown(topic)))
            self._plain_texts[topic] = page.toPlainText().casefold()
        return self._plain_texts[topic]

    def _mark_hits(self) -> None:
        document = self.browser.document()
        found = []
        for word in set(self._words()):
            hit = document.find(word)
            while not hit.isNull():
                found.append(hit)
                hit = document.find(word, hit)
        self._hits = sorted(found, key=QTextCursor.position)
        self._show_hit(0)

    def _show_hit(self, place: int) -> None:
        self._hit = place
        marks = []
        for number, hit in enumerate(self._hits):
            mark = QTextEdit.ExtraSelection()
            mark.cursor = hit
            color = self._theme.text_selection if number == place else self._theme.warn_soft
            mark.format.setBackground(QColor(color))
            marks.append(mark)
        self.browser.setExtraSelections(marks)
        if self._hits:
            start = QTextCursor(self._hits[place])
            start.setPosition(start.selectionStart())
            self.browser.setTextCursor(start)
            top = self.browser.cursorRect().top()
            height = self.browser.viewport().height()
            if not 0 <= top < height * 3 // 4:  # what follows is to be read, too
                bar = self.browser.verticalScrollBar()
                bar.setValue(bar.value() + top - height // 3)

    def _step(self, offset: int) -> None:
        """Go to the next hit, or the previous one: on the page, then on the next page that has some."""
        if not self._words() or not self._found:
            return
        if 0 <= self._hit + offset < len(self._hits):
            self._show_hit(self._hit + offset)
            return
        place = self._found.index(self.topic) + offset
        self._show(self._found[place % len(self._found)])
        self._show_hit(0 if offset > 0 else len(self._hits) - 1)


class _Page(QTextBrowser):
    """A page in a column that is easy to read, at the left of the room there is: in English, as it is."""

    def __init__(self, go_back: Callable[[], None], go_forward: Callable[[], None]) -> None:
        super().__init__()
        self._go_back = go_back
        self._go_forward = go_forward
        self.setOpenLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(_MARGIN_PX)
        self.document().setIndentWidth(22)
        FocusRing(self)

    def setHtml(self, text: str) -> None:
        self.document().setDefaultFont(ui_font(_TEXT_PX))
        self._fit()
        super().setHtml(text)
        # A style sheet can't name a font whole: with its ligatures, `--` is one line.
        code = QTextCharFormat()
        code.setFont(ui_font(_CODE_PX, is_code=True))
        cursor = QTextCursor(self.document())
        block = self.document().begin()
        cursor.beginEditBlock()  # else the page is laid out again for each of them
        while block.isValid():
            for part in block.textFormats():
                if MONO_FAMILY in (part.format.fontFamilies() or ()):
                    start = block.position() + part.start
                    cursor.setPosition(start)
                    cursor.setPosition(start + part.length, QTextCursor.MoveMode.KeepAnchor)
                    cursor.mergeCharFormat(code)
            block = block.next()
        cursor.endEditBlock()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()
        super().resizeEvent(event)

    def backward(self) -> None:
        self._go_back()

    def forward(self) -> None:
        self._go_forward()

    def _fit(self) -> None:
        width = min(self.viewport().width(), scaled(_COLUMN_PX) + 2 * _MARGIN_PX)
        if width != self.lineWrapColumnOrWidth():
            self.setLineWrapColumnOrWidth(width)


_MARKDOWN = MarkdownIt("commonmark").enable("table")
_LEAD = re.compile(r"(?<=</h1>\n)<p>")
_FENCE = re.compile(r"<pre><code[^>]*>(.*?)\n?</code></pre>", re.DOTALL)


def _html(markdown: str) -> str:
    """Return a page as the HTML that Qt's documents know: they have frames for tables only."""
    html = str(_MARKDOWN.render(markdown))
    html = _LEAD.sub("<p class=lead>", html, 1)
    html = html.replace("<table>", "<table width=100% cellspacing=0 cellpadding=0>")
    return _FENCE.sub(r"<table class=code width=100%><tr><td><pre>\1</pre></td></tr></table>", html)


def _style(theme: Theme) -> str:
    sizes = {f"px{px}": scaled(px) for px in (12, 15)}
    colors = {name: getattr(theme, name) for name in _COLORS}
    return read_style("guide.css").substitute(sizes, mono=MONO_FAMILY, **colors)
