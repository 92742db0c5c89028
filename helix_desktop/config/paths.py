"""The paths of the bundled resources, and the user's data directory."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from helix_desktop.domain.errors import DataDirUnavailable
from helix_desktop.domain.translatable_text import TextContext, TranslatableText, folder_reason
from helix_desktop.system.files import non_folder_in

if TYPE_CHECKING:
    from uuid import UUID

text = TextContext("Settings")


APP_DIR_NAME = "helix-desktop"
DATA_DIR_VARIABLE = "HELIX_DATA_DIR"
WORKSPACES_FOLDER = "workspaces"
"""The folder that a data directory has, and no remains of one."""
LOG_FILE = "helix-desktop.log"
"""The file of the logs folder that has what the app logs."""
STACKS_FILE = "crash.log"
"""The file of the logs folder that has the stacks of crashes."""

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
    refusal: DataDirUnavailable | None = None

    @classmethod
    def locate(cls, explicit: Path | None, environ: Mapping[str, str]) -> DataDir:
        """Choose the folder: the one given, else HELIX_DATA_DIR, else the system's place for user data.

        A relative path is relative to the current folder; "~" is the home folder.
        """
        configured = explicit or environ.get(DATA_DIR_VARIABLE, "").strip()
        if configured:
            return cls(Path(os.path.abspath(os.path.expanduser(configured))))
        import platformdirs

        return cls(platformdirs.user_data_path(APP_DIR_NAME, appauthor=False))

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
        if os.path.isdir(self.workspaces_dir):
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
