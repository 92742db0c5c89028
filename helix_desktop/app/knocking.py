"""What asks for the window from outside: another start, or the system with a file or a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from helix_desktop.app.early_openings import named_by
from helix_desktop.app.targets import FILE_WISH, SAMPLE_WISH, wish_of
from helix_desktop.context.errors import HelixError
from helix_desktop.context.link import is_link
from helix_desktop.ui.opening import Opening
from helix_desktop.ui.shell import Shell


async def fulfil(wish: str, shell: Shell, opening: Opening, fresh: bool) -> None:
    """Show what a start asked for, see app.targets; `fresh` says that nothing is on screen yet.

    Raises HelixError.
    """
    from_outside = wish.startswith(FILE_WISH) or is_link(wish)
    if from_outside and fresh:
        await shell.begin()
    if wish.startswith(FILE_WISH):
        await opening.take_in(Path(wish.removeprefix(FILE_WISH)))
    elif is_link(wish):
        await opening.follow(wish)
    elif wish == SAMPLE_WISH:
        await shell.begin(sample=True)
    elif wish or fresh:
        await shell.begin(Path(wish) if wish else None)


class FileOpenings(QObject):
    """Hears of files and links that the system hands to the running app, as macOS does."""

    def __init__(
        self, app: QApplication, asked: Callable[[str], None], tell: Callable[[HelixError], None]
    ) -> None:
        super().__init__(app)
        self._asked, self._tell = asked, tell
        app.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what is to be opened; leave everything else."""
        if event.type() != QEvent.Type.FileOpen or not isinstance(event, QFileOpenEvent):
            return False
        self.take(named_by(event))
        return True

    def take(self, named: str) -> None:
        """Ask for what was named, or tell why it cannot be."""
        try:
            self._asked(wish_of(named))
        except HelixError as error:
            self._tell(error)

    def first(self, named: list[str]) -> str:
        """Take the first that can be opened out of the names, as the wish of a fresh start; or empty."""
        while named:
            try:
                return wish_of(named.pop(0))
            except HelixError as error:
                self._tell(error)
        return ""
