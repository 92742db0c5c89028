"""The settings of the app as a form's values, without an app."""

from __future__ import annotations

from typing import Any

import msgspec

from helix_desktop.config.settings import Settings
from helix_desktop.ui.kit.forms import Draft
from helix_desktop.ui.settings.app_settings import SETTING_NAMES, read_setting
from helix_desktop.workspaces.registry import WorkspaceRecord


def default_settings(**changes: Any) -> Draft:
    """Return the defaults, those of a workspace among them, with some changes."""
    record = msgspec.structs.asdict(WorkspaceRecord(id="", path="", name=""))
    app = {name: read_setting(Settings(), name) for name in SETTING_NAMES}
    return Draft(
        {
            **record,
            "unused_days": 0,
            "is_confined": True,
            "slow_models": (),
            "role_reasons": {},
            **app,
            **changes,
        }
    )
