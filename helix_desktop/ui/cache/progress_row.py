"""A line for long work on the cache: what it does, how far it is, and Cancel."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QWidget

from helix_desktop.ui.cache.rows import CacheProgress
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import TextLine
from helix_desktop.ui.design.mirror import set_margins
from helix_desktop.words.translation import Translator

tr = Translator("Cache")


class ProgressRow(QWidget):
    """Hidden until it shows some work."""

    cancel_requested = Signal()

    def __init__(self, describe: Callable[[CacheProgress], str]) -> None:
        super().__init__()
        self._describe = describe
        row = QHBoxLayout(self)
        set_margins(row, 0, 0, 6, 0)
        row.setSpacing(12)
        self.text, self.bar = TextLine("", 12, role="muted"), QProgressBar()
        self.bar.setTextVisible(False)
        cancel = PushButton(tr("Cancel"), "link", name="cancel")
        cancel.clicked.connect(self.cancel_requested)
        row.addWidget(self.text)
        row.addWidget(self.bar, 1)
        row.addWidget(cancel)
        self.hide()

    def show_progress(self, progress: CacheProgress | None) -> None:
        """Show how far the work is; None: it is over."""
        self.setVisible(progress is not None)
        if progress is not None:
            text = self._describe(progress)
            self.text.set_text(text)
            self.bar.setRange(0, max(1, progress.total))
            self.bar.setValue(progress.done)
            self.bar.setAccessibleName(text)
