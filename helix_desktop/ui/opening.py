"""Opens what came from outside: an exported workspace that was double-clicked, and links of ours.

Neither does anything by itself. A file is taken in after a question; a link shows what is there, and what is
not open yet is opened after a question, because opening starts what the person has agreed to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from helix_desktop.context.archive import Inside
from helix_desktop.context.digest import count_text, first_line
from helix_desktop.context.errors import InputUnusable, WorkspaceMissing
from helix_desktop.context.link import Link, read_link
from helix_desktop.context.signs import revealed_name
from helix_desktop.ui import dialogs
from helix_desktop.ui.dialogs import Choice
from helix_desktop.ui.main_window import MainWindow
from helix_desktop.ui.ports import Desk
from helix_desktop.ui.shell import Shell
from helix_desktop.workspaces.record import WorkspaceRecord

_NAME_CAP = 60  # characters of a name that a file or a folder brings along
_OPEN, _HERE, _FOLDER = "open", "here", "folder"


class Opening:
    """Asks, and does what was agreed to; one question at a time."""

    def __init__(self, window: MainWindow, desk: Desk, shell: Shell) -> None:
        self._window, self._desk, self._shell = window, desk, shell
        self._asking = False
        window.rail.link_requested.connect(lambda identity: _copy(Link(identity)))
        window.sidebar.list.link_requested.connect(self._copy)
        shell.work.screens.cache.table.link_requested.connect(self._copy_contents)

    def _copy(self, session: str) -> None:
        """Put a link to a session of the workspace on screen on the clipboard."""
        if self._shell.active:
            _copy(Link(self._shell.active, session=session))

    def _copy_contents(self, digests: Sequence[str]) -> None:
        """Put links to contents on the clipboard, one per line."""
        if self._shell.active:
            links = (Link(self._shell.active, digest).text for digest in digests)
            QGuiApplication.clipboard().setText("\n".join(links))

    async def follow(self, text: str) -> None:
        """Show what a link leads to. Raises HelixError when it leads nowhere."""
        link = read_link(text)
        record = self._known(link)
        if record.id not in self._desk.rooms and not await self._may_open(record):
            return
        if self._shell.active != record.id or record.id not in self._desk.rooms:
            await self._shell.open_workspace(record.id)
        if self._shell.active != record.id or record.id not in self._desk.rooms:
            return  # the window says why it could not be opened, or the person has gone elsewhere
        if link.session:
            await self._show_session(link)
        elif link.digest:
            await self._show_content(link)

    def _known(self, link: Link) -> WorkspaceRecord:
        for record in self._desk.registry.listed(removed=True):
            if record.id == link.workspace and record.listed:
                return record
            if record.id == link.workspace:
                raise WorkspaceMissing(
                    f"The link leads to {_short(record.name)}, which was removed from the list.",
                    "Its sessions and its cache are kept.",
                    f"Open its folder again: {record.path}",
                )
        raise WorkspaceMissing(
            "The link leads to a workspace that is not known here.",
            f"There is none with the id {link.workspace} in {self._desk.data_folder}.",
            "Open the link where it was copied; or have the workspace exported there, and import the file.",
        )

    async def _may_open(self, record: WorkspaceRecord) -> bool:
        answer = await self._ask(
            f"Open {_short(record.name)}?",
            f"A link leads there: {record.path}",
            (Choice("", "Cancel"), Choice(_OPEN, "Open", "primary")),
        )
        return answer == _OPEN

    async def _show_session(self, link: Link) -> None:
        room = self._desk.rooms[link.workspace]
        if link.session not in {one.id for one in await room.store.sessions()}:
            raise InputUnusable(
                "The link leads to a session that is not there.",
                f"{_short(self._desk.registry.get(room.id).name)} has none of this id; it may be deleted.",
                "Look into the trash, in the File menu.",
            )
        await self._shell.open_session(link.session)
        self._window.show_page("chat")

    async def _show_content(self, link: Link) -> None:
        room = self._desk.rooms[link.workspace]
        await room.store.entry(link.digest)  # says so itself when there is none, or none any more
        if self._shell.work.conversation is None:
            raise InputUnusable(
                "The linked content cannot be shown yet.",
                "This workspace has no session, and the cache is shown beside one.",
                "Begin a session, then open the link again.",
            )
        self._shell.history.show_digest(link.digest)

    async def take_in(self, path: Path) -> None:
        """Ask where an exported workspace is to be merged into, and do it. Raises HelixError."""
        inside = await self._desk.carrier.look(path)
        into = self._place_for(inside)
        choices = [Choice("", "Cancel"), Choice(_FOLDER, "Choose a folder…", "" if into else "primary")]
        if into is not None:
            choices.append(Choice(_HERE, "Import", "primary"))
        name = _short(path.name)
        answer = await self._ask(
            f"Import {name} into {_short(into.name)}?" if into else f"Import {name}?",
            _told(inside, own=into is not None and into.id == inside.workspace),
            tuple(choices),
        )
        if answer == _HERE and into is not None:
            await self._merge(into.id, path)
        elif answer == _FOLDER:
            folder = await dialogs.pick_folder(self._window, "Import into the workspace of a folder")
            if folder is not None:
                await self._merge(self._desk.registry.add(folder).id, path)

    async def _merge(self, identity: str, path: Path) -> None:
        await self._shell.carrying.merge(identity, path)
        if self._shell.active != identity:
            await self._shell.open_folder(Path(self._desk.registry.get(identity).path))

    def _place_for(self, inside: Inside) -> WorkspaceRecord | None:
        """The workspace that the file was made of, if it is here; else the one on screen, if any."""
        listed = {record.id: record for record in self._desk.registry.listed()}
        return listed.get(inside.workspace) or listed.get(self._shell.active)

    async def _ask(self, what: str, why: str, choices: tuple[Choice, ...]) -> str:
        if self._asking:  # whoever sends links or files in a row is not to bury the window in questions
            return ""
        self._asking = True
        try:
            return await dialogs.ask(self._window, self._window.theme, what, why, choices)
        finally:
            self._asking = False


def _copy(link: Link) -> None:
    QGuiApplication.clipboard().setText(link.text)


def _told(inside: Inside, own: bool) -> str:
    """What a file says it holds, in words."""
    held = f"{count_text(inside.sessions, 'session')} and {count_text(inside.entries, 'entry', 'entries')}"
    # A file may say any time; dates of people have four digits.
    day = f" on {datetime.fromtimestamp(inside.created / 1000):%Y-%m-%d}" if inside.created < _LATEST else ""
    whose = "this workspace itself" if own else f"the workspace {_short(inside.name)}"
    return f"It says that it was exported from {whose}{day} and holds {held}. Importing only adds."


_LATEST = 253_370_764_800_000  # milliseconds: the year 9999


def _short(name: str) -> str:
    """A name on one line, nothing hidden in it."""
    return revealed_name(first_line(name, _NAME_CAP) or name[:_NAME_CAP])
