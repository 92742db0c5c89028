"""The page of MCP servers: those of a workspace, and a place to paste more."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from helix_desktop.context.errors import InputUnusable
from helix_desktop.context.mcp_pasted import Draft, read_pasted
from helix_desktop.context.mcp_report import ServerReport
from helix_desktop.ui.settings.form import page
from helix_desktop.ui.settings.mcp_card import ServerCard
from helix_desktop.ui.settings.mcp_form import Editing
from helix_desktop.ui.settings.mcp_words import counted, error_text, total_text
from helix_desktop.ui.settings.sharing_card import SharingCard
from helix_desktop.ui.theme import LIGHT, Theme
from helix_desktop.ui.widgets import PushButton, column, empty_layout, label, retint, row

_PASTE_PX = 92
_EXAMPLES = (
    "npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
    "https://mcp.example.com/mcp\n"
    '{ "mcpServers": { … } }'
)
_LEAD = (
    "Programs and services that give the agent more tools in {name}. They run with your rights, outside the "
    "sandbox; each call asks you first."
)


class AddBox(QFrame):
    """What is pasted becomes one server with its fields, or a list of several."""

    added = Signal(list)
    """Drafts."""
    test_requested = Signal(object)
    cancelled = Signal()

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.setProperty("role", "card")
        self._theme = LIGHT
        self._drafts: tuple[Draft, ...] = ()
        self.taken: tuple[str, ...] = ()
        self.paste = QPlainTextEdit()
        self.paste.setPlaceholderText(_EXAMPLES)
        self.paste.setAccessibleName("A command line, a URL, or a JSON block")
        self.paste.setFixedHeight(_PASTE_PX)
        self.paste.setTabChangesFocus(True)
        self.paste.textChanged.connect(self._read)
        self._fault = label("", "error", wrap=True)
        self.editing = Editing("Add and start")
        self.editing.saved.connect(lambda draft: self.added.emit([draft]))
        self.editing.test_requested.connect(self.test_requested)
        self.editing.cancelled.connect(self.cancelled)
        self._several, self._list = QWidget(), QVBoxLayout()
        self._list.setSpacing(8)
        self._add_all, cancel = PushButton("Add and start", "primary"), PushButton("Cancel")
        self._add_all.clicked.connect(lambda: self.added.emit(list(self._drafts)))
        cancel.clicked.connect(self.cancelled)
        self._several.setLayout(column(self._list, row(None, cancel, self._add_all)))
        self._empty = QWidget()
        other = PushButton("Cancel")
        other.clicked.connect(self.cancelled)
        self._empty.setLayout(row(None, other))
        what = "Paste a command line, a URL, or the JSON block of another program."
        self.setLayout(
            column(
                label(what, "note"), self.paste, self._fault, self.editing, self._several, self._empty,
                margins=(16, 12, 16, 14), gap=9,
            )
        )  # fmt: skip
        self._read()

    def begin(self, taken: tuple[str, ...]) -> None:
        """Start anew; `taken` are the names that are used."""
        self.taken = self.editing.taken = taken
        self.paste.clear()
        self._read()
        self.paste.setFocus()

    def _read(self) -> None:
        text, fault = self.paste.toPlainText(), ""
        try:
            self._drafts = read_pasted(text, self.taken) if text.strip() else ()
        except InputUnusable as error:
            self._drafts, fault = (), error_text(error)
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))
        one, many = len(self._drafts) == 1, len(self._drafts) > 1
        if one:
            (draft,) = self._drafts
            missing = tuple(name for name, value in draft.secrets.items() if not value)
            self.editing.begin(draft.entry, draft.secrets, missing)
        if many:
            self._show_several()
        self.editing.setVisible(one)
        self._several.setVisible(many)
        self._empty.setVisible(not self._drafts)

    def _show_several(self) -> None:
        empty_layout(self._list)
        for draft in self._drafts:
            missing = [name for name, value in draft.secrets.items() if not value]
            words = column(
                label(draft.entry.name, "strong"), label(draft.entry.line, "mono", wrap=True), gap=2
            )
            if missing:
                words.addWidget(label(f"Enter {', '.join(missing)} after adding it.", "warn", wrap=True))
            holder = QWidget()
            holder.setLayout(words)
            self._list.addWidget(holder)
        self._add_all.setText(f"Add and start {counted(len(self._drafts), 'server')}")
        retint(self, self._theme)

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme for what comes later."""
        self._theme = theme


class McpPage(QWidget):
    """The servers of the workspace on screen, one card each."""

    card_made = Signal(object)
    """A ServerCard, to be connected."""
    undo_requested = Signal()

    def __init__(self) -> None:
        """Start without servers."""
        super().__init__()
        self._theme = LIGHT
        self.cards: dict[str, ServerCard] = {}
        self.add_box = AddBox()
        self._add = PushButton("Add a server", "", "plus")
        self._add.clicked.connect(self.open_add)
        self._total = label("", "faint")
        self._empty = label("", "muted", wrap=True)
        self._fault = label("", "error", wrap=True)
        self._undo_words, undo = label("", "note"), PushButton("Undo", "link", "undo-2", px=13)
        undo.clicked.connect(self.undo_requested)
        self._undo = QFrame()
        self._undo.setProperty("role", "well")
        self._undo.setLayout(row(self._undo_words, None, undo, margins=(14, 5, 8, 5)))
        self._list = QVBoxLayout()
        self._list.setSpacing(10)
        self.sharing = SharingCard()
        self._head = QWidget()
        self._head.setLayout(row(self._add, None, self._total))
        body = column(
            self._head, self.add_box, self._fault, self._undo, self._empty, self._list, self.sharing, gap=10
        )
        whole, self._lead = page("MCP servers", " ", body)
        self.setLayout(column(whole))
        self.add_box.cancelled.connect(self.add_box.hide)
        self.show_nothing()

    def show_nothing(self) -> None:
        """No workspace is open."""
        self._show_cards(())
        self._lead.setText("Open a workspace to give its agent more tools.")
        for part in (self._head, self.add_box, self._fault, self._undo, self._empty, self.sharing):
            part.hide()

    def show_servers(
        self, workspace: str, folder: str, reports: tuple[ServerReport, ...], keeping: str = ""
    ) -> None:
        """Show how the servers of a workspace are doing; `keeping` says where secrets are kept."""
        self.add_box.editing.form.keeping = keeping
        self._lead.setText(_LEAD.format(name=workspace))
        self._head.show()
        self.sharing.show()
        self._total.setText(total_text(reports))
        self._empty.setText(
            "No server yet. Files such as .mcp.json in the folder are never read by themselves: paste what "
            "you want to use of them."
        )
        self._empty.setVisible(not reports and self.add_box.isHidden())
        names = tuple(one.entry.name for one in reports)
        if tuple(self.cards) != names:
            self._show_cards(names)
        for report in reports:
            taken = tuple(name for name in names if name != report.entry.name)
            shown = self.cards[report.entry.name]
            shown.editing.form.keeping = keeping
            shown.show_report(report, folder, taken)

    def _show_cards(self, names: tuple[str, ...]) -> None:
        kept = {name: card for name, card in self.cards.items() if name in names}
        for name, old in self.cards.items():
            self._list.removeWidget(old)
            if name not in kept:
                old.hide()
                old.deleteLater()
        self.cards = {}
        for name in names:
            shown = kept.get(name) or self._made(name)
            self.cards[name] = shown
            self._list.addWidget(shown)

    def _made(self, name: str) -> ServerCard:
        made = ServerCard(name)
        self.card_made.emit(made)
        retint(made, self._theme)
        return made

    def open_add(self) -> None:
        """Open the place to paste in."""
        self._empty.hide()
        self.add_box.show()
        self.add_box.begin(tuple(self.cards))

    def show_fault(self, text: str) -> None:
        """Say what went wrong; nothing when empty."""
        self._fault.setText(text)
        self._fault.setVisible(bool(text))

    def fault(self) -> str:
        """What is said to have gone wrong."""
        return "" if self._fault.isHidden() else self._fault.text()

    def show_undo(self, text: str) -> None:
        """Offer to take back what was just done; nothing when empty."""
        self._undo_words.setText(text)
        self._undo.setVisible(bool(text))

    def tint(self, theme: Theme) -> None:
        """Take the colours of a theme for cards that come later."""
        self._theme = theme
