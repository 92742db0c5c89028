"""The three-way view: what was there before, what is there now, what the change left, and their merge."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence, QShowEvent
from PySide6.QtWidgets import QSplitter, QWidget

from helix_desktop.domain.file_history.merge import ChunkChoice, Merge
from helix_desktop.domain.files.content import utf16_encoding
from helix_desktop.ui.changes.reverts.merge_result import MergeResult
from helix_desktop.ui.changes.reverts.merge_sides import SideView
from helix_desktop.ui.changes.texts import path_text
from helix_desktop.ui.design.buttons import IconButton, PushButton
from helix_desktop.ui.design.labels import TextLine, label
from helix_desktop.ui.design.layout.boxes import DIALOG_MARGINS, column
from helix_desktop.ui.design.layout.flow import FlowBox
from helix_desktop.ui.design.sized_dialog import SizedDialog
from helix_desktop.ui.design.style.theme import Theme
from helix_desktop.ui.design.themed import Themed
from helix_desktop.words.translation import Translator

tr = Translator("Changes")

_SIZE, _MIN_SIZE = (1040, 720), (560, 420)


class MergeDialog(Themed, SizedDialog):
    """Three sides above, the editable result below; accepted: `result_data` is the user's own merge."""

    def __init__(self, parent: QWidget, path: str, merged: Merge) -> None:
        """Let the user finish the merge of a file: theirs is what was there before the change."""
        super().__init__(parent, _SIZE, _MIN_SIZE)
        self.setModal(True)
        self.setWindowTitle(tr("Merge {file}", file=path_text(path)))
        self._merge = merged
        self.before = SideView(tr("Before the change"), "theirs")
        self.present = SideView(tr("Now"), "ours")
        self.base = SideView(tr("After the change"), "base")
        self.editor = MergeResult()
        self._sides = (self.before, self.present, self.base)
        self._build_buttons()
        self._lay_out(path)
        self._wire()
        base = b"".join(line for chunk in merged.chunks[:1] for line in (*chunk.base, *chunk.ours))
        encoding = utf16_encoding(base) or "utf-8"
        for side in self._sides:
            side.show_chunks(self._merge.chunks, encoding)
        self.editor.show_merge(self._merge, encoding)
        self.go_to(self.editor.first_place)

    def showEvent(self, event: QShowEvent) -> None:
        """Bring the first conflict into sight, once there is a size."""
        super().showEvent(event)
        QTimer.singleShot(0, self, lambda: self.go_to(self.editor.current))

    def result_data(self) -> bytes:
        """Return the merged content, byte for byte where nobody edited it."""
        return self.editor.data()

    def go_to(self, number: int) -> None:
        """Go to a place where the sides differ, by the number of its chunk; -1: there is none."""
        self.editor.go_to(number)
        for side in self._sides:
            side.go_to(number)
        self._update()

    def tint(self, theme: Theme) -> None:
        """Take the colors of a theme."""
        super().tint(theme)
        for side in self._sides:
            side.tint(theme)
        self.editor.tint(theme)

    def _build_buttons(self) -> None:
        self._count = TextLine("", 12, role="muted")
        self._count.setObjectName("conflicts")
        self._previous = IconButton("chevron-up", tr("Previous difference (Shift+F7)"))
        self._next = IconButton("chevron-down", tr("Next difference (F7)"))
        self._previous.clicked.connect(lambda: self.go_to(self.editor.neighbor(-1)))
        self._next.clicked.connect(lambda: self.go_to(self.editor.neighbor(1)))
        self._choices: dict[ChunkChoice, PushButton] = {}
        labels: tuple[tuple[ChunkChoice, str, str], ...] = (
            ("theirs", tr("Use before"), "use-before"),
            ("ours", tr("Use current"), "use-current"),
            ("ours_theirs", tr("Use both"), "use-both"),
            ("base", tr("Use after"), "use-after"),
        )
        for choice, words, name in labels:
            button = PushButton(words, "filter", name=name)
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, choice=choice: self._choose(choice))
            self._choices[choice] = button
        self.save = PushButton(tr("Use this result"), "primary", name="save_merge")
        self.save.clicked.connect(self.accept)
        self._cancel = PushButton(tr("Cancel"), name="cancel")
        self._cancel.clicked.connect(self.reject)

    def _lay_out(self, path: str) -> None:
        sides = QSplitter(Qt.Orientation.Horizontal)
        for side in self._sides:
            sides.addWidget(side)
        sides.setChildrenCollapsible(False)
        bar = FlowBox([self._previous, self._next, *self._choices.values(), self._count])
        below = QWidget()
        layout = column(bar, self.editor, gap=6)
        layout.setContentsMargins(0, 8, 0, 0)
        layout.setStretch(1, 1)
        below.setLayout(layout)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(sides)
        split.addWidget(below)
        lead = tr(
            "The file was changed since. Choose for each difference, or edit the result below. Nothing is "
            "written until you revert."
        )
        title = label(tr("Merge {file}", file=path_text(path)), "title", wrap=True)
        words = column(title, label(lead, "muted", wrap=True), gap=5)
        buttons = FlowBox([self._cancel, self.save], right_from=0)
        over = column(words, split, buttons, margins=DIALOG_MARGINS, gap=12)
        over.setStretch(1, 1)
        self.setLayout(over)

    def _wire(self) -> None:
        self.editor.changed.connect(self._update)
        bars = [side.scroll_bar for side in self._sides]
        for bar in bars:
            for other in bars:
                if other is not bar:
                    bar.valueChanged.connect(other.setValue)
        for key, by in (("F7", 1), ("Shift+F7", -1)):
            action = QAction(self)
            action.setShortcut(QKeySequence(key))
            action.triggered.connect(lambda _=False, by=by: self.go_to(self.editor.neighbor(by)))
            self.addAction(action)

    def _choose(self, choice: ChunkChoice) -> None:
        self.editor.choose(choice)
        self._update()

    def _update(self) -> None:
        open_conflicts = self.editor.open_conflicts
        places = len(self.editor.places)
        self._count.set_text(
            tr.plural(open_conflicts, "%n conflict left", "%n conflicts left")
            if open_conflicts
            else tr.plural(places, "%n difference, no conflict left", "%n differences, no conflict left")
        )
        self._count.set_role("warn" if open_conflicts else "ok")
        for choice, button in self._choices.items():
            button.setEnabled(self.editor.current >= 0)
            button.setChecked(choice == self.editor.current_choice)
        self.save.setEnabled(not open_conflicts and bool(self._merge.chunks))
