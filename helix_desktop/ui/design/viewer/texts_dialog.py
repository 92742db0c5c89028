"""The dialog that shows texts to be read: one, or one of a list that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTreeWidgetItem, QWidget

from helix_desktop.ui.design.async_actions import StartCoroutine
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.fields import CheckList, SearchField
from helix_desktop.ui.design.labels import label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column, pane, splitter
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.viewer.content_viewer import ContentViewer
from helix_desktop.words.translation import Translator

tr = Translator("Controls")

_SIZE, _MIN_SIZE = (940, 680), (560, 480)
_BESIDE_PX = 80  # of the window that it is opened from, above and below
_LIST_PX, _TEXT_PX = 250, 640  # first widths of the list and of a text
_SEARCHED_FROM = 12  # names
TEXT_NAME = Qt.ItemDataRole.UserRole
"""What holds the name of a text in an item of the list."""


class TextsDialog(SizedDialog):
    """Names at the left, the text of the current one at the right; a single text has all of it."""

    def __init__(
        self,
        parent: QWidget,
        title: str,
        notes: Iterable[str],
        texts: Mapping[str, str | None],
        *,
        below: Sequence[QWidget] = (),
        buttons: Sequence[PushButton] = (),
        start: StartCoroutine | None = None,
    ) -> None:
        """`notes` stand above the `texts`, of which None is still to come, `below` and `buttons` under them.

        `start` owns what indexes a long text.
        """
        height = max(_MIN_SIZE[1], min(_SIZE[1], parent.window().height() - _BESIDE_PX))
        super().__init__(parent, title, (_SIZE[0], height), _MIN_SIZE)
        self.texts = dict(texts)
        self.viewer = ContentViewer(start)
        self.viewer.wrap_button.setChecked(True)
        self.field = SearchField(tr("Search names"))
        self.field.setVisible(len(texts) >= _SEARCHED_FROM)
        self.field.textChanged.connect(self._filter)
        self.list = CheckList(title)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # files differ at the end of their names
        for name in texts:
            item = QTreeWidgetItem([name])
            item.setData(0, TEXT_NAME, name)
            item.setToolTip(0, name)
            self.list.addTopLevelItem(item)
        names = pane(column(self.field, self.list, gap=6))
        names.setVisible(len(texts) > 1)
        split = splitter(names, self.viewer, sizes=(_LIST_PX, _TEXT_PX), handle_px=12)
        split.setStretchFactor(1, 1)
        close = PushButton(tr("Close"), "" if buttons else "primary", name="close", on_click=self.reject)
        words = [label(title, "title"), *(label(note, "muted", wrap=True) for note in notes)]
        foot = FlowBox([close, *buttons], right_from=0)
        body = column(*words, split, *below, foot, margins=DIALOG_MARGINS, gap=10)
        body.setStretchFactor(split, 1)
        self.setLayout(body)
        self.list.currentItemChanged.connect(lambda *_: self.show_current())
        self.list.setCurrentItem(self.list.items()[0])
        (self.list if len(texts) > 1 else self.viewer.text).setFocus()

    def show_current(self) -> None:
        """Show the text of the current name, if it is there by now."""
        item = self.list.currentItem()
        name = item.data(0, TEXT_NAME) if item is not None else ""
        text = self.texts.get(name)
        self.viewer.show_data(None if text is None else text.encode("utf-8", "replace"), name)

    def _filter(self, typed: str) -> None:
        self.list.filter(typed)
        shown = [item for item in self.list.items() if not item.isHidden()]
        if shown and self.list.currentItem() not in shown:
            self.list.setCurrentItem(shown[0])
