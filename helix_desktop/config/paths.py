"""The paths of the bundled resources, and the user's data directory with the pointers to a moved one.

One pointer is in the old folder; one is beside it, for when the user deletes that folder with what is left in
it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from helix_desktop.domain.errors import DataDirUnavailable
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, folder_reason
from helix_desktop.system.files import non_folder_in, read_regular, write_text_durably

if TYPE_CHECKING:
    from uuid import UUID

text = TextContext("Settings")


POINTER_FILE = "moved.json"
WORKSPACES_FOLDER = "workspaces"
"""The folder that a data directory has, and no remains of one."""


def places_of(root: Path) -> tuple[Path, ...]:
    """Return where a data directory was, from `root` on, and where it is now."""
    places = [root]
    while (to := read_pointer(places[-1])) is not None and to not in places:
        places.append(to)
    return tuple(places)


def pointer_files(root: Path) -> tuple[Path, Path]:
    """Return the pointer in a folder, and the one beside it."""
    return root / POINTER_FILE, root.with_name(f"{root.name}.{POINTER_FILE}")


def read_pointer(root: Path) -> Path | None:
    """Return where a data directory was moved to; None if it was not, or its pointers are invalid.

    The one beside it counts where no data is in the folder.
    """
    inner_pointer, outer_pointer = pointer_files(root)
    to = _read(inner_pointer)
    return to if to is not None or os.path.isdir(root / WORKSPACES_FOLDER) else _read(outer_pointer)


def write_pointer(root: Path, target: Path) -> None:
    """Point from `root` to `target`, atomically and durably; beside it if possible. Raises OSError."""
    import json

    inner_pointer, outer_pointer = pointer_files(root)
    document = json.dumps({"to": str(target)})
    if os.path.isdir(root):
        write_text_durably(inner_pointer, document)
    if _read(outer_pointer) is not None or not os.path.lexists(outer_pointer):
        with suppress(OSError):
            write_text_durably(outer_pointer, document)


def may_be_deleted(root: Path) -> bool:
    """Return True if the data is found without the folder that it was moved from."""
    return _read(pointer_files(root)[1]) is not None


def remove_pointers(root: Path) -> None:
    """Let `root` be a data directory again. Raises OSError."""
    for path in pointer_files(root):
        if _read(path) is not None:
            path.unlink()


def _read(path: Path) -> Path | None:
    try:
        data = read_regular(path)
        import json  # the first frame needs it only where the data was moved

        to = json.loads(data)["to"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Path(to) if isinstance(to, str) and os.path.isabs(to) else None


APP_DIR_NAME = "helix-desktop"
DATA_DIR_VARIABLE = "HELIX_DATA_DIR"
LOG_FILE, STACKS_FILE = "helix-desktop.log", "crash.log"
"""The files of the logs folder: what the app logs, and the stacks of crashes."""

_PACKAGE = Path(__file__).resolve().parent.parent


def resources_dir() -> Path:
    """Return the folder with fonts, icons and tokenizers: of a frozen app, an installed wheel or a checkout.

    Raises FileNotFoundError if the installation is incomplete.
    """
    frozen = getattr(sys, "_MEIPASS", None)
    return _find_resources(*([Path(frozen)] if frozen else []), _PACKAGE, _PACKAGE.parent)


@cache  # asked for with each icon
def _find_resources(*roots: Path) -> Path:
    for root in roots:
        if (root / "resources" / "tokenizers").is_dir():
            return root / "resources"
    tried = ", ".join(map(str, roots))
    raise FileNotFoundError(f"no resources folder in {tried}; install Helix Desktop again")


class DataDir(NamedTuple):
    """The one folder that Helix Desktop writes its own data into.

    Of a copy to read from, because the folder itself can't be written, `refusal` says why.
    """

    root: Path
    moved_from: Path | None = None
    refusal: DataDirUnavailable | None = None

    @classmethod
    def locate(cls, explicit: Path | None, environ: Mapping[str, str]) -> DataDir:
        """Choose the folder: the one given, else HELIX_DATA_DIR, else the system's place for user data.

        A moved folder is resolved to its new path. A relative path is relative to the current folder; "~" is
        the home folder.
        """
        configured = explicit or environ.get(DATA_DIR_VARIABLE, "").strip()
        if configured:
            return cls._resolve(Path(os.path.abspath(os.path.expanduser(configured))))
        import platformdirs

        return cls._resolve(platformdirs.user_data_path(APP_DIR_NAME, appauthor=False))

    @classmethod
    def _resolve(cls, folder: Path) -> DataDir:
        root = places_of(folder)[-1]
        return cls(root, folder if root != folder else None)

    @property
    def chosen_folder(self) -> Path:
        """Return the folder that was chosen, from which the data may have moved on."""
        return self.moved_from or self.root

    @property
    def settings_file(self) -> Path:
        return self.root / "settings.toml"

    @property
    def workspaces_dir(self) -> Path:
        return self.root / WORKSPACES_FOLDER

    @property
    def logs_dir(self) -> Path:
        return self.root / "logs"

    @property
    def prompt_files_dir(self) -> Path:
        """Return the folder of the user's prompt files, for all workspaces; it may be missing."""
        return self.root / "commands"

    def workspace_dir(self, workspace_id: UUID | str) -> Path:
        """Return the folder of one workspace.

        Raises ValueError for anything but a UUID, so that no name can escape `workspaces_dir`.
        """
        from uuid import UUID

        return self.workspaces_dir / str(UUID(str(workspace_id)))

    def check_has_data(self, what: TranslatableText) -> None:
        """Raise DataDirUnavailable, which says `what` isn't done, where nothing is: a path was mistyped, say.

        Other errors in the way are found by `ensure`.
        """
        if self.moved_from is not None or os.path.isdir(self.workspaces_dir):
            return
        if os.path.exists(self.settings_file):
            return
        why = text("{folder} has no data of Helix Desktop.", folder=self.root)
        try:
            if not stat.S_ISDIR(self.root.stat().st_mode):
                return
        except FileNotFoundError:
            why = text("{folder} doesn't exist.", folder=self.root)
        except OSError:
            return
        raise DataDirUnavailable(
            what, why, text("Check --data-dir and {variable}.", variable=DATA_DIR_VARIABLE)
        )

    def ensure(self) -> None:
        """Create the folder and those inside it, private to this user, and prove that it can be written.

        Raises DataDirUnavailable.
        """
        if self.moved_from is not None and not self.workspaces_dir.is_dir():
            pointers = tuple(str(path) for path in pointer_files(self.moved_from) if os.path.exists(path))
            # Created again in place of an unplugged drive, it would look as if everything was lost.
            raise DataDirUnavailable(
                text("The data directory was moved to {folder}, but isn't there.", folder=self.root),
                text("The drive may be missing, or the folder was moved or renamed."),
                text("Reconnect it, or delete {file} to start without it.", file=pointers),
            )
        try:
            for folder in (self.root, self.workspaces_dir, self.logs_dir):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Permission bits can lie (read-only mounts, quotas, root): only a written byte proves it.
                probe = folder / f".probe-{os.getpid()}"
                try:
                    probe.write_bytes(b"helix")
                finally:
                    probe.unlink(missing_ok=True)  # on a full disk it is there, and empty
        except OSError as error:
            raise DataDirUnavailable(
                text("The data directory {folder} can't be used.", folder=self.root),
                folder_reason(error, self.root, non_folder_in(self.root)),
                text(
                    "Check that it's writable and has free space, or choose another one with --data-dir or "
                    "{variable}.",
                    variable=DATA_DIR_VARIABLE,
                ),
            ) from error


def load_prompts() -> dict[str, str]:
    """Return the prompts for models by name, including the line that names the version."""
    files = sorted((resources_dir() / "prompts").glob("*.md"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}
