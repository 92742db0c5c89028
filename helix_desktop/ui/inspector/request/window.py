"""The window with the whole request: by message, with a list to jump, and as JSON; copied as that or curl."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QPaintEvent
from PySide6.QtWidgets import QFrame, QListView, QSplitter, QWidget

from helix_desktop.ui.design.accessibility import announce
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed, retint, set_style_sheet
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.ui.design.viewer.paged_content import PagedContent
from helix_desktop.ui.design.viewer.view_switch import ViewSwitch
from helix_desktop.ui.inspector.inspector_data import WindowRow
from helix_desktop.ui.inspector.request.document import RequestDocument
from helix_desktop.ui.inspector.request_list import ROW_ROLE, RequestDelegate, RequestModel
from helix_desktop.words.translation import Translator

tr = Translator("Inspector")

_SIZE, _MIN_SIZE = (940, 640), (520, 360)
_LIST_PX = 260
_FRAME_MS = 16


class RequestTexts(msgspec.Struct, frozen=True):
    """What the window shows: `title` says which request it is, `note` what of it differs from what is sent.

    `messages` is the text of the `document`. `curl` is empty if the model has no server. Made in a thread.
    """

    title: str
    note: str
    document: RequestDocument
    messages: PagedContent
    json: PagedContent
    compact_json: str
    curl: str


class RequestWindow(Themed, SizedDialog):
    """Shows RequestTexts; it stays open beside the main window."""

    refresh_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(False)
        self.setWindowTitle(tr("Request"))
        self._texts: RequestTexts | None = None
        self._view, self._is_text_due = "messages", False
        self._title = label("", "title", wrap=True)
        self._note = label("", "muted", wrap=True)
        self._note.setObjectName("request-note")
        self.parts = _PartList()
        self.viewer = ContentViewer(wraps=True)
        self.viewer.text.setAccessibleName(tr("Request"))
        self.switch = ViewSwitch(tr("View"), {"messages": tr("Messages"), "json": tr("JSON")})
        self.viewer.head.insertWidget(0, self.switch)
        self.refresh_button = PushButton(tr("Refresh"), "", "refresh-cw", name="refresh")
        self.json_button = PushButton(tr("Copy as JSON"), "", "copy", name="copy-json")
        self.curl_button = PushButton(tr("Copy as curl"), "", "terminal", name="copy-curl")
        self.close_button = PushButton(tr("Close"), name="close")
        self._lay_out()
        self.switch.view_selected.connect(self._show_view)
        self.parts.line_requested.connect(self.viewer.text.show_line)
        self.refresh_button.clicked.connect(self.refresh_requested)
        self.json_button.clicked.connect(lambda: self._copy("json"))
        self.curl_button.clicked.connect(lambda: self._copy("curl"))
        self.close_button.clicked.connect(self.close)

    def show_texts(self, texts: RequestTexts) -> None:
        """Show a request, in the view that was chosen last; its text comes a frame after its parts."""
        self._texts, self._is_text_due = texts, True
        self._title.setText(texts.title)
        show_text(self._note, texts.note)
        self.parts.show_document(texts.document)
        self.curl_button.setEnabled(bool(texts.curl))
        self.curl_button.setToolTip("" if texts.curl else tr("This model has no server to send it to."))
        self.update()  # an unchanged title would paint nothing

    def show_text(self) -> None:
        """Show the text of the request whose parts are shown."""
        self._is_text_due = False
        self._show_view(self._view)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show the text behind this frame: painting it with the parts would take longer than a frame has."""
        super().paintEvent(event)
        if self._is_text_due:
            self._is_text_due = False
            QTimer.singleShot(_FRAME_MS, self, self.show_text)

    def bring_up(self) -> None:
        """Bring the window to the front."""
        if not self.isVisible():
            self.show()
            self.parts.setFocus()
        self.raise_()
        self.activateWindow()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme, at the text size in force."""
        super().tint(theme)
        for part in (self.parts, self.viewer):
            retint(part, theme)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Refresh on F5; find on Ctrl+F, wherever the keyboard is in the window."""
        if event.key() == Qt.Key.Key_F5:
            self.refresh_requested.emit()
        elif event.matches(QKeySequence.StandardKey.Find):
            self.viewer.open_find()
        else:
            super().keyPressEvent(event)

    def _show_view(self, view: str) -> None:
        if self._texts is None:
            return
        self._view = view
        self.switch.show_views(("messages", "json"), view, {})
        self.parts.setVisible(view == "messages")
        texts = self._texts
        self.viewer.show_content(*((texts.json, "request.json") if view == "json" else (texts.messages, "")))

    def _copy(self, form: str) -> None:
        if self._texts is None:
            return
        text = self._texts.curl if form == "curl" else self._texts.compact_json
        QGuiApplication.clipboard().setText(text)
        done = tr("Copied as curl. Set the variables it names.") if form == "curl" else tr("Copied as JSON.")
        self._note.setText(done)
        self._note.show()
        announce(self, done)

    def _lay_out(self) -> None:
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(10)
        splitter.addWidget(self.parts)
        splitter.addWidget(self.viewer)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([_LIST_PX, _SIZE[0] - _LIST_PX])
        buttons = [self.refresh_button, self.json_button, self.curl_button, self.close_button]
        layout = column(self._title, self._note, margins=DIALOG_MARGINS, gap=8)
        layout.addWidget(splitter, 1)
        layout.addWidget(FlowBox(buttons, right_from=0))
        self.setLayout(layout)


class _PartList(Themed, QListView):
    """The parts of a request, in its order; the one that gets the keyboard or a click comes to the top."""

    line_requested = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._document = RequestDocument()
        self.entries = RequestModel(self)
        self._delegate = RequestDelegate(self)
        self.setModel(self.entries)
        self.setItemDelegate(self._delegate)
        self.setObjectName("request-parts")
        self.setAccessibleName(tr("Parts of the request"))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumWidth(150)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.selectionModel().currentChanged.connect(self._go_to)
        self.clicked.connect(self._go_to)

    def show_document(self, document: RequestDocument) -> None:
        """List the parts of another request."""
        self._document = document
        self.entries.show_rows(
            [
                WindowRow(0, part.kind, part.title, part.tokens, why=part.heading, tool=part.tool)
                for part in document.parts
            ]
        )

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme and the text size in force."""
        self._delegate.tint(theme)
        set_style_sheet(self, "QListView { background: transparent; border: 0; }")
        self.viewport().update()

    def _go_to(self, index: QModelIndex) -> None:
        if index.isValid() and isinstance(index.data(ROW_ROLE), WindowRow):
            self.line_requested.emit(self._document.parts[index.row()].line)
