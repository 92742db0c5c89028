"""The agent's tools of one workspace, behind one door: told, asked about, run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from helix_desktop.context.message import ToolSpec
from helix_desktop.tools.box import Box, Slot
from helix_desktop.tools.cache import Cache, Count
from helix_desktop.tools.cache_box import cache_slots
from helix_desktop.tools.edit import EditFile, MultiEdit, MultiEditArguments, WriteFile, WriteFileArguments
from helix_desktop.tools.environment import clean
from helix_desktop.tools.fetch import NAME as FETCH
from helix_desktop.tools.fetch import FetchUrl, FetchUrlArguments
from helix_desktop.tools.files import ListDirectory, ListDirectoryArguments, ReadFile, ReadFileArguments
from helix_desktop.tools.find import FindFiles, FindFilesArguments
from helix_desktop.tools.jail import Jail
from helix_desktop.tools.jail_paths import PathJail
from helix_desktop.tools.jail_posix import DescriptorJail
from helix_desktop.tools.paths import startup_files
from helix_desktop.tools.reach import Reach
from helix_desktop.tools.replace import Edit
from helix_desktop.tools.ripgrep import Ripgrep, find_ripgrep
from helix_desktop.tools.scratch import Scratch
from helix_desktop.tools.search import SearchText, SearchTextArguments
from helix_desktop.tools.shell import Ground, RunCommand, RunCommandArguments
from helix_desktop.tools.todo import Todo, TodoArguments


class Toolbox(Box):
    """The tools of the workspace at `root`.

    `descriptions` holds one Markdown file per tool; `count` counts tokens of texts; `protected` paths are
    neither read nor written (the program's own data). Files that the system obeys unasked, such as
    `.git/hooks`, are never written. `environ` (the process's own by default) is what commands inherit,
    cleaned of secrets; `reach` says what holds them back (nothing by default) and what fetches pages.
    """

    def __init__(
        self,
        root: Path,
        store: Cache,
        descriptions: Path,
        count: Count,
        protected: tuple[Path, ...] = (),
        environ: Mapping[str, str] | None = None,
        reach: Reach | None = None,
    ) -> None:
        reach = reach or Reach()
        environment = clean(os.environ if environ is None else environ)
        jail = open_jail(root, protected)
        ground = Ground(root.resolve(), jail, reach.sandboxes, reach.granted, Scratch())
        ripgrep = Ripgrep(find_ripgrep(), environment)
        slots = (
            Slot("read_file", ReadFileArguments, ReadFile(jail)),
            Slot("list_directory", ListDirectoryArguments, ListDirectory(jail)),
            Slot("find_files", FindFilesArguments, FindFiles(jail, ripgrep)),
            Slot("search_text", SearchTextArguments, SearchText(jail, ripgrep)),
            Slot("write_file", WriteFileArguments, WriteFile(jail)),
            Slot("edit_file", Edit, EditFile(jail)),
            Slot("multi_edit", MultiEditArguments, MultiEdit(jail)),
            Slot("run_command", RunCommandArguments, RunCommand(ground, environment)),
            Slot("todo", TodoArguments, Todo()),
            *((Slot(FETCH, FetchUrlArguments, FetchUrl(*reach.web, reach.granted)),) if reach.web else ()),
        )
        self._granted = reach.granted
        super().__init__((*slots, *cache_slots(store, count, ripgrep)), descriptions)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them, always in the same order; no fetching where that is off."""
        fetch = self._granted().fetch
        return tuple(spec for spec in super().specs if fetch or spec.name != FETCH)


def open_jail(root: Path, protected: tuple[Path, ...] = ()) -> Jail:
    """The strictest jail that this system offers for a workspace folder."""
    unwritable = startup_files(Path.home())
    if os.open in os.supports_dir_fd and os.scandir in os.supports_fd:
        return DescriptorJail(root, protected, unwritable)
    return PathJail(root, protected, unwritable)
