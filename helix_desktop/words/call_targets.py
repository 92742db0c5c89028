"""What a call was about, as the title of what it returned."""

from __future__ import annotations

from helix_desktop.words.translation import Translator

tr = Translator("Words")

_WORKSPACE_FOLDER = "."


def target_title(target: str) -> str:
    """Return a target as it can stand alone: the dot of the workspace folder says nothing."""
    return tr("Workspace folder") if target == _WORKSPACE_FOLDER else target
