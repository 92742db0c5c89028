"""Diffs, as a view of their own and in the cards of the chat."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from helix_desktop.domain.digest import digest_of
from helix_desktop.domain.events.session import ChangesRecorded
from helix_desktop.domain.file_history.changes import FileChange, FileState
from helix_desktop.domain.file_history.diff import FileDiff, diff_contents, diff_states
from helix_desktop.ui.chat.rows.changed_file_rows import changed_files_content
from helix_desktop.ui.chat.rows.row_types import Row
from helix_desktop.ui.chat.viewport.view import ChatView
from helix_desktop.ui.design.diff.view import DiffView
from tests.support.image_bytes import png
from tests.support.window.chat_geometry import row_key, tool_row

BEFORE = '''"""Where ships are, and when they are next in port."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Ship:
    """One ship of the fleet."""

    name: str
    draft: float
    port: str = ""

    def fits(self, depth: float) -> bool:
        return self.draft < depth


def load(path: Path) -> list[Ship]:
    """Return the ships of a CSV file."""
    ships = []
    with path.open() as file:
        for row in csv.DictReader(file):
            ships.append(Ship(row["name"], float(row["draft"]), row["port"]))
    return ships


def in_port(ships: list[Ship], port: str) -> list[Ship]:
    """Return the ships in a port."""
    return [ship for ship in ships if ship.port == port]


def total_draft(ships: list[Ship]) -> float:
    """Return what all ships need below the water line."""
    return sum(ship.draft for ship in ships)
'''
AFTER = (
    BEFORE.replace("import csv\n", "import csv\nimport logging\n")
    .replace("return self.draft < depth", "return self.draft + self.margin <= depth")
    .replace('port: str = ""\n', 'port: str = ""\n    margin: float = 0.5  # meters below the keel\n')
    .replace(
        "    ships = []\n    with path.open() as file:\n        for row in csv.DictReader(file):\n"
        '            ships.append(Ship(row["name"], float(row["draft"]), row["port"]))\n    return ships\n',
        '    with path.open(encoding="utf-8") as file:\n'
        "        rows = csv.DictReader(file)\n"
        '        return [Ship(row["name"], float(row["draft"]), row["port"]) for row in rows]\n',
    )
    .removesuffix("\n")
)
ODD = b"name,draft\r\nAurora\t,\xff4.5\nlong " + b"0123456789 " * 60 + b"\nlast\n"
ODD_AFTER = b"name,draft\nAurora\t,\xfe4.5\nlong " + b"0123456789 " * 59 + "x\nlast \u202e\n".encode()


def sample_diff() -> FileDiff:
    return diff_contents(BEFORE.encode(), AFTER.encode())


def _view(diff: FileDiff | None, path: str, *, side_by_side: bool = False, reverts: bool = False) -> DiffView:
    view = DiffView()
    view.set_side_by_side(side_by_side)
    view.show_diff(diff, path, can_revert_hunks=reverts)
    return view


def _found() -> DiffView:
    view = _view(sample_diff(), "fleet.py")
    view.open_find()
    view.find_bar.field.setText("ship")
    view.find_bar.search()
    return view


def _states() -> FileDiff:
    link = FileState("link", target="../shared/fleet.csv")
    file = FileState(digest=digest_of(b"x"), size=1)
    return diff_states(file, b"x", link, None)


VIEWS: dict[str, tuple[Callable[[], DiffView], tuple[tuple[int, int], ...]]] = {
    "inline": (lambda: _view(sample_diff(), "fleet.py", reverts=True), ((760, 620), (420, 620))),
    "side by side": (
        lambda: _view(sample_diff(), "fleet.py", side_by_side=True, reverts=True),
        ((1180, 620), (520, 620)),
    ),
    "new file": (lambda: _view(diff_contents(None, BEFORE.encode()), "fleet.py"), ((760, 420),)),
    "odd lines": (lambda: _view(diff_contents(ODD, ODD_AFTER), "a.csv", side_by_side=True), ((980, 240),)),
    "found": (_found, ((760, 420), (420, 420))),
    "images": (
        lambda: _view(diff_contents(png(320, 200), png(480, 260, 7)), "a.png"),
        ((900, 420), (420, 700)),
    ),
    "binary": (lambda: _view(diff_contents(b"\0" * 900, b"\0" * 12_000), "a.bin"), ((560, 160),)),
    "link": (lambda: _view(_states(), "fleet.csv"), ((560, 160),)),
}
"""What a view shows by name, and the sizes to look at."""


def _changes(
    capture: str, files: int, added: int, removed: int, path: str, uncovered: int = 0
) -> ChangesRecorded:
    return ChangesRecorded(
        capture,
        "",
        "command",
        changed=files,
        added_lines=added,
        removed_lines=removed,
        first_path=path,
        uncovered=uncovered,
    )


def card_rows() -> list[Row]:
    """Return calls that changed files: one file, several, a secret, and one whose changes are being read."""
    long = "".join(f"value_{number} = {number}\n" for number in range(80))
    files = {
        "src/fleet.py": (BEFORE.encode(), AFTER.encode()),
        "src/values.py": (b"", long.encode()),
        "old name.txt": (b"gone\n", None),
        "port.txt": (b"Genoa", b"Genoa\n"),
    }
    changes = [FileChange(path, _state(old), _state(new)) for path, (old, new) in files.items()]
    diffs = [(change, diff_contents(*files[change.path])) for change in changes]
    one = _changes("c1", 1, diffs[0][1].added, diffs[0][1].removed, "src/fleet.py")
    many = _changes("c2", 5, 92, 11, "src/fleet.py", uncovered=2)
    return [
        tool_row("d1", "edit_file", "src/fleet.py", "ok", "Edited.", badge="in_window",
                changes=one, changed_files=changed_files_content(diffs[:1], 1)),
        tool_row("d2", "run_command", "python tools/rewrite.py --all", "ok", "5 files",
                exit_code=0, badge="in_window", changes=many,
                changed_files=changed_files_content(diffs[:3], 5)),
        tool_row("d5", "edit_file", "port.txt", "ok", "Edited.",
                changes=_changes("c5", 1, 1, 1, "port.txt"),
                changed_files=changed_files_content(diffs[3:], 1)),
        tool_row("d3", "write_file", "a/b.py", "ok", "Wrote.", changes=one),
        tool_row("d4", "write_file", "a/b.py", "ok", "Wrote.", changes=one),
    ]  # fmt: skip


def open_cards(window: QWidget) -> None:
    """Open the changes of all cards but the last."""
    view = window.findChild(ChatView)
    assert view is not None
    for name in ("d1", "d2", "d5", "d3"):
        view.chat_viewport.item_cache.toggle(row_key(name), "changes")
    view.chat_viewport.refresh()


def _state(data: bytes | None) -> FileState | None:
    return None if data is None else FileState(digest=digest_of(data), size=len(data), mode=0o644)
