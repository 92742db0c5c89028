"""Whether the data of a workspace is still where this process found it."""

from __future__ import annotations

import os

from helix_desktop.config.paths import DataDir, places_of
from helix_desktop.domain.errors import DataDirUnavailable
from helix_desktop.domain.translatable_text import TextContext
from helix_desktop.workspaces.policy_file import gone_error
from helix_desktop.workspaces.registry import WorkspaceRegistry

text = TextContext("Services")


def check_data_is_there(data_dir: DataDir, registry: WorkspaceRegistry, workspace_id: str) -> None:
    """Raise HelixError if another process moved the data, or if it is gone.

    A store that is opened then would be a new and empty one, or a copy that nobody else uses.
    """
    place = places_of(data_dir.root)[-1]
    if place != data_dir.root:
        raise DataDirUnavailable(
            text("The data of this workspace was moved to {folder}.", folder=place),
            text("It was in {folder} when this process started.", folder=data_dir.root),
            text("Restart the server, or quit Helix Desktop and start it again."),
        )
    folder = registry.data_folder(workspace_id)
    if not os.path.isdir(folder):
        raise gone_error(text("The data of this workspace can't be opened."), folder)
