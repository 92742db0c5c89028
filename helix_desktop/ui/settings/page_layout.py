"""What the settings' pages share: a column of readable width, files that they open, and a line to undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLayout, QSizePolicy, QSpacerItem, QWidget

from helix_desktop.domain.errors import HelixError
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.ui.design.buttons import PushButton
from helix_desktop.ui.design.labels import label, show_text
from helix_desktop.ui.design.layout import ResponsiveRow, VerticalScrollArea, column, pane, row
from helix_desktop.ui.design.style import fonts
from helix_desktop.ui.design.style.theme import Themed
from helix_desktop.ui.kit.session import Session
from helix_desktop.words.translation import Translator, error_text

tr = Translator("Settings: General")
text = TextContext("Settings: General")

_COLUMN_PX = 880 + 2 * 28  # at 100 %, with the margins


@runtime_checkable
class FilledPage(Protocol):
    async def refresh(self) -> None:
        """Show it as it is now; what is typed and not saved stays. Raises HelixError."""


@runtime_checkable
class PageOfFiles(Protocol):
    """A page that shows files which the user changes in an editor."""

    async def read_files(self) -> None:
        """Read the files again, and show what they say. Raises HelixError."""


class _Column(Themed, QWidget):
    def apply_theme(self) -> None:
        super().apply_theme()
        self.setMaximumWidth(fonts.scaled(_COLUMN_PX))


def page_column(layout: QLayout) -> QHBoxLayout:
    """Return a layout that keeps another one in the middle of a wide page, no wider than is good to read."""
    middle = _Column()
    middle.apply_theme()
    middle.setLayout(layout)
    across = row(middle, stretch=0)
    for place in (0, 2):  # beside it, without a stretch: they get only what the column can't take
        across.insertSpacerItem(place, QSpacerItem(0, 0, QSizePolicy.Policy.Expanding))
    return across


def scrolling_page(title: str, lead: str, body: QLayout) -> tuple[VerticalScrollArea, QLabel]:
    """Return a scrolling settings page with a heading; returns it with the label of its lead sentence."""
    words = label(lead, "muted", wrap=True)
    if not lead:
        words.hide()
    inside = column(label(title, "heading"), words, 10, body, None, margins=(28, 32, 28, 24), gap=6)
    scroll = VerticalScrollArea(pane(page_column(inside), "page"))
    # The smallest window is too narrow for some controls with long words: they are cut otherwise.
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    return scroll, words


def open_text_file(path: Path) -> None:
    """Open a file in the system's editor for text. Raises HelixError where there is none."""
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
        raise HelixError(
            text("No program opened {file}.", file=str(path)),
            fix=text("Open it in an editor for text."),
        )


class SettingsFileLine(QWidget):
    """What a page says of settings.toml, what is wrong in it, and a button that opens it."""

    def __init__(self, session: Session, words: str) -> None:
        super().__init__()
        self._app = session.app
        self.words = label(words, "faint", wrap=True)
        self.error = label("", "error", wrap=True)
        self.error.hide()
        button = PushButton(
            tr("Open settings.toml"), "link", "external-link", px=13, name="open_settings_file"
        )
        button.clicked.connect(lambda: session.start(self._open(), "open settings"))
        self.setLayout(column(self.error, ResponsiveRow(self.words, [button]), gap=6))

    def show_errors(self, errors: Sequence[HelixError]) -> None:
        show_text(self.error, "\n".join(error_text(error) for error in errors))

    async def _open(self) -> None:
        """Open the file in the system's editor, and make it before if it is missing. Raises HelixError."""
        comment = tr("The settings of Helix Desktop. The guide says what can be set.")
        open_text_file(await self._app.settings_path(comment))


class UndoLine(QFrame):
    """What was just done, with the button that undoes it; hidden until there is something."""

    def __init__(self, undo: Callable[[], object], name: str = "undo") -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._words = label("", "muted", wrap=True)
        self.button = PushButton(tr("Undo"), "link", name=name, on_click=undo)
        self.setLayout(row(self._words, self.button, margins=(14, 5, 8, 5), stretch=0))
        self.hide()

    def say(self, words: str) -> None:
        self._words.setText(words)
        self.setVisible(bool(words))
